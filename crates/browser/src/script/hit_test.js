// Hit tests: what a click at a point would activate.

import { MAX_NAME, nameOf } from './accessible_name.js';
import { isActionable } from './aria_states.js';
import { closestLinkUrl, collectFacts, describeElement, formFacts, linkUrl } from './element_facts.js';
import { flatParent, isInside, shadowRootOf, tagOf } from './flat_tree.js';
import {
  clientRects, elementFromPoint, isElement, LABEL, ownerDocument, rootElementFromPoint,
} from './intrinsics.js';
import { elementByRef, refOf } from './refs.js';
import { INTERACTIVE, roleOf } from './roles.js';
import { visibleText } from './visible_text.js';

// The innermost element at a point, through shadow roots.
/** @param {number} x @param {number} y */
export const deepElementFromPoint = (x, y) => {
  let hit = elementFromPoint(document, x, y);
  for (let steps = 0; hit && steps < 100; steps += 1) {
    const root = shadowRootOf(hit);
    const inner = root ? rootElementFromPoint(root, x, y) : null;
    if (!inner || inner === hit) break;
    hit = inner;
  }
  return hit;
};

// The center of the largest part of the element that is inside the viewport.
/** @param {Element} el @returns {Point | null} */
export const visiblePoint = (el) => {
  const { innerWidth: width, innerHeight: height } = globalThis;
  let best = null;
  let largest = 0;
  for (const rect of clientRects(el)) {
    const left = Math.max(rect.left, 0);
    const top = Math.max(rect.top, 0);
    const right = Math.min(rect.right, width);
    const bottom = Math.min(rect.bottom, height);
    const area = (right - left) * (bottom - top);
    if (right > left && bottom > top && area > largest) {
      largest = area;
      best = { x: (left + right) / 2, y: (top + bottom) / 2 };
    }
  }
  return best;
};

// The target that a hit stands for: the nearest control around it, the expected target, or the control of its label.
/** @param {Node} hit @param {Element | null} target */
export const intendedTarget = (hit, target) => {
  for (let at = /** @type {Node | null} */ (hit); at; at = flatParent(at)) {
    if (!isElement(at)) continue;
    if (at instanceof HTMLLabelElement && LABEL.control(at)) return LABEL.control(at);
    if (at === target || isActionable(at, roleOf(at))) return at;
  }
  return null;
};

// Elements with activation behavior in HTML: a click anywhere inside activates them.
/** @param {Element} el */
const hasActivationBehavior = (el) =>
  linkUrl(el) !== null || tagOf(el) === 'summary' || el instanceof HTMLButtonElement || el instanceof HTMLInputElement ||
  el instanceof HTMLSelectElement || el instanceof HTMLTextAreaElement;

// What a click on `hit` activates: the button, link or field around it, or that of its label; without one, the
// nearest control. Also the elements inside that may act by themselves.
/** @param {Element} hit @param {Element} target */
const activationTarget = (hit, target) => {
  /** @type {Element | null} */
  let control = null;
  /** @type {Element | null} */
  let nearest = null;
  let around = false;
  /** @type {Element[]} */
  const inside = [];
  for (let at = /** @type {Node | null} */ (hit); at && !control; at = flatParent(at)) {
    if (!isElement(at)) continue;
    if (at instanceof HTMLLabelElement) control = LABEL.control(at);
    if (hasActivationBehavior(at)) control = at;
    // A container that is focusable for scrolling, or listens to all clicks, is not the target of one.
    const acts = around ? INTERACTIVE.has(roleOf(at)) : isActionable(at, roleOf(at));
    if (acts) nearest ??= at;
    if (acts || at === target) inside.push(at);
    around ||= at === target;
  }
  control ??= nearest ?? inside[0] ?? null;
  return { control, inside: inside.filter((at) => at !== control) };
};

// The facts of what a click activates, with the texts of the elements between. The ref stays that of the target.
const MAX_INNER_TARGETS = 3;
/** @param {string} prefix @param {Element} hit @param {Element} el */
export const collectFactsAt = (prefix, hit, el) => {
  const { control, inside } = activationTarget(hit, el);
  const facts = collectFacts(prefix, control ?? el);
  const inner = inside.slice(0, MAX_INNER_TARGETS);
  if (inner.length) {
    /** @type {JoinedText['parts']} */
    const words = inner.flatMap((at) => [[MAX_NAME, nameOf(at, roleOf(at) || 'button')], [200, visibleText(at, 200)]]);
    const texts = new Map([...words, ...facts.text.parts].map(([limit, text]) => [text, limit]));
    texts.delete('');
    facts.text = { parts: Array.from(texts, ([text, limit]) => [limit, text]), separator: facts.text.separator };
  }
  if (control && control !== el && !isInside(control, el)) facts.element = `${prefix}e${refOf(el)}`;
  return facts;
};

// Elements that show another document: a click on them belongs to that document.
export const EMBEDDING_TAGS = new Set(['iframe', 'frame', 'object', 'embed', 'fencedframe', 'portal']);

// Whether a click that hits `hit` is a click on `el`.
/** @param {Node} hit @param {Element} el */
export const isHitOn = (hit, el) =>
  hit === el || ((intendedTarget(hit, el) === el || isInside(hit, el)) && !(isElement(hit) && EMBEDDING_TAGS.has(tagOf(hit))));
// The same, and not on a control inside of `el`.
/** @param {Node} hit @param {Element} el */
export const isDirectHit = (hit, el) => hit === el || (intendedTarget(hit, el) === el && isHitOn(hit, el));

// Checks the node that Chromium's own hit test found. It sees into closed roots that are not registered yet, where
// `checkActionability` sees only the host.
/** @param {Node} node @param {number} number */
export const checkHit = (node, number) => {
  const el = elementByRef(number);
  if (!el) return { problem: 'gone' };
  const hit = isElement(node) ? node : flatParent(node);
  if (!hit || !isElement(hit) || ownerDocument(hit) !== document) return { problem: 'covered', by: null };
  const reached = activationTarget(hit, el).control ?? el;
  // A node that `checkActionability` did not see has no facts, so it must not be a link or submit a form of its own.
  const leads = reached !== el && reached !== activationTarget(el, el).control && (closestLinkUrl(reached) !== closestLinkUrl(el) || formFacts(reached) !== null);
  return leads || !isHitOn(hit, el) ? { problem: 'covered', by: describeElement(reached) } : {};
};
