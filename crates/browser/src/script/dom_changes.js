// Counting DOM changes while a page settles.

import { tagOf } from './flat_tree.js';
import { isElement, querySelector } from './intrinsics.js';

const OBSERVED_CHANGES = { subtree: true, childList: true, attributes: true, characterData: true };
export let changeCount = 0;
// Whether a script was inserted, whose request may not have been sent yet.
export let scriptAdded = false;
/** @param {Node} node */
const isScript = (node) => isElement(node) && (tagOf(node) === 'script' || querySelector(node, 'script') !== null);
/** @param {MutationRecord[]} records */
const countChanges = (records) => {
  changeCount += records.length;
  scriptAdded ||= records.some(({ addedNodes }) => Array.from(addedNodes).some(isScript));
};
export const changeObserver = new MutationObserver(countChanges);

export const startCountingChanges = () => {
  changeCount = 0;
  scriptAdded = false;
  changeObserver.observe(document, OBSERVED_CHANGES);
};
