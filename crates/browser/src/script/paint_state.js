// How the content of an element is painted: ink, background, opacity, clips and position.

import { callCache, callNumber } from './call_cache.js';
import {
  backgroundOver, contrast, isLegible, MIN_ALPHA, MIN_CONTRAST, parseColor, parseColors, WHITE,
} from './color_contrast.js';
import { childByTag, drawnParent, tagOf } from './flat_tree.js';
import {
  boundingRect, clientHeight, clientWidth, createRange, documentElement, isElement, scrollHeight, scrollLeft, scrollTop,
  scrollWidth,
} from './intrinsics.js';
import { noteScroller } from './page_changes.js';
import { contextOf, displayOf } from './style_context.js';
import {
  BACKGROUND, COLOR, CRUSH, FONT, INDENT, INK, MARGIN, MASK, PLACE, SIZE, SPACING,
} from './style_rules.js';

// Text and boxes up to this size cannot be read or hit, in CSS pixels.
export const TOO_SMALL = 2;
const MAX_BLUR = 5;
// Texts and controls measured in one snapshot. Further ones are taken as visible.
const MAX_MEASURED = 30000;
// Text more than this many window widths to the side counts as unreachable.
const MAX_SCREENS_AWAY = 4;
export const UNDRAWN_CONTENT = new Set(['canvas', 'video', 'audio', 'object', 'meter', 'progress']);

// How the direct content of an element is painted. Elements that change nothing share their parent's.
export class PaintState {
  // Whether nothing of it is visible.
  gone = false;
  // Whether its text is fallback content of something else that is drawn.
  replaced = false;
  // Whether rendering is skipped (content-visibility), and Chromium's accessibility tree omits it too.
  skipped = false;
  strength = 1;
  ink = [0, 0, 0, 1];
  small = false;
  masked = false;
  // The background behind text; null if it may be an image.
  /** @type {Rgba | null} */
  background = WHITE;
  // Whether it must be measured: it may be clipped, collapsed, or out of the normal flow.
  placed = false;
  displaced = false;
  // The nearest element around that is displaced: what is in the flow of one cannot cover what is in the same flow.
  /** @type {Element | null} */
  flowRoot = null;
  // Whether each text has to be measured: it is zoomed, squeezed or indented; and whether its own box is as good as empty.
  tight = false;
  crushed = false;
  away = false;
  // Whether its first line has a negative indent within its box.
  indented = false;
  fixed = false;
  sticks = false;
  // The clips of content in the flow, absolute and fixed. null is no clip.
  /** @type {[Box | null, Box | null, Box | null]} */
  clips = [null, null, null];
  // The nearest scroll container, with those around it.
  /** @type {Scroller | null} */
  scroller = null;

  // Cached: whether nothing must be measured, and the states derived for other inks.
  /** @type {boolean | undefined} */
  easy = undefined;
  /** @type {Map<string, PaintState> | undefined} */
  alike = undefined;
  /** @type {PaintState | undefined} */
  outdented = undefined;
  // The states of children by their style contexts.
  /** @type {Map<StyleContext, PaintState> | undefined} */
  inner = undefined;
  // Whether it depends on where its element is, and whether it is the state of all elements of a context.
  isMeasured = false;
  isShared = false;

  inside() {
    return Object.assign(new PaintState(), this, {
      easy: undefined, alike: undefined, outdented: undefined, inner: undefined, isMeasured: false, isShared: false, crushed: false,
    });
  }

  // Whether its ink is legible on its background.
  stands() { return isLegible(this.ink, this.strength, this.background); }
}

export const paintCache = () => {
  const now = callCache();
  now.paint ??= {
    of: new Map(), texts: new Map(), range: createRange(document), measured: 0, hits: 0,
    root: rootPaintState(), painted: null, covers: null, free: new Map(), settled: new Map(), scroll: null, shaded: null,
  };
  return now.paint;
};

