// Elements that listen to clicks or pointers. No script sees the listeners of another world, so the driver asks Chromium and
// registers the elements here.
//
// An element that listens is often not what a person acts on: a list listens for its items, a board for its cells, a page
// for clicks outside of a menu. So the parts of such an element count too, and one that holds many controls does not.

import { hasAttribute, tagOf } from './flat_tree.js';
import {
  characterData, elementsIn, firstChild, firstElementChild, getAttribute, isElement, isText, LABEL, listLength, matches,
  nextElementSibling, nextSibling, ownerSvg,
} from './intrinsics.js';
import { INTERACTIVE, roleOf } from './roles.js';

/** @type {WeakSet<Element>} */
const listening = new WeakSet();
// Those that hold nothing but a few words: a click on these is one on the element.
/** @type {WeakSet<Element>} */
const compact = new WeakSet();
// Those that listen for their parts.
/** @type {WeakSet<Element>} */
const divided = new WeakSet();
// Drawings with a shape that counts.
/** @type {WeakSet<Element>} */
const drawings = new WeakSet();
// Whether there are any; most pages have none.
let isAnyListening = false;
// Counts registrations: a page may look the same and have more to act on.
export let listenerVersion = 0;

const PAGE_TAGS = new Set(['html', 'head', 'body', 'form', 'option', 'iframe']);
const NATIVE_CONTROLS = 'a[href], area[href], button, input, select, textarea, summary';
const CONTROLS = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex], [role=button], [role=link], [onclick]';
// An element with more controls than this listens for them, or for clicks anywhere.
const MAX_CONTROLS_INSIDE = 8;
// Containers whose parts are acted on, never they themselves.
const PART_CONTAINERS = new Set(['dl', 'ol', 'table', 'tbody', 'thead', 'ul']);
// Parts are alike: several with the same name and first class, in one place or, if they have a class or are items by their
// name, anywhere in the element. An image is a part by itself.
const ITEM_NAMES = new Set('circle dd dt ellipse g image li line path polygon polyline rect td th'.split(' '));
const NEVER_PARTS = new Set('b br caption cite code col colgroup dfn em h1 h2 h3 h4 h5 h6 hr label link p pre q s script small source strong style sub sup template u wbr'.split(' '));
const MAX_PARTS = 400;
const MAX_PARTS_LOOKED_AT = 2000;
const MAX_PART_DEPTH = 6;
// A part is small: it may hold a few words and icons.
const BLOCK_CONTENT = 'p, ul, ol, dl, table, h1, h2, h3, h4, h5, h6, div div div';

// Whether it is a sentence, of which its children are words.
/** @param {Element} el */
const hasOwnWords = (el) => {
  for (let child = firstChild(el); child; child = nextSibling(child)) if (isText(child) && /[\p{L}\p{N}]/u.test(characterData(child))) return true;
  return false;
};

/** @param {Element} el */
const firstClass = (el) => /\S+/.exec(getAttribute(el, 'class') ?? '')?.[0] ?? '';
/** @param {Element} el */
const kindOf = (el) => (ITEM_NAMES.has(tagOf(el)) ? tagOf(el) : `${tagOf(el)}.${firstClass(el)}`);

/** @param {Element} el */
const isSmall = (el) =>
  firstElementChild(el) === null ||
  (hasOwnWords(el) && listLength(elementsIn(el, CONTROLS)) === 0 && listLength(elementsIn(el, BLOCK_CONTENT)) === 0);

/** @param {Element} container @returns {Element[]} */
const partsOf = (container) => {
  // By kind; those without a class by their parents as well.
  /** @type {Map<string, Element[]>} */
  const kinds = new Map();
  /** @type {{ el: Element, depth: number }[]} */
  const waiting = [{ el: container, depth: 0 }];
  for (let looked = 0, parents = 0; waiting.length; parents += 1) {
    const { el, depth } = /** @type {{ el: Element, depth: number }} */ (waiting.shift());
    if (depth === MAX_PART_DEPTH || hasOwnWords(el)) continue;
    for (let child = firstElementChild(el); child; child = nextElementSibling(child)) {
      looked += 1;
      if (looked > MAX_PARTS_LOOKED_AT) return [];
      const tag = tagOf(child);
      if (NEVER_PARTS.has(tag) || matches(child, CONTROLS) || hasAttribute(child, 'role')) continue;
      if (!isSmall(child)) { waiting.push({ el: child, depth: depth + 1 }); continue; }
      const kind = ITEM_NAMES.has(tag) || firstClass(child) || tag === 'img' ? kindOf(child) : `${kindOf(child)} ${parents}`;
      const alike = kinds.get(kind);
      if (alike) alike.push(child);
      else kinds.set(kind, [child]);
    }
  }
  const parts = [...kinds.values()].filter((alike) => alike.length > 1 || tagOf(alike[0]) === 'img').flat();
  return parts.length > MAX_PARTS ? [] : parts;
};

// Returns for each of these elements whether it or its parts can be acted on because of that.
/** @param {(Element | null)[]} elements */
export const registerListeners = (...elements) => elements.map((el) => {
  if (!el || !isElement(el) || PAGE_TAGS.has(tagOf(el)) || matches(el, NATIVE_CONTROLS)) return false;
  if (el instanceof HTMLLabelElement && LABEL.control(el) !== null) return false;
  const hasMany = listLength(elementsIn(el, CONTROLS)) > MAX_CONTROLS_INSIDE;
  // A row that listens is acted on as a whole.
  const parts = firstElementChild(el) && tagOf(el) !== 'tr' ? partsOf(el) : [];
  const isDeclared = matches(el, CONTROLS) || INTERACTIVE.has(roleOf(el));
  const acts = !isDeclared && !hasMany && !(parts.length && PART_CONTAINERS.has(tagOf(el)));
  const added = acts ? [el, ...parts] : parts;
  for (const part of added) {
    listening.add(part);
    for (let at = part instanceof SVGElement ? ownerSvg(part) : null; at; at = ownerSvg(at)) drawings.add(at);
    if (part !== el || (parts.length === 0 && isSmall(el))) compact.add(part);
  }
  if (parts.length) divided.add(el);
  if (added.length) {
    isAnyListening = true;
    listenerVersion += 1;
  }
  return added.length > 0;
});

/** @param {Element} el */
export const isListening = (el) => isAnyListening && listening.has(el);
/** @param {Element} el */
export const isListeningAlone = (el) => isAnyListening && compact.has(el);
/** @param {Element} el */
export const hasListeningParts = (el) => isAnyListening && divided.has(el);
/** @param {Element} svg */
export const hasListeningShape = (svg) => isAnyListening && drawings.has(svg);
