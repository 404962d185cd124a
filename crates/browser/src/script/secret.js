// Which fields and texts hold something that must never reach an agent.

const createTreeWalker = method(Document, 'createTreeWalker');
const createElement = method(Document, 'createElementNS');
const nextNode = method(TreeWalker, 'nextNode');
const currentNode = getter(TreeWalker, 'currentNode');
const spellchecked = getter(HTMLElement, 'spellcheck');
const setType = uncurry(Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'type').set);

// A "show password" button turns a password field into a text field: once secret, always secret.
//
// Chromium remembers which fields ever were passwords, and that is asked first (see remembersPassword). Beside it
// every field is looked at when it comes and when its type changes, in the document and in every root that is
// known, and all of them now and then. What is then left is a field that was a password before anybody looked, on
// a page that sets `spellcheck` itself; of those, its name tells (see SECRET_WORDS), or nothing does.
const onceSecret = new WeakSet();
const watchedRoots = new WeakSet();
const noticed = new WeakSet();
const SWEEP_MILLISECONDS = 250;
// A sweep takes at most this part of the page's time.
const SWEEP_SHARE = 1 / 50;

const hasElement = (nodes) => { for (const node of nodes) if (isElement(node)) return true; return false; };

// Beyond so many records, and at least one for each two elements, all of the page is looked at once: that takes half of
// the time that a look at what each of them tells would, and there are as many while a page is parsed.
const MANY_RECORDS = 100;
let lastLookedAt = 0;
const isMostOfPage = (records) =>
  records.length > MANY_RECORDS && records.length * 2 > Math.max(countElements(), lastLookedAt);

const removedNodes = getter(MutationRecord, 'removedNodes');
const recordType = getter(MutationRecord, 'type');
const listLength = getter(NodeList, 'length');

const noticeRecords = (records) => {
  const children = records.filter((record) => recordType(record) === 'childList');
  const all = isMostOfPage(records);
  // What goes first: the field that comes in its place may hold what it held.
  for (const record of children) {
    if (listLength(removedNodes(record)) === 0) continue;
    for (const node of record.removedNodes) if (isElement(node)) noticeAdded(node);
  }
  if (all) {
    stirred = true;
    lastLookedAt = noticeTree(document, null);
    // A root that is watched may be out of the document.
    noticeEach(children.filter(({ target }) => !isConnected(target)));
  } else noticeEach(children);
  for (const record of children.length === records.length ? [] : records) {
    if (recordType(record) === 'childList') continue;
    if (record.oldValue && saysSecret(record.attributeName, record.oldValue)) onceSecret.add(record.target);
    noticeField(record.target);
  }
  spareMemory();
};

const noticeEach = (records) => {
  stirred ||= records.some(({ addedNodes, removedNodes }) => hasElement(addedNodes) || hasElement(removedNodes));
  // Each part of the tree once: children that come later are told of by themselves.
  for (const record of records) {
    for (const node of record.addedNodes) if (isElement(node) && !noticed.has(node)) noticeAdded(node);
  }
};
const passwordObserver = new MutationObserver(noticeRecords);
const WATCHED = {
  subtree: true, childList: true, attributes: true, attributeFilter: ['type', 'autocomplete'], attributeOldValue: true,
};
// While a large page is parsed it would be told of every element that comes, which takes more memory than the page.
// From then on changed types are told of, sweeps find what has come, and in the end all of it is looked at.
const WATCHED_WHILE_PARSED = { ...WATCHED, childList: false };
let spared = false;
const spareMemory = () => {
  if (spared || readyState(document) !== 'loading' || !isLarge()) return;
  spared = true;
  passwordObserver.observe(document, WATCHED_WHILE_PARSED);
  const parsed = () => { stirred = true; passwordObserver.observe(document, WATCHED); noticeTree(document, null); };
  listen(globalThis, 'DOMContentLoaded', parsed, { capture: true, once: true });
};

const watchForPasswords = (root) => {
  if (watchedRoots.has(root)) return;
  watchedRoots.add(root);
  passwordObserver.observe(root, WATCHED);
};

const isField = (el) => el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement;

