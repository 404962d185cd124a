// While an agent's click or key is on its way, nothing but its target gets it.
//
// Between the last look and the event a page can slide a frame of another site under the pointer, or move the
// focus into one. So every frame is armed first: what reaches another frame, or another element, is stopped
// before any listener of the page hears of it and before it has an effect. All input comes from the driver, so a
// document that it has not armed, because it came a moment ago, takes none.

const listen = method(EventTarget, 'addEventListener');
const STARTS = new Set(['pointerdown', 'mousedown', 'keydown', 'beforeinput']);
const FOLLOWS = new Set(['pointerup', 'mouseup', 'click', 'auxclick', 'dblclick', 'contextmenu', 'keypress', 'keyup', 'drop']);

// Clicks that no press came before are the page's own, as when a script clicks on a label.
const unarmed = () => ({ el: null, drop: null, keys: false, holds: null, met: true, began: false, stopped: false, by: null });
let armed = unarmed();

const isMeant = (type, target) => {
  if (!(target instanceof Node)) return false;
  if (type === 'drop') return armed.drop !== null && meets(target, armed.drop);
  // What a gesture starts on decides about all of it: a page may well move things once it was hit.
  if (STARTS.has(type)) armed.met = armed.el !== null && armed.holds(target, armed.el);
  return armed.met;
};

const stopStray = (event) => {
  if (!event.isTrusted) return;
  // A button of an editor may well change its text; keys and text that we send may not go elsewhere.
  if (event.type === 'beforeinput' && !armed.keys) return;
  const [target] = event.composedPath();
  if (isMeant(event.type, target)) { armed.began = true; return; }
  // A key that moves the focus, as Tab does, comes up elsewhere.
  if (event.type !== 'keyup') {
    armed.stopped = true;
    armed.by ??= target instanceof Node && isElement(target) ? describe(target) : null;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
};

// document.open() takes all listeners away; those that are still there are not added twice.
const stand = () => { for (const type of [...STARTS, ...FOLLOWS]) listen(globalThis, type, stopStray, { capture: true }); };
stand();

// Inside an editor it is the editor that gets the keys. A field may turn into a secret one while it is typed into.
const takesKeys = (target, el) => (target === el || isInside(el, target)) && !isSecret(el);

// Keys for the page itself, when nothing on it has the focus.
const isPage = (target) => target === documentElement(document) || (isElement(target) && tagOf(target) === 'body');

const arm = ({ number, keys, page, drop }) => {
  const el = number === null ? (page ? document : null) : elementOf(number);
  const onto = drop === null ? null : elementOf(drop);
  armed = { ...unarmed(), el, drop: onto, keys, holds: page ? isPage : keys ? takesKeys : meets, met: false };
  stand();
  watchChanges();
  return true;
};

// What came of it: whether anything reached the target, and whether and where anything was stopped.
const disarm = () => {
  const { began, stopped, by } = armed;
  armed = unarmed();
  return { began, stopped, by };
};
