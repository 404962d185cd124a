// Fields and texts whose content must never reach an agent.

import { callCache } from './call_cache.js';
import {
  attribute, countElements, flatParent, hasAttribute, inputType, isField, isLarge, parentOrHost,
  setShadowRootListener, shadowRootOf, shadowRootsSeen, tagOf,
} from './flat_tree.js';
import {
  addEventListener, createElement, createTreeWalker, currentNode, designMode, firstElementChild, fontSet, INPUT,
  isConnected, isContentEditable, isElement, isHtml, listLength, nextNode, querySelectorAll, readyState, recordType,
  removedNodes, setType, spellcheckOf, TEXTAREA,
} from './intrinsics.js';

// A "show password" button turns a password field into a text field: once secret, always secret.
//
// Chromium remembers which fields ever were passwords, and that is checked first (see wasPassword). Besides, every
// field is inspected when it is added and when its type changes, in the document and in every known root, and all of
// them periodically. The whole page is walked for fields and roots that nothing has reported, ever more rarely while
// there are none. What remains is a field that was a password before it was first inspected, on a page that sets
// `spellcheck` itself; those are recognized by name at best (see SECRET_WORDS).
/** @type {WeakSet<Node>} */
const onceSecret = new WeakSet();
/** @type {WeakSet<Node>} */
const observedRoots = new WeakSet();
/** @type {WeakSet<Node>} */
const inspected = new WeakSet();
// Fields that were inspected, in whatever root.
/** @type {Set<WeakRef<Element>>} */
const knownFields = new Set();
/** @type {WeakSet<Element>} */
const isKnown = new WeakSet();
const SWEEP_MILLISECONDS = 250;
// An idle page is walked as rarely as this. Every page of every session is, so it must cost next to nothing.
const LONGEST_WALK_INTERVAL = 5000;
// A sweep takes at most this share of the page's time.
const SWEEP_SHARE = 1 / 50;

/** @param {Iterable<Node>} nodes */
const hasElement = (nodes) => { for (const node of nodes) if (isElement(node)) return true; return false; };

// With more records than this, and at least one per two elements, the whole page is inspected at once: that takes
// half the time, and parsing a page causes as many.
const MANY_RECORDS = 100;
let lastInspectedCount = 0;
/** @param {MutationRecord[]} records */
const coversMostOfPage = (records) =>
  records.length > MANY_RECORDS && records.length * 2 > Math.max(countElements(), lastInspectedCount);

// A shadow root that a page declares comes without a mutation record. The parser may have paused between the host and
// its root, and the host was inspected without it: so the elements that may still be open are looked at once more.
/** @type {Node | null} */
let lastParsed = null;
/** @param {MutationRecord[]} children */
const inspectOpenElements = (children) => {
  for (let at = lastParsed; at; at = parentOrHost(at)) {
    const root = isElement(at) ? shadowRootOf(at) : null;
    if (!root || observedRoots.has(root)) continue;
    observeRoot(root);
    inspectTree(root, inspected);
  }
  lastParsed = null;
  if (readyState(document) !== 'loading') return;
  for (const { addedNodes } of children) for (const node of addedNodes) if (isElement(node)) lastParsed = node;
};

/** @param {MutationRecord[]} records */
const processMutations = (records) => {
  const children = records.filter((record) => recordType(record) === 'childList');
  inspectOpenElements(children);
  const all = coversMostOfPage(records);
  // Removed fields first: the field that replaces one may hold its value.
  for (const record of children) {
    if (listLength(removedNodes(record)) === 0) continue;
    for (const node of record.removedNodes) if (isElement(node)) inspectAdded(node);
  }
  if (all) {
    treeChanged = true;
    lastInspectedCount = inspectTree(document, null);
    // An observed root may be outside of the document.
    processAdditions(children.filter(({ target }) => !isConnected(target)));
  } else processAdditions(children);
  for (const record of children.length === records.length ? [] : records) {
    const { target, attributeName, oldValue } = record;
    if (recordType(record) === 'childList' || !isElement(target)) continue;
    if (oldValue && declaresSecret(attributeName ?? '', oldValue)) onceSecret.add(target);
    inspectField(target);
  }
  reduceObservation();
};

