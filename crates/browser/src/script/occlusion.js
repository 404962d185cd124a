// What is painted over a text, and what is painted under it.
//
// Computed from geometry and not from hit tests: those see only the window, and nothing that lets the pointer through.

import { backgroundOver, isLegible, MIN_ALPHA } from './color_contrast.js';
import { CHECK_VISIBILITY_PROPERTY } from './element_visibility.js';
import { drawnParent, isInside, tagOf } from './flat_tree.js';
import {
  boundingRect, checkVisibility, closest, collectionLength, compareDocumentPosition, descendants,
  documentElement,
  firstElementChild, isElement, matches, naturalWidth, nextElementSibling, parentNode, querySelector,
} from './intrinsics.js';
import {
  backgroundFactsOf, boxFactsOf, containsBox, extentOf, intersect, isRoot, isTooSmall, pageScrolling, paintCache, paintStateOf,
} from './paint_state.js';
import { contextOf, elementsWithEffect, mayHide, possibleEffects } from './style_context.js';
import { BACKGROUND, MOVE, PLACE } from './style_rules.js';

// Elements with a background that are considered; of more, the first ones.
const MAX_PAINTED = 3000;
// Boxes considered for one text.
const MAX_NEAR_BOXES = 200;
const BAND_HEIGHT = 512;
const MAX_BANDS = 64;
const PICTURES = 'img, video, canvas, iframe, object, embed, svg';

const PICTURE_TAGS = new Set(PICTURES.split(', '));

// Calls `take` with each rendered element below a root that may have a background or be a picture, in document order, until it
// returns false. Without what is in one of the `others`.
/** @param {Element} root @param {(el: Element) => boolean} take @param {Set<Element>} [others] */
const forEachPainted = (root, take, others) => {
  for (let el = /** @type {Element | null} */ (root); el;) {
    const isOther = el !== root && others?.has(el) === true;
    const isPainted = !isOther && (contextOf(el).effects & BACKGROUND || PICTURE_TAGS.has(tagOf(el)));
    if (isPainted && !take(el)) return false;
    /** @type {Element | null} */
    let next = isOther || (mayHide(el) && !checkVisibility(el)) ? null : firstElementChild(el);
    for (let at = el; !next && at !== root;) {
      next = nextElementSibling(at);
      at = /** @type {Element} */ (parentNode(at));
    }
    el = next;
  }
  return true;
};

/** @param {(take: (el: Element) => boolean) => void} forEach @param {(el: Element) => boolean} isWanted */
const collectBoxes = (forEach, isWanted) => {
  /** @type {PaintedBoxes} */
  const found = { bands: new Map(), tall: [], all: [] };
  forEach((el) => {
    const box = isWanted(el) ? measurePaintedBox(el) : null;
    if (box) {
      found.all.push(box);
      indexBox(box, found);
    }
    return found.all.length < MAX_PAINTED;
  });
  return found;
};

const MAX_MOVED_DERIVED = 2000;
// The elements that a rule or an attribute may have moved; null if that may be any.
const movedElements = () => {
  const moved = elementsWithEffect(MOVE);
  // Most of them are in their place after all. To find that out takes as long as to look at what is painted in them.
  if (moved) for (const el of moved) if ((moved.size <= MAX_MOVED_DERIVED || isRoot(el)) && !isDisplaced(el)) moved.delete(el);
  return moved;
};

// Elements in moved ones that are all looked at.
const MAX_MOVED_WALKED = 300;
// The moved elements that are in no other one; null if there is too much in them.
/** @param {Set<Element>} moved */
const outermostOf = (moved) => {
  if (moved.size > MAX_AT_ONCE) return null;
  /** @type {Map<Node, boolean>} */
  const known = new Map();
  const outermost = [];
  let inside = 0;
  for (const el of moved) {
    const parent = parentNode(el);
    if (parent && isInAny(parent, moved, known)) continue;
    outermost.push(el);
    inside += collectionLength(descendants(el, '*'));
    if (inside > MAX_MOVED_WALKED) return null;
  }
  return outermost;
};

/** @param {Node} node @param {Set<Node>} roots @param {Map<Node, boolean>} known */
const isInAny = (node, roots, known) => {
  /** @type {Node[]} */
  const chain = [];
  /** @type {boolean | undefined} */
  let isIn;
  for (let at = /** @type {Node | null} */ (node); at && isIn === undefined; at = parentNode(at)) {
    isIn = known.get(at) ?? (roots.has(at) ? true : undefined);
    chain.push(at);
  }
  for (const at of chain) known.set(at, isIn ?? false);
  return isIn ?? false;
};

