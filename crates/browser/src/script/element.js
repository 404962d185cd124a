// One element: the facts about it, and what a click at a point would hit.

const elementOf = (number) => {
  const el = elements.get(number)?.deref();
  return el && isHere(el) ? el : null;
};

// A page can move an element into the document of a frame, where another script of ours has its own ref for it.
const isHere = (el) => isConnected(el) && ownerDocument(el) === document;

// What became of a ref that led to nothing.
const whatBecame = ({ prefix, number, options }) => {
  if (number < 1 || number > lastRef) return { fate: 'never_given' };
  const el = elements.get(number)?.deref();
  if (el && isHere(el)) return { fate: visibility(el) === true ? 'untold' : 'hidden' };
  const was = lastTold.get(number) ?? null;
  if (el && isConnected(el)) return { fate: 'moved', ...was };
  if (!was) return { fate: 'removed' };
  const now = find({ prefix, by: { kind: 'role', ...was }, index: 0, look: null, options });
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

// A field for a card's number or code, as pages mark them for browsers to fill in.
const takesCard = (form) => querySelector(form, '[autocomplete*="cc-number" i], [autocomplete*="cc-csc" i]') !== null;

// The button that Enter in a field presses: the first that sends the form, images too, which are in no list of its
// controls. From a field that is not for text it is the first that is not disabled.
const TEXT_TYPES = new Set(['text', 'search', 'url', 'tel', 'email', 'password', 'number']);
const SENDERS = 'button, input[type="submit" i], input[type="image" i]';
const defaultButton = (el, form) => {
  const root = getRootNode(form);
  const found = root instanceof ShadowRoot ? rootAll(root, SENDERS) : queryAll(document, SENDERS);
  const anyState = el instanceof HTMLTextAreaElement || TEXT_TYPES.has(inputType(el));
  for (const button of found) {
    if (controlTable(button).form(button) !== form || !submitter(button)) continue;
    if (anyState || !matches(button, ':disabled')) return button;
  }
  return null;
};

// Buttons that do not send the form do not press the one that does.
const isPlainButton = (el) => el instanceof HTMLButtonElement || ['button', 'reset'].includes(inputType(el));

const formFacts = (el) => {
  const form = controlTable(el)?.form(el);
  if (!form) return null;
  const own = submitter(el);
  const other = own || isPlainButton(el) ? null : defaultButton(el, form);
  const by = own ? el : other;
  const action = by && hasAttribute(by, 'formaction') ? formAction(attribute(by, 'formaction')) : FORM.action(form);
  const verb = (by && attribute(by, 'formmethod')) || FORM.method(form);
  return {
    method: verb.toLowerCase().slice(0, 16),
    action: boundedAddress(action, 2000),
    payment: takesCard(form),
    button: other && { name: nameOf(other, 'button'), text: visibleText(other, 200) },
  };
};

// What a form would send, as a number: enough to see that it changed, and no more. What is typed into secret fields is
// left out.
const MOST_CONTROLS = 2000;
const formState = (el) => {
  const form = controlTable(el)?.form(el);
  if (!form) return '';
  let [one, other] = [0xdeadbeef, 0x41c6ce57];
  const mix = (text) => {
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      one = Math.imul(one ^ unit, 2654435761);
      other = Math.imul(other ^ unit, 1597334677);
    }
    one = Math.imul(one ^ 0x10000, 2654435761);
  };
  const controls = FORM.elements(form);
  const count = Math.min(controlCount(controls), MOST_CONTROLS);
  mix(`${count}`);
  for (let at = 0; at < count; at += 1) {
    const control = controlItem(controls, at);
    mix(attribute(control, 'name') ?? '');
    if (inputType(control) !== 'hidden' && isSecret(control)) continue;
    if (control instanceof HTMLInputElement) mix(`${INPUT.type(control)} ${INPUT.value(control)} ${INPUT.checked(control)}`);
    else if (control instanceof HTMLTextAreaElement) mix(TEXTAREA.value(control));
    else if (control instanceof HTMLSelectElement) for (const option of SELECT.selected(control)) mix(OPTION.value(option));
    else mix(attribute(control, 'value') ?? '');
  }
  return `${(one >>> 0).toString(16)}${(other >>> 0).toString(16)}`;
};

// Where a link leads: of text, of a part of a picture, or of a drawing, in which it may be animated.
const linkOf = (el) => {
  if (el instanceof HTMLAnchorElement) return hasAttribute(el, 'href') ? hrefOf(el) : null;
  if (el instanceof HTMLAreaElement) return hasAttribute(el, 'href') ? areaHref(el) : null;
  if (!(el instanceof SVGAElement)) return null;
  const written = animatedText(svgHref(el));
  return written === '' ? null : formAction(written);
};

const closestLink = (el) => {
  for (let at = el; at; at = flatParent(at)) {
    const href = isElement(at) ? linkOf(at) : null;
    if (href !== null) return href;
  }
  return null;
};