// Looks at a field before anybody asks for it, since it may look different by then.
const noticeField = (el) => {
  const tag = tagOf(el);
  if (tag === 'input' || tag === 'textarea' || hasAttribute(el, 'contenteditable')) isSecretNow(el);
};

// Most of what comes holds no element yet: while a page of 100,000 is parsed, no walk for each of them.
const noticeAdded = (el) => {
  if (firstElementChild(el) || shadowRoot(el)) noticeTree(el, noticed);
  else noticeField(el);
};

// Tells how many elements there were.
const noticeTree = (top, walked) => {
  const tops = [top];
  let count = 0;
  while (tops.length) {
    const walker = createTreeWalker(document, tops.pop(), NodeFilter.SHOW_ELEMENT);
    for (let el = currentNode(walker); el; el = nextNode(walker)) {
      if (!isElement(el)) continue;
      count += 1;
      walked?.add(el);
      noticeField(el);
      const root = shadowRoot(el);
      if (!root) continue;
      watchForPasswords(root);
      tops.push(root);
    }
  }
  return count;
};

const sweepForPasswords = () => {
  const started = performance.now();
  noticeTree(document, null);
  setTimeout(sweepForPasswords, Math.max(SWEEP_MILLISECONDS, (performance.now() - started) / SWEEP_SHARE));
};

// Chromium checks no spelling in what ever was a password, unless the page asks for it there. Tried out first:
// one that does otherwise is not believed.
const spellingTells = (() => {
  const field = createElement(document, 'http://www.w3.org/1999/xhtml', 'input');
  const before = spellchecked(field);
  setType(field, 'password');
  setType(field, 'text');
  return before && !spellchecked(field);
})();

const remembersPassword = (el) => {
  if (!spellingTells || spellchecked(el)) return false;
  for (let at = el; at && isElement(at); at = parentOrHost(at)) {
    const set = attribute(at, 'spellcheck')?.toLowerCase();
    if (set === 'false') return false;
    if (set === '' || set === 'true') return true;
  }
  return true;
};

// Some pages show a password by putting a text field in its place, or beside it. So the values of secret fields are
// remembered, as numbers that mean nothing elsewhere, and a field that holds one without anybody having typed it
// there is secret too. What is typed is left alone: else an agent could type guesses and see which of them vanish.
const SHORTEST_VALUE = 3;
// Of a longer one its beginning and its length are remembered: keys and tokens are long.
const LONGEST_VALUE = 1000;
// Beyond this many the oldest is forgotten.
const MOST_VALUES = 500;
const secretValues = new Set();
const typedInto = new WeakSet();
const [SALT, PEPPER] = crypto.getRandomValues(new Uint32Array(2));

const numberOf = (text) => {
  let [a, b] = [SALT, PEPPER];
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x85ebca6b);
    a ^= a >>> 15;
    b = Math.imul(b ^ unit, 0xc2b2ae35);
    b ^= b >>> 13;
  }
  return `${a >>> 0}.${b >>> 0}`;
};

const heldBy = (el) => {
  const value = el instanceof HTMLInputElement ? INPUT.value(el) : el instanceof HTMLTextAreaElement ? TEXTAREA.value(el) : '';
  return value.length >= SHORTEST_VALUE ? `${numberOf(value.slice(0, LONGEST_VALUE))}.${value.length}` : null;
};

const rememberValue = (el) => {
  const held = heldBy(el);
  if (held === null || secretValues.has(held)) return;
  if (secretValues.size >= MOST_VALUES) secretValues.delete(secretValues.values().next().value);
  secretValues.add(held);
};

const holdsSecretValue = (el) => {
  if (secretValues.size === 0 || typedInto.has(el)) return false;
  const held = heldBy(el);
  return held !== null && secretValues.has(held);
};

const noticeTyping = (event) => {
  const [target] = event.composedPath();
  if (event.isTrusted && target instanceof Node && isElement(target) && isField(target)) typedInto.add(target);
};

const SECRET_AUTOCOMPLETE = new Set([
  'current-password', 'new-password', 'one-time-code', 'cc-number', 'cc-csc',
]);

