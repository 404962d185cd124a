// What a person with eyes sees of a text or a control, and what only a reader of the markup does.

// Text and boxes that are no larger than this cannot be read or hit, in CSS pixels.
const TOO_SMALL = 2;
const TOO_BLURRED = 5;
// Places of texts and controls that are measured in one snapshot. Beyond it they are taken to be where they can be seen.
const MOST_MEASURED = 30000;
// Text that scrolls to the right for longer than this many windows is not meant to be found.
const FARTHEST = 4;

const createRange = method(Document, 'createRange');
const selectNode = method(Range, 'selectNode');
const rangeRect = method(Range, 'getBoundingClientRect');
const scrollWidth = getter(Element, 'scrollWidth');
const scrollHeight = getter(Element, 'scrollHeight');
const scrollLeft = getter(Element, 'scrollLeft');
const scrollTop = getter(Element, 'scrollTop');
const UNDRAWN_CONTENT = new Set(['canvas', 'video', 'audio', 'object', 'meter', 'progress']);

// How what is directly inside an element is drawn. Elements that change nothing share their parent's.
class Look {
  // Whether nothing can be seen of it whatever it is.
  gone = false;
  // Whether text in it stands in for something else that is drawn.
  replaced = false;
  // Whether it is not drawn at all, and Chromium does not tell it either.
  skipped = false;
  strength = 1;
  ink = [0, 0, 0, 1];
  small = false;
  masked = false;
  // What is behind text, and the element that it belongs to; null if a picture may be.
  ground = WHITE;
  // Whether it has to be measured: it may be cut off or crushed, or stand elsewhere than in the flow of the page.
  placed = false;
  displaced = false;
  away = false;
  // Whether its first line begins further out than the others, yet inside its box.
  indented = false;
  fixed = false;
  sticks = false;
  // The boxes outside of which it is not drawn: for what is in the flow, absolute and fixed. null is no bound.
  clips = [null, null, null];
  // The nearest element that scrolls, with those around it.
  scroller = null;

  // Found once and kept: whether nothing has to be measured, and the looks of what is written in other colours.
  easy = undefined;
  alike = undefined;
  outdented = undefined;

  inside() { return Object.assign(new Look(), this, { easy: undefined, alike: undefined, outdented: undefined }); }

  // Whether its ink stands out from its ground.
  stands() { return stands(this.ink, this.strength, this.ground); }
}

const looks = () => {
  const now = knownNow();
  now.looks ??= {
    of: new Map(), texts: new Map(), range: createRange(document), measured: 0, hits: 0,
    root: rootLook(), painted: null, covered: null, scroll: null, shaded: null,
  };
  return now.looks;
};

const rootLook = () => {
  const look = new Look();
  const root = documentElement(document);
  const scheme = root ? getComputedStyle(root).colorScheme : '';
  const dark = scheme.includes('dark') && (!scheme.includes('light') || matchMedia('(prefers-color-scheme: dark)').matches);
  if (dark) look.ground = [18, 18, 18, 1];
  // A frame without a ground of its own shows the page around it.
  if (globalThis.top !== globalThis) look.ground = null;
  return look;
};

const drawnParent = (node) => (shadowRootsSeen ? flatParent(node) : parentNode(node));

// From the nearest element that is known, down; without recursion.
const lookOf = (el) => {
  const { of, root } = looks();
  const known = of.get(el);
  if (known) return known;
  const chain = [];
  let at = el;
  while (at && isElement(at) && !of.has(at)) { chain.push(at); at = drawnParent(at); }
  let look = (at && of.get(at)) || root;
  for (let i = chain.length - 1; i >= 0; i -= 1) {
    look = inner(chain[i], look);
    of.set(chain[i], look);
  }
  return look;
};

const inner = (el, outer) => {
  const signs = suspectedOf(el);
  if (signs === 0) return outer;
  const style = getComputedStyle(el);
  let look = signs & INK ? inkedLook(el, style, outer, signs) : outer;
  if (!(signs & (PLACE | SIZE)) || style.display === 'contents') return look;
  if (!(signs & PLACE)) return spacedLook(style, look, signs);
  look = look.inside();
  takePlace(el, style, look, outer);
  return look;
};

// Where nothing but sizes could do harm, and mostly does not.
const spacedLook = (style, outer, signs) => {
  const displaced = Boolean(signs & MARGIN) && hasNegativeMargin(style);
  const indented = Boolean(signs & INDENT) && isIndented(style);
  const placed = displaced || (indented && isShifted(style, outer)) || (outer.indented && pilesUp(style)) ||
    (signs & SPACING && isSqueezed(style)) || (signs & CRUSH && isCrushed(style));
  if (placed) return Object.assign(outer.inside(), { displaced: outer.displaced || displaced, placed: true });
  if (!indented) return outer;
  outer.outdented ??= Object.assign(outer.inside(), { indented: true });
  return outer.outdented;
};

