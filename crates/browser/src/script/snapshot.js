// One walk over one frame: a flat, pre-order list of what a screen reader would tell.

// Bounds of one frame's snapshot, beside those that the driver sets. Beyond them nodes are counted, not described.
const MAX_VISITED = 400000;
const MAX_TEXT = 1000000;
// A text gets at least this much of what is left, in characters.
const LEAST_TEXT = 2000;
const MAX_MILLISECONDS = 2000;
const MAX_DEPTH = 60;

// A ref lives as long as its element and is never given to another.
const refs = new WeakMap();
const elements = new Map();
const forgetDead = new FinalizationRegistry((number) => elements.delete(number));
let lastRef = 0;

const refOf = (el) => {
  let number = refs.get(el);
  if (number === undefined) {
    lastRef += 1;
    number = lastRef;
    refs.set(el, number);
    elements.set(number, new WeakRef(el));
    forgetDead.register(el, number);
  }
  return number;
};

// What was last told of an element, for when it is gone. Of refs beyond the bound the oldest are forgotten.
const MOST_TOLD = 50000;
const lastTold = new Map();
const remember = (number, role, name) => {
  if (lastTold.size >= MOST_TOLD && !lastTold.has(number)) lastTold.delete(lastTold.keys().next().value);
  lastTold.set(number, { role, name });
};

// The driver tells which child frame an <iframe> shows.
const childFrames = new WeakMap();
const frameOwners = new Map();
const adoptFrame = (owner, frame) => {
  childFrames.set(owner, frame);
  frameOwners.set(frame, new WeakRef(owner));
  return true;
};

// While a modal dialog is open nothing else can be reached, and nothing else is told. Last first, as on a stack.
const modalDialogs = () => {
  const open = Array.from(queryAll(document, 'dialog:modal'));
  const outer = open.filter((dialog) => !closest(parentNode(dialog), 'dialog:modal'));
  return outer.length ? outer.reverse() : null;
};

// Calls visit(element, role, depth, silent, hidden) → { depth, silent } for its children, or null to leave them out;
// text(node, depth, hidden) for text. Without recursion: depth 10,000 is a page like any other.
const walk = (root, visit, text, brk, tellHidden = false) => {
  try {
    return walkAll(root, visit, text, brk, tellHidden);
  } finally {
    lookAt(null);
  }
};

const walkAll = (root, visit, text, brk, tellHidden) => {
  const started = performance.now();
  const nodes = modalDialogs() ?? [root];
  const depths = nodes.map(() => 0);
  const silents = nodes.map(() => false);
  const hiddens = nodes.map(() => SHOWN);
  // Whether the parent is drawn, and one whose children are.
  const drawns = nodes.map(() => false);
  const BREAK = null;
  let visited = 0;
  while (nodes.length) {
    const node = nodes.pop();
    const depth = depths.pop();
    const silent = silents.pop();
    const around = hiddens.pop();
    const drawn = drawns.pop();
    if (node === BREAK) { brk(); continue; }
    visited += 1;
    if (visited > MAX_VISITED || ((visited & 1023) === 0 && performance.now() - started > MAX_MILLISECONDS)) {
      return { visited, complete: false };
    }
    if (typeof node === 'string' || node instanceof Generated || isText(node)) { if (!silent) text(node, depth, around); continue; }
    if (!isElement(node)) continue;
    lookAt(node);
    const seen = (drawn && isDrawnWithParent(node)) || visibility(node);
    const hidden = hiddenness(node, seen, around, tellHidden);
    if (hidden === GONE) continue;
    const below = seen === 'inside' && hidden !== TOLD ? { depth, silent: true } : visit(node, roleOf(node), depth, silent, hidden);
    if (!below) continue;
    const block = !INLINE.has(tagOf(node));
    if (block) { brk(); nodes.push(BREAK); depths.push(0); silents.push(false); hiddens.push(SHOWN); drawns.push(false); }
    // What only holds text that its name has told.
    if (!tellHidden && below.silent && !firstElementChild(node) && !shadowRoot(node) && !ownership().ownedBy.has(node)) continue;
    const children = tellHidden ? allChildren(node) : toldChildren(node);
    if (seen === true && !below.silent) {
      const [before, after] = [generatedPart(node, '::before'), generatedPart(node, '::after')];
      if (before) children.unshift(before);
      if (after) children.push(after);
    }
    const draws = seen === true && PLAIN.has(tagOf(node)) && isHtml(node) && !(suspectedOf(node) & HIDE) && ownership().ownerOf.size === 0;
    for (let i = children.length - 1; i >= 0; i -= 1) {
      nodes.push(children[i]);
      drawns.push(draws);
      depths.push(below.depth);
      silents.push(seen === 'inside' && hidden !== TOLD && isInnerElement(children[i]) ? silent : below.silent);
      hiddens.push(seen === 'inside' && isInnerElement(children[i]) ? around : tellHidden && isFoldedAway(node, children[i]) ? TOLD : hidden);
    }
  }
  return { visited, complete: true };
};

