// Accessible names and values, after the W3C's accessible name computation.

import { accessibleChildren, ownership } from './aria_owns.js';
import { callCache } from './call_cache.js';
import { flowsInline, isRendered, NEVER_RENDERED, visibility } from './element_visibility.js';
import { attribute, childByTag, flatChildren, hasAttribute, inputType, shadowRootOf, tagOf } from './flat_tree.js';
import { GeneratedContent, generatedContent, pageHasGeneratedContent } from './generated_content.js';
import {
  characterData, firstChild, getRootNode, INPUT, isElement, isHtml, isInHtmlNamespace, isText, LABEL, nextSibling,
  OPTION, querySelectorAll, rootQuerySelectorAll, SELECT, TEXTAREA,
} from './intrinsics.js';
import { paintStateOf } from './paint_state.js';
import {
  hasNonEmpty, INPUT_ROLES, isEditingHost, labelledByElements, MAX_REFERENCES, NO_ELEMENTS, roleOf,
} from './roles.js';
import { isMasked, isMaskedBy, isMaskedText, isSecret } from './secret_fields.js';
import { boundText, markCut, withSlack } from './text.js';
import { textVisibility, VISIBLE, WITHHELD } from './text_visibility.js';

export const MAX_NAME = 300;
// Nodes visited to name one element, references included, so that nested names cannot cost n².
const MAX_NAME_NODES = 400;
let nodesNamed = 0;
// Names refer to other names (labels, references, selected options); deeper nesting is not followed.
const MAX_NESTED_NAMES = 4;
let nesting = 0;

const NAME_FROM_CONTENT = new Set(
  ('button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio ' +
   'rowheader switch tab term tooltip treeitem').split(' '),
);

// Their content is listed below them; a name from content would repeat it.
export const CONTENT_LISTED_BELOW = new Set(['cell', 'gridcell', 'math', 'row', 'term']);

// The text of an element on one line, as the accessible name computation reads it. Iterative.
/** @param {Element} root @returns {string} */
export const readableText = (root) => {
  if (nesting === 0) nodesNamed = 0;
  return readContentNested(root, CONTENT);
};
/** @type {ContentOptions} */
const CONTENT = { exclude: null, referenced: false, whole: false };

// Items that contain further items are not named by those.
export const NESTING_ITEM_ROLES = new Set(['treeitem', 'menuitem', 'menuitemcheckbox', 'menuitemradio']);
export const ITEM_GROUP_ROLES = new Set(['group', 'tree']);

// Bounds the nesting; see `ContentOptions`. The content of a hidden root counts although it is hidden.
/** @param {Element} root @param {ContentOptions} how @returns {string} */
const readContentNested = (root, how) => {
  if (nesting === MAX_NESTED_NAMES) return '';
  nesting += 1;
  try {
    return readContent(root, how);
  } finally {
    nesting -= 1;
  }
};

/** @param {Element} root @param {ContentOptions} options */
const readContent = (root, { exclude, referenced, whole }) => {
  if (isSecret(root) || isMaskedBy(root, paintStateOf(root))) return '';
  const only = singleTextChild(root);
  if (only !== null) {
    if (isWithheld(only, false)) return '';
    return boundText(characterData(only), MAX_NAME).trim();
  }
  const item = NESTING_ITEM_ROLES.has(roleOf(root));
  let text = '';
  let isCut = false;
  const most = withSlack(MAX_NAME) * 2;
  /** @type {(Node | string | TitleFallback)[]} */
  const stack = [root];
  while (stack.length && text.length < most && nodesNamed < MAX_NAME_NODES) {
    const node = /** @type {Node | string | TitleFallback} */ (stack.pop());
    if (typeof node === 'string') { text += node; continue; }
    if (node instanceof TitleFallback) {
      // The title names only an element without content.
      if (node.title && !text.slice(node.from).trim()) text += ` ${node.title} `;
      continue;
    }
    nodesNamed += 1;
    if (isText(node)) {
      if (isWithheld(node, whole)) continue;
      const data = characterData(node);
      isCut ||= data.length > most;
      text += data.slice(0, most);
      continue;
    }
    if (!isElement(node)) continue;
    if (node === exclude) { text += ' '; continue; }
    const visible = node === root || whole ? true : visibility(node);
    if (!visible || (whole && NEVER_RENDERED.has(tagOf(node)))) {
      if (notedParts && !NEVER_RENDERED.has(tagOf(node))) notedParts.exact = false;
      continue;
    }
    if (node !== root) {
      if (isSecret(node)) continue;
      const embedded = item && ITEM_GROUP_ROLES.has(roleOf(node)) ? '' : embeddedText(node, referenced);
      if (embedded !== null) { if (notedParts) notedParts.exact = false; text += ` ${embedded} `; continue; }
    }
    if (tagOf(node) === 'br') { text += ' '; continue; }
    const drawn = !whole;
    const gap = node === root || flowsInline(node, drawn) ? '' : ' ';
    if (gap) { text += gap; stack.push(gap); }
    if (node !== root && visible === true && hasNonEmpty(node, 'title')) stack.push(new TitleFallback(attribute(node, 'title') ?? '', text.length));
    if (drawn && visible === true) stack.push(generatedNamePart(node, '::after'));
    const children = accessibleChildren(node);
    for (let i = Math.min(children.length, MAX_NAME_NODES) - 1; i >= 0; i -= 1) {
      // The own text of a hidden element does not count, its visible descendants do.
      if (visible === true || isInnerElement(children[i])) stack.push(children[i]);
    }
    if (drawn && visible === true) text += generatedNamePart(node, '::before');
  }
  return boundText(markCut(text, isCut || stack.length > 0), MAX_NAME).trim();
};

