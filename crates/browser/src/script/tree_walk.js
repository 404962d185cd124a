// The walk over the accessible tree of one frame, for snapshots and searches.

import { isInnerElement } from './accessible_name.js';
import { accessibleChildren, ownership } from './aria_owns.js';
import { INLINE_TAGS, isDrawnWithParent, PLAIN_TAGS, setVisible, visibility } from './element_visibility.js';
import { MAX_VISITED, modalDialogs, plainElement, setCurrentElement, shadowRootOf, tagOf } from './flat_tree.js';
import { generatedContent, GeneratedContent } from './generated_content.js';
import { allChildren, classifyHidden, EXCLUDED, isCollapsed, REVEALED, SHOWN } from './hidden_content.js';
import {
  closest, firstChild, firstElementChild, isElement, isHtml, isText, lastChild, nextSibling, parentNode, previousSibling,
} from './intrinsics.js';
import { isUncovered } from './occlusion.js';
import { isListening } from './pointer_listeners.js';
import { DeferredPart } from './reading_plan.js';
import { roleOf } from './roles.js';
import { contextOf, mayHide } from './style_context.js';
import { GENERATE, POINTER } from './style_rules.js';

const MAX_WALK_MILLISECONDS = 2000;

/** @param {Node | null} node */
const isInModal = (node) => node !== null && isElement(node) && closest(node, 'dialog:modal') !== null;

// While a modal dialog is open nothing else can be reached, and nothing else is listed. Last first, as on a stack.
const outermostModals = () => {
  const outer = modalDialogs().filter((dialog) => !isInModal(parentNode(dialog)));
  return outer.length ? outer.reverse() : null;
};

// Inline elements without role, attributes that matter, shadow tree, generated content or anything to act on.
const MARKUP_TAGS = new Set('b bdi big cite em font i ins kbd s samp small span strike strong sub sup tt u var'.split(' '));
/** @param {Element} el */
const isMarkup = (el) =>
  el === plainElement && MARKUP_TAGS.has(tagOf(el)) && !(contextOf(el).effects & (GENERATE | POINTER)) &&
  shadowRootOf(el) === null && ownership().ownerOf.size === 0 && !isListening(el);

// Calls visit(element, role, depth, silent, hidden) → { depth, silent } for its children, or null to leave them out;
// text(node, depth, hidden) for text. Iterative: depth 10,000 is a page like any other.
/**
 * @param {Element} root
 * @param {WalkVisitor} visit
 * @param {WalkText} text
 * @param {() => void} breakText
 * @param {boolean} [includeHidden]
 * @param {boolean} [skipsMarkup] whether elements that only mark up text are not visited
 * @param {DeferredWalk | null} [later] what is not walked, or only marked
 * @param {number} [milliseconds]
 */
export const walk = (root, visit, text, breakText, includeHidden = false, skipsMarkup = false, later = null, milliseconds = MAX_WALK_MILLISECONDS) => {
  try {
    return walkAll(root, visit, text, breakText, includeHidden, skipsMarkup && !includeHidden, later, milliseconds);
  } finally {
    setCurrentElement(null);
  }
};

/**
 * @param {Element} root
 * @param {WalkVisitor} visit
 * @param {WalkText} text
 * @param {() => void} breakText
 * @param {boolean} includeHidden
 * @param {boolean} skipsMarkup
 * @param {DeferredWalk | null} later
 * @param {number} milliseconds
 */
