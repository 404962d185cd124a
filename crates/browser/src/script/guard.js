// While an agent's click or key is on its way, nothing but its target gets it.
//
// Between the last look and the event a page can slide a frame of another site under the pointer, or move the
// focus into one. So every frame is armed first: what reaches another frame, or another element, is stopped
// before any listener of the page hears of it and before it has an effect.

const listen = method(EventTarget, 'addEventListener');
const STARTS = new Set(['pointerdown', 'mousedown', 'keydown', 'beforeinput']);
const FOLLOWS = ['pointerup', 'mouseup', 'click', 'auxclick', 'dblclick', 'contextmenu', 'keypress', 'keyup'];

// { el, holds, met, stopped }; el is null in frames that are not meant at all.
let armed = null;

const stopStray = (event) => {
  if (!armed || !event.isTrusted) return;
  // A button of an editor may well change its text; keys and text that we send may not go elsewhere.
  if (event.type === 'beforeinput' && !armed.keys) return;
  const [target] = event.composedPath();
  // What a gesture starts on decides about all of it: a page may well move things once it was hit.
  if (STARTS.has(event.type)) {
    armed.met = false;
    if (armed.el !== null && isClosedAround(target, armed.el)) {
      const inner = event instanceof MouseEvent ? elementAt(event.clientX, event.clientY) : deepActive();
      // A closed root hides from here what was hit in it; its own listener sees it, and decides.
      if (inner && armed.holds(inner, armed.el)) return;
    } else {
      armed.met = armed.el !== null && target instanceof Node && armed.holds(target, armed.el);
    }
  }
  if (armed.met) return;
  armed.stopped = true;
  event.preventDefault();
  event.stopImmediatePropagation();
};

// Whether the element is in the closed root of the target.
const isClosedAround = (target, el) => {
  const root = target instanceof Element ? closedRoots.get(target) : undefined;
  for (let at = root ? el : null; at; at = hostOf(at)) if (getRootNode(at) === root) return true;
  return false;
};

const guardRoot = (root) => {
  for (const type of [...STARTS, ...FOLLOWS]) listen(root, type, stopStray, { capture: true });
  listen(root, 'input', noticeTyping, { capture: true });
};
guardRoot(globalThis);

// Inside an editor it is the editor that gets the keys. A field may turn into a secret one while it is typed into.
const takesKeys = (target, el) => (target === el || isInside(el, target)) && !isSecret(el);

// Keys for the page itself, when nothing on it has the focus.
const isPage = (target) => target === documentElement(document) || (isElement(target) && tagOf(target) === 'body');

const arm = ({ number, keys, page = false }) => {
  const el = number === null ? (page ? document : null) : elementOf(number);
  armed = { el, keys, holds: page ? isPage : keys ? takesKeys : meets, met: false, stopped: false };
  watchChanges();
  return true;
};

// Whether anything was stopped.
const disarm = () => {
  const stopped = armed !== null && armed.stopped;
  armed = null;
  return stopped;
};
