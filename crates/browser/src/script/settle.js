// Settling: waits for what a page does because of an action.

import { waitForAnimations } from './animations.js';
import { countNodes } from './closed_roots.js';
import { changeCount, changeObserver, scriptAdded, startCountingChanges } from './dom_changes.js';
import { countElements } from './flat_tree.js';
import { nextFrame } from './frame_time.js';
import { disarmInputGuard } from './input_guard.js';
import { takeSnapshot } from './snapshot.js';

// Tasks to wait for while the tree keeps changing.
const MAX_TURNS = 20;

const channel = new MessageChannel();
/** @type {(() => void)[]} */
const waitingTasks = [];
channel.port1.onmessage = () => waitingTasks.shift()?.();
const nextTask = () => new Promise((resolve) => { waitingTasks.push(() => resolve(undefined)); channel.port2.postMessage(null); });

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
  // The page's handlers run after ours.
  if (await waitForAnimations()) await waitUntilUnchanged();
  changeObserver.disconnect();
};

// A larger page is read in a call of its own, because that may take a while.
const MAX_QUICK_ELEMENTS = 3000;
/** @param {SnapshotRequest | null} wanted */
const snapshotIfSmall = (wanted) => {
  if (!wanted || countElements() > MAX_QUICK_ELEMENTS) return null;
  try {
    return takeSnapshot(wanted);
  } catch {
    // The next read reports why.
    return null;
  }
};

// Disarms the guard, and waits for queued tasks, continuing changes and finite animations. A page that has not
// changed yet gets two frames to begin. Then takes a snapshot, if requested.
/** @param {SettleRequest} request */
export const waitUntilSettled = async ({ expecting, anew, wanted, count }) => {
  const came = disarmInputGuard();
  if (anew) startCountingChanges();
  await waitForQuiet(expecting);
  const snapshot = snapshotIfSmall(wanted);
  const counted = wanted && snapshot !== null ? countNodes({ anew: count }) : { count: null, same: false };
  return { ...came, snapshot, ...counted };
};
