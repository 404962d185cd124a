// What a control shows, beside what it is called: a "Delete" button can be named "Next".

// In characters; the driver cuts it to as many bytes.
const MAX_SHOWN = 80;
const MOST_SHOWN_NODES = 300;

// The text that is drawn in an element, in one line. What is only for screen readers is not in it, and what is
// hidden from them is.
const visibleText = (root, limit) => {
  if (isSecret(root) || isMaskedBy(root, lookOf(root))) return '';
  let text = '';
  const stack = [root];
  const item = HOLDS_ITEMS.has(roleOf(root));
  for (let steps = 0; stack.length && steps < MOST_SHOWN_NODES && text.length < limit * 2; steps += 1) {
    const node = stack.pop();
    if (typeof node === 'string') { text += node; continue; }
    if (isText(node)) {
      if (characters(node).trim() === '') text += ' ';
      else if (sightOf(node) === SEEN) text += characters(node).slice(0, limit * 2);
      continue;
    }
    if (!isElement(node) || SILENT.has(tagOf(node))) continue;
    if (node !== root && (isSecret(node) || (item && ITEMS.has(roleOf(node))))) continue;
    if (node instanceof HTMLInputElement) {
      if (INPUT_BUTTONS.has(INPUT.type(node)) && !isUnseenBox(node)) text += ` ${inputName(node)} `;
      continue;
    }
    if (controlTable(node) && !(node instanceof HTMLButtonElement)) continue;
    if (UNDRAWN_CONTENT.has(tagOf(node))) continue;
    const drawn = checkVisibility(node, DRAWN);
    if (!drawn && !checkVisibility(node) && getComputedStyle(node).display !== 'contents') continue;
    const gap = node === root || runsOn(node, true) ? '' : ' ';
    text += gap || (tagOf(node) === 'br' ? ' ' : '');
    const after = drawn ? generatedPart(node, '::after') : null;
    stack.push(gap, after && !after.unseen ? after.drawn : '');
    const children = flatChildren(node);
    for (let i = Math.min(children.length, MOST_SHOWN_NODES) - 1; i >= 0; i -= 1) {
      if (drawn || isElement(children[i])) stack.push(children[i]);
    }
    const before = drawn ? generatedPart(node, '::before') : null;
    if (before && !before.unseen) text += before.drawn;
  }
  return clean(text, limit).trim();
};

const INPUT_BUTTONS = new Set(['button', 'submit', 'reset']);

// Words only: neither case nor punctuation nor pictures make a difference. Scripts without spaces count by letter.
const wordsOf = (text) =>
  ` ${text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu, ' $& ')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ')
    .trim()} `;

// A letter alone is a picture of something: an x closes, a b makes bold.
const isSign = (words) => /^ \p{L}? ?$/u.test(words);

// Whether the words that are drawn are not among those that it is called by.
const differs = (name, shown) => {
  const words = wordsOf(shown);
  return !isSign(words) && !wordsOf(name).includes(words);
};

// What an element shows, if its name says something else; '' otherwise.
const shownInstead = (el, role, name, actionable, own) => {
  if (PARTS.unseen) return visibleText(el, MAX_SHOWN);
  if (!actionable || TYPED.has(role) || VALUED.has(role) || role === 'listbox') return '';
  if (!own && PARTS.exact) return '';
  if (el instanceof HTMLInputElement && !INPUT_BUTTONS.has(INPUT.type(el))) return '';
  // What is told below it speaks for itself, unless it is as short as a name.
  const told = !namedByContent(el, role) && !(el instanceof HTMLInputElement);
  if (told && role) return '';
  const shown = visibleText(el, MAX_SHOWN);
  if (told && shown.length >= MAX_SHOWN) return '';
  return differs(name, shown) ? shown : '';
};

// A box to tick, or a file field, is often hidden behind its label.
const labelShows = (el) => {
  const type = inputType(el);
  if (type !== 'checkbox' && type !== 'radio' && type !== 'file') return false;
  return labelsOf(el).some((label) => visibility(label) && !isUnseenBox(label));
};
