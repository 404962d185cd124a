// Accessible names, after the W3C's accessible name computation.

const MAX_NAME = 300;
// Naming one element looks at this many nodes at most, references included, so that nested names cannot cost n².
const MAX_NAME_NODES = 400;
let nodesNamed = 0;
// Names lead to names (labels, references, what is chosen in a list); deeper ones are not followed.
const MAX_NESTED_NAMES = 4;
let nesting = 0;
// More labels or references than this are not read.
const MAX_REFERENCES = 8;

const NAME_FROM_CONTENT = new Set(
  ('button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio ' +
   'rowheader switch tab term tooltip treeitem').split(' '),
);

// Their content is told below them; a name made of it would tell it twice.
const TOLD_BELOW = new Set(['cell', 'gridcell', 'math', 'row', 'term']);

const SILENT = new Set(
  'base datalist head link meta noframes noscript script style template title'.split(' '),
);

const DRAWN = { visibilityProperty: true };
const UNDRAWN = new Set(['area', 'optgroup', 'option']);

// Drawn wherever their parent is, and so is what is inside, unless a style or an attribute says otherwise.
const PLAIN = new Set(
  ('a abbr address article aside b bdi bdo big blockquote body center cite code dd del dfn div dl dt em figcaption ' +
   'figure font footer h1 h2 h3 h4 h5 h6 header hgroup i ins kbd li main mark nav ol p pre q s samp section small ' +
   'span strike strong sub sup table tbody td tfoot th thead time tr tt u ul var').split(' '),
);

// Whether an element that the walk is at is drawn because its parent is, so that Chromium need not be asked.
const isDrawnWithParent = (el) => el === plainElement && PLAIN.has(tagOf(el)) && isHtml(el) && !(suspectedOf(el) & HIDE);

// false: neither it nor anything inside; 'inside': not itself, perhaps its children; true: visible.
const visibility = (el) => {
  if (SILENT.has(tagOf(el))) return false;
  if (attribute(el, 'aria-hidden') === 'true' || hasAttribute(el, 'inert')) return false;
  // The options of a closed list and the areas of an image are drawn nowhere, and are there nevertheless.
  if (UNDRAWN.has(tagOf(el))) return !hasAttribute(el, 'hidden');
  // Until it is searched for, it is as hidden as any other.
  if ((attribute(el, 'hidden') ?? '').toLowerCase() === 'until-found') return false;
  if (checkVisibility(el, DRAWN)) return true;
  if (checkVisibility(el)) return 'inside';
  return getComputedStyle(el).display === 'contents';
};

const INLINE = new Set(
  ('a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rb rt ruby s samp slot small ' +
   'span strike strong sub sup time tt u var wbr').split(' '),
);

// Whether text before it, in it and after it runs on without a space.
const runsOn = (el, drawn) => {
  if (!drawn) return INLINE.has(tagOf(el));
  const display = getComputedStyle(el).display;
  return display === 'inline' || display === 'contents' || display === 'ruby' || display === 'ruby-text';
};

// What a person would read in an element, in one line; walks without recursion.
const textOf = (root) => {
  if (nesting === 0) nodesNamed = 0;
  return contentOf(root, CONTENT);
};
const CONTENT = { exclude: null, referenced: false, whole: false };

// Items that hold further items are not named by those.
const HOLDS_ITEMS = new Set(['treeitem', 'menuitem', 'menuitemcheckbox', 'menuitemradio']);
const ITEMS = new Set(['group', 'tree']);

// `exclude` is the control that is being named, `referenced` says that aria-labelledby led here, and `whole`
// that a hidden root was pointed at: then what is inside counts although it is hidden.
const contentOf = (root, how) => {
  if (nesting === MAX_NESTED_NAMES) return '';
  nesting += 1;
  try {
    return readContent(root, how);
  } finally {
    nesting -= 1;
  }
};

