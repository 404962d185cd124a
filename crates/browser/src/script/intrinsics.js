// DOM accessors that a page cannot override.
//
// `<input name=action>` replaces `form.action`, and `<img name=body>` replaces `document.body`, in an isolated world too.
// So no module reads a property of a node directly: every getter and method is taken from its prototype here, once, before
// the page has run.

/** @typedef {{ prototype: any }} Interface */
/** @template {Interface} I @typedef {I['prototype']} Instance */

/** @type {(method: Function) => any} */
const uncurry = Function.prototype.bind.bind(Function.prototype.call);

/**
 * @template {object} I
 * @template {keyof I} K
 * @param {I} prototype
 * @param {K} key
 */
const descriptorOf = (prototype, key) => {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, key);
  if (!descriptor) throw new TypeError(`no property ${String(key)}`);
  return descriptor;
};

/**
 * @template {Interface} I
 * @template {keyof Instance<I>} K
 * @param {I} type
 * @param {K} key
 * @returns {(target: Instance<I>) => Instance<I>[K]}
 */
const getter = (type, key) => uncurry(/** @type {Function} */ (descriptorOf(type.prototype, key).get));

/**
 * @template {Interface} I
 * @template {keyof Instance<I>} K
 * @param {I} type
 * @param {K} key
 * @returns {(target: Instance<I>, value: Instance<I>[K]) => void}
 */
const setter = (type, key) => uncurry(/** @type {Function} */ (descriptorOf(type.prototype, key).set));

/**
 * Of an overloaded method the last overload.
 * @template {Interface} I
 * @template {keyof Instance<I>} K
 * @param {I} type
 * @param {K} key
 * @returns {(target: Instance<I>, ...args: Parameters<Instance<I>[K]>) => ReturnType<Instance<I>[K]>}
 */
const method = (type, key) => uncurry(type.prototype[key]);

export const nodeType = getter(Node, 'nodeType');
export const firstChild = getter(Node, 'firstChild');
export const lastChild = getter(Node, 'lastChild');
export const nextSibling = getter(Node, 'nextSibling');
export const parentNode = getter(Node, 'parentNode');
export const previousSibling = getter(Node, 'previousSibling');
export const isConnected = getter(Node, 'isConnected');
export const baseURI = getter(Node, 'baseURI');
export const getRootNode = method(Node, 'getRootNode');
export const ownerDocument = getter(Node, 'ownerDocument');
export const characterData = getter(CharacterData, 'data');
export const localName = getter(Element, 'localName');
const namespaceURI = getter(Element, 'namespaceURI');
export const attributeNames = method(Element, 'getAttributeNames');
export const getAttribute = method(Element, 'getAttribute');
export const nativeHasAttribute = method(Element, 'hasAttribute');
export const matches = method(Element, 'matches');
export const closest = method(Element, 'closest');
export const querySelector = method(Element, 'querySelector');
export const querySelectorAll = method(Document, 'querySelectorAll');
export const elementsIn = method(Element, 'querySelectorAll');
export const openShadowRoot = getter(Element, 'shadowRoot');
export const getElementsByTagName = method(Document, 'getElementsByTagName');
export const descendants = method(Element, 'getElementsByTagName');
export const firstElementChild = getter(Element, 'firstElementChild');
export const lastElementChild = getter(Element, 'lastElementChild');
export const nextElementSibling = getter(Element, 'nextElementSibling');
export const previousElementSibling = getter(Element, 'previousElementSibling');
export const collectionLength = getter(HTMLCollection, 'length');
export const collectionItem = method(HTMLCollection, 'item');
export const assignedSlot = getter(Element, 'assignedSlot');
export const assignedTextSlot = getter(Text, 'assignedSlot');
export const checkVisibility = method(Element, 'checkVisibility');
export const boundingRect = method(Element, 'getBoundingClientRect');
export const clientRects = method(Element, 'getClientRects');
export const scrollIntoView = method(Element, 'scrollIntoView');
export const clientLeft = getter(Element, 'clientLeft');
export const clientTop = getter(Element, 'clientTop');
export const assignedNodes = method(HTMLSlotElement, 'assignedNodes');
export const documentElementById = method(Document, 'getElementById');
export const documentElement = getter(Document, 'documentElement');
export const elementFromPoint = method(Document, 'elementFromPoint');
export const activeElement = getter(Document, 'activeElement');
export const documentTitle = getter(Document, 'title');
export const readyState = getter(Document, 'readyState');
export const anchorHref = getter(HTMLAnchorElement, 'href');
export const areaHref = getter(HTMLAreaElement, 'href');
export const svgHref = getter(SVGAElement, 'href');
export const animatedText = getter(SVGAnimatedString, 'animVal');
export const isContentEditable = getter(HTMLElement, 'isContentEditable');
export const offsetWidth = getter(HTMLElement, 'offsetWidth');
export const offsetHeight = getter(HTMLElement, 'offsetHeight');
export const focusElement = method(HTMLElement, 'focus');
export const rootActiveElement = getter(ShadowRoot, 'activeElement');
export const rootElementById = method(DocumentFragment, 'getElementById');
export const rootQuerySelectorAll = method(DocumentFragment, 'querySelectorAll');
export const rootHost = getter(ShadowRoot, 'host');
export const rootElementFromPoint = method(ShadowRoot, 'elementFromPoint');

