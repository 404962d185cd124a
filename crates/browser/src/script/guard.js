// While an agent's click or key is on its way, nothing but its target gets it.
//
// Between the last look and the event a page can slide a frame of another site under the pointer, or move the
// focus into one. So every frame is armed first: what reaches another frame, or another element, is stopped
// before any listener of the page hears of it and before it has an effect.

const listen = method(EventTarget, 'addEventListener');
const STARTS = new Set(['pointerdown', 'mousedown', 'keydown']);
const FOLLOWS = ['pointerup', 'mouseup', 'click', 'auxclick', 'dblclick', 'contextmenu', 'keypress', 'keyup'];

// { el, holds, met, stopped }; el is null in frames that are not meant at all.
let armed = null;

const stopStray = (event) => {
  if (!armed || !event.isTrusted) return;
  const [target] = event.composedPath();
  // What a gesture starts on decides about all of it: a page may well move things once it was hit.
  if (STARTS.has(event.type)) {
    armed.met = false;
    if (armed.el !== null && isClosedAround(target, armed.el)) {
      const inner = event.type === 'keydown' ? deepActive() : elementAt(event.clientX, event.clientY);
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

// Inside an editor it is the editor that gets the keys.
const takesKeys = (target, el) => target === el || isInside(el, target);

const arm = ({ number, keys }) => {
  const el = number === null ? null : elementOf(number);
  armed = { el, holds: keys ? takesKeys : meets, met: false, stopped: false };
  return true;
};

// Whether anything was stopped.
const disarm = () => {
  const stopped = armed !== null && armed.stopped;
  armed = null;
  return stopped;
};