const readContent = (root, { exclude, referenced, whole }) => {
  if (isSecret(root) || isMaskedBy(root, lookOf(root))) return '';
  const only = onlyText(root);
  if (only !== null) {
    if (isWithheld(only, false)) return '';
    return clean(characters(only), MAX_NAME).trim();
  }
  const item = HOLDS_ITEMS.has(roleOf(root));
  let text = '';
  const stack = [root];
  while (stack.length && text.length < MAX_NAME * 2 && nodesNamed < MAX_NAME_NODES) {
    const node = stack.pop();
    if (typeof node === 'string') { text += node; continue; }
    if (node instanceof Leaving) {
      // Only an element that gave nothing is told by its tooltip.
      if (node.title && !text.slice(node.from).trim()) text += ` ${node.title} `;
      continue;
    }
    nodesNamed += 1;
    if (isText(node)) {
      if (!isWithheld(node, whole)) text += characters(node).slice(0, MAX_NAME * 2);
      continue;
    }
    if (!isElement(node)) continue;
    if (node === exclude) { text += ' '; continue; }
    const visible = node === root || whole ? true : visibility(node);
    if (!visible || (whole && SILENT.has(tagOf(node)))) {
      if (parts && !SILENT.has(tagOf(node))) parts.exact = false;
      continue;
    }
    if (node !== root) {
      if (isSecret(node)) continue;
      const told = item && ITEMS.has(roleOf(node)) ? '' : toldInside(node, referenced);
      if (told !== null) { if (parts) parts.exact = false; text += ` ${told} `; continue; }
    }
    if (tagOf(node) === 'br') { text += ' '; continue; }
    const drawn = !whole;
    const gap = node === root || runsOn(node, drawn) ? '' : ' ';
    if (gap) { text += gap; stack.push(gap); }
    if (node !== root && filled(node, 'title')) stack.push(new Leaving(attribute(node, 'title'), text.length));
    if (drawn && visible === true) stack.push(generatedName(node, '::after'));
    const children = toldChildren(node);
    for (let i = Math.min(children.length, MAX_NAME_NODES) - 1; i >= 0; i -= 1) {
      // A hidden element that holds something visible says nothing itself.
      if (visible === true || isInnerElement(children[i])) stack.push(children[i]);
    }
    if (drawn && visible === true) text += generatedName(node, '::before');
  }
  return clean(text, MAX_NAME).trim();
};

// While a snapshot names an element: whether parts of its name are seen, are not, and are what is drawn.
const PARTS = { seen: false, unseen: false, exact: true };
let parts = null;
const noteParts = () => {
  PARTS.seen = false;
  PARTS.unseen = false;
  PARTS.exact = true;
  parts = PARTS;
};

// Whether a text is not to be read; notes whether it is seen.
const isWithheld = (node, whole) => {
  if (characters(node).trim() === '') return false;
  if (whole) return isMaskedText(node);
  const sight = sightOf(node);
  if (parts && sight !== WITHHELD) parts[sight === SEEN ? 'seen' : 'unseen'] = true;
  return sight === WITHHELD;
};

const generatedName = (el, where) => {
  const part = generatedPart(el, where);
  if (!part) return '';
  if (parts) {
    parts.exact &&= part.text === part.drawn;
    if (part.text.trim()) parts[part.unseen ? 'unseen' : 'seen'] = true;
  }
  return part.text;
};


// Most elements that are named hold one piece of text and nothing else.
const onlyText = (el) => {
  const child = firstChild(el);
  if (!child || nextSibling(child) || !isText(child) || pageGenerates() || shadowRoot(el)) return null;
  if (ownership().ownedBy.has(el)) return null;
  return el instanceof HTMLSlotElement || el instanceof HTMLDetailsElement ? null : child;
};

const isInnerElement = (child) => typeof child !== 'string' && isElement(child);

class Leaving {
  constructor(title, from) { this.title = title; this.from = from; }
}

