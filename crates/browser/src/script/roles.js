// Roles, after WAI-ARIA and HTML-AAM; where those leave room, as Chromium's accessibility tree has them.

import { callCache } from './call_cache.js';
import {
  attribute, childByTag, isFormControl, elementByIdInTree, flatParent, hasAttribute, tagOf,
} from './flat_tree.js';
import {
  collectionItem, collectionLength, firstChild, firstElementChild, INPUT, isContentEditable, isElement, isHtml,
  isInHtmlNamespace, lastElementChild, matches, nextElementSibling, nextSibling, offsetHeight, offsetWidth,
  parentNode, previousElementSibling, previousSibling, querySelector, ROW, TABLE,
} from './intrinsics.js';

const ARIA_ROLES = new Set(
  ('alert alertdialog application article banner blockquote button caption cell checkbox code columnheader ' +
   'combobox complementary contentinfo definition deletion dialog directory document emphasis feed figure form ' +
   'generic grid gridcell group heading image img insertion link list listbox listitem log main mark marquee math ' +
   'menu menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation ' +
   'progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider ' +
   'spinbutton status strong subscript suggestion superscript switch tab table tablist tabpanel term textbox time ' +
   'timer toolbar tooltip tree treegrid treeitem').split(' '),
);

// Roles that only mark up part of a sentence are read as text.
const TEXT_LEVEL = new Set('deletion emphasis insertion mark strong subscript suggestion superscript time'.split(' '));

export const INTERACTIVE = new Set(
  ('button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio scrollbar ' +
   'searchbox slider spinbutton switch tab textbox treeitem').split(' '),
);

/** @type {Record<string, string>} */
export const INPUT_ROLES = {
  button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button', color: 'button',
  checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox', hidden: '',
};

const TAG_ROLES = new Map(Object.entries({
  address: 'group', article: 'article', audio: 'audio', blockquote: 'blockquote', button: 'button',
  canvas: 'canvas', caption: 'caption', code: 'code', dd: 'definition', details: 'group', dfn: 'term',
  dialog: 'dialog', dir: 'list', dt: 'term', embed: 'object', fieldset: 'group', figure: 'figure', form: 'form',
  frame: 'iframe', h1: 'heading',
  h2: 'heading', h3: 'heading', h4: 'heading', h5: 'heading', h6: 'heading', hgroup: 'group', hr: 'separator',
  iframe: 'iframe', main: 'main', math: 'math', menu: 'list', meter: 'meter', nav: 'navigation', object: 'object', ol: 'list',
  optgroup: 'group', option: 'option', output: 'status', p: 'paragraph', pre: 'code', progress: 'progressbar',
  search: 'search', textarea: 'textbox', tfoot: 'rowgroup', thead: 'rowgroup', ul: 'list', video: 'video',
}));

/** @param {Element} el */
const isFocusable = (el) =>
  hasAttribute(el, 'tabindex') ||
  (isFormControl(el) && !matches(el, ':disabled')) ||
  ((tagOf(el) === 'a' || tagOf(el) === 'area') && hasAttribute(el, 'href')) ||
  (isHtml(el) && isEditingHost(el));

const GLOBAL_ARIA = [
  'aria-atomic', 'aria-busy', 'aria-controls', 'aria-current', 'aria-describedby', 'aria-description',
  'aria-details', 'aria-dropeffect', 'aria-flowto', 'aria-grabbed', 'aria-keyshortcuts', 'aria-label',
  'aria-labelledby', 'aria-live', 'aria-owns', 'aria-relevant', 'aria-roledescription',
];

/** @param {HTMLElement} el */
export const isEditingHost = (el) => {
  const set = attribute(el, 'contenteditable');
  return set !== null && set.toLowerCase() !== 'false' && isContentEditable(el);
};

/** @param {Element} el @param {string} key */
export const hasNonEmpty = (el, key) => (attribute(el, key) ?? '').trim() !== '';

// Names depend on roles, so this checks for a name without computing it.
/** @param {Element} el */
const hasAuthorName = (el) => hasNonEmpty(el, 'aria-label') || hasNonEmpty(el, 'title') || labelledByElements(el).length > 0;

// The role attribute's first valid token; null if there is none.
/** @param {Element} el @returns {string | null} */
const explicitRole = (el) => {
  const given = attribute(el, 'role');
  if (!given) return null;
  for (const token of given.toLowerCase().split(/\s+/)) {
    if (!ARIA_ROLES.has(token)) continue;
    if (token === 'none' || token === 'presentation') {
      // A focusable element or one with global ARIA attributes is never presentational.
      if (isFocusable(el) || GLOBAL_ARIA.some((key) => hasAttribute(el, key))) continue;
      return '';
    }
    if ((token === 'form' || token === 'region') && !hasAuthorName(el)) continue;
    if (token === 'generic' || TEXT_LEVEL.has(token)) return '';
    if (token === 'image') return 'img';
    if (token === 'directory') return 'list';
    return token;
  }
  return null;
};

