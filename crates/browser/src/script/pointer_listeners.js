// Elements that listen to clicks or pointers. No script sees the listeners of another world, so the driver asks Chromium and
// registers the elements here.
//
// An element that listens is often not what a person acts on: a list listens for its items, a board for its cells, a page
// for clicks outside of a menu. So the parts of such an element count too, and one that holds many controls does not.

import { hasAttribute, tagOf } from './flat_tree.js';
import {
  assignedNodes, boundingRect, characterData, closest, elementsIn, firstChild, firstElementChild, getAttribute, isElement, isText, LABEL,
  listLength, matches, nextSibling, ownerDocument, ownerSvg,
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
const MAX_ICON_WIDTH = 48;
// A part is small: it may hold a few words and icons.
const BLOCK_CONTENT = 'p, ul, ol, dl, table, h1, h2, h3, h4, h5, h6, div div div';

// Whether it is a sentence, of which its children are words.
/** @param {Element | ShadowRoot} el */
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

/** @param {Map<string, Element[]>} kinds @param {string} kind @param {Element} el */
const addTo = (kinds, kind, el) => {
  const alike = kinds.get(kind);
  if (alike) alike.push(el);
  else kinds.set(kind, [el]);
};

/** @param {Element | ShadowRoot} container @returns {Element[]} */
const partsOf = (container) => {
  // By kind; those without a class, or with one of their own, by their parents as well.
  /** @type {Map<string, Element[]>} */
  const kinds = new Map();
  /** @type {Map<Element, string>} */
  const siblings = new Map();
  // The shapes of a drawing are parts, whatever they are; those of an icon are not.
  const isDrawing = container instanceof SVGElement && boundingRect(container).width > MAX_ICON_WIDTH;
  /** @type {{ el: Element | ShadowRoot, depth: number }[]} */
  const waiting = [{ el: container, depth: 0 }];
  for (let looked = 0, parents = 0; waiting.length; parents += 1) {
    const { el, depth } = /** @type {{ el: Element | ShadowRoot, depth: number }} */ (waiting.shift());
    if (depth === MAX_PART_DEPTH || hasOwnWords(el)) continue;
    for (let node = firstChild(el); node; node = nextSibling(node)) {
      if (!isElement(node)) continue;
      const child = node;
      looked += 1;
      if (looked > MAX_PARTS_LOOKED_AT) return [];
      const tag = tagOf(child);
      if (NEVER_PARTS.has(tag) || matches(child, CONTROLS) || hasAttribute(child, 'role')) continue;
      if (!isSmall(child)) { waiting.push({ el: child, depth: depth + 1 }); continue; }
      const kind = ITEM_NAMES.has(tag) || firstClass(child) || tag === 'img' ? kindOf(child) : `${kindOf(child)} ${parents}`;
      addTo(kinds, kind, child);
      siblings.set(child, isDrawing && child instanceof SVGElement ? 'shape' : `${tag} ${parents}`);
    }
  }
  const parts = [...kinds.values()].filter((alike) => alike.length > 1 || tagOf(alike[0]) === 'img').flat();
  // Squares of a palette may each have a class of their own.
  /** @type {Map<string, Element[]>} */
  const rest = new Map();
  for (const [el] of [...kinds.values()].filter((alike) => alike.length === 1 && tagOf(alike[0]) !== 'img')) addTo(rest, siblings.get(el) ?? '', el);
  parts.push(...[...rest.values()].filter((alike) => alike.length > 1).flat());
  return parts.length > MAX_PARTS ? [] : parts;
};

// Counts an element as listening. `isCompact`: a click on anything in it is one on the element.
/** @param {Element} el @param {boolean} isCompact */
const addListening = (el, isCompact) => {
  listening.add(el);
  for (let at = el instanceof SVGElement ? ownerSvg(el) : null; at; at = ownerSvg(at)) drawings.add(at);
  if (isCompact) compact.add(el);
  isAnyListening = true;
};

/** @param {Element} el */
const isNativeControl = (el) => matches(el, NATIVE_CONTROLS) || (el instanceof HTMLLabelElement && LABEL.control(el) !== null);

// Whether the element itself or its parts can be acted on because of its listener, and whether it may listen for others.
/** @param {Element} el */
const registerElement = (el) => {
  if (isNativeControl(el)) return { isActing: false, isDelegating: false };
  if (PAGE_TAGS.has(tagOf(el))) return { isActing: false, isDelegating: firstElementChild(el) !== null };
  const hasMany = listLength(elementsIn(el, CONTROLS)) > MAX_CONTROLS_INSIDE;
  // A row that listens is acted on as a whole, and a slot stands for what is in it.
  const slotted = el instanceof HTMLSlotElement ? assignedNodes(el, { flatten: true }).filter(isElement) : [];
  const parts = slotted.length ? slotted : firstElementChild(el) && tagOf(el) !== 'tr' ? partsOf(el) : [];
  const isDeclared = matches(el, CONTROLS) || INTERACTIVE.has(roleOf(el));
  const acts = !isDeclared && !hasMany && !slotted.length && !(parts.length && PART_CONTAINERS.has(tagOf(el)));
  if (acts) addListening(el, parts.length === 0 && isSmall(el));
  for (const part of parts) addListening(part, true);
  if (parts.length) divided.add(el);
  return { isActing: acts || parts.length > 0, isDelegating: hasMany || (parts.length === 0 && !isSmall(el)) };
};

// The nodes that listen for what is inside of them, by the places that the driver knows.
/** @type {WeakRef<Element | ShadowRoot>[]} */
const delegating = [];
const NOT_DELEGATING = -1;
/** @param {Element | ShadowRoot} node */
const placeOfDelegating = (node) => {
  delegating.push(new WeakRef(node));
  return delegating.length - 1;
};
/** @param {number | null} place @returns {Element | ShadowRoot | Document | null} */
export const delegatingNode = (place) => (place === null ? document : delegating[place]?.deref() ?? null);

// Returns for each of these nodes whether it or its parts can be acted on because of its listener, and its place, if it may
// listen for what is inside of it. Listeners of frames come with those of the page around them, and are registered there.
/** @param {(Node | null)[]} nodes @returns {[boolean, number][]} */
export const registerListeners = (...nodes) => nodes.map((node) => {
  if (!node || ownerDocument(node) !== document) return [false, NOT_DELEGATING];
  if (node instanceof ShadowRoot) {
    const parts = partsOf(node);
    for (const part of parts) addListening(part, true);
    if (parts.length) listenerVersion += 1;
    return [parts.length > 0, placeOfDelegating(node)];
  }
  if (!isElement(node)) return [false, NOT_DELEGATING];
  const { isActing, isDelegating } = registerElement(node);
  if (isActing) listenerVersion += 1;
  return [isActing, isDelegating ? placeOfDelegating(node) : NOT_DELEGATING];
});

// The same for nodes that only listen for being hovered: the heads of menus, and words with a tooltip. A large one listens for
// the pointer's way over it.
const MAX_HOVERED_HEIGHT = 100;
/** @param {(Node | null)[]} nodes @returns {[boolean, number][]} */
export const registerHoverListeners = (...nodes) => nodes.map((node) => {
  if (!node || ownerDocument(node) !== document || !isElement(node) || listening.has(node)) return [false, NOT_DELEGATING];
  if (PAGE_TAGS.has(tagOf(node)) || isNativeControl(node) || matches(node, CONTROLS) || INTERACTIVE.has(roleOf(node))) return [false, NOT_DELEGATING];
  const { height } = boundingRect(node);
  if (height < 2 || height > MAX_HOVERED_HEIGHT || closest(node, NATIVE_CONTROLS)) return [false, NOT_DELEGATING];
  addListening(node, isSmall(node));
  listenerVersion += 1;
  return [true, NOT_DELEGATING];
});

// Counts elements that a framework keeps handlers for. Whether any is new.
/** @param {Element[]} elements */
export const registerHandled = (elements) => {
  let isAny = false;
  for (const el of elements) if (!handled.has(el)) { handled.add(el); isAny = registerElement(el).isActing || isAny; }
  if (isAny) listenerVersion += 1;
  return isAny;
};
/** @type {WeakSet<Element>} */
const handled = new WeakSet();

// Counts elements that a delegated handler looks for. It also looks for what it wants to leave alone, such as an open menu:
// what holds controls is not acted on as a whole, and what is in one is a part of that.
const NEVER_TARGETS = new Set(['body', 'fieldset', 'form', 'head', 'html', 'iframe', 'main', 'option']);
/** @param {Element[]} elements */
export const registerTargets = (elements) => {
  let isAny = false;
  for (const el of elements) {
    if (listening.has(el) || NEVER_TARGETS.has(tagOf(el)) || isNativeControl(el) || matches(el, CONTROLS) || INTERACTIVE.has(roleOf(el))) continue;
    if (listLength(elementsIn(el, CONTROLS)) > 0 || closest(el, NATIVE_CONTROLS)) continue;
    addListening(el, isSmall(el));
    isAny = true;
  }
  if (isAny) listenerVersion += 1;
  return isAny;
};

/** @param {Element} el */
export const isListening = (el) => isAnyListening && listening.has(el);
/** @param {Element} el */
export const isListeningAlone = (el) => isAnyListening && compact.has(el);
/** @param {Element} el */
export const hasListeningParts = (el) => isAnyListening && divided.has(el);
/** @param {Element} svg */
export const hasListeningShape = (svg) => isAnyListening && drawings.has(svg);
