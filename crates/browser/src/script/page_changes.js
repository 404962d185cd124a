// Whether a page has changed since it was read, as far as a script can tell.
//
// The driver compares Chromium's counts of style recalculations and layouts as well: those change with every style sheet,
// media query, state and animation. What is left to this script is what an agent is told and what changes no style.

import { shadowRootsSeen } from './flat_tree.js';
import {
  activeElement, addEventListener, animationState, collectionLength, documentElement, fontSet, fontStatus, getElementsByTagName, INPUT, isConnected, isContentEditable,
  isHtml, matches, offsetHeight, querySelectorAll, readyState, runningAnimations, scrollLeft, scrollTop, SELECT,
  selectedIndex, TEXTAREA,
} from './intrinsics.js';
import { listenerVersion } from './pointer_listeners.js';

const ANY_CHANGE = { subtree: true, childList: true, attributes: true, characterData: true };
let pageVersion = 0;
/** @type {Element[]} */
let scrollers = [];
const noteChange = () => {
  pageVersion += 1;
  // One change is enough until the page is read again.
  pageObserver.disconnect();
};
const pageObserver = new MutationObserver(noteChange);
addEventListener(document, 'load', () => { pageVersion += 1; }, true);

// Called when a snapshot begins.
export const startObservingPage = () => {
  pageObserver.disconnect();
  pageVersion += 1;
  scrollers = [];
  pageObserver.observe(document, ANY_CHANGE);
};

// Called with each scroll container of a snapshot.
/** @param {Element} el */
export const noteScroller = (el) => { scrollers.push(el); };

// With more fields than this a page is read anew each time.
const MAX_FIELDS = 5000;
const FIELD_TAGS = ['input', 'select', 'textarea'];

/** @param {string} text @param {number} hash */
const addToHash = (text, hash) => {
  let sum = hash;
  for (let i = 0; i < text.length; i += 1) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  return Math.imul(sum ^ text.length, 0x01000193);
};

/** @param {Element} el */
const fieldState = (el) => {
  const refused = matches(el, ':user-invalid') ? '!' : '';
  if (el instanceof HTMLInputElement) return `${refused}${INPUT.type(el)} ${INPUT.checked(el)} ${INPUT.indeterminate(el)} ${INPUT.value(el)}`;
  if (el instanceof HTMLTextAreaElement) return refused + TEXTAREA.value(el);
  if (el instanceof HTMLSelectElement) return `${refused}${selectedIndex(el)} ${Array.from(SELECT.selected(el), (option) => option.index).join(' ')}`;
  return isHtml(el) && isContentEditable(el) ? 'e' : '';
};

// A text that differs if the page may have changed; null if that cannot be known.
export const pageState = () => {
  const root = documentElement(document);
  if (!root || shadowRootsSeen || readyState(document) !== 'complete' || fontStatus(fontSet(document)) !== 'loaded') return null;
  if (pageObserver.takeRecords().length) noteChange();
  if (runningAnimations(document).some((animation) => animationState(animation) === 'running')) return null;
  // By tag: a list of selectors takes several times as long.
  /** @type {Element[]} */
  const fields = Array.from(querySelectorAll(document, '[contenteditable]'));
  for (const tag of FIELD_TAGS) {
    const some = getElementsByTagName(document, tag);
    if (collectionLength(some) > MAX_FIELDS) return null;
    fields.push(...some);
  }
  if (fields.length > MAX_FIELDS) return null;
  let held = 0;
  for (const field of fields) held = addToHash(fieldState(field), held);
  let scrolled = '';
  for (const el of scrollers) scrolled += `${isConnected(el) ? '' : '-'}${scrollLeft(el)},${scrollTop(el)} `;
  const { innerWidth, innerHeight, scrollX, scrollY } = globalThis;
  return `${pageVersion} ${listenerVersion} ${elementNumber(activeElement(document))} ${held} ${innerWidth} ${innerHeight} ${scrollX} ${scrollY} ${location.href.length} ${scrolled}`;
};

/** @type {WeakMap<Element, number>} */
const numbers = new WeakMap();
let lastNumber = 0;
/** @param {Element | null} el */
const elementNumber = (el) => {
  if (!el) return 0;
  let number = numbers.get(el);
  if (number === undefined) {
    lastNumber += 1;
    number = lastNumber;
    numbers.set(el, number);
  }
  return number;
};

// Brings style and layout up to date, so that what has changed is counted, and returns the state.
export const probeChanges = () => {
  const root = documentElement(document);
  if (root && isHtml(root)) offsetHeight(root);
  return { state: pageState() };
};