// While a snapshot names an element: whether parts of its name are visible, invisible, and equal to what is drawn.
export const NAME_PARTS = { seen: false, unseen: false, exact: true };
/** @type {{ seen: boolean, unseen: boolean, exact: boolean } | null} */
let notedParts = null;
export const startNotingParts = () => {
  NAME_PARTS.seen = false;
  NAME_PARTS.unseen = false;
  NAME_PARTS.exact = true;
  notedParts = NAME_PARTS;
};
export const stopNotingParts = () => { notedParts = null; };

// Whether a text must not be read. Notes whether it is visible.
/** @param {CharacterData} node @param {boolean} whole */
const isWithheld = (node, whole) => {
  if (characterData(node).trim() === '') return false;
  if (whole) return isMaskedText(node);
  const sight = textVisibility(node);
  if (notedParts && sight !== WITHHELD) notedParts[sight === VISIBLE ? 'seen' : 'unseen'] = true;
  return sight === WITHHELD;
};

/** @param {Element} el @param {string} where */
const generatedNamePart = (el, where) => {
  const part = generatedContent(el, where);
  if (!part) return '';
  if (notedParts) {
    notedParts.exact &&= part.text === part.drawn;
    if (part.text.trim()) notedParts[part.unseen ? 'unseen' : 'seen'] = true;
  }
  return part.text;
};

// The fast path: most named elements contain one text node and nothing else.
/** @param {Element} el */
const singleTextChild = (el) => {
  const child = firstChild(el);
  if (!child || nextSibling(child) || !isText(child) || pageHasGeneratedContent() || shadowRootOf(el)) return null;
  if (ownership().ownedBy.has(el)) return null;
  return el instanceof HTMLSlotElement || el instanceof HTMLDetailsElement ? null : child;
};

/** @param {WalkItem} child @returns {child is Element} */
export const isInnerElement = (child) =>
  typeof child !== 'string' && !(child instanceof GeneratedContent) && isElement(child);

class TitleFallback {
  /** @param {string} title @param {number} from */
  constructor(title, from) { this.title = title; this.from = from; }
}

// The text that an element contributes to the name of another; null if its content does.
/** @param {Element} el @param {boolean} referenced @returns {string | null} */
const embeddedText = (el, referenced) => {
  const labelled = referenced ? '' : labelledBy(el);
  if (labelled) return labelled;
  const label = (attribute(el, 'aria-label') ?? '').trim();
  const role = roleOf(el);
  if (role === 'menu') return '';
  if (VALUE_ROLES.has(role) && !(el instanceof HTMLButtonElement) && role !== 'listbox') return valueOf(el, role) || label;
  if (role === 'listbox' || (role === 'combobox' && !label)) {
    const chosen = selectedText(el, role);
    if (chosen !== null) return chosen;
  }
  if (label) return label;
  switch (tagOf(el)) {
    case 'img': case 'area': return attribute(el, 'alt') ?? attribute(el, 'title') ?? '';
    case 'svg': return svgTitle(el) || null;
    case 'input': return nativeName(el) || (attribute(el, 'title') ?? '');
    case 'iframe': case 'video': case 'audio': case 'object': return attribute(el, 'title') ?? '';
    default: return null;
  }
};

export const VALUE_ROLES = new Set(['textbox', 'searchbox', 'slider', 'spinbutton', 'progressbar', 'meter', 'scrollbar']);

