// How the content of an element is painted: ink, background, opacity, clips and position.

import { callCache } from './call_cache.js';
import {
  backgroundOver, contrast, isLegible, MIN_ALPHA, MIN_CONTRAST, parseColor, parseColors, WHITE,
} from './color_contrast.js';
import { childByTag, flatParent, shadowRootsSeen, tagOf } from './flat_tree.js';
import {
  boundingRect, createRange, documentElement, isElement, parentNode, scrollHeight, scrollLeft, scrollTop,
  scrollWidth,
} from './intrinsics.js';
import {
  COLOR, CRUSH, FONT, INDENT, INK, MARGIN, MASK, PLACE, possibleEffects, SIZE, SPACING,
} from './style_hints.js';

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

  inside() { return Object.assign(new PaintState(), this, { easy: undefined, alike: undefined, outdented: undefined }); }

  // Whether its ink is legible on its background.
  stands() { return isLegible(this.ink, this.strength, this.background); }
}

export const paintCache = () => {
  const now = callCache();
  now.paint ??= {
    of: new Map(), texts: new Map(), range: createRange(document), measured: 0, hits: 0,
    root: rootPaintState(), painted: null, covered: null, scroll: null, shaded: null,
  };
  return now.paint;
};

const rootPaintState = () => {
  const paint = new PaintState();
  const root = documentElement(document);
  const scheme = root ? getComputedStyle(root).colorScheme : '';
  const dark = scheme.includes('dark') && (!scheme.includes('light') || matchMedia('(prefers-color-scheme: dark)').matches);
  if (dark) paint.background = [18, 18, 18, 1];
  // A frame without a background shows the page around it.
  if (window.top !== window) paint.background = null;
  return paint;
};

/** @param {Node} node */
export const drawnParent = (node) => (shadowRootsSeen ? flatParent(node) : parentNode(node));

// Derived from the nearest cached ancestor down; iterative.
/** @param {Element} el @returns {PaintState} */
export const paintStateOf = (el) => {
  const { of, root } = paintCache();
  const known = of.get(el);
  if (known) return known;
  /** @type {Element[]} */
  const chain = [];
  let at = /** @type {Node | null} */ (el);
  while (at && isElement(at) && !of.has(at)) { chain.push(at); at = drawnParent(at); }
  let paint = (at && isElement(at) && of.get(at)) || root;
  for (let i = chain.length - 1; i >= 0; i -= 1) {
    paint = derivePaintState(chain[i], paint);
    of.set(chain[i], paint);
  }
  return paint;
};

/** @param {Element} el @param {PaintState} outer */
const derivePaintState = (el, outer) => {
  const effects = possibleEffects(el);
  if (effects === 0) return outer;
  const style = getComputedStyle(el);
  let paint = effects & INK ? stateWithInk(el, style, outer, effects) : outer;
  if (!(effects & (PLACE | SIZE)) || style.display === 'contents') return paint;
  if (!(effects & PLACE)) return stateWithSpacing(style, paint, effects);
  paint = paint.inside();
  applyPosition(el, style, paint, outer);
  return paint;
};

// For elements whose only possible effects are sizes, which mostly hide nothing.
/** @param {CSSStyleDeclaration} style @param {PaintState} outer @param {number} effects */
const stateWithSpacing = (style, outer, effects) => {
  const displaced = Boolean(effects & MARGIN) && hasNegativeMargin(style);
  const indented = Boolean(effects & INDENT) && isIndented(style);
  const placed = displaced || (indented && isShifted(style, outer)) || (outer.indented && isInlineBlockLike(style)) ||
    (effects & SPACING && isSqueezed(style)) || (effects & CRUSH && isCrushed(style));
  if (placed) return Object.assign(outer.inside(), { displaced: outer.displaced || displaced, placed: true });
  if (!indented) return outer;
  outer.outdented ??= Object.assign(outer.inside(), { indented: true });
  return outer.outdented;
};

// One state for all children with the same ink; a page has thousands of links in two colors.
/** @param {Element} el @param {CSSStyleDeclaration} style @param {PaintState} outer @param {number} effects */
const stateWithInk = (el, style, outer, effects) => {
  const fill = effects & COLOR ? (el instanceof SVGElement ? style.fill : style.webkitTextFillColor) : '';
  const size = effects & FONT ? style.fontSize : '';
  const mask = effects & MASK ? style.webkitTextSecurity : '';
  const key = size || mask ? `${fill} ${size} ${mask}` : fill;
  outer.alike ??= new Map();
  let paint = outer.alike.get(key);
  if (!paint) {
    paint = outer.inside();
    if (fill) paint.ink = parseColor(fill) ?? paint.ink;
    if (size) paint.small = parseFloat(size) <= TOO_SMALL;
    if (mask) paint.masked = mask !== 'none';
    outer.alike.set(key, paint);
  }
  return paint;
};

