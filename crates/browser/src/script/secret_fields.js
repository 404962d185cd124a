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
// Chromium remembers which fields ever were passwords, and that is asked first (see remembersPassword). Beside it
// every field is looked at when it comes and when its type changes, in the document and in every root that is
// known, and all of them now and then. What is then left is a field that was a password before anybody looked, on
// a page that sets `spellcheck` itself; of those, its name tells (see SECRET_WORDS), or nothing does.
/** @type {WeakSet<Node>} */
const onceSecret = new WeakSet();
/** @type {WeakSet<Node>} */
const observedRoots = new WeakSet();
/** @type {WeakSet<Node>} */
const inspected = new WeakSet();
const SWEEP_MILLISECONDS = 250;
// A sweep takes at most this part of the page's time.
const SWEEP_SHARE = 1 / 50;

/** @param {Iterable<Node>} nodes */
const hasElement = (nodes) => { for (const node of nodes) if (isElement(node)) return true; return false; };

// Beyond so many records, and at least one for each two elements, all of the page is looked at once: that takes half of
// the time that a look at what each of them tells would, and there are as many while a page is parsed.
const MANY_RECORDS = 100;
let lastInspectedCount = 0;
/** @param {MutationRecord[]} records */
const coversMostOfPage = (records) =>
  records.length > MANY_RECORDS && records.length * 2 > Math.max(countElements(), lastInspectedCount);

/** @param {MutationRecord[]} records */
const processMutations = (records) => {
  const children = records.filter((record) => recordType(record) === 'childList');
  const all = coversMostOfPage(records);
  // What goes first: the field that comes in its place may hold what it held.
  for (const record of children) {
    if (listLength(removedNodes(record)) === 0) continue;
    for (const node of record.removedNodes) if (isElement(node)) inspectAdded(node);
  }
  if (all) {
    treeChanged = true;
    lastInspectedCount = inspectTree(document, null);
    // A root that is watched may be out of the document.
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
  // Each part of the tree once: children that come later are told of by themselves.
  for (const record of records) {
    for (const node of record.addedNodes) if (isElement(node) && !inspected.has(node)) inspectAdded(node);
  }
};
const fieldObserver = new MutationObserver(processMutations);
const OBSERVED = {
  subtree: true, childList: true, attributes: true, attributeFilter: ['type', 'autocomplete'], attributeOldValue: true,
};
// While a large page is parsed it would be told of every element that comes, which takes more memory than the page.
// From then on changed types are told of, sweeps find what has come, and in the end all of it is looked at.
const OBSERVED_WHILE_PARSING = { ...OBSERVED, childList: false };
let observationReduced = false;
const reduceObservation = () => {
  if (observationReduced || readyState(document) !== 'loading' || !isLarge()) return;
  observationReduced = true;
  fieldObserver.observe(document, OBSERVED_WHILE_PARSING);
  const parsed = () => { treeChanged = true; fieldObserver.observe(document, OBSERVED); inspectTree(document, null); };
  addEventListener(globalThis, 'DOMContentLoaded', parsed, { capture: true, once: true });
};

/** @param {Node} root */
export const observeRoot = (root) => {
  if (observedRoots.has(root)) return;
  observedRoots.add(root);
  fieldObserver.observe(root, OBSERVED);
};

setShadowRootListener(observeRoot);

// Looks at a field before anybody asks for it, since it may look different by then.
/** @param {Element} el */
export const inspectField = (el) => {
  const tag = tagOf(el);
  if (tag === 'input' || tag === 'textarea' || hasAttribute(el, 'contenteditable')) updateSecrecy(el);
};

// Most of what comes holds no element yet: while a page of 100,000 is parsed, no walk for each of them.
/** @param {Element} el */
const inspectAdded = (el) => {
  if (firstElementChild(el) || shadowRootOf(el)) inspectTree(el, inspected);
  else inspectField(el);
};

// Tells how many elements there were.
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

export const sweepFields = () => {
  const started = performance.now();
  inspectTree(document, null);
  setTimeout(sweepFields, Math.max(SWEEP_MILLISECONDS, (performance.now() - started) / SWEEP_SHARE));
};

// Chromium checks no spelling in what ever was a password, unless the page asks for it there. Tried out first:
// one that does otherwise is not believed.
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

// Some pages show a password by putting a text field in its place, or beside it. So the values of secret fields are
// remembered, as numbers that mean nothing elsewhere, and a field that holds one without anybody having typed it
// there is secret too. What is typed is left alone: else an agent could type guesses and see which of them vanish.
const MIN_VALUE_LENGTH = 3;
// Of a longer one its beginning and its length are remembered: keys and tokens are long.
const MAX_HASHED_LENGTH = 1000;
// Beyond this many the oldest is forgotten.
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

/** @param {Event} event */
export const recordTyping = (event) => {
  const [target] = event.composedPath();
  if (event.isTrusted && target instanceof Node && isElement(target) && isField(target)) typedFields.add(target);
};

const SECRET_AUTOCOMPLETE = new Set([
  'current-password', 'new-password', 'one-time-code', 'cc-number', 'cc-csc',
]);

/** @param {string} key @param {string} value */
const declaresSecret = (key, value) => {
  const words = value.toLowerCase().trim().split(/\s+/);
  return key === 'type' ? words[0] === 'password' : words.some((word) => SECRET_AUTOCOMPLETE.has(word));
};

// As parts of the name or id of a text field: few, because nothing can be typed into what they mark.
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

// Drawn as dots; so are all texts inside. Once it was, it stays so: a button may take the mask away.
/** @type {WeakSet<Node>} */
const onceMasked = new WeakSet();
let anyMasked = false;
// How far up a mask is looked for.
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
    // Inside a mask that is still there, it was left out on purpose.
    if (onceMasked.has(at)) return at === el || !isMaskedNow(at);
  }
  return false;
};

// The same where a look at the element is at hand: most pages mask nothing, and its style need not be asked.
/** @param {Element} el @param {PaintState} look */
export const isMaskedBy = (el, look) => (look.masked || anyMasked || hasDotFonts()) && isMasked(el);

/** @param {Node} node */
export const isMaskedText = (node) => {
  const parent = flatParent(node);
  return parent !== null && isElement(parent) && isMasked(parent);
};

/** @param {Element} el */
const appearsSecret = (el) => {
  const type = inputType(el);
  if (type === 'password' || (type !== null && wasPassword(el))) return true;
  return declaresSecret('autocomplete', attribute(el, 'autocomplete') ?? '') || hasSecretName(el) || isMasked(el);
};

/** @param {Element} el */
const updateSecrecy = (el) => {
  if (!onceSecret.has(el)) {
    // What is hidden now may be shown later; it is no secret then.
    if (inputType(el) === 'hidden') return true;
    if (!appearsSecret(el) && !holdsSecretValue(el)) return false;
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

// What is asked for every key that goes into a field that was no secret when the first one did: whether it has become
// one meanwhile, without asking for its style, which would be laid out anew for each key.
/** @param {Element} el */
export const becameSecret = (el) => inputType(el) === 'password' || onceSecret.has(el);

// Whether elements came or went since nodes were counted.
let treeChanged = true;
export const isTreeUnchanged = () => {
  processMutations(fieldObserver.takeRecords());
  return !treeChanged && readyState(document) !== 'loading';
};

export const startCounting = () => {
  processMutations(fieldObserver.takeRecords());
  treeChanged = false;
};
