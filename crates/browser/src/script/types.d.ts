// Types of the script's modules, for `tsc` only. The requests mirror what Rust serializes.

/** In CSS pixels of the frame's viewport. */
interface Box { left: number; top: number; right: number; bottom: number }
/** `across` and `down`: how far the content reaches beyond the box. */
interface Extent { rect: Box; width: number; across: number; down: number }
interface Point { x: number; y: number }
/** Red, green and blue from 0 to 255, alpha from 0 to 1. */
type Rgba = number[];
type TextField = HTMLInputElement | HTMLTextAreaElement;
type PaintState = import('./paint_state.js').PaintState;
type GeneratedContent = import('./generated_content.js').GeneratedContent;
type DeferredPart = import('./reading_plan.js').DeferredPart;
/** false: neither the element nor its content; 'inside': perhaps its content; true: rendered. */
type Visibility = boolean | 'inside';

/** Mirrors what Rust serializes; see text.js. */
interface TextLimits { slack: number; mark: string; tail: number }

/** Mirrors what Rust serializes; see delegated_handlers.js. */
interface DelegationRequest {
  selectors: [number | null, string][]; places: number[]; count: number; delegated: [number, string][]; delegates: boolean;
}

interface CallCache {
  tables: WeakMap<Element, boolean>;
  owned: Ownership | null;
  slots: Map<ShadowRoot, Map<Node, HTMLSlotElement>>;
  dotFonts: boolean | null;
  rules: StyleRules | null;
  contexts: ContextCache | null;
  seen: Map<Element, Visibility>;
  paint: PaintCache | null;
  labels: Map<Node, Map<Element | null, HTMLLabelElement[]>>;
  active: Set<Element> | null;
  disables: boolean | null;
  edits: boolean | null;
  pointed: { isAny: boolean; drawings: Set<Element> } | null;
}
interface Ownership { ownerOf: Map<Node, Element>; ownedBy: Map<Element, Element[]> }
/** One compound of a selector, up to where it ends; `isSibling`: it follows `+` or `~`. */
interface Compound { text: string; end: number; isSibling: boolean }
interface Feature { kind: 'tag' | '.' | '#' | '['; name: string }
type FeatureMaps<V> = Record<Feature['kind'], Map<string, V>>;
interface ParsedSelector {
  selector: string; pseudo: string; features: Feature[] | null; isEvery: boolean;
  /** The parts of the selector that test more than the element itself, with the features of what they could match. */
  tests: { prefix: string; features: Feature[] | null }[];
  ids: Set<string>; attributes: Map<string, Set<string>>;
}
interface RuleList { list: ArrayLike<CSSRule>; parent: string; extra: number }
interface StyleRules {
  /** Whether some rule cannot be read, so that each element is computed by itself. */
  all: boolean;
  effects: FeatureMaps<number>; tests: FeatureMaps<string[]>;
  /** Elements that match selectors which could match any. */
  elements: Map<Element, { effects: number; matched: string }>;
  /** Ids and attributes that selectors mention. */
  ids: Set<string>; attributes: Map<string, Set<string>>;
  isQuirky: boolean; generates: boolean; tagSelectors: Map<string, number>;
}
type StyleContext = import('./style_context.js').StyleContext;
interface ClassFacts { effects: number; tests: string[] | undefined }
interface ContextCache {
  of: Map<Element, StyleContext>; root: StyleContext; byClass: Map<string, ClassFacts>;
  special: Set<Element>; classed: { el: Element; effects: number }[] | null;
}
interface InkFacts { fill: string; size: string; mask: string }
interface GeneratedStyle {
  content: string; isRendered: boolean; display: string; fontSize: string; opacity: string; filter: string; fill: string;
  textShadow: string; clipPath: string; clip: string; position: string; backgroundColor: string; backgroundImage: string;
  offsets: string[];
}
interface SpacingFacts { displaced: boolean; indented: boolean; shifted: boolean; inlineBlock: boolean; squeezed: boolean; isContents: boolean }
interface BackgroundFacts { backgroundColor: string; backgroundImage: string; isTextClip: boolean; isClear: boolean }
/** Of a computed style, whatever decides where and how the content of an element is painted. */
interface BoxFacts {
  display: string; position: string; overflowX: string; overflowY: string; contain: string; clipPath: string; clip: string;
  direction: string; zIndex: string;
  replaced: boolean; skipped: boolean; strength: number; filter: string; gone: boolean;
  out: number; moved: boolean; displaced: boolean; zoomed: boolean; squeezed: boolean; indented: boolean; shifted: boolean;
  inlineBlock: boolean; isInline: boolean; aligned: boolean; scrolls: boolean; cuts: boolean;
}
/** An effect, the properties that can cause it, and the values that do. */
type EffectRule = [effects: number, properties: RegExp, values?: RegExp];

