// Where a picture is to be covered: fields that hold something, words that are drawn as text, and what draws by itself.
//
// The page's text is told to the driver, and the driver looks for words in it: what was typed into one site is not
// handed to the scripts' process of another. Then the places are measured, and watched while the picture is taken.

// A page with more text than this, in UTF-16 units, is not covered.
const MOST_COVER_TEXT = 2000000;
// With more boxes than this the whole frame is covered.
const MOST_COVERS = 1000;
const MOST_WATCHED = 200;
// A page with more fields that are not covered than this is taken for one that fills them.
const MOST_INPUTS = 5000;
// What came up while a picture was taken, in UTF-16 units and in changes; what more there is is not known.
const MOST_PASSED = 400000;
const MOST_CHANGES = 5000;
// What is read to find that out, in UTF-16 units: a page can change a little in the midst of a long text without end.
const MOST_PASSED_READ = 20000000;
// How much of the text beside a change is noted with it: a word may begin or end there.
const LEAST_AROUND = 120;
const MOST_AROUND = 2000;
// What a picture that was broken off has left is not watched for longer.
const WATCH_MILLISECONDS = 10000;

const setStart = method(Range, 'setStart');
const setEnd = method(Range, 'setEnd');
const selectContents = method(Range, 'selectNodeContents');
const rangeRects = method(Range, 'getClientRects');
const rangeBox = method(Range, 'getBoundingClientRect');
const textContent = getter(Node, 'textContent');
const ownerSvg = getter(SVGElement, 'ownerSVGElement');
const rootAnimations = method(ShadowRoot, 'getAnimations');
const keyframesOf = method(KeyframeEffect, 'getKeyframes');
const validityOf = getter(HTMLInputElement, 'validity');
const isBadInput = getter(ValidityState, 'badInput');

const UNDRAWN_TEXT = new Set('script style template noscript title'.split(' '));
// Unless a style draws them all the same.
const isNotDrawn = (el) => UNDRAWN_TEXT.has(localName(el)) && getComputedStyle(el).display === 'none';
const PAINTED = new Set('canvas video embed object'.split(' '));
const LABELLED_BUTTONS = new Set(['button', 'submit', 'reset']);
const NO_TEXT_INPUTS = new Set(['checkbox', 'radio', 'range', 'color', 'hidden', ...LABELLED_BUTTONS, 'image']);
const DRAWN_ATTRIBUTES = ['placeholder', 'alt', 'label'];
const WATCHED_ATTRIBUTES = [...DRAWN_ATTRIBUTES, 'value', 'type', 'href'];
// Animations of these alone move nothing.
const UNMOVING = new Set(
  'offset computedOffset easing composite opacity color backgroundColor borderColor outlineColor fill stroke boxShadow'.split(' '),
);

let covering = null;

const isTextInput = (el) => el instanceof HTMLInputElement && !NO_TEXT_INPUTS.has(INPUT.type(el));