// The selected options of a listbox or combobox; null if it contains no options.
/** @param {Element} el @param {string} role @returns {string | null} */
const selectedText = (el, role) => {
  if (!valuesExposed) return '';
  if (el instanceof HTMLSelectElement || el instanceof HTMLInputElement) return valueOf(el, role) ?? '';
  const stack = flatChildren(el).reverse();
  const chosen = [];
  let options = 0;
  for (; stack.length && nodesNamed < MAX_NAME_NODES; nodesNamed += 1) {
    const node = /** @type {Node} */ (stack.pop());
    if (!isElement(node) || !visibility(node)) continue;
    const inner = roleOf(node);
    if (inner === 'option') {
      options += 1;
      if (attribute(node, 'aria-selected') === 'true') chosen.push(readContentNested(node, CONTENT));
    } else if (inner === 'textbox' && isSecret(node)) {
      return '';
    } else {
      stack.push(...flatChildren(node).reverse());
    }
  }
  return options ? chosen.join(' ') : null;
};

/** @param {Element} svg */
const svgTitle = (svg) => {
  for (let child = firstChild(svg); child; child = nextSibling(child)) {
    if (isElement(child) && tagOf(child) === 'title') {
      const text = firstChild(child);
      return text && isText(text) ? characterData(text) : '';
    }
  }
  return '';
};

// The name of an element that aria-labelledby refers to.
/** @param {Element} el @returns {string} */
const referencedText = (el) => {
  const label = (attribute(el, 'aria-label') ?? '').trim();
  if (label && !isSecret(el)) return label;
  const role = roleOf(el);
  if (VALUE_ROLES.has(role) || role === 'combobox' || role === 'listbox') {
    const embedded = isSecret(el) ? '' : embeddedText(el, true);
    if (embedded) return embedded;
  }
  if (isSecret(el)) return '';
  const native = nativeName(el).trim();
  if (native) return native;
  return (
    readContentNested(el, { exclude: null, referenced: true, whole: !isRendered(el) }) ||
    (attribute(el, 'title') ?? '').trim()
  );
};

/** @param {Element} el @returns {string} */
const labelledBy = (el) => {
  const parts = labelledByElements(el);
  return parts.length ? parts.map(referencedText).filter(Boolean).join(' ').trim() : '';
};

/** @param {HTMLLabelElement} label @param {Element} control @returns {string} */
const labelContent = (label, control) =>
  (attribute(label, 'aria-label') ?? '').trim() ||
  readContentNested(label, { exclude: control, referenced: true, whole: !isRendered(label) });

export const LABELABLE_TAGS = new Set('button input meter output progress select textarea'.split(' '));

// Time for collecting labels: labels within labels are slow. Labels beyond it name nothing.
const LABEL_MILLISECONDS = 200;

// `control.labels` searches the whole tree each time, so each tree is searched once for all controls.
/** @param {Element} el */
export const labelsOf = (el) => {
  const root = getRootNode(el);
  const { labels } = callCache();
  let byControl = labels.get(root);
  if (!byControl) {
    byControl = new Map();
    labels.set(root, byControl);
    const end = performance.now() + LABEL_MILLISECONDS;
    const found = root instanceof Document ? querySelectorAll(root, 'label') : root instanceof ShadowRoot ? rootQuerySelectorAll(root, 'label') : NO_ELEMENTS;
    for (const label of /** @type {Iterable<HTMLLabelElement>} */ (found)) {
      if (performance.now() > end) break;
      const control = LABEL.control(label);
      const known = byControl.get(control);
      if (!known) byControl.set(control, [label]);
      else if (known.length < MAX_REFERENCES) known.push(label);
    }
  }
  return byControl.get(el) ?? NO_ELEMENTS;
};

/** @param {Element} el @param {string} tag @returns {string} */
const captionText = (el, tag) => {
  const caption = childByTag(el, tag);
  return caption && isRendered(caption) ? readContentNested(caption, CONTENT) : '';
};

/** @param {Element} el @returns {string} */
const nativeName = (el) => {
  const tag = tagOf(el);
  if (LABELABLE_TAGS.has(tag)) {
    const name = labelsOf(el).map((label) => labelContent(label, el)).filter(Boolean).join(' ').trim();
    if (name) return name;
  }
  switch (tag) {
    case 'input': return inputName(el);
    case 'img': case 'area': return attribute(el, 'alt') ?? '';
    case 'svg': return svgTitle(el);
    case 'option': return isMasked(el) || !isInHtmlNamespace(el) ? '' : OPTION.label(/** @type {HTMLOptionElement} */ (el));
    case 'optgroup': return attribute(el, 'label') ?? '';
    case 'fieldset': return captionText(el, 'legend');
    case 'table': return captionText(el, 'caption') || (attribute(el, 'summary') ?? '');
    default: return '';
  }
};

