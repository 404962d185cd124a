// Fields: the focus, the caret, and text that goes into one.

const deepActive = () => {
  let active = activeElement(document);
  for (let root = active && shadowRoot(active); root && rootActive(root); root = shadowRoot(active)) active = rootActive(root);
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

// Puts the focus and the caret where text is to go.
const enterField = ({ number, all }) => {
  const el = elementOf(number);
  if (!el) return { problem: 'gone' };
  if (deepActive() !== el) focusElement(el, { preventScroll: true });
  const lost = notFocused(el);
  if (lost) return lost;
  placeCaret(el, all);
  // Moving the caret may have run the page's handlers.
  return notFocused(el) ?? {};
};

// The parts of a date or a time stand in the order of the field's language, and which one that is only Chromium knows:
// so first as the language writes it, then as others do.
const WRITTEN = {
  date: { year: 'numeric', month: '2-digit', day: '2-digit' },
  time: { hour: '2-digit', minute: '2-digit' },
  month: { year: 'numeric', month: 'long' },
};
WRITTEN['datetime-local'] = { ...WRITTEN.date, ...WRITTEN.time };
const PARTS_KNOWN = new Set(['year', 'month', 'day', 'hour', 'minute', 'dayPeriod']);

const languageOf = (el) => {
  for (let at = el; at; at = flatParent(at)) if (isElement(at) && hasAttribute(at, 'lang')) return attribute(at, 'lang');
  return navigator.language;
};

const orderIn = (languages, type, seconds) => {
  const format = new Intl.DateTimeFormat(languages, WRITTEN[type]);
  const twelve = format.resolvedOptions().hour12 === true;
  return format.formatToParts(new Date(0)).map((part) => part.type).filter((part) => PARTS_KNOWN.has(part)).flatMap((part) => {
    if (part === 'hour' && twelve) return ['hour12'];
    return part === 'minute' && seconds ? ['minute', 'second'] : [part];
  });
};

// Seconds are shown where a step or the value has any.
const hasSeconds = (el) => {
  const step = attribute(el, 'step');
  return /:\d+:/.test(INPUT.value(el)) || step === 'any' || (step !== null && Number(step) > 0 && Number(step) % 60 !== 0);
};

const partsOf = ({ number }) => {
  const el = elementOf(number);
  const type = el instanceof HTMLInputElement ? INPUT.type(el) : null;
  if (type === 'week') return { orders: [['week', 'year'], ['year', 'week']] };
  if (!Object.hasOwn(WRITTEN, type)) return { orders: [] };
  const known = new Map();
  for (const language of [languageOf(el), navigator.language, 'en-US', 'en-GB', 'ja']) {
    let order;
    try { order = orderIn([language, navigator.language], type, hasSeconds(el)); } catch { continue; }
    known.set(order.join(), order);
  }
  return { orders: Array.from(known.values()) };
};

const momentIn = ({ number }) => {
  const el = elementOf(number);
  return { value: el instanceof HTMLInputElement && !isSecret(el) ? INPUT.value(el) : null };
};

// What has the focus here: an element, or a child frame that has it in turn.
const focused = ({ prefix }) => {
  const active = deepActive();
  if (!active || active === documentElement(document) || tagOf(active) === 'body') return { problem: 'nothing' };
  const frame = childFrames.get(active);
  return frame === undefined ? { ref: `${prefix}e${refOf(active)}` } : { frame };
};
