// The snapshot of one frame: a flat, pre-order list of what a screen reader would announce.

import {
  authorName, CONTENT_LISTED_BELOW, fallbackName, isNamedByContent, MAX_NAME, NAME_PARTS,
  setValueExposure, startNotingParts, stopNotingParts,
} from './accessible_name.js';
import { endingAnimations } from './animations.js';
import { isActionable, isDeclaredActionable, isInferredActionable, mayPointIn, statesOf } from './aria_states.js';
import { findDelegationTargets } from './delegated_handlers.js';
import { heldValue } from './field_text.js';
import { flowsInline, visibility } from './element_visibility.js';
import { countElements, drawnParent, inputType, LARGE_PAGE, tagOf } from './flat_tree.js';
import { GeneratedContent } from './generated_content.js';
import { isReachable, REACHABLE, REVEALED, SHOWN } from './hidden_content.js';
import { iconHint, isSymbolName } from './icon_hint.js';
import {
  anchorHref, boundingRect, characterData, clientLeft, clientTop, documentElement, documentTitle, elementsIn,
  firstChild, firstElementChild, isElement, LABEL, listLength, querySelector,
} from './intrinsics.js';
import { pageState, startObservingPage } from './page_changes.js';
import { isTooSmall, paintStateOf } from './paint_state.js';
import { hasListeningParts, isListening } from './pointer_listeners.js';
import { DeferredMarks, planReading, rememberPlan } from './reading_plan.js';
import { childFrames, refOf, rememberDescription } from './refs.js';
import { hasNonEmpty } from './roles.js';
import { isMaskedText, isSecret } from './secret_fields.js';
import { encodeSnapshot, lastSerial } from './snapshot_encoding.js';
import { boundText, jsonLength, markCut, normalizeText, preformattedText, truncateUrl, withSlack } from './text.js';
import { INVISIBLE, isBoxInvisible, isInkInvisible, textVisibility, VISIBLE, WITHHELD } from './text_visibility.js';
import { walk } from './tree_walk.js';
import { BUTTON_INPUT_TYPES, differingVisibleText, hasVisibleLabel } from './visible_text.js';
import { preservesLineBreaks } from './white_space.js';

const MAX_TEXT = 1000000;
const MAX_HREF = 500;
// A text gets at least this many characters of the remaining budget.
const MIN_TEXT = 2000;
const MAX_DEPTH = 60;

const LEAF_ROLES = new Set(
  'textbox searchbox spinbutton slider progressbar meter scrollbar img iframe separator'.split(' '),
);

// Size of a node without its texts, in bytes: a text, or an element with states.
const TEXT_COST = 16;
const NODE_COST = 400;
// Reserved for the largest text that may still be added, and the title.
const RESERVE = 40000;

// The label of a checkbox is its name and next to it; it is not listed twice.
/** @param {Element} el */
const isCheckboxLabel = (el) => {
  if (!(el instanceof HTMLLabelElement)) return false;
  const control = LABEL.control(el);
  if (!control) return false;
  const type = inputType(control);
  if (type !== 'checkbox' && type !== 'radio') return false;
  if (hasNonEmpty(control, 'aria-label') || hasNonEmpty(control, 'aria-labelledby') || visibility(control) !== true) return false;
  return !querySelector(el, 'a, button, select, textarea, input:not([type=checkbox i], [type=radio i]), [tabindex], [role], h1, h2, h3, h4, h5, h6, img');
};

/** @param {Element} el @param {string} role @param {boolean} actionable */
const snapshotName = (el, role, actionable) => {
  if (!role) return actionable ? boundText(fallbackName(el, 'button'), MAX_NAME).trim() : '';
  return CONTENT_LISTED_BELOW.has(role) && !actionable ? '' : boundText(fallbackName(el, role), MAX_NAME).trim();
};

// Shapes searched in one drawing.
const MAX_SHAPES = 500;
// What a shape that is acted on has, unless a rule says what the pointer is meant for.
const MAY_ACT = 'a, button, canvas, input, select, textarea, [contenteditable], [draggable], [role], [tabindex], ' +
  '[onclick], [onmousedown], [onpointerdown], [ondblclick], [onmouseup], [onpointerup]';
/** @param {Element} svg */
const hasActingShape = (svg) => {
  if (!mayPointIn(svg) && querySelector(svg, MAY_ACT) === null) return false;
  const shapes = elementsIn(svg, '*');
  for (let at = 0; at < Math.min(listLength(shapes), MAX_SHAPES); at += 1) if (isActionable(shapes[at], '')) return true;
  return false;
};