const saysSecret = (key, value) => {
  const words = value.toLowerCase().trim().split(/\s+/);
  return key === 'type' ? words[0] === 'password' : words.some((word) => SECRET_AUTOCOMPLETE.has(word));
};

// As parts of the name or id of a text field: few, because nothing can be typed into what they mark.
const SECRET_WORDS = new Set(
  'password passwd passwort passphrase passcode pass pwd otp totp cvv cvc csc'.split(' '),
);
const NAMED_TYPES = new Set(['text', 'tel', 'number']);

const isNamedSecret = (el) => {
  if (!NAMED_TYPES.has(inputType(el))) return false;
  const names = `${attribute(el, 'name') ?? ''} ${attribute(el, 'id') ?? ''}`.slice(0, 300);
  const words = names.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase().split(/[^a-z0-9]+/);
  return words.some((word) => SECRET_WORDS.has(word));
};

// Drawn as dots; so are all texts inside. Once it was, it stays so: a button may take the mask away.
const onceMasked = new WeakSet();
let anyMasked = false;
// How far up a mask is looked for.
const MOST_MASKED = 20;

const fontSet = getter(Document, 'fonts');
const DOT_FONT = /text-security|password|dotsfont|pass-?dots/i;
const hasDotFonts = () => {
  const now = knownNow();
  now.dotFonts ??= Array.from(fontSet(document)).some((face) => DOT_FONT.test(face.family));
  return now.dotFonts;
};

const isMaskedNow = (el) => {
  const style = getComputedStyle(el);
  const drawn = style.webkitTextSecurity;
  return (drawn !== undefined && drawn !== '' && drawn !== 'none') || (hasDotFonts() && DOT_FONT.test(style.fontFamily));
};

const isMasked = (el) => {
  if (isMaskedNow(el)) {
    anyMasked = true;
    for (let at = el, steps = 0; at && isElement(at) && steps < MOST_MASKED; at = flatParent(at), steps += 1) {
      if (onceMasked.has(at) || (at !== el && !isMaskedNow(at))) break;
      onceMasked.add(at);
    }
    return true;
  }
  if (!anyMasked) return false;
  for (let at = el, steps = 0; at && isElement(at) && steps < MOST_MASKED; at = flatParent(at), steps += 1) {
    // Inside a mask that is still there, it was left out on purpose.
    if (onceMasked.has(at)) return at === el || !isMaskedNow(at);
  }
  return false;
};

// The same where a look at the element is at hand: most pages mask nothing, and its style need not be asked.
const isMaskedBy = (el, look) => (look.masked || anyMasked || hasDotFonts()) && isMasked(el);

const isMaskedText = (node) => {
  const parent = flatParent(node);
  return parent !== null && isElement(parent) && isMasked(parent);
};

const looksSecret = (el) => {
  const type = inputType(el);
  if (type === 'password' || (type !== null && remembersPassword(el))) return true;
  return saysSecret('autocomplete', attribute(el, 'autocomplete') ?? '') || isNamedSecret(el) || isMasked(el);
};

const isSecretNow = (el) => {
  if (!onceSecret.has(el)) {
    // What is hidden now may be shown later; it is no secret then.
    if (inputType(el) === 'hidden') return true;
    if (!looksSecret(el) && !holdsSecretValue(el)) return false;
    onceSecret.add(el);
  }
  rememberValue(el);
  return true;
};

const designMode = getter(Document, 'designMode');
// Few pages have editors.
const pageEdits = () => {
  const now = knownNow();
  now.edits ??= shadowRootsSeen || designMode(document) === 'on' || queryAll(document, '[contenteditable]').length > 0;
  return now.edits;
};

const isSecret = (el) => {
  const tag = tagOf(el);
  if (tag !== 'input' && tag !== 'textarea' && tag !== 'select' && !(isHtml(el) && pageEdits() && isContentEditable(el))) return false;
  noticeRecords(passwordObserver.takeRecords());
  return isSecretNow(el);
};

// What is asked for every key that goes into a field that was no secret when the first one did: whether it has become
// one meanwhile, without asking for its style, which would be laid out anew for each key.
const turnedSecret = (el) => inputType(el) === 'password' || onceSecret.has(el);
