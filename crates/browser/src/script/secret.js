// Which fields hold something that must never reach an agent.

// A "show password" button turns a password field into a text field: once secret, always secret.
const oncePassword = new WeakSet();
const watchedRoots = new WeakSet();

const notePasswordRecords = (records) => {
  for (const record of records) {
    if (record.oldValue && record.oldValue.trim().toLowerCase() === 'password') oncePassword.add(record.target);
  }
};
const passwordObserver = new MutationObserver(notePasswordRecords);

const watchForPasswords = (root) => {
  if (watchedRoots.has(root)) return;
  watchedRoots.add(root);
  passwordObserver.observe(root, { subtree: true, attributes: true, attributeFilter: ['type'], attributeOldValue: true });
};

const SECRET_AUTOCOMPLETE = new Set([
  'current-password', 'new-password', 'one-time-code', 'cc-number', 'cc-csc',
]);

const isSecret = (el) => {
  const isField = el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement;
  if (!isField && !(isHtml(el) && isContentEditable(el))) return false;
  notePasswordRecords(passwordObserver.takeRecords());
  if (inputType(el) === 'password') oncePassword.add(el);
  if (oncePassword.has(el)) return true;
  const hints = (attribute(el, 'autocomplete') ?? '').toLowerCase().split(/\s+/);
  if (hints.some((hint) => SECRET_AUTOCOMPLETE.has(hint))) return true;
  const masked = getComputedStyle(el).webkitTextSecurity;
  return masked !== undefined && masked !== '' && masked !== 'none';
};
