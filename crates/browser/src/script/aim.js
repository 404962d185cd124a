// Aiming: an element that can be acted on right now, where it is, and what it is.

// One frame of animation, or this long when the page is not being drawn.
const FRAME_MILLISECONDS = 100;

// Whether there was one.
const nextFrame = () => new Promise((resolve) => {
  const timer = setTimeout(resolve, FRAME_MILLISECONDS, false);
  requestAnimationFrame(() => { clearTimeout(timer); resolve(true); });
});

// A child frame in which nothing was drawn for so long is out of view. The page itself is always drawn, however late.
const UNDRAWN_MILLISECONDS = 1000;
const isChild = globalThis !== globalThis.top;
// An animation that is elsewhere in none of so many frames stands still itself.
const STILL_FRAMES = 3;
// Between two frames Chromium guesses the time of the next one; that one then comes a moment before or after it.
const FRAME_APART_MILLISECONDS = 5;

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
  type: { enabled: true, hit: true, keys: true, fits: isEditable, problem: 'not_editable' },
  select: { enabled: true, fits: isChooser, problem: 'not_a_list' },
  check: { enabled: true, hit: true, fits: (el) => CHECKABLE.has(roleOf(el)), problem: 'not_checkable' },
  press: { enabled: true, keys: true },
  scroll: {},
  wheel: { anywhere: true },
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