/** @param {Node} node @returns {node is Element} */
export const isElement = (node) => nodeType(node) === 1;
/** @param {Node} node @returns {node is Text} */
export const isText = (node) => nodeType(node) === 3;
// A tag name alone does not make an HTML element: SVG may hold an <input> of its own.
/** @param {Element} el */
export const isInHtmlNamespace = (el) => namespaceURI(el) === 'http://www.w3.org/1999/xhtml';
/** @param {Node} node @returns {node is HTMLElement} */
export const isHtml = (node) => node instanceof HTMLElement;

export const INPUT = {
  type: getter(HTMLInputElement, 'type'),
  value: getter(HTMLInputElement, 'value'),
  checked: getter(HTMLInputElement, 'checked'),
  indeterminate: getter(HTMLInputElement, 'indeterminate'),
  list: getter(HTMLInputElement, 'list'),
  form: getter(HTMLInputElement, 'form'),
  select: method(HTMLInputElement, 'select'),
  setSelectionRange: method(HTMLInputElement, 'setSelectionRange'),
};
export const TEXTAREA = {
  value: getter(HTMLTextAreaElement, 'value'),
  form: getter(HTMLTextAreaElement, 'form'),
  select: method(HTMLTextAreaElement, 'select'),
  setSelectionRange: method(HTMLTextAreaElement, 'setSelectionRange'),
};
export const SELECT = {
  form: getter(HTMLSelectElement, 'form'),
  selected: getter(HTMLSelectElement, 'selectedOptions'),
};
export const BUTTON = {
  type: getter(HTMLButtonElement, 'type'),
  form: getter(HTMLButtonElement, 'form'),
};
export const OPTION = { value: getter(HTMLOptionElement, 'value'), selected: getter(HTMLOptionElement, 'selected'), label: getter(HTMLOptionElement, 'label') };
export const TABLE = {
  head: getter(HTMLTableElement, 'tHead'),
  foot: getter(HTMLTableElement, 'tFoot'),
  caption: getter(HTMLTableElement, 'caption'),
  rows: getter(HTMLTableElement, 'rows'),
};
export const ROW = { cells: getter(HTMLTableRowElement, 'cells') };
export const FORM = {
  action: getter(HTMLFormElement, 'action'),
  method: getter(HTMLFormElement, 'method'),
  elements: getter(HTMLFormElement, 'elements'),
};
export const LABEL = { control: getter(HTMLLabelElement, 'control') };
export const DETAILS = { open: getter(HTMLDetailsElement, 'open') };
export const createTreeWalker = method(Document, 'createTreeWalker');
export const createElement = method(Document, 'createElementNS');
export const nextNode = method(TreeWalker, 'nextNode');
export const currentNode = getter(TreeWalker, 'currentNode');
export const spellcheckOf = getter(HTMLElement, 'spellcheck');
export const setType = setter(HTMLInputElement, 'type');

export const removedNodes = getter(MutationRecord, 'removedNodes');
export const recordType = getter(MutationRecord, 'type');
export const listLength = getter(NodeList, 'length');

export const fontSet = getter(Document, 'fonts');
export const fontStatus = getter(FontFaceSet, 'status');

