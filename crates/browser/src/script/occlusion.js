// What is painted over a text, and what is painted under it.
//
// Computed from geometry and not from hit tests: those see only the window, and nothing that lets the pointer through.

import { backgroundOver, isLegible, MIN_ALPHA } from './color_contrast.js';
import { CHECK_VISIBILITY_PROPERTY } from './element_visibility.js';
import { isInside, tagOf } from './flat_tree.js';
import {
  boundingRect, checkVisibility, closest, compareDocumentPosition, documentElement, isElement, matches,
  naturalWidth, querySelector, querySelectorAll, scrollHeight,
} from './intrinsics.js';
import { drawnParent, intersect, isTooSmall, pageScrolling, paintCache, paintStateOf } from './paint_state.js';
import { BACKGROUND, mayOverlap, styleHints, tagsWithEffect } from './style_hints.js';

// Elements with a background that are considered; of more, the first ones.
const MAX_PAINTED = 3000;
// Boxes considered for one text.
const MAX_NEAR_BOXES = 200;
const BAND_HEIGHT = 512;
const MAX_BANDS = 64;
const PICTURES = 'img, video, canvas, iframe, object, embed, svg';

// Boxes with a background, indexed by horizontal bands of the page. Only displaced ones can cover a text.
const paintedBoxes = () => {
  const now = paintCache();
  if (now.painted === null) {
    now.painted = { bands: new Map(), tall: [], covers: 0 };
    const { tags, elements } = styleHints();
    const boxes = new Set(querySelectorAll(document, [PICTURES, ...tagsWithEffect(tags, BACKGROUND)].join(',')));
    for (const [el, effects] of elements) if (effects & BACKGROUND) boxes.add(el);
    let count = 0;
    for (const el of boxes) {
      const box = measurePaintedBox(el);
      if (!box) continue;
      count += 1;
      if (count > MAX_PAINTED) break;
      now.painted.covers += box.cover;
      indexBox(box, now.painted);
    }
  }
  return now.painted;
};

export const hasOccluders = () => {
  const now = paintCache();
  now.covered ??= mayOverlap() && paintedBoxes().covers > 0;
  return now.covered;
};

/** @param {PaintedBox} box @param {PaintedBoxes} options */
const indexBox = (box, { bands, tall }) => {
  const first = Math.floor(box.rect.top / BAND_HEIGHT);
  const last = Math.floor(box.rect.bottom / BAND_HEIGHT);
  if (last - first >= MAX_BANDS) { tall.push(box); return; }
  for (let band = first; band <= last; band += 1) {
    const there = bands.get(band);
    if (there) there.push(box);
    else bands.set(band, [box]);
  }
};

/** @param {Element} el */
const measurePaintedBox = (el) => {
  if (el === documentElement(document) || tagOf(el) === 'body') return null;
  const style = getComputedStyle(el);
  const picture = matches(el, PICTURES) && !(el instanceof HTMLImageElement && naturalWidth(el) === 0);
  const clear = style.backgroundColor === 'rgba(0, 0, 0, 0)' && style.backgroundImage === 'none';
  if ((clear && !picture) || style.webkitBackgroundClip === 'text') return null;
  const paint = paintStateOf(el);
  const background = picture ? null : backgroundOver(null, style);
  if (!checkVisibility(el, CHECK_VISIBILITY_PROPERTY) || paint.strength < MIN_ALPHA) return null;
  const rect = boundingRect(el);
  if (isTooSmall(rect) || (paint.clips[0] && isTooSmall(intersect(paint.clips[0], rect)))) return null;
  // A translucent box covers nothing; nor does an SVG or a canvas, which is mostly transparent.
  const opaque = paint.strength > 0.9 && (background !== null || (picture && tagOf(el) !== 'svg' && tagOf(el) !== 'canvas'));
  return { el, rect, background, opaque, cover: paint.displaced && opaque ? 1 : 0, sticks: paint.sticks };
};

/** @param {Box} rect */
const boxesNear = (rect) => {
  const { bands, tall } = paintedBoxes();
  const band = Math.floor((rect.top + rect.bottom) / 2 / BAND_HEIGHT);
  const there = (bands.get(band) ?? []).filter(({ rect: box }) => box.right > rect.left && box.left < rect.right);
  return tall.concat(there).slice(0, MAX_NEAR_BOXES);
};

/** @param {Box} outer @param {Box} box */
export const containsBox = (outer, box) =>
  outer.left <= box.left + 1 && outer.top <= box.top + 1 && outer.right >= box.right - 1 && outer.bottom >= box.bottom - 1;

// The region that a box must cover for a text to be out of sight at every scroll position.
/** @param {Box} rect @param {PaintState} paint @param {PaintedBox} box */
const regionToCover = (rect, paint, box) => {
  // Text can be scrolled out from under a sticky or fixed box.
  if (box.sticks && !paint.sticks && (paint.scroller || canPageScroll())) {
    return paint.scroller ? boundingRect(paint.scroller.el) : { left: 0, top: 0, right: globalThis.innerWidth, bottom: globalThis.innerHeight };
  }
  let region = rect;
  for (let at = paint.scroller; at; at = at.outer) if (!isInside(box.el, at.el)) region = boundingRect(at.el);
  return region;
};

const canPageScroll = () => {
  const root = documentElement(document);
  return scrollHeight(root) > globalThis.innerHeight && !pageScrolling().locked;
};

/** @param {Element} el @param {Box} rect @param {PaintState} paint */
export const isOccluded = (el, rect, paint) => {
  if (!hasOccluders()) return false;
  return boxesNear(rect).some(
    (box) => box.cover && containsBox(box.rect, regionToCover(rect, paint, box)) && !isInside(el, box.el) && !isInside(box.el, el) && isPaintedAbove(box.el, el),
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
  for (const box of boxesNear(rect)) {
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
