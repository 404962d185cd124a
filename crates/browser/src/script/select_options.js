// Options of <select>, and checkboxes.

import { MAX_NAME, optionLabel } from './accessible_name.js';
import { isSelect, statesOf } from './aria_states.js';
import { matchTier } from './find.js';
import {
  isMultiple, matches, OPTION, querySelector, selectedIndex, selectOptions, selectSize, setSelectedIndex,
} from './intrinsics.js';
import { elementByRef, refOf } from './refs.js';
import { roleOf } from './roles.js';
import { isSecret } from './secret_fields.js';
import { markCut, normalizeText, shownText, withSlack } from './text.js';

const MAX_OPTIONS_LISTED = 10;
/** @param {HTMLOptionElement} option */
const isSelectable = (option) => !matches(option, ':disabled') && getComputedStyle(option).display !== 'none';

// Options that the agent has not seen are found by index only, not by label.
/**
 * @param {HTMLOptionElement[]} all
 * @param {WantedOption} wanted
 * @param {{ hidden: number[], read: number | null }} options
 */
const findOption = (all, wanted, { hidden, read }) => {
  if (wanted.index !== undefined) return all[wanted.index] ?? null;
  const options = read === null ? all : all.filter((_, at) => at < read && !hidden.includes(at));
  const label = normalizeText(wanted.label ?? '', MAX_NAME).trim();
  const lower = label.toLowerCase();
  const tiers = [0, 1, 2].map((tier) => options.find((option) => matchTier(shownText(optionLabel(option), MAX_NAME), label, lower) === tier));
  return tiers.find(Boolean) ?? null;
};

// An option as it is decided on: its label, and the value it submits.
const MAX_OPTION_VALUE = 300;
/** @param {HTMLOptionElement} option */
const optionFacts = (option) => {
  const value = OPTION.value(option);
  const most = withSlack(MAX_OPTION_VALUE);
  return { label: optionLabel(option), value: markCut(value.slice(0, most).toWellFormed(), value.length > most) };
};

// The requested options, or the first that is missing or disabled.
/** @param {HTMLSelectElement} el @param {SelectionRequest} options */
const matchOptions = (el, { options: wanted, ...seen }) => {
  const options = Array.from(selectOptions(el));
  const found = [];
  for (const [missing, one] of wanted.entries()) {
    const option = findOption(options, one, seen);
    if (option === null || !isSelectable(option)) {
      const available = options.filter(isSelectable).slice(0, MAX_OPTIONS_LISTED).map(optionLabel);
      return { lacks: { missing, disabled: option !== null, options: available } };
    }
    found.push(option);
  }
  return { options, found };
};

// The labels of a list's first options.
const MAX_LABELS_LENGTH = 1000000;
/** @param {{ number: number, most: number }} request */
export const listOptionLabels = ({ number, most }) => {
  const el = elementByRef(number);
  if (!el || !isSelect(el) || isSecret(el)) return [];
  /** @type {string[]} */
  const labels = [];
  let length = 0;
  for (const option of Array.from(selectOptions(el)).slice(0, most)) {
    if (length > MAX_LABELS_LENGTH) break;
    const label = optionLabel(option);
    length += label.length;
    labels.push(label);
  }
  return labels;
};

// Resolves an agent's labels or indexes to options. Returns none of a secret list.
/** @param {SelectionRequest} choosing */
export const resolveOptions = (choosing) => {
  const el = elementByRef(choosing.number);
  if (!el) return { problem: 'gone' };
  if (!isSelect(el)) return { problem: 'not_a_list' };
  if (isSecret(el)) return { chosen: [] };
  const matched = matchOptions(el, choosing);
  return matched.lacks ?? { chosen: matched.found.map(optionFacts) };
};

// The selection before prepareSelection moved it next to the requested option.
/** @type {{ el: HTMLSelectElement, was: number, to: number } | null} */
let preparedMove = null;

// Undoes prepareSelection when the key did not reach the list.
export const restoreSelection = () => {
  if (preparedMove && selectedIndex(preparedMove.el) === preparedMove.to) setSelectedIndex(preparedMove.el, preparedMove.was);
  preparedMove = null;
  return true;
};

// Content of an option that a click would activate instead of selecting the option.
const ACTIVATABLE = 'a[href], area[href], button, input, select, textarea, label, summary, iframe, object, embed, video, audio';
// A customizable <select> opens at a click, and its options are elements of the page.
/** @param {Element} el */
export const hasCustomizableAppearance = (el) =>
  [null, '::picker(select)'].every((part) => getComputedStyle(el, part).appearance === 'base-select');

// Returns how to select the options: nothing to do, a key, or clicks on options, after opening the list or not.
//
// In a drop-down list the selection is moved next to the requested option, and one arrow key does the rest: the page
// gets one change event, from a real key.
/** @param {SelectionRequest} choosing */
export const prepareSelection = (choosing) => {
  const { prefix, number, decided } = choosing;
  preparedMove = null;
  const el = elementByRef(number);
  if (!el) return { problem: 'gone' };
  if (isSecret(el)) return { problem: 'secret' };
  if (!isSelect(el)) return { problem: 'not_a_list' };
  const matched = matchOptions(el, choosing);
  if (matched.lacks) return matched.lacks;
  const { options, found } = matched;
  /** @param {HTMLOptionElement} option @param {number} at */
  const isDecided = (option, at) => {
    const { label, value } = optionFacts(option);
    return decided[at]?.label === label && decided[at].value === value;
  };
  if (!found.every(isDecided)) return { changed: true };
  if (!isMultiple(el) && found.length !== 1) return { several: true };
  const chosen = options.filter((option) => OPTION.selected(option));
  if (chosen.length === found.length && found.every((option) => chosen.includes(option))) return { done: true };
  const clicks = found.map((option) => `${prefix}e${refOf(option)}`);
  if (isMultiple(el) || selectSize(el) > 1) return { opens: false, clicks };
  if (hasCustomizableAppearance(el)) {
    if (found.some((option) => querySelector(option, ACTIVATABLE))) return { problem: 'covered' };
    return { opens: !matches(el, ':open'), clicks };
  }
  const at = options.indexOf(found[0]);
  const before = options.findLastIndex((option, place) => place < at && isSelectable(option));
  const after = options.findIndex((option, place) => place > at && isSelectable(option));
  preparedMove = { el, was: selectedIndex(el), to: before >= 0 ? before : after };
  setSelectedIndex(el, preparedMove.to);
  return { key: before >= 0 || after < 0 ? 'ArrowDown' : 'ArrowUp' };
};

// Whether exactly these options are selected now. A list that the page replaced is gone.
/** @param {SelectionRequest} request */
export const compareSelection = ({ number, options: wanted, ...seen }) => {
  const el = elementByRef(number);
  if (!el || !isSelect(el)) return 'gone';
  const options = Array.from(selectOptions(el));
  const found = wanted.map((one) => findOption(options, one, seen));
  return options.every((option) => OPTION.selected(option) === found.includes(option)) ? 'chosen' : 'other';
};

/** @param {RefRequest} request */
export const readChecked = ({ number }) => {
  const el = elementByRef(number);
  return { checked: el ? statesOf(el, roleOf(el)).checked ?? 'false' : null };
};
