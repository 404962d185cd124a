// What a field holds that may be long, with its line breaks.

import { MAX_VALUE, nonSecretValue, valuesExposed } from './accessible_name.js';
import { editorText } from './editor_text.js';
import { INPUT, isHtml, TEXTAREA } from './intrinsics.js';
import { INPUT_ROLES, isEditingHost } from './roles.js';
import { boundPreformattedText, boundText } from './text.js';

const MAX_LONG_VALUE = 20000;
const LONG_TEXT_ROLES = new Set(['searchbox', 'textbox', undefined]);

// The value of an element that is known not to be secret, in at most `room` characters; null if it has none.
/** @param {Element} el @param {string} role @param {number} room @returns {string | null} */
export const heldValue = (el, role, room) => {
  if (!valuesExposed) return null;
  const most = Math.min(MAX_LONG_VALUE, Math.max(MAX_VALUE, room));
  if (el instanceof HTMLTextAreaElement) return boundPreformattedText(TEXTAREA.value(el), most);
  if (el instanceof HTMLInputElement && LONG_TEXT_ROLES.has(INPUT_ROLES[INPUT.type(el)])) return boundText(INPUT.value(el), most);
  if (role === 'textbox' && isHtml(el) && isEditingHost(el)) return boundPreformattedText(editorText(el, most), most);
  return nonSecretValue(el, role);
};
