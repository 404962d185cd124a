// Which elements the page's styles could make invisible, and by which effect.
//
// Computing the style of every element costs as much as all the rest of a walk, and most elements of a page are plain text
// in plain places. So the rules are read first, and only elements that a relevant rule or attribute can match are computed.
// Nothing is kept from one snapshot to the next: a page can change a rule in place.

import { callCache } from './call_cache.js';
import { shadowRootsSeen, tagOf } from './flat_tree.js';
import {
  adoptedStyleSheets, runningAnimations, groupRules, importedSheet, isHtml, querySelectorAll, ruleStyle,
  selectorText, styleOfHtml, styleOfMath, styleOfSvg, styleRules, styleSheets,
} from './intrinsics.js';
import { readableRules } from './stylesheets.js';

// With more than these, every element is computed.
const MAX_STYLE_RULES = 4000;
const MAX_STYLED = 4000;
const MAX_ANIMATIONS = 200;

// Inherited properties of text.
export const COLOR = 1;
export const FONT = 2;
export const MASK = 4;
// What clips, fades or moves; what has a background; and what may overlap something else.
export const PLACE = 8;
export const BACKGROUND = 16;
const MOVE = 32;
// Sizes that may displace or collapse text.
export const MARGIN = 64;
export const INDENT = 128;
export const SPACING = 256;
export const CRUSH = 512;
const BOX = 1024;
// What may not be rendered at all.
export const HIDE = 2048;
const EVERYTHING = 4095;
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
  [PLACE | BACKGROUND, /^background/],
  [PLACE | MOVE, /^(?:position|transform|translate|scale|rotate)$|^(?:offset|grid-)/],
  [PLACE, /^(?:opacity|filter|clip|clip-path|float|top|left|right|bottom|zoom|contain|z-index)$/],
  [PLACE, /^(?:content-visibility|backface-visibility)$|^(?:-webkit-)?mask|^(?:overflow|inset)/],
  [MARGIN | MOVE, /^margin/, NEGATIVE_LENGTH],
  [INDENT, /^text-indent$/, NEGATIVE_LENGTH],
  [SPACING, /^(?:letter|word)-spacing$/, NEGATIVE_LENGTH],
  [CRUSH, /^(?:max-)?(?:width|height|inline-size|block-size|line-height)$/, /^[0-2](?:\.\d+)?(?:px)?(?![\d.%a-z])/],
  [BOX, /^display$/, /inline-|\(/],
  [HIDE, /^display$/, NON_BOX_DISPLAY],
  // An image replaces the content.
  [HIDE, /^content$/, /\(/],
  [HIDE, /^(?:content-|position-)?visibility$/, /hidden|collapse|visible|overflow|\(/],
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

// The possible effects of declarations. A quoted string may look like a declaration, which only costs time.
/** @param {string} text */
const declaredEffects = (text) => {
  let all = 0;
  for (const [, property, value] of text.matchAll(/(?:^|[;{}])\s*([a-z-]+):\s*([^;{}]*)/g)) {
    if (property.startsWith('--')) continue;
    for (const [effects, , values] of effectRulesFor(property)) if (!values || values.test(value)) all |= effects;
  }
  return all;
};

// Elements with such effects by the user agent's style sheet.
/** @type {[number, string][]} */
const BY_TAG = [
  [COLOR, 'a area option optgroup font text tspan textPath'],
  [FONT, 'button input select textarea option optgroup font text tspan textPath'],
  [COLOR | PLACE | BACKGROUND, 'mark body button input select textarea'],
  [PLACE | BACKGROUND, 'html canvas video audio object marquee'],
  [PLACE | BACKGROUND | MOVE, 'dialog'],
];
/** @type {[number, string][]} */
const BY_ATTRIBUTE = [
  [PLACE | BACKGROUND | MOVE, '[popover]'], [PLACE | BACKGROUND, '[bgcolor]'], [PLACE | BACKGROUND, '[background]'],
  [PLACE, 'svg :is([opacity], [fill-opacity], [transform], [clip-path], [mask], [filter], [x], [y])'],
];

/** @param {Map<any, number>} map @param {unknown} key @param {number} effects */
const addEffects = (map, key, effects) => map.set(key, (map.get(key) ?? 0) | effects);

/** @type {Map<string, number>} */
const EFFECTS_BY_TAG = new Map();
for (const [effects, tags] of BY_TAG) for (const tag of tags.split(' ')) addEffects(EFFECTS_BY_TAG, tag, effects);

export const styleHints = () => {
  const now = callCache();
  now.styleHints ??= collectStyleHints() ?? EVERY_ELEMENT;
  return now.styleHints;
};

/** @type {StyleHints} */
const EVERY_ELEMENT = { tags: new Map([['*', EVERYTHING]]), elements: new Map(), all: true };

// The effects that rules or attributes may have on an element.
/** @param {Element} el */
export const possibleEffects = (el) => {
  const { tags, elements, all } = styleHints();
  return all || shadowRootsSeen ? EVERYTHING : (elements.get(el) ?? 0) | (tags.get(tagOf(el)) ?? 0);
};

// Effects by element and by tag; null if rules cannot be read or understood.
const collectStyleHints = () => {
  const found = { tags: new Map(EFFECTS_BY_TAG), elements: new Map(), all: false };
  const selectors = new Map();
  // Chromium matches single selectors several times faster than a list of two.
  for (const [effects, selector] of BY_ATTRIBUTE) addMatchingElements(effects, [selector], found.elements);
  const budget = { rules: MAX_STYLE_RULES };
  const sheets = [...styleSheets(document), ...adoptedStyleSheets(document)];
  if (!sheets.every((sheet) => readStyleSheet(sheet, (effects, selector) => addSelectorHint(selectors, effects, selector, found.tags), budget))) return null;
  for (const [effects, some] of selectors) if (!addMatchingElements(effects, some, found.elements)) return null;
  return addInlineStyles(found.elements) && addAnimatedElements(found.elements) ? found : null;
};

// Type selectors, with or without a state, need no query.
const ONE_TAG = /^([a-z][a-z0-9]*)(?::(?:link|visited|hover|active|focus))?$/i;

/**
 * @param {Map<number, string[]>} selectors
 * @param {number} effects
 * @param {string} selector
 * @param {Map<string, number>} tags
 */
const addSelectorHint = (selectors, effects, selector, tags) => {
  const parts = /[("'[\\]/.test(selector) ? [selector] : selector.split(',');
  for (const part of parts) {
    const tag = ONE_TAG.exec(part.trim())?.[1];
    if (tag) {
      addEffects(tags, tag, effects);
      addEffects(tags, tag.toLowerCase(), effects);
    } else {
      const known = selectors.get(effects);
      if (known) known.push(part);
      else selectors.set(effects, [part]);
    }
  }
};

/** @param {number} effects @param {string[]} selectors @param {Map<Element, number>} elements */
const addMatchingElements = (effects, selectors, elements) => {
  try {
    for (const el of querySelectorAll(document, selectors.join(','))) addEffects(elements, el, effects);
    return true;
  } catch (error) {
    // querySelectorAll does not accept namespace prefixes.
    if (!(error instanceof DOMException && error.name === 'SyntaxError')) throw error;
    return false;
  }
};

// false if a rule cannot be read or understood.
/**
 * @param {CSSStyleSheet} sheet
 * @param {(effects: number, selector: string) => void} take
 * @param {{ rules: number }} budget
 */
const readStyleSheet = (sheet, take, budget) => {
  const top = readableRules(sheet);
  if (!top) return false;
  const waiting = [top];
  while (waiting.length) {
    for (const rule of waiting.pop() ?? []) {
      budget.rules -= 1;
      if (budget.rules < 0) return false;
      if (rule instanceof CSSStyleRule) {
        const effects = declaredEffects(ruleStyle(rule).cssText);
        if (effects !== 0) take(effects, selectorText(rule));
        // The selector of a nested rule is relative.
        if (styleRules(rule).length && declaredEffects(rule.cssText) !== 0) return false;
      } else if (rule instanceof CSSImportRule) {
        const imported = importedSheet(rule);
        if (imported && !readStyleSheet(imported, take, budget)) return false;
      } else if (rule instanceof CSSMediaRule || rule instanceof CSSSupportsRule || rule instanceof CSSLayerBlockRule || rule instanceof CSSContainerRule) {
        waiting.push(groupRules(rule));
      } else if (rule instanceof CSSGroupingRule && declaredEffects(rule.cssText) !== 0) {
        return false;
      }
    }
  }
  return true;
};

// Whether anything on the page may overlap something else.
export const mayOverlap = () => {
  const { tags, elements, all } = styleHints();
  if (all || shadowRootsSeen) return true;
  for (const effects of elements.values()) if (effects & MOVE) return true;
  return tagsWithEffect(tags, MOVE).some((tag) => querySelectorAll(document, tag).length > 0);
};

/** @param {Map<string, number>} tags @param {number} sign */
export const tagsWithEffect = (tags, sign) => Array.from(tags).filter(([, effects]) => effects & sign).map(([tag]) => tag);

/** @param {Map<Element, number>} elements */
const addInlineStyles = (elements) => {
  const styled = querySelectorAll(document, '[style]');
  if (styled.length > MAX_STYLED) return false;
  for (const el of styled) {
    const style = isHtml(el) ? styleOfHtml(el) : el instanceof SVGElement ? styleOfSvg(el) : el instanceof MathMLElement ? styleOfMath(el) : null;
    const effects = style ? declaredEffects(style.cssText) : 0;
    if (effects !== 0) addEffects(elements, el, effects);
  }
  return true;
};

/** @param {Map<Element, number>} elements */
const addAnimatedElements = (elements) => {
  const animations = runningAnimations(document);
  if (animations.length > MAX_ANIMATIONS) return false;
  for (const { effect } of animations) {
    const target = effect instanceof KeyframeEffect ? effect.target : null;
    if (target) elements.set(target, EVERYTHING);
  }
  return true;
};