const rootPaintState = () => {
  const paint = new PaintState();
  paint.isShared = true;
  const root = documentElement(document);
  const scheme = root ? getComputedStyle(root).colorScheme : '';
  const dark = scheme.includes('dark') && (!scheme.includes('light') || matchMedia('(prefers-color-scheme: dark)').matches);
  if (dark) paint.background = [18, 18, 18, 1];
  // A frame without a background shows the page around it.
  if (window.top !== window) paint.background = null;
  return paint;
};

// Derived from the nearest ancestor whose state is known, down; iterative. Elements of one style context share a state,
// unless it depends on where the element or one around it is.
/** @param {Element} el @returns {PaintState} */
export const paintStateOf = (el) => {
  const context = contextOf(el);
  if (context.paint) return context.paint;
  const { of, root } = paintCache();
  const known = of.get(el);
  if (known) return known;
  /** @type {Element[]} */
  const chain = [];
  let at = /** @type {Node | null} */ (el);
  /** @type {PaintState | null | undefined} */
  let paint;
  while (at && isElement(at) && !(paint = contextOf(at).paint ?? of.get(at))) { chain.push(at); at = drawnParent(at); }
  paint ??= root;
  for (let i = chain.length - 1; i >= 0; i -= 1) paint = deriveAndKeep(chain[i], paint, of);
  return paint;
};

/** @param {Element} el @param {PaintState} outer @param {Map<Element, PaintState>} of */
const deriveAndKeep = (el, outer, of) => {
  const context = contextOf(el);
  const paint = derivePaintState(el, context, outer);
  // Shared if the state around it is, and nothing was measured.
  if (!context.isOwn && !(context.effects & CRUSH) && !paint.isMeasured && outer.isShared) { paint.isShared = true; context.paint = paint; } else of.set(el, paint);
  return paint;
};

/** @param {Element} el @param {StyleContext} context @param {PaintState} outer */
const derivePaintState = (el, context, outer) => {
  const { effects } = context;
  if (!(effects & (INK | PLACE | SIZE | BACKGROUND))) return outer;
  const known = outer.inner?.get(context);
  if (known) return known;
  let paint = effects & INK ? stateWithInk(el, context, outer) : outer;
  if (effects & BACKGROUND) paint = stateWithBackground(el, context, paint);
  if (effects & PLACE) {
    const facts = boxFactsOf(el, context);
    if (facts.display === 'contents') return paint;
    paint = paint.inside();
    applyPosition(el, facts, paint, outer, effects);
  } else if (effects & SIZE) paint = stateWithSpacing(el, context, paint);
  if (!context.isOwn && !(effects & CRUSH) && !paint.isMeasured) {
    outer.inner ??= new Map();
    outer.inner.set(context, paint);
  }
  return paint;
};

/** @param {Element} el @param {StyleContext} context @returns {SpacingFacts} */
const spacingFactsOf = (el, context) => {
  if (!context.spacing) {
    const style = getComputedStyle(el);
    const { effects } = context;
    const indented = Boolean(effects & INDENT) && isIndented(style);
    context.spacing = {
      displaced: Boolean(effects & MARGIN) && hasNegativeMargin(style),
      indented,
      shifted: indented && isShifted(style),
      inlineBlock: isInlineBlockLike(style),
      squeezed: Boolean(effects & SPACING) && isSqueezed(style),
      isContents: style.display === 'contents',
    };
  }
  return context.spacing;
};

// For elements whose only possible effects are sizes, which mostly hide nothing.
/** @param {Element} el @param {StyleContext} context @param {PaintState} outer */
const stateWithSpacing = (el, context, outer) => {
  const { displaced, indented, shifted, inlineBlock, squeezed, isContents } = spacingFactsOf(el, context);
  if (isContents) return outer;
  const crushed = Boolean(context.effects & CRUSH) && !isRoot(el) && isCrushed(getComputedStyle(el));
  const tight = squeezed || (indented && (shifted || outer.indented)) || (outer.indented && inlineBlock);
  if (displaced || tight || crushed) {
    const flowRoot = displaced ? el : outer.flowRoot;
    return Object.assign(outer.inside(), {
      displaced: outer.displaced || displaced, placed: true, tight: outer.tight || tight, crushed, flowRoot, isMeasured: displaced || crushed,
    });
  }
  if (!indented) return outer;
  outer.outdented ??= Object.assign(outer.inside(), { indented: true });
  return outer.outdented;
};

