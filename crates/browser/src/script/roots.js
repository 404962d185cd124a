// Closed shadow roots: whether there are any that are not known yet, and taking them in.
//
// No script can see a closed root, so Chromium is asked for them, which takes a while. It is asked only when it
// counts more nodes than this script can see.

// A closed root beyond this many is not read, and the snapshot says that it is not whole.
const MOST_CLOSED = 2000;
// Chromium describes a tree as deep as it is; deeper ones are described in parts, from these tops on.
const TREE_DEPTH = 40;
const MOST_TREES = 1000;
// What a description takes in bytes, apart from texts and attributes; and what of a text is told in one.
const NODE_BYTES = 250;
const TEXT_DESCRIBED = 10000;
let adopted = 0;
let fresh = [];
let trees = [];

// Whether elements came or went since nodes were counted.
let stirred = true;
const isStill = () => {
  noticeRecords(passwordObserver.takeRecords());
  return !stirred && readyState(document) !== 'loading';
};

const adoptRoot = (root) => {
  if (!(root instanceof ShadowRoot) || adopted >= MOST_CLOSED) return false;
  const host = rootHost(root);
  if (closedRoots.has(host)) return true;
  closedRoots.set(host, root);
  adopted += 1;
  fresh.push(root);
  watchForPasswords(root);
  noticeTree(root);
  guardRoot(root);
  return true;
};

// The only elements that may have a shadow root, besides those with names of their own.
const HOSTS = new Set(
  'article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span'.split(' '),
);
const canHost = (el) => HOSTS.has(tagOf(el)) || tagOf(el).includes('-');

const COUNTED =
  NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT | NodeFilter.SHOW_CDATA_SECTION | NodeFilter.SHOW_COMMENT;

// All nodes that Chromium finds when it searches for nothing in particular: elements, texts and comments. Not counted
// again, unless it is to be, where nothing came or went.
const countNodes = ({ anew }) => {
  if (!anew && isStill()) return { count: 0, same: true };
  noticeRecords(passwordObserver.takeRecords());
  stirred = false;
  let count = 0;
  const tops = [documentElement(document)];
  while (tops.length) {
    const top = tops.pop();
    if (!top) continue;
    const walker = createTreeWalker(document, top, COUNTED);
    for (let node = currentNode(walker); node; node = nextNode(walker)) {
      const type = nodeType(node);
      if (type === 11) continue;
      count += 1;
      if (count > MAX_VISITED) return { count: null, same: false };
      if (type !== 1) continue;
      noticeField(node);
      const root = canHost(node) ? shadowRoot(node) : null;
      if (root) { watchForPasswords(root); tops.push(root); }
    }
  }
  return { count, same: false };
};

const weighText = (text, most) => (text.length > 100000 ? 6 * Math.min(text.length, most) : weigh(text));

const weighElement = (el) => {
  let bytes = NODE_BYTES;
  for (const name of attributeNames(el)) bytes += 16 + weighText(name, Infinity) + weighText(attribute(el, name) ?? '', Infinity);
  return bytes;
};

// Sets out the trees to be described, all or those that were taken in since; tells how many, and whether that is all.
const setOutTrees = ({ all, bytes }) => {
  const tops = new Set(all ? [documentElement(document)].filter(Boolean) : fresh);
  fresh = [];
  trees = [];
  let whole = true;
  let visited = 0;
  // A set is walked through to its end, with what is added meanwhile.
  for (const top of tops) {
    let weight = 0;
    let hosts = 0;
    const waiting = [top];
    const depths = [0];
    while (waiting.length) {
      const node = waiting.pop();
      const depth = depths.pop();
      visited += 1;
      if (visited > MAX_VISITED) return { trees: trees.length, whole: false };
      const type = nodeType(node);
      if (type === 1) {
        weight += weighElement(node);
        const root = shadowRoot(node);
        if (root) tops.add(root);
        else hosts += canHost(node);
      } else if (type === 3 || type === 4 || type === 8) {
        weight += NODE_BYTES + weighText(characters(node), TEXT_DESCRIBED);
      }
      if (depth === TREE_DEPTH) {
        if (firstChild(node)) tops.add(node);
        continue;
      }
      for (let child = firstChild(node); child; child = nextSibling(child)) {
        waiting.push(child);
        depths.push(depth + 1);
      }
    }
    if (!hosts) continue;
    if (weight <= bytes && trees.length < MOST_TREES) trees.push(top);
    else whole = false;
  }
  return { trees: trees.length, whole };
};

const treeAt = (at) => trees[at] ?? null;

const rootsLooked = () => {
  trees = [];
  return true;
};