// The text that stands for an element in the name of another; null where its content does.
const toldInside = (el, referenced) => {
  const labelled = referenced ? '' : labelledBy(el);
  if (labelled) return labelled;
  const label = (attribute(el, 'aria-label') ?? '').trim();
  const role = roleOf(el);
  if (role === 'menu') return '';
  if (VALUED.has(role) && !(el instanceof HTMLButtonElement) && role !== 'listbox') return valueOf(el, role) || label;
  if (role === 'listbox' || (role === 'combobox' && !label)) {
    const chosen = chosenIn(el, role);
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

const VALUED = new Set(['textbox', 'searchbox', 'slider', 'spinbutton', 'progressbar', 'meter', 'scrollbar']);

// What is chosen in a list or a box with one; null when it is not a list of its own.
const chosenIn = (el, role) => {
  if (!valuesTold) return '';
  if (el instanceof HTMLSelectElement || el instanceof HTMLInputElement) return valueOf(el, role) ?? '';
  const stack = flatChildren(el).reverse();
  const chosen = [];
  let options = 0;
  for (; stack.length && nodesNamed < MAX_NAME_NODES; nodesNamed += 1) {
    const node = stack.pop();
    if (!isElement(node) || !visibility(node)) continue;
    const inner = roleOf(node);
    if (inner === 'option') {
      options += 1;
      if (attribute(node, 'aria-selected') === 'true') chosen.push(contentOf(node, CONTENT));
    } else if (inner === 'textbox' && isSecret(node)) {
      return '';
    } else {
      stack.push(...flatChildren(node).reverse());
    }
  }
  return options ? chosen.join(' ') : null;
};

const svgTitle = (svg) => {
  for (let child = firstChild(svg); child; child = nextSibling(child)) {
    if (isElement(child) && tagOf(child) === 'title') {
      const text = firstChild(child);
      return text && isText(text) ? characters(text) : '';
    }
  }
  return '';
};

const isDrawn = (el) => visibility(el) === true;

// What an element is called when another points at it.
const referencedText = (el) => {
  const label = (attribute(el, 'aria-label') ?? '').trim();
  if (label && !isSecret(el)) return label;
  const role = roleOf(el);
  if (VALUED.has(role) || role === 'combobox' || role === 'listbox') {
    const told = isSecret(el) ? '' : toldInside(el, true);
    if (told) return told;
  }
  if (isSecret(el)) return '';
  const native = nativeName(el).trim();
  if (native) return native;
  return (
    contentOf(el, { exclude: null, referenced: true, whole: !isDrawn(el) }) ||
    (attribute(el, 'title') ?? '').trim()
  );
};

const NOTHING = [];
const references = (el) => {
  const ids = attribute(el, 'aria-labelledby');
  if (!ids) return NOTHING;
  return ids.trim().split(/\s+/).slice(0, MAX_REFERENCES).map((id) => inSameTree(el, id)).filter(Boolean);
};

const labelledBy = (el) => {
  const parts = references(el);
  return parts.length ? parts.map(referencedText).filter(Boolean).join(' ').trim() : '';
};

const labelText = (label, control) =>
  (attribute(label, 'aria-label') ?? '').trim() ||
  contentOf(label, { exclude: control, referenced: true, whole: !isDrawn(label) });

const LABELLED = new Set('button input meter output progress select textarea'.split(' '));

// A page can make this slow, by labels that hold labels; those beyond it name nothing.
const LABEL_MILLISECONDS = 200;

// A control's own list of labels searches its whole tree each time; so each tree is searched once for all.
const labelsOf = (el) => {
  const root = getRootNode(el);
  const { labels } = knownNow();
  let byControl = labels.get(root);
  if (!byControl) {
    byControl = new Map();
    labels.set(root, byControl);
    const end = performance.now() + LABEL_MILLISECONDS;
    const found = root instanceof Document ? queryAll(root, 'label') : root instanceof ShadowRoot ? rootAll(root, 'label') : NOTHING;
    for (const label of found) {
      if (performance.now() > end) break;
      const control = LABEL.control(label);
      const known = byControl.get(control);
      if (!known) byControl.set(control, [label]);
      else if (known.length < MAX_REFERENCES) known.push(label);
    }
  }
  return byControl.get(el) ?? NOTHING;
};

const captionText = (el, tag) => {
  const caption = childByTag(el, tag);
  return caption && isDrawn(caption) ? contentOf(caption, CONTENT) : '';
};

const nativeName = (el) => {
  const tag = tagOf(el);
  if (LABELLED.has(tag)) {
    const name = labelsOf(el).map((label) => labelText(label, el)).filter(Boolean).join(' ').trim();
    if (name) return name;
  }
  switch (tag) {
    case 'input': return inputName(el);
    case 'img': case 'area': return attribute(el, 'alt') ?? '';
    case 'svg': return svgTitle(el);
    case 'option': return isMasked(el) ? '' : OPTION.label(el);
    case 'optgroup': return attribute(el, 'label') ?? '';
    case 'fieldset': return captionText(el, 'legend');
    case 'table': return captionText(el, 'caption') || (attribute(el, 'summary') ?? '');
    default: return '';
  }
};

const inputName = (el) => {
  if (isSecret(el)) return '';
  switch (INPUT.type(el)) {
    case 'submit': return attribute(el, 'value') ?? 'Submit';
    case 'reset': return attribute(el, 'value') ?? 'Reset';
    case 'button': return attribute(el, 'value') ?? '';
    case 'image': return attribute(el, 'alt') || attribute(el, 'value') || attribute(el, 'title') || 'Submit';
    default: return '';
  }
};

// Names that do not come from what is inside.
const ownName = (el) => {
  if (nesting === 0) nodesNamed = 0;
  return labelledBy(el) || (attribute(el, 'aria-label') ?? '').trim() || nativeName(el).trim();
};

// Rows and formulas only where the author says that they are ones.
const namedByContent = (el, role) =>
  (NAME_FROM_CONTENT.has(role) || ((role === 'row' || role === 'math') && hasAttribute(el, 'role'))) &&
  !(el instanceof HTMLInputElement) && !(el instanceof HTMLTextAreaElement);

const TITLE_IS_NO_NAME = new Set(['caption', 'code', 'definition', 'paragraph']);
const TYPED = new Set(['combobox', 'searchbox', 'spinbutton', 'textbox']);

const nameOf = (el, role) => clean(ownName(el) || otherName(el, role), MAX_NAME).trim();

// The name of what has none of its own.
const otherName = (el, role) =>
  (namedByContent(el, role) ? textOf(el) : '') ||
  (TITLE_IS_NO_NAME.has(role) || attribute(el, 'alt') === '' ? '' : (attribute(el, 'title') ?? '').trim()) ||
  (TYPED.has(role) ? (attribute(el, 'placeholder') ?? attribute(el, 'aria-placeholder') ?? '').trim() : '');
