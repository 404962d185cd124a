// What the page's style rules declare, by the tag, class, id or attribute that an element must have to be concerned.
//
// Rules are read at each snapshot: a page can change one in place. What they say is parsed once.

import { callCache } from './call_cache.js';
import {
  compoundsOf, isOwnTest, keyFeatures, noteMentions, splitPseudoElement, splitSelectorList,
} from './css_selectors.js';
import {
  adoptedStyleSheets, compatMode, conditionText, groupRules, importedSheet, isSheetDisabled, mediaText,
  querySelectorAll, ruleStyle, selectorText, sheetMedia, styleRules, styleSheets,
} from './intrinsics.js';
import { readableRules } from './stylesheets.js';

// With more rules, styles are computed for each element by itself.
const MAX_STYLE_RULES = 20000;
// Parsed texts that are kept.
const MAX_PARSED = 30000;

// Inherited properties of text.
export const COLOR = 1;
export const FONT = 2;
export const MASK = 4;
// What clips, fades or moves; what has a background; and what may overlap something else.
export const PLACE = 8;
export const BACKGROUND = 16;
export const MOVE = 32;
// Sizes that may displace or collapse text.
export const MARGIN = 64;
export const INDENT = 128;
export const SPACING = 256;
export const CRUSH = 512;
const BOX = 1024;
// What may not be rendered at all.
export const HIDE = 2048;
// What may have generated content, and content that differs between elements with the same style.
export const GENERATE = 4096;
export const GENERATE_EACH = 8192;
// Styles that depend on more than the element and its ancestors.
export const VARY = 16384;
// What a pointer is meant for.
export const POINTER = 32768;
// Texts whose white space may be drawn.
export const PRESERVE = 65536;
export const EVERYTHING = 131071;
export const INK = COLOR | FONT | MASK;
export const SIZE = MARGIN | INDENT | SPACING | CRUSH | BOX;