// One look for all that are written alike in the same place; a page has thousands of links and two colours of them.
const inkedLook = (el, style, outer, signs) => {
  const fill = signs & COLOUR ? (el instanceof SVGElement ? style.fill : style.webkitTextFillColor) : '';
  const size = signs & FONT ? style.fontSize : '';
  const mask = signs & MASK ? style.webkitTextSecurity : '';
  const key = size || mask ? `${fill} ${size} ${mask}` : fill;
  outer.alike ??= new Map();
  let look = outer.alike.get(key);
  if (!look) {
    look = outer.inside();
    if (fill) look.ink = colourOf(fill) ?? look.ink;
    if (size) look.small = parseFloat(size) <= TOO_SMALL;
    if (mask) look.masked = mask !== 'none';
    outer.alike.set(key, look);
  }
  return look;
};

const takePlace = (el, style, look, outer) => {
  look.replaced = UNDRAWN_CONTENT.has(tagOf(el));
  look.skipped ||= style.contentVisibility === 'hidden';
  look.strength *= +style.opacity * (el instanceof SVGElement ? +style.fillOpacity : 1);
  if (style.filter !== 'none') takeFilter(style.filter, look);
  if (look.strength < LEAST_ALPHA) look.gone = true;
  const text = style.webkitBackgroundClip === 'text';
  look.ground = text ? look.ground : groundOver(look.ground, style);
  if (style.transform !== 'none' && turnedAway(el, style)) look.gone = true;
  if (style.maskImage !== 'none' && coloursIn(style.maskImage).every((colour) => colour && colour[3] < LEAST_ALPHA) && !style.maskImage.includes('url(')) look.gone = true;
  const position = style.position;
  const out = position === 'absolute' ? 1 : position === 'fixed' ? 2 : 0;
  const moved = style.transform !== 'none' || style.translate !== 'none' || style.scale !== 'none' || style.rotate !== 'none' || style.offsetPath !== 'none';
  look.away ||= out > 0 || moved;
  look.fixed ||= out === 2;
  if (out === 2) look.scroller = null;
  look.sticks ||= out === 2 || position === 'sticky';
  look.displaced ||= out > 0 || moved || position === 'sticky' || hasNegativeMargin(style) ||
    (position === 'relative' && OFFSETS.some((key) => parseFloat(style[key]))) || style.gridRowStart !== 'auto' || style.gridColumnStart !== 'auto';
  const indented = isIndented(style);
  look.placed ||= look.displaced || style.zoom !== '1' || isCrushed(style) || isSqueezed(style) ||
    (indented && isShifted(style, outer)) || (outer.indented && pilesUp(style));
  look.indented ||= indented;
  takeClips(el, style, look, outer.clips[out], { position, moved });
};

const OFFSETS = ['top', 'right', 'bottom', 'left'];
const MARGINS = ['marginTop', 'marginRight', 'marginBottom', 'marginLeft'];
const hasNegativeMargin = (style) => MARGINS.some((key) => parseFloat(style[key]) < 0);
const CRUSHES = ['width', 'height', 'lineHeight'];
const isCrushed = (style) => CRUSHES.some((key) => parseFloat(style[key]) <= TOO_SMALL);
const isSqueezed = (style) => parseFloat(style.letterSpacing) < 0 || parseFloat(style.wordSpacing) < 0;

// A first line that begins further out is still in its box if that has room for it. Boxes inside of lines inherit the
// indent, and can pile it up.
const isIndented = (style) => parseFloat(style.textIndent) < 0;
const isShifted = (style, outer) => {
  const room = style.direction === 'rtl' ? style.paddingRight : style.paddingLeft;
  return outer.indented || style.writingMode !== 'horizontal-tb' || parseFloat(style.textIndent) + parseFloat(room) < 0;
};
const pilesUp = (style) => style.display.includes('inline-');

