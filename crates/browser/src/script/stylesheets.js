// Style sheets, as far as their origin lets them be read.

import { sheetRules } from './intrinsics.js';

// null for a cross-origin sheet, which may contain anything.
/** @param {CSSStyleSheet} sheet */
export const readableRules = (sheet) => {
  try {
    return sheetRules(sheet);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'SecurityError') return null;
    throw error;
  }
};
