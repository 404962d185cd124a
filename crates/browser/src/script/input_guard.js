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

// A closed root hides from the window what was hit in it; its own listener sees it, and decides.
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
  // What a gesture starts on decides about all of it: a page may well move things once it was hit.
  if (GESTURE_STARTS.has(type)) armed.met = isArmedFor(target);
  return armed.met;
};

// A click that no mouse made comes from a key that was let through, or from a script that clicks on a label. A mouse
// changes text only by a drop, which is looked at as such; no script makes this event.
/** @param {Event} event */
const isBrowserGenerated = (event) =>
  (event.type === 'click' && /** @type {UIEvent} */ (event).detail === 0) || (event.type === 'beforeinput' && !armed.keys && (armed.el !== null || armed.drop !== null));

/** @param {Event} event */
const stopUnintendedInput = (event) => {
  if (!event.isTrusted || isBrowserGenerated(event)) return;
  const [target] = event.composedPath();
  if (isDecidedInClosedRoot(event, target)) { armed.met = false; return; }
  if (isIntended(event.type, target)) { armed.began = true; return; }
  // A key that moves the focus, as Tab does, comes up elsewhere.
  if (event.type !== 'keyup') {
    armed.stopped = true;
    armed.by ??= target instanceof Node && isElement(target) ? describeElement(target) : null;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
};

// document.open() takes all listeners away, and with them all that the document holds: then they are added again. Those
// that are still there are not added twice.
/** @param {EventTarget} root */
export const addGuardListeners = (root) => {
  for (const type of [...GESTURE_STARTS, ...GESTURE_FOLLOW_UPS]) addEventListener(root, type, stopUnintendedInput, { capture: true });
  addEventListener(root, 'input', recordTyping, { capture: true });
};
const guardWindow = () => addGuardListeners(globalThis);
guardWindow();
new MutationObserver(guardWindow).observe(document, { childList: true });

// Inside an editor it is the editor that gets the keys. A field may turn into a secret one while it is typed into.
/** @param {Node} target @param {Element} el */
const acceptsKeys = (target, el) =>
  (target === el || (isHtml(target) && isEditingHost(target) && isInside(el, target))) && !becameSecret(el);

// Keys for the page itself, when nothing on it has the focus.
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

// What came of it: whether anything reached the target, and whether and where anything was stopped.
export const disarmInputGuard = () => {
  const { began, stopped, by } = armed;
  armed = disarmedState();
  return { began, stopped, by };
};