// What an element that is acted on contains beside a few words: it is listed below, and does not name it.
const MORE_CONTENT = 'a[href], button, input, select, textarea, [tabindex], [role], [onclick], p, ul, ol, dl, table, h1, h2, h3, h4, h5, h6, div div';
/** @param {Element} el */
const holdsMore = (el) => firstElementChild(el) !== null && querySelector(el, MORE_CONTENT) !== null;

// Position and size in CSS pixels of the frame's viewport. Of an element that shows a frame, where the frame begins.
/** @param {Element} el */
const viewportBox = (el) => {
  const { left, top, width, height } = boundingRect(el);
  let [x, y] = [left, top];
  if (childFrames.has(el)) {
    const { paddingLeft, paddingTop } = getComputedStyle(el);
    x += clientLeft(el) + parseFloat(paddingLeft);
    y += clientTop(el) + parseFloat(paddingTop);
  }
  return [x, y, width, height].map(Math.round).join();
};

// Whether the name or value of a node is invisible.
/**
 * @param {Element} el
 * @param {string} role
 * @param {SnapshotNode} options
 * @param {boolean} actionable
 * @param {string} own
 * @param {boolean} unseen
 */
const isNodeInvisible = (el, role, { n: name, v: value, w: shows }, actionable, own, unseen) => {
  if (unseen && !shows) return true;
  if ((value || (own && BUTTON_INPUT_TYPES.has(inputType(el) ?? ''))) && isInkInvisible(el)) return true;
  if (actionable) return isBoxInvisible(el) && !hasVisibleLabel(el);
  return role === 'img' && name ? isBoxInvisible(el, true) : Boolean(name) && own !== '' && paintStateOf(el).gone;
};
const MAX_READ_BEFORE_COLLECTION = 1000000;
const LARGE_PAGE_REPLY = 'large';
let readSinceCollection = MAX_READ_BEFORE_COLLECTION;

/** @param {boolean} swept */
const isCollectionDue = (swept) => {
  const elements = countElements();
  if (elements <= LARGE_PAGE) return false;
  if (swept) readSinceCollection = 0;
  if (readSinceCollection + elements > MAX_READ_BEFORE_COLLECTION && !swept) return true;
  readSinceCollection += elements;
  return false;
};