const LEAVES = new Set(
  'textbox searchbox spinbutton slider progressbar meter scrollbar img iframe separator'.split(' '),
);

// What a node takes besides its text, in bytes: its depth and role, or those and all of its states.
const TEXT_COST = 16;
const NODE_COST = 400;
// The largest text that may still be added when there is room at all, and the title.
const RESERVE = 40000;

// Chromium writes what is not plain ASCII as six characters, and puts a backslash before some of what is.
const weigh = (text) => {
  if (!text) return 0;
  if (/[^ -~]/.test(text)) return text.length + 5 * text.match(/[^ !#-[\]-~]/g).length;
  return /["\\]/.test(text) ? 2 * text.length : text.length;
};

// The label of a box to tick is its name and stands beside it: telling it twice helps nobody.
const isRepeated = (el) => {
  if (!(el instanceof HTMLLabelElement)) return false;
  const control = LABEL.control(el);
  const type = control ? inputType(control) : null;
  if (type !== 'checkbox' && type !== 'radio') return false;
  if (filled(control, 'aria-label') || filled(control, 'aria-labelledby') || visibility(control) !== true) return false;
  return !querySelector(el, 'a, button, select, textarea, input:not([type=checkbox i], [type=radio i]), [tabindex], [role], h1, h2, h3, h4, h5, h6, img');
};

const nameToTell = (el, role, actionable) => {
  if (!role) return actionable ? clean(otherName(el, 'button'), MAX_NAME).trim() : '';
  return TOLD_BELOW.has(role) && !actionable ? '' : clean(otherName(el, role), MAX_NAME).trim();
};

// Whether what a node is told by cannot be seen.
const isUnseenNode = (el, role, { n: name, v: value, w: shows }, actionable, own, unseen) => {
  if (unseen && !shows) return true;
  if ((value || (own && INPUT_BUTTONS.has(inputType(el)))) && isInkLost(el)) return true;
  if (actionable) return isUnseenBox(el) && !labelShows(el);
  return role === 'img' && name ? isUnseenBox(el, true) : Boolean(name) && own !== '' && lookOf(el).gone;
};

// A page so large that garbage should be collected before it is read, and again after so many elements were: what is left
// of parsing it takes as much as the page, and V8 does not know how little memory a jail has.
const LARGE_PAGE = 20000;
const MOST_UNSWEPT = 1000000;
const LARGE = 'large';
const countElements = () => lengthOf(byTag(document, '*'));
const isLarge = () => countElements() > LARGE_PAGE;
let readSinceSwept = MOST_UNSWEPT;

const isSweepDue = (swept) => {
  const elements = countElements();
  if (elements <= LARGE_PAGE) return false;
  if (swept) readSinceSwept = 0;
  if (readSinceSwept + elements > MOST_UNSWEPT && !swept) return true;
  readSinceSwept += elements;
  return false;
};

// `sources`, which tests hand in, takes the DOM node of each node told.
const snapshot = ({ prefix, nodes: mostNodes, bytes, options = {}, links = true, swept = true, known = null, sources = null }) => {
  if (isSweepDue(swept)) return LARGE;
  tellValues(options);
  const tellHidden = options.exclude_hidden_elements === false;
  const nodes = [];
  let written = RESERVE;
  let left = 0;
  let open = null; // the text that more inline text may join
  const full = () => nodes.length >= mostNodes || written >= bytes;
  const emit = (node, source) => {
    nodes.push(node);
    sources?.push(source);
    const cost = node.r === 'text' ? TEXT_COST : node.s ? NODE_COST : NODE_COST / 2;
    written += cost + weigh(node.n) + weigh(node.v) + weigh(node.u) + weigh(node.w);
  };

  const visit = (el, role, depth, silent, around) => {
    const actionable = isActionable(el, role);
    const hidden = around === TOLD && actionable && isReached(el) ? REACHED : around;
    if (around === REACHED && !(actionable && isReached(el))) return { depth, silent: true };
    const tag = tagOf(el);
    if (!role && !actionable && !filled(el, 'aria-label') && !filled(el, 'aria-labelledby')) {
      return { depth, silent: silent || isRepeated(el) };
    }
    if (full()) { left += 1; return { depth, silent: true }; }
    const own = clean(ownName(el), MAX_NAME).trim();
    noteParts();
    const name = own || hidden === TOLD ? own : nameToTell(el, role, actionable);
    parts = null;
    if (!role && !actionable && !name) return { depth, silent };
    // Inside what its name tells, only what has a name or can be acted on is worth a line.
    if (silent && !name && !actionable) return { depth, silent };
    open = null;
    const node = { d: depth, r: role || 'generic' };
    if (name) node.n = name;
    const states = statesOf(el, role);
    const secret = isSecret(el);
    if (secret) states.secret = true;
    const value = secret || hidden === TOLD ? null : valueIn(el, role);
    if (value) node.v = value;
    if (hidden !== SHOWN) states.hidden = true;
    // Most nodes of a long page are neither named by something unseen nor by anything but their content.
    if (hidden !== TOLD && (actionable || own || PARTS.unseen || value || role === 'img')) {
      const { unseen, seen } = PARTS;
      const shows = shownInstead(el, role, name, actionable, own);
      if (shows) node.w = shows;
      if (hidden === SHOWN && isUnseenNode(el, role, node, actionable, own, unseen && !seen)) states.unseen = true;
    }
    if (Object.keys(states).length) node.s = states;
    // There is nothing that an agent may do to a secret field, unless a setting says that it may point at it.
    if (actionable && hidden !== TOLD && (!secret || options.exclude_password_fields === false)) {
      const number = refOf(el);
      node.e = `${prefix}e${number}`;
      remember(number, node.r, name);
    }
    if (links && role === 'link' && el instanceof HTMLAnchorElement) node.u = boundedAddress(hrefOf(el), 500);
    if (role === 'iframe' && hidden !== TOLD) node.f = childFrames.get(el) ?? '';
    emit(node, el);
    if (LEAVES.has(role) || secret) return null;
    // A name that was cut does not tell all; then the content does.
    if (hidden === TOLD) return { depth: Math.min(depth + 1, MAX_DEPTH), silent };
    const told = name.length <= MAX_NAME && (role ? namedByContent(el, role) && !TOLD_BELOW.has(role) : actionable && !own);
    return { depth: Math.min(depth + 1, MAX_DEPTH), silent: silent || told };
  };

  // A long text is told in parts.
  const text = (node, depth, hidden) => {
    const whole = typeof node === 'string' ? node : node instanceof Generated ? node.text : characters(node);
    let mark = hidden === TOLD ? 'hidden' : null;
    if (typeof node !== 'string' && /\S/.test(whole)) {
      const sight = node instanceof Generated ? (node.unseen ? UNSEEN_TEXT : SEEN) : sightOf(node);
      if (sight === WITHHELD && (!tellHidden || isMaskedText(node))) return;
      if (sight === WITHHELD) mark = 'hidden';
      if (sight === UNSEEN_TEXT) mark ??= 'unseen';
    } else {
      // Space alone goes with what is before it.
      mark = open?.mark ?? null;
    }
    for (let from = 0; from < whole.length;) {
      if (full()) { left += 1; return; }
      // Six bytes a character at worst, so that one text cannot take an answer over its bounds.
      const most = Math.min(MAX_TEXT, Math.max(LEAST_TEXT, Math.floor((bytes - written) / 6)));
      const cut = from + most;
      const to = cut < whole.length && /[\ud800-\udbff]/.test(whole[cut - 1]) ? cut + 1 : cut;
      textPart(whole.slice(from, to), depth, mark);
      from = to;
    }
  };

  // Text that can be seen and text that cannot are never joined. White space is one space by now, if that.
  const textPart = (part, depth, mark) => {
    const data = clean(part, part.length);
    if (open && open.node.d === depth && open.mark === mark) {
      const { node } = open;
      const more = open.spaced && data.startsWith(' ') ? data.slice(1) : data;
      if (node.n.length + more.length <= MAX_TEXT * 2 && !full()) {
        written += weigh(more);
        node.n += more;
        if (more) open.spaced = more.endsWith(' ');
        return;
      }
    }
    if (data === '' || data === ' ') return;
    const name = data.startsWith(' ') ? data.slice(1) : data;
    open = { node: { d: depth, r: 'text', n: name }, mark, spaced: data.endsWith(' ') };
    if (mark) open.node.s = { [mark]: true };
    emit(open.node, null);
  };

  const root = documentElement(document);
  const walked = root ? walk(root, visit, text, () => { open = null; }, tellHidden) : { complete: true };
  for (const node of nodes) if (node.r === 'text') node.n = node.n.trimEnd();
  dropEmpty(nodes, sources);
  const about = { left, complete: walked.complete, title: clean(title(document), MAX_NAME), status: responseStatus() };
  return sources ? JSON.stringify({ nodes, ...about }) : tell(nodes, about, known, `${prefix} ${links}`);
};

// A paragraph that holds nothing is left by markup that HTML does not allow; it is nothing to read.
const dropEmpty = (nodes, sources) => {
  let kept = 0;
  for (let at = 0; at < nodes.length; at += 1) {
    const node = nodes[at];
    const empty = node.r === 'paragraph' && !node.n && !node.e && !(nodes[at + 1]?.d > node.d);
    if (empty) continue;
    nodes[kept] = node;
    if (sources) sources[kept] = sources[at];
    kept += 1;
  }
  nodes.length = kept;
  if (sources) sources.length = kept;
};

const responseStatus = () => {
  const entry = performance.getEntriesByType('navigation')[0];
  return entry && entry.responseStatus ? entry.responseStatus : null;
};