/** @param {MutationRecord[]} records */
const processAdditions = (records) => {
  treeChanged ||= records.some(({ addedNodes, removedNodes }) => hasElement(addedNodes) || hasElement(removedNodes));
  // Each subtree once: children that are added later have records of their own.
  for (const record of records) {
    for (const node of record.addedNodes) if (isElement(node) && !inspected.has(node)) inspectAdded(node);
  }
};
const fieldObserver = new MutationObserver(processMutations);
const OBSERVED = {
  subtree: true, childList: true, attributes: true, attributeFilter: ['type', 'autocomplete'], attributeOldValue: true,
};
// While a large page is parsed, records of every added element take more memory than the page. Then only attributes
// are observed, sweeps find new fields, and everything is inspected when parsing ends.
const OBSERVED_WHILE_PARSING = { ...OBSERVED, childList: false };
let observationReduced = false;
const reduceObservation = () => {
  if (observationReduced || readyState(document) !== 'loading' || !isLarge()) return;
  observationReduced = true;
  fieldObserver.observe(document, OBSERVED_WHILE_PARSING);
  const parsed = () => { treeChanged = true; fieldObserver.observe(document, OBSERVED); inspectTree(document, null); };
  addEventListener(globalThis, 'DOMContentLoaded', parsed, { capture: true, once: true });
};

// Whether a field or a root was found that was not known.
let foundNew = false;
/** @param {Node} root */
export const observeRoot = (root) => {
  if (observedRoots.has(root)) return;
  observedRoots.add(root);
  foundNew = true;
  fieldObserver.observe(root, OBSERVED);
};

setShadowRootListener(observeRoot);

// Inspects a field before it is read, since it may have changed by then.
/** @param {Element} el */
export const inspectField = (el) => {
  const tag = tagOf(el);
  if (tag !== 'input' && tag !== 'textarea' && !hasAttribute(el, 'contenteditable')) return;
  if (!isKnown.has(el)) {
    isKnown.add(el);
    knownFields.add(new WeakRef(el));
    foundNew = true;
    if (nextSweep > performance.now() + SWEEP_MILLISECONDS) scheduleSweep(SWEEP_MILLISECONDS);
  }
  // Styles are not there yet, and computing them would delay the page. Sweeps and readings look at them.
  updateSecrecy(el, readyState(document) !== 'loading');
};

// Most added elements are empty, and need no tree walker: a page of 100,000 elements adds each of them.
/** @param {Element} el */
const inspectAdded = (el) => {
  if (firstElementChild(el) || shadowRootOf(el)) inspectTree(el, inspected);
  else inspectField(el);
};

// Returns the number of elements.
/** @param {Node} top @param {WeakSet<Element> | null} walked */
export const inspectTree = (top, walked) => {
  const tops = [top];
  let count = 0;
  while (tops.length) {
    const walker = createTreeWalker(document, /** @type {Node} */ (tops.pop()), NodeFilter.SHOW_ELEMENT);
    for (let el = /** @type {Node | null} */ (currentNode(walker)); el; el = nextNode(walker)) {
      if (!isElement(el)) continue;
      count += 1;
      walked?.add(el);
      inspectField(el);
      const root = shadowRootOf(el);
      if (!root) continue;
      observeRoot(root);
      tops.push(root);
    }
  }
  return count;
};

/** @type {ReturnType<typeof setTimeout> | undefined} */
let sweepTimer;
let nextSweep = 0;
/** @param {number} milliseconds */
const scheduleSweep = (milliseconds) => {
  clearTimeout(sweepTimer);
  nextSweep = performance.now() + milliseconds;
  sweepTimer = setTimeout(sweepFields, milliseconds);
};

let nextWalk = 0;
let walkInterval = SWEEP_MILLISECONDS;
const walkPage = () => {
  const started = performance.now();
  foundNew = false;
  inspectTree(document, null);
  // While a large page is parsed, only walks find its fields.
  const backsOff = !foundNew && readyState(document) !== 'loading';
  walkInterval = backsOff ? Math.min(walkInterval * 2, LONGEST_WALK_INTERVAL) : SWEEP_MILLISECONDS;
  const now = performance.now();
  nextWalk = now + Math.max(walkInterval, (now - started) / SWEEP_SHARE);
};

export const sweepFields = () => {
  const started = performance.now();
  if (started >= nextWalk) walkPage();
  else {
    for (const known of knownFields) {
      const field = known.deref();
      if (field) updateSecrecy(field);
      else knownFields.delete(known);
    }
  }
  const now = performance.now();
  const pause = Math.max(SWEEP_MILLISECONDS, (now - started) / SWEEP_SHARE);
  scheduleSweep(knownFields.size > 0 ? pause : Math.max(pause, nextWalk - now));
};

