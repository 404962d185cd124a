// Whether an element is rendered, and whether its text flows inline.

import { attribute, hasAttribute, plainElement, tagOf } from './flat_tree.js';
import { checkVisibility, isHtml } from './intrinsics.js';
import { HIDE, possibleEffects } from './style_hints.js';

export const NEVER_RENDERED = new Set(
  'base datalist head link meta noframes noscript script style template title'.split(' '),
);

export const CHECK_VISIBILITY_PROPERTY = { visibilityProperty: true };
export const BOXLESS_TAGS = new Set(['area', 'optgroup', 'option']);

// Rendered whenever their parent is, and so is their content, unless a style or an attribute hides them.
export const PLAIN_TAGS = new Set(
  ('a abbr address article aside b bdi bdo big blockquote body center cite code dd del dfn div dl dt em figcaption ' +
   'figure font footer h1 h2 h3 h4 h5 h6 header hgroup i ins kbd li main mark nav ol p pre q s samp section small ' +
   'span strike strong sub sup table tbody td tfoot th thead time tr tt u ul var').split(' '),
);

// Whether the current element of a walk is rendered because its parent is, without calling checkVisibility.
/** @param {Element} el */
export const isDrawnWithParent = (el) => el === plainElement && PLAIN_TAGS.has(tagOf(el)) && isHtml(el) && !(possibleEffects(el) & HIDE);

// See `Visibility`.
/** @param {Element} el @returns {Visibility} */
export const visibility = (el) => {
  if (NEVER_RENDERED.has(tagOf(el))) return false;
  if (attribute(el, 'aria-hidden') === 'true' || hasAttribute(el, 'inert')) return false;
  // The options of a closed list and the areas of an image have no box, but exist.
  if (BOXLESS_TAGS.has(tagOf(el))) return !hasAttribute(el, 'hidden');
  // Hidden until it is found by a search.
  if ((attribute(el, 'hidden') ?? '').toLowerCase() === 'until-found') return false;
  if (checkVisibility(el, CHECK_VISIBILITY_PROPERTY)) return true;
  if (checkVisibility(el)) return 'inside';
  return getComputedStyle(el).display === 'contents';
};

export const INLINE_TAGS = new Set(
  ('a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rb rt ruby s samp slot small ' +
   'span strike strong sub sup time tt u var wbr').split(' '),
);

// Whether its text joins the text before and after it without a space.
/** @param {Element} el @param {boolean} drawn */
export const flowsInline = (el, drawn) => {
  if (!drawn) return INLINE_TAGS.has(tagOf(el));
  const display = getComputedStyle(el).display;
  return display === 'inline' || display === 'contents' || display === 'ruby' || display === 'ruby-text';
};

/** @param {Element} el */
export const isRendered = (el) => visibility(el) === true;
