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

// What has the focus here: an element, or a child frame that has it in turn.
const focused = ({ prefix }) => {
  const active = deepActive();
  if (!active || active === documentElement(document) || tagOf(active) === 'body') return { problem: 'nothing' };
  const frame = childFrames.get(active);
  return frame === undefined ? { ref: `${prefix}e${refOf(active)}` } : { frame };
};