// Chromium disables spellcheck in a field that ever was a password, unless the page enables it. Tested here once,
// before it is relied on.
const spellcheckRevealsPasswords = (() => {
  const field = /** @type {HTMLInputElement} */ (createElement(document, 'http://www.w3.org/1999/xhtml', 'input'));
  const before = spellcheckOf(field);
  setType(field, 'password');
  setType(field, 'text');
  return before && !spellcheckOf(field);
})();

/** @param {Element} el */
const wasPassword = (el) => {
  if (!spellcheckRevealsPasswords || spellcheckOf(/** @type {HTMLElement} */ (el))) return false;
  for (let at = /** @type {Node | null} */ (el); at && isElement(at); at = parentOrHost(at)) {
    const set = attribute(at, 'spellcheck')?.toLowerCase();
    if (set === 'false') return false;
    if (set === '' || set === 'true') return true;
  }
  return true;
};

// Some pages show a password by replacing the field with a text field, or adding one. So salted hashes of secret
// values are kept, and a field that holds one without it having been typed there is secret too. Typed values are not
// compared: else an agent could type guesses and see which of them vanish.
const MIN_VALUE_LENGTH = 3;
// Of a longer value its beginning and its length are hashed: keys and tokens are long.
const MAX_HASHED_LENGTH = 1000;
// Beyond this many the oldest is dropped.
const MAX_VALUES = 500;
/** @type {Set<string>} */
const secretValues = new Set();
/** @type {WeakSet<Element>} */
const typedFields = new WeakSet();
const HASH_SEED = crypto.getRandomValues(new Uint32Array(2));

/** @param {string} text */
const hashText = (text) => {
  let [a, b] = HASH_SEED;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x85ebca6b);
    a ^= a >>> 15;
    b = Math.imul(b ^ unit, 0xc2b2ae35);
    b ^= b >>> 13;
  }
  return `${a >>> 0}.${b >>> 0}`;
};

/** @param {Element} el */
const hashValue = (el) => {
  const value = el instanceof HTMLInputElement ? INPUT.value(el) : el instanceof HTMLTextAreaElement ? TEXTAREA.value(el) : '';
  return value.length >= MIN_VALUE_LENGTH ? `${hashText(value.slice(0, MAX_HASHED_LENGTH))}.${value.length}` : null;
};

/** @param {Element} el */
const rememberValue = (el) => {
  const held = hashValue(el);
  if (held === null || secretValues.has(held)) return;
  if (secretValues.size >= MAX_VALUES) secretValues.delete(secretValues.values().next().value ?? '');
  secretValues.add(held);
};

/** @param {Element} el */
const holdsSecretValue = (el) => {
  if (secretValues.size === 0 || typedFields.has(el)) return false;
  const held = hashValue(el);
  return held !== null && secretValues.has(held);
};

// A text that was pasted or dropped into a field came from elsewhere in the page, where it may be masked. Later edits could
// take it apart until nothing recognizes it, so the field is secret from then on.
const MOVED_TEXT = new Set(['insertFromPaste', 'insertFromPasteAsQuotation', 'insertFromDrop', 'insertFromYank']);

/** @param {Event} event */
export const recordTyping = (event) => {
  const [target] = event.composedPath();
  if (!event.isTrusted || !(target instanceof Node) || !isElement(target) || !isField(target)) return;
  if (event instanceof InputEvent && MOVED_TEXT.has(event.inputType)) {
    onceSecret.add(target);
    rememberValue(target);
  } else typedFields.add(target);
};

// A field whose value the driver masked. Edited, the value would be recognized no more. What was typed there is the
// agent's own.
/** @param {Element} el */
export const markSecret = (el) => {
  if (typedFields.has(el)) return;
  onceSecret.add(el);
  rememberValue(el);
};

const SECRET_AUTOCOMPLETE = new Set([
  'current-password', 'new-password', 'one-time-code', 'cc-number', 'cc-csc',
]);

/** @param {string} key @param {string} value */
const declaresSecret = (key, value) => {
  const words = value.toLowerCase().trim().split(/\s+/);
  return key === 'type' ? words[0] === 'password' : words.some((word) => SECRET_AUTOCOMPLETE.has(word));
};

// Words in the name or id of a text field. Few, because an agent cannot type into a field that they mark.
const SECRET_WORDS = new Set(
  'password passwd passwort passphrase passcode pass pwd otp totp cvv cvc csc'.split(' '),
);
const NAMED_TYPES = new Set(['text', 'tel', 'number']);