/** @param {Element} el */
export const inputName = (el) => {
  if (isSecret(el)) return '';
  switch (inputType(el)) {
    case 'submit': return attribute(el, 'value') ?? 'Submit';
    case 'reset': return attribute(el, 'value') ?? 'Reset';
    case 'button': return attribute(el, 'value') ?? '';
    case 'image': return attribute(el, 'alt') || attribute(el, 'value') || attribute(el, 'title') || 'Submit';
    default: return '';
  }
};

// Names from aria-labelledby, aria-label and native markup, not from content.
/** @param {Element} el @returns {string} */
export const authorName = (el) => {
  if (nesting === 0) nodesNamed = 0;
  return labelledBy(el) || (attribute(el, 'aria-label') ?? '').trim() || nativeName(el).trim();
};

// Rows and formulas only with an explicit role.
/** @param {Element} el @param {string} role */
export const isNamedByContent = (el, role) =>
  (NAME_FROM_CONTENT.has(role) || ((role === 'row' || role === 'math') && hasAttribute(el, 'role'))) &&
  !(el instanceof HTMLInputElement) && !(el instanceof HTMLTextAreaElement);

const ROLES_WITHOUT_TITLE_NAME = new Set(['caption', 'code', 'definition', 'paragraph']);
export const TEXT_ENTRY_ROLES = new Set(['combobox', 'searchbox', 'spinbutton', 'textbox']);

/** @param {Element} el @param {string} role */
export const nameOf = (el, role) => boundText(authorName(el) || fallbackName(el, role), MAX_NAME).trim();

// The name of an element without an author's name: content, title, placeholder.
/** @param {Element} el @param {string} role */
export const fallbackName = (el, role) =>
  (isNamedByContent(el, role) ? readableText(el) : '') ||
  (ROLES_WITHOUT_TITLE_NAME.has(role) || attribute(el, 'alt') === '' ? '' : (attribute(el, 'title') ?? '').trim()) ||
  (TEXT_ENTRY_ROLES.has(role) ? (attribute(el, 'placeholder') ?? attribute(el, 'aria-placeholder') ?? '').trim() : '');
export const MAX_VALUE = 300;
const MAX_SELECTED = 20;

const RANGE_ROLES = new Set(['slider', 'spinbutton', 'progressbar', 'meter', 'scrollbar']);

// A setting can hide values; then no name contains one either.
export let valuesExposed = true;
/** @param {SnapshotOptions} request */
export const setValueExposure = ({ values }) => { valuesExposed = values !== false; };

// The value, never of a secret field; null if the element has none.
/** @param {Element} el @param {string} role @returns {string | null} */
const valueOf = (el, role) => (isSecret(el) ? null : nonSecretValue(el, role));

// For elements that are known not to be secret.
/** @param {Element} el @param {string} role @returns {string | null} */
export const nonSecretValue = (el, role) => {
  if (!valuesExposed) return null;
  if (el instanceof HTMLTextAreaElement) return boundText(TEXTAREA.value(el), MAX_VALUE);
  if (el instanceof HTMLInputElement) {
    const kind = INPUT_ROLES[INPUT.type(el)] ?? 'textbox';
    if ((kind === 'button' && INPUT.type(el) !== 'color') || kind === 'checkbox' || kind === 'radio' || kind === '') return null;
    return boundText(INPUT.value(el), MAX_VALUE);
  }
  if (el instanceof HTMLSelectElement) {
    const chosen = Array.from(SELECT.selected(el)).slice(0, MAX_SELECTED).map((option) => OPTION.label(option));
    return boundText(chosen.join(', '), MAX_VALUE);
  }
  if (isHtml(el) && isEditingHost(el)) return readableText(el);
  if (RANGE_ROLES.has(role)) {
    const value = attribute(el, 'aria-valuetext') ?? attribute(el, 'aria-valuenow') ?? attribute(el, 'value');
    return boundText(value ?? '', MAX_VALUE);
  }
  if (role === 'textbox' || role === 'searchbox') return readableText(el);
  return null;
};

/** @param {HTMLOptionElement} option */
export const optionLabel = (option) => boundText(OPTION.label(option), MAX_NAME).trim();
