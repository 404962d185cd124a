// Actionability: waits until an element can be acted on, and reports where and what it is.

import { LABELABLE_TAGS, labelsOf, setValueExposure } from './accessible_name.js';
import { CHECKABLE, isDisabled, isEditable, isSelect } from './aria_states.js';
import { collectFacts, describeElement } from './element_facts.js';
import { CHECK_VISIBILITY_PROPERTY } from './element_visibility.js';
import { deepActiveElement } from './fields.js';
import { canHaveShadowRoot, flatChildren, flatParent, isInside, shadowRootOf, tagOf } from './flat_tree.js';
import { nextFrame } from './frame_time.js';
import {
  collectFactsAt, deepElementFromPoint, intendedTarget, isDirectHit, isHitOn, visiblePoint,
} from './hit_test.js';
import { armInputGuard } from './input_guard.js';
import { imageOfArea, pointsInArea } from './image_maps.js';
import {
  animationEffect, animationState, animationTime, animationTimeline, boundingRect, characterData, checkVisibility,
  clientLeft, clientRects, clientTop, createRange, effectTarget, exitFullscreen, exitPointerLock, firstChild,
  fullscreenElement, isAnimationPending, isConnected, isElement, isText, nextSibling, offsetHeight, offsetWidth,
  pointerLockElement, rangeRects, runningAnimations, scrollIntoView, selectNodeContents,
} from './intrinsics.js';
import { childFrames, elementByRef, frameOwners, refOf } from './refs.js';
import { roleOf } from './roles.js';
import { displayOf } from './style_context.js';

// A child frame that rendered nothing for so long is out of view. The page itself always renders, however late.
const UNRENDERED_MILLISECONDS = 1000;
const isChildFrame = window !== window.top;
// An animation that has not advanced for so many frames does not move.
const STILL_FRAMES = 3;
// Chromium estimates the time of the next frame; the real one differs by a moment.
const MIN_ADVANCE_MILLISECONDS = 5;

// What each purpose requires of an element besides being visible.
/** @type {Record<string, Requirements>} */
const PURPOSES = {
  click: { enabled: true, hit: true },
  hover: { hit: true },
  drag: { enabled: true, hit: true },
  drop: { hit: true },
  type: { enabled: true, hit: true, keys: true, fits: isEditable, problem: 'not_editable' },
  select: { enabled: true, fits: isSelect, problem: 'not_a_list' },
  check: { enabled: true, hit: true, fits: (el) => CHECKABLE.has(roleOf(el)), problem: 'not_checkable' },
  press: { enabled: true, keys: true },
  scroll: {},
  wheel: { anywhere: true },
  see: {},
};

/** @param {Element} el */
const hasRenderedBox = (el) => {
  const box = boundingRect(el);
  return checkVisibility(el, CHECK_VISIBILITY_PROPERTY) && box.width > 0 && box.height > 0;
};

// A checkbox that is drawn by its label is clicked on the label, an area of an image map on the image.
/** @param {Element} el */
const clickableBox = (el) => {
  if (hasRenderedBox(el)) return el;
  if (el instanceof HTMLAreaElement) {
    const image = imageOfArea(el);
    return image && hasRenderedBox(image) ? image : null;
  }
  if (LABELABLE_TAGS.has(tagOf(el))) return labelsOf(el).find(hasRenderedBox) ?? null;
  return displayOf(el) === 'contents' || checkVisibility(el, CHECK_VISIBILITY_PROPERTY) ? boxInside(el) : null;
};

// An element without a box of its own is clicked on the first thing in it that has one, or on its text.
const MAX_BOXLESS = 30;
/** @param {Element} el */
const boxInside = (el) => {
  const waiting = [el];
  for (let at = 0; at < Math.min(waiting.length, MAX_BOXLESS); at += 1) {
    for (const child of flatChildren(waiting[at])) {
      if (isText(child) && characterData(child).trim() !== '') return waiting[at];
      if (!isElement(child)) continue;
      if (hasRenderedBox(child)) return child;
      waiting.push(child);
    }
  }
  return null;
};

