// Content that is declared hidden: listed only where a person can reach it all the same, or where the operator asks for it.

import { accessibleChildren } from './aria_owns.js';
import { BOXLESS_TAGS, CHECK_VISIBILITY_PROPERTY, NEVER_RENDERED } from './element_visibility.js';
import { attribute, childByTag, flatParent, hasAttribute, tagOf } from './flat_tree.js';
import { deepElementFromPoint, isHitOn, visiblePoint } from './hit_test.js';
import { boundingRect, checkVisibility, closest, DETAILS, firstChild, isElement, nextSibling } from './intrinsics.js';
import { containsBox, paintCache } from './paint_state.js';
import { isBoxInvisible } from './text_visibility.js';

export const SHOWN = 0;
// Neither the element nor its content is listed.
export const EXCLUDED = 1;
// Under aria-hidden: hidden from screen readers, not from eyes and pointers. Reachable controls are listed.
export const REACHABLE = 2;
// Listed although hidden, because of a setting.
export const REVEALED = 3;

// Hit tests per snapshot; further controls under aria-hidden are left out.
const MAX_HIT_TESTS = 500;

/** @param {Element} el @param {Visibility} seen @param {number} around @param {boolean} includeHidden */
export const classifyHidden = (el, seen, around, includeHidden) => {
  if (around === SHOWN && seen === true) return SHOWN;
  if (NEVER_RENDERED.has(tagOf(el))) return EXCLUDED;
  if (includeHidden) return around === REVEALED || seen !== true ? REVEALED : SHOWN;
  if (seen === 'inside') return around;
  if (around === SHOWN && attribute(el, 'aria-hidden') !== 'true') return EXCLUDED;
  if (hasAttribute(el, 'inert') || BOXLESS_TAGS.has(tagOf(el))) return EXCLUDED;
  return checkVisibility(el) || getComputedStyle(el).display === 'contents' ? REACHABLE : EXCLUDED;
};

// Whether a person could click the element now.
/** @param {Element} el */
export const isReachable = (el) => {
  if (closest(el, '[inert]')) return false;
  const now = paintCache();
  now.hits += 1;
  if (now.hits > MAX_HIT_TESTS || !checkVisibility(el, CHECK_VISIBILITY_PROPERTY) || isBoxInvisible(el, true)) return false;
  const point = visiblePoint(el);
  if (!point) return !isWindowCovered();
  const hit = deepElementFromPoint(point.x, point.y);
  return hit !== null && isHitOn(hit, el);
};

// Whether a backdrop covers the whole window.
const isWindowCovered = () => {
  const now = paintCache();
  if (now.shaded === null) {
    const { innerWidth: width, innerHeight: height } = globalThis;
    let at = /** @type {Node | null} */ (deepElementFromPoint(width / 2, height / 2));
    now.shaded = false;
    for (; at && isElement(at) && !now.shaded; at = flatParent(at)) {
      now.shaded = getComputedStyle(at).position === 'fixed' && containsBox(boundingRect(at), { left: 0, top: 0, right: width, bottom: height });
    }
  }
  return now.shaded;
};

/** @param {Element} el @param {WalkItem} child */
export const isCollapsed = (el, child) => el instanceof HTMLDetailsElement && !DETAILS.open(el) && child !== childByTag(el, 'summary');

// The children, including those of a closed <details>.
/** @param {Element} el */
export const allChildren = (el) => {
  const children = accessibleChildren(el);
  if (!(el instanceof HTMLDetailsElement) || DETAILS.open(el)) return children;
  const all = [];
  for (let child = firstChild(el); child; child = nextSibling(child)) all.push(child);
  return all;
};