/** @param {Element} el @param {StyleContext} context @returns {InkFacts} */
const inkFactsOf = (el, context) => {
  if (!context.ink) {
    const style = getComputedStyle(el);
    const { effects } = context;
    context.ink = {
      fill: effects & COLOR ? (el instanceof SVGElement ? style.fill : style.webkitTextFillColor) : '',
      size: effects & FONT ? style.fontSize : '',
      mask: effects & MASK ? style.webkitTextSecurity : '',
    };
  }
  return context.ink;
};

// One state for all children with the same ink; a page has thousands of links in two colors.
/** @param {Element} el @param {StyleContext} context @param {PaintState} outer */
const stateWithInk = (el, context, outer) => {
  const { fill, size, mask } = inkFactsOf(el, context);
  const key = size || mask ? `${fill} ${size} ${mask}` : fill;
  outer.alike ??= new Map();
  let paint = outer.alike.get(key);
  if (!paint) {
    const ink = (fill && parseColor(fill)) || outer.ink;
    const small = size ? parseFloat(size) <= TOO_SMALL : outer.small;
    const masked = mask ? mask !== 'none' : outer.masked;
    const isSame = small === outer.small && masked === outer.masked && ink.every((part, i) => part === outer.ink[i]);
    paint = isSame ? outer : Object.assign(outer.inside(), { ink, small, masked });
    outer.alike.set(key, paint);
  }
  return paint;
};

/** @param {Element} el @param {StyleContext} context @returns {BackgroundFacts} */
export const backgroundFactsOf = (el, context) => {
  if (!context.background) {
    const { backgroundColor, backgroundImage, webkitBackgroundClip } = getComputedStyle(el);
    const isClear = backgroundColor === 'rgba(0, 0, 0, 0)' && backgroundImage === 'none';
    context.background = { backgroundColor, backgroundImage, isTextClip: webkitBackgroundClip === 'text', isClear };
  }
  return context.background;
};

/** @param {Element} el @param {StyleContext} context @param {PaintState} outer */
const stateWithBackground = (el, context, outer) => {
  const facts = backgroundFactsOf(el, context);
  if (facts.isClear || facts.isTextClip || displayOf(el) === 'contents') return outer;
  const key = `${facts.backgroundColor} ${facts.backgroundImage}`;
  outer.alike ??= new Map();
  let paint = outer.alike.get(key);
  if (!paint) {
    paint = Object.assign(outer.inside(), { background: backgroundOver(outer.background, facts) });
    outer.alike.set(key, paint);
  }
  return paint;
};

/** @param {Element} el @param {StyleContext} context @returns {BoxFacts} */
export const boxFactsOf = (el, context) => {
  context.box ??= readBoxFacts(el);
  return context.box;
};

/** @param {Element} el @returns {BoxFacts} */
const readBoxFacts = (el) => {
  const style = getComputedStyle(el);
  const { display, position, overflowX, overflowY, contain, clipPath, clip, direction, filter, transform, maskImage, zIndex } = style;
  const out = position === 'absolute' ? 1 : position === 'fixed' ? 2 : 0;
  const moved = transform !== 'none' || style.translate !== 'none' || style.scale !== 'none' || style.rotate !== 'none' || style.offsetPath !== 'none';
  const indented = isIndented(style);
  const isMaskedAway = maskImage !== 'none' && parseColors(maskImage).every((color) => color && color[3] < MIN_ALPHA) && !maskImage.includes('url(');
  const overflow = overflowX + overflowY;
  return {
    display, position, overflowX, overflowY, contain, clipPath, clip, direction, filter, zIndex,
    replaced: UNDRAWN_CONTENT.has(tagOf(el)),
    skipped: style.contentVisibility === 'hidden',
    strength: +style.opacity * (el instanceof SVGElement ? +style.fillOpacity : 1),
    gone: (transform !== 'none' && isBackFacing(el, style)) || isMaskedAway,
    out, moved,
    displaced: out > 0 || moved || position === 'sticky' || hasNegativeMargin(style) ||
      (position === 'relative' && OFFSET_PROPERTIES.some((key) => parseFloat(style[key]))) || style.gridRowStart !== 'auto' || style.gridColumnStart !== 'auto',
    zoomed: style.zoom !== '1', squeezed: isSqueezed(style), indented,
    shifted: indented && isShifted(style),
    inlineBlock: isInlineBlockLike(style), isInline: display === 'inline',
    aligned: /flex|grid/.test(display) && (ALIGNED.test(style.justifyContent) || ALIGNED.test(style.alignItems) || style.flexDirection.includes('reverse')),
    scrolls: /auto|scroll/.test(overflow),
    cuts: /hidden|clip/.test(overflow) || /paint|strict|content/.test(contain),
  };
};
// Alignments that may put an overflowing item out of its container on the side where nothing scrolls.
const ALIGNED = /center|end|right|around|evenly|baseline/;

