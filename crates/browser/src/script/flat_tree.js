// The flat tree: elements, attributes, slots and shadow roots as they are rendered.

import { callCache } from './call_cache.js';
import {
  assignedNodes, assignedSlot, assignedTextSlot, attributeNames, BUTTON, collectionLength, DETAILS,
  documentElementById, firstChild, getAttribute, getElementsByTagName, getRootNode, INPUT, isElement,
  isInHtmlNamespace, isText, localName, matches, nativeHasAttribute, nextSibling, openShadowRoot, parentNode,
  rootElementById, rootHost, rootQuerySelectorAll, SELECT, TEXTAREA,
} from './intrinsics.js';

// A walk reads two dozen attributes of each element, and most elements have none of them. So the attribute names of
// the current element are read once; no code of the page runs before the walk moves on.
export const PLAIN_ATTRIBUTES = new Set(['class', 'colspan', 'height', 'href', 'id', 'rowspan', 'src', 'style', 'width']);
/** @type {Element | null} */
export let plainElement = null;
// The current element, if no attribute hides it.
/** @type {Element | null} */
let unhiddenElement = null;
/** @type {Element | null} */
let currentElement = null;
/** @type {string[]} */
let currentNames = [];
const HIDING_ATTRIBUTES = new Set(['aria-hidden', 'hidden', 'inert', 'popover']);
/** @param {Element | null} el */
export const setCurrentElement = (el) => {
  currentElement = null;
  plainElement = null;
  unhiddenElement = null;
  if (el === null) return;
  const names = attributeNames(el);
  let isPlain = true;
  let isUnhidden = true;
  for (let i = 0; i < names.length; i += 1) {
    if (PLAIN_ATTRIBUTES.has(names[i])) continue;
    isPlain = false;
    if (HIDING_ATTRIBUTES.has(names[i])) isUnhidden = false;
  }
  currentElement = el;
  currentNames = names;
  if (isPlain) plainElement = el;
  if (isUnhidden) unhiddenElement = el;
};
/** @param {Element} el */
export const hasNoHidingAttribute = (el) => el === unhiddenElement || (el !== currentElement && !attributeNames(el).some((name) => HIDING_ATTRIBUTES.has(name)));
/** @param {Element} el */
export const namesOf = (el) => (el === currentElement ? currentNames : attributeNames(el));
/** @param {Element} el @param {string} key */
export const attribute = (el, key) => (el === plainElement && !PLAIN_ATTRIBUTES.has(key) ? null : getAttribute(el, key));
/** @param {Element} el @param {string} key */
export const hasAttribute = (el, key) => (el === plainElement && !PLAIN_ATTRIBUTES.has(key) ? false : nativeHasAttribute(el, key));

/** @param {Element} el */
export const isFormControl = (el) =>
  el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement || el instanceof HTMLSelectElement ||
  el instanceof HTMLButtonElement;

// The form that a control belongs to.
/** @param {Element} el */
export const formOf = (el) =>
  el instanceof HTMLInputElement ? INPUT.form(el)
  : el instanceof HTMLTextAreaElement ? TEXTAREA.form(el)
  : el instanceof HTMLSelectElement ? SELECT.form(el)
  : el instanceof HTMLButtonElement ? BUTTON.form(el)
  : null;

// The tag name is immutable, and read a dozen times in a row.
/** @type {Element | null} */
let taggedElement = null;
let lastTag = '';
/** @param {Element} el */
export const tagOf = (el) => {
  if (el !== taggedElement) {
    lastTag = localName(el);
    taggedElement = el;
  }
  return lastTag;
};
/** @param {Element} el */
export const inputType = (el) => (el instanceof HTMLInputElement ? INPUT.type(el) : null);

// Closed roots by their hosts: no script can see them, so the driver registers them.
/** @type {WeakMap<Element, ShadowRoot>} */
export const closedRoots = new WeakMap();
/** @param {Element} el @returns {ShadowRoot | null} */
export const shadowRootOf = (el) => openShadowRoot(el) ?? closedRoots.get(el) ?? null;

// In a closed root `assignedSlot` is null, but `assignedNodes` works.
const MAX_SLOTS = 1000;
/** @param {Node} node */
const slotInClosedRoot = (node) => {
  const parent = parentNode(node);
  const root = parent && isElement(parent) ? closedRoots.get(parent) : undefined;
  if (!root) return null;
  const { slots } = callCache();
  let assigned = slots.get(root);
  if (!assigned) {
    assigned = new Map();
    for (const slot of Array.from(rootQuerySelectorAll(root, 'slot')).slice(0, MAX_SLOTS)) {
      if (!isInHtmlNamespace(slot)) continue;
      const htmlSlot = /** @type {HTMLSlotElement} */ (slot);
      for (const child of assignedNodes(htmlSlot)) assigned.set(child, htmlSlot);
    }
    slots.set(root, assigned);
  }
  return assigned.get(node) ?? null;
};

