// The visible text of a control, next to its accessible name: a "Delete" button can be named "Next".

import {
  inputName, isNamedByContent, ITEM_GROUP_ROLES, labelsOf, MAX_NAME, NAME_PARTS, NESTING_ITEM_ROLES, TEXT_ENTRY_ROLES,
  VALUE_ROLES,
} from './accessible_name.js';
import { flowsInline, isDrawn, NEVER_RENDERED, visibility } from './element_visibility.js';
import { isFormControl, flatChildren, inputType, tagOf } from './flat_tree.js';
import { generatedContent } from './generated_content.js';
import { characterData, checkVisibility, INPUT, isElement, isText } from './intrinsics.js';
import { paintStateOf, UNDRAWN_CONTENT } from './paint_state.js';
import { roleOf } from './roles.js';
import { isMaskedBy, isSecret } from './secret_fields.js';
import { displayOf } from './style_context.js';
import { boundText, markCut, shownText, withSlack } from './text.js';
import { isBoxInvisible, textVisibility, VISIBLE } from './text_visibility.js';

// In characters; the driver truncates it to as many bytes.
const MAX_VISIBLE_TEXT = 80;
const MAX_VISIBLE_NODES = 300;

// The text that is drawn in an element, on one line. Excludes text for screen readers only, and includes what is
// hidden from them.
/** @param {Element} root @param {number} limit */
export const visibleText = (root, limit) => {
  if (isSecret(root) || isMaskedBy(root, paintStateOf(root))) return '';
  let text = '';
  let isCut = false;
  const most = withSlack(limit) * 2;
  /** @type {(Node | string)[]} */
  const stack = [root];
  const item = NESTING_ITEM_ROLES.has(roleOf(root));
  for (let steps = 0; stack.length && steps < MAX_VISIBLE_NODES && text.length < most; steps += 1) {
    const node = /** @type {Node | string} */ (stack.pop());
    if (typeof node === 'string') { text += node; continue; }
    if (isText(node)) {
      const data = characterData(node);
      if (data.trim() === '') { text += ' '; continue; }
      if (textVisibility(node) !== VISIBLE) continue;
      isCut ||= data.length > most;
      text += data.slice(0, most);
      continue;
    }
    if (!isElement(node) || NEVER_RENDERED.has(tagOf(node))) continue;
    if (node !== root && (isSecret(node) || (item && ITEM_GROUP_ROLES.has(roleOf(node))))) continue;
    if (node instanceof HTMLInputElement) {
      if (BUTTON_INPUT_TYPES.has(INPUT.type(node)) && !isBoxInvisible(node)) text += ` ${inputName(node)} `;
      continue;
    }
    if (isFormControl(node) && !(node instanceof HTMLButtonElement)) continue;
    if (UNDRAWN_CONTENT.has(tagOf(node))) continue;
    const drawn = visibility(node) === true || isDrawn(node);
    if (!drawn && !checkVisibility(node) && displayOf(node) !== 'contents') continue;
    const gap = node === root || flowsInline(node, true) ? '' : ' ';
    text += gap || (tagOf(node) === 'br' ? ' ' : '');
    const after = drawn ? generatedContent(node, '::after') : null;
    stack.push(gap, after && !after.unseen ? after.drawn : '');
    const children = flatChildren(node);
    for (let i = Math.min(children.length, MAX_VISIBLE_NODES) - 1; i >= 0; i -= 1) {
      if (drawn || isElement(children[i])) stack.push(children[i]);
    }
    const before = drawn ? generatedContent(node, '::before') : null;
    if (before && !before.unseen) text += before.drawn;
  }
  return boundText(markCut(text, isCut || stack.some((node) => node !== '')), limit).trim();
};

export const BUTTON_INPUT_TYPES = new Set(['button', 'submit', 'reset']);

const UNSPACED_SCRIPTS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu;
const NON_WORD = /[^\p{L}\p{N}\p{M}]+/gu;
// Words only, without case and punctuation. Scripts without spaces count by letter.
/** @param {string} text */
const normalizeWords = (text) =>
  ` ${text.normalize('NFKC').toLowerCase().replace(UNSPACED_SCRIPTS, ' $& ').replace(NON_WORD, ' ').trim()} `;

// A single letter is a symbol: an x closes, a b makes bold.
/** @param {string} words */
const isSymbol = (words) => /^ \p{L}? ?$/u.test(words);

// Whether the drawn words are not part of the name.
/** @param {string} name @param {string} shown */
const isDifferentText = (name, shown) => {
  const words = normalizeWords(shownText(shown, MAX_VISIBLE_TEXT));
  return !isSymbol(words) && !normalizeWords(shownText(name, MAX_NAME)).includes(words);
};

// The visible text of an element, if its name differs; '' otherwise.
/** @param {Element} el @param {string} role @param {string} name @param {boolean} actionable @param {string} own */
export const differingVisibleText = (el, role, name, actionable, own) => {
  if (NAME_PARTS.unseen) return visibleText(el, MAX_VISIBLE_TEXT);
  if (!actionable || TEXT_ENTRY_ROLES.has(role) || VALUE_ROLES.has(role) || role === 'listbox') return '';
  if (!own && NAME_PARTS.exact) return '';
  if (el instanceof HTMLInputElement && !BUTTON_INPUT_TYPES.has(INPUT.type(el))) return '';
  // Content that is listed below the element needs no repetition, unless it is as short as a name.
  const isListedBelow = !isNamedByContent(el, role) && !(el instanceof HTMLInputElement);
  if (isListedBelow && role) return '';
  const shown = visibleText(el, MAX_VISIBLE_TEXT);
  if (isListedBelow && shown.length >= MAX_VISIBLE_TEXT) return '';
  return isDifferentText(name, shown) ? shown : '';
};

// A checkbox or a file field is often hidden behind its label.
/** @param {Element} el */
export const hasVisibleLabel = (el) => {
  const type = inputType(el);
  if (type !== 'checkbox' && type !== 'radio' && type !== 'file') return false;
  return labelsOf(el).some((label) => visibility(label) && !isBoxInvisible(label));
};
