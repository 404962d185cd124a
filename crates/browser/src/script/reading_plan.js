// Decides which parts of a large page a first reply can show; the other parts are counted and read later.
//
// Mirrors the layout of replies (`snapshot/layout_builder.rs`) on the DOM: near the root before far from it, headings before
// their sections, the first items of a long run before the rest, content before navigation. Sizes are estimated by native
// calls, so that an element that is not shown costs no script. The estimate is generous: the layout decides.

import { ownership } from './aria_owns.js';
import { INLINE_TAGS, NEVER_RENDERED } from './element_visibility.js';
import { attribute, countElements, modalDialogs, shadowRootOf, tagOf } from './flat_tree.js';
import {
  characterData, checkVisibility, collectionLength, descendants, DETAILS, documentElement, elementsIn, firstChild,
  firstElementChild, isElement, isText, listLength, nextSibling, textContent,
} from './intrinsics.js';
import { roleOf } from './roles.js';

// A smaller page is read at once.
const MIN_ELEMENTS = 600;
// Read in proportion to what the reply can hold.
const GENEROSITY = 1.35;
// Estimated bytes of a line besides its texts, and of any other element.
const LINE_BYTES = 26;
const ELEMENT_BYTES = 2;
// Most elements that have a line of their own. Those of a table have one only if it holds data.
const LINES = 'a, area, button, code, dd, dl, dt, h1, h2, h3, h4, h5, h6, iframe, img, input, li, ol, p, pre, select, summary, svg, textarea, ul, [role]';
const LINES_AND_CELLS = `${LINES}, td, th, tr`;
// Of items with the same tag in one parent these are looked into; the others are taken to have as many lines for their size.
const SAMPLES = 3;
// As in the layout of replies.
const SHARES_PER_BUDGET = 8;
const MIN_RUN = 8;
const RUN_PREVIEW = 3;
const LEVEL_PENALTY = 100;
const SIBLING_PENALTY = 2;
const RUN_PENALTY = 300;
const BOILERPLATE_PENALTY = 2000;
const BOILERPLATE = new Set(['navigation', 'contentinfo', 'complementary']);

// Elements that may be read in part: they are neither named by their content nor drawn as a whole. Listings are, with what
// colors them.
const DIVISIBLE_TAGS = new Set(
  ('address article aside blockquote body center code dd details div dl fieldset figure font footer form header hgroup html ' +
   'li main map menu nav ol p pre samp search section span table tbody td tfoot thead tr tt ul').split(' '),
);
// Of these what is beyond the size of a reply is not looked at.
const LISTING_TAGS = new Set(['code', 'pre', 'samp', 'span', 'tt']);
const INDIVISIBLE_ROLES = /button|cell|checkbox|header|heading|link|menu|option|radio|switch|tab|term|tooltip|tree/;
// How many lines a tag mostly has in a reply; what it contains is counted by itself.
/** @type {[string, number][]} */
const LINES_BY_TAG = [['a', 1], ['area', 1], ['code', 1], ['dd', 2], ['dt', 1], ['h2', 1], ['h3', 1], ['li', 2], ['p', 2], ['pre', 1], ['td', 2], ['tr', 1], ['ul', 1]];
const ACTING_TAGS = ['a', 'area', 'button', 'input', 'select', 'textarea'];
// Longer ranges are counted by what is left of their parent.
const MAX_COUNTED_ITEMS = 50;

export class DeferredPart {
  /** @param {number} number @param {Node} first @param {Node | null} end @param {string} role @param {number} siblings @param {PartCounts} counts */
  constructor(number, first, end, role, siblings, counts) {
    this.number = number;
    this.first = first;
    this.end = end;
    this.role = role;
    this.siblings = siblings;
    this.counts = counts;
  }
}

const CHILDREN = 0;
const RUN = 1;
const SECTION = 2;

// The text of an element with very many others is not measured: it is too large in any case.
const MANY_ELEMENTS = 1000;
/** @param {Element} el @param {Samples} samples */
const sizeOf = (el, samples) => {
  if (NEVER_RENDERED.has(tagOf(el)) || !checkVisibility(el)) return 0;
  if (firstElementChild(el) === null) return LINE_BYTES + (textContent(el) ?? '').length;
  const elements = collectionLength(descendants(el, '*'));
  if (elements >= MANY_ELEMENTS) return elements * LINE_BYTES;
  return LINE_BYTES + elements * (ELEMENT_BYTES + LINE_BYTES * linesPerElement(el, elements, samples)) + (textContent(el) ?? '').length;
};

/** @param {Element} el @param {number} elements @param {Samples} samples */
const linesPerElement = (el, elements, samples) => {
  const tag = tagOf(el);
  let sample = samples.get(tag);
  if (!sample) {
    sample = { left: SAMPLES, lines: 0, elements: 0 };
    samples.set(tag, sample);
  }
  if (sample.left > 0) {
    sample.left -= 1;
    const isLayout = tag === 'tr' && roleOf(el) === '';
    sample.lines += listLength(elementsIn(el, isLayout ? LINES : LINES_AND_CELLS));
    sample.elements += elements;
  }
  return sample.lines / sample.elements;
};