// The middle of what is in view of an element, within all that clips it.
const pointInView = (el) => {
  let { left, top, right, bottom } = boundingRect(el);
  const clip = (box) => {
    [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
    [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
  };
  clip({ left: 0, top: 0, right: innerWidth, bottom: innerHeight });
  for (let at = flatParent(el); at; at = flatParent(at)) {
    if (isElement(at) && getComputedStyle(at).overflow !== 'visible') clip(boundingRect(at));
  }
  return right > left && bottom > top ? { x: (left + right) / 2, y: (top + bottom) / 2 } : null;
};

// A page may draw anew what is scrolled to, and hears of it with the next frame.
let unheard = false;
const scrollTowards = (el, block) => {
  if (!unheard) requestAnimationFrame(() => { unheard = false; });
  unheard = true;
  scrollIntoView(el, { block, inline: 'center', behavior: 'instant' });
};

// The point in the middle of what is in view, or the given one, which is never scrolled to.
const intoView = (drawn, given, anywhere) => {
  if (given) return given;
  const seen = anywhere ? pointInView(drawn) : null;
  if (seen) return seen;
  const box = boundingRect(drawn);
  const middle = { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  const { innerWidth: width, innerHeight: height } = globalThis;
  const centred = middle.x >= 0 && middle.y >= 0 && middle.x < width && middle.y < height;
  const point = pointOf(drawn);
  if (point && centred) return point;
  scrollTowards(drawn, 'center');
  return pointOf(drawn);
};

// Ways to scroll an element out from under what sticks to an edge of the view.
const ALIGNMENTS = ['center', 'end', 'start', 'center'];

// Where else than in its middle an element may be hit, as parts of its width and height.
const SPOTS = [[1 / 6, 1 / 2], [5 / 6, 1 / 2], [1 / 2, 1 / 6], [1 / 2, 5 / 6], [1 / 12, 1 / 12], [11 / 12, 1 / 12], [1 / 12, 11 / 12], [11 / 12, 11 / 12]];
const MOST_TEXTS = 3;
// The beginnings of its own texts first: what it says itself is what a person clicks.
const spotsOf = (drawn) => {
  const spots = [];
  let texts = 0;
  for (let child = firstChild(drawn); child && texts < MOST_TEXTS; child = nextSibling(child)) {
    if (!isText(child) || characters(child).trim() === '') continue;
    texts += 1;
    const range = createRange(document);
    selectContents(range, child);
    for (const { left, top, right, bottom } of Array.from(rangeRects(range)).slice(0, 1)) spots.push({ x: Math.min((left + right) / 2, left + 40), y: (top + bottom) / 2 });
  }
  for (const { left, top, width, height } of Array.from(clientRects(drawn)).slice(0, MOST_TEXTS)) {
    for (const [across, down] of SPOTS) spots.push({ x: left + width * across, y: top + height * down });
  }
  return spots.filter(({ x, y }) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight);
};
const ownSpot = (el, drawn) => {
  for (const point of spotsOf(drawn)) {
    const hit = elementAt(point.x, point.y);
    if (hit && hitsItself(hit, el)) return { point, hit };
  }
  return null;
};

// Where the element is hit, and what is hit there: in the middle, or where it is not covered and nothing that lies in it is
// hit. With `align` it is scrolled about until it is hit itself.
const strike = (el, drawn, given, { anywhere = false, hit: aimed = false }, align) => {
  const point = intoView(drawn, given, anywhere);
  const hit = point ? elementAt(point.x, point.y) : null;
  if (!aimed || given || (hit && hitsItself(hit, el))) return { point, hit };
  const own = ownSpot(el, drawn);
  if (own) return own;
  let there = { point, hit };
  for (const block of align ? ALIGNMENTS : []) {
    if (there.hit && meets(there.hit, el)) break;
    scrollTowards(drawn, block);
    const middle = pointOf(drawn);
    there = { point: middle, hit: middle ? elementAt(middle.x, middle.y) : null };
    if (!there.hit || !hitsItself(there.hit, el)) there = ownSpot(el, drawn) ?? there;
  }
  return there;
};

// A box to tick that is drawn, but where nobody can click it, is clicked on its label.
const strikeLabel = (el, asks, align) => {
  for (const label of LABELLED.has(tagOf(el)) ? labelsOf(el).filter(isDrawnBox) : []) {
    const there = strike(el, label, null, asks, align);
    if (there.hit && hitsItself(there.hit, el)) return { ...there, drawn: label };
  }
  return null;
};

const lockedTo = getter(Document, 'pointerLockElement');
const unlock = method(Document, 'exitPointerLock');
const fullscreenElement = getter(Document, 'fullscreenElement');
const exitFullscreen = method(Document, 'exitFullscreen');

// A person presses Escape when a page holds the pointer, or shows one element instead of itself.
const escape = (el) => {
  if (lockedTo(document)) unlock(document);
  const shown = fullscreenElement(document);
  if (shown && !isInside(el, shown)) exitFullscreen(document).catch(() => {});
};

const look = (prefix, el, { purpose, point: given = null }, align = true) => {
  const asks = PURPOSES[purpose];
  if (!isConnected(el)) return { problem: 'gone' };
  if (asks.fits && !asks.fits(el)) return { problem: asks.problem };
  if (asks.hit) escape(el);
  let drawn = drawnFor(el);
  // What has the focus gets the keys wherever it is: editors keep theirs in a field that nobody sees.
  const keyed = asks.keys && deepActive() === el;
  if (!drawn && !keyed) return { problem: 'invisible' };
  if (asks.enabled && isDisabled(el)) return { problem: 'disabled' };
  if (keyed) return { x: 0, y: 0, left: scrollX, top: scrollY, around: NO_BOX, hides: false, pointless: true, facts: factsOf(prefix, el) };
  let { point, hit } = strike(el, drawn, given, asks, align);
  if (asks.hit && !given && drawn === el && !(hit && meets(hit, el))) ({ point, hit, drawn } = strikeLabel(el, asks, align) ?? { point, hit, drawn });
  if (!point) return { problem: 'invisible' };
  if (asks.hit) {
    if (!hit) return { problem: 'invisible' };
    if (!meets(hit, el)) return { problem: 'covered', by: describe(hit) };
  }
  const facts = asks.hit && purpose !== 'type' ? factsAt(prefix, hit, el) : factsOf(prefix, el);
  const box = boundingRect(drawn);
  const around = { left: box.left - point.x, top: box.top - point.y, width: box.width, height: box.height };
  const hides = asks.hit === true && canHost(hit) && !shadowRoot(hit);
  return { x: point.x, y: point.y, left: scrollX, top: scrollY, around, hides, pointless: false, facts };
};
const NO_BOX = { left: 0, top: 0, width: 0, height: 0 };

const runningAnimations = method(Document, 'getAnimations');
const animationEffect = getter(Animation, 'effect');
const animationState = getter(Animation, 'playState');
const animationTime = getter(Animation, 'currentTime');
const animationTimeline = getter(Animation, 'timeline');
const isPending = getter(Animation, 'pending');
const effectTarget = getter(KeyframeEffect, 'target');

// The animations, CSS's or the page's, that may be moving it. Scripts may move it too: then the guard stops what misses.
const movers = (el) => runningAnimations(document).filter((animation) => {
  // What goes by scrolling stands while nothing is scrolled.
  if (animationState(animation) !== 'running' || !(animationTimeline(animation) instanceof DocumentTimeline)) return false;
  const effect = animationEffect(animation);
  const target = effect instanceof KeyframeEffect ? effectTarget(effect) : null;
  return target !== null && isInside(el, target);
});

const isElsewhere = (before, now) =>
  before.length !== now.length || now.some((time, at) => Math.abs(time - before[at]) >= FRAME_APART_MILLISECONDS);

// Whether it stood in the same place a frame ago, one in which its animations were elsewhere: one that is yet to begin
// waits at its beginning, for as many frames as it takes.
const stoodStill = (before, now) => {
  if (!before || before.x !== now.x || before.y !== now.y) return false;
  const frames = now.frames - before.frames;
  if (frames === 0) return isChild && now.at - before.at >= UNDRAWN_MILLISECONDS;
  return !before.pending && (now.times.length === 0 || isElsewhere(before.times, now.times) || frames >= STILL_FRAMES);
};

// Waiting does not mend these.
const FINAL = new Set(['gone', 'not_editable', 'not_a_list', 'not_checkable']);

// Waits until the element can be acted on and has stopped moving, then tells where it is and what it is. With
// `arming` the guard is armed in the same moment, so that nothing of the page runs between the two.
const aim = async ({ prefix, number, how, steady, wait, arming, options }) => {
  tellValues(options);
  const end = performance.now() + wait;
  let before = null;
  let [aligned, drawnAnew] = [false, false];
  let frames = 0;
  for (;;) {
    const el = elementOf(number);
    const seen = el ? look(prefix, el, how, !aligned) : { problem: 'gone' };
    if (!drawnAnew && !seen.problem && unheard) {
      drawnAnew = true;
      const drawn = performance.now() + UNDRAWN_MILLISECONDS;
      while (unheard && performance.now() < drawn) await nextFrame();
      frames += 1;
      continue;
    }
    // Once is enough: a page must not be scrolled to and fro while something covers it.
    aligned ||= seen.problem === 'covered';
    if (FINAL.has(seen.problem)) return seen;
    const moving = seen.problem ? [] : movers(el);
    const [times, pending] = [moving.map((it) => animationTime(it)), moving.some((it) => isPending(it))];
    const now = { x: seen.x, y: seen.y, at: performance.now(), frames, times, pending };
    if (!seen.problem && ((!steady && moving.length === 0) || stoodStill(before, now))) {
      if (arming) arm(arming);
      return seen;
    }
    if (now.at >= end) return seen.problem ? seen : { problem: 'moving' };
    // The first look at a place counts, so that it is known since when the element stands there.
    if (seen.problem) before = null;
    else if (before?.x !== now.x || before.y !== now.y) before = now;
    else if (before.pending) before = { ...now, at: before.at };
    if (await nextFrame()) frames += 1;
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
  const inView = (at) => at.x >= 0 && at.y >= 0 && at.x < innerWidth && at.y < innerHeight;
  let at = insideFrame(owner, x, y);
  // What scrolls around the frame first, then the page, for a frame that is larger than the view.
  if (!inView(at) || elementAt(at.x, at.y) !== owner) {
    scrollIntoView(owner, { block: 'center', inline: 'center', behavior: 'instant' });
    at = insideFrame(owner, x, y);
  }
  if (!inView(at)) {
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
  return { ref: `${prefix}e${refOf(meantBy(hit, null) ?? hit)}` };
};
