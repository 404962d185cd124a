// Whether an element is rendered, and whether its text flows inline.

import { attribute, hasAttribute, plainElement, tagOf } from './flat_tree.js';
import { checkVisibility, isHtml } from './intrinsics.js';
import { HIDE, possibleEffects } from './style_hints.js';

export const NEVER_RENDERED = new Set(
  'base datalist head link meta noframes noscript script style template title'.split(' '),
);

export const CHECK_VISIBILITY_PROPERTY = { visibilityProperty: true };
export const BOXLESS_TAGS = new Set(['area', 'optgroup', 'option']);

// Drawn wherever their parent is, and so is what is inside, unless a style or an attribute says otherwise.
export const PLAIN_TAGS = new Set(
  ('a abbr address article aside b bdi bdo big blockquote body center cite code dd del dfn div dl dt em figcaption ' +
   'figure font footer h1 h2 h3 h4 h5 h6 header hgroup i ins kbd li main mark nav ol p pre q s samp section small ' +
   'span strike strong sub sup table tbody td tfoot th thead time tr tt u ul var').split(' '),
);

// Whether an element that the walk is at is drawn because its parent is, so that Chromium need not be asked.
/** @param {Element} el */
export const isDrawnWithParent = (el) => el === plainElement && PLAIN_TAGS.has(tagOf(el)) && isHtml(el) && !(possibleEffects(el) & HIDE);

// false: neither it nor anything inside; 'inside': not itself, perhaps its children; true: visible.
/** @param {Element} el @returns {Visibility} */
export const visibility = (el) => {
  if (NEVER_RENDERED.has(tagOf(el))) return false;
  if (attribute(el, 'aria-hidden') === 'true' || hasAttribute(el, 'inert')) return false;
  // The options of a closed list and the areas of an image are drawn nowhere, and are there nevertheless.
  if (BOXLESS_TAGS.has(tagOf(el))) return !hasAttribute(el, 'hidden');
  // Until it is searched for, it is as hidden as any other.
  if ((attribute(el, 'hidden') ?? '').toLowerCase() === 'until-found') return false;
  if (checkVisibility(el, CHECK_VISIBILITY_PROPERTY)) return true;
  if (checkVisibility(el)) return 'inside';
  return getComputedStyle(el).display === 'contents';
};

export const INLINE_TAGS = new Set(
  ('a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rb rt ruby s samp slot small ' +
   'span strike strong sub sup time tt u var wbr').split(' '),
);

// Whether text before it, in it and after it runs on without a space.
/** @param {Element} el @param {boolean} drawn */
export const flowsInline = (el, drawn) => {
  if (!drawn) return INLINE_TAGS.has(tagOf(el));
  const display = getComputedStyle(el).display;
  return display === 'inline' || display === 'contents' || display === 'ruby' || display === 'ruby-text';
};

/** @param {Element} el */
export const isRendered = (el) => visibility(el) === true;