/** @param {Element} el @param {Samples} samples */
const inlineSize = (el, samples) => (firstElementChild(el) === null && tagOf(el) !== 'a' ? ELEMENT_BYTES + (textContent(el) ?? '').length : sizeOf(el, samples));

/** @param {Element} el */
const isDivisible = (el) => {
  if (!(DIVISIBLE_TAGS.has(tagOf(el)) || tagOf(el).includes('-')) || shadowRootOf(el) !== null) return false;
  if (el instanceof HTMLDetailsElement && !DETAILS.open(el)) return false;
  const role = attribute(el, 'role');
  return (role === null || !INDIVISIBLE_ROLES.test(role)) && attribute(el, 'contenteditable') === null;
};

// The children of an element: blocks one by one, and what flows between them in items of a size that can be shown.
/** @param {Element} el @param {number} share @returns {PlanItem[]} */
const itemsOf = (el, share) => {
  /** @type {PlanItem[]} */
  const items = [];
  /** @type {PlanItem | null} */
  let flow = null;
  let listed = 0;
  /** @type {Samples} */
  const samples = new Map();
  const most = LISTING_TAGS.has(tagOf(el)) ? share * SHARES_PER_BUDGET : Infinity;
  for (let child = firstChild(el); child; child = nextSibling(child)) {
    if (isElement(child) && !INLINE_TAGS.has(tagOf(child))) {
      items.push({ first: child, el: child, tag: tagOf(child), size: -1, samples });
      flow = null;
      continue;
    }
    if (listed > most) {
      items.push({ first: child, el: null, tag: '', size: Infinity, samples });
      break;
    }
    const size = isText(child) ? characterData(child).trim().length : isElement(child) ? inlineSize(child, samples) : 0;
    listed += size;
    if (size > share && isElement(child)) {
      items.push({ first: child, el: child, tag: '', size, samples });
      flow = null;
    } else if (flow && flow.size + size <= share) flow.size += size;
    else if (size > 0) {
      flow = { first: child, el: null, tag: '', size, samples };
      items.push(flow);
    }
  }
  return items;
};

/** @param {PlanItem} item */
const itemSize = (item) => {
  if (item.size < 0) item.size = item.el ? sizeOf(item.el, item.samples) : 0;
  return item.size;
};

/** @param {PlanItem} item */
const headingLevel = ({ tag }) => (/^h[1-6]$/.test(tag) ? Number(tag[1]) : 0);

/** @param {PlanGroup} group */
const nextTurn = ({ kind, taken, turn }) => {
  const late = kind === RUN && taken >= RUN_PREVIEW ? RUN_PENALTY : kind === SECTION && taken > 0 ? LEVEL_PENALTY : 0;
  return turn + late + taken * SIBLING_PENALTY;
};

// The run or section that begins with the next item, if it is a group of its own.
/** @param {PlanGroup} group @param {number} share */
const nextSubgroup = ({ items, next, end, kind, taken }, share) => {
  if (kind === RUN || (kind === SECTION && taken === 0)) return null;
  const level = headingLevel(items[next]);
  if (level) {
    let size = itemSize(items[next]);
    let at = next + 1;
    for (; at < end; at += 1) {
      const other = headingLevel(items[at]);
      if (other && other <= level) break;
      if (size <= share) size += itemSize(items[at]);
    }
    return size > share ? { end: at, kind: SECTION } : null;
  }
  // The content of a large element without a role is in the place of the element.
  const { el } = items[next];
  if (el && itemSize(items[next]) > share && isDivisible(el) && !roleOf(el)) return null;
  let at = next;
  while (at < end && items[at].tag === items[next].tag) at += 1;
  return at - next >= MIN_RUN ? { end: at, kind: RUN } : null;
};

// What of the page is left for later, by the parents of the parts; null if all of it is read now.
/** @param {number} bytes of the reply @returns {ReadingPlan | null} */
export const planReading = (bytes) => {
  const root = documentElement(document);
  if (!root || countElements() < MIN_ELEMENTS) return null;
  if (ownership().ownerOf.size > 0 || modalDialogs().length > 0) return null;
  const share = bytes / SHARES_PER_BUDGET;
  let left = bytes * GENEROSITY;
  /** @type {PlanGroup[]} */
  const groups = [{ parent: root, items: itemsOf(root, share), next: 0, end: 0, taken: 0, turn: 0, kind: CHILDREN }];
  groups[0].end = groups[0].items.length;
  const waiting = [groups[0]];
  while (left > 0 && waiting.length) {
    let at = 0;
    for (let i = 1; i < waiting.length; i += 1) if (nextTurn(waiting[i]) < nextTurn(waiting[at])) at = i;
    const group = waiting[at];
    if (group.next >= group.end) { waiting[at] = waiting[waiting.length - 1]; waiting.pop(); continue; }
    const turn = nextTurn(group);
    const inner = nextSubgroup(group, share);
    if (inner) {
      const opened = { ...group, end: inner.end, kind: inner.kind, taken: 0, turn };
      groups.push(opened);
      waiting.push(opened);
      group.next = inner.end;
      group.taken += 1;
      continue;
    }
    const item = group.items[group.next];
    const size = itemSize(item);
    // The rest of a listing is never read at first.
    if (size === Infinity) { waiting[at] = waiting[waiting.length - 1]; waiting.pop(); continue; }
    group.next += 1;
    group.taken += 1;
    if (size <= share || !item.el || !isDivisible(item.el)) { left -= Math.min(size, share); continue; }
    left -= LINE_BYTES;
    const role = roleOf(item.el);
    const items = itemsOf(item.el, share);
    const below = turn + (role ? LEVEL_PENALTY : 0) + (BOILERPLATE.has(role) ? BOILERPLATE_PENALTY : 0);
    const opened = { parent: item.el, items, next: 0, end: items.length, taken: 0, turn: below, kind: CHILDREN };
    groups.push(opened);
    waiting.push(opened);
  }
  const deferred = groups.filter((group) => group.next < group.end);
  return deferred.length ? deferParts(deferred) : null;
};