interface PaintCache {
  of: Map<Element, PaintState>;
  texts: Map<Node, number>;
  range: Range;
  measured: number;
  hits: number;
  root: PaintState;
  painted: PaintedBoxes | null;
  covers: PaintedBoxes | null;
  /** Elements with whether nothing covers any of their content in the flow. */
  free: Map<Element, boolean>;
  /** Elements with whether all of their content in the flow can be scrolled into view. */
  settled: Map<Element, boolean>;
  scroll: { rtl: boolean; locked: boolean; scrolls: boolean } | null;
  shaded: boolean | null;
}
/** `unexplored`: not a box yet, but where those of the content of a moved element may be; all elements that are moved. */
interface PaintedBox {
  el: Element; flowRoot: Element | null; rect: Box; background: Rgba | null; opaque: boolean; cover: number; sticks: boolean;
  unexplored?: Set<Element> | undefined;
}
interface PaintedBoxes { bands: Map<number, PaintedBox[]>; tall: PaintedBox[]; all: PaintedBox[] }
interface Scroller { el: Element; outer: Scroller | null; clip: Box | null; rect: Box }

/** `exclude` is the control being named; `referenced`: reached by aria-labelledby; `whole`: from a hidden root. */
interface ContentOptions { exclude: Element | null; referenced: boolean; whole: boolean }

type WalkItem = Node | string | GeneratedContent;
interface WalkBelow { depth: number; silent: boolean }
type WalkVisitor = (el: Element, role: string, depth: number, silent: boolean, hidden: number) => WalkBelow | null;
type WalkText = (node: WalkItem, depth: number, hidden: number) => void;

interface States {
  level?: number; checked?: string; pressed?: boolean; expanded?: boolean; selected?: boolean; disabled?: boolean;
  required?: boolean; readonly?: boolean; invalid?: boolean; current?: boolean; multiline?: boolean; focused?: boolean;
  secret?: boolean; hidden?: boolean; unseen?: boolean;
}
/** Depth, role, name, value, ref, URL, differing visible text, child frame, states, box. */
interface SnapshotNode {
  d: number; r: string; n?: string; v?: string; e?: string; u?: string; w?: string; f?: string; s?: States; p?: string; b?: string;
}
interface SnapshotOptions { values?: boolean; exclude_hidden_elements?: boolean; exclude_password_fields?: boolean }
interface SnapshotRequest {
  prefix: string; nodes: number; bytes: number; options?: SnapshotOptions; links?: boolean; boxes?: boolean; swept?: boolean;
  milliseconds?: number | null;
  known?: number | null;
  /** Bytes of the reply that is made of it: what it cannot show may be deferred. */
  shows?: number | null;
  /** The serials of the replies whose deferred parts are to be marked. */
  completes?: number[] | null;
  /** Tests only: receives the DOM node of each snapshot node. */
  sources?: (Node | null)[] | null;
}

interface PartCounts { lines: number; acting: number }
/** A child of an element that a plan looks at, or several that flow together; the size is -1 until it is known. */
/** What was found in items with the same tag: how many lines are their elements. `left`: how many more are looked into. */
type Samples = Map<string, { left: number; lines: number; elements: number }>;
interface PlanItem { first: Node; el: Element | null; tag: string; size: number; samples: Samples }
interface PlanGroup { parent: Element; items: PlanItem[]; next: number; end: number; taken: number; turn: number; kind: number }
type ReadingPlan = Map<Element, DeferredPart[]>;
interface DeferredWalk { plan: ReadingPlan; isMarked: boolean; meet(part: DeferredPart, depth: number): void }

