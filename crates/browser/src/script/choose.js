// Lists to choose from, and boxes to check.

const MAX_OPTIONS_TOLD = 10;
const selectedIndex = getter(HTMLSelectElement, 'selectedIndex');
const setSelectedIndex = uncurry(Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'selectedIndex').set);
const optionsOf = getter(HTMLSelectElement, 'options');
const takesSeveral = getter(HTMLSelectElement, 'multiple');
const rowsShown = getter(HTMLSelectElement, 'size');

const labelOf = (option) => clean(OPTION.label(option), MAX_NAME).trim();
const canChoose = (option) => !matches(option, ':disabled') && getComputedStyle(option).display !== 'none';

// What is hidden of a list is not found by its words, only by its number: see `Choosing`.
const findOption = (all, wanted, { hidden, read }) => {
  if (wanted.index !== undefined) return all[wanted.index] ?? null;
  const options = read === null ? all : all.filter((_, at) => at < read && !hidden.includes(at));
  const label = clean(wanted.label, MAX_NAME).trim();
  const lower = label.toLowerCase();
  const tiers = [0, 1, 2].map((tier) => options.find((option) => tierOf(labelOf(option), label, lower) === tier));
  return tiers.find(Boolean) ?? null;
};

// What is decided on: as it is read, and as it is sent.
const MAX_OPTION_VALUE = 300;
const optionFacts = (option) => ({ label: labelOf(option), value: OPTION.value(option).slice(0, MAX_OPTION_VALUE) });

// The options that are meant, or the first of them that there is not.
const meantOptions = (el, { options: wanted, ...seen }) => {
  const options = Array.from(optionsOf(el));
  const found = wanted.map((one) => findOption(options, one, seen));
  const missing = found.findIndex((option) => option === null || !canChoose(option));
  if (missing < 0) return { options, found };
  const told = options.filter(canChoose).slice(0, MAX_OPTIONS_TOLD).map(labelOf);
  return { lacks: { missing, disabled: found[missing] !== null, options: told } };
};

// What can be read on the options of a list, as far as it is looked at.
const optionLabels = ({ number, most }) => {
  const el = elementOf(number);
  return el && isChooser(el) && !isSecret(el) ? Array.from(optionsOf(el)).slice(0, most).map(labelOf) : [];
};

// What the words or the numbers of an agent mean in a list. Nothing of a secret one is told.
const optionsMeant = (choosing) => {
  const el = elementOf(choosing.number);
  if (!el) return { problem: 'gone' };
  if (!isChooser(el)) return { problem: 'not_a_list' };
  if (isSecret(el)) return { chosen: [] };
  const { lacks, found } = meantOptions(el, choosing);
  return lacks ?? { chosen: found.map(optionFacts) };
};

// What was chosen in a list before it was made ready for the key.
let moved = null;

// When the key did not get there, the list shows again what it showed.
const putBack = () => {
  if (moved && selectedIndex(moved.el) === moved.to) setSelectedIndex(moved.el, moved.was);
  moved = null;
  return true;
};

// What a click on an option would press instead of choosing it.
const PRESSED = 'a[href], area[href], button, input, select, textarea, label, summary, iframe, object, embed, video, audio';
// A list that the page draws itself opens at a click, and its options are parts of the page.
const isDrawnByPage = (el) =>
  [null, '::picker(select)'].every((part) => getComputedStyle(el, part).appearance === 'base-select');

// Says what has to be done to choose: nothing, a key, or clicks on options, of a list that has to be opened first or not.
//
// A list that drops down is chosen from by one arrow key from the option beside the wanted one, so that the page
// hears of one choice, from a real key, and of none in between.
const choose = (choosing) => {
  const { prefix, number, decided } = choosing;
  moved = null;
  const el = elementOf(number);
  if (!el) return { problem: 'gone' };
  if (isSecret(el)) return { problem: 'secret' };
  const { lacks, options, found } = meantOptions(el, choosing);
  if (lacks) return lacks;
  const isDecided = (option, at) => {
    const { label, value } = optionFacts(option);
    return decided[at]?.label === label && decided[at].value === value;
  };
  if (!found.every(isDecided)) return { changed: true };
  if (!takesSeveral(el) && found.length !== 1) return { several: true };
  const chosen = options.filter((option) => OPTION.selected(option));
  if (chosen.length === found.length && found.every((option) => chosen.includes(option))) return { done: true };
  const clicks = found.map((option) => `${prefix}e${refOf(option)}`);
  if (takesSeveral(el) || rowsShown(el) > 1) return { opens: false, clicks };
  if (isDrawnByPage(el)) {
    if (found.some((option) => querySelector(option, PRESSED))) return { problem: 'covered' };
    return { opens: !matches(el, ':open'), clicks };
  }
  const at = options.indexOf(found[0]);
  const before = options.findLastIndex((option, place) => place < at && canChoose(option));
  const after = options.findIndex((option, place) => place > at && canChoose(option));
  moved = { el, was: selectedIndex(el), to: before >= 0 ? before : after };
  setSelectedIndex(el, moved.to);
  return { key: before >= 0 || after < 0 ? 'ArrowDown' : 'ArrowUp' };
};

// Whether all of these, and nothing else, are chosen now. A list that the page drew anew is another one.
const isChosen = ({ number, options: wanted, ...seen }) => {
  const el = elementOf(number);
  if (!el) return 'gone';
  const options = Array.from(optionsOf(el));
  const found = wanted.map((one) => findOption(options, one, seen));
  return options.every((option) => OPTION.selected(option) === found.includes(option)) ? 'chosen' : 'other';
};

const isChecked = ({ number }) => {
  const el = elementOf(number);
  return { checked: el ? statesOf(el, roleOf(el)).checked ?? 'false' : null };
};
