// Aiming: an element that can be acted on right now, where it is, and what it is.

// One frame of animation, or this long when the page is not being drawn.
const FRAME_MILLISECONDS = 100;

const nextFrame = () => new Promise((resolve) => {
  const timer = setTimeout(resolve, FRAME_MILLISECONDS);
  requestAnimationFrame(() => { clearTimeout(timer); resolve(); });
});

const isEditable = (el) => {
  if (el instanceof HTMLTextAreaElement) return !hasAttribute(el, 'readonly');
  if (el instanceof HTMLInputElement) {
    const role = INPUT_ROLES[INPUT.type(el)] ?? 'textbox';
    return (role === 'textbox' || role === 'searchbox' || role === 'spinbutton') && !hasAttribute(el, 'readonly');
  }
  return isHtml(el) && isContentEditable(el);
};

const isChooser = (el) => el instanceof HTMLSelectElement;

const CHECKABLE = new Set(['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio']);

// What each purpose asks of an element beside being visible.
const PURPOSES = {
  click: { enabled: true, hit: true },
  hover: { hit: true },
  drag: { enabled: true, hit: true },
  drop: { hit: true },
  type: { enabled: true, hit: true, fits: isEditable, problem: 'not_editable' },
  select: { enabled: true, fits: isChooser, problem: 'not_a_list' },
  check: { enabled: true, hit: true, fits: (el) => CHECKABLE.has(roleOf(el)), problem: 'not_checkable' },
  press: { enabled: true },
  scroll: {},
  see: {},
};

const isDrawnBox = (el) => {
  const box = boundingRect(el);
  return checkVisibility(el, DRAWN) && box.width > 0 && box.height > 0;
};

// A box to tick that is drawn by its label is clicked there.
const drawnFor = (el) => {
  if (isDrawnBox(el)) return el;
  return LABELLED.has(tagOf(el)) ? labelsOf(el).find(isDrawnBox) ?? null : null;
};

// The point in the middle of what is in view, or the given one, which is never scrolled to.
const intoView = (drawn, given) => {
  if (given) return given;
  const box = boundingRect(drawn);
  const middle = { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  const { innerWidth: width, innerHeight: height } = globalThis;
  const centred = middle.x >= 0 && middle.y >= 0 && middle.x < width && middle.y < height;
  const point = pointOf(drawn);
  if (point && centred) return point;
  scrollIntoView(drawn, { block: 'center', inline: 'center', behavior: 'instant' });
  return pointOf(drawn);
};

const look = (prefix, el, { purpose, point: given = null }) => {
  const asks = PURPOSES[purpose];
  if (!isConnected(el)) return { problem: 'gone' };
  if (asks.fits && !asks.fits(el)) return { problem: asks.problem };
  const drawn = drawnFor(el);
  if (!drawn) return { problem: 'invisible' };
  if (asks.enabled && isDisabled(el)) return { problem: 'disabled' };
  const point = intoView(drawn, given);
  if (!point) return { problem: 'invisible' };
  const hit = elementAt(point.x, point.y);
  if (asks.hit) {
    if (!hit) return { problem: 'invisible' };
    if (!meets(hit, el)) return { problem: 'covered', by: describe(hit) };
  }
  const told = asks.hit && purpose !== 'type' ? effective(hit, el) ?? el : el;
  const facts = factsOf(prefix, told);
  const box = boundingRect(drawn);
  const around = { left: box.left - point.x, top: box.top - point.y, width: box.width, height: box.height };
  return { x: point.x, y: point.y, left: scrollX, top: scrollY, around, hides: asks.hit === true && canHost(hit) && !shadowRoot(hit), facts };
};

const runningAnimations = method(Document, 'getAnimations');
const animationEffect = getter(Animation, 'effect');
const animationState = getter(Animation, 'playState');
const effectTarget = getter(KeyframeEffect, 'target');

// Whether CSS or the page's animations are moving it. Scripts may move it too: then the guard stops what misses.
const isMoving = (el) => runningAnimations(document).some((animation) => {
  if (animationState(animation) !== 'running') return false;
  const effect = animationEffect(animation);
  const target = effect instanceof KeyframeEffect ? effectTarget(effect) : null;
  return target !== null && isInside(el, target);
});

// Waiting does not mend these.
const FINAL = new Set(['gone', 'not_editable', 'not_a_list', 'not_checkable']);

// Waits until the element can be acted on and has stopped moving, then tells where it is and what it is. With
// `arm` the guard is armed in the same moment, so that nothing of the page runs between the two.
const aim = async ({ prefix, number, how, steady, wait, armed: keys, options }) => {
  tellValues(options);
  const end = performance.now() + wait;
  let before = null;
  for (;;) {
    const el = elementOf(number);
    const seen = el ? look(prefix, el, how) : { problem: 'gone' };
    if (FINAL.has(seen.problem)) return seen;
    const still = before && before.x === seen.x && before.y === seen.y;
    if (!seen.problem && (still || (!steady && !isMoving(el)))) {
      if (keys !== undefined && keys !== null) arm({ number, keys });
      return seen;
    }
    before = seen.problem ? null : seen;
    if (performance.now() >= end) return seen.problem ? seen : { problem: 'moving' };
    await nextFrame();
  }
};

// A point of a child frame, from its element's box; a rotated frame gives a wrong point, which then hits nothing.
const insideFrame = (owner, x, y) => {
  const box = boundingRect(owner);
  const style = getComputedStyle(owner);
  const scaleX = offsetWidth(owner) ? box.width / offsetWidth(owner) : 1;
  const scaleY = offsetHeight(owner) ? box.height / offsetHeight(owner) : 1;
  return {
    x: box.left + (clientLeft(owner) + parseFloat(style.paddingLeft) + x) * scaleX,
    y: box.top + (clientTop(owner) + parseFloat(style.paddingTop) + y) * scaleY,
  };
};

// Where a point of a child frame lies in this one, and whether a click there would reach that frame.
const through = ({ frame, x, y }) => {
  const owner = frameOwners.get(frame)?.deref();
  if (!owner || !isConnected(owner)) return { problem: 'gone' };
  let at = insideFrame(owner, x, y);
  if (at.x < 0 || at.y < 0 || at.x >= innerWidth || at.y >= innerHeight) {
    scrollBy({ left: at.x - innerWidth / 2, top: at.y - innerHeight / 2, behavior: 'instant' });
    at = insideFrame(owner, x, y);
  }
  const hit = elementAt(at.x, at.y);
  if (hit !== owner) return { problem: hit ? 'covered' : 'invisible', by: hit ? describe(hit) : null };
  return { ...at, left: scrollX, top: scrollY };
};

// What is at a point of this frame: the element that a click there would be one on, or the child frame it is in.
const at = ({ prefix, x, y }) => {
  const hit = elementAt(x, y);
  if (!hit) return { problem: 'nothing' };
  const frame = childFrames.get(hit);
  if (frame !== undefined) {
    const box = insideFrame(hit, 0, 0);
    const style = boundingRect(hit);
    const scaleX = offsetWidth(hit) ? style.width / offsetWidth(hit) : 1;
    const scaleY = offsetHeight(hit) ? style.height / offsetHeight(hit) : 1;
    return { frame, x: (x - box.x) / scaleX, y: (y - box.y) / scaleY };
  }
  return { ref: `${prefix}e${refOf(effective(hit, null) ?? hit)}` };
};
