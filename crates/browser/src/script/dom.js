// Access to the page that the page cannot fake.
//
// `<input name=action>` replaces `form.action`, and `<img name=body>` replaces `document.body`, in an
// isolated world too. So nothing here reads a property of a node directly: every getter and method is
// taken from its prototype once, before the page has run.

const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const getter = (type, key) => uncurry(Object.getOwnPropertyDescriptor(type.prototype, key).get);
const method = (type, key) => uncurry(type.prototype[key]);

const nodeType = getter(Node, 'nodeType');
const firstChild = getter(Node, 'firstChild');
const nextSibling = getter(Node, 'nextSibling');
const parentNode = getter(Node, 'parentNode');
const previousSibling = getter(Node, 'previousSibling');
const isConnected = getter(Node, 'isConnected');
const baseUri = getter(Node, 'baseURI');
const getRootNode = method(Node, 'getRootNode');
const ownerDocument = getter(Node, 'ownerDocument');
const characters = getter(CharacterData, 'data');
const localName = getter(Element, 'localName');
const attributeNames = method(Element, 'getAttributeNames');
const getAttribute = method(Element, 'getAttribute');
const askAttribute = method(Element, 'hasAttribute');

// Two dozen attributes are asked for on each element of a walk, and most elements have none of them. So their names are
// looked at once, for the element that the walk is at; no code of the page runs before it moves on.
const PLAIN_ATTRIBUTES = new Set(['class', 'colspan', 'height', 'href', 'id', 'rowspan', 'src', 'style', 'width']);
let plainElement = null;
const isPlain = (el) => {
  const names = attributeNames(el);
  for (let i = 0; i < names.length; i += 1) if (!PLAIN_ATTRIBUTES.has(names[i])) return false;
  return true;
};
const lookAt = (el) => { plainElement = el !== null && isPlain(el) ? el : null; };
const attribute = (el, key) => (el === plainElement && !PLAIN_ATTRIBUTES.has(key) ? null : getAttribute(el, key));
const hasAttribute = (el, key) => (el === plainElement && !PLAIN_ATTRIBUTES.has(key) ? false : askAttribute(el, key));
const matches = method(Element, 'matches');
const closest = method(Element, 'closest');
const querySelector = method(Element, 'querySelector');
const queryAll = method(Document, 'querySelectorAll');
const openRoot = getter(Element, 'shadowRoot');
const byTag = method(Document, 'getElementsByTagName');
const firstElementChild = getter(Element, 'firstElementChild');
const lastElementChild = getter(Element, 'lastElementChild');
const nextElement = getter(Element, 'nextElementSibling');
const previousElement = getter(Element, 'previousElementSibling');
const lengthOf = getter(HTMLCollection, 'length');
const itemOf = method(HTMLCollection, 'item');
const assignedSlot = getter(Element, 'assignedSlot');
const assignedTextSlot = getter(Text, 'assignedSlot');
const checkVisibility = method(Element, 'checkVisibility');
const boundingRect = method(Element, 'getBoundingClientRect');
const clientRects = method(Element, 'getClientRects');
const scrollIntoView = method(Element, 'scrollIntoView');
const clientLeft = getter(Element, 'clientLeft');
const clientTop = getter(Element, 'clientTop');
const assignedNodes = method(HTMLSlotElement, 'assignedNodes');
const elementById = method(Document, 'getElementById');
const documentElement = getter(Document, 'documentElement');
const elementFromPoint = method(Document, 'elementFromPoint');
const activeElement = getter(Document, 'activeElement');
const execCommand = method(Document, 'execCommand');
const title = getter(Document, 'title');
const readyState = getter(Document, 'readyState');
const hrefOf = getter(HTMLAnchorElement, 'href');
const areaHref = getter(HTMLAreaElement, 'href');
const svgHref = getter(SVGAElement, 'href');
const animatedText = getter(SVGAnimatedString, 'animVal');
const isContentEditable = getter(HTMLElement, 'isContentEditable');
const offsetWidth = getter(HTMLElement, 'offsetWidth');
const offsetHeight = getter(HTMLElement, 'offsetHeight');
const focusElement = method(HTMLElement, 'focus');
const rootActive = getter(ShadowRoot, 'activeElement');
const rootById = method(DocumentFragment, 'getElementById');
const rootAll = method(DocumentFragment, 'querySelectorAll');
const rootHost = getter(ShadowRoot, 'host');
const rootFromPoint = method(ShadowRoot, 'elementFromPoint');

