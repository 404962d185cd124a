// aria-owns: elements that the accessibility tree places below another element than the DOM does.

import { callCache } from './call_cache.js';
import { attribute, isFormControl, elementByIdInTree, flatChildren, flatParent } from './flat_tree.js';
import { querySelectorAll } from './intrinsics.js';
import { MAX_REFERENCES } from './roles.js';

// Owners beyond this many are ignored.
const MAX_OWNERS = 200;

export const ownership = () => {
  const now = callCache();
  if (!now.owned) {
    now.owned = { ownerOf: new Map(), ownedBy: new Map() };
    for (const owner of Array.from(querySelectorAll(document, '[aria-owns]')).slice(0, MAX_OWNERS)) addOwned(owner, now.owned);
  }
  return now.owned;
};

/** @param {Element} owner @param {Ownership} options */
const addOwned = (owner, { ownerOf, ownedBy }) => {
  // Controls without children own nothing.
  if (isFormControl(owner) && !(owner instanceof HTMLButtonElement)) return;
  const ids = (attribute(owner, 'aria-owns') ?? '').trim().split(/\s+/).slice(0, MAX_REFERENCES);
  for (const el of ids.map((id) => elementByIdInTree(owner, id))) {
    if (!el || ownerOf.has(el) || contains(el, owner, ownerOf)) continue;
    ownerOf.set(el, owner);
    ownedBy.set(owner, [...(ownedBy.get(owner) ?? []), el]);
  }
};

// Whether `inner` is below `el` in the accessible tree; then `inner` cannot own `el`.
/** @param {Element} el @param {Node} inner @param {Map<Node, Element>} ownerOf */
const contains = (el, inner, ownerOf) => {
  for (let at = /** @type {Node | null} */ (inner); at; at = ownerOf.get(at) ?? flatParent(at)) if (at === el) return true;
  return false;
};

// The children in the accessible tree; strings are text.
/** @param {Element} el @returns {(Node | string)[]} */
export const accessibleChildren = (el) => {
  const children = flatChildren(el);
  const { ownerOf, ownedBy } = ownership();
  if (ownerOf.size === 0) return children;
  const own = ownedBy.get(el);
  const here = children.filter((child) => !ownerOf.has(child));
  // An owned element is separated from the text before it.
  return own ? [...here, ...own.flatMap((el) => [' ', el])] : here;
};
