// The page as cleaned HTML: no scripts, no hidden inputs, no values, nothing that a person is not shown.

import { visibility } from './element_visibility.js';
import { attribute, flatChildren, inputType, tagOf } from './flat_tree.js';
import { attributeNames, characterData, documentElement, isElement, isText } from './intrinsics.js';
import { isMaskedText, isSecret } from './secret_fields.js';
import { markCut, normalizeText, withSlack } from './text.js';

export const MAX_DOM_NODES = 200000;
const KEPT_ATTRIBUTES = ['id', 'class', 'role', 'href', 'src', 'alt', 'title', 'type', 'name', 'for', 'placeholder', 'lang'];
export const DROPPED_TAGS = new Set('base link meta noscript object script style svg template'.split(' '));
const VOID_TAGS = new Set('area br col embed hr img input source track wbr'.split(' '));

/** @type {Record<string, string>} */
const HTML_ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** @param {string} text */
const escapeHtml = (text) => normalizeText(text, text.length).replace(/[&<>"]/g, (c) => HTML_ESCAPES[c] ?? c);

// With slack the driver cuts the attributes. It does not see where the script cut one, so none is cut here.
const MAX_ATTRIBUTE = 300;
/** @param {string} value */
const attributeText = (value) => {
  if (withSlack(0) === 0) return value.slice(0, MAX_ATTRIBUTE);
  return value.length <= withSlack(MAX_ATTRIBUTE) ? value : '…';
};

/** @param {Element} el */
const openTag = (el) => {
  let tag = `<${tagOf(el)}`;
  const kept = attributeNames(el).filter((name) => KEPT_ATTRIBUTES.includes(name) || name.startsWith('aria-'));
  for (const name of kept) tag += ` ${name}="${escapeHtml(attributeText(attribute(el, name) ?? ''))}"`;
  return `${tag}>`;
};

/** @param {{ bytes: number }} request */
export const serializeDom = ({ bytes }) => {
  let html = '';
  let truncated = false;
  // Long attributes are sent, and not shown.
  const most = withSlack(0) ? bytes * 2 : bytes;
  let unshown = 0;
  /** @type {(Node | string | null)[]} */
  const stack = [documentElement(document)];
  for (let visited = 0; stack.length; visited += 1) {
    const node = stack.pop();
    if (!node) continue;
    if (html.length >= most || html.length - unshown >= bytes || visited > MAX_DOM_NODES) { truncated = true; break; }
    if (typeof node === 'string') { html += node; continue; }
    if (isText(node)) { if (!isMaskedText(node)) html += escapeHtml(characterData(node).slice(0, most)); continue; }
    if (!isElement(node) || DROPPED_TAGS.has(tagOf(node)) || inputType(node) === 'hidden') continue;
    if (tagOf(node) !== 'head' && tagOf(node) !== 'title' && visibility(node) === false) continue;
    const tag = openTag(node);
    if (tag.length > MAX_ATTRIBUTE * 2) unshown += withSlack(0) && tag.length - MAX_ATTRIBUTE * 2;
    html += tag;
    if (VOID_TAGS.has(tagOf(node)) || isSecret(node)) continue;
    if (node instanceof HTMLTextAreaElement) { html += '</textarea>'; continue; }
    stack.push(`</${tagOf(node)}>`);
    const children = flatChildren(node);
    for (let i = children.length - 1; i >= 0; i -= 1) stack.push(children[i]);
  }
  return { html: markCut(html.slice(0, most), truncated || html.length > most), truncated };
};
