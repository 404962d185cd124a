// What an icon without a name may stand for: its class, the file it is drawn from, or the symbol it uses.

import { attribute, tagOf } from './flat_tree.js';
import { getAttribute, querySelector, textContent } from './intrinsics.js';
import { boundText } from './text.js';

const MAX_HINT = 60;
// Words of a class that say only that something is an icon.
const ICON_WORDS = /^(?:fas?|far|fab|fal|glyphicon|icons?|material-icons.*|mdi|bi|ti|ico|img|image|svg|button|btn|clickable|pointer)$/i;

/** @param {string} path */
const fileOf = (path) => (path.startsWith('data:') ? '' : (/([^/?#]+)(?:[?#].*)?$/.exec(path)?.[1] ?? ''));

/** @param {string} classes */
const classHint = (classes) => classes.split(/\s+/).filter((word) => word && !ICON_WORDS.test(word)).slice(0, 3).join(' ');

const ICON_ROLES = new Set(['', 'button', 'canvas', 'cell', 'gridcell', 'group', 'img', 'link', 'listitem']);
// A name of nothing but characters that only an icon font draws.
/** @param {string} name */
export const isSymbolName = (name) => /^[\s\ue000-\uf8ff]*$/.test(name);

// '' if nothing tells.
/** @param {Element} el @param {string} role */
export const iconHint = (el, role) => {
  if (!ICON_ROLES.has(role) || (role !== 'img' && textContent(el)?.trim())) return '';
  const image = tagOf(el) === 'img' ? el : querySelector(el, 'img[src]');
  const symbol = tagOf(el) === 'use' ? el : querySelector(el, 'use');
  const inner = querySelector(el, 'i[class], span[class], svg[class]');
  const found = (image && fileOf(getAttribute(image, 'src') ?? '')) ||
    (symbol && (getAttribute(symbol, 'href') ?? getAttribute(symbol, 'xlink:href') ?? '').replace(/^.*#/, '')) ||
    classHint(attribute(el, 'class') ?? '') || (inner && classHint(getAttribute(inner, 'class') ?? '')) ||
    (attribute(el, 'id') ?? '') || (role === '' ? tagOf(el) : '');
  const hint = boundText(found || '', MAX_HINT).trim();
  return hint && role ? `icon ${hint}` : hint;
};
