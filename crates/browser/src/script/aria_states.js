// States: checked, expanded, disabled, focused and the like.

import { valuesExposed } from './accessible_name.js';
import { callCache } from './call_cache.js';
import {
  attribute, childByTag, drawnParent, isFormControl, flatParent, hasAttribute, inputType, shadowHost, shadowRootOf, shadowRootsSeen,
  tagOf,
} from './flat_tree.js';
import {
  activeElement, checkVisibility, closest, DETAILS, INPUT, isContentEditable, isElement, isHtml, LABEL, matches, OPTION, ownerSvg, querySelectorAll,
  rootActiveElement,
} from './intrinsics.js';
import { hasListeningShape, isListening, isListeningAlone } from './pointer_listeners.js';
import { INPUT_ROLES, INTERACTIVE, isEditingHost } from './roles.js';
import { contextOf, elementsWithEffect } from './style_context.js';
import { POINTER } from './style_rules.js';

/** @param {Element} el @param {string} key */
const booleanAttribute = (el, key) => {
  const value = attribute(el, key);
  return value === 'true' ? true : value === 'false' ? false : null;
};

// Few pages use aria-disabled; then ancestors need not be searched.
const pageHasAriaDisabled = () => {
  const now = callCache();
  now.disables ??= shadowRootsSeen || querySelectorAll(document, '[aria-disabled="true"]').length > 0;
  return now.disables;
};

/** @param {Element} el */
export const isDisabled = (el) => {
  if (!(el instanceof HTMLAnchorElement) && matches(el, ':disabled')) return true;
  if (!pageHasAriaDisabled()) return false;
  for (let at = /** @type {Element | null} */ (el), steps = 0; at && steps < 50; at = shadowHost(at), steps += 1) {
    if (closest(at, '[aria-disabled="true"]')) return true;
  }
  return false;
};

/** @param {Element} el @param {string} role */
const isMultiline = (el, role) =>
  el instanceof HTMLTextAreaElement ||
  (role === 'textbox' && (booleanAttribute(el, 'aria-multiline') ?? (isHtml(el) && isEditingHost(el))) === true);

// Only states that are set: an absent key means false or not applicable.
/** @param {Element} el @param {string} role @returns {States} */
export const statesOf = (el, role) => {
  const states = {};
  if (role === 'heading') {
    const level = Number(attribute(el, 'aria-level')) || Number(/^h([1-6])$/.exec(tagOf(el))?.[1]) || 2;
    states.level = Math.min(Math.max(Math.trunc(level), 1), 99);
    return states;
  }
  if (STATELESS_ROLES.has(role)) return states;
  const box = el instanceof HTMLInputElement ? el : unrenderedControl(el);
  const type = box && inputType(box);
  if (box && (type === 'checkbox' || type === 'radio')) {
    states.checked = INPUT.indeterminate(box) ? 'mixed' : INPUT.checked(box) ? 'true' : 'false';
  } else if (CHECKED_ROLES.has(role)) {
    const checked = attribute(el, 'aria-checked');
    states.checked = checked === 'mixed' || checked === 'true' ? checked : 'false';
  }
  const pressed = attribute(el, 'aria-pressed');
  if (pressed === 'true' || pressed === 'mixed') states.pressed = true;
  const details = tagOf(el) === 'summary' ? flatParent(el) : null;
  const expanded = details instanceof HTMLDetailsElement ? DETAILS.open(details) : booleanAttribute(el, 'aria-expanded');
  if (expanded !== null) states.expanded = expanded;
  // The selected option is a value of its list.
  const chosen = el instanceof HTMLOptionElement ? OPTION.selected(el) : booleanAttribute(el, 'aria-selected');
  if (chosen && (valuesExposed || role !== 'option')) states.selected = true;
  if ((INTERACTIVE.has(role) || role === 'group') && isDisabled(el)) states.disabled = true;
  if (isFormControl(el) ? hasAttribute(el, 'required') || booleanAttribute(el, 'aria-required') : booleanAttribute(el, 'aria-required')) states.required = true;
  if ((isFormControl(el) && hasAttribute(el, 'readonly')) || booleanAttribute(el, 'aria-readonly')) states.readonly = true;
  const invalid = attribute(el, 'aria-invalid');
  // Constraint validation, once a person has edited the field or tried to submit its form.
  const refused = isFormControl(el) && matches(el, ':user-invalid');
  if ((invalid && invalid !== 'false') || refused) states.invalid = true;
  const current = attribute(el, 'aria-current');
  if (current && current !== 'false') states.current = true;
  if (isMultiline(el, role)) states.multiline = true;
  if (INTERACTIVE.has(role) && activeElements().has(el)) states.focused = true;
  return states;
};

// The focused element, and the shadow hosts around it.
const activeElements = () => {
  const now = callCache();
  if (!now.active) {
    now.active = new Set();
    for (let at = activeElement(document); at && !now.active.has(at);) {
      now.active.add(at);
      const root = shadowRootOf(at);
      at = root ? rootActiveElement(root) : null;
    }
  }
  return now.active;
};

