// Finding one element, telling the facts about it, and making sure that it is what would be hit.

const MAX_FOUND = 200;
const MAX_NEAR = 8;
// One frame of animation, or this long when the page is not being drawn.
const FRAME_MILLISECONDS = 100;

const TEXT_ROLES = new Set(['searchbox', 'textbox']);
const sameRole = (wanted, role) =>
  wanted === role || (wanted === 'textbox' && TEXT_ROLES.has(role)) || (wanted === 'image' && role === 'img');

// All elements of a role, sorted by how well they answer to the name.
const find = ({ prefix, role, name }) => {
  const found = { exact: [], close: [], part: [], near: [], total: [0, 0, 0], complete: true };
  const wanted = name === null ? null : clean(name, MAX_NAME).trim();
  const lower = wanted?.toLowerCase();
  const add = (tier, list, el) => {
    found.total[tier] += 1;
    if (list.length < MAX_FOUND) list.push(`${prefix}e${refOf(el)}`);
  };
  const near = (el, elRole, elName) => {
    if (elName && found.near.length < MAX_NEAR) found.near.push({ role: elRole, name: elName });
  };
  const visit = (el, elRole, depth, silent) => {
    const shown = elRole || (isActionable(el, elRole) ? 'generic' : '');
    if (!shown) return { depth, silent };
    if (sameRole(role, shown)) {
      const elName = nameOf(el, elRole || 'button');
      if (wanted === null || elName === wanted) add(0, found.exact, el);
      else if (elName.toLowerCase() === lower) add(1, found.close, el);
      else if (lower && elName.toLowerCase().includes(lower)) add(2, found.part, el);
      else near(el, shown, elName);
    } else if (lower && INTERACTIVE.has(shown)) {
      const elName = nameOf(el, shown);
      if (elName.toLowerCase().includes(lower)) near(el, shown, elName);
    }
    return { depth, silent };
  };
  const root = documentElement(document);
  if (root) found.complete = walk(root, visit, () => {}, () => {}).complete;
  return found;
};

const elementOf = (number) => {
  const el = elements.get(number)?.deref();
  return el && isHere(el) ? el : null;
};

// A page can move an element into the document of a frame, where another script of ours has its own ref for it.
const isHere = (el) => isConnected(el) && ownerDocument(el) === document;

// What became of a ref that led to nothing.
const whatBecame = ({ prefix, number }) => {
  if (number < 1 || number > lastRef) return { fate: 'never_given' };
  const el = elements.get(number)?.deref();
  if (el && isHere(el)) return { fate: visibility(el) === true ? 'untold' : 'hidden' };
  const was = lastTold.get(number) ?? null;
  if (el && isConnected(el)) return { fate: 'moved', ...was };
  if (!was) return { fate: 'removed' };
  const now = find({ prefix, ...was });
  return { fate: 'removed', ...was, like: now.total[0] === 1 ? now.exact[0] : null };
};

