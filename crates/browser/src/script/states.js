// Values and states: what an element holds, and how it stands.

const MAX_VALUE = 300;
const MAX_CHOSEN = 20;

const RANGES = new Set(['slider', 'spinbutton', 'progressbar', 'meter', 'scrollbar']);

// A setting can turn values off; then no name is made of one either.
let valuesTold = true;
const tellValues = ({ values }) => { valuesTold = values !== false; };

// The value, never of a secret field; null where a value says nothing.
const valueOf = (el, role) => (isSecret(el) ? null : valueIn(el, role));

// For what is known not to be secret.
const valueIn = (el, role) => {
  if (!valuesTold) return null;
  if (el instanceof HTMLTextAreaElement) return clean(TEXTAREA.value(el), MAX_VALUE);
  if (el instanceof HTMLInputElement) {
    const kind = INPUT_ROLES[INPUT.type(el)] ?? 'textbox';
    if (kind === 'button' || kind === 'checkbox' || kind === 'radio' || kind === '') return null;
    return clean(INPUT.value(el), MAX_VALUE);
  }
  if (el instanceof HTMLSelectElement) {
    const chosen = Array.from(SELECT.selected(el)).slice(0, MAX_CHOSEN).map((option) => OPTION.label(option));
    return clean(chosen.join(', '), MAX_VALUE);
  }
  if (isHtml(el) && isEditingHost(el)) return textOf(el);
  if (RANGES.has(role)) {
    const told = attribute(el, 'aria-valuetext') ?? attribute(el, 'aria-valuenow') ?? attribute(el, 'value');
    return clean(told ?? '', MAX_VALUE);
  }
  if (role === 'textbox' || role === 'searchbox') return textOf(el);
  return null;
};

const flag = (el, key) => {
  const value = attribute(el, key);
  return value === 'true' ? true : value === 'false' ? false : null;
};

// Few pages disable anything that is not a control.
const pageDisables = () => {
  const now = knownNow();
  now.disables ??= shadowRootsSeen || queryAll(document, '[aria-disabled="true"]').length > 0;
  return now.disables;
};

const isDisabled = (el) => {
  if (!(el instanceof HTMLAnchorElement) && matches(el, ':disabled')) return true;
  if (!pageDisables()) return false;
  for (let at = el, steps = 0; at && steps < 50; at = hostOf(at), steps += 1) {
    if (closest(at, '[aria-disabled="true"]')) return true;
  }
  return false;
};

const isMultiline = (el, role) =>
  el instanceof HTMLTextAreaElement ||
  (role === 'textbox' && (flag(el, 'aria-multiline') ?? (isHtml(el) && isEditingHost(el))) === true);

// Only what is set: an absent key means false or not applicable.
const statesOf = (el, role) => {
  const states = {};
  if (role === 'heading') {
    const level = Number(attribute(el, 'aria-level')) || Number(/^h([1-6])$/.exec(tagOf(el))?.[1]) || 2;
    states.level = Math.min(Math.max(Math.trunc(level), 1), 99);
    return states;
  }
  if (TEXT_ONLY.has(role)) return states;
  const type = inputType(el);
  if (type === 'checkbox' || type === 'radio') {
    states.checked = INPUT.indeterminate(el) ? 'mixed' : INPUT.checked(el) ? 'true' : 'false';
  } else if (CHECKED.has(role)) {
    const checked = attribute(el, 'aria-checked');
    states.checked = checked === 'mixed' || checked === 'true' ? checked : 'false';
  }
  const pressed = attribute(el, 'aria-pressed');
  if (pressed === 'true' || pressed === 'mixed') states.pressed = true;
  const details = tagOf(el) === 'summary' ? flatParent(el) : null;
  const expanded = details instanceof HTMLDetailsElement ? DETAILS.open(details) : flag(el, 'aria-expanded');
  if (expanded !== null) states.expanded = expanded;
  // What is chosen in a list is its value.
  const chosen = el instanceof HTMLOptionElement ? OPTION.selected(el) : flag(el, 'aria-selected');
  if (chosen && (valuesTold || role !== 'option')) states.selected = true;
  if ((INTERACTIVE.has(role) || role === 'group') && isDisabled(el)) states.disabled = true;
  if (controlTable(el) ? hasAttribute(el, 'required') || flag(el, 'aria-required') : flag(el, 'aria-required')) states.required = true;
  if ((controlTable(el) && hasAttribute(el, 'readonly')) || flag(el, 'aria-readonly')) states.readonly = true;
  const invalid = attribute(el, 'aria-invalid');
  // What the browser itself holds against a field, once somebody was at it or tried to send its form.
  const refused = controlTable(el) !== null && matches(el, ':user-invalid');
  if ((invalid && invalid !== 'false') || refused) states.invalid = true;
  const current = attribute(el, 'aria-current');
  if (current && current !== 'false') states.current = true;
  if (isMultiline(el, role)) states.multiline = true;
  if (INTERACTIVE.has(role) && activeElements().has(el)) states.focused = true;
  return states;
};

// What has the focus, and the hosts that it is inside of.
const activeElements = () => {
  const now = knownNow();
  if (!now.active) {
    now.active = new Set();
    for (let at = activeElement(document); at && !now.active.has(at);) {
      now.active.add(at);
      const root = shadowRoot(at);
      at = root ? rootActive(root) : null;
    }
  }
  return now.active;
};

const CHECKED = new Set(['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio']);

// Roles that have no states worth asking for; most of a long page is made of them.
const TEXT_ONLY = new Set('code definition list listitem paragraph rowgroup table term'.split(' '));

const isActionable = (el, role) =>
  (INTERACTIVE.has(role) && !(el instanceof HTMLOptionElement)) ||
  (hasAttribute(el, 'tabindex') && Number(attribute(el, 'tabindex')) >= 0) ||
  hasAttribute(el, 'onclick') ||
  (isHtml(el) && isEditingHost(el));