const takeFilter = (filter, look) => {
  for (const [, name, amount] of filter.matchAll(/(opacity|contrast|blur)\(([\d.e-]+)/g)) {
    if (name === 'opacity') look.strength *= +amount;
    else if (name === 'blur' ? +amount >= TOO_BLURRED : +amount < LEAST_ALPHA) look.gone = true;
  }
};

// The back of a card is not drawn.
const turnedAway = (el, style) => {
  if (style.backfaceVisibility !== 'hidden') return false;
  let matrix = new DOMMatrix(style.transform);
  const parent = drawnParent(el);
  const around = parent && isElement(parent) ? getComputedStyle(parent) : null;
  if (around && around.transformStyle === 'preserve-3d' && around.transform !== 'none') matrix = new DOMMatrix(around.transform).multiply(matrix);
  return matrix.m33 < 0;
};

const takeClips = (el, style, look, own, { position, moved }) => {
  const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY);
  const cuts = /hidden|clip/.test(style.overflowX + style.overflowY) || /paint|strict|content/.test(style.contain);
  const root = el === documentElement(document) || tagOf(el) === 'body';
  let clip = own;
  const shape = style.clipPath !== 'none' || style.clip !== 'auto' ? shapeOf(style, boundingRect(el)) : null;
  if (shape) { clip = meet(clip, shape); look.placed = true; }
  let flow = clip;
  if ((scrolls || cuts) && !root) {
    look.placed = true;
    // What can be scrolled to can be seen, if that which scrolls can be.
    if (scrolls) look.scroller = { el, outer: look.scroller, clip };
    flow = scrolls ? reachOf(el, style) : meet(clip, boundingRect(el));
  }
  const holdsAbsolute = position !== 'static' || moved || style.filter !== 'none' || style.contain !== 'none';
  const holdsFixed = moved || style.filter !== 'none' || style.contain !== 'none';
  const [, absolute, fixed] = look.clips;
  look.clips = [
    flow,
    holdsAbsolute ? flow : shape ? meet(absolute, shape) : absolute,
    holdsFixed ? flow : shape ? meet(fixed, shape) : fixed,
  ];
};