const CHECKED_ROLES = new Set(['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio']);

// Roles without states; most of a long page consists of them.
const STATELESS_ROLES = new Set('code definition list listitem paragraph rowgroup table term'.split(' '));

// Declared to be acted on: by its role, by an attribute, or by being a drawing surface.
/** @param {Element} el @param {string} role */
export const isDeclaredActionable = (el, role) =>
  (INTERACTIVE.has(role) && !(el instanceof HTMLOptionElement)) || role === 'canvas' ||
  (hasAttribute(el, 'tabindex') && Number(attribute(el, 'tabindex')) >= 0) ||
  ACTING_ATTRIBUTES.some((name) => hasAttribute(el, name)) || attribute(el, 'draggable') === 'true' ||
  (isHtml(el) && isEditingHost(el)) || isBareDetails(el);
// Chromium draws a summary for a <details> without one. No script reaches it; while closed it is all there is to click.
/** @param {Element} el */
const isBareDetails = (el) => tagOf(el) === 'details' && el instanceof HTMLDetailsElement && !DETAILS.open(el) && childByTag(el, 'summary') === null;
const ACTING_ATTRIBUTES = ['onclick', 'onmousedown', 'onpointerdown', 'ondblclick', 'onmouseup', 'onpointerup'];

// Cursors that tell a person that something can be clicked or dragged.
const ACTING_CURSOR = /^(?:pointer|grab|grabbing|move|all-scroll|crosshair|cell|copy|(?:[a-z]+-)?resize)$|,\s*(?:pointer|grab)$/;
/** @param {Element} el */
const hasActingCursor = (el) => {
  const context = contextOf(el);
  context.points ??= ACTING_CURSOR.test(getComputedStyle(el).cursor);
  return context.points;
};

// Items that are acted on one by one where the element around them has the same cursor.
const ITEM_TAGS = new Set('circle ellipse g image li line path polygon polyline rect td text th tr use'.split(' '));
// Whether only the cursor tells that an element can be acted on: it is the outermost one with that cursor.
/** @param {Element} el */
const isPointed = (el) => {
  if (!(contextOf(el).effects & POINTER) || (el instanceof HTMLLabelElement && LABEL.control(el) !== null) || !hasActingCursor(el)) return false;
  const tag = tagOf(el);
  if (tag === 'html' || tag === 'body') return false;
  const parent = drawnParent(el);
  return !parent || !isElement(parent) || !(contextOf(parent).effects & POINTER || ITEM_TAGS.has(tag)) || !hasActingCursor(parent) || ITEM_TAGS.has(tag);
};

// Whether a rule or a listener may say so of something in a drawing. Found once for all drawings of a page.
/** @param {Element} svg */
export const mayPointIn = (svg) => {
  const now = callCache();
  if (now.pointed === null) {
    now.pointed = { isAny: shadowRootsSeen, drawings: new Set() };
    const pointed = elementsWithEffect(POINTER);
    if (!pointed) now.pointed.isAny = true;
    else for (const el of pointed) {
      for (let at = el instanceof SVGElement ? ownerSvg(el) : null; at; at = ownerSvg(at)) now.pointed.drawings.add(at);
    }
  }
  return now.pointed.isAny || now.pointed.drawings.has(svg) || hasListeningShape(svg);
};

// A label is acted on in place of a checkbox, a radio button or a file field that is not rendered.
/** @param {Element} el @returns {HTMLInputElement | null} */
const unrenderedControl = (el) => {
  if (!(el instanceof HTMLLabelElement)) return null;
  const control = LABEL.control(el);
  if (!(control instanceof HTMLInputElement) || !LABEL_DRAWN_TYPES.has(INPUT.type(control))) return null;
  return checkVisibility(control) || matches(control, ':disabled') ? null : control;
};
const LABEL_DRAWN_TYPES = new Set(['checkbox', 'file', 'radio']);

// Whether its cursor or a listener tells that an element can be acted on, or that it is the label of what is not drawn.
/** @param {Element} el */
export const isInferredActionable = (el) => isPointed(el) || isListening(el) || unrenderedControl(el) !== null;

// Whether a click on a part of an element is one on the element. A card or a board that listens has parts of its own.
/** @param {Element} el @param {string} role */
export const isActionable = (el, role) => isDeclaredActionable(el, role) || isPointed(el) || isListeningAlone(el);

/** @param {Element} el */
export const isEditable = (el) => {
  if (el instanceof HTMLTextAreaElement) return !hasAttribute(el, 'readonly');
  if (el instanceof HTMLInputElement) {
    const role = INPUT_ROLES[INPUT.type(el)] ?? 'textbox';
    return (role === 'textbox' || role === 'searchbox' || role === 'spinbutton') && !hasAttribute(el, 'readonly');
  }
  return isHtml(el) && isContentEditable(el);
};

/** @param {Element} el @returns {el is HTMLSelectElement} */
export const isSelect = (el) => el instanceof HTMLSelectElement;

export const CHECKABLE = new Set(['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio']);
