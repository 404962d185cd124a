// Which fields and texts hold something that must never reach an agent.

const createTreeWalker = method(Document, 'createTreeWalker');
const nextNode = method(TreeWalker, 'nextNode');
const currentNode = getter(TreeWalker, 'currentNode');

// A "show password" button turns a password field into a text field: once secret, always secret.
//
// So every field is looked at when it comes, in the document and in every open shadow root. A shadow root that
// is given to an element later tells nobody, so the tree is also swept now and then. What cannot be seen is a
// field that was a password only while it stood nowhere, or for less than a sweep in such a root, or in a closed
// one, which is not shown either; of those, its name tells (see SECRET_WORDS), or nothing does.
const oncePassword = new WeakSet();
const watchedRoots = new WeakSet();
const noticed = new WeakSet();
const SWEEP_MILLISECONDS = 250;
// A sweep takes at most this part of the page's time.
const SWEEP_SHARE = 1 / 50;

const noticeRecords = (records) => {
  for (const record of records) {
    if (record.type === 'childList') {
      // Each part of the tree once: children that come later are told of by themselves.
      for (const node of record.addedNodes) if (isElement(node) && !noticed.has(node)) noticeAdded(node);
    } else if (record.oldValue && record.oldValue.trim().toLowerCase() === 'password') {
      oncePassword.add(record.target);
    } else {
      noticeField(record.target);
    }
  }
};
const passwordObserver = new MutationObserver(noticeRecords);
const WATCHED = { subtree: true, childList: true, attributes: true, attributeFilter: ['type'], attributeOldValue: true };
// While a page is parsed it would be told of every element that comes, which takes more memory than the page. Until
// then changed types are told of, sweeps find what has come, and in the end all of it is looked at.
const WATCHED_WHILE_PARSED = { ...WATCHED, childList: false };

const watchForPasswords = (root) => {
  if (watchedRoots.has(root)) return;
  watchedRoots.add(root);
  if (root !== document || readyState(document) !== 'loading') return passwordObserver.observe(root, WATCHED);
  passwordObserver.observe(document, WATCHED_WHILE_PARSED);
  const parsed = () => { passwordObserver.observe(document, WATCHED); noticeTree(document, null); };
  listen(globalThis, 'DOMContentLoaded', parsed, { capture: true, once: true });
};

const noticeField = (el) => {
  if (el instanceof HTMLInputElement && INPUT.type(el) === 'password') oncePassword.add(el);
};

// Most of what comes holds no element yet: while a page of 100,000 is parsed, no walk for each of them.
const noticeAdded = (el) => {
  if (firstElementChild(el) || shadowRoot(el)) noticeTree(el, noticed);
  else noticeField(el);
};

const noticeTree = (top, walked) => {
  const tops = [top];
  while (tops.length) {
    const walker = createTreeWalker(document, tops.pop(), NodeFilter.SHOW_ELEMENT);
    for (let el = currentNode(walker); el; el = nextNode(walker)) {
      if (!isElement(el)) continue;
      walked?.add(el);
      noticeField(el);
      const root = shadowRoot(el);
      if (!root) continue;
      watchForPasswords(root);
      tops.push(root);
    }
  }
};

const sweepForPasswords = () => {
  const started = performance.now();
  noticeTree(document, null);
  setTimeout(sweepForPasswords, Math.max(SWEEP_MILLISECONDS, (performance.now() - started) / SWEEP_SHARE));
};

const SECRET_AUTOCOMPLETE = new Set([
  'current-password', 'new-password', 'one-time-code', 'cc-number', 'cc-csc',
]);

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

// Drawn as dots; so are all texts inside.
const isMasked = (el) => {
  const drawn = getComputedStyle(el).webkitTextSecurity;
  return drawn !== undefined && drawn !== '' && drawn !== 'none';
};

const isMaskedText = (node) => {
  const parent = flatParent(node);
  return parent !== null && isElement(parent) && isMasked(parent);
};

const isSecret = (el) => {
  if (el instanceof HTMLSelectElement) return isMasked(el);
  const isField = el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement;
  if (!isField && !(isHtml(el) && isContentEditable(el))) return false;
  noticeRecords(passwordObserver.takeRecords());
  if (inputType(el) === 'password') oncePassword.add(el);
  if (oncePassword.has(el) || isNamedSecret(el)) return true;
  const hints = (attribute(el, 'autocomplete') ?? '').toLowerCase().split(/\s+/);
  return hints.some((hint) => SECRET_AUTOCOMPLETE.has(hint)) || isMasked(el);
};