const walkAll = (root, visit, text, breakText, includeHidden, skipsMarkup, later, milliseconds) => {
  // What the whole page is searched for at first is not part of the walk's time.
  isUncovered(root);
  const started = performance.now();
  /** @type {(WalkItem | DeferredPart | null)[]} */
  const nodes = outermostModals() ?? [root];
  const depths = nodes.map(() => 0);
  const silents = nodes.map(() => false);
  const hiddens = nodes.map(() => SHOWN);
  // Whether the parent is rendered, and renders its children.
  const drawns = nodes.map(() => false);
  const BREAK = null;
  let visited = 0;
  while (nodes.length) {
    const node = /** @type {WalkItem | DeferredPart | null} */ (nodes.pop());
    const depth = /** @type {number} */ (depths.pop());
    const silent = /** @type {boolean} */ (silents.pop());
    const around = /** @type {number} */ (hiddens.pop());
    const drawn = drawns.pop();
    if (node === BREAK) { breakText(); continue; }
    if (node instanceof DeferredPart) { breakText(); later?.meet(node, depth); continue; }
    visited += 1;
    if (visited > MAX_VISITED || ((visited & 1023) === 0 && performance.now() - started > milliseconds)) {
      return { visited, complete: false };
    }
    if (typeof node === 'string' || node instanceof GeneratedContent || isText(node)) { if (!silent) text(node, depth, around); continue; }
    if (!isElement(node)) continue;
    setCurrentElement(node);
    const isWithParent = drawn && isDrawnWithParent(node);
    // Most elements of a page only mark up text.
    if (skipsMarkup && isWithParent && around === SHOWN && isMarkup(node) && !later?.plan.has(node)) {
      setVisible(node);
      if (silent && !firstElementChild(node)) continue;
      for (let child = lastChild(node); child; child = previousSibling(child)) {
        nodes.push(child);
        drawns.push(true);
        depths.push(depth);
        silents.push(silent);
        hiddens.push(SHOWN);
      }
      continue;
    }
    const seen = isWithParent ? setVisible(node) : visibility(node);
    const hidden = classifyHidden(node, seen, around, includeHidden);
    if (hidden === EXCLUDED) continue;
    const below = seen === 'inside' && hidden !== REVEALED ? { depth, silent: true } : visit(node, roleOf(node), depth, silent, hidden);
    if (!below) continue;
    const block = !INLINE_TAGS.has(tagOf(node));
    if (block) { breakText(); nodes.push(BREAK); depths.push(0); silents.push(false); hiddens.push(SHOWN); drawns.push(false); }
    // It only contains text that is its name already.
    if (!includeHidden && below.silent && !firstElementChild(node) && !shadowRootOf(node) && !ownership().ownedBy.has(node)) continue;
    const parts = later && !below.silent && seen === true && hidden === SHOWN ? later.plan.get(node) : undefined;
    const isMarked = later?.isMarked === true;
    /** @type {(WalkItem | DeferredPart)[]} */
    const children = includeHidden ? allChildren(node) : parts && !isMarked ? plannedChildren(node, parts) : accessibleChildren(node);
    if (seen === true && !below.silent) {
      const [before, after] = [generatedContent(node, '::before'), generatedContent(node, '::after')];
      if (before) children.unshift(before);
      if (after) children.push(after);
    }
    const draws = seen === true && PLAIN_TAGS.has(tagOf(node)) && isHtml(node) && !mayHide(node) && ownership().ownerOf.size === 0;
    const items = parts && isMarked ? withParts(children, parts) : children;
    for (let i = items.length - 1; i >= 0; i -= 1) {
      const item = items[i];
      nodes.push(item);
      drawns.push(draws);
      depths.push(below.depth);
      const isInner = seen === 'inside' && !(item instanceof DeferredPart) && isInnerElement(item);
      silents.push(isInner && hidden !== REVEALED ? silent : below.silent);
      hiddens.push(isInner ? around : includeHidden && !(item instanceof DeferredPart) && isCollapsed(node, item) ? REVEALED : hidden);
    }
  }
  return { visited, complete: true };
};

// The children, with the parts in the place of those that they stand for. Such an element has no shadow tree, slots or owned elements.
/** @param {Element} el @param {DeferredPart[]} parts */
const plannedChildren = (el, parts) => {
  /** @type {(WalkItem | DeferredPart)[]} */
  const all = [];
  for (let child = /** @type {Node | null} */ (firstChild(el)); child;) {
    const part = startingAt(child, parts);
    all.push(part ?? child);
    child = part ? part.end : nextSibling(child);
  }
  return all;
};

/** @param {Node} child @param {DeferredPart[]} parts */
const startingAt = (child, parts) => {
  for (const part of parts) if (part.first === child) return part;
  return null;
};

// Puts the parts around the children that they stood for. Those of several readings may overlap.
/** @param {(WalkItem | DeferredPart)[]} children @param {DeferredPart[]} parts */
const withParts = (children, parts) => {
  /** @type {(WalkItem | DeferredPart)[]} */
  const all = [];
  /** @type {DeferredPart[]} */
  let open = [];
  for (const child of children) {
    for (const part of open) if (part.end === child) all.push(part);
    open = open.filter((part) => part.end !== child);
    for (const part of parts) if (part.first === child) { all.push(part); open.push(part); }
    all.push(child);
  }
  all.push(...open);
  return all;
};