/** @param {PlanGroup[]} groups @returns {ReadingPlan} */
const deferParts = (groups) => {
  /** @type {ReadingPlan} */
  const plan = new Map();
  let number = 0;
  for (const { parent, items, next, end } of groups) {
    const some = items.slice(next, end);
    const isAlike = some.every(({ tag }) => tag === some[0].tag);
    const role = (isAlike && some[0].el && roleOf(some[0].el)) || 'element';
    const known = plan.get(parent);
    const part = new DeferredPart(number, some[0].first, items[end]?.first ?? null, role, some.length, countPart(parent, items, next, end));
    number += 1;
    if (known) known.push(part);
    else plan.set(parent, [part]);
  }
  return plan;
};

/** @param {Element} parent @param {PlanItem[]} items @param {number} next @param {number} end @returns {PartCounts} */
const countPart = (parent, items, next, end) => {
  const isFlow = items[next].tag === '' && items[end - 1].tag === '';
  if (end - next <= MAX_COUNTED_ITEMS && !isFlow) return countItems(items.slice(next, end));
  const all = countIn(parent);
  const rest = items.length - (end - next) <= MAX_COUNTED_ITEMS ? countItems([...items.slice(0, next), ...items.slice(end)]) : null;
  if (rest) return { lines: Math.max(all.lines - rest.lines, 1), acting: Math.max(all.acting - rest.acting, 0) };
  const part = (end - next) / items.length;
  return { lines: Math.ceil(all.lines * part), acting: Math.ceil(all.acting * part) };
};

/** @param {PlanItem[]} items @returns {PartCounts} */
const countItems = (items) => {
  const sum = { lines: 0, acting: 0 };
  for (const { el } of items) {
    const { lines, acting } = el ? countIn(el) : { lines: 0, acting: 0 };
    sum.lines += lines + 1;
    sum.acting += acting;
  }
  return sum;
};

/** @param {Element} el @returns {PartCounts} */
const countIn = (el) => {
  const sum = { lines: 0, acting: 0 };
  if (firstElementChild(el) === null) return sum;
  for (const [tag, lines] of LINES_BY_TAG) sum.lines += lines * collectionLength(descendants(el, tag));
  for (const tag of ACTING_TAGS) sum.acting += collectionLength(descendants(el, tag));
  // What is made of elements without a meaning of their own says so by attributes.
  const meant = listLength(elementsIn(el, ':is(div, span)[role]'));
  sum.lines += meant;
  sum.acting += meant > 0 ? listLength(elementsIn(el, ':is(div, span)[tabindex]')) : 0;
  return sum;
};

// Plans of the last readings, by the serials of their replies. The driver keeps as many snapshots.
const MAX_PLANS = 4;
/** @type {Map<number, ReadingPlan>} */
const plans = new Map();
/** @param {number} serial @param {ReadingPlan} plan */
export const rememberPlan = (serial, plan) => {
  plans.set(serial, plan);
  if (plans.size > MAX_PLANS) plans.delete(plans.keys().next().value ?? 0);
};

// Where a whole reading has the parts that earlier ones deferred.
export class DeferredMarks {
  // In the order of their positions.
  /** @type {{ serial: number, at: number }[]} */
  all = [];
  /** @type {Map<DeferredPart, number>} */
  #serials = new Map();

  /** @param {number[]} serials */
  constructor(serials) {
    this.serials = serials.filter((serial) => plans.has(serial));
    /** @type {ReadingPlan} */
    this.plan = new Map();
    for (const serial of this.serials) {
      for (const [parent, parts] of plans.get(serial) ?? []) {
        this.plan.set(parent, [...(this.plan.get(parent) ?? []), ...parts]);
        for (const part of parts) this.#serials.set(part, serial);
      }
    }
  }

  /** @param {DeferredPart} part @param {number} at */
  add(part, at) { this.all.push({ serial: this.#serials.get(part) ?? 0, at }); }

  // Begins and ends in turns, by serial.
  parts() {
    return this.serials.map((serial) => [serial, this.all.filter((mark) => mark.serial === serial).map(({ at }) => at)]);
  }
}
