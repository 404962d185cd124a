// Roles, accessible names and states, after WAI-ARIA and HTML-AAM.

const MAX_NAME = 300;
const MAX_VALUE = 300;
// Naming one element looks at this many nodes at most, so that nested names cannot cost n².
const MAX_NAME_NODES = 400;

const ARIA_ROLES = new Set(
  ('alert alertdialog application article banner blockquote button caption cell checkbox code columnheader ' +
   'combobox complementary contentinfo definition dialog directory document emphasis feed figure form generic ' +
   'grid gridcell group heading img image link list listbox listitem log main marquee math menu menubar menuitem ' +
   'menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation progressbar radio ' +
   'radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status ' +
   'switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem').split(' '),
);

const NAME_FROM_CONTENT = new Set(
  ('button checkbox columnheader heading link menuitem menuitemcheckbox menuitemradio option radio rowheader ' +
   'switch tab tooltip treeitem').split(' '),
);

const INTERACTIVE = new Set(
  ('button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio scrollbar ' +
   'searchbox slider spinbutton switch tab textbox treeitem').split(' '),
);

const INPUT_ROLES = {
  button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button', color: 'button',
  checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox', hidden: '',
};

const TAG_ROLES = {
  article: 'article', aside: 'complementary', blockquote: 'blockquote', button: 'button', caption: 'caption',
  code: 'code', dd: 'definition', details: 'group', dfn: 'term', dialog: 'dialog', dt: 'term', fieldset: 'group',
  figure: 'figure', form: 'form', frame: 'iframe', h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading',
  h5: 'heading', h6: 'heading', hr: 'separator', iframe: 'iframe', li: 'listitem', main: 'main', math: 'math',
  menu: 'list', meter: 'meter', nav: 'navigation', ol: 'list', optgroup: 'group', option: 'option',
  output: 'status', p: 'paragraph', pre: 'code', progress: 'progressbar', search: 'search', summary: 'button',
  table: 'table', tbody: 'rowgroup', td: 'cell', textarea: 'textbox', tfoot: 'rowgroup', thead: 'rowgroup',
  tr: 'row', ul: 'list',
};

const SECTIONING = new Set(['article', 'aside', 'main', 'nav', 'section']);

const inSection = (el) => {
  for (let at = flatParent(el), steps = 0; at && steps < 200; at = flatParent(at), steps += 1) {
    if (isElement(at) && SECTIONING.has(tagOf(at))) return true;
  }
  return false;
};

const hasAuthorName = (el) =>
  hasAttribute(el, 'aria-label') || hasAttribute(el, 'aria-labelledby') || hasAttribute(el, 'title');

const implicitRole = (el) => {
  const tag = tagOf(el);
  switch (tag) {
    case 'a': case 'area': return hasAttribute(el, 'href') || hasAttribute(el, 'xlink:href') ? 'link' : '';
    case 'header': return inSection(el) ? '' : 'banner';
    case 'footer': return inSection(el) ? '' : 'contentinfo';
    case 'section': return hasAuthorName(el) ? 'region' : '';
    case 'img': return attribute(el, 'alt') === '' && !hasAuthorName(el) ? '' : 'img';
    case 'svg': return 'img';
    case 'th': return attribute(el, 'scope') === 'row' ? 'rowheader' : 'columnheader';
    case 'select': return matches(el, '[multiple], [size]:not([size="1"])') ? 'listbox' : 'combobox';
    case 'input': {
      const type = inputType(el);
      if (hasAttribute(el, 'list') && !(type in INPUT_ROLES)) return 'combobox';
      return INPUT_ROLES[type] ?? 'textbox';
    }
    default:
      if (TAG_ROLES[tag] && Object.hasOwn(TAG_ROLES, tag)) return TAG_ROLES[tag];
      return isHtml(el) && isEditingHost(el) ? 'textbox' : '';
  }
};

const isEditingHost = (el) => {
  const set = attribute(el, 'contenteditable');
  return set !== null && set.toLowerCase() !== 'false' && isContentEditable(el);
};

// The role, or '' for an element that only groups.
const roleOf = (el) => {
  const given = attribute(el, 'role');
  if (given) {
    for (const token of given.toLowerCase().split(/\s+/)) {
      if (!ARIA_ROLES.has(token)) continue;
      if (token === 'none' || token === 'presentation' || token === 'generic') return '';
      return token === 'image' ? 'img' : token;
    }
  }
  return implicitRole(el);
};

