// What delegated handlers look for: the driver reads their code, and this finds the elements.
//
// A page that delegates adds elements at any time, so they are looked for before each reading.

import { collectionItem, collectionLength, elementsIn, getElementsByTagName, listLength, querySelectorAll, rootQuerySelectorAll } from './intrinsics.js';
import { delegatingNode, registerHandled, registerTargets } from './pointer_listeners.js';

// Attributes that name what a click does. A handler may look for them in code that cannot be read.
const HINTS = [
  'data-action', 'data-bs-dismiss', 'data-bs-toggle', 'data-click', 'data-command', 'data-dismiss', 'data-href', 'data-onclick',
  'data-toggle', 'jsaction', 'ng-click', 'on\\:click',
].map((name) => `[${name}]`).join();
// Targets of one selector. One that finds more describes the page, not what is acted on.
const MAX_TARGETS = 400;
const MAX_SELECTORS = 200;
// Selectors that take longer are left for a while.
const QUICK_MILLISECONDS = 5;
const PAUSE_FACTOR = 20;

/** @type {Map<string, { root: WeakRef<Element | ShadowRoot | Document>, selector: string }>} */
const searches = new Map();
let pausedUntil = 0;

/** @param {Element | ShadowRoot | Document} root @param {string} selector */
const select = (root, selector) => {
  try {
    if (root instanceof Document) return querySelectorAll(root, selector);
    return root instanceof ShadowRoot ? rootQuerySelectorAll(root, selector) : elementsIn(root, selector);
  } catch {
    return null;
  }
};

/** @param {string} key @param {Element | ShadowRoot | Document | null} root @param {string} selector */
const addSearch = (key, root, selector) => {
  if (!root || searches.size >= MAX_SELECTORS || !select(root, selector)) return;
  // A new selector is looked for at once.
  if (!searches.has(key)) pausedUntil = 0;
  searches.set(key, { root: new WeakRef(root), selector });
};

// Whether there are elements that were not known.
export const findDelegationTargets = () => {
  const begun = performance.now();
  if (searches.size === 0 || begun < pausedUntil) return false;
  let isAny = false;
  for (const [key, { root, selector }] of searches) {
    const node = root.deref();
    const found = node ? select(node, selector) : null;
    if (!found) searches.delete(key);
    else if (listLength(found) > 0 && listLength(found) <= MAX_TARGETS) isAny = registerTargets(Array.from(found)) || isAny;
  }
  const took = performance.now() - begun;
  if (took > QUICK_MILLISECONDS) pausedUntil = performance.now() + took * PAUSE_FACTOR;
  return isAny;
};

// Returns whether there are elements that were not known.
/** @param {DelegationRequest} request */
export const registerDelegation = ({ selectors, places, count, delegated, delegates }) => {
  const all = getElementsByTagName(document, '*');
  const isSame = count === collectionLength(all);
  const handled = isSame ? places.map((place) => collectionItem(all, place)).filter((el) => el !== null) : [];
  const isAny = registerHandled(/** @type {Element[]} */ (handled));
  if (delegates) addSearch('', document, HINTS);
  for (const [place, selector] of selectors) addSearch(`${place} ${selector}`, delegatingNode(place), selector);
  for (const [place, selector] of isSame ? delegated : []) {
    addSearch(`at ${place} ${selector}`, place < 0 ? document : /** @type {Element | null} */ (collectionItem(all, place)), selector);
  }
  return findDelegationTargets() || isAny;
};