// Boxes with a background, indexed by horizontal bands of the page.
const paintedBoxes = () => {
  const now = paintCache();
  now.painted ??= collectBoxes((take) => { forEachPainted(documentElement(document), take); }, () => true);
  return now.painted;
};

// Those that can cover a text: opaque and out of their place in the flow. Where much is, they are looked for in what is near.
const covers = () => {
  const now = paintCache();
  if (now.covers === null) {
    now.covers = { bands: new Map(), tall: [], all: [] };
    /** @type {PaintedBoxes} */
    const found = { bands: new Map(), tall: [], all: [] };
    const take = addingTo(found);
    const moved = movedElements();
    const outermost = moved && outermostOf(moved);
    if (outermost) outermost.every((el) => forEachPainted(el, take));
    else if (!moved) forEachPainted(documentElement(document), take);
    else for (const el of moved) {
      const box = unexploredBox(el, moved);
      if (isTooSmall(box.rect)) continue;
      found.all.push(box);
      indexBox(box, found);
    }
    now.covers = found;
  }
  return now.covers;
};

/** @param {PaintedBoxes} found @returns {(el: Element) => boolean} */
const addingTo = (found) => (el) => {
  const box = !(PICTURE_TAGS.has(tagOf(el)) || !backgroundFactsOf(el, contextOf(el)).isClear) || !paintStateOf(el).displaced ? null : measurePaintedBox(el);
  if (box?.cover === 1) {
    found.all.push(box);
    indexBox(box, found);
  }
  return found.all.length < MAX_PAINTED;
};

// Where the content of a moved element may be. What is in the flow may reach beyond it on the side where nothing scrolls; more than
// this is not expected.
const REACH_TO_LEFT = 1000;
const REACH_TO_TOP = 200;
/** @param {Element} el @param {Set<Element>} moved @returns {PaintedBox} */
const unexploredBox = (el, moved) => {
  const flowRoot = moved.size <= MAX_MOVED_DERIVED ? el : null;
  let rect = /** @type {Box} */ (boundingRect(el));
  if (firstElementChild(el) !== null) {
    const { across, down } = extentOf(el);
    rect = { left: rect.left - REACH_TO_LEFT, top: rect.top - REACH_TO_TOP, right: rect.right + across, bottom: rect.bottom + down };
  }
  return { el, flowRoot, rect, background: null, opaque: false, cover: 0, sticks: false, unexplored: moved };
};

// Looks into the moved elements that have something in a region.
/** @param {PaintedBoxes} boxes @param {Iterable<PaintedBox>} near @param {Box} region @param {PaintState} paint */
const explore = (boxes, near, region, paint) => {
  /** @type {PaintedBox[]} */
  const met = [];
  for (const box of near) {
    if (!box.unexplored || (box.flowRoot !== null && box.flowRoot === paint.flowRoot)) continue;
    if (paint.scroller || overlaps(box.rect, region) || fillsWindow(box.rect)) met.push(box);
  }
  for (const box of met) {
    const others = box.unexplored;
    box.unexplored = undefined;
    forEachPainted(box.el, addingTo(boxes), others);
  }
};

// Whether nothing covers the content of an element. For content in the flow this is decided once for a large part of the
// page; false if it has to be decided for each text.
/** @param {Element} el */
export const isUncovered = (el) => {
  if (covers().all.length === 0) return true;
  const { free } = paintCache();
  /** @type {Element[]} */
  const chain = [];
  /** @type {boolean | undefined} */
  let known;
  let at = /** @type {Node | null} */ (el);
  while (at && isElement(at) && (known = free.get(at)) === undefined) { chain.push(at); at = drawnParent(at); }
  known ??= false;
  for (let i = chain.length - 1; i >= 0; i -= 1) {
    known = (known && !isDisplaced(chain[i])) || isBoxUncovered(chain[i]);
    free.set(chain[i], known);
  }
  return known;
};

/** @param {Element} el */
const isDisplaced = (el) => Boolean(possibleEffects(el) & MOVE) && (!(possibleEffects(el) & PLACE) || boxFactsOf(el, contextOf(el)).displaced);