/** @param {Element} el @param {BoxFacts} facts @param {PaintState} paint @param {PaintState} outer @param {number} effects */
const applyPosition = (el, facts, paint, outer, effects) => {
  const { out, moved, position } = facts;
  paint.replaced = facts.replaced;
  paint.skipped ||= facts.skipped;
  paint.strength *= facts.strength;
  if (facts.filter !== 'none') applyFilter(facts.filter, paint);
  if (paint.strength < MIN_ALPHA || facts.gone) paint.gone = true;
  paint.away ||= out > 0 || moved;
  paint.fixed ||= out === 2;
  if (out === 2) paint.scroller = null;
  paint.sticks ||= out === 2 || position === 'sticky';
  paint.displaced ||= facts.displaced;
  if (facts.displaced) { paint.flowRoot = el; paint.isMeasured = true; }
  const isIndenting = !facts.isInline && facts.indented;
  const tight = facts.zoomed || facts.squeezed || (isIndenting && (facts.shifted || outer.indented)) || (outer.indented && facts.inlineBlock);
  paint.tight ||= tight;
  paint.indented ||= isIndenting;
  const clips = applyClips(el, facts, paint, outer.clips[out]);
  if (clips) paint.isMeasured = true;
  if (effects & CRUSH && !isRoot(el) && isCrushed(getComputedStyle(el))) { paint.isMeasured = true; paint.crushed = true; }
  paint.placed ||= paint.displaced || tight || clips || paint.crushed;
};

/** @param {Element} el */
export const isRoot = (el) => el === documentElement(document) || tagOf(el) === 'body';

// Whether all content of an element that is in the flow can be scrolled into view. Decided once for a large part of the
// page; false if it has to be decided for each text.
/** @param {Element} el */
export const isSettled = (el) => {
  const { settled } = paintCache();
  /** @type {Element[]} */
  const chain = [];
  /** @type {boolean | undefined} */
  let known;
  let at = /** @type {Node | null} */ (el);
  while (at && isElement(at) && (known = settled.get(at)) === undefined) { chain.push(at); at = drawnParent(at); }
  known ??= false;
  for (let i = chain.length - 1; i >= 0; i -= 1) {
    known = (known && isInFlow(chain[i])) || isBoxSettled(chain[i]);
    settled.set(chain[i], known);
  }
  return known;
};

// Whether an element is where the flow puts it, and clips nothing.
/** @param {Element} el */
const isInFlow = (el) => {
  const context = contextOf(el);
  if (!(context.effects & (PLACE | MARGIN | CRUSH))) return true;
  if (!(context.effects & PLACE)) return !paintStateOf(el).crushed && !spacingFactsOf(el, context).displaced;
  const facts = boxFactsOf(el, context);
  return !facts.displaced && !facts.scrolls && !facts.cuts && facts.clipPath === 'none' && facts.clip === 'auto' && !paintStateOf(el).crushed;
};

