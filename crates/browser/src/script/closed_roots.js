// Closed shadow roots: detecting that some are unknown, and registering them.
//
// No script can see a closed root, so the driver asks Chromium for them, which is slow. It asks only when Chromium counts
// more nodes than this script can see.

import { attribute, canHaveShadowRoot, closedRoots, MAX_VISITED, shadowRootOf } from './flat_tree.js';
import { addGuardListeners } from './input_guard.js';
import {
  attributeNames, characterData, createTreeWalker, currentNode, documentElement, firstChild, nextNode, nextSibling,
  nodeType, rootHost,
} from './intrinsics.js';
import { inspectField, inspectTree, isTreeUnchanged, observeRoot, startCounting } from './secret_fields.js';
import { boundedJsonLength } from './text.js';

// Closed roots beyond this many are not read, and the snapshot is marked as incomplete.
const MAX_CLOSED_ROOTS = 2000;
// Depth of one description by Chromium; deeper trees are described in parts.
const TREE_DEPTH = 40;
const MAX_TREES = 1000;
// Size of a described node in bytes, without texts and attributes; and how much of a text a description contains.
const NODE_BYTES = 250;
const MAX_DESCRIBED_TEXT = 10000;
let registeredRoots = 0;
/** @type {ShadowRoot[]} */
let newRoots = [];
/** @type {Node[]} */
let queuedTrees = [];

/** @param {Node} root */
export const registerClosedRoot = (root) => {
  if (!(root instanceof ShadowRoot) || registeredRoots >= MAX_CLOSED_ROOTS) return false;
  const host = rootHost(root);
  if (closedRoots.has(host)) return true;
  closedRoots.set(host, root);
  registeredRoots += 1;
  newRoots.push(root);
  observeRoot(root);
  inspectTree(root, null);
  addGuardListeners(root);
  return true;
};

const COUNTED =
  NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT | NodeFilter.SHOW_CDATA_SECTION | NodeFilter.SHOW_COMMENT;

// Counts elements, texts and comments, as DOM.performSearch does. Without `anew`, an unchanged tree is not counted
// again.
/** @param {{ anew: boolean }} request */
export const countNodes = ({ anew }) => {
  if (!anew && isTreeUnchanged()) return { count: 0, same: true };
  startCounting();
  let count = 0;
  /** @type {(Node | null)[]} */
  const tops = [documentElement(document)];
  while (tops.length) {
    const top = tops.pop();
    if (!top) continue;
    const walker = createTreeWalker(document, top, COUNTED);
    for (let node = /** @type {Node | null} */ (currentNode(walker)); node; node = nextNode(walker)) {
      const type = nodeType(node);
      if (type === 11) continue;
      count += 1;
      if (count > MAX_VISITED) return { count: null, same: false };
      if (type !== 1) continue;
      const el = /** @type {Element} */ (node);
      inspectField(el);
      const root = canHaveShadowRoot(el) ? shadowRootOf(el) : null;
      if (root) { observeRoot(root); tops.push(root); }
    }
  }
  return { count, same: false };
};

/** @param {Element} el */
const describedSize = (el) => {
  let bytes = NODE_BYTES;
  for (const name of attributeNames(el)) bytes += 16 + boundedJsonLength(name, Infinity) + boundedJsonLength(attribute(el, name) ?? '', Infinity);
  return bytes;
};

// Queues the trees to be described, all or only new roots. Returns how many, and whether none was left out.
/** @param {{ all: boolean, bytes: number }} request */
export const queueTrees = ({ all, bytes }) => {
  /** @type {Set<Node>} */
  const tops = new Set(newRoots);
  if (all) {
    tops.clear();
    const root = documentElement(document);
    if (root) tops.add(root);
  }
  newRoots = [];
  queuedTrees = [];
  let whole = true;
  let visited = 0;
  // Iterating over a set includes what is added meanwhile.
  for (const top of tops) {
    let weight = 0;
    let hosts = 0;
    /** @type {Node[]} */
    const waiting = [top];
    const depths = [0];
    while (waiting.length) {
      const node = /** @type {Node} */ (waiting.pop());
      const depth = /** @type {number} */ (depths.pop());
      visited += 1;
      if (visited > MAX_VISITED) return { trees: queuedTrees.length, whole: false };
      const type = nodeType(node);
      if (type === 1) {
        const el = /** @type {Element} */ (node);
        weight += describedSize(el);
        const root = shadowRootOf(el);
        if (root) tops.add(root);
        else if (canHaveShadowRoot(el)) hosts += 1;
      } else if (type === 3 || type === 4 || type === 8) {
        weight += NODE_BYTES + boundedJsonLength(characterData(/** @type {CharacterData} */ (node)), MAX_DESCRIBED_TEXT);
      }
      if (depth === TREE_DEPTH) {
        if (firstChild(node)) tops.add(node);
        continue;
      }
      for (let child = firstChild(node); child; child = nextSibling(child)) {
        waiting.push(child);
        depths.push(depth + 1);
      }
    }
    if (!hosts) continue;
    if (weight <= bytes && queuedTrees.length < MAX_TREES) queuedTrees.push(top);
    else whole = false;
  }
  return { trees: queuedTrees.length, whole };
};

/** @param {number} at */
export const queuedTree = (at) => queuedTrees[at] ?? null;

export const clearQueuedTrees = () => {
  queuedTrees = [];
  return true;
};