// All that can be chosen in a list: a key chooses, and nobody knows what before it did.
const MOST_CHOICES = 2000;
const choicesIn = (list) => {
  let text = '';
  for (const option of optionsOf(list)) {
    if (text.length > MOST_CHOICES) break;
    text += `${text && ' · '}${labelOf(option)}`;
  }
  return text.slice(0, MOST_CHOICES);
};

// What a person reads on an element, and when the mouse rests on it.
const readOn = (el) => {
  const [text, title] = [visibleText(el, 200), clean(attribute(el, 'title') ?? '', 200).trim()];
  return title === '' || text.includes(title) ? text : `${text} ${title}`.trim();
};

const factsOf = (prefix, el) => {
  const role = roleOf(el);
  const secret = isSecret(el);
  const href = closestLink(el);
  return {
    element: `${prefix}e${refOf(el)}`,
    role: role || 'generic',
    name: nameOf(el, role || 'button'),
    text: el instanceof HTMLSelectElement && !secret ? choicesIn(el) : readOn(el),
    tag: tagOf(el),
    input_type: inputType(el),
    editable: isEditable(el),
    secret,
    href: href === null ? null : boundedAddress(href, 2000),
    form: formFacts(el),
    form_state: formState(el),
  };
};

// The innermost element at a point, through shadow roots.
const elementAt = (x, y) => {
  let hit = elementFromPoint(document, x, y);
  for (let steps = 0; hit && steps < 100; steps += 1) {
    const root = shadowRoot(hit);
    const inner = root ? rootFromPoint(root, x, y) : null;
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

// What is meant by `hit`: the nearest control around it, the element that was named, or the control of its label; null if none.
const meantBy = (hit, target) => {
  for (let at = hit; at; at = flatParent(at)) {
    if (!isElement(at)) continue;
    if (at instanceof HTMLLabelElement && LABEL.control(at)) return LABEL.control(at);
    if (at === target || isActionable(at, roleOf(at))) return at;
  }
  return null;
};

// What Chromium sets off by itself when anything in it is clicked.
const isSetOff = (el) =>
  linkOf(el) !== null || tagOf(el) === 'summary' || el instanceof HTMLButtonElement || el instanceof HTMLInputElement ||
  el instanceof HTMLSelectElement || el instanceof HTMLTextAreaElement;

// What a click on `hit` sets off, whatever was named: the button, link or field around it, or that of its label; where there
// is none, the nearest control. And what is inside of that and may do something of its own.
const setOffBy = (hit, target) => {
  let [control, nearest, around] = [null, null, false];
  const inside = [];
  for (let at = hit; at && !control; at = flatParent(at)) {
    if (!isElement(at)) continue;
    if (at instanceof HTMLLabelElement) control = LABEL.control(at);
    if (isSetOff(at)) control = at;
    // A page that can be scrolled by keys, or listens to all clicks, is not what one of them is about.
    const acts = around ? INTERACTIVE.has(roleOf(at)) : isActionable(at, roleOf(at));
    if (acts) nearest ??= at;
    if (acts || at === target) inside.push(at);
    around ||= at === target;
  }
  control ??= nearest ?? inside[0] ?? null;
  return { control, inside: inside.filter((at) => at !== control) };
};

// The facts of what a click there sets off, with the words of what was named or lies between. What was named is aimed at.
const MOST_BETWEEN = 3;
const factsAt = (prefix, hit, el) => {
  const { control, inside } = setOffBy(hit, el);
  const facts = factsOf(prefix, control ?? el);
  const words = inside.slice(0, MOST_BETWEEN).flatMap((at) => [nameOf(at, roleOf(at) || 'button'), visibleText(at, 200)]);
  facts.text = [...new Set([...words, facts.text])].filter(Boolean).join(' ');
  if (control && control !== el && !isInside(control, el)) facts.element = `${prefix}e${refOf(el)}`;
  return facts;
};

// What shows another document: a click on it belongs to that one, whatever stands around it here.
const EMBEDS = new Set(['iframe', 'frame', 'object', 'embed', 'fencedframe', 'portal']);

// Whether a click that hits one element is a click on another.
const meets = (hit, el) =>
  hit === el || ((meantBy(hit, el) === el || isInside(hit, el)) && !(isElement(hit) && EMBEDS.has(tagOf(hit))));
// And not on something inside of it that can be clicked by itself.
const hitsItself = (hit, el) => hit === el || (meantBy(hit, el) === el && meets(hit, el));

// The node is what Chromium says is hit, inside closed roots too that are not known yet, where `look` sees only the host.
const struck = (node, number) => {
  const el = elementOf(number);
  if (!el) return { problem: 'gone' };
  const hit = isElement(node) ? node : flatParent(node);
  if (!hit || ownerDocument(hit) !== document) return { problem: 'covered', by: null };
  const reached = setOffBy(hit, el).control ?? el;
  // Whatever is hit that `look` did not see has no facts of its own, so it must lead nowhere else.
  const leads = reached !== el && reached !== setOffBy(el, el).control && (closestLink(reached) !== closestLink(el) || formFacts(reached) !== null);
  return leads || !meets(hit, el) ? { problem: 'covered', by: describe(reached) } : {};
};