const isElement = (node) => nodeType(node) === 1;
const isText = (node) => nodeType(node) === 3;
const isHtml = (node) => node instanceof HTMLElement;

const INPUT = {
  type: getter(HTMLInputElement, 'type'),
  value: getter(HTMLInputElement, 'value'),
  checked: getter(HTMLInputElement, 'checked'),
  indeterminate: getter(HTMLInputElement, 'indeterminate'),
  list: getter(HTMLInputElement, 'list'),
  form: getter(HTMLInputElement, 'form'),
  select: method(HTMLInputElement, 'select'),
  setSelectionRange: method(HTMLInputElement, 'setSelectionRange'),
};
const TEXTAREA = {
  value: getter(HTMLTextAreaElement, 'value'),
  form: getter(HTMLTextAreaElement, 'form'),
  select: method(HTMLTextAreaElement, 'select'),
  setSelectionRange: method(HTMLTextAreaElement, 'setSelectionRange'),
};
const SELECT = {
  form: getter(HTMLSelectElement, 'form'),
  selected: getter(HTMLSelectElement, 'selectedOptions'),
};
const BUTTON = {
  type: getter(HTMLButtonElement, 'type'),
  form: getter(HTMLButtonElement, 'form'),
};
const OPTION = { value: getter(HTMLOptionElement, 'value'), selected: getter(HTMLOptionElement, 'selected'), label: getter(HTMLOptionElement, 'label') };
const TABLE = {
  head: getter(HTMLTableElement, 'tHead'),
  foot: getter(HTMLTableElement, 'tFoot'),
  caption: getter(HTMLTableElement, 'caption'),
  rows: getter(HTMLTableElement, 'rows'),
};
const ROW = { cells: getter(HTMLTableRowElement, 'cells') };
const FORM = {
  action: getter(HTMLFormElement, 'action'),
  method: getter(HTMLFormElement, 'method'),
  elements: getter(HTMLFormElement, 'elements'),
};
const controlCount = getter(HTMLCollection, 'length');
const controlItem = method(HTMLCollection, 'item');
const LABEL = { control: getter(HTMLLabelElement, 'control') };
const DETAILS = { open: getter(HTMLDetailsElement, 'open') };

const controlTable = (el) =>
  el instanceof HTMLInputElement ? INPUT
  : el instanceof HTMLTextAreaElement ? TEXTAREA
  : el instanceof HTMLSelectElement ? SELECT
  : el instanceof HTMLButtonElement ? BUTTON
  : null;

// It never changes, and is asked for a dozen times in a row.
let taggedElement = null;
let lastTag = '';
const tagOf = (el) => {
  if (el !== taggedElement) {
    lastTag = localName(el);
    taggedElement = el;
  }
  return lastTag;
};
const inputType = (el) => (el instanceof HTMLInputElement ? INPUT.type(el) : null);

// Closed roots by their hosts: a script sees none of them, so the driver hands them in.
const closedRoots = new WeakMap();
const shadowRoot = (el) => openRoot(el) ?? closedRoots.get(el) ?? null;

// Of a closed root no child of its host tells its slot, but every slot tells its nodes.
const MOST_SLOTS = 1000;
const slotInClosed = (node) => {
  const parent = parentNode(node);
  const root = parent && isElement(parent) ? closedRoots.get(parent) : undefined;
  if (!root) return null;
  const { slots } = knownNow();
  let assigned = slots.get(root);
  if (!assigned) {
    assigned = new Map();
    for (const slot of Array.from(rootAll(root, 'slot')).slice(0, MOST_SLOTS)) {
      for (const child of assignedNodes(slot)) assigned.set(child, slot);
    }
    slots.set(root, assigned);
  }
  return assigned.get(node) ?? null;
};

