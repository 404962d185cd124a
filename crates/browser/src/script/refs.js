// Refs: the numbers by which the driver names elements, and the child frames that it names.

import { isConnected, ownerDocument } from './intrinsics.js';

// A ref lives as long as its element and is never reused.
/** @type {WeakMap<Element, number>} */
const refs = new WeakMap();
/** @type {Map<number, WeakRef<Element>>} */
export const elementsByRef = new Map();
const refRegistry = new FinalizationRegistry((number) => elementsByRef.delete(number));
export let lastRef = 0;

/** @param {Element} el */
export const refOf = (el) => {
  let number = refs.get(el);
  if (number === undefined) {
    lastRef += 1;
    number = lastRef;
    refs.set(el, number);
    elementsByRef.set(number, new WeakRef(el));
    refRegistry.register(el, number);
  }
  return number;
};

// The last role and name of each ref, for when its element is gone. The oldest are dropped first.
const MAX_DESCRIPTIONS = 50000;
/** @type {Map<number, { role: string, name: string }>} */
export const lastDescriptions = new Map();
/** @param {number} number @param {string} role @param {string} name */
export const rememberDescription = (number, role, name) => {
  if (lastDescriptions.size >= MAX_DESCRIPTIONS && !lastDescriptions.has(number)) lastDescriptions.delete(lastDescriptions.keys().next().value ?? 0);
  lastDescriptions.set(number, { role, name });
};

// The driver registers which child frame an <iframe> shows.
/** @type {WeakMap<Element, string>} */
export const childFrames = new WeakMap();
/** @type {Map<string, WeakRef<Element>>} */
export const frameOwners = new Map();
/** @param {Element} owner @param {string} frame */
export const registerFrame = (owner, frame) => {
  childFrames.set(owner, frame);
  frameOwners.set(frame, new WeakRef(owner));
  return true;
};
/** @param {number} number @returns {Element | null} */
export const elementByRef = (number) => {
  const el = elementsByRef.get(number)?.deref();
  return el && isInThisDocument(el) ? el : null;
};

// A page can move an element into the document of a frame, where another instance of this script has its own ref for
// it.
/** @param {Element} el */
export const isInThisDocument = (el) => isConnected(el) && ownerDocument(el) === document;
