// Whether a person can see a text or a control, or only a reader of the markup can.

import { backgroundOver, isLegible, MIN_ALPHA, parseColor } from './color_contrast.js';
import { BOXLESS_TAGS } from './element_visibility.js';
import { drawnParent, flatChildren, tagOf } from './flat_tree.js';
import { boundingRect, characterData, isElement, isText, rangeBoundingRect, selectNode } from './intrinsics.js';
import { isOccluded, isUncovered, isVisibleOnOtherBox } from './occlusion.js';
import {
  applyFilter, clipShape, isDrawnByEffects, isOutOfReach, isSettled, isTooSmall, mayMeasure, paintCache,
  paintStateOf, TOO_SMALL,
} from './paint_state.js';
import { isMaskedBy } from './secret_fields.js';
import { displayOf, mayHide } from './style_context.js';

export const VISIBLE = 0;
export const INVISIBLE = 1;
// Drawn as dots, or not at all; never listed.
export const WITHHELD = 2;

// The visibility of a text that is not blank.
/** @param {Node} node */
export const textVisibility = (node) => {
  const parent = drawnParent(node);
  if (!parent || !isElement(parent)) return VISIBLE;
  const paint = paintStateOf(parent);
  if (isMaskedBy(parent, paint)) return WITHHELD;
  if (!paint.skipped && mayDrawNothing(parent) && isUndrawn(node, parent)) return INVISIBLE;
  if (isPlainlyVisible(paint, parent)) return VISIBLE;
  if (paint.skipped) return WITHHELD;
  if (paint.gone || paint.replaced || paint.small) return INVISIBLE;
  const { texts } = paintCache();
  let sight = texts.get(node);
  if (sight === undefined) {
    sight = isTextInvisible(/** @type {CharacterData} */ (node), parent, paint) ? INVISIBLE : VISIBLE;
    texts.set(node, sight);
  }
  return sight;
};

// Elements that may not draw their text: by a style, by their kind, or in SVG outside of its text elements.
const TEXT_IN_DRAWINGS = new Set(['text', 'tspan', 'textPath']);
/** @param {Element} el */
const mayDrawNothing = (el) =>
  mayHide(el) || tagOf(el) === 'br' || (el instanceof SVGElement && !TEXT_IN_DRAWINGS.has(tagOf(el)));

/** @param {Node} node @param {Element} parent */
const isUndrawn = (node, parent) => {
  if (BOXLESS_TAGS.has(tagOf(parent)) || !mayMeasure()) return false;
  const { range } = paintCache();
  selectNode(range, node);
  const rect = rangeBoundingRect(range);
  return rect.width === 0 && rect.height === 0;
};

// Whether the content of an element in the flow is visible for certain, without measuring it.
/** @param {PaintState} paint @param {Element} el */
const isPlainlyVisible = (paint, el) => {
  paint.easy ??= !paint.gone && !paint.replaced && !paint.small && !paint.masked && !paint.skipped && !paint.tight && !paint.crushed && paint.stands();
  return paint.easy && (!paint.placed || isSettled(el)) && isUncovered(el);
};

/** @param {CharacterData} node @param {Element} parent @param {PaintState} paint */
const isTextInvisible = (node, parent, paint) => {
  const stood = paint.stands();
  if (!stood && paint.ink[3] * paint.strength < MIN_ALPHA) return !isDrawnByEffects(parent, paint);
  if (!mayMeasure()) return false;
  const { range } = paintCache();
  selectNode(range, node);
  const rect = rangeBoundingRect(range);
  // Options of a closed list have no box.
  if (rect.width === 0 && rect.height === 0 && BOXLESS_TAGS.has(tagOf(parent))) return false;
  const crushed = rect.width <= TOO_SMALL && characterData(node).trim().length > 1;
  if (crushed || rect.height <= TOO_SMALL || isOutOfReach(rect, paint)) return true;
  if (!stood && !isVisibleOnOtherBox(parent, rect, paint) && !isDrawnByEffects(parent, paint)) return true;
  return isOccluded(parent, rect, paint);
};

// The same for generated content, by its own style; its position is only estimated.
const FAR_OFFSET = -500;
/** @param {Element} el @param {GeneratedStyle} style */
export const isGeneratedInvisible = (el, style) => {
  const paint = paintStateOf(el);
  if (paint.gone || paint.small || parseFloat(style.fontSize) <= TOO_SMALL) return true;
  const written = paint.inside();
  written.strength *= +style.opacity;
  if (style.filter !== 'none') applyFilter(style.filter, written);
  const ink = parseColor(style.fill);
  if (written.gone || (ink && !isLegible(ink, written.strength, backgroundOver(paint.background, style)))) return style.textShadow === 'none';
  if (style.offsets.some((at) => parseFloat(at) <= FAR_OFFSET)) return true;
  if (style.clipPath !== 'none' || style.clip !== 'auto') {
    const shape = clipShape(style, new DOMRect(0, 0, 100, 100));
    if (shape && isTooSmall(shape)) return true;
  }
  return paint.placed && !isSettled(el) && mayMeasure() && isOutOfReach(boundingRect(el), paint);
};

// Whether the text of a field or input has the color of its background.
/** @param {Element} el */
export const isInkInvisible = (el) => {
  const paint = paintStateOf(el);
  return paint.small || (!paint.stands() && !isDrawnByEffects(el, paint));
};

// Whether a control is invisible, whatever its text.
/** @param {Element} el @param {boolean} [always] */
export const isBoxInvisible = (el, always = false) => {
  const paint = paintStateOf(el);
  if (!always && isPlainlyVisible(paint, el)) return false;
  if (paint.gone) return true;
  if (BOXLESS_TAGS.has(tagOf(el)) || !(always || paint.placed || !isUncovered(el)) || !mayMeasure()) return false;
  const rect = boundingRect(el);
  if (!isTooSmall(rect)) return isOutOfReach(rect, paint) || isOccluded(el, rect, paint);
  // Its content may overflow it.
  return displayOf(el) !== 'contents' && !hasVisibleOverflow(el);
};

const MOST_INSIDE = 20;
/** @param {Element} el */
const hasVisibleOverflow = (el) => {
  const waiting = [el];
  for (let steps = 0; waiting.length && steps < MOST_INSIDE; steps += 1) {
    for (const child of flatChildren(/** @type {Element} */ (waiting.pop())).slice(0, MOST_INSIDE)) {
      if (isText(child) ? characterData(child).trim() && textVisibility(child) === VISIBLE : isElement(child) && !isTooSmall(boundingRect(child))) return true;
      if (isElement(child)) waiting.push(child);
    }
  }
  return false;
};