// Bands that an element may reach over to be decided as a whole.
const MAX_BANDS_AT_ONCE = 6;
// Covers that are compared one by one.
const MAX_AT_ONCE = 100;
/** @param {Element} el */
const isBoxUncovered = (el) => {
  const { rect, width, across, down } = extentOf(el);
  // An inline box says nothing about the boxes in it.
  if (width === 0 || rect.right === rect.left) return false;
  const region = { left: rect.left - 1, top: rect.top - 1, right: rect.right + across + 1, bottom: rect.bottom + down + 1 };
  const [first, last] = [Math.floor(region.top / BAND_HEIGHT), Math.floor(region.bottom / BAND_HEIGHT)];
  const boxes = covers();
  const { bands, tall, all } = boxes;
  const paint = paintStateOf(el);
  const isFew = all.length <= MAX_AT_ONCE;
  if (!isFew && last - first > MAX_BANDS_AT_ONCE) return false;
  /** @param {PaintedBox} box */
  const reaches = (box) => mayCover(box, el, region, paint);
  if (isFew) {
    explore(boxes, all, region, paint);
    return !all.some(reaches);
  }
  explore(boxes, tall, region, paint);
  for (let band = first; band <= last; band += 1) explore(boxes, bands.get(band) ?? [], region, paint);
  if (tall.some(reaches)) return false;
  for (let band = first; band <= last; band += 1) if (bands.get(band)?.some(reaches)) return false;
  return true;
};

// Whether a box may cover something in a region of an element.
/** @param {PaintedBox} box @param {Element} el @param {Box} region @param {PaintState} paint */
const mayCover = (box, el, region, paint) => {
  if (box.cover !== 1 || box.flowRoot === paint.flowRoot) return false;
  if (paint.scroller || (box.sticks && !paint.sticks)) {
    return containsBox(box.rect, regionToCover(region, paint, box)) && !isInside(el, box.el);
  }
  return overlaps(box.rect, region) && !isInside(el, box.el);
};

/** @param {Box} one @param {Box} other */
const overlaps = (one, other) =>
  one.left < other.right && one.right > other.left && one.top < other.bottom && one.bottom > other.top;

/** @param {Box} rect */
const fillsWindow = (rect) =>
  rect.right - rect.left >= globalThis.innerWidth - 2 && rect.bottom - rect.top >= globalThis.innerHeight - 2;

/** @param {PaintedBox} box @param {PaintedBoxes} options */
const indexBox = (box, { bands, tall }) => {
  const first = Math.floor(box.rect.top / BAND_HEIGHT);
  const last = Math.floor(box.rect.bottom / BAND_HEIGHT);
  // What sticks in it and fills the window covers everything that scrolls under it.
  if (last - first >= MAX_BANDS || (box.unexplored && fillsWindow(box.rect))) { tall.push(box); return; }
  for (let band = first; band <= last; band += 1) {
    const there = bands.get(band);
    if (there) there.push(box);
    else bands.set(band, [box]);
  }
};

/** @param {Element} el */
const measurePaintedBox = (el) => {
  if (el === documentElement(document) || tagOf(el) === 'body') return null;
  const facts = backgroundFactsOf(el, contextOf(el));
  const picture = PICTURE_TAGS.has(tagOf(el)) && !(el instanceof HTMLImageElement && naturalWidth(el) === 0);
  if ((facts.isClear && !picture) || facts.isTextClip) return null;
  const paint = paintStateOf(el);
  const background = picture ? null : backgroundOver(null, facts);
  if (!checkVisibility(el, CHECK_VISIBILITY_PROPERTY) || paint.strength < MIN_ALPHA) return null;
  const rect = boundingRect(el);
  if (isTooSmall(rect) || (paint.clips[0] && isTooSmall(intersect(paint.clips[0], rect)))) return null;
  // A translucent box covers nothing; nor does an SVG or a canvas, which is mostly transparent.
  const opaque = paint.strength > 0.9 && (background !== null || (picture && tagOf(el) !== 'svg' && tagOf(el) !== 'canvas'));
  return { el, flowRoot: paint.flowRoot, rect, background, opaque, cover: paint.displaced && opaque ? 1 : 0, sticks: paint.sticks };
};

/** @param {Box} rect @param {PaintedBoxes} boxes */
const boxesNear = (rect, boxes) => {
  const { bands, tall } = boxes;
  const band = Math.floor((rect.top + rect.bottom) / 2 / BAND_HEIGHT);
  const there = (bands.get(band) ?? []).filter(({ rect: box }) => box.right > rect.left && box.left < rect.right);
  return tall.concat(there).slice(0, MAX_NEAR_BOXES);
};

