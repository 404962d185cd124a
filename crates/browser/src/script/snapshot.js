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

// The driver tells which child frame an <iframe> shows.
const childFrames = new WeakMap();
const frameOwners = new Map();
const adoptFrame = (owner, frame) => {
  childFrames.set(owner, frame);
  frameOwners.set(frame, new WeakRef(owner));
  return true;
};

// Calls visit(element, role, depth) → { depth, silent } for its children, or null to leave them out;
// text(data, depth) for text. Without recursion: depth 10,000 is a page like any other.
const walk = (root, visit, text, brk) => {
  const started = performance.now();
  const nodes = [root];
  const depths = [0];
  const silents = [false];
  const BREAK = null;
  let visited = 0;
  while (nodes.length) {
    const node = nodes.pop();
    const depth = depths.pop();
    const silent = silents.pop();
    if (node === BREAK) { brk(); continue; }
    visited += 1;
    if (visited > MAX_VISITED || ((visited & 1023) === 0 && performance.now() - started > MAX_MILLISECONDS)) {
      return { visited, complete: false };
    }
    if (isText(node)) { if (!silent) text(node, depth); continue; }
    if (!isElement(node)) continue;
    const seen = visibility(node);
    if (!seen) continue;
    const below = seen === 'inside' ? { depth, silent: true } : visit(node, roleOf(node), depth, silent);
    if (!below) continue;
    const block = !INLINE.has(tagOf(node));
    if (block) { brk(); nodes.push(BREAK); depths.push(0); silents.push(false); }
    const children = flatChildren(node);
    for (let i = children.length - 1; i >= 0; i -= 1) {
      nodes.push(children[i]);
      depths.push(below.depth);
      silents.push(seen === 'inside' && isElement(children[i]) ? silent : below.silent);
    }
  }
  return { visited, complete: true };
};

const LEAVES = new Set(
  'textbox searchbox spinbutton slider progressbar meter scrollbar img iframe separator'.split(' '),
);

// What a node takes in JSON besides its text: as many bytes as its keys, or those and all of its states.
const TEXT_COST = 40;
const NODE_COST = 320;
// The largest text that may still be added when there is room at all, and the title.
const RESERVE = 40000;

// Chromium writes what is not plain ASCII as six characters.
const weigh = (text) => (text ? text.length + 5 * (text.match(/[^ !#-[\]-~]/g)?.length ?? 0) : 0);

const snapshot = ({ prefix, nodes: mostNodes, bytes }) => {
  const nodes = [];
  let written = RESERVE;
  let left = 0;
  let open = null; // the text that more inline text may join
  const full = () => nodes.length >= mostNodes || written >= bytes;
  const emit = (node) => {
    nodes.push(node);
    const cost = node.r === 'text' ? TEXT_COST : node.s ? NODE_COST : NODE_COST / 2;
    written += cost + weigh(node.n) + weigh(node.v) + weigh(node.u);
  };

  const visit = (el, role, depth, silent) => {
    const actionable = isActionable(el, role);
    const tag = tagOf(el);
    if (!role && !actionable) return tag === 'svg' ? null : { depth, silent };
    if (full()) { left += 1; return { depth, silent: true }; }
    const name = nameOf(el, role || 'button');
    if (role === 'img' && !name) return null;
    open = null;
    const node = { d: depth, r: role || 'generic' };
    if (name) node.n = name;
    const states = statesOf(el, role);
    const secret = isSecret(el);
    if (secret) states.secret = true;
    const value = valueOf(el, role);
    if (value) node.v = value;
    if (Object.keys(states).length) node.s = states;
    if (actionable) node.e = `${prefix}e${refOf(el)}`;
    if (role === 'link' && (el instanceof HTMLAnchorElement)) node.u = hrefOf(el).slice(0, 500);
    if (role === 'iframe') node.f = childFrames.get(el) ?? '';
    emit(node);
    if (LEAVES.has(role) || secret || tag === 'svg') return null;
    const named = NAME_FROM_CONTENT.has(role) || (!role && actionable);
    return { depth: Math.min(depth + 1, MAX_DEPTH), silent: named };
  };

  const text = (node, depth) => {
    // Six bytes a character at worst, so that one text cannot take an answer over its bounds.
    const most = Math.min(MAX_TEXT, Math.max(LEAST_TEXT, Math.floor((bytes - written) / 6)));
    const data = clean(characters(node), most);
    if (data.trim() && isMaskedText(node)) return;
    if (data.length > most) left += 1; // it was cut, and ends in a mark of that
    if (open && open.d === depth) {
      const joined = open.n + (open.n.endsWith(' ') ? data.trimStart() : data);
      if (joined.length <= MAX_TEXT * 2 && !full()) { written += weigh(data); open.n = joined; return; }
    }
    if (!data.trim()) return;
    if (full()) { left += 1; return; }
    open = { d: depth, r: 'text', n: data.trimStart() };
    emit(open);
  };

  const root = documentElement(document);
  const walked = root ? walk(root, visit, text, () => { open = null; }) : { complete: true };
  for (const node of nodes) if (node.r === 'text') node.n = node.n.trimEnd();
  return { nodes, left, complete: walked.complete, title: clean(title(document), MAX_NAME), status: responseStatus() };
};

const responseStatus = () => {
  const entry = performance.getEntriesByType('navigation')[0];
  return entry && entry.responseStatus ? entry.responseStatus : null;
};