// The box of an element, and how far its content reaches beyond it, which is nothing for an inline box. It is asked for twice in a row.
/** @type {{ el: Element | null, call: number, extent: Extent }} */
let lastExtent = { el: null, call: -1, extent: { rect: { left: 0, top: 0, right: 0, bottom: 0 }, width: 0, across: 0, down: 0 } };
/** @param {Element} el @returns {Extent} */
export const extentOf = (el) => {
  if (lastExtent.el !== el || lastExtent.call !== callNumber) {
    const width = clientWidth(el);
    const [across, down] = width > 0 ? [Math.max(scrollWidth(el) - width, 0), Math.max(scrollHeight(el) - clientHeight(el), 0)] : [0, 0];
    lastExtent = { el, call: callNumber, extent: { rect: boundingRect(el), width, across, down } };
  }
  return lastExtent.extent;
};

// Whether an element is within the page and the clips around it, and clips nothing of what it contains.
/** @param {Element} el */
const isBoxSettled = (el) => {
  const paint = paintStateOf(el);
  const context = contextOf(el);
  const facts = context.effects & PLACE ? boxFactsOf(el, context) : null;
  if (paint.tight || paint.crushed || pageScrolling().rtl) return false;
  if (facts && (facts.aligned || facts.direction === 'rtl' || facts.clipPath !== 'none' || facts.clip !== 'auto')) return false;
  const { rect, across, down } = extentOf(el);
  if (isTooSmall(rect)) return false;
  if (facts?.cuts && ((!SCROLLS.test(facts.overflowX) && across > 1) || (!SCROLLS.test(facts.overflowY) && down > 1))) return false;
  const spreads = !facts?.scrolls && !isRoot(el);
  const box = { left: rect.left, top: rect.top, right: rect.right + (spreads ? across : 0), bottom: rect.bottom + (spreads ? down : 0) };
  if (paint.clips[0] !== null && !containsBox(paint.clips[0], box)) return false;
  if (paint.scroller !== null) return !isOutOfReach(rect, paint);
  const { innerWidth: width, innerHeight: height, scrollX: x, scrollY: y } = globalThis;
  if (paint.fixed) return box.left >= 0 && box.top >= 0 && box.right <= width && box.bottom <= height;
  if (box.left + x < -1 || box.top + y < -1) return false;
  return !paint.away || (!(pageScrolling().locked && (box.right > width || box.bottom > height)) && Math.abs(box.right + x) <= MAX_SCREENS_AWAY * width);
};
const SCROLLS = /auto|scroll/;

/** @param {Box} outer @param {Box} box */
export const containsBox = (outer, box) =>
  outer.left <= box.left + 1 && outer.top <= box.top + 1 && outer.right >= box.right - 1 && outer.bottom >= box.bottom - 1;

/** @type {('top' | 'right' | 'bottom' | 'left')[]} */
const OFFSET_PROPERTIES = ['top', 'right', 'bottom', 'left'];
/** @type {('marginTop' | 'marginRight' | 'marginBottom' | 'marginLeft')[]} */
const MARGIN_PROPERTIES = ['marginTop', 'marginRight', 'marginBottom', 'marginLeft'];
/** @param {CSSStyleDeclaration} style */
const hasNegativeMargin = (style) => MARGIN_PROPERTIES.some((key) => parseFloat(style[key]) < 0);
/** @type {('width' | 'height' | 'lineHeight')[]} */
const SIZE_PROPERTIES = ['width', 'height', 'lineHeight'];
/** @param {CSSStyleDeclaration} style */
const isCrushed = (style) => SIZE_PROPERTIES.some((key) => parseFloat(style[key]) <= TOO_SMALL);
/** @param {CSSStyleDeclaration} style */
const isSqueezed = (style) => parseFloat(style.letterSpacing) < 0 || parseFloat(style.wordSpacing) < 0;

// A negatively indented first line is still in its box if the padding has room for it. Inline blocks inherit the
// indent, and accumulate it.
/** @param {CSSStyleDeclaration} style */
const isIndented = (style) => parseFloat(style.textIndent) < 0;
/** @param {CSSStyleDeclaration} style */
const isShifted = (style) => {
  const room = style.direction === 'rtl' ? style.paddingRight : style.paddingLeft;
  return style.writingMode !== 'horizontal-tb' || parseFloat(style.textIndent) + parseFloat(room) < 0;
};
/** @param {CSSStyleDeclaration} style */
const isInlineBlockLike = (style) => style.display.includes('inline-');