// All that can be scrolled into view inside an element, in present coordinates.
const reachOf = (el, style) => {
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

const meet = (one, other) =>
  one === null ? other : {
    left: Math.max(one.left, other.left), top: Math.max(one.top, other.top),
    right: Math.min(one.right, other.right), bottom: Math.min(one.bottom, other.bottom),
  };

// The box around what a clip lets through; null for shapes that are not looked into.
const shapeOf = (style, rect) => {
  const { left, top, right, bottom } = rect;
  const px = (text, size) => (text.endsWith('%') ? (parseFloat(text) / 100) * size : parseFloat(text) || 0);
  const clip = /^rect\(([^)]*)\)/.exec(style.clip);
  if (clip && /absolute|fixed/.test(style.position)) {
    const [t, r, b, l] = clip[1].split(/[\s,]+/);
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

const isNothing = ({ left, top, right, bottom }) => right - left <= TOO_SMALL || bottom - top <= TOO_SMALL;

// Whether a box of the window can be brought before anybody's eyes.
const outOfReach = (rect, look) => {
  if (look.clips[0] && isNothing(meet(look.clips[0], rect))) return true;
  let box = rect;
  for (let at = look.scroller; at; at = at.outer) {
    box = boundingRect(at.el);
    if (isNothing(meet(at.clip, box))) return true;
  }
  const { innerWidth: width, innerHeight: height, scrollX: x, scrollY: y } = globalThis;
  const { left, top, right, bottom } = box;
  if (look.fixed) return right <= 0 || bottom <= 0 || left >= width || top >= height;
  const { rtl, locked } = pageScroll();
  if (bottom + y <= 0 || (rtl ? left + x >= width : right + x <= 0)) return true;
  return look.away && ((locked && (left >= width || top >= height)) || Math.abs(left + x) > FARTHEST * width);
};

const pageScroll = () => {
  const now = looks();
  if (now.scroll === null) {
    const root = documentElement(document);
    const style = getComputedStyle(root);
    const body = childByTag(root, 'body');
    const held = /hidden|clip/;
    now.scroll = { rtl: style.direction === 'rtl', locked: held.test(style.overflow) || (body !== null && style.overflow === 'visible' && held.test(getComputedStyle(body).overflow)) };
  }
  return now.scroll;
};

const measure = () => {
  const now = looks();
  now.measured += 1;
  return now.measured <= MOST_MEASURED;
};

// Text that is drawn by its shadow, its outline or a picture shining through it.
const drawnOtherwise = (el, look) => {
  const style = getComputedStyle(el);
  const shows = (text) => coloursIn(text).some((colour) => colour && stands(colour, look.strength, look.ground));
  if (style.textShadow !== 'none' && shows(style.textShadow)) return true;
  if (parseFloat(style.webkitTextStrokeWidth) > 0 && shows(style.webkitTextStrokeColor)) return true;
  for (let at = el, steps = 0; at && isElement(at) && steps < 20; at = drawnParent(at), steps += 1) {
    const around = getComputedStyle(at);
    if (around.webkitBackgroundClip !== 'text') continue;
    const ground = groundOver(look.ground, around);
    if (ground === null || look.ground === null || contrast(ground, look.ground) >= LEAST_CONTRAST) return true;
  }
  return false;
};

const SEEN = 0;
const UNSEEN_TEXT = 1;
// Drawn as dots, or not at all; and not told.
const WITHHELD = 2;

// What a person sees of a text that is not blank.
const sightOf = (node) => {
  const parent = drawnParent(node);
  if (!parent || !isElement(parent)) return SEEN;
  const look = lookOf(parent);
  if (isMaskedBy(parent, look)) return WITHHELD;
  if (!look.skipped && mayDrawNothing(parent) && isUndrawn(node, parent)) return UNSEEN_TEXT;
  if (isEasy(look)) return SEEN;
  if (look.skipped) return WITHHELD;
  if (look.gone || look.replaced || look.small) return UNSEEN_TEXT;
  const { texts } = looks();
  let sight = texts.get(node);
  if (sight === undefined) {
    sight = isTextLost(node, parent, look) ? UNSEEN_TEXT : SEEN;
    texts.set(node, sight);
  }
  return sight;
};

// Elements that draw something else than the text in them, or nothing: by a style, by their nature, or in a drawing
// outside of its texts.
const TEXT_IN_DRAWINGS = new Set(['text', 'tspan', 'textPath']);
const mayDrawNothing = (el) =>
  Boolean(suspectedOf(el) & HIDE) || tagOf(el) === 'br' || (el instanceof SVGElement && !TEXT_IN_DRAWINGS.has(tagOf(el)));

const isUndrawn = (node, parent) => {
  if (UNDRAWN.has(tagOf(parent)) || !measure()) return false;
  const { range } = looks();
  selectNode(range, node);
  const rect = rangeRect(range);
  return rect.width === 0 && rect.height === 0;
};

// Whether all there is to know is known without measuring anything.
const isEasy = (look) => {
  look.easy ??= !look.gone && !look.replaced && !look.small && !look.masked && !look.skipped && !look.placed && look.stands() && !hasCovers();
  return look.easy;
};

const isTextLost = (node, parent, look) => {
  const stood = look.stands();
  if (!stood && look.ink[3] * look.strength < LEAST_ALPHA) return !drawnOtherwise(parent, look);
  if (!measure()) return false;
  const { range } = looks();
  selectNode(range, node);
  const rect = rangeRect(range);
  // Options of a closed list, and the like.
  if (rect.width === 0 && rect.height === 0 && UNDRAWN.has(tagOf(parent))) return false;
  const crushed = rect.width <= TOO_SMALL && characters(node).trim().length > 1;
  if (crushed || rect.height <= TOO_SMALL || outOfReach(rect, look)) return true;
  if (!stood && !shownOnOther(parent, rect, look) && !drawnOtherwise(parent, look)) return true;
  return isCovered(parent, rect, look);
};

// The same of text that CSS writes, by its own style; where it stands is only looked at roughly.
const FAR = -500;
const isUnseenGenerated = (el, style) => {
  const look = lookOf(el);
  if (look.gone || look.small || parseFloat(style.fontSize) <= TOO_SMALL) return true;
  const written = look.inside();
  written.strength *= +style.opacity;
  if (style.filter !== 'none') takeFilter(style.filter, written);
  const ink = colourOf(style.webkitTextFillColor);
  if (written.gone || (ink && !stands(ink, written.strength, groundOver(look.ground, style)))) return style.textShadow === 'none';
  if ([style.left, style.top, style.textIndent, style.marginLeft, style.marginTop].some((at) => parseFloat(at) <= FAR)) return true;
  if (style.clipPath !== 'none' || style.clip !== 'auto') {
    const shape = shapeOf(style, new DOMRect(0, 0, 100, 100));
    if (shape && isNothing(shape)) return true;
  }
  return look.placed && measure() && outOfReach(boundingRect(el), look);
};

// Whether what is typed into a field, or written on an input, has the colour of its ground.
const isInkLost = (el) => {
  const look = lookOf(el);
  return look.small || (!look.stands() && !drawnOtherwise(el, look));
};

// Whether a control that can be acted on cannot be seen, whatever is written on it.
const isUnseenBox = (el, always = false) => {
  const look = lookOf(el);
  if (!always && isEasy(look)) return false;
  if (look.gone) return true;
  if (UNDRAWN.has(tagOf(el)) || !(always || look.placed || hasCovers()) || !measure()) return false;
  const rect = boundingRect(el);
  if (!isNothing(rect)) return outOfReach(rect, look) || isCovered(el, rect, look);
  // What is in it may well stick out of it.
  return getComputedStyle(el).display !== 'contents' && !sticksOut(el);
};

const MOST_INSIDE = 20;
const sticksOut = (el) => {
  const waiting = [el];
  for (let steps = 0; waiting.length && steps < MOST_INSIDE; steps += 1) {
    for (const child of flatChildren(waiting.pop()).slice(0, MOST_INSIDE)) {
      if (isText(child) ? characters(child).trim() && sightOf(child) === SEEN : isElement(child) && !isNothing(boundingRect(child))) return true;
      if (isElement(child)) waiting.push(child);
    }
  }
  return false;
};
