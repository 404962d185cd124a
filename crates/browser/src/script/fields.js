// Fields: focus, caret, and the parts of date and time inputs.

import { changeCount } from './dom_changes.js';
import { describeElement } from './element_facts.js';
import { attribute, flatParent, hasAttribute, isField, isInside, shadowRootOf, tagOf } from './flat_tree.js';
import {
  activeElement, documentElement, focusElement, INPUT, isContentEditable, isElement, isHtml, rootActiveElement,
  textContent, TEXTAREA,
} from './intrinsics.js';
import { childFrames, elementByRef, refOf } from './refs.js';
import { isEditingHost } from './roles.js';
import { isSecret, markSecret } from './secret_fields.js';

export const deepActiveElement = () => {
  let active = activeElement(document);
  for (let root = active && shadowRootOf(active); active && root;) {
    const inner = rootActiveElement(root);
    if (!inner) break;
    active = inner;
    root = shadowRootOf(active);
  }
  return active;
};

// null if the element has the focus and is not secret.
/** @param {Element} el */
const focusProblem = (el) => {
  const active = deepActiveElement();
  // Inside an editing host, the host has the focus.
  const inEditor = active && isHtml(el) && isContentEditable(el) && isInside(el, active);
  if (active !== el && !inEditor) return { problem: 'focus', by: active ? describeElement(active) : null };
  return isSecret(el) ? { problem: 'secret' } : null;
};

/** @param {TextField} el */
const moveCaretToEnd = (el) => {
  if (el instanceof HTMLInputElement) INPUT.setSelectionRange(el, INPUT.value(el).length, INPUT.value(el).length);
  else TEXTAREA.setSelectionRange(el, TEXTAREA.value(el).length, TEXTAREA.value(el).length);
};

// Puts the caret at the end of a field, or selects all of it.
/** @param {Element} el @param {boolean} all */
const placeCaret = (el, all) => {
  if (!isField(el)) {
    const selection = getSelection();
    selection?.selectAllChildren(el);
    if (!all) selection?.collapseToEnd();
  } else if (all) {
    if (el instanceof HTMLInputElement) INPUT.select(el);
    else TEXTAREA.select(el);
  } else {
    try {
      moveCaretToEnd(el);
    } catch (error) {
      // Fields like type=email have no selection to set; their caret is where focus() puts it.
      if (!(error instanceof DOMException && error.name === 'InvalidStateError')) throw error;
    }
  }
};

// The editing host that has the focus while text is typed into this element.
/** @param {number} number */
export const findEditingHost = (number) => {
  for (let at = /** @type {Node | null} */ (elementByRef(number)); at; at = flatParent(at)) if (isHtml(at) && isEditingHost(at)) return at;
  return null;
};

/** @param {RefRequest} request */
export const focusField = ({ number }) => {
  const el = elementByRef(number);
  if (!el) return { problem: 'gone' };
  if (deepActiveElement() !== el) focusElement(/** @type {HTMLElement} */ (el), { preventScroll: true });
  return focusProblem(el) ?? {};
};

// Focuses a field and places the caret, before text is typed.
/** @param {{ number: number, all: boolean }} request */
export const focusAndPlaceCaret = ({ number, all }) => {
  const el = elementByRef(number);
  if (!el) return { problem: 'gone' };
  if (deepActiveElement() !== el) focusElement(/** @type {HTMLElement} */ (el), { preventScroll: true });
  const lost = focusProblem(el);
  if (lost) return lost;
  placeCaret(el, all);
  // Moving the caret may have run the page's handlers.
  return focusProblem(el) ?? {};
};

// The parts of a date input are in the order of its language, which only Chromium knows. So the orders of likely
// languages are returned, the most likely first.
/** @type {Record<string, Intl.DateTimeFormatOptions>} */
const DATE_FORMATS = {
  date: { year: 'numeric', month: '2-digit', day: '2-digit' },
  time: { hour: '2-digit', minute: '2-digit' },
  month: { year: 'numeric', month: 'long' },
};
DATE_FORMATS['datetime-local'] = { ...DATE_FORMATS.date, ...DATE_FORMATS.time };
const DATE_PARTS = new Set(['year', 'month', 'day', 'hour', 'minute', 'dayPeriod']);

