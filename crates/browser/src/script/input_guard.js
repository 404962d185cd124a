// The input guard: only the target of an agent's click or key receives it.
//
// Between the last check and the event a page can slide a frame of another site under the pointer, move the focus into one,
// or load one. All input comes from the driver, so the guard listens in every document from its beginning and stops all input
// before any listener of the page is called and before it has an effect. The last check arms the guard in one frame, and there
// it lets through what is intended for one element.

import { startCountingChanges } from './dom_changes.js';
import { describeElement } from './element_facts.js';
import { deepActiveElement } from './fields.js';
import { closedRoots, isInside, shadowHost, tagOf } from './flat_tree.js';
import { deepElementFromPoint, isHitOn } from './hit_test.js';
import { addEventListener, documentElement, getRootNode, isElement, isHtml } from './intrinsics.js';
import { elementByRef } from './refs.js';
import { isEditingHost } from './roles.js';
import { becameSecret, recordTyping } from './secret_fields.js';

const GESTURE_STARTS = new Set(['pointerdown', 'mousedown', 'keydown', 'beforeinput']);
const GESTURE_FOLLOW_UPS = new Set(['pointerup', 'mouseup', 'click', 'auxclick', 'dblclick', 'contextmenu', 'keypress', 'keyup', 'drop']);

const disarmedState = () => ({ el: null, drop: null, keys: false, holds: null, met: false, began: false, stopped: false, by: null });
/** @type {Armed} */
let armed = disarmedState();

/** @param {Node} target */
const isArmedFor = (target) => armed.el !== null && armed.holds !== null && armed.holds(target, armed.el);

// Whether the element is in the closed root of the target.
/** @param {EventTarget | undefined} target @param {Node} el */
const isInClosedRootOf = (target, el) => {
  const root = target instanceof Element ? closedRoots.get(target) : undefined;
  for (let at = root ? el : null; at; at = shadowHost(at)) if (getRootNode(at) === root) return true;
  return false;
};

// At the window, an event's target inside a closed root is its host; the listener in the root sees the real target,
// and decides.
/** @param {Event} event @param {EventTarget | undefined} target */
const isDecidedInClosedRoot = (event, target) => {
  if (armed.el === null || !GESTURE_STARTS.has(event.type) || !isInClosedRootOf(target, armed.el)) return false;
  const inner = event instanceof MouseEvent ? deepElementFromPoint(event.clientX, event.clientY) : deepActiveElement();
  return inner !== null && isArmedFor(inner);
};

/** @param {string} type @param {EventTarget | undefined} target */
const isIntended = (type, target) => {
  if (!(target instanceof Node)) return false;
  if (type === 'drop') return armed.drop !== null && isHitOn(target, armed.drop);
  // The start of a gesture decides for all of it: a page may move things once it was hit.
  if (GESTURE_STARTS.has(type)) armed.met = isArmedFor(target);
  return armed.met;
};

// A click without a mouse comes from a key that was let through, or from a script that clicks a label. A mouse causes
// beforeinput only by a drop, which is checked as such; no script can dispatch a trusted one.
/** @param {Event} event */
const isBrowserGenerated = (event) =>
  (event.type === 'click' && /** @type {UIEvent} */ (event).detail === 0) || (event.type === 'beforeinput' && !armed.keys && (armed.el !== null || armed.drop !== null));

/** @param {Event} event */
const stopUnintendedInput = (event) => {
  if (!event.isTrusted || isBrowserGenerated(event)) return;
  const [target] = event.composedPath();
  if (isDecidedInClosedRoot(event, target)) { armed.met = false; return; }
  if (isIntended(event.type, target)) { armed.began = true; return; }
  // After a key that moves the focus, as Tab does, keyup has another target.
  if (event.type !== 'keyup') {
    armed.stopped = true;
    armed.by ??= target instanceof Node && isElement(target) ? describeElement(target) : null;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
};

// document.open() removes all listeners and all content, and then they are added again. Adding a listener twice has
// no effect.
/** @param {EventTarget} root */
export const addGuardListeners = (root) => {
  for (const type of [...GESTURE_STARTS, ...GESTURE_FOLLOW_UPS]) addEventListener(root, type, stopUnintendedInput, { capture: true });
  addEventListener(root, 'input', recordTyping, { capture: true });
};
const guardWindow = () => addGuardListeners(globalThis);
guardWindow();
new MutationObserver(guardWindow).observe(document, { childList: true });

// Inside an editing host, the host receives keys. A field may become secret while it is typed into.
/** @param {Node} target @param {Element} el */
const acceptsKeys = (target, el) =>
  (target === el || (isHtml(target) && isEditingHost(target) && isInside(el, target))) && !becameSecret(el);

// Keys go to the page itself when no element has the focus.
/** @param {Node} target */
const isPageTarget = (target) => target === documentElement(document) || (isElement(target) && tagOf(target) === 'body');

/** @param {ArmRequest} request */
export const armInputGuard = ({ number, keys, page, drop }) => {
  const el = number === null ? (page ? document : null) : elementByRef(number);
  const onto = drop === null ? null : elementByRef(drop);
  armed = { ...disarmedState(), el, drop: onto, keys, holds: page ? isPageTarget : keys ? acceptsKeys : isHitOn };
  startCountingChanges();
  return true;
};

// Returns whether input reached the target, and whether and where input was stopped.
export const disarmInputGuard = () => {
  const { began, stopped, by } = armed;
  armed = disarmedState();
  return { began, stopped, by };
};
