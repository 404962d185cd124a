// Style sheets, as far as their origin lets them be read.

import { addEventListener, sheetOwner, sheetRules } from './intrinsics.js';

// Links to sheets that could not be loaded, as those of sites that a session may not reach. Such a sheet is empty, and nothing but
// these events tells it from one that may not be read.
/** @type {WeakSet<Node>} */
const failedLinks = new WeakSet();
addEventListener(document, 'error', ({ target, isTrusted }) => { if (isTrusted && target instanceof HTMLLinkElement) failedLinks.add(target); }, true);
addEventListener(document, 'load', ({ target, isTrusted }) => { if (isTrusted && target instanceof HTMLLinkElement) failedLinks.delete(target); }, true);
/** @type {never[]} */
const NO_RULES = [];

// null for a cross-origin sheet, which may contain anything.
/** @param {CSSStyleSheet} sheet @returns {ArrayLike<CSSRule> | null} */
export const readableRules = (sheet) => {
  try {
    return sheetRules(sheet);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'SecurityError') {
      const owner = sheetOwner(sheet);
      return owner && failedLinks.has(owner) ? NO_RULES : null;
    }
    throw error;
  }
};
