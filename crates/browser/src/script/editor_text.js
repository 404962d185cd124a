// The text of a rich-text editor, line by line.

import { flowsInline, NEVER_RENDERED, visibility } from './element_visibility.js';
import { attribute, flatChildren, tagOf } from './flat_tree.js';
import { characterData, isElement, isText } from './intrinsics.js';
import { paintStateOf } from './paint_state.js';
import { isMaskedBy, isSecret } from './secret_fields.js';
import { textVisibility, WITHHELD } from './text_visibility.js';
import { preservesLineBreaks } from './white_space.js';

const MAX_EDITOR_NODES = 5000;
const LINE_END = Symbol('line end');

// At least `most` characters of it, if there are as many.
/** @param {Element} root @param {number} most */
export const editorText = (root, most) => {
  let text = '';
  const endLine = () => { if (text !== '' && !text.endsWith('\n')) text += '\n'; };
  /** @param {string} data @param {boolean} isKept */
  const add = (data, isKept) => {
    const more = isKept ? data : data.replace(/[ \t\r\n\f]+/g, ' ');
    text += !isKept && (text === '' || /[ \n]$/.test(text)) && more.startsWith(' ') ? more.slice(1) : more;
  };
  /** @type {(Node | typeof LINE_END)[]} */
  const stack = [root];
  for (let visited = 0; stack.length && visited < MAX_EDITOR_NODES && text.length <= most; visited += 1) {
    const node = /** @type {Node | typeof LINE_END} */ (stack.pop());
    if (typeof node === 'symbol') { endLine(); continue; }
    if (isText(node)) {
      const parent = node.parentElement;
      if (textVisibility(node) !== WITHHELD || characterData(node).trim() === '') add(characterData(node), parent !== null && preservesLineBreaks(parent));
      continue;
    }
    if (!isElement(node) || NEVER_RENDERED.has(tagOf(node)) || (node !== root && visibility(node) === false)) continue;
    if (isSecret(node) || isMaskedBy(node, paintStateOf(node))) continue;
    if (tagOf(node) === 'br') { text += '\n'; continue; }
    if (tagOf(node) === 'img') { add(attribute(node, 'alt') ?? '', false); continue; }
    if (node !== root && !flowsInline(node, true)) { endLine(); stack.push(LINE_END); }
    const children = flatChildren(node);
    for (let at = Math.min(children.length, MAX_EDITOR_NODES) - 1; at >= 0; at -= 1) stack.push(children[at]);
  }
  return text.replace(/\s+$/, '');
};