/** @param {Element} el */
const languageOf = (el) => {
  for (let at = /** @type {Node | null} */ (el); at; at = flatParent(at)) if (isElement(at) && hasAttribute(at, 'lang')) return attribute(at, 'lang');
  return navigator.language;
};

/** @param {string[]} languages @param {string} type @param {boolean} seconds */
const datePartOrder = (languages, type, seconds) => {
  const format = new Intl.DateTimeFormat(languages, DATE_FORMATS[type]);
  const twelve = format.resolvedOptions().hour12 === true;
  return format.formatToParts(new Date(0)).map((part) => part.type).filter((part) => DATE_PARTS.has(part)).flatMap((part) => {
    if (part === 'hour' && twelve) return ['hour12'];
    return part === 'minute' && seconds ? ['minute', 'second'] : [part];
  });
};

// Seconds are shown where a step or the value has any.
/** @param {HTMLInputElement} el */
const hasSeconds = (el) => {
  const step = attribute(el, 'step');
  return /:\d+:/.test(INPUT.value(el)) || step === 'any' || (step !== null && Number(step) > 0 && Number(step) % 60 !== 0);
};

/** @param {RefRequest} request */
export const listDatePartOrders = ({ number }) => {
  const el = elementByRef(number);
  if (!(el instanceof HTMLInputElement)) return { orders: [] };
  const type = INPUT.type(el);
  if (type === 'week') return { orders: [['week', 'year'], ['year', 'week']] };
  if (!Object.hasOwn(DATE_FORMATS, type)) return { orders: [] };
  const known = new Map();
  for (const language of [languageOf(el), navigator.language, 'en-US', 'en-GB', 'ja']) {
    let order;
    try { order = datePartOrder([language ?? '', navigator.language], type, hasSeconds(el)); } catch { continue; }
    known.set(order.join(), order);
  }
  return { orders: Array.from(known.values()) };
};

/** @param {RefRequest} request */
export const readDateValue = ({ number }) => {
  const el = elementByRef(number);
  return { value: el instanceof HTMLInputElement && !isSecret(el) ? INPUT.value(el) : null };
};

// What a field holds, to see whether it took a text; null for a secret one. Compared, never shown.
const MAX_HELD = 20000;
/** @param {{ number: number, typed: string }} request */
export const readHeldText = ({ number, typed }) => {
  const el = elementByRef(number);
  if (!el || isSecret(el)) return { held: null };
  const text = el instanceof HTMLInputElement ? INPUT.value(el)
    : el instanceof HTMLTextAreaElement ? TEXTAREA.value(el)
    : textContent(el) ?? '';
  return { held: `${text.length} ${text.slice(-MAX_HELD)}`.toWellFormed(), empty: text === '', keeps: hasLettersOf(text, typed), changed: changeCount > 0 };
};

/** @param {string} text */
const lettersOf = (text) => text.normalize('NFKC').toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
// Whether the letters and digits of a text stand in another in their order. Masks and formats add to what is typed.
/** @param {string} text @param {string} typed */
const hasLettersOf = (text, typed) => {
  const [held, wanted] = [lettersOf(text.slice(-MAX_HELD)), lettersOf(typed.slice(-MAX_HELD / 2))];
  let at = 0;
  for (let i = 0; i < held.length && at < wanted.length; i += 1) if (held[i] === wanted[at]) at += 1;
  return at === wanted.length;
};

/** @param {{ numbers: number[] }} request */
export const markSecretFields = ({ numbers }) => {
  for (const number of numbers) {
    const el = elementByRef(number);
    if (el) markSecret(el);
  }
  return true;
};

// What has the focus in this frame: an element, or a child frame.
/** @param {{ prefix: string }} request */
export const describeFocus = ({ prefix }) => {
  const active = deepActiveElement();
  if (!active || active === documentElement(document) || tagOf(active) === 'body') return { problem: 'nothing' };
  const frame = childFrames.get(active);
  return frame === undefined ? { ref: `${prefix}e${refOf(active)}` } : { frame };
};