/** @param {Node} node */
const slotOf = (node) =>
  (isElement(node) ? assignedSlot(node) : isText(node) ? assignedTextSlot(node) : null) ?? slotInClosedRoot(node);

// The parent in the flat tree, through slots and shadow roots.
/** @param {Node} node @returns {Node | null} */
export const flatParent = (node) => slotOf(node) ?? parentOrHost(node);

/** @param {Node} node @returns {Node | null} */
export const parentOrHost = (node) => {
  const parent = parentNode(node);
  return parent instanceof ShadowRoot ? rootHost(parent) : parent;
};

// The element whose shadow tree this one is in.
/** @param {Node} el */
export const shadowHost = (el) => {
  const root = getRootNode(el);
  return root instanceof ShadowRoot ? rootHost(root) : null;
};

/** @param {Node | null} node @param {Node | null} ancestor */
export const isInside = (node, ancestor) => {
  for (let at = node; at; at = flatParent(at)) if (at === ancestor) return true;
  return false;
};

// Whether a walk has met a shadow root, and the function that is called with each.
export let shadowRootsSeen = false;
/** @type {(root: ShadowRoot) => void} */
let shadowRootListener = () => {};
/** @param {(root: ShadowRoot) => void} listener */
export const setShadowRootListener = (listener) => { shadowRootListener = listener; };

// The children in the flat tree: what is rendered, not what is written.
/** @param {Element} el @returns {Node[]} */
export const flatChildren = (el) => {
  const tag = isElement(el) ? tagOf(el) : '';
  if (tag === 'slot' && el instanceof HTMLSlotElement) {
    const assigned = assignedNodes(el, { flatten: true });
    if (assigned.length) return assigned;
  }
  const root = tag ? shadowRootOf(el) : null;
  if (root) { shadowRootsSeen = true; shadowRootListener(root); }
  /** @type {Node[]} */
  const children = [];
  // A closed <details> renders only its summary; its text nodes have no element whose visibility could be checked.
  if (tag === 'details' && el instanceof HTMLDetailsElement && !DETAILS.open(el)) {
    const summary = childByTag(el, 'summary');
    return summary ? [summary] : children;
  }
  for (let child = firstChild(root ?? el); child; child = nextSibling(child)) children.push(child);
  return children;
};

/** @param {Element} el @param {string} tag */
export const childByTag = (el, tag) => {
  for (let child = firstChild(el); child; child = nextSibling(child)) {
    if (isElement(child) && tagOf(child) === tag) return child;
  }
  return null;
};

/** @param {Element} el @param {string} id */
export const elementByIdInTree = (el, id) => {
  const root = getRootNode(el);
  return root instanceof Document ? documentElementById(root, id) : root instanceof ShadowRoot ? rootElementById(root, id) : null;
};

/** @param {Element} el @returns {el is TextField} */
export const isField = (el) => el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement;

// The only elements that may have a shadow root, besides custom elements.
const SHADOW_HOST_TAGS = new Set(
  'article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span'.split(' '),
);
/** @param {Element} el */
export const canHaveShadowRoot = (el) => SHADOW_HOST_TAGS.has(tagOf(el)) || tagOf(el).includes('-');
// Nodes visited in one frame.
export const MAX_VISITED = 400000;

// On larger pages garbage is collected before a read, and again after so many elements: the garbage of parsing is as
// large as the page, and V8 does not know the jail's memory limit.
export const LARGE_PAGE = 20000;
export const countElements = () => collectionLength(getElementsByTagName(document, '*'));
export const isLarge = () => countElements() > LARGE_PAGE;

// The modal dialogs that are open. Most pages have no dialog at all.
export const modalDialogs = () => {
  const dialogs = getElementsByTagName(document, 'dialog');
  const open = [];
  for (let i = 0; i < collectionLength(dialogs); i += 1) if (matches(dialogs[i], ':modal')) open.push(dialogs[i]);
  return open;
};

// The parent that a node is drawn in.
/** @param {Node} node */
export const drawnParent = (node) => (shadowRootsSeen ? flatParent(node) : parentNode(node));