// By property, and for some by value.
const NEGATIVE_LENGTH = /-[\d.]|\(/;
// Any display value but those that render an element and its content.
const NON_BOX_DISPLAY =
  /^(?!(?:block|inline|inline-block|flow-root|list-item|(?:inline-)?(?:flex|grid|table)|table-(?:row|cell|caption|(?:row|header|footer)-group))(?: !important)?$)/;
/** @type {EffectRule[]} */
const EFFECT_RULES = [
  [EVERYTHING, /^all$/],
  [COLOR, /^(?:color|-webkit-text-fill-color|fill|fill-opacity)$/],
  [FONT, /^(?:font|font-size)$/],
  [MASK, /^-webkit-text-security$/],
  [BACKGROUND, /^background/],
  [PLACE | MOVE, /^(?:transform|translate|scale|rotate|top|left|right|bottom)$|^(?:offset|grid-|inset)/],
  [PLACE, /^position$/],
  // A relative position alone moves nothing.
  [MOVE, /^position$/, /^(?!(?:static|relative|initial|unset)\b)/],
  [PLACE, /^(?:opacity|filter|clip|clip-path|float|zoom|contain|z-index)$/],
  [PLACE, /^(?:content-visibility|backface-visibility)$|^(?:-webkit-)?mask|^overflow/],
  [MARGIN | MOVE, /^margin/, NEGATIVE_LENGTH],
  [INDENT, /^text-indent$/, NEGATIVE_LENGTH],
  [SPACING, /^(?:letter|word)-spacing$/, NEGATIVE_LENGTH],
  [CRUSH, /^(?:max-)?(?:width|height|inline-size|block-size)$/, /^[0-2](?:\.\d+)?(?:px)?(?![\d.%a-z])/],
  [CRUSH, /^line-height$/, /^(?:0(?:\.[0-2]\d*)?|[0-2](?:\.\d+)?px|0?\.[0-2]\d*)(?![\d.%a-z])/],
  [BOX, /^display$/, /inline-|\(/],
  [HIDE, /^display$/, NON_BOX_DISPLAY],
  // An image replaces the content.
  [HIDE, /^content$/, /\(/],
  [HIDE, /^(?:content-|position-)?visibility$/, /hidden|collapse|visible|overflow|\(/],
  [PRESERVE, /^white-space(?:-collapse)?$/],
  [POINTER, /^cursor$/, /pointer|grab|resize|move|crosshair|\(/],
];

/** @type {Map<string, EffectRule[]>} */
const effectRulesByProperty = new Map();
/** @param {string} property @returns {EffectRule[]} */
const effectRulesFor = (property) => {
  let effects = effectRulesByProperty.get(property);
  if (effects === undefined) {
    effects = EFFECT_RULES.filter(([, names]) => names.test(property));
    effectRulesByProperty.set(property, effects);
  }
  return effects;
};

/** @template V @param {Map<string, V>} cache @param {string} key @param {(key: string) => V} parse */
const parsed = (cache, key, parse) => {
  let value = cache.get(key);
  if (value === undefined) {
    value = parse(key);
    if (cache.size >= MAX_PARSED) cache.clear();
    cache.set(key, value);
  }
  return value;
};

// Values that depend on an attribute, a place among siblings, the size of a container or another element; and functions of
// the page's own, which may.
const VARYING_VALUE = /attr\(|sibling-|random|anchor|\d(?:cqw|cqh|cqi|cqb|cqmin|cqmax)|--[\w-]+\((?!\s*--)|\bif\(|inherit\(/i;
/** @type {Map<string, number>} */
const declarationCache = new Map();
// The possible effects of declarations. A quoted string may look like a declaration, which only costs time.
/** @param {string} text */
export const declaredEffects = (text) => (text === '' ? 0 : parsed(declarationCache, text, parseDeclarations));
/** @param {string} text */
const parseDeclarations = (text) => {
  let all = VARYING_VALUE.test(text) ? VARY : 0;
  for (const [, property, value] of text.matchAll(/(?:^|[;{}])\s*([a-z-]+):\s*([^;{}]*)/g)) {
    if (property.startsWith('--')) continue;
    for (const [effects, , values] of effectRulesFor(property)) if (!values || values.test(value)) all |= effects;
  }
  return all;
};

// The effects of a rule for ::before or ::after.
/** @param {string} text */
const generatedEffects = (text) => {
  const content = /(?:^|[;{}])\s*content:\s*([^;{}]*)/.exec(text)?.[1];
  if (content === undefined) return /(?:^|[;{}])\s*all:/.test(text) ? GENERATE | GENERATE_EACH : 0;
  if (/^(?:none|normal)\b/.test(content)) return 0;
  const each = /attr\(|counter|quote|var\(/.test(content) ? GENERATE_EACH : 0;
  return GENERATE | each | (VARYING_VALUE.test(text.replace(content, '')) ? VARY : 0);
};

// Elements with such effects by the user agent's style sheet.
/** @type {[number, string][]} */
const BY_TAG = [
  [COLOR, 'a area option optgroup font text tspan textPath'],
  [FONT, 'button input select textarea option optgroup font text tspan textPath'],
  [COLOR | PLACE | BACKGROUND, 'mark body button input select textarea'],
  [PLACE | BACKGROUND, 'html canvas video audio object marquee'],
  [PLACE | BACKGROUND | MOVE, 'dialog'],
  [GENERATE | GENERATE_EACH, 'q'],
];
/** @type {Record<string, number>} */
const BY_ATTRIBUTE = { popover: EVERYTHING, dir: VARY, bgcolor: BACKGROUND, background: BACKGROUND };
for (const name of ['opacity', 'fill-opacity', 'transform', 'clip-path', 'mask', 'filter', 'x', 'y']) BY_ATTRIBUTE[name] = PLACE;

/** @template K @param {Map<K, number>} map @param {K} key @param {number} effects */
const addEffects = (map, key, effects) => map.set(key, (map.get(key) ?? 0) | effects);

/** @returns {FeatureMaps<number>} */
const newEffectMaps = () => ({ tag: new Map(), '.': new Map(), '#': new Map(), '[': new Map(Object.entries(BY_ATTRIBUTE)) });
/** @returns {FeatureMaps<string[]>} */
const newTestMaps = () => ({ tag: new Map(), '.': new Map(), '#': new Map(), '[': new Map() });

/** @returns {StyleRules} */
const newStyleRules = () => {
  const found = {
    all: false, effects: newEffectMaps(), tests: newTestMaps(), elements: new Map(), ids: new Set(), attributes: new Map(),
    isQuirky: compatMode(document) === 'BackCompat', generates: false, tagSelectors: new Map(),
  };
  for (const [effects, tags] of BY_TAG) for (const tag of tags.split(' ')) addEffects(found.effects.tag, tag, effects);
  return found;
};

// The rules of the document; shadow roots have their own, which are not read.
export const documentRules = () => {
  const now = callCache();
  now.rules ??= readDocumentRules();
  return now.rules;
};

const readDocumentRules = () => {
  const rules = newStyleRules();
  const budget = { rules: MAX_STYLE_RULES };
  for (const sheet of [...styleSheets(document), ...adoptedStyleSheets(document)]) {
    if (!readStyleSheet(sheet, rules, budget)) { rules.all = true; rules.generates = true; break; }
  }
  return rules;
};

/** @param {string} media */
const isMediaActive = (media) => media === '' || media === 'all' || matchMedia(media).matches;

// false if a rule cannot be read or understood.
/** @param {CSSStyleSheet} sheet @param {StyleRules} rules @param {{ rules: number }} budget @returns {boolean} */
const readStyleSheet = (sheet, rules, budget) => {
  if (isSheetDisabled(sheet) || !isMediaActive(mediaText(sheetMedia(sheet)))) return true;
  const top = readableRules(sheet);
  if (!top) return false;
  /** @type {RuleList[]} */
  const waiting = [{ list: top, parent: '', extra: 0 }];
  while (waiting.length) {
    const { list, parent, extra } = /** @type {RuleList} */ (waiting.pop());
    for (let i = 0; i < list.length; i += 1) {
      budget.rules -= 1;
      if (budget.rules < 0 || !readRule(list[i], parent, extra, rules, waiting, budget)) return false;
    }
  }
  return true;
};

/**
 * @param {CSSRule} rule
 * @param {string} parent
 * @param {number} extra
 * @param {StyleRules} rules
 * @param {RuleList[]} waiting
 * @param {{ rules: number }} budget
 */
const readRule = (rule, parent, extra, rules, waiting, budget) => {
  if (rule instanceof CSSStyleRule) {
    const own = selectorText(rule);
    const selector = parent === '' ? own : nestedSelector(own, parent);
    addRule(selector, ruleStyle(rule).cssText, extra, rules);
    const nested = styleRules(rule);
    if (nested.length) waiting.push({ list: nested, parent: selector, extra });
  } else if (rule instanceof CSSImportRule) {
    const imported = importedSheet(rule);
    if (imported && !readStyleSheet(imported, rules, budget)) return false;
  } else if (rule instanceof CSSMediaRule) {
    if (isMediaActive(conditionText(rule))) waiting.push({ list: groupRules(rule), parent, extra });
  } else if (rule instanceof CSSContainerRule) {
    waiting.push({ list: groupRules(rule), parent, extra: VARY });
  } else if (rule instanceof CSSSupportsRule || rule instanceof CSSLayerBlockRule) {
    waiting.push({ list: groupRules(rule), parent, extra });
  } else if (parent !== '' && 'style' in rule) {
    // Declarations after nested rules.
    addRule(parent, /** @type {CSSStyleRule} */ (rule).style.cssText, extra, rules);
  } else if (rule instanceof CSSGroupingRule && declaredEffects(rule.cssText) !== 0) {
    return false;
  }
  return true;
};

/** @param {string} own @param {string} parent */
const nestedSelector = (own, parent) =>
  splitSelectorList(own).map((one) => (one.includes('&') ? one.replaceAll('&', `:is(${parent})`) : `:is(${parent}) ${one}`)).join(', ');

/** @type {Map<string, ParsedSelector[]>} */
const selectorCache = new Map();
/** @param {string} text */
const parseSelectorList = (text) => splitSelectorList(text).map(parseSelector);

/** @param {string} text @returns {ParsedSelector} */
const parseSelector = (text) => {
  const [selector, pseudo] = splitPseudoElement(text);
  const compounds = compoundsOf(selector);
  const tests = [];
  for (const { text: compound, end, isSibling } of compounds) {
    if (isSibling || !isOwnTest(compound)) tests.push({ prefix: selector.slice(0, end), features: keyFeatures(compound) });
  }
  const ids = new Set();
  const attributes = new Map();
  noteMentions(selector, ids, attributes);
  const last = compounds.at(-1)?.text ?? '*';
  return { selector, pseudo, features: keyFeatures(last), isEvery: selector === '*', tests, ids, attributes };
};

/** @param {string} selector @param {string} declarations @param {number} extra @param {StyleRules} rules */
const addRule = (selector, declarations, extra, rules) => {
  const effects = declaredEffects(declarations);
  const hasPseudo = selector.includes(':');
  if (effects === 0 && !hasPseudo) return;
  for (const one of parsed(selectorCache, selector, parseSelectorList)) {
    const own = one.pseudo === '' ? effects : one.pseudo === 'other' ? 0 : generatedEffects(declarations);
    if (own === 0) continue;
    if (own & GENERATE) rules.generates = true;
    addSelector(one, own | extra, rules);
  }
};

/** @param {ParsedSelector} parsedSelector @param {number} effects @param {StyleRules} rules */
const addSelector = ({ selector, features, isEvery, tests, ids, attributes }, effects, rules) => {
  for (const id of ids) rules.ids.add(caseOf('#', id, rules));
  for (const [name, some] of attributes) {
    const known = rules.attributes.get(name);
    if (known) for (const test of some) known.add(test);
    else rules.attributes.set(name, new Set(some));
  }
  for (const { prefix, features: where } of tests) {
    if (where) for (const { kind, name } of where) {
      addTest(rules.tests[kind], caseOf(kind, name, rules), prefix);
      if (kind === 'tag') addTest(rules.tests.tag, name.toLowerCase(), prefix);
    }
    else markMatches(prefix, 0, rules);
  }
  if (isEvery) addEffects(rules.effects.tag, '*', effects);
  else if (!features) markMatches(selector, effects, rules);
  else {
    for (const { kind, name } of features) {
      addEffects(rules.effects[kind], caseOf(kind, name, rules), effects);
      if (kind !== 'tag') continue;
      addEffects(rules.effects.tag, name.toLowerCase(), effects);
      addEffects(rules.tagSelectors, selector, effects);
    }
  }
};

// Classes and ids are compared without case in quirks mode.
/** @param {string} kind @param {string} name @param {StyleRules} rules */
const caseOf = (kind, name, { isQuirky }) => (isQuirky && (kind === '.' || kind === '#') ? name.toLowerCase() : name);

/** @param {Map<string, string[]>} tests @param {string} name @param {string} prefix */
const addTest = (tests, name, prefix) => {
  const known = tests.get(name);
  if (!known) tests.set(name, [prefix]);
  else if (!known.includes(prefix)) known.push(prefix);
};

// A selector that could match any element is matched once for all.
/** @param {string} selector @param {number} effects @param {StyleRules} rules */
const markMatches = (selector, effects, rules) => {
  try {
    for (const el of querySelectorAll(document, selector)) {
      const known = rules.elements.get(el);
      if (known) { known.effects |= effects; known.matched += `\n${selector}`; } else rules.elements.set(el, { effects, matched: selector });
    }
  } catch (error) {
    // querySelectorAll does not accept namespace prefixes.
    if (!(error instanceof DOMException && error.name === 'SyntaxError')) throw error;
    rules.all = true;
  }
};

// Selectors of elements on which a rule may have an effect by their tag, id or an attribute; null if that may be any element.
/** @param {StyleRules} rules @param {number} wanted */
export const selectorsOfEffect = ({ all, effects, tagSelectors }, wanted) => {
  if (all || (effects.tag.get('*') ?? 0) & wanted) return null;
  const selectors = [];
  // A tag alone would be half of the page.
  for (const [some, tags] of BY_TAG) if (some & wanted) selectors.push(...tags.split(' '));
  for (const [selector, some] of tagSelectors) if (some & wanted) selectors.push(selector);
  for (const [name, some] of effects['#']) if (some & wanted) selectors.push(`#${CSS.escape(name)}`);
  for (const [name, some] of effects['[']) if (some & wanted) selectors.push(`[${CSS.escape(name)}]`);
  return selectors;
};
