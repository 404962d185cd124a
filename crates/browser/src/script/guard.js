// Nothing but the target of an agent's click or key gets it.
//
// Between the last look and the event a page can slide a frame of another site under the pointer, move the focus
// into one, or load one. All input comes from the driver, so this stands in every document from its beginning and
// stops all of it before any listener of the page hears of it and before it has an effect. The last look arms it in
// one frame, and there it lets through what is meant for one element.

const listen = method(EventTarget, 'addEventListener');
const STARTS = new Set(['pointerdown', 'mousedown', 'keydown', 'beforeinput']);
const FOLLOWS = new Set(['pointerup', 'mouseup', 'click', 'auxclick', 'dblclick', 'contextmenu', 'keypress', 'keyup', 'drop']);

const unarmed = () => ({ el: null, drop: null, keys: false, holds: null, met: false, began: false, stopped: false, by: null });
let armed = unarmed();

// Whether the element is in the closed root of the target.
const isClosedAround = (target, el) => {
  const root = target instanceof Element ? closedRoots.get(target) : undefined;
  for (let at = root ? el : null; at; at = hostOf(at)) if (getRootNode(at) === root) return true;
  return false;
};

// A closed root hides from the window what was hit in it; its own listener sees it, and decides.
const isDecidedInside = (event, target) => {
  if (armed.el === null || !STARTS.has(event.type) || !isClosedAround(target, armed.el)) return false;
  const inner = event instanceof MouseEvent ? elementAt(event.clientX, event.clientY) : deepActive();
  return inner !== null && armed.holds(inner, armed.el);
};

const isMeant = (type, target) => {
  if (!(target instanceof Node)) return false;
  if (type === 'drop') return armed.drop !== null && meets(target, armed.drop);
  // What a gesture starts on decides about all of it: a page may well move things once it was hit.
  if (STARTS.has(type)) armed.met = armed.el !== null && armed.holds(target, armed.el);
  return armed.met;
};

// A click that no mouse made comes from a key that was let through, or from a script that clicks on a label. A mouse
// changes text only by a drop, which is looked at as such; no script makes this event.
const isOwn = ({ type, detail }) =>
  (type === 'click' && detail === 0) || (type === 'beforeinput' && !armed.keys && (armed.el !== null || armed.drop !== null));

const stopStray = (event) => {
  if (!event.isTrusted || isOwn(event)) return;
  const [target] = event.composedPath();
  if (isDecidedInside(event, target)) { armed.met = false; return; }
  if (isMeant(event.type, target)) { armed.began = true; return; }
  // A key that moves the focus, as Tab does, comes up elsewhere.
  if (event.type !== 'keyup') {
    armed.stopped = true;
    armed.by ??= target instanceof Node && isElement(target) ? describe(target) : null;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
};

// document.open() takes all listeners away, and with them all that the document holds: then they are added again. Those
// that are still there are not added twice.
const guardRoot = (root) => {
  for (const type of [...STARTS, ...FOLLOWS]) listen(root, type, stopStray, { capture: true });
  listen(root, 'input', noticeTyping, { capture: true });
};
const stand = () => guardRoot(globalThis);
stand();
new MutationObserver(stand).observe(document, { childList: true });

// Inside an editor it is the editor that gets the keys. A field may turn into a secret one while it is typed into.
const takesKeys = (target, el) =>
  (target === el || (isHtml(target) && isEditingHost(target) && isInside(el, target))) && !turnedSecret(el);

// Keys for the page itself, when nothing on it has the focus.
const isPage = (target) => target === documentElement(document) || (isElement(target) && tagOf(target) === 'body');

const arm = ({ number, keys, page, drop }) => {
  const el = number === null ? (page ? document : null) : elementOf(number);
  const onto = drop === null ? null : elementOf(drop);
  armed = { ...unarmed(), el, drop: onto, keys, holds: page ? isPage : keys ? takesKeys : meets };
  watchChanges();
  return true;
};

// What came of it: whether anything reached the target, and whether and where anything was stopped.
const disarm = () => {
  const { began, stopped, by } = armed;
  armed = unarmed();
  return { began, stopped, by };
};