// What an element draws that is no text node of the page's.
const drawnText = (el, tag, generates) => {
  const told = [];
  if (el instanceof HTMLInputElement && LABELLED_BUTTONS.has(INPUT.type(el))) told.push(INPUT.value(el));
  if (tag === 'use') {
    const id = (attribute(el, 'href') ?? attribute(el, 'xlink:href') ?? '').replace(/^#/, '');
    const used = id ? inSameTree(el, id) : null;
    if (used) told.push(textContent(used));
  }
  for (const name of attributeNames(el)) {
    if (DRAWN_ATTRIBUTES.includes(name) || (generates && !PLAIN_ATTRIBUTES.has(name))) told.push(getAttribute(el, name));
  }
  return told;
};

const isCoverable = (el) =>
  isTextInput(el) || el instanceof HTMLTextAreaElement || (askAttribute(el, 'contenteditable') && isHtml(el) && isEditingHost(el));

// All text of the frame, and the elements that may have to be covered whatever they say. With `again`, what came up since
// the last look is kept in mind.
const coverText = ({ words, drawings, secrets, again }) => {
  const before = words && again ? covering : null;
  const passed = words && again ? passedText() : '';
  endCovering();
  const roots = [document];
  const [parts, starts, nodes, fields, drawn, beside, inputs] = [[], [], [], [], [], [], []];
  let length = 0;
  let visited = 0;
  const add = (node, text) => {
    starts.push(length);
    nodes.push(node);
    parts.push(text);
    length += text.length;
  };
  const generates = words && pageGenerates();
  // Fields that are covered only if there are words in them.
  let searched = false;
  for (const root of roots) {
    const walker = createTreeWalker(document, root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = nextNode(walker); node; node = nextNode(walker)) {
      visited += 1;
      if (visited > MAX_VISITED || length > MOST_COVER_TEXT) return { text: '', all: false, found: false, fields: true, still: isStill() };
      if (isText(node)) {
        const parent = words ? parentNode(node) : null;
        if (parent && !(isElement(parent) && isNotDrawn(parent))) add(node, characters(node));
        continue;
      }
      const tag = localName(node);
      const inside = canHost(node) ? shadowRoot(node) : null;
      if (inside) roots.push(inside);
      if (isCoverable(node)) {
        if (words && isField(node)) inputs.push(node);
        if (!secrets || isSecret(node)) fields.push(node);
        else if (words) {
          searched = true;
          if (isField(node)) beside.push([node, fieldValue(node)]);
        }
      }
      if (drawings && PAINTED.has(tag)) drawn.push(node);
      if (words) for (const text of drawnText(node, tag, generates)) if (text) beside.push([node, text]);
    }
    if (words) add(null, '\0');
  }
  for (const [node, text] of beside) {
    if (length > MOST_COVER_TEXT) break;
    add(node, text);
    add(null, '\0');
  }
  const observer = new MutationObserver((records) => { if (covering === mine) noteChanges(mine, records); });
  const mine = { starts, nodes, fields, drawn, roots, generates, observer, passed, changes: 0, read: 0, watched: [], inputs, values: [], filled: false, frame: 0, sizes: null, measured: null, carried: false };
  // A root that is new may have held anything meanwhile: nobody watched it.
  if (before && roots.some((root) => !before.roots.includes(root))) mine.passed = null;
  covering = mine;
  setTimeout(() => { if (covering === mine) endCovering(); }, WATCH_MILLISECONDS);
  const watched = { subtree: true, childList: true, characterData: true, characterDataOldValue: true, attributes: true, attributeOldValue: true };
  // What is told from any attribute cannot be listed.
  if (!generates) watched.attributeFilter = WATCHED_ATTRIBUTES;
  if (words) for (const root of roots) observer.observe(root, watched);
  const all = length <= MOST_COVER_TEXT;
  const found = drawn.length > 0 || designMode(document) === 'on' || fields.some(holdsText);
  return { text: all ? parts.join('').toWellFormed() : '', all, found, fields: searched || fields.length > 0, still: isStill() };
};

const endCovering = () => {
  if (!covering) return;
  lookNoMore(covering);
  covering.observer.disconnect();
  for (const { observer } of covering.watched) observer?.disconnect();
  covering = null;
};

const isDrawnFrom = (name, generates) => WATCHED_ATTRIBUTES.includes(name) || (generates && !PLAIN_ATTRIBUTES.has(name));

const fieldValue = (field) => (field instanceof HTMLInputElement ? INPUT : TEXTAREA).value(field);
// A number or a date that is none has no value, and is drawn as it was typed.
const BAD = '\0';
const textIn = (field) => fieldValue(field) || (field instanceof HTMLInputElement && isBadInput(validityOf(field)) ? BAD : '');
const holdsText = (el) => (isField(el) ? textIn(el) !== '' : textContent(el).trim() !== '');

// A field can be filled and emptied again without a trace, so those that are not covered are looked at whenever the page is
// drawn: after its own scripts have run and before anybody sees it, which is when a new observer of sizes is called.
const watchValues = (mine) => {
  const boxed = new Set(mine.fields.filter(holdsText));
  mine.values = mine.inputs.filter((el) => !boxed.has(el)).map((el) => [el, textIn(el)]);
  mine.filled = mine.values.length > MOST_INPUTS;
  if (mine.values.length && !mine.filled) lookAtEachFrame(mine);
};
const lookAtEachFrame = (mine) => {
  mine.frame = requestAnimationFrame(() => {
    lookAtValues(mine);
    mine.sizes?.disconnect();
    mine.sizes = new ResizeObserver(() => lookAtValues(mine));
    const top = documentElement(document);
    if (top) mine.sizes.observe(top);
    lookAtEachFrame(mine);
  });
};
const lookNoMore = (mine) => {
  cancelAnimationFrame(mine.frame);
  mine.sizes?.disconnect();
};
const lookAtValues = (mine) => { mine.filled ||= mine.values.some(([el, value]) => textIn(el) !== value); };

// How far a text is drawn beyond its box: by shadows, and by all that smears. null: anywhere.
const smearOf = (el) => {
  let reach = 0;
  const widen = (style) => { for (const [, number] of style.matchAll(/(-?[\d.]+)px/g)) reach = Math.max(reach, 2 * Math.abs(number)); };
  widen(getComputedStyle(el).textShadow);
  for (let at = el; at && isElement(at); at = flatParent(at)) {
    const style = getComputedStyle(at);
    if (style.webkitBoxReflect && style.webkitBoxReflect !== 'none') return null;
    if (style.filter !== 'none') widen(style.filter);
  }
  return reach;
};

const generatesAside = (el) => ['::before', '::after'].some((where) => {
  const style = getComputedStyle(el, where);
  return !['none', 'normal', ''].includes(style.content) && (style.position === 'absolute' || style.position === 'fixed') && style.visibility === 'visible' && style.opacity !== '0';
});

// Boxes of [left, top, right, bottom], in the frame's view, and whether they are all. With `watch`, what is boxed is
// noted down to be watched.
const boxesOf = ({ fields, drawn, starts, nodes }, ranges, watch) => {
  const boxes = [];
  let whole = designMode(document) === 'on';
  const box = ({ left, top, right, bottom }, reach) => {
    if (right <= left || bottom <= top) return;
    const around = reach + 2 + Math.min(16, (bottom - top) * 0.15);
    boxes.push([left - around, top - around, right + around, bottom + around]);
  };
  const element = (el) => { watch(el); box(boundingRect(el), 0); };
  for (const el of fields) {
    if (!holdsText(el)) continue;
    element(el);
    if (isField(el)) continue;
    const range = createRange(document);
    selectContents(range, el);
    box(rangeBox(range), 0);
  }
  for (const el of drawn) element(el);
  let at = 0;
  for (let i = 0; i < ranges.length && boxes.length <= MOST_COVERS; i += 2) {
    const [from, to] = [ranges[i], ranges[i + 1]];
    while (at + 1 < starts.length && starts[at + 1] <= from) at += 1;
    for (let piece = at; piece < starts.length && starts[piece] < to; piece += 1) {
      const node = nodes[piece];
      if (!node) continue;
      if (isElement(node)) {
        whole ||= generatesAside(node);
        element(closest(node, 'select') ?? node);
        continue;
      }
      const parent = parentOrHost(node);
      if (!parent || !isElement(parent)) continue;
      const range = createRange(document);
      const size = characters(node).length;
      setStart(range, node, Math.min(size, Math.max(0, from - starts[piece])));
      setEnd(range, node, Math.min(size, to - starts[piece]));
      const drawnAt = Array.from(rangeRects(range));
      const list = closest(parent, 'select');
      // One that the page draws itself shows what is chosen on its button too.
      if (list && (!drawnAt.length || isDrawnByPage(list))) element(list);
      if (!drawnAt.length) continue;
      watch(parent);
      const reach = smearOf(parent);
      whole ||= reach === null;
      for (const rect of drawnAt) box(rect, reach ?? 0);
    }
  }
  return { boxes: boxes.slice(0, MOST_COVERS), whole: whole || boxes.length > MOST_COVERS };
};

const isUpright = (el) => {
  for (let at = el; at && isElement(at); at = flatParent(at)) {
    const { transform, rotate, perspective, offsetPath } = getComputedStyle(at);
    if (rotate !== 'none' || perspective !== 'none' || (offsetPath && offsetPath !== 'none')) return false;
    if (transform !== 'none' && !/^matrix\([^,]+, 0, 0, [^,]+, [^,]+, [^,]+\)$/.test(transform)) return false;
  }
  return true;
};

// Where the inside of a child frame begins, how large its units are, and its box; null for one that is not shown.
const placeOf = (frame) => {
  const owner = frameOwners.get(frame)?.deref();
  if (!owner || !isConnected(owner)) return null;
  const { left, top, right, bottom } = boundingRect(owner);
  const [zero, one] = [insideFrame(owner, 0, 0), insideFrame(owner, 1, 1)];
  watchBox(owner);
  return { x: zero.x, y: zero.y, across: one.x - zero.x, down: one.y - zero.y, box: [left, top, right, bottom], upright: isUpright(owner) };
};

// One observer an element: Chromium looks at each drawn frame whether it is still all within the box where it was. Of
// what is inside a drawing it does not tell, so there is none.
const watchBox = (el) => {
  if (covering.watched.some((watched) => watched.el === el)) return;
  if (el instanceof SVGElement && ownerSvg(el)) {
    covering.watched.push({ el, observer: null });
    watchBox(ownerSvg(el));
    return;
  }
  const { left, top, right, bottom } = boundingRect(el);
  if (covering.watched.length >= MOST_WATCHED) { covering.watched.push({ el, observer: null }); return; }
  const margins = [top - 1, innerWidth - right - 1, innerHeight - bottom - 1, left - 1].map((side) => `${-Math.floor(side)}px`);
  const observer = new IntersectionObserver((records) => watched.records.push(...records), { root: document, rootMargin: margins.join(' '), threshold: 1 });
  const watched = { el, observer, at: [left, top, right, bottom], records: [] };
  observer.observe(el);
  covering.watched.push(watched);
};

const isNear = (a, b) => a.length === b.length && a.every((number, i) => Math.abs(number - b[i]) <= 1);

// Drawings have animations of their own, which no list of animations tells.
const MOVES_DRAWINGS = 'animate, animateTransform, animateMotion, set';
const isInMovingDrawing = (el) => {
  let drawing = closest(el, 'svg');
  while (drawing && !querySelector(drawing, MOVES_DRAWINGS)) drawing = ownerSvg(drawing);
  return drawing !== null;
};

const isCarried = () => {
  if (covering.watched.some(({ el }) => isInMovingDrawing(el))) return true;
  const animations = covering.roots.flatMap((root) => (root === document ? runningAnimations(root) : rootAnimations(root)));
  return animations.some((animation) => {
    if (animationState(animation) !== 'running') return false;
    const effect = animationEffect(animation);
    const target = effect instanceof KeyframeEffect ? effectTarget(effect) : null;
    if (target === null || !covering.watched.some(({ el }) => isInside(el, target))) return false;
    return keyframesOf(effect).some((frame) => Object.keys(frame).some((key) => !UNMOVING.has(key)));
  });
};

// Measures what is to be covered and, if it is asked afterwards whether all of it held still, begins to watch it.
const coverBoxes = ({ ranges, frames, watched }) => {
  if (!covering) return { boxes: [], whole: true, places: frames.map(() => null) };
  const places = frames.map(placeOf);
  const { boxes, whole } = boxesOf(covering, ranges, watchBox);
  covering.measured = { ranges, boxes, places };
  covering.carried = isCarried();
  if (watched) watchValues(covering);
  else endCovering();
  return { boxes, whole, places };
};

// Notes down what came up since the look, as it comes: whatever is drawn stands in the page when observers are called.
const noteChanges = (mine, records) => {
  for (const record of records) {
    if (record.type === 'attributes' && !isDrawnFrom(record.attributeName, mine.generates)) continue;
    mine.changes += 1;
    if (mine.passed === null) continue;
    const told = changedText(mine, record);
    const fits = told !== null && mine.changes < MOST_CHANGES && mine.passed.length + told.length < MOST_PASSED;
    mine.passed = fits ? `${mine.passed}${told}\0` : null;
  }
};

// What a change may have brought up; null if that cannot be told.
const changedText = (mine, { type, target, attributeName, addedNodes, removedNodes }) => {
  if (type === 'attributes') {
    // Then it was another kind of field meanwhile, or showed another text.
    if (attributeName === 'type' ? target instanceof HTMLInputElement : attributeName === 'href' && localName(target) === 'use') return null;
    return getAttribute(target, attributeName) ?? '';
  }
  let text = textAround(mine, target);
  for (const node of [...addedNodes, ...removedNodes]) {
    if (!isElement(node)) continue;
    const walker = createTreeWalker(document, node, NodeFilter.SHOW_ELEMENT);
    for (let el = node; el; el = nextNode(walker)) {
      mine.read += 100;
      if (mine.read > MOST_PASSED_READ || showsMore(el)) return null;
      for (const drawn of drawnText(el, localName(el), mine.generates)) text += `\0${drawn}`;
    }
  }
  for (const node of addedNodes) text += `\0${textBeside(mine, node)}`;
  return mine.read > MOST_PASSED_READ ? null : text;
};

const textRead = (mine, node) => {
  const text = node ? textContent(node) ?? '' : '';
  mine.read += text.length;
  return text;
};
const textBeside = (mine, node) =>
  textRead(mine, previousSibling(node)).slice(-LEAST_AROUND) + textRead(mine, node) + textRead(mine, nextSibling(node)).slice(0, LEAST_AROUND);

// The text of the smallest part of the page round a change that is not short, with what stands right beside it. Of a long one
// that is not told again whenever something comes: what is new is told by itself.
const textAround = (mine, target) => {
  let [at, text] = [target, textRead(mine, target)];
  if (isElement(target) && text.length > MOST_AROUND) return '';
  while (text.length < LEAST_AROUND) {
    const parent = parentNode(at);
    if (!parent || !isElement(parent)) break;
    text = textRead(mine, parent);
    if (text.length > MOST_AROUND) break;
    at = parent;
  }
  return textBeside(mine, at);
};

// What came up since the look, as far as it can be told; null if it cannot.
const passedText = () => {
  const was = covering;
  if (!was) return null;
  lookAtValues(was);
  noteChanges(was, was.observer.takeRecords());
  const unknown = was.filled || was.passed === null || (!was.generates && pageGenerates());
  return unknown ? null : was.passed.toWellFormed();
};

// Asked when closed roots were looked for.
const coverPassed = () => ({ passed: passedText() });

// Whether an element that came or went may have shown what stands nowhere in it: a field, a drawing, another document, or,
// if it is gone, a shadow root that nobody knows.
const showsMore = (el) =>
  isCoverable(el) || PAINTED.has(localName(el)) || EMBEDS.has(localName(el)) || (!isConnected(el) && canHost(el));

// Whether all stood where it was measured; whether that is certain of each of them; whether the page's text changed. What
// comes and goes is watched on, for another look.
const coverHeld = () => {
  const was = covering;
  if (!was) return { held: false, sure: false, changed: true };
  noteChanges(was, was.observer.takeRecords());
  lookAtValues(was);
  lookNoMore(was);
  let held = was.measured !== null && !was.carried && !isCarried() && !was.filled;
  let sure = true;
  for (const { el, observer, at, records: seen } of was.watched) {
    if (!observer) { sure = false; continue; }
    const entries = [...seen, ...observer.takeRecords()];
    observer.disconnect();
    sure &&= entries.length > 0 && entries.every((entry) => entry.intersectionRatio > 0.99);
    const boxes = entries.map(({ boundingClientRect: { left, top, right, bottom } }) => [left, top, right, bottom]);
    const { left, top, right, bottom } = boundingRect(el);
    held &&= [...boxes, [left, top, right, bottom]].every((box) => isNear(box, at));
  }
  if (held) {
    const now = boxesOf(was, was.measured.ranges, () => {});
    held = isNear(now.boxes.flat(), was.measured.boxes.flat());
  }
  return { held, sure, changed: was.changes > 0 };
};