/** @param {string} filter @param {PaintState} paint */
export const applyFilter = (filter, paint) => {
  for (const [, name, amount] of filter.matchAll(/(opacity|contrast|blur)\(([\d.e-]+)/g)) {
    if (name === 'opacity') paint.strength *= +amount;
    else if (name === 'blur' ? +amount >= MAX_BLUR : +amount < MIN_ALPHA) paint.gone = true;
  }
};

// Whether a hidden backface is turned towards the viewer.
/** @param {Element} el @param {CSSStyleDeclaration} style */
const isBackFacing = (el, style) => {
  if (style.backfaceVisibility !== 'hidden') return false;
  let matrix = new DOMMatrix(style.transform);
  const parent = drawnParent(el);
  const around = parent && isElement(parent) ? getComputedStyle(parent) : null;
  if (around && around.transformStyle === 'preserve-3d' && around.transform !== 'none') matrix = new DOMMatrix(around.transform).multiply(matrix);
  return matrix.m33 < 0;
};

// Returns whether it clips.
/** @param {Element} el @param {BoxFacts} facts @param {PaintState} paint @param {Box | null} own */
const applyClips = (el, facts, paint, own) => {
  const { position, moved, scrolls, cuts, contain, filter } = facts;
  let clip = own;
  const shape = facts.clipPath !== 'none' || facts.clip !== 'auto' ? clipShape(facts, boundingRect(el)) : null;
  if (shape) clip = intersect(clip, shape);
  let flow = clip;
  const clips = (scrolls || cuts) && !isRoot(el);
  if (clips) {
    // What can be scrolled to is visible, if its scroll container is.
    if (scrolls) {
      noteScroller(el);
      paint.scroller = { el, outer: paint.scroller, clip, rect: boundingRect(el) };
    }
    flow = scrolls ? scrollableArea(el, facts) : intersect(clip, boundingRect(el));
  }
  const holdsAbsolute = position !== 'static' || moved || filter !== 'none' || contain !== 'none';
  const holdsFixed = moved || filter !== 'none' || contain !== 'none';
  const [, absolute, fixed] = paint.clips;
  paint.clips = [
    flow,
    holdsAbsolute ? flow : shape ? intersect(absolute, shape) : absolute,
    holdsFixed ? flow : shape ? intersect(fixed, shape) : fixed,
  ];
  return clips || shape !== null;
};

// The area that can be scrolled into view inside an element, in current coordinates.
/** @param {Element} el @param {BoxFacts} style */
const scrollableArea = (el, style) => {
  const { left, top, right, bottom } = boundingRect(el);
  const reach = { left, top, right, bottom };
  if (/auto|scroll/.test(style.overflowX)) {
    reach.left -= style.direction === 'rtl' ? scrollWidth(el) : scrollLeft(el);
    reach.right += scrollWidth(el);
  }
  if (/auto|scroll/.test(style.overflowY)) {
    reach.top -= scrollTop(el);
    reach.bottom += scrollHeight(el);
  }
  return reach;
};

/** @param {Box | null} one @param {Box} other @returns {Box} */
export const intersect = (one, other) =>
  one === null ? other : {
    left: Math.max(one.left, other.left), top: Math.max(one.top, other.top),
    right: Math.min(one.right, other.right), bottom: Math.min(one.bottom, other.bottom),
  };

// The bounding box of a clip; null for shapes that are not evaluated.
/** @param {{ clip: string, clipPath: string, position: string }} style @param {DOMRect} rect @returns {Box | null} */
export const clipShape = (style, rect) => {
  const { left, top, right, bottom } = rect;
  /** @param {string} text @param {number} size */
  const px = (text, size) => (text.endsWith('%') ? (parseFloat(text) / 100) * size : parseFloat(text) || 0);
  const clip = /^rect\(([^)]*)\)/.exec(style.clip);
  if (clip && /absolute|fixed/.test(style.position)) {
    const [t, r, b, l] = clip[1].split(/[\s,]+/);
    /** @param {string} text @param {number} auto @param {number} from */
    const edge = (text, auto, from) => (text === 'auto' ? auto : from + parseFloat(text));
    return { left: edge(l, left, left), top: edge(t, top, top), right: edge(r, right, left), bottom: edge(b, bottom, top) };
  }
  const [, kind, inside] = /^(inset|circle|ellipse|polygon)\(([^)]*)\)/.exec(style.clipPath) ?? [];
  if (kind === 'inset') {
    const [t, r = t, b = t, l = r] = inside.split(/\s+round\s/)[0].trim().split(/\s+/);
    return { left: left + px(l, rect.width), top: top + px(t, rect.height), right: right - px(r, rect.width), bottom: bottom - px(b, rect.height) };
  }
  if (kind === 'circle' || kind === 'ellipse') {
    const none = inside.trim().split(/\s+at\s+/)[0].split(/\s+/).some((radius) => /^[\d.]/.test(radius) && px(radius, 100) <= TOO_SMALL / 2);
    return none ? { left, top, right: left, bottom: top } : null;
  }
  if (kind === 'polygon') {
    const points = inside.replace(/^\w+,/, '').split(',').map((point) => point.trim().split(/\s+/));
    const xs = points.map(([x]) => left + px(x, rect.width));
    const ys = points.map(([, y]) => top + px(y ?? '0', rect.height));
    return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
  }
  return null;
};

