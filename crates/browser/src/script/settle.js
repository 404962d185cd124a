// Settling: what a page does because of an action, until it has done it.

// A page whose tree goes on changing is followed for so many turns of its event loop.
const MOST_TURNS = 20;
// How long animations that end may hold up a reply.
const MOST_ANIMATION = 1000;

const CHANGES = { subtree: true, childList: true, attributes: true, characterData: true };
let changes = 0;
// Whether a script came, whose request may not have been sent yet.
let fetches = false;
const isScript = (node) => isElement(node) && (tagOf(node) === 'script' || querySelector(node, 'script') !== null);
const noticeChanges = (records) => {
  changes += records.length;
  fetches ||= records.some(({ addedNodes }) => Array.from(addedNodes).some(isScript));
};
const changeObserver = new MutationObserver(noticeChanges);

const watchChanges = () => {
  changes = 0;
  fetches = false;
  changeObserver.observe(document, CHANGES);
};

const channel = new MessageChannel();
const waitingTurns = [];
channel.port1.onmessage = () => waitingTurns.shift()?.();
const nextTurn = () => new Promise((resolve) => { waitingTurns.push(resolve); channel.port2.postMessage(null); });

const animationFinished = getter(Animation, 'finished');
const effectTiming = method(AnimationEffect, 'getComputedTiming');

// Animations that come to an end; a spinner never does.
const endingAnimations = () => runningAnimations(document).filter((animation) => {
  const effect = animationEffect(animation);
  return animationState(animation) === 'running' && effect !== null && Number.isFinite(effectTiming(effect).endTime);
});

// Whether there were any.
const untilStill = async () => {
  const ending = endingAnimations();
  if (!ending.length) return false;
  const finished = Promise.allSettled(ending.map((animation) => animationFinished(animation)));
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(resolve, MOST_ANIMATION); });
  await Promise.race([finished, late]);
  clearTimeout(timer);
  return true;
};

const untilUnchanged = async () => {
  for (let turn = 0; turn < MOST_TURNS; turn += 1) {
    const before = changes;
    await nextTurn();
    if (changes === before) break;
  }
};

const comeToRest = async (expecting) => {
  await nextTurn();
  if (expecting && changes === 0) await nextFrame();
  if (expecting && changes === 0) await nextFrame();
  await untilUnchanged();
  if (fetches) { await nextFrame(); await untilUnchanged(); }
  // The page hears of an animation's end after we do.
  if (await untilStill()) await untilUnchanged();
  changeObserver.disconnect();
};

// A page of more elements than this is read by itself, because that may take a while.
const FEW_ELEMENTS = 3000;
const readQuickly = (wanted) => {
  if (!wanted || countElements() > FEW_ELEMENTS) return null;
  try {
    return snapshot(wanted);
  } catch {
    // Whoever reads the page then finds out why.
    return null;
  }
};

// Disarms the guard, and waits for what the page does by itself: handlers that queue work, changes that go on,
// animations that end. A page that has done nothing yet gets two frames to begin. Then it is read, if that is wanted.
const rest = async ({ expecting, anew, wanted, count }) => {
  const came = disarm();
  if (anew) watchChanges();
  await comeToRest(expecting);
  const told = readQuickly(wanted);
  const counted = wanted && told !== null ? countNodes({ anew: count }) : { count: null, same: false };
  return { ...came, told, ...counted };
};