/** @param {Element} el @param {CSSStyleDeclaration} style @param {PaintState} paint @param {PaintState} outer */
const applyPosition = (el, style, paint, outer) => {
  paint.replaced = UNDRAWN_CONTENT.has(tagOf(el));
  paint.skipped ||= style.contentVisibility === 'hidden';
  paint.strength *= +style.opacity * (el instanceof SVGElement ? +style.fillOpacity : 1);
  if (style.filter !== 'none') applyFilter(style.filter, paint);
  if (paint.strength < MIN_ALPHA) paint.gone = true;
  const text = style.webkitBackgroundClip === 'text';
  paint.background = text ? paint.background : backgroundOver(paint.background, style);
  if (style.transform !== 'none' && isBackFacing(el, style)) paint.gone = true;
  if (style.maskImage !== 'none' && parseColors(style.maskImage).every((color) => color && color[3] < MIN_ALPHA) && !style.maskImage.includes('url(')) paint.gone = true;
  const position = style.position;
  const out = position === 'absolute' ? 1 : position === 'fixed' ? 2 : 0;
  const moved = style.transform !== 'none' || style.translate !== 'none' || style.scale !== 'none' || style.rotate !== 'none' || style.offsetPath !== 'none';
  paint.away ||= out > 0 || moved;
  paint.fixed ||= out === 2;
  if (out === 2) paint.scroller = null;
  paint.sticks ||= out === 2 || position === 'sticky';
  paint.displaced ||= out > 0 || moved || position === 'sticky' || hasNegativeMargin(style) ||
    (position === 'relative' && OFFSET_PROPERTIES.some((key) => parseFloat(style[key]))) || style.gridRowStart !== 'auto' || style.gridColumnStart !== 'auto';
  const indented = isIndented(style);
  paint.placed ||= paint.displaced || style.zoom !== '1' || isCrushed(style) || isSqueezed(style) ||
    (indented && isShifted(style, outer)) || (outer.indented && isInlineBlockLike(style));
  paint.indented ||= indented;
  applyClips(el, style, paint, outer.clips[out], { position, moved });
};

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
/** @param {CSSStyleDeclaration} style @param {PaintState} outer */
const isShifted = (style, outer) => {
  const room = style.direction === 'rtl' ? style.paddingRight : style.paddingLeft;
  return outer.indented || style.writingMode !== 'horizontal-tb' || parseFloat(style.textIndent) + parseFloat(room) < 0;
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

/**
 * @param {Element} el
 * @param {CSSStyleDeclaration} style
 * @param {PaintState} paint
 * @param {Box | null} own
 * @param {{ position: string, moved: boolean }} options
 */
const applyClips = (el, style, paint, own, { position, moved }) => {
  const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY);
  const cuts = /hidden|clip/.test(style.overflowX + style.overflowY) || /paint|strict|content/.test(style.contain);
  const root = el === documentElement(document) || tagOf(el) === 'body';
  let clip = own;
  const shape = style.clipPath !== 'none' || style.clip !== 'auto' ? clipShape(style, boundingRect(el)) : null;
  if (shape) { clip = intersect(clip, shape); paint.placed = true; }
  let flow = clip;
  if ((scrolls || cuts) && !root) {
    paint.placed = true;
    // What can be scrolled to is visible, if its scroll container is.
    if (scrolls) paint.scroller = { el, outer: paint.scroller, clip };
    flow = scrolls ? scrollableArea(el, style) : intersect(clip, boundingRect(el));
  }
  const holdsAbsolute = position !== 'static' || moved || style.filter !== 'none' || style.contain !== 'none';
  const holdsFixed = moved || style.filter !== 'none' || style.contain !== 'none';
  const [, absolute, fixed] = paint.clips;
  paint.clips = [
    flow,
    holdsAbsolute ? flow : shape ? intersect(absolute, shape) : absolute,
    holdsFixed ? flow : shape ? intersect(fixed, shape) : fixed,
  ];
};

// The area that can be scrolled into view inside an element, in current coordinates.
/** @param {Element} el @param {CSSStyleDeclaration} style */
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
/** @param {CSSStyleDeclaration} style @param {DOMRect} rect @returns {Box | null} */
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
    box = boundingRect(at.el);
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
    now.scroll = { rtl: style.direction === 'rtl', locked: held.test(style.overflow) || bodyLocks };
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