/** @param {Box} request */
export const isTooSmall = ({ left, top, right, bottom }) => right - left <= TOO_SMALL || bottom - top <= TOO_SMALL;

// Whether a box can never be scrolled into view.
/** @param {Box} rect @param {PaintState} paint */
export const isOutOfReach = (rect, paint) => {
  if (paint.clips[0] && isTooSmall(intersect(paint.clips[0], rect))) return true;
  let box = rect;
  for (let at = paint.scroller; at; at = at.outer) {
    box = at.rect;
    if (isTooSmall(intersect(at.clip, box))) return true;
  }
  const { innerWidth: width, innerHeight: height, scrollX: x, scrollY: y } = globalThis;
  const { left, top, right, bottom } = box;
  if (paint.fixed) return right <= 0 || bottom <= 0 || left >= width || top >= height;
  const { rtl, locked } = pageScrolling();
  if (bottom + y <= 0 || (rtl ? left + x >= width : right + x <= 0)) return true;
  return paint.away && ((locked && (left >= width || top >= height)) || Math.abs(left + x) > MAX_SCREENS_AWAY * width);
};

export const pageScrolling = () => {
  const now = paintCache();
  if (now.scroll === null) {
    const root = documentElement(document);
    const style = getComputedStyle(root);
    const body = childByTag(root, 'body');
    const held = /hidden|clip/;
    const bodyLocks = body !== null && style.overflow === 'visible' && held.test(getComputedStyle(body).overflow);
    const locked = held.test(style.overflow) || bodyLocks;
    now.scroll = { rtl: style.direction === 'rtl', locked, scrolls: !locked && scrollHeight(root) > globalThis.innerHeight };
  }
  return now.scroll;
};

export const mayMeasure = () => {
  const now = paintCache();
  now.measured += 1;
  return now.measured <= MAX_MEASURED;
};

// Whether text is drawn by its shadow, its stroke or a background clipped to it.
/** @param {Element} el @param {PaintState} paint */
export const isDrawnByEffects = (el, paint) => {
  const style = getComputedStyle(el);
  /** @param {string} text */
  const shows = (text) => parseColors(text).some((color) => color && isLegible(color, paint.strength, paint.background));
  if (style.textShadow !== 'none' && shows(style.textShadow)) return true;
  if (parseFloat(style.webkitTextStrokeWidth) > 0 && shows(style.webkitTextStrokeColor)) return true;
  for (let at = /** @type {Node | null} */ (el), steps = 0; at && isElement(at) && steps < 20; at = drawnParent(at), steps += 1) {
    const around = getComputedStyle(at);
    if (around.webkitBackgroundClip !== 'text') continue;
    const background = backgroundOver(paint.background, around);
    if (background === null || paint.background === null || contrast(background, paint.background) >= MIN_CONTRAST) return true;
  }
  return false;
};
