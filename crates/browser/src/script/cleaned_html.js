// The page as cleaned HTML: no scripts, no hidden inputs, no values, nothing that a person is not shown.

import { visibility } from './element_visibility.js';
import { attribute, flatChildren, inputType, tagOf } from './flat_tree.js';
import { attributeNames, characterData, documentElement, isElement, isText } from './intrinsics.js';
import { isMaskedText, isSecret } from './secret_fields.js';
import { normalizeText } from './text.js';

export const MAX_DOM_NODES = 200000;
const KEPT_ATTRIBUTES = ['id', 'class', 'role', 'href', 'src', 'alt', 'title', 'type', 'name', 'for', 'placeholder', 'lang'];
export const DROPPED_TAGS = new Set('base link meta noscript object script style svg template'.split(' '));
const VOID_TAGS = new Set('area br col embed hr img input source track wbr'.split(' '));

/** @type {Record<string, string>} */
const HTML_ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** @param {string} text */
const escapeHtml = (text) => normalizeText(text, text.length).replace(/[&<>"]/g, (c) => HTML_ESCAPES[c] ?? c);

/** @param {Element} el */
const openTag = (el) => {
  let tag = `<${tagOf(el)}`;
  const kept = attributeNames(el).filter((name) => KEPT_ATTRIBUTES.includes(name) || name.startsWith('aria-'));
  for (const name of kept) tag += ` ${name}="${escapeHtml((attribute(el, name) ?? '').slice(0, 300))}"`;
  return `${tag}>`;
};

/** @param {{ bytes: number }} request */
export const serializeDom = ({ bytes }) => {
  let html = '';
  let truncated = false;
  /** @type {(Node | string | null)[]} */
  const stack = [documentElement(document)];
  for (let visited = 0; stack.length; visited += 1) {
    const node = stack.pop();
    if (!node) continue;
    if (html.length >= bytes || visited > MAX_DOM_NODES) { truncated = true; break; }
    if (typeof node === 'string') { html += node; continue; }
    if (isText(node)) { if (!isMaskedText(node)) html += escapeHtml(characterData(node).slice(0, bytes)); continue; }
    if (!isElement(node) || DROPPED_TAGS.has(tagOf(node)) || inputType(node) === 'hidden') continue;
    if (tagOf(node) !== 'head' && tagOf(node) !== 'title' && visibility(node) === false) continue;
    html += openTag(node);
    if (VOID_TAGS.has(tagOf(node)) || isSecret(node)) continue;
    if (node instanceof HTMLTextAreaElement) { html += '</textarea>'; continue; }
    stack.push(`</${tagOf(node)}>`);
    const children = flatChildren(node);
    for (let i = children.length - 1; i >= 0; i -= 1) stack.push(children[i]);
  }
  return { html: html.slice(0, bytes), truncated };
};