interface RefRequest { number: number }

interface Requirements {
  enabled?: boolean; hit?: boolean; keys?: boolean; anywhere?: boolean; fits?: (el: Element) => boolean; problem?: string;
}
interface AimOptions { purpose: string; point?: Point | null }
interface ActionabilityRequest {
  prefix: string; number: number; how: AimOptions; steady: boolean; wait: number; arming: ArmRequest | null;
  options: SnapshotOptions;
}
/** Texts with the limit of each, and the separator between them. */
interface JoinedText { parts: [limit: number, text: string][]; separator: string }
interface ElementFacts {
  element: string; role: string; name: string; text: JoinedText; tag: string; input_type: string | null; editable: boolean;
  secret: boolean; href: string | null; form: FormFacts | null; form_state: string;
}
interface FormFacts { method: string; action: string; payment: boolean; button: { name: string; text: string } | null }
interface Problem { problem: string; by?: string | null }
interface Actionable {
  problem?: undefined;
  x: number; y: number; left: number; top: number;
  around: { left: number; top: number; width: number; height: number };
  hides: boolean; pointless: boolean; facts: ElementFacts;
}
type Actionability = (Problem & { x?: undefined; y?: undefined }) | Actionable;
/** Where an element was in one frame of animation. */
interface Sighting {
  x: number | undefined; y: number | undefined; at: number; frames: number; times: number[]; pending: boolean;
}

interface ArmRequest { number: number | null; keys: boolean; page: boolean; drop: number | null }
interface Armed {
  /** For keys that go to the page itself, the document stands in. */
  el: Element | Document | null; drop: Element | null; keys: boolean;
  /** Called with `el`. */
  holds: ((target: Node, el: any) => boolean) | null;
  met: boolean; began: boolean; stopped: boolean; by: string | null;
}
interface SettleRequest { expecting: boolean; anew: boolean; wanted: SnapshotRequest | null; count: boolean }

type FindBy =
  | { kind: 'role'; role: string; name: string | null }
  | { kind: 'selector'; selector: string }
  | { kind: 'text'; text: string };
interface FindRequest {
  prefix: string; by: FindBy; index: number; look: AimOptions | null; words?: boolean; options: SnapshotOptions;
}
interface FindReply {
  exact: string[]; close: string[]; part: string[]; near: { role: string; name: string }[]; total: number[];
  complete: boolean; looked: (Actionability & { ref: string }) | null; still: boolean; words?: string[][];
}
interface Matches { add(tier: number, el: Element): void; near(role: string, name: string): void }
interface Search {
  visit(el: Element, role: string, matches: Matches): void;
  text(node: WalkItem, matches: Matches): void;
}

interface WantedOption { index?: number; label?: string }
interface SelectionRequest {
  prefix: string; number: number; options: WantedOption[]; hidden: number[]; read: number | null;
  decided: { label: string; value: string }[];
}

interface MaskTextRequest { words: boolean; drawings: boolean; secrets: boolean; again: boolean }
interface FramePlacement { x: number; y: number; across: number; down: number; box: number[]; upright: boolean }
interface WatchedBox { el: Element; observer: IntersectionObserver | null; at: number[]; records: IntersectionObserverEntry[] }
/** The mask of one screenshot: what was collected, what was measured, and what is watched meanwhile. */
interface Mask {
  starts: number[]; nodes: (Node | null)[]; fields: Element[]; drawn: Element[]; roots: (Document | ShadowRoot)[];
  generates: boolean; observer: MutationObserver; passed: string | null; changes: number; read: number;
  watched: WatchedBox[]; inputs: TextField[]; values: [TextField, string][]; filled: boolean; frame: number;
  sizes: ResizeObserver | null;
  measured: { ranges: number[]; boxes: number[][]; places: (FramePlacement | null)[] } | null;
  carried: boolean;
}

// Not yet in the DOM library.
interface CSSStyleDeclaration { webkitTextSecurity: string; webkitBoxReflect: string }