const SILENT = new Set(['script', 'style', 'noscript', 'template', 'head', 'meta', 'link', 'title', 'datalist', 'base']);

// false: neither it nor anything inside; 'inside': not itself, perhaps its children; true: visible.
const visibility = (el) => {
  if (SILENT.has(tagOf(el))) return false;
  if (attribute(el, 'aria-hidden') === 'true' || hasAttribute(el, 'inert')) return false;
  // The options of a closed list are drawn nowhere, and are what the list is about.
  if (el instanceof HTMLOptionElement || el instanceof HTMLOptGroupElement) return !hasAttribute(el, 'hidden');
  if (checkVisibility(el, { visibilityProperty: true })) return true;
  if (checkVisibility(el)) return 'inside';
  return getComputedStyle(el).display === 'contents';
};

// What a person would read in an element, in one line; walks without recursion.
const textOf = (root, exclude) => {
  if (isSecret(root)) return '';
  let text = '';
  let seen = 0;
  const stack = [root];
  while (stack.length && text.length < MAX_NAME * 2 && seen < MAX_NAME_NODES) {
    const node = stack.pop();
    seen += 1;
    if (typeof node === 'string') { text += node; continue; }
    if (isText(node)) {
      if (!isMaskedText(node)) text += characters(node).slice(0, MAX_NAME * 2);
      continue;
    }
    if (!isElement(node) || node === exclude) continue;
    if (node !== root) {
      if (!visibility(node) || isSecret(node)) continue;
      const label = (attribute(node, 'aria-label') ?? '').trim();
      if (label) { text += ` ${label} `; continue; }
      const tag = tagOf(node);
      if (tag === 'img') { text += ` ${attribute(node, 'alt') ?? ''} `; continue; }
      if (tag === 'svg') { text += ` ${svgTitle(node)} `; continue; }
      if (controlTable(node) && tag !== 'button') { text += ` ${valueOf(node, roleOf(node)) ?? ''} `; continue; }
      if (tag === 'br') { text += ' '; continue; }
    }
    const gap = node === root || INLINE.has(tagOf(node)) ? '' : ' ';
    const children = flatChildren(node);
    if (gap) { text += gap; stack.push(gap); }
    for (let i = Math.min(children.length, MAX_NAME_NODES) - 1; i >= 0; i -= 1) stack.push(children[i]);
  }
  return clean(text, MAX_NAME).trim();
};

const INLINE = new Set(
  ('a abbr b bdi bdo cite code data del dfn em font i img ins kbd label mark q s samp small span strong sub sup ' +
   'time u var wbr').split(' '),
);

const svgTitle = (svg) => {
  for (let child = firstChild(svg); child; child = nextSibling(child)) {
    if (isElement(child) && tagOf(child) === 'title') {
      const text = firstChild(child);
      return text && isText(text) ? characters(text) : '';
    }
  }
  return '';
};

const labelledBy = (el) => {
  const ids = attribute(el, 'aria-labelledby');
  if (!ids) return '';
  const parts = ids.trim().split(/\s+/).slice(0, 8).map((id) => inSameTree(el, id));
  const named = parts.filter(Boolean).map((part) => (attribute(part, 'aria-label') ?? '').trim() || textOf(part, null));
  return named.join(' ').trim();
};

const nativeName = (el) => {
  const tag = tagOf(el);
  const control = controlTable(el);
  if (control?.labels) {
    const labels = control.labels(el);
    const named = labels ? Array.from(labels).slice(0, 8).map((label) => textOf(label, el)).join(' ').trim() : '';
    if (named) return named;
  }
  const type = inputType(el);
  if (type !== null && isSecret(el)) return '';
  if (type === 'submit' || type === 'reset' || type === 'button') {
    return INPUT.value(el) || { submit: 'Submit', reset: 'Reset', button: '' }[type];
  }
  switch (tag) {
    case 'img': case 'area': return attribute(el, 'alt') ?? '';
    case 'input': return type === 'image' ? attribute(el, 'alt') ?? attribute(el, 'value') ?? 'Submit' : '';
    case 'svg': return svgTitle(el);
    case 'option': return isMasked(el) ? '' : OPTION.label(el);
    case 'optgroup': return attribute(el, 'label') ?? '';
    case 'fieldset': { const legend = childByTag(el, 'legend'); return legend ? textOf(legend, null) : ''; }
    case 'table': { const caption = childByTag(el, 'caption'); return caption ? textOf(caption, null) : ''; }
    case 'figure': { const caption = childByTag(el, 'figcaption'); return caption ? textOf(caption, null) : ''; }
    default: return '';
  }
};

