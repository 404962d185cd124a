// Settling: waits for what a page does because of an action.

import { countNodes } from './closed_roots.js';
import { changeCount, changeObserver, scriptAdded, startCountingChanges } from './dom_changes.js';
import { countElements } from './flat_tree.js';
import { nextFrame } from './frame_time.js';
import { disarmInputGuard } from './input_guard.js';
import { animationEffect, animationFinished, animationState, effectTiming, runningAnimations } from './intrinsics.js';
import { takeSnapshot } from './snapshot.js';

// A page whose tree goes on changing is followed for so many turns of its event loop.
const MAX_TURNS = 20;
// How long animations that end may hold up a reply.
const MAX_ANIMATION_MILLISECONDS = 1000;

const channel = new MessageChannel();
/** @type {(() => void)[]} */
const waitingTasks = [];
channel.port1.onmessage = () => waitingTasks.shift()?.();
const nextTask = () => new Promise((resolve) => { waitingTasks.push(() => resolve(undefined)); channel.port2.postMessage(null); });

// Animations that come to an end; a spinner never does.
const endingAnimations = () => runningAnimations(document).filter((animation) => {
  const effect = animationEffect(animation);
  return animationState(animation) === 'running' && effect !== null && Number.isFinite(effectTiming(effect).endTime);
});

// Whether there were any.
const waitForAnimations = async () => {
  const ending = endingAnimations();
  if (!ending.length) return false;
  const finished = Promise.allSettled(ending.map((animation) => animationFinished(animation)));
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(resolve, MAX_ANIMATION_MILLISECONDS); });
  await Promise.race([finished, late]);
  clearTimeout(timer);
  return true;
};

const waitUntilUnchanged = async () => {
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const before = changeCount;
    await nextTask();
    if (changeCount === before) break;
  }
};

/** @param {boolean} expecting */
const waitForQuiet = async (expecting) => {
  await nextTask();
  if (expecting && changeCount === 0) await nextFrame();
  if (expecting && changeCount === 0) await nextFrame();
  await waitUntilUnchanged();
  if (scriptAdded) { await nextFrame(); await waitUntilUnchanged(); }
  // The page hears of an animation's end after we do.
  if (await waitForAnimations()) await waitUntilUnchanged();
  changeObserver.disconnect();
};

// A page of more elements than this is read by itself, because that may take a while.
const MAX_QUICK_ELEMENTS = 3000;
/** @param {SnapshotRequest | null} wanted */
const snapshotIfSmall = (wanted) => {
  if (!wanted || countElements() > MAX_QUICK_ELEMENTS) return null;
  try {
    return takeSnapshot(wanted);
  } catch {
    // Whoever reads the page then finds out why.
    return null;
  }
};

// Disarms the guard, and waits for what the page does by itself: handlers that queue work, changes that go on,
// animations that end. A page that has done nothing yet gets two frames to begin. Then it is read, if that is wanted.
/** @param {SettleRequest} request */
export const waitUntilSettled = async ({ expecting, anew, wanted, count }) => {
  const came = disarmInputGuard();
  if (anew) startCountingChanges();
  await waitForQuiet(expecting);
  const told = snapshotIfSmall(wanted);
  const counted = wanted && told !== null ? countNodes({ anew: count }) : { count: null, same: false };
  return { ...came, told, ...counted };
};