export const designMode = getter(Document, 'designMode');

export const styleSheets = getter(Document, 'styleSheets');
export const adoptedStyleSheets = getter(Document, 'adoptedStyleSheets');
export const sheetRules = getter(CSSStyleSheet, 'cssRules');
export const isSheetDisabled = getter(StyleSheet, 'disabled');
export const sheetMedia = getter(StyleSheet, 'media');
export const sheetOwner = getter(StyleSheet, 'ownerNode');
export const mediaText = getter(MediaList, 'mediaText');
export const conditionText = getter(CSSConditionRule, 'conditionText');
export const compatMode = getter(Document, 'compatMode');
export const importedSheet = getter(CSSImportRule, 'styleSheet');
export const selectorText = getter(CSSStyleRule, 'selectorText');
export const styleRules = getter(CSSStyleRule, 'cssRules');
export const groupRules = getter(CSSGroupingRule, 'cssRules');

export const styleOfHtml = getter(HTMLElement, 'style');
export const styleOfSvg = getter(SVGElement, 'style');
export const styleOfMath = getter(MathMLElement, 'style');
export const ruleStyle = getter(CSSStyleRule, 'style');

export const createRange = method(Document, 'createRange');
export const selectNode = method(Range, 'selectNode');
export const rangeBoundingRect = method(Range, 'getBoundingClientRect');
export const scrollWidth = getter(Element, 'scrollWidth');
export const scrollHeight = getter(Element, 'scrollHeight');
export const scrollLeft = getter(Element, 'scrollLeft');
export const scrollTop = getter(Element, 'scrollTop');

export const compareDocumentPosition = method(Node, 'compareDocumentPosition');
export const naturalWidth = getter(HTMLImageElement, 'naturalWidth');

export const pointerLockElement = getter(Document, 'pointerLockElement');
export const exitPointerLock = method(Document, 'exitPointerLock');
export const fullscreenElement = getter(Document, 'fullscreenElement');
export const exitFullscreen = method(Document, 'exitFullscreen');

export const runningAnimations = method(Document, 'getAnimations');
export const animationEffect = getter(Animation, 'effect');
export const animationState = getter(Animation, 'playState');
export const animationTime = getter(Animation, 'currentTime');
export const animationTimeline = getter(Animation, 'timeline');
export const isAnimationPending = getter(Animation, 'pending');
export const effectTarget = getter(KeyframeEffect, 'target');
export const addEventListener = method(EventTarget, 'addEventListener');

export const animationFinished = getter(Animation, 'finished');
export const effectTiming = method(AnimationEffect, 'getComputedTiming');
export const selectedIndex = getter(HTMLSelectElement, 'selectedIndex');
export const setSelectedIndex = setter(HTMLSelectElement, 'selectedIndex');
export const selectOptions = getter(HTMLSelectElement, 'options');
export const isMultiple = getter(HTMLSelectElement, 'multiple');
export const selectSize = getter(HTMLSelectElement, 'size');
export const clientHeight = getter(Element, 'clientHeight');
export const clientWidth = getter(Element, 'clientWidth');
export const scrollingElement = getter(Document, 'scrollingElement');
/** @type {(window: object) => Storage} */
export const localStore = uncurry(/** @type {Function} */ (descriptorOf(globalThis, 'localStorage').get));
/** @type {(window: object) => Storage} */
export const sessionStore = uncurry(/** @type {Function} */ (descriptorOf(globalThis, 'sessionStorage').get));
export const storeLength = getter(Storage, 'length');
export const storeKey = method(Storage, 'key');
export const storeItem = method(Storage, 'getItem');

export const setStart = method(Range, 'setStart');
export const setEnd = method(Range, 'setEnd');
export const selectNodeContents = method(Range, 'selectNodeContents');
export const rangeRects = method(Range, 'getClientRects');
export const textContent = getter(Node, 'textContent');
export const ownerSvg = getter(SVGElement, 'ownerSVGElement');
export const rootAnimations = method(ShadowRoot, 'getAnimations');
export const keyframesOf = method(KeyframeEffect, 'getKeyframes');
export const validityOf = getter(HTMLInputElement, 'validity');
export const isBadInput = getter(ValidityState, 'badInput');