// Tests pass `sources`, which receives the DOM node of each node.
/** @param {SnapshotRequest} request @returns {string} */
export const takeSnapshot = ({ prefix, nodes: mostNodes, bytes, options = {}, links = true, boxes = false, milliseconds = null, swept = true, known = null, sources = null, shows = null, completes = null }) => {
  if (isCollectionDue(swept)) return LARGE_PAGE_REPLY;
  startObservingPage();
  findDelegationTargets();
  setValueExposure(options);
  const includeHidden = options.exclude_hidden_elements === false;
  /** @type {SnapshotNode[]} */
  const nodes = [];
  const title = boundText(documentTitle(document), MAX_NAME);
  let written = RESERVE + jsonLength(title);
  let left = 0;
  // The text that more inline text may join.
  /** @type {{ node: SnapshotNode & { n: string }, mark: 'hidden' | 'unseen' | null, spaced: boolean, isCut: boolean } | null} */
  let open = null;
  const full = () => nodes.length >= mostNodes || written >= bytes;
  // With slack, one node may be larger than the reserve.
  const slack = withSlack(0);
  /** @param {SnapshotNode} node @param {Node | null} source */
  const emit = (node, source) => {
    const cost = node.r === 'text' ? TEXT_COST : node.s ? NODE_COST : NODE_COST / 2;
    const size = cost + jsonLength(node.n) + jsonLength(node.v) + jsonLength(node.u) + jsonLength(node.w);
    if (slack && node.r !== 'text' && written + size > bytes) { left += 1; return false; }
    nodes.push(node);
    sources?.push(source);
    written += size;
    return true;
  };
  // The open text lost what follows, and with it perhaps the rest of a secret.
  const cutOpenText = () => {
    if (!slack || !open || open.isCut) return;
    open.node.n = markCut(open.node.n, true);
    open.isCut = true;
  };

  /** @type {WalkVisitor} */
  const visit = (el, treeRole, depth, silent, around) => {
    // A paragraph that flows in a line is a part of it, as in Chromium's tree.
    const role = treeRole === 'paragraph' && tagOf(el) === 'p' && flowsInline(el, true) ? '' : treeRole;
    const declared = isDeclaredActionable(el, role);
    // Part of what is named by its content is acted on as a whole.
    const inferred = !declared && !silent && isInferredActionable(el);
    const actionable = declared || inferred;
    const hidden = around === REVEALED && actionable && isReachable(el) ? REACHABLE : around;
    if (around === REACHABLE && !(actionable && isReachable(el))) return { depth, silent: true };
    // What only listens and takes no space cannot be clicked.
    if (inferred && !role && firstChild(el) === null && isListening(el) && !(el instanceof HTMLAreaElement) && isTooSmall(boundingRect(el))) return { depth, silent };
    if (!role && !actionable && !hasNonEmpty(el, 'aria-label') && !hasNonEmpty(el, 'aria-labelledby')) {
      return { depth, silent: silent || isCheckboxLabel(el) };
    }
    if (full()) { left += 1; return { depth, silent: true }; }
    const own = boundText(authorName(el), MAX_NAME).trim();
    startNotingParts();
    const isArea = hasListeningParts(el) || (inferred && (CONTENT_LISTED_BELOW.has(role) || holdsMore(el)));
    const name = own || hidden === REVEALED ? own : snapshotName(el, role, actionable && !isArea);
    stopNotingParts();
    if (!role && !actionable && !name) return { depth, silent };
    // Inside an element that is named by its content, only named and actionable descendants are listed.
    if (silent && !name && !actionable) return { depth, silent };
    open = null;
    /** @type {SnapshotNode} */
    const node = { d: depth, r: role || 'generic' };
    if (name) node.n = name;
    // What takes no space is no icon.
    const hint = actionable && hidden === SHOWN && !hasListeningParts(el) && isSymbolName(name) && !isTooSmall(boundingRect(el)) ? iconHint(el, role) : '';
    if (hint && !role) { node.r = 'icon'; node.n = hint; }
    const states = statesOf(el, role);
    const secret = isSecret(el);
    if (secret) states.secret = true;
    // At most six bytes per character, so that one value cannot exceed the reply's limit.
    const value = secret || hidden === REVEALED ? null : heldValue(el, role, Math.floor((bytes - written) / 6));
    if (value) node.v = value;
    if (hidden !== SHOWN) states.hidden = true;
    // Most nodes of a long page are named by their visible content only, and skip this.
    if (hidden !== REVEALED && (actionable || own || NAME_PARTS.unseen || value || role === 'img')) {
      const { unseen, seen } = NAME_PARTS;
      const shows = differingVisibleText(el, role, name, actionable, own);
      if (shows || (hint && role)) node.w = shows || hint;
      if (hidden === SHOWN && isNodeInvisible(el, role, node, actionable, own, unseen && !seen)) states.unseen = true;
    }
    if (Object.keys(states).length) node.s = states;
    // Secret fields have no ref, unless a setting allows it.
    if (actionable && hidden !== REVEALED && (!secret || options.exclude_password_fields === false)) {
      const number = refOf(el);
      node.e = `${prefix}e${number}`;
      rememberDescription(number, node.r, name);
    }
    if (links && role === 'link' && el instanceof HTMLAnchorElement) node.u = truncateUrl(anchorHref(el), withSlack(MAX_HREF));
    const shown = childFrames.get(el) ?? (role === 'iframe' ? '' : undefined);
    if (shown !== undefined && hidden !== REVEALED) node.f = shown;
    if (boxes && (node.e || node.f !== undefined)) node.b = viewportBox(el);
    if (!emit(node, el)) return { depth, silent: true };
    if ((LEAF_ROLES.has(role) && !(tagOf(el) === 'svg' && hasActingShape(el))) || secret) return null;
    // The content is listed where the name was truncated.
    if (hidden === REVEALED) return { depth: Math.min(depth + 1, MAX_DEPTH), silent };
    const isNamed = name.length <= MAX_NAME && (role ? isNamedByContent(el, role) && !CONTENT_LISTED_BELOW.has(role) : actionable && !own && !isArea);
    return { depth: Math.min(depth + 1, MAX_DEPTH), silent: silent || isNamed };
  };

  // Whether line breaks of a text are drawn.
  /** @param {WalkItem} node */
  const isPreformatted = (node) => {
    if (typeof node === 'string' || node instanceof GeneratedContent) return false;
    const parent = drawnParent(node);
    return parent !== null && isElement(parent) && preservesLineBreaks(parent);
  };

  // A long text is emitted in parts.
  /** @type {WalkText} */
  const text = (node, depth, hidden) => {
    const whole = typeof node === 'string' ? node : node instanceof GeneratedContent ? node.text : characterData(/** @type {CharacterData} */ (node));
    /** @type {'hidden' | 'unseen' | null} */
    let mark = hidden === REVEALED ? 'hidden' : null;
    if (typeof node !== 'string' && /\S/.test(whole)) {
      const sight = node instanceof GeneratedContent ? (node.unseen ? INVISIBLE : VISIBLE) : textVisibility(node);
      if (sight === WITHHELD && (!includeHidden || isMaskedText(/** @type {Node} */ (node)))) return;
      if (sight === WITHHELD) mark = 'hidden';
      if (sight === INVISIBLE) mark ??= 'unseen';
    } else {
      // Whitespace joins the text before it.
      mark = open?.mark ?? null;
    }
    const preformatted = /[\n ]\s|\n/.test(whole) && isPreformatted(node);
    for (let from = 0; from < whole.length;) {
      if (full()) { left += 1; cutOpenText(); return; }
      // At most six bytes per character, so that one text cannot exceed the reply's limit.
      const most = Math.min(MAX_TEXT, Math.max(MIN_TEXT, Math.floor((bytes - written) / 6)));
      const cut = from + most;
      const to = cut < whole.length && /[\ud800-\udbff]/.test(whole[cut - 1]) ? cut + 1 : cut;
      textPart(whole.slice(from, to), depth, mark, preformatted);
      from = to;
      // Parts are masked one by one, so that a secret between two of them would stay.
      if (slack && from < whole.length) { left += 1; cutOpenText(); return; }
    }
  };

  // Visible and invisible text are never joined. Whitespace is collapsed by now, unless it is preformatted.
  /** @param {string} part @param {number} depth @param {'hidden' | 'unseen' | null} mark @param {boolean} preformatted */
  const textPart = (part, depth, mark, preformatted) => {
    const data = preformatted ? preformattedText(part) : normalizeText(part, part.length);
    if (open && open.node.d === depth && open.mark === mark) {
      const { node } = open;
      const more = !preformatted && open.spaced && data.startsWith(' ') ? data.slice(1) : data;
      if (node.n.length + more.length <= MAX_TEXT * 2 && !full()) {
        written += jsonLength(more);
        node.n += more;
        if (more) open.spaced = more.endsWith(' ');
        return;
      }
      if (slack) { left += 1; cutOpenText(); return; }
    }
    if (data.trim() === '') return;
    const name = preformatted ? data.replace(/^\u2028+/, '') : data.startsWith(' ') ? data.slice(1) : data;
    /** @type {SnapshotNode & { n: string }} */
    const node = { d: depth, r: 'text', n: name };
    if (mark) node.s = { [mark]: true };
    open = { node, mark, spaced: data.endsWith(' '), isCut: false };
    emit(node, null);
  };

  const root = documentElement(document);
  const plan = completes || shows === null || includeHidden || slack ? null : planReading(shows);
  /** @type {(part: DeferredPart, depth: number) => void} */
  const emitPart = ({ role, siblings, counts }, depth) => emit({ d: depth, r: role, p: `${siblings},${counts.lines},${counts.acting}` }, null);
  // Where the parts begin and end that earlier readings deferred.
  const marks = completes ? new DeferredMarks(completes) : null;
  /** @type {(part: DeferredPart, depth: number) => void} */
  const meet = (part, depth) => { if (marks) marks.add(part, nodes.length); else emitPart(part, depth); };
  const expected = marks?.plan ?? plan;
  const later = expected ? { plan: expected, isMarked: marks !== null, meet } : null;
  const walked = root ? walk(root, visit, text, () => { open = null; }, includeHidden, true, later, milliseconds ?? undefined) : { complete: true };
  if (!walked.complete) cutOpenText();
  for (const node of nodes) if (node.r === 'text') node.n = node.n?.trimEnd();
  dropEmptyParagraphs(nodes, sources, marks?.all ?? []);
  // What is unseen now may be about to appear.
  const animating = nodes.some((node) => node.s?.unseen) && endingAnimations().length > 0;
  const about = { left, complete: walked.complete, title, status: responseStatus(), animating, state: pageState() };
  if (sources) return JSON.stringify({ nodes, ...about });
  const parts = marks ? { parts: marks.parts() } : {};
  const encoded = encodeSnapshot(nodes, { ...about, ...parts }, known, `${prefix} ${links} ${boxes}`);
  if (plan) rememberPlan(lastSerial(), plan);
  return encoded;
};

// Invalid markup leaves empty paragraphs.
/** @param {SnapshotNode[]} nodes @param {(Node | null)[] | null} sources @param {{ at: number }[]} marks positions that are kept up to date */
const dropEmptyParagraphs = (nodes, sources, marks) => {
  let kept = 0;
  let mark = 0;
  for (let at = 0; at <= nodes.length; at += 1) {
    for (; mark < marks.length && marks[mark].at === at; mark += 1) marks[mark].at = kept;
    if (at === nodes.length) break;
    const node = nodes[at];
    const empty = node.r === 'paragraph' && !node.n && !node.e && !node.p && !(nodes[at + 1]?.d > node.d);
    if (empty) continue;
    nodes[kept] = node;
    if (sources) sources[kept] = sources[at];
    kept += 1;
  }
  nodes.length = kept;
  if (sources) sources.length = kept;
};

export const responseStatus = () => {
  const [entry] = performance.getEntriesByType('navigation');
  return entry instanceof PerformanceNavigationTiming && entry.responseStatus ? entry.responseStatus : null;
};
