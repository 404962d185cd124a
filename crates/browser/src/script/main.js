// The functions that Rust calls by name, as properties of the global `stockade` in the isolated world.
//
// build.rs bundles the modules that this one imports, and makes Rust's `ScriptFunction` out of the list FUNCTIONS.

import { describePoint, mapFramePoint, waitUntilActionable } from './actionability.js';
import { serializeDom } from './cleaned_html.js';
import { clearQueuedTrees, countNodes, queuedTree, queueTrees, registerClosedRoot } from './closed_roots.js';
import { registerDelegation } from './delegated_handlers.js';
import {
  describeFocus, findEditingHost, focusAndPlaceCaret, focusField, listDatePartOrders, markSecretFields, readDateValue,
  readHeldText,
} from './fields.js';
import { describeStaleRef, findElements } from './find.js';
import { shadowRootOf } from './flat_tree.js';
import { checkHit } from './hit_test.js';
import { armInputGuard } from './input_guard.js';
import { probeChanges } from './page_changes.js';
import { readPageText } from './page_text.js';
import { registerHoverListeners, registerListeners } from './pointer_listeners.js';
import { registerFrame } from './refs.js';
import { collectMaskText, measureMask, readTransientText, verifyMask } from './screenshot_mask.js';
import { startScroll, waitForScrollEnd } from './scroll.js';
import { observeRoot, sweepFields } from './secret_fields.js';
import {
  compareSelection, listOptionLabels, prepareSelection, readChecked, resolveOptions, restoreSelection,
} from './select_options.js';
import { waitUntilSettled } from './settle.js';
import { takeSnapshot } from './snapshot.js';
import { setTextLimits } from './text.js';
import { readWebStorage } from './web_storage.js';

// One name a line. Rust must call each of them: a variant of `ScriptFunction` that is never used does not compile.
const FUNCTIONS = {
  armInputGuard,
  checkHit,
  clearQueuedTrees,
  collectMaskText,
  compareSelection,
  countNodes,
  describeFocus,
  describePoint,
  describeStaleRef,
  findEditingHost,
  findElements,
  focusAndPlaceCaret,
  focusField,
  listDatePartOrders,
  listOptionLabels,
  mapFramePoint,
  markSecretFields,
  measureMask,
  prepareSelection,
  probeChanges,
  queueTrees,
  queuedTree,
  readChecked,
  readDateValue,
  readHeldText,
  readPageText,
  readTransientText,
  readWebStorage,
  registerClosedRoot,
  registerDelegation,
  registerFrame,
  registerHoverListeners,
  registerListeners,
  resolveOptions,
  restoreSelection,
  serializeDom,
  startScroll,
  takeSnapshot,
  verifyMask,
  waitForScrollEnd,
  waitUntilActionable,
  waitUntilSettled,
};

// Each call from Rust begins with the limits of texts.
/** @param {(...given: any[]) => unknown} called */
const withLimits = (called) => /** @param {TextLimits | null} limits @param {any[]} given */ (limits, ...given) => {
  setTextLimits(limits);
  return called(...given);
};

// Called by the tests that compare snapshots with Chromium's accessibility tree.
const TEST_FUNCTIONS = { shadowRootOf };

const callable = Object.fromEntries(Object.entries(FUNCTIONS).map(([name, called]) => [name, withLimits(called)]));
observeRoot(document);
sweepFields();
Object.defineProperty(globalThis, 'stockade', { value: Object.freeze({ ...callable, ...TEST_FUNCTIONS }) });
