// Whether an element is rendered, and whether its text flows inline.

import { callCache } from './call_cache.js';
import { attribute, drawnParent, hasAttribute, hasNoHidingAttribute, tagOf } from './flat_tree.js';
import { checkVisibility, isElement, isHtml } from './intrinsics.js';
import { displayOf, mayHide } from './style_context.js';

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

// Whether an element is rendered if its parent is, without calling checkVisibility.
/** @param {Element} el */
export const isDrawnWithParent = (el) => PLAIN_TAGS.has(tagOf(el)) && hasNoHidingAttribute(el) && isHtml(el) && !mayHide(el);

// See `Visibility`. Names and visible texts ask for the same elements as the walk.
/** @param {Element} el @returns {Visibility} */
export const visibility = (el) => {
  const { seen } = callCache();
  let known = seen.get(el);
  if (known === undefined) {
    const parent = drawnParent(el);
    const draws = parent !== null && isElement(parent) && seen.get(parent) === true && PLAIN_TAGS.has(tagOf(parent)) && isHtml(parent) && !mayHide(parent);
    known = (draws && isDrawnWithParent(el)) || computeVisibility(el);
    seen.set(el, known);
  }
  return known;
};

/** @param {Element} el @returns {true} */
export const setVisible = (el) => {
  callCache().seen.set(el, true);
  return true;
};

/** @param {Element} el @returns {Visibility} */
const computeVisibility = (el) => {
  if (NEVER_RENDERED.has(tagOf(el))) return false;
  if (attribute(el, 'aria-hidden') === 'true' || hasAttribute(el, 'inert')) return false;
  // The options of a closed list and the areas of an image have no box, but exist.
  if (BOXLESS_TAGS.has(tagOf(el))) return !hasAttribute(el, 'hidden');
  // Hidden until it is found by a search.
  if ((attribute(el, 'hidden') ?? '').toLowerCase() === 'until-found') return false;
  if (checkVisibility(el, CHECK_VISIBILITY_PROPERTY)) return true;
  if (checkVisibility(el)) return 'inside';
  return displayOf(el) === 'contents';
};

// Whether an element is drawn, whatever is declared for screen readers.
/** @param {Element} el */
export const isDrawn = (el) => callCache().seen.get(el) === true || checkVisibility(el, CHECK_VISIBILITY_PROPERTY);

export const INLINE_TAGS = new Set(
  ('a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rb rt ruby s samp slot small ' +
   'span strike strong sub sup time tt u var wbr').split(' '),
);

// Whether its text joins the text before and after it without a space.
/** @param {Element} el @param {boolean} drawn */
export const flowsInline = (el, drawn) => {
  if (!drawn) return INLINE_TAGS.has(tagOf(el));
  const display = displayOf(el);
  return display === 'inline' || display === 'contents' || display === 'ruby' || display === 'ruby-text';
};

/** @param {Element} el */
export const isRendered = (el) => visibility(el) === true;