// The region that a box must cover for a text to be out of sight at every scroll position.
/** @param {Box} rect @param {PaintState} paint @param {PaintedBox} box */
const regionToCover = (rect, paint, box) => {
  // Text can be scrolled out from under a sticky or fixed box.
  if (box.sticks && !paint.sticks && (paint.scroller || pageScrolling().scrolls)) {
    return paint.scroller ? paint.scroller.rect : { left: 0, top: 0, right: globalThis.innerWidth, bottom: globalThis.innerHeight };
  }
  let region = rect;
  for (let at = paint.scroller; at; at = at.outer) if (!isInside(box.el, at.el)) region = at.rect;
  return region;
};

/** @param {Element} el @param {Box} rect @param {PaintState} paint */
export const isOccluded = (el, rect, paint) => {
  const boxes = covers();
  if (boxes.all.length === 0) return false;
  explore(boxes, boxesNear(rect, boxes), rect, paint);
  return boxesNear(rect, boxes).some(
    (box) => box.cover === 1 && box.flowRoot !== paint.flowRoot && containsBox(box.rect, regionToCover(rect, paint, box)) && !isInside(el, box.el) && !isInside(box.el, el) && isPaintedAbove(box.el, el),
  );
};

// Whether a text is legible because something other than its ancestors is painted behind it.
const SHAPES = 'rect, path, circle, ellipse, polygon, polyline, line, image, use';
/** @param {Element} el @param {Box} rect @param {PaintState} paint */
export const isVisibleOnOtherBox = (el, rect, paint) => {
  const drawing = el instanceof SVGElement ? closest(el, 'svg') : null;
  if (drawing && querySelector(drawing, SHAPES)) return true;
  const [x, y] = [(rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2];
  let top = null;
  for (const box of boxesNear(rect, paintedBoxes())) {
    const { left, right, top: upper, bottom } = box.rect;
    if (x < left || x >= right || y < upper || y >= bottom || (box.el !== el && isInside(box.el, el))) continue;
    if (!isInside(el, box.el) && isPaintedAbove(box.el, el)) continue;
    if (!top || isInside(box.el, top.el) || (!isInside(top.el, box.el) && isPaintedAbove(box.el, top.el))) top = box;
  }
  if (!top || isInside(el, top.el)) return false;
  return top.background === null ? true : isLegible(paint.ink, paint.strength, top.background);
};

// Layers of a stacking context: negative z-index, block boxes, inline content, positioned content.
const BELOW = -1;
const BOXES = 0;
const FLOW = 1;
const LIFTED = 2;

// The painting order of CSS 2.1, from the nearest common ancestor.
/** @param {Element} one @param {Element} other */
const isPaintedAbove = (one, other) => {
  const chain = new Set();
  for (let at = /** @type {Node | null} */ (other); at; at = drawnParent(at)) chain.add(at);
  let shared = /** @type {Node | null} */ (one);
  while (shared && !chain.has(shared)) shared = drawnParent(shared);
  const a = stackingLayer(one, shared, BOXES);
  const b = stackingLayer(other, shared, FLOW);
  if (a.layer !== b.layer) return a.layer > b.layer;
  if (a.z !== b.z) return a.z > b.z;
  return (compareDocumentPosition(other, one) & 4) !== 0;
};

// By the outermost element below the common ancestor that has a stacking context, or else that is painted atomically.
/** @param {Element} el @param {Node | null} shared @param {number} least */
const stackingLayer = (el, shared, least) => {
  let found = { layer: matches(el, PICTURES) ? FLOW : least, z: 0 };
  for (let at = /** @type {Node | null} */ (el); at && at !== shared; at = drawnParent(at)) {
    if (!isElement(at)) continue;
    const style = getComputedStyle(at);
    const z = parseInt(style.zIndex, 10) || 0;
    const parent = drawnParent(at);
    const item = parent && isElement(parent) && /flex|grid/.test(getComputedStyle(parent).display);
    const lifted = style.position !== 'static' || style.transform !== 'none' || +style.opacity < 1 || style.filter !== 'none' ||
      style.isolation === 'isolate' || style.willChange === 'transform' || (item && style.zIndex !== 'auto');
    if (lifted) found = { layer: z < 0 ? BELOW : LIFTED, z };
    else if (found.layer < FLOW && (item || style.float !== 'none' || style.display.startsWith('inline-'))) found = { layer: FLOW, z: 0 };
  }
  return found;
};
