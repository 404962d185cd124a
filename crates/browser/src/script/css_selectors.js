// Selectors, taken apart as far as it takes to know which elements they could match.

// A selector list at its commas, and one selector at its combinators. Brackets, parentheses and quotes are skipped.
/** @param {string} text @param {(c: string) => boolean} isEnd */
const splitOutside = (text, isEnd) => {
  const parts = [];
  let from = 0;
  let depth = 0;
  let quote = '';
  for (let at = 0; at < text.length; at += 1) {
    const c = text[at];
    if (c === '\\') { at += 1; continue; }
    if (quote) { if (c === quote) quote = ''; continue; }
    if (c === '"' || c === "'") quote = c;
    else if (c === '(' || c === '[') depth += 1;
    else if (c === ')' || c === ']') depth -= 1;
    else if (depth === 0 && isEnd(c)) { parts.push([from, at]); from = at + 1; }
  }
  parts.push([from, text.length]);
  return parts;
};

/** @param {string} c */
const isComma = (c) => c === ',';
/** @param {string} text */
export const splitSelectorList = (text) =>
  /[("'[\\]/.test(text) ? splitOutside(text, isComma).map(([from, to]) => text.slice(from, to).trim()) : text.split(',').map((part) => part.trim());

/** @param {string} c */
const isCombinator = (c) => c === ' ' || c === '>' || c === '+' || c === '~';

// The compounds of a selector: where each ends, and whether it stands after a sibling combinator.
/** @param {string} selector @returns {Compound[]} */
export const compoundsOf = (selector) => {
  /** @type {Compound[]} */
  const compounds = [];
  let isSibling = false;
  let before = 0;
  for (const [from, to] of splitOutside(selector, isCombinator)) {
    const between = selector.slice(before, from);
    if (between.includes('+') || between.includes('~')) isSibling = true;
    before = to;
    if (from === to) continue;
    compounds.push({ text: selector.slice(from, to), end: to, isSibling });
    isSibling = false;
  }
  return compounds;
};

// The pseudo-element that a selector ends with, and the selector without it.
const PSEUDO_ELEMENT = /(?<!\\)::?(before|after)$|(?<!\\)::[\w-]+(?:\([^)]*\))?(?:::?[\w-]+)*$|(?<!\\):(?:first-line|first-letter)$/i;
/** @param {string} selector @returns {[selector: string, pseudo: string]} */
export const splitPseudoElement = (selector) => {
  if (!selector.includes(':')) return [selector, ''];
  const found = PSEUDO_ELEMENT.exec(selector);
  if (!found) return [selector, ''];
  const rest = selector.slice(0, found.index);
  return [rest === '' || / $/.test(rest) || /[>+~]$/.test(rest) ? `${rest}*` : rest, found[1]?.toLowerCase() ?? 'other'];
};

// States of few elements at a time; those are found by `elementsInState`.
const STATE = /:(?:hover|active|focus-visible|focus-within|focus|target|link|visited|any-link|root)(?![\w(-])/gi;
const NAME = String.raw`(?:[\w-]|[^\0-\x7f]|\\.)+`;
const FEATURE = new RegExp(String.raw`^(?:\*|${NAME})|\.${NAME}|#${NAME}|\[[^\]]*\]`, 'g');
const OWN_FEATURES = /:(?:not|is|where|-webkit-any|matches)\(((?:[^()"']|"[^"]*"|'[^']*')*)\)/gi;

// Whether a compound tests only the element's own name, id, classes and attributes, besides states.
/** @param {string} compound @returns {boolean} */
export const isOwnTest = (compound) => {
  if (!compound.includes(':')) return true;
  const outer = compound.replace(/\\./g, '_').replace(OWN_FEATURES, (_, inner) => (splitSelectorList(inner).every((one) => compoundsOf(one).length === 1 && isOwnTest(one)) ? '' : ':complex'));
  return !outer.replace(STATE, '').replace(/\[[^\]]*\]/g, '').includes(':');
};

const UNESCAPED = /\\(?:([0-9a-f]{1,6})\s?|(.))/gi;
/** @param {string} name */
const unescapeName = (name) => (name.includes('\\') ? name.replace(UNESCAPED, (_, hex, plain) => plain ?? String.fromCodePoint(parseInt(hex, 16) || 0xfffd)) : name);

// The features by which elements that match a compound can be looked up: each match has at least one of them. null if
// any element might match. Of several classes the last one mostly says what is special about them.
/** @param {string} compound @returns {Feature[] | null} */
export const keyFeatures = (compound) => {
  const outer = compound.replace(OWN_FEATURES, '').replace(/\((?:[^()]|\([^()]*\))*\)/g, '');
  const found = outer.replace(/(?<!\\)::?[\w-]+/g, '').match(FEATURE) ?? [];
  const best = found.find((one) => one[0] === '#') ?? found.findLast((one) => one[0] === '.') ??
    found.find((one) => one[0] !== '[' && one !== '*') ?? found.find((one) => one[0] === '[');
  if (best) {
    if (best[0] === '[') return [{ kind: '[', name: attributeOf(best) }];
    return best[0] === '#' || best[0] === '.' ? [{ kind: best[0], name: unescapeName(best.slice(1)) }] : [{ kind: 'tag', name: best.replace(/^\*?\|/, '') }];
  }
  if (/:root(?![\w-])/i.test(outer)) return [{ kind: 'tag', name: 'html' }];
  if (/:(?:link|visited|any-link)(?![\w-])/i.test(outer)) return [{ kind: 'tag', name: 'a' }, { kind: 'tag', name: 'area' }];
  return alternativeFeatures(compound);
};

// Those of `:is(…)` and `:where(…)`.
/** @param {string} compound @returns {Feature[] | null} */
const alternativeFeatures = (compound) => {
  const inner = /^\*?:(?:is|where)\((.*)\)/i.exec(compound)?.[1];
  if (inner === undefined || !isBalanced(inner)) return null;
  /** @type {Feature[]} */
  const all = [];
  for (const one of splitSelectorList(inner)) {
    const last = compoundsOf(one).at(-1);
    const features = last ? keyFeatures(last.text) : null;
    if (!features) return null;
    all.push(...features);
  }
  return all;
};

/** @param {string} text */
const isBalanced = (text) => {
  let depth = 0;
  for (const c of text) {
    if (c === '(') depth += 1;
    if (c === ')') depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
};

/** @param {string} test */
const attributeOf = (test) => (/^\[\s*(?:[\w*-]*\|)?([^\s~|^$*=\]]+)/.exec(test)?.[1] ?? '').toLowerCase();

// Ids and attributes that a selector mentions anywhere.
/** @param {string} selector @param {Set<string>} ids @param {Map<string, Set<string>>} attributes */
export const noteMentions = (selector, ids, attributes) => {
  if (selector.includes('#')) for (const [one] of selector.matchAll(new RegExp(`#${NAME}`, 'g'))) ids.add(unescapeName(one.slice(1)));
  if (!selector.includes('[')) return;
  for (const [test] of selector.matchAll(/\[(?:[^\]"']|"[^"]*"|'[^']*')*\]/g)) {
    const name = attributeOf(test);
    const tests = attributes.get(name);
    if (tests) tests.add(test);
    else attributes.set(name, new Set([test]));
  }
};