/** @param {Element} el */
const hasSecretName = (el) => {
  if (!NAMED_TYPES.has(inputType(el) ?? '')) return false;
  const names = `${attribute(el, 'name') ?? ''} ${attribute(el, 'id') ?? ''}`.slice(0, 300);
  const words = names.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase().split(/[^a-z0-9]+/);
  return words.some((word) => SECRET_WORDS.has(word));
};

// Elements drawn as dots, with all texts inside. Once masked, always masked: a button may remove the mask.
/** @type {WeakSet<Node>} */
const onceMasked = new WeakSet();
let anyMasked = false;
// Ancestors searched for a mask.
const MAX_MASK_ANCESTORS = 20;
const DOT_FONT = /text-security|password|dotsfont|pass-?dots/i;
const hasDotFonts = () => {
  const now = callCache();
  now.dotFonts ??= Array.from(fontSet(document)).some((face) => DOT_FONT.test(face.family));
  return now.dotFonts;
};

/** @param {Element} el */
const isMaskedNow = (el) => {
  const style = getComputedStyle(el);
  const drawn = style.webkitTextSecurity;
  return (drawn !== undefined && drawn !== '' && drawn !== 'none') || (hasDotFonts() && DOT_FONT.test(style.fontFamily));
};

/** @param {Element} el */
export const isMasked = (el) => {
  if (isMaskedNow(el)) {
    anyMasked = true;
    for (let at = /** @type {Node | null} */ (el), steps = 0; at && isElement(at) && steps < MAX_MASK_ANCESTORS; at = flatParent(at), steps += 1) {
      if (onceMasked.has(at) || (at !== el && !isMaskedNow(at))) break;
      onceMasked.add(at);
    }
    return true;
  }
  if (!anyMasked) return false;
  for (let at = /** @type {Node | null} */ (el), steps = 0; at && isElement(at) && steps < MAX_MASK_ANCESTORS; at = flatParent(at), steps += 1) {
    // Inside an ancestor that is still masked, this element is unmasked on purpose.
    if (onceMasked.has(at)) return at === el || !isMaskedNow(at);
  }
  return false;
};

// The same where a PaintState is at hand: most pages mask nothing, and no style must be computed.
/** @param {Element} el @param {PaintState} paint */
export const isMaskedBy = (el, paint) => (paint.masked || anyMasked || hasDotFonts()) && isMasked(el);

/** @param {Node} node */
export const isMaskedText = (node) => {
  const parent = flatParent(node);
  return parent !== null && isElement(parent) && isMasked(parent);
};

/** @param {Element} el @param {boolean} withStyle */
const appearsSecret = (el, withStyle) => {
  const type = inputType(el);
  if (type === 'password' || (type !== null && wasPassword(el))) return true;
  return declaresSecret('autocomplete', attribute(el, 'autocomplete') ?? '') || hasSecretName(el) || (withStyle && isMasked(el));
};

/** @param {Element} el */
const updateSecrecy = (el, withStyle = true) => {
  if (!onceSecret.has(el)) {
    // A hidden input may be shown later, and is not secret then.
    if (inputType(el) === 'hidden') return true;
    if (!appearsSecret(el, withStyle) && !holdsSecretValue(el)) return false;
    onceSecret.add(el);
  }
  rememberValue(el);
  return true;
};
// Few pages have editors.
const pageHasEditors = () => {
  const now = callCache();
  now.edits ??= shadowRootsSeen || designMode(document) === 'on' || querySelectorAll(document, '[contenteditable]').length > 0;
  return now.edits;
};

/** @param {Element} el */
export const isSecret = (el) => {
  const tag = tagOf(el);
  if (tag !== 'input' && tag !== 'textarea' && tag !== 'select' && !(isHtml(el) && pageHasEditors() && isContentEditable(el))) return false;
  processMutations(fieldObserver.takeRecords());
  return updateSecrecy(el);
};

// Called for every key: whether a field became secret after the first one, without computing its style, which would
// cause a layout per key.
/** @param {Element} el */
export const becameSecret = (el) => inputType(el) === 'password' || onceSecret.has(el);

// Whether elements were added or removed since nodes were counted.
let treeChanged = true;
export const isTreeUnchanged = () => {
  processMutations(fieldObserver.takeRecords());
  return !treeChanged && readyState(document) !== 'loading';
};

export const startCounting = () => {
  processMutations(fieldObserver.takeRecords());
  treeChanged = false;
};