// The role, or '' for a generic element.
/** @param {Element} el @returns {string} */
export const roleOf = (el) => explicitRole(el) ?? implicitRole(el);

/** @param {Element} el @returns {string} */
const implicitRole = (el) => {
  const tag = tagOf(el);
  switch (tag) {
    case 'div': case 'span': break;
    case 'a': case 'area': return ['href', 'xlink:href', 'onclick'].some((key) => hasAttribute(el, key)) ? 'link' : '';
    case 'abbr': return hasNonEmpty(el, 'title') ? 'abbr' : '';
    // An SVG with text or links in it is read, any other is an image.
    case 'svg': return querySelector(el, 'a, text, foreignObject') ? '' : 'img';
    case 'header': return isInsideSection(el, LANDMARK_ENDS) ? '' : 'banner';
    case 'footer': return isInsideSection(el, LANDMARK_ENDS) ? '' : 'contentinfo';
    case 'aside': return isInsideSection(el, ASIDE_ENDS) && !hasAuthorName(el) ? '' : 'complementary';
    case 'section': return hasAuthorName(el) ? 'region' : '';
    case 'img': return attribute(el, 'alt') === '' && !hasAuthorName(el) && !isFocusable(el) ? '' : 'img';
    case 'summary': return parentNode(el) instanceof HTMLDetailsElement ? 'button' : '';
    case 'li': return isListOrUnknown(parentNode(el)) ? 'listitem' : '';
    case 'table': return isInHtmlNamespace(el) && isDataTable(/** @type {HTMLTableElement} */ (el)) ? 'table' : '';
    case 'tr': case 'td': case 'th': return tablePartRole(el, tag);
    case 'thead': case 'tfoot': return tableRole(el) ? 'rowgroup' : '';
    case 'select': return matches(el, '[multiple], [size]:not([size="1"], [size="0"], [size=""])') ? 'listbox' : 'combobox';
    case 'input': {
      if (!isInHtmlNamespace(el)) return '';
      const input = /** @type {HTMLInputElement} */ (el);
      const type = INPUT.type(input);
      if (INPUT.list(input) && type !== 'color') return 'combobox';
      return INPUT_ROLES[type] ?? 'textbox';
    }
    default: {
      const role = TAG_ROLES.get(tag);
      if (role !== undefined) return role;
    }
  }
  if (isHtml(el) && isEditingHost(el)) return 'textbox';
  return attribute(el, 'draggable') === 'true' ? 'group' : '';
};

const LANDMARK_ENDS = new Set(['article', 'aside', 'main', 'nav', 'section']);
const ASIDE_ENDS = new Set(['article', 'aside', 'nav', 'section']);

/** @param {Element} el @param {Set<string>} ends */
const isInsideSection = (el, ends) => {
  for (let at = flatParent(el), steps = 0; at && steps < 200; at = flatParent(at), steps += 1) {
    if (isElement(at) && ends.has(tagOf(at)) && explicitRole(at) === null) return true;
  }
  return false;
};

// An item of a presentational list has no role.
/** @param {Node | null} parent */
const isListOrUnknown = (parent) =>
  !parent || !isElement(parent) || !/^\s*(?:none|presentation)\b/i.test(attribute(parent, 'role') ?? '');

// The role of the table that a row or cell belongs to; '' for a layout table.
/** @param {Element} el @returns {string} */
const tableRole = (el) => {
  for (let at = parentNode(el), steps = 0; at && isElement(at) && steps < 8; at = parentNode(at), steps += 1) {
    if (at instanceof HTMLTableElement) {
      const role = roleOf(at);
      return role === 'table' || role === 'grid' || role === 'treegrid' ? role : '';
    }
  }
  return '';
};

/** @param {Element} el @param {string} tag */
const tablePartRole = (el, tag) => {
  const table = tableRole(el);
  if (!table) return '';
  if (tag === 'tr') return 'row';
  if (tag === 'td') return table === 'table' ? 'cell' : 'gridcell';
  const scope = (attribute(el, 'scope') ?? '').toLowerCase();
  if (scope === 'row' || scope === 'rowgroup') return 'rowheader';
  if (scope === 'col' || scope === 'colgroup') return 'columnheader';
  return isRowHeader(el) ? 'rowheader' : 'columnheader';
};

/** @param {Node | null} node */
const isHeaderCell = (node) => node !== null && isElement(node) && tagOf(node) === 'th';
/** @param {Node | null} node */
const isFilledCell = (node) => node !== null && isElement(node) && tagOf(node) === 'td' && firstChild(node) !== null;