const describe = (el) => {
  const role = roleOf(el);
  const name = role ? nameOf(el, role) : '';
  const id = attribute(el, 'id');
  return clean(`${role || tagOf(el)}${name ? ` "${name}"` : id ? ` #${id}` : ''}`, 120);
};

const submitter = (el) => {
  const type = el instanceof HTMLButtonElement ? BUTTON.type(el) : inputType(el);
  return type === 'submit' || type === 'image';
};

// As Chromium would submit it; what is no address stands as it is written.
const formAction = (written) => (URL.canParse(written, baseUri(document)) ? new URL(written, baseUri(document)).href : written);

const formFacts = (el) => {
  const control = controlTable(el);
  const form = control?.form(el);
  if (!form) return null;
  const own = submitter(el);
  const action = own && hasAttribute(el, 'formaction') ? formAction(attribute(el, 'formaction')) : FORM.action(form);
  const verb = (own && attribute(el, 'formmethod')) || FORM.method(form);
  return { method: verb.toLowerCase().slice(0, 16), action: action.slice(0, 2000) };
};

const closestLink = (el) => {
  for (let at = el; at; at = flatParent(at)) {
    if (at instanceof HTMLAnchorElement && hasAttribute(at, 'href')) return hrefOf(at);
  }
  return null;
};

const factsOf = (prefix, el) => {
  const role = roleOf(el);
  const secret = isSecret(el);
  const href = closestLink(el);
  return {
    element: `${prefix}e${refOf(el)}`,
    role: role || 'generic',
    name: nameOf(el, role || 'button'),
    text: clean(textOf(el), 200),
    tag: tagOf(el),
    input_type: inputType(el),
    secret,
    href: href === null ? null : href.slice(0, 2000),
    form: formFacts(el),
  };
};

// The innermost element at a point, through open shadow roots.
const elementAt = (x, y) => {
  let hit = elementFromPoint(document, x, y);
  for (let steps = 0; hit && steps < 100; steps += 1) {
    const root = shadowRoot(hit);
    const inner = root ? root.elementFromPoint(x, y) : null;
    if (!inner || inner === hit) break;
    hit = inner;
  }
  return hit;
};

// The middle of the largest part of the element that is inside the viewport.
const pointOf = (el) => {
  const { innerWidth: width, innerHeight: height } = globalThis;
  let best = null;
  let largest = 0;
  for (const rect of clientRects(el)) {
    const left = Math.max(rect.left, 0);
    const top = Math.max(rect.top, 0);
    const right = Math.min(rect.right, width);
    const bottom = Math.min(rect.bottom, height);
    const area = (right - left) * (bottom - top);
    if (right > left && bottom > top && area > largest) {
      largest = area;
      best = { x: (left + right) / 2, y: (top + bottom) / 2 };
    }
  }
  return best;
};

// What a click on `hit` sets off: the nearest control around it, or the control of its label; null if neither.
const effective = (hit, target) => {
  for (let at = hit; at; at = flatParent(at)) {
    if (!isElement(at)) continue;
    if (at instanceof HTMLLabelElement && LABEL.control(at)) return LABEL.control(at);
    if (at === target || isActionable(at, roleOf(at))) return at;
  }
  return null;
};

// What shows another document: a click on it belongs to that one, whatever stands around it here.
const EMBEDS = new Set(['iframe', 'frame', 'object', 'embed', 'fencedframe', 'portal']);

// Whether a click that hits one element is a click on another.
const meets = (hit, el) =>
  hit === el || ((effective(hit, el) === el || isInside(hit, el)) && !(isElement(hit) && EMBEDS.has(tagOf(hit))));

const isEditable = (el) => {
  if (el instanceof HTMLTextAreaElement) return !hasAttribute(el, 'readonly');
  if (el instanceof HTMLInputElement) {
    const role = INPUT_ROLES[INPUT.type(el)] ?? 'textbox';
    return (role === 'textbox' || role === 'searchbox' || role === 'spinbutton') && !hasAttribute(el, 'readonly');
  }
  return isHtml(el) && isContentEditable(el);
};

const look = (prefix, el, editable) => {
  if (!isConnected(el)) return { problem: 'gone' };
  const box = boundingRect(el);
  const drawn = checkVisibility(el, { visibilityProperty: true }) && box.width > 0 && box.height > 0;
  if (!drawn) return { problem: 'invisible' };
  if (isDisabled(el)) return { problem: 'disabled' };
  if (editable && !isEditable(el)) return { problem: 'not_editable' };
  let point = pointOf(el);
  const middle = { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  const { innerWidth: width, innerHeight: height } = globalThis;
  const centred = middle.x >= 0 && middle.y >= 0 && middle.x < width && middle.y < height;
  if (!point || !centred) {
    scrollIntoView(el, { block: 'center', inline: 'center', behavior: 'instant' });
    point = pointOf(el);
  }
  if (!point) return { problem: 'invisible' };
  const hit = elementAt(point.x, point.y);
  if (!hit) return { problem: 'invisible' };
  if (!meets(hit, el)) return { problem: 'covered', by: describe(hit) };
  const facts = factsOf(prefix, editable ? el : effective(hit, el) ?? el);
  return { x: point.x, y: point.y, left: scrollX, top: scrollY, facts };
};

// The node is what Chromium says is hit, inside closed shadow roots too, where `look` sees only the host.
const struck = (node, number) => {
  const el = elementOf(number);
  if (!el) return { problem: 'gone' };
  const hit = isElement(node) ? node : flatParent(node);
  if (!hit || ownerDocument(hit) !== document) return { problem: 'covered', by: null };
  const reached = effective(hit, el) ?? el;
  // What is in a closed root has no facts of its own, so it must lead nowhere else.
  const leads = reached !== el && (closestLink(reached) !== closestLink(el) || formFacts(reached) !== null);
  return leads || !meets(hit, el) ? { problem: 'covered', by: describe(reached) } : {};
};

const nextFrame = () => new Promise((resolve) => {
  const timer = setTimeout(resolve, FRAME_MILLISECONDS);
  requestAnimationFrame(() => { clearTimeout(timer); resolve(); });
});

// Waits until the element can be acted on and has stopped moving, then tells where it is and what it is.
const aim = async ({ prefix, number, editable, steady, wait }) => {
  const end = performance.now() + wait;
  let before = null;
  for (;;) {
    const el = elementOf(number);
    const seen = el ? look(prefix, el, editable) : { problem: 'gone' };
    if (!steady || seen.problem === 'gone' || seen.problem === 'not_editable') return seen;
    if (!seen.problem) {
      if (before && before.x === seen.x && before.y === seen.y) return seen;
      before = seen;
    } else {
      before = null;
    }
    if (performance.now() >= end) return seen;
    await nextFrame();
  }
};

// A point of a child frame, from its element's box; a rotated frame gives a wrong point, which then hits nothing.
const insideFrame = (owner, x, y) => {
  const box = boundingRect(owner);
  const style = getComputedStyle(owner);
  const scaleX = offsetWidth(owner) ? box.width / offsetWidth(owner) : 1;
  const scaleY = offsetHeight(owner) ? box.height / offsetHeight(owner) : 1;
  return {
    x: box.left + (clientLeft(owner) + parseFloat(style.paddingLeft) + x) * scaleX,
    y: box.top + (clientTop(owner) + parseFloat(style.paddingTop) + y) * scaleY,
  };
};

// Where a point of a child frame lies in this one, and whether a click there would reach that frame.
const through = ({ frame, x, y }) => {
  const owner = frameOwners.get(frame)?.deref();
  if (!owner || !isConnected(owner)) return { problem: 'gone' };
  let at = insideFrame(owner, x, y);
  if (at.x < 0 || at.y < 0 || at.x >= innerWidth || at.y >= innerHeight) {
    scrollBy({ left: at.x - innerWidth / 2, top: at.y - innerHeight / 2, behavior: 'instant' });
    at = insideFrame(owner, x, y);
  }
  const hit = elementAt(at.x, at.y);
  if (hit !== owner) return { problem: hit ? 'covered' : 'invisible', by: hit ? describe(hit) : null };
  return { ...at, left: scrollX, top: scrollY };
};

const deepActive = () => {
  let active = activeElement(document);
  while (active && shadowRoot(active) && shadowRoot(active).activeElement) active = shadowRoot(active).activeElement;
  return active;
};

// null if the element has the focus and is no secret; otherwise what is wrong.
const notFocused = (el) => {
  const active = deepActive();
  // Inside an editor it is the editor that has the focus.
  const inEditor = active && isHtml(el) && isContentEditable(el) && isInside(el, active);
  if (active !== el && !inEditor) return { problem: 'focus', by: active ? describe(active) : null };
  return isSecret(el) ? { problem: 'secret' } : null;
};

// Puts the caret into a field: at its end, or over all of it.
const placeCaret = (el, all) => {
  const field = el instanceof HTMLTextAreaElement ? TEXTAREA : el instanceof HTMLInputElement ? INPUT : null;
  if (!field) {
    const selection = getSelection();
    selection.selectAllChildren(el);
    if (!all) selection.collapseToEnd();
  } else if (all) {
    field.select(el);
  } else {
    const end = field.value(el).length;
    try {
      field.setSelectionRange(el, end, end);
    } catch (error) {
      // Fields like type=email have no selection to set; their caret is where focus() puts it.
      if (error.name !== 'InvalidStateError') throw error;
    }
  }
};

// The element that has the focus while text is typed into this one.
const editorOf = ({ number }) => {
  for (let at = elementOf(number); at; at = flatParent(at)) if (isHtml(at) && isEditingHost(at)) return at;
  return null;
};

const focusField = ({ number }) => {
  const el = elementOf(number);
  if (!el) return { problem: 'gone' };
  if (deepActive() !== el) focusElement(el, { preventScroll: true });
  return notFocused(el) ?? {};
};

// Types in one go: no code of the page runs between the last check and the text, so no other frame can have
// the focus by then. The text goes where this document's own selection is, never into another document.
const typeInto = ({ number, text, all }) => {
  const el = elementOf(number);
  if (!el) return { problem: 'gone' };
  focusElement(el, { preventScroll: true });
  const lost = notFocused(el);
  if (lost) return lost;
  placeCaret(el, all);
  // Moving the caret may have run the page's handlers.
  const moved = notFocused(el);
  if (moved) return moved;
  if (text) execCommand(document, 'insertText', false, text);
  else if (all) execCommand(document, 'delete');
  return {};
};

// Lets two frames pass, so that what a handler did is laid out.
const rest = async () => { await nextFrame(); await nextFrame(); return readyState(document); };
