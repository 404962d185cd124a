// The page as plain text: inline text on one line, blocks on lines of their own.

import { DROPPED_TAGS, MAX_DOM_NODES } from './cleaned_html.js';
import { flowsInline, visibility } from './element_visibility.js';
import { flatChildren, tagOf } from './flat_tree.js';
import { characterData, documentElement, INPUT, isElement, isText } from './intrinsics.js';
import { isMaskedText, isSecret } from './secret_fields.js';
import { responseStatus } from './snapshot.js';
import { normalizeText } from './text.js';
import { BUTTON_INPUT_TYPES } from './visible_text.js';

/** @param {{ length: number }} request */
export const readPageText = ({ length }) => {
  let text = '';
  /** @type {(Node | string | null)[]} */
  const stack = [documentElement(document)];
  for (let visited = 0; stack.length && text.length < length && visited <= MAX_DOM_NODES; visited += 1) {
    const node = stack.pop();
    if (!node) continue;
    if (typeof node === 'string') { text += node; continue; }
    if (isText(node)) { if (!isMaskedText(node)) text += normalizeText(characterData(node).slice(0, length), length); continue; }
    if (!isElement(node) || DROPPED_TAGS.has(tagOf(node)) || tagOf(node) === 'head') continue;
    const drawn = visibility(node);
    if (node instanceof HTMLInputElement) { if (drawn === true && BUTTON_INPUT_TYPES.has(INPUT.type(node))) text += ` ${normalizeText(INPUT.value(node), length)} `; continue; }
    if (drawn === false || isSecret(node) || node instanceof HTMLTextAreaElement) continue;
    if (tagOf(node) === 'br' || !flowsInline(node, true)) { text += '\n'; stack.push('\n'); }
    const children = flatChildren(node);
    for (let i = children.length - 1; i >= 0; i -= 1) if (drawn === true || !isText(children[i])) stack.push(children[i]);
  }
  const lines = text.split('\n').map((line) => line.replace(/ +/g, ' ').trim()).filter((line) => line !== '');
  return { text: lines.join('\n').slice(0, length).toWellFormed(), status: responseStatus() };
};