const nameOf = (el, role) => {
  const name =
    labelledBy(el) ||
    (attribute(el, 'aria-label') ?? '').trim() ||
    nativeName(el).trim() ||
    (NAME_FROM_CONTENT.has(role) && !controlledByValue(el) ? textOf(el, null) : '') ||
    (attribute(el, 'title') ?? '').trim() ||
    (attribute(el, 'placeholder') ?? attribute(el, 'aria-placeholder') ?? '').trim();
  return clean(name, MAX_NAME).trim();
};

const controlledByValue = (el) => el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement;

const RANGES = new Set(['slider', 'spinbutton', 'progressbar', 'meter', 'scrollbar']);

// The value, never of a secret field; null where a value says nothing.
const valueOf = (el, role) => {
  if (isSecret(el)) return null;
  if (el instanceof HTMLTextAreaElement) return clean(TEXTAREA.value(el), MAX_VALUE);
  if (el instanceof HTMLInputElement) {
    const kind = INPUT_ROLES[INPUT.type(el)] ?? 'textbox';
    if (kind === 'button' || kind === 'checkbox' || kind === 'radio' || kind === '') return null;
    return clean(INPUT.value(el), MAX_VALUE);
  }
  if (el instanceof HTMLSelectElement) {
    const chosen = Array.from(SELECT.selected(el)).slice(0, 20).map((option) => OPTION.label(option));
    return clean(chosen.join(', '), MAX_VALUE);
  }
  if (isHtml(el) && isEditingHost(el)) return textOf(el, null);
  if (RANGES.has(role)) {
    const told = attribute(el, 'aria-valuetext') ?? attribute(el, 'aria-valuenow') ?? attribute(el, 'value');
    return clean(told ?? '', MAX_VALUE);
  }
  return null;
};

const flag = (el, key) => {
  const value = attribute(el, key);
  return value === 'true' ? true : value === 'false' ? false : null;
};

const isDisabled = (el) => {
  if (matches(el, ':disabled')) return true;
  for (let at = el, steps = 0; at && steps < 50; at = flatParent(at), steps += 1) {
    if (isElement(at) && attribute(at, 'aria-disabled') === 'true') return true;
  }
  return false;
};

// Only what is set: an absent key means false or not applicable.
const statesOf = (el, role) => {
  const states = {};
  if (role === 'heading') {
    const level = Number(attribute(el, 'aria-level')) || Number(/^h([1-6])$/.exec(tagOf(el))?.[1]) || 2;
    states.level = Math.min(Math.max(Math.trunc(level), 1), 99);
    return states;
  }
  const type = inputType(el);
  if (type === 'checkbox' || type === 'radio') {
    states.checked = INPUT.indeterminate(el) ? 'mixed' : INPUT.checked(el) ? 'true' : 'false';
  } else if (/^(checkbox|radio|switch|menuitemcheckbox|menuitemradio)$/.test(role)) {
    const checked = attribute(el, 'aria-checked');
    states.checked = checked === 'mixed' || checked === 'true' ? checked : 'false';
  }
  const pressed = attribute(el, 'aria-pressed');
  if (pressed === 'true' || pressed === 'mixed') states.pressed = true;
  const details = tagOf(el) === 'summary' ? flatParent(el) : null;
  const expanded = details instanceof HTMLDetailsElement ? DETAILS.open(details) : flag(el, 'aria-expanded');
  if (expanded !== null) states.expanded = expanded;
  if (el instanceof HTMLOptionElement ? OPTION.selected(el) : flag(el, 'aria-selected')) states.selected = true;
  if ((INTERACTIVE.has(role) || role === 'group') && isDisabled(el)) states.disabled = true;
  if (controlTable(el) && (hasAttribute(el, 'required') || flag(el, 'aria-required'))) states.required = true;
  if (controlTable(el) && hasAttribute(el, 'readonly')) states.readonly = true;
  const invalid = attribute(el, 'aria-invalid');
  if (invalid && invalid !== 'false') states.invalid = true;
  const current = attribute(el, 'aria-current');
  if (current && current !== 'false') states.current = true;
  return states;
};

const isActionable = (el, role) =>
  (INTERACTIVE.has(role) && !(el instanceof HTMLOptionElement)) ||
  (hasAttribute(el, 'tabindex') && Number(attribute(el, 'tabindex')) >= 0) ||
  hasAttribute(el, 'onclick') ||
  (isHtml(el) && isEditingHost(el));