// A header beside data cells is a row header, one among headers a column header.
/** @param {Element} cell */
const isRowHeader = (cell) => {
  const next = nextSibling(cell);
  const before = previousSibling(cell);
  if (!next && !before) return false;
  if (isHeaderCell(next) && isHeaderCell(before)) return false;
  if (isFilledCell(next) || isFilledCell(before)) return true;
  const row = parentNode(cell);
  if (!row || !isElement(row)) return false;
  const first = firstElementChild(row);
  const last = lastElementChild(row);
  return (
    isFilledCell(first) || isFilledCell(last) ||
    (first !== null && isFilledCell(nextElementSibling(first))) || (last !== null && isFilledCell(previousElementSibling(last)))
  );
};

// Chromium's heuristics: layout tables have no headers, no caption and no borders.
const MAX_LAYOUT_ROWS = 20;
const MAX_LAYOUT_CELLS = 400;
/** @param {HTMLTableElement} table */
const isDataTable = (table) => {
  const { tables } = callCache();
  let data = tables.get(table);
  if (data === undefined) {
    data = isLikelyDataTable(table);
    tables.set(table, data);
  }
  return data;
};
/** @param {HTMLCollectionOf<HTMLTableRowElement>} rows @param {number} index */
const rowAt = (rows, index) => /** @type {HTMLTableRowElement} */ (collectionItem(rows, index));

/** @param {HTMLTableElement} table */
const isLikelyDataTable = (table) => {
  if (isContentEditable(table) || hasNonEmpty(table, 'summary') || hasNonEmpty(table, 'rules')) return true;
  if (TABLE.head(table) || TABLE.foot(table) || TABLE.caption(table)) return true;
  if (childByTag(table, 'colgroup') || childByTag(table, 'col')) return true;
  const rows = TABLE.rows(table);
  const count = collectionLength(rows);
  if (count >= MAX_LAYOUT_ROWS) return true;
  if (count === 0 || (count === 1 && collectionLength(ROW.cells(rowAt(rows, 0))) === 1)) return false;
  return isStyledAsData(table, rows, count);
};

/** @param {HTMLTableElement} table @param {HTMLCollectionOf<HTMLTableRowElement>} rows @param {number} count */
const isStyledAsData = (table, rows, count) => {
  const style = getComputedStyle(table);
  const background = style.backgroundColor;
  const spaced = !/^0px|\b0px$/.test(style.borderSpacing) && style.borderCollapse === 'separate';
  const seen = { cells: 0, bordered: 0, top: 0, bottom: 0, left: 0, right: 0, colored: 0 };
  /** @type {string[]} */
  const stripes = [];
  for (let r = 0; r < count; r += 1) {
    const row = rowAt(rows, r);
    const cells = ROW.cells(row);
    for (let c = 0; c < collectionLength(cells) && seen.cells < MAX_LAYOUT_CELLS; c += 1) {
      const cell = /** @type {HTMLTableCellElement} */ (collectionItem(cells, c));
      if (tagOf(cell) === 'th') return true;
      if (['headers', 'abbr', 'axis', 'scope'].some((key) => hasNonEmpty(cell, key))) return true;
      if (offsetWidth(cell) < 1 || offsetHeight(cell) < 1) continue;
      seen.cells += 1;
      const drawn = getComputedStyle(cell);
      if (drawn.emptyCells === 'hide') return true;
      const [top, bottom, left, right] = [
        drawn.borderTopWidth, drawn.borderBottomWidth, drawn.borderLeftWidth, drawn.borderRightWidth,
      ].map((width) => parseFloat(width) > 0);
      seen.top += Number(top);
      seen.bottom += Number(bottom);
      seen.left += Number(left);
      seen.right += Number(right);
      seen.bordered += Number((top && bottom) || (left && right));
      const color = drawn.backgroundColor;
      seen.colored += Number(spaced && color !== background && color !== 'rgba(0, 0, 0, 0)');
      if (seen.bordered >= 10 || seen.colored >= 10) return true;
      if (r < 5 && r === stripes.length) stripes.push(getComputedStyle(row).backgroundColor);
    }
  }
  if (seen.cells <= 1) return false;
  const half = Math.floor(seen.cells / 2);
  if ([seen.bordered, seen.top, seen.bottom, seen.left, seen.right, seen.colored].some((some) => some >= half)) return true;
  return stripes.length > 2 && stripes.every((color, at) => (color === stripes[0]) === (at % 2 === 0));
};
// Labels or references read per element.
export const MAX_REFERENCES = 8;

/** @type {never[]} */
export const NO_ELEMENTS = [];
/** @param {Element} el */
export const labelledByElements = (el) => {
  const ids = attribute(el, 'aria-labelledby');
  if (!ids) return NO_ELEMENTS;
  return ids.trim().split(/\s+/).slice(0, MAX_REFERENCES).map((id) => elementByIdInTree(el, id)).filter((found) => found !== null);
};