// The center of the part of an element that is in view, within everything that clips it.
/** @param {Element} el */
const pointInView = (el) => {
  let { left, top, right, bottom } = boundingRect(el);
  /** @param {Box} box */
  const clip = (box) => {
    [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
    [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
  };
  clip({ left: 0, top: 0, right: innerWidth, bottom: innerHeight });
  for (let at = flatParent(el); at; at = flatParent(at)) {
    if (isElement(at) && getComputedStyle(at).overflow !== 'visible') clip(boundingRect(at));
  }
  return right > left && bottom > top ? { x: (left + right) / 2, y: (top + bottom) / 2 } : null;
};

// Set until the next frame: the page learns of a scroll with it, and may re-render.
export let scrollUnrendered = false;
/** @param {Element} el @param {ScrollLogicalPosition} block */
const scrollElement = (el, block) => {
  if (!scrollUnrendered) requestAnimationFrame(() => { scrollUnrendered = false; });
  scrollUnrendered = true;
  scrollIntoView(el, { block, inline: 'center', behavior: 'instant' });
};

// The center of the visible part, or the given point, which is never scrolled to.
/** @param {Element} drawn @param {Point | null} given @param {boolean} anywhere */
const bringIntoView = (drawn, given, anywhere) => {
  if (given) return given;
  const seen = anywhere ? pointInView(drawn) : null;
  if (seen) return seen;
  const box = boundingRect(drawn);
  const middle = { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  const { innerWidth: width, innerHeight: height } = globalThis;
  const centred = middle.x >= 0 && middle.y >= 0 && middle.x < width && middle.y < height;
  const point = visiblePoint(drawn);
  if (point && centred) return point;
  scrollElement(drawn, 'center');
  return visiblePoint(drawn);
};

// Ways to scroll an element out from under sticky content at an edge of the view.
/** @type {ScrollLogicalPosition[]} */
const ALIGNMENTS = ['center', 'end', 'start', 'center'];

// Where else than in its center an element may be hit, as fractions of its width and height.
const RELATIVE_POINTS = [[1 / 6, 1 / 2], [5 / 6, 1 / 2], [1 / 2, 1 / 6], [1 / 2, 5 / 6], [1 / 12, 1 / 12], [11 / 12, 1 / 12], [1 / 12, 11 / 12], [11 / 12, 11 / 12]];
const MAX_TEXT_POINTS = 3;
// The beginnings of its own texts first: that is where a person clicks.
/** @param {Element} drawn */
const candidatePoints = (drawn) => {
  const spots = [];
  let texts = 0;
  for (let child = firstChild(drawn); child && texts < MAX_TEXT_POINTS; child = nextSibling(child)) {
    if (!isText(child) || characterData(child).trim() === '') continue;
    texts += 1;
    const range = createRange(document);
    selectNodeContents(range, child);
    for (const { left, top, right, bottom } of Array.from(rangeRects(range)).slice(0, 1)) spots.push({ x: Math.min((left + right) / 2, left + 40), y: (top + bottom) / 2 });
  }
  for (const { left, top, width, height } of Array.from(clientRects(drawn)).slice(0, MAX_TEXT_POINTS)) {
    for (const [across, down] of RELATIVE_POINTS) spots.push({ x: left + width * across, y: top + height * down });
  }
  return spots.filter(({ x, y }) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight);
};
/** @param {Element} el @param {Element} drawn */
const findUncoveredPoint = (el, drawn) => {
  for (const point of el instanceof HTMLAreaElement ? pointsInArea(el, drawn) : candidatePoints(drawn)) {
    const hit = deepElementFromPoint(point.x, point.y);
    if (hit && isDirectHit(hit, el)) return { point, hit };
  }
  return null;
};

// Where to click the element, and what a click there hits: the center, or a point where neither a cover nor a
// descendant is hit. With `align` the element is scrolled until it is hit itself.
/**
 * @param {Element} el
 * @param {Element} drawn
 * @param {Point | null} given
 * @param {Requirements} options
 * @param {boolean} align
 */
const findHitPoint = (el, drawn, given, { anywhere = false, hit: aimed = false }, align) => {
  const point = bringIntoView(drawn, given, anywhere);
  const hit = point ? deepElementFromPoint(point.x, point.y) : null;
  if (!aimed || given || (hit && isDirectHit(hit, el))) return { point, hit };
  const own = findUncoveredPoint(el, drawn);
  if (own) return own;
  let there = { point, hit };
  for (const block of align ? ALIGNMENTS : []) {
    if (there.hit && isHitOn(there.hit, el)) break;
    scrollElement(drawn, block);
    const middle = visiblePoint(drawn);
    there = { point: middle, hit: middle ? deepElementFromPoint(middle.x, middle.y) : null };
    if (!there.hit || !isDirectHit(there.hit, el)) there = findUncoveredPoint(el, drawn) ?? there;
  }
  return there;
};

// A checkbox that is drawn but covered is clicked on its label.
/** @param {Element} el @param {Requirements} asks @param {boolean} align */
const findLabelHitPoint = (el, asks, align) => {
  for (const label of LABELABLE_TAGS.has(tagOf(el)) ? labelsOf(el).filter(hasRenderedBox) : []) {
    const there = findHitPoint(el, label, null, asks, align);
    if (there.hit && isDirectHit(there.hit, el)) return { ...there, drawn: label };
  }
  return null;
};

// As a person would by Escape, when a page locks the pointer or shows another element in full screen.
/** @param {Element} el */
const releasePointerAndFullscreen = (el) => {
  if (pointerLockElement(document)) exitPointerLock(document);
  const shown = fullscreenElement(document);
  if (shown && !isInside(el, shown)) exitFullscreen(document).catch(() => {});
};

/**
 * @param {string} prefix
 * @param {Element} el
 * @param {AimOptions} options
 * @param {boolean} [align]
 * @returns {Actionability}
 */
export const checkActionability = (prefix, el, { purpose, point: given = null }, align = true) => {
  const asks = PURPOSES[purpose];
  if (!isConnected(el)) return { problem: 'gone' };
  if (asks.fits && !asks.fits(el)) return { problem: asks.problem ?? 'gone' };
  if (asks.hit) releasePointerAndFullscreen(el);
  let drawn = clickableBox(el);
  // The focused element receives keys wherever it is: editors use an invisible field.
  const keyed = asks.keys && deepActiveElement() === el;
  if (!drawn && !keyed) return { problem: 'invisible' };
  if (asks.enabled && isDisabled(el)) return { problem: 'disabled' };
  if (keyed || !drawn) return { x: 0, y: 0, left: scrollX, top: scrollY, around: EMPTY_AREA, hides: false, pointless: true, facts: collectFacts(prefix, el) };
  let { point, hit } = findHitPoint(el, drawn, given, asks, align);
  if (asks.hit && !given && drawn === el && !(hit && isHitOn(hit, el))) ({ point, hit, drawn } = findLabelHitPoint(el, asks, align) ?? { point, hit, drawn });
  if (!point) return { problem: 'invisible' };
  if (asks.hit) {
    if (!hit) return { problem: 'invisible' };
    if (!isHitOn(hit, el)) return { problem: 'covered', by: describeElement(hit) };
  }
  const facts = asks.hit && hit && purpose !== 'type' ? collectFactsAt(prefix, hit, el) : collectFacts(prefix, el);
  const box = boundingRect(drawn);
  const around = { left: box.left - point.x, top: box.top - point.y, width: box.width, height: box.height };
  const hides = asks.hit === true && hit !== null && canHaveShadowRoot(hit) && !shadowRootOf(hit);
  return { x: point.x, y: point.y, left: scrollX, top: scrollY, around, hides, pointless: false, facts };
};
const EMPTY_AREA = { left: 0, top: 0, width: 0, height: 0 };

// Animations that may be moving the element. Scripts may move it too: then the input guard stops a click that misses.
/** @param {Element} el */
const animationsMoving = (el) => runningAnimations(document).filter((animation) => {
  // Scroll-driven animations stand still while nothing scrolls.
  if (animationState(animation) !== 'running' || !(animationTimeline(animation) instanceof DocumentTimeline)) return false;
  const effect = animationEffect(animation);
  const target = effect instanceof KeyframeEffect ? effectTarget(effect) : null;
  return target !== null && isInside(el, target);
});

/** @param {number[]} before @param {number[]} now */
const haveAdvanced = (before, now) =>
  before.length !== now.length || now.some((time, at) => Math.abs(time - before[at]) >= MIN_ADVANCE_MILLISECONDS);

// Whether the element was at the same place a frame ago although its animations advanced. An animation that has not
// begun yet is waited for.
/** @param {Sighting | null} before @param {Sighting} now */
const isStable = (before, now) => {
  if (!before || before.x !== now.x || before.y !== now.y) return false;
  const frames = now.frames - before.frames;
  if (frames === 0) return isChildFrame && now.at - before.at >= UNRENDERED_MILLISECONDS;
  return !before.pending && (now.times.length === 0 || haveAdvanced(before.times, now.times) || frames >= STILL_FRAMES);
};

// Waiting does not solve these.
const PERMANENT_PROBLEMS = new Set(['gone', 'not_editable', 'not_a_list', 'not_checkable']);

// Waits until the element can be acted on and is stable, then reports its position and facts. With `arming` the guard
// is armed in the same task, so that no code of the page runs in between.
/** @param {ActionabilityRequest} request @returns {Promise<Actionability>} */
export const waitUntilActionable = async ({ prefix, number, how, steady, wait, arming, options }) => {
  setValueExposure(options);
  const end = performance.now() + wait;
  /** @type {Sighting | null} */
  let before = null;
  let [aligned, drawnAnew] = [false, false];
  let frames = 0;
  for (;;) {
    const el = elementByRef(number);
    const seen = el ? checkActionability(prefix, el, how, !aligned) : { problem: 'gone' };
    if (!drawnAnew && !seen.problem && scrollUnrendered) {
      drawnAnew = true;
      const drawn = performance.now() + UNRENDERED_MILLISECONDS;
      while (scrollUnrendered && performance.now() < drawn) await nextFrame();
      frames += 1;
      continue;
    }
    // Align once: a page must not be scrolled to and fro while something covers the element.
    aligned ||= seen.problem === 'covered';
    if (!el || (seen.problem && PERMANENT_PROBLEMS.has(seen.problem))) return seen;
    const moving = seen.problem ? [] : animationsMoving(el);
    const [times, pending] = [moving.map((it) => Number(animationTime(it))), moving.some((it) => isAnimationPending(it))];
    /** @type {Sighting} */
    const now = { x: seen.x, y: seen.y, at: performance.now(), frames, times, pending };
    if (!seen.problem && ((!steady && moving.length === 0) || isStable(before, now))) {
      if (arming) armInputGuard(arming);
      return seen;
    }
    if (now.at >= end) return seen.problem ? seen : { problem: 'moving' };
    // The first sighting at a place is kept, to know since when the element is there.
    if (seen.problem) before = null;
    else if (!before || before.x !== now.x || before.y !== now.y) before = now;
    else if (before.pending) before = { ...now, at: before.at };
    if (await nextFrame()) frames += 1;
  }
};

// How a transform scales a frame's element.
/** @param {Element} owner */
const frameScale = (owner) => {
  const box = boundingRect(owner);
  const frame = /** @type {HTMLElement} */ (owner);
  const [width, height] = [offsetWidth(frame), offsetHeight(frame)];
  return { scaleX: width ? box.width / width : 1, scaleY: height ? box.height / height : 1 };
};

// Maps a point of a child frame into this one. For a rotated frame the point is wrong, and then hits nothing.
/** @param {Element} owner @param {number} x @param {number} y */
export const frameContentPoint = (owner, x, y) => {
  const box = boundingRect(owner);
  const style = getComputedStyle(owner);
  const { scaleX, scaleY } = frameScale(owner);
  return {
    x: box.left + (clientLeft(owner) + parseFloat(style.paddingLeft) + x) * scaleX,
    y: box.top + (clientTop(owner) + parseFloat(style.paddingTop) + y) * scaleY,
  };
};

// Maps a point of a child frame into this one, and checks that a click there reaches that frame.
/** @param {{ frame: string, x: number, y: number }} request */
export const mapFramePoint = ({ frame, x, y }) => {
  const owner = frameOwners.get(frame)?.deref();
  if (!owner || !isConnected(owner)) return { problem: 'gone' };
  /** @param {Point} at */
  const inView = (at) => at.x >= 0 && at.y >= 0 && at.x < innerWidth && at.y < innerHeight;
  let at = frameContentPoint(owner, x, y);
  // First the containers around the frame, then the page, for a frame that is larger than the view.
  if (!inView(at) || deepElementFromPoint(at.x, at.y) !== owner) {
    scrollIntoView(owner, { block: 'center', inline: 'center', behavior: 'instant' });
    at = frameContentPoint(owner, x, y);
  }
  if (!inView(at)) {
    scrollBy({ left: at.x - innerWidth / 2, top: at.y - innerHeight / 2, behavior: 'instant' });
    at = frameContentPoint(owner, x, y);
  }
  const hit = deepElementFromPoint(at.x, at.y);
  if (hit !== owner) return { problem: hit ? 'covered' : 'invisible', by: hit ? describeElement(hit) : null };
  return { ...at, left: scrollX, top: scrollY };
};

// What a click at a point of this frame targets: an element, or a child frame.
/** @param {{ prefix: string, x: number, y: number }} request */
export const describePoint = ({ prefix, x, y }) => {
  const hit = deepElementFromPoint(x, y);
  if (!hit) return { problem: 'nothing' };
  const frame = childFrames.get(hit);
  if (frame !== undefined) {
    const box = frameContentPoint(hit, 0, 0);
    const { scaleX, scaleY } = frameScale(hit);
    return { frame, x: (x - box.x) / scaleX, y: (y - box.y) / scaleY };
  }
  return { ref: `${prefix}e${refOf(intendedTarget(hit, null) ?? hit)}` };
};