const slotOf = (node) =>
  (isElement(node) ? assignedSlot(node) : isText(node) ? assignedTextSlot(node) : null) ?? slotInClosed(node);

// The parent in the flat tree, through slots and shadow roots.
const flatParent = (node) => slotOf(node) ?? parentOrHost(node);

const parentOrHost = (node) => {
  const parent = parentNode(node);
  return parent instanceof ShadowRoot ? rootHost(parent) : parent;
};

// The element whose shadow tree this one is in.
const hostOf = (el) => {
  const root = getRootNode(el);
  return root instanceof ShadowRoot ? rootHost(root) : null;
};

const isInside = (node, ancestor) => {
  for (let at = node; at; at = flatParent(at)) if (at === ancestor) return true;
  return false;
};

let shadowRootsSeen = false;

// The children in the flat tree: what is rendered, not what is written.
const flatChildren = (el) => {
  const tag = isElement(el) ? tagOf(el) : '';
  if (tag === 'slot' && el instanceof HTMLSlotElement) {
    const assigned = assignedNodes(el, { flatten: true });
    if (assigned.length) return assigned;
  }
  const root = tag ? shadowRoot(el) : null;
  if (root) { shadowRootsSeen = true; watchForPasswords(root); }
  const children = [];
  // A closed <details> shows its summary; text beside it has no element whose visibility could be asked.
  if (tag === 'details' && el instanceof HTMLDetailsElement && !DETAILS.open(el)) {
    const summary = childByTag(el, 'summary');
    return summary ? [summary] : children;
  }
  for (let child = firstChild(root ?? el); child; child = nextSibling(child)) children.push(child);
  return children;
};

const childByTag = (el, tag) => {
  for (let child = firstChild(el); child; child = nextSibling(child)) {
    if (isElement(child) && tagOf(child) === tag) return child;
  }
  return null;
};

const inSameTree = (el, id) => {
  const root = getRootNode(el);
  return root instanceof Document ? elementById(root, id) : root instanceof ShadowRoot ? rootById(root, id) : null;
};

// Control characters but for white space, and all that is drawn as nothing or reorders what is around it.
const UNSEEN = /[\0-\x08\x0e-\x1f\x7f-\x9f\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cs}]/gu;

// Most text is plain, and then there is nothing to do, or nothing but line breaks to take out.
const TO_CLEAN = /[^ -~]|  /;
const NOT_PLAIN = /[^\t\n\r -~]/;
// Line breaks first: there are few of them, and many single spaces.
const inOneLine = (text) => {
  const line = text.replace(/[^\S ]\s*/g, ' ');
  return line.includes('  ') ? line.replace(/  +/g, ' ') : line;
};

// Page text on one line, without characters that nobody sees.
const clean = (text, limit) => {
  if (text.length <= limit && !TO_CLEAN.test(text)) return text;
  const whole = text.length > limit * 4 + 64 ? text.slice(0, limit * 4 + 64) : text;
  const plain = inOneLine(NOT_PLAIN.test(whole) ? whole.replace(UNSEEN, '') : whole);
  return plain.length <= limit ? plain : plain.slice(0, limit).replace(/[\ud800-\udbff]$/, '') + '…';
};

// An address that is of the same site as the whole, without a user name or password: those stand before the host, where
// a part of them could pass for another one.
const boundedAddress = (text, limit) => {
  if (text.length <= limit && !text.includes('@')) return text;
  if (!URL.canParse(text)) return text.length <= limit ? text : text.slice(0, 32).replace(/:.*|$/s, ':');
  const url = new URL(text);
  url.username = '';
  url.password = '';
  const whole = url.href;
  if (whole.length <= limit) return whole;
  const cut = whole.slice(0, limit);
  const site = ({ protocol, host }) => `${protocol}//${host}/`;
  if (URL.canParse(cut) && site(new URL(cut)) === site(url)) return cut;
  return site(url).length <= limit ? site(url) : url.protocol;
};
