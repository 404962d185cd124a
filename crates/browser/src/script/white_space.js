// Whether the line breaks and spaces of a text are drawn as they are: in <pre>, and where a style says so.

import { drawnParent, tagOf } from './flat_tree.js';
import { isElement } from './intrinsics.js';
import { contextOf } from './style_context.js';
import { PRESERVE } from './style_rules.js';

const PREFORMATTED_TAGS = new Set(['listing', 'plaintext', 'pre', 'xmp']);
const PRESERVING = /^(?:preserve|preserve-breaks|break-spaces)$/;
// It is inherited, and contexts are made anew for each snapshot.
/** @type {WeakMap<StyleContext, boolean>} */
const known = new WeakMap();

/** @param {Element} el */
export const preservesLineBreaks = (el) => {
  /** @type {StyleContext[]} */
  const chain = [];
  let preserves = false;
  for (let at = /** @type {Node | null} */ (el); at && isElement(at); at = drawnParent(at)) {
    const context = contextOf(at);
    const before = known.get(context);
    if (before !== undefined) { preserves = before; break; }
    chain.push(context);
    if (!(context.effects & PRESERVE) && !PREFORMATTED_TAGS.has(tagOf(at))) continue;
    preserves = PRESERVING.test(getComputedStyle(at).getPropertyValue('white-space-collapse'));
    break;
  }
  for (const context of chain) known.set(context, preserves);
  return preserves;
};
