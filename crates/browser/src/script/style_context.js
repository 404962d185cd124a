// Style contexts: elements that no style rule can tell apart share one, and their style is computed once.
//
// The computed style of an element follows from its ancestors, its name, those of its attributes that are styled or that
// a rule mentions, and the rules that test more than that: its place among its siblings, or its state. All of these are in
// the key of a context. Elements whose style depends on anything else, such as an animation, a container query or a shadow
// tree, have a context of their own. Nothing is kept from one snapshot to the next.

import { callCache, callNumber } from './call_cache.js';
import { canHaveShadowRoot, drawnParent, namesOf, shadowRootOf, tagOf } from './flat_tree.js';
import {
  activeElement, attributeNames, documentElement, documentElementById, effectTarget, firstElementChild, getAttribute,
  isElement, isHtml, listLength, matches, nextElementSibling, parentNode, querySelectorAll, runningAnimations, styleOfHtml, styleOfMath, styleOfSvg,
} from './intrinsics.js';
import { declaredEffects, documentRules, EVERYTHING, HIDE, selectorsOfEffect, VARY } from './style_rules.js';

const MAX_ANIMATIONS = 200;

// Attributes that change no style unless a rule mentions them; so do those that begin with `data-`, `aria-` and `on`.
const UNSTYLED_ATTRIBUTES = new Set(
  ('abbr accept action alt autocomplete charset cite content datetime download enctype for form headers id itemprop ' +
   'itemscope itemtype label lang loading longdesc method name placeholder property rel role scope src srcset sizes ' +
   'summary tabindex target title usemap value').split(' '),
);
/** @param {string} name */
const isUnstyled = (name) => UNSTYLED_ATTRIBUTES.has(name) || /^(?:data-|aria-|on)/.test(name);

export class StyleContext {
  /** @type {Map<string, StyleContext>} */
  children = new Map();
  // Facts of the computed style, each computed when it is first asked for.
  /** @type {string | null} */
  display = null;
  /** @type {boolean | null} */
  hides = null;
  /** @type {InkFacts | null} */
  ink = null;
  /** @type {BoxFacts | null} */
  box = null;
  /** @type {BackgroundFacts | null} */
  background = null;
  /** @type {SpacingFacts | null} */
  spacing = null;
  /** @type {PaintState | null} */
  paint = null;
  /** @type {[GeneratedStyle | null, GeneratedStyle | null]} */
  generated = [null, null];
  /** @type {boolean | null} */
  points = null;

  /** @param {StyleContext | null} parent @param {number} effects @param {boolean} isOwn @param {boolean} inShadow */
  constructor(parent, effects, isOwn, inShadow) {
    this.parent = parent;
    this.effects = effects;
    // Whether it belongs to one element only.
    this.isOwn = isOwn;
    this.inShadow = inShadow;
  }
}

const contextCache = () => {
  const now = callCache();
  now.contexts ??= { of: new Map(), root: new StyleContext(null, 0, false, false), byClass: new Map(), special: findSpecialElements(), classed: null };
  return now.contexts;
};

// Elements whose style differs for a time: under the pointer, focused, the target of a link, animated.
const findSpecialElements = () => {
  /** @type {Set<Element>} */
  const special = new Set();
  addHovered(special);
  for (let at = /** @type {Node | null} */ (activeElement(document)); at && isElement(at); at = parentNode(at)) special.add(at);
  const hash = location.hash.slice(1);
  if (hash) {
    const target = documentElementById(document, decodeFragment(hash)) ?? documentElementById(document, hash);
    if (target) special.add(target);
  }
  const animations = runningAnimations(document);
  if (animations.length > MAX_ANIMATIONS) documentRules().all = true;
  for (const { effect } of animations) {
    const target = effect instanceof KeyframeEffect ? effectTarget(effect) : null;
    if (target) special.add(target);
  }
  return special;
};

// What is hovered is in something that is hovered, so that only that is searched; unless it is the control of a label.
/** @param {Set<Element>} found */
const addHovered = (found) => {
  for (let at = /** @type {Element | null} */ (documentElement(document)); at && matches(at, ':hover');) {
    if (at instanceof HTMLLabelElement) {
      for (const el of querySelectorAll(document, ':hover')) found.add(el);
      return;
    }
    found.add(at);
    at = firstElementChild(at);
    while (at && !matches(at, ':hover')) at = nextElementSibling(at);
  }
};

/** @param {string} fragment */
const decodeFragment = (fragment) => {
  try {
    return decodeURIComponent(fragment);
  } catch (error) {
    if (error instanceof URIError) return fragment;
    throw error;
  }
};

// The same element is asked for many times in a row.
/** @type {Element | null} */
let lastElement = null;
/** @type {StyleContext | null} */
let lastContext = null;
let lastCall = -1;
/** @param {Element} el @returns {StyleContext} */
export const contextOf = (el) => {
  if (el === lastElement && lastCall === callNumber && lastContext !== null) return lastContext;
  const context = findContext(el);
  lastElement = el;
  lastContext = context;
  lastCall = callNumber;
  return context;
};

// Derived from the nearest ancestor with one; iterative.
/** @param {Element} el @returns {StyleContext} */
const findContext = (el) => {
  const { of, root } = contextCache();
  const known = of.get(el);
  if (known) return known;
  const parent = drawnParent(el);
  if (parent === null || !isElement(parent)) return deriveContext(el, root);
  const around = of.get(parent);
  if (around) return deriveContext(el, around);
  /** @type {Element[]} */
  const chain = [el];
  let at = /** @type {Node | null} */ (parent);
  while (at && isElement(at) && !of.has(at)) { chain.push(at); at = drawnParent(at); }
  let context = (at && isElement(at) && of.get(at)) || root;
  for (let i = chain.length - 1; i >= 0; i -= 1) context = deriveContext(chain[i], context);
  return context;
};

/** @param {Element} el @param {StyleContext} outer */
const deriveContext = (el, outer) => {
  const { of, special } = contextCache();
  const rules = documentRules();
  let context;
  if (rules.all || outer.inShadow || (canHaveShadowRoot(el) && shadowRootOf(el) !== null)) {
    context = new StyleContext(outer, EVERYTHING, true, outer.inShadow || shadowRootOf(el) !== null);
  } else {
    const isSpecial = special.has(el);
    const key = contextKey(el, rules);
    const known = isSpecial ? undefined : outer.children.get(key);
    if (known) {
      context = known;
    } else {
      const effects = isSpecial ? EVERYTHING : effectsOf(el, rules);
      context = new StyleContext(outer, effects, isSpecial || (effects & VARY) !== 0, false);
      if (!context.isOwn) outer.children.set(key, context);
    }
  }
  of.set(el, context);
  return context;
};

// What rules can tell apart about an element, besides its ancestors.
/** @param {Element} el @param {StyleRules} rules */
const contextKey = (el, rules) => {
  const names = namesOf(el);
  const tag = tagOf(el);
  let key = tag;
  /** @type {string | null} */
  let id = null;
  let hasClass = false;
  for (let i = 0; i < names.length; i += 1) {
    const name = names[i];
    if (name === 'class') {
      hasClass = true;
      key += `.${getAttribute(el, name)}`;
    } else if (name === 'id') {
      id = getAttribute(el, name) ?? '';
      if (rules.ids.size && rules.ids.has(caseFor(id, rules))) key += `#${id}`;
      if (rules.attributes.has(name)) key += attributePart(el, name, rules);
    } else if (name === 'href') {
      key += rules.attributes.has(name) ? attributePart(el, name, rules) : '@';
    } else if (rules.attributes.has(name) || !isUnstyled(name)) key += attributePart(el, name, rules);
  }
  key += testTokens(el, rules.tests.tag.get(tag));
  if (hasClass) key += testTokens(el, classFacts(el, rules).tests);
  if (id !== null && rules.tests['#'].size) key += testTokens(el, rules.tests['#'].get(caseFor(id, rules)));
  if (rules.tests['['].size) for (let i = 0; i < names.length; i += 1) key += testTokens(el, rules.tests['['].get(names[i].toLowerCase()));
  const marked = rules.elements.size ? rules.elements.get(el) : undefined;
  return marked ? `${key}\n${marked.matched}` : key;
};

// A style attribute without where and how large exactly: the rows of a grid and the bars of a chart differ in nothing else. What is
// measured is measured for each of them, and what is small or negative may be hidden by it.
const PLACED = /(^|;)(\s*(?:top|left|right|bottom|width|height):)\s*(?:\d*[1-9]\d|[3-9])(?:\.\d+)?(?:px|%)\s*(?=;|$)/g;
const TRANSLATED = /(^|;)(\s*transform:\s*translate(?:X|Y|3d)?\()[\d.,\spx-]*\)\s*(?=;|$)/g;
/** @param {string} written */
const styleShape = (written) => written.replace(PLACED, '$1$2').replace(TRANSLATED, '$1$2');

/** @param {Element} el @param {string} name @param {StyleRules} rules */
const attributePart = (el, name, rules) => {
  const tests = rules.attributes.get(name);
  if (name === 'style' && !tests) return `[style=${styleShape(getAttribute(el, name) ?? '')}`;
  if (!tests || !isUnstyled(name) && name !== 'href') return `[${name}=${getAttribute(el, name)}`;
  let part = `[${name}`;
  for (const test of tests) part += isMatch(el, test, rules) ? '1' : '0';
  return part;
};

/** @param {Element} el @param {string[] | undefined} tests */
const testTokens = (el, tests) => {
  if (tests === undefined) return '';
  let tokens = '|';
  const rules = documentRules();
  for (let i = 0; i < tests.length; i += 1) tokens += isMatch(el, tests[i], rules) ? '1' : '0';
  return tokens;
};

/** @param {Element} el @param {string} selector @param {StyleRules} rules */
const isMatch = (el, selector, rules) => {
  try {
    return matches(el, selector);
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'SyntaxError')) throw error;
    rules.all = true;
    return true;
  }
};

/** @param {string} name @param {StyleRules} rules */
const caseFor = (name, { isQuirky }) => (isQuirky ? name.toLowerCase() : name);

// The effects and tests of a class attribute; a page has few different ones.
/** @param {Element} el @param {StyleRules} rules @returns {ClassFacts} */
const classFacts = (el, rules) => {
  const { byClass } = contextCache();
  const value = getAttribute(el, 'class') ?? '';
  let facts = byClass.get(value);
  if (!facts) {
    let effects = 0;
    /** @type {string[]} */
    const tests = [];
    for (const name of caseFor(value, rules).split(/\s+/)) {
      effects |= rules.effects['.'].get(name) ?? 0;
      for (const test of rules.tests['.'].get(name) ?? []) if (!tests.includes(test)) tests.push(test);
    }
    facts = { effects, tests: tests.length ? tests : undefined };
    byClass.set(value, facts);
  }
  return facts;
};

/** @param {Element} el @param {StyleRules} rules */
const effectsOf = (el, rules) => {
  const { effects } = rules;
  const tag = tagOf(el);
  let all = (effects.tag.get(tag) ?? 0) | (effects.tag.get('*') ?? 0) | (rules.elements.get(el)?.effects ?? 0);
  for (const name of attributeNames(el)) {
    all |= effects['['].get(name.toLowerCase()) ?? 0;
    if (name === 'class') all |= classFacts(el, rules).effects;
    else if (name === 'id') all |= effects['#'].get(caseFor(getAttribute(el, name) ?? '', rules)) ?? 0;
    else if (name === 'style') all |= inlineEffects(el);
  }
  return all;
};

// A style attribute that says what it declares without being parsed: no escapes, comments, quotes, functions, capitals or prefixed
// names, and no space before a colon. What of it is invalid is taken for valid, which only costs time.
const PLAIN_DECLARATIONS = /^(?:\s*(?:--)?[a-z][a-z-]*:[^:;{}()\\/"'A-Z]*(?:;|$))*\s*$/;
/** @param {Element} el */
const inlineEffects = (el) => {
  const written = getAttribute(el, 'style') ?? '';
  if (PLAIN_DECLARATIONS.test(written)) return declaredEffects(written);
  const style = isHtml(el) ? styleOfHtml(el) : el instanceof SVGElement ? styleOfSvg(el) : el instanceof MathMLElement ? styleOfMath(el) : null;
  return style ? declaredEffects(style.cssText) : 0;
};

// Elements with a class that has an effect.
/** @param {StyleRules} rules */
const classedElements = (rules) => {
  const now = contextCache();
  if (now.classed === null) {
    now.classed = [];
    const all = querySelectorAll(document, '[class]');
    for (let i = 0; i < listLength(all); i += 1) {
      const { effects } = classFacts(all[i], rules);
      if (effects !== 0) now.classed.push({ el: all[i], effects });
    }
  }
  return now.classed;
};

// null for a selector with a namespace, which querySelectorAll does not accept.
/** @param {string} selector */
const matchingElements = (selector) => {
  try {
    return selector === '' ? [] : querySelectorAll(document, selector);
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'SyntaxError')) throw error;
    return null;
  }
};

// With more class names than this, all elements with a class are looked at.
const MAX_CLASS_SELECTORS = 30;
// Elements on which a rule or an attribute may have an effect, and those of a selector. Found without deriving contexts, so there
// are some more; null if every element may be one.
/** @param {number} wanted @param {string} also @returns {Set<Element> | null} */
export const elementsWithEffect = (wanted, also = '') => {
  const rules = documentRules();
  const selectors = selectorsOfEffect(rules, wanted);
  if (selectors === null) return null;
  const found = new Set(contextCache().special);
  const classes = [];
  for (const [name, effects] of rules.effects['.']) if (effects & wanted) classes.push(`.${CSS.escape(name)}`);
  if (classes.length <= MAX_CLASS_SELECTORS) selectors.push(...classes);
  else for (const { el, effects } of classedElements(rules)) if (effects & wanted) found.add(el);
  if (also) selectors.push(also);
  const matched = matchingElements(selectors.join(', '));
  if (!matched) return null;
  for (const el of matched) found.add(el);
  for (const el of querySelectorAll(document, '[style]')) if (inlineEffects(el) & wanted) found.add(el);
  for (const [el, { effects }] of rules.elements) if (effects & wanted) found.add(el);
  return found;
};

// The effects that rules or attributes may have on an element.
/** @param {Element} el */
export const possibleEffects = (el) => contextOf(el).effects;

const BOX_DISPLAY =
  /^(?:block|inline|inline-block|flow-root|list-item|(?:inline-)?(?:flex|grid|table)|table-(?:row|cell|caption|(?:row|header|footer)-group))$/;
// Whether a style may keep an element or its content from being rendered where its parent is.
/** @param {Element} el */
export const mayHide = (el) => {
  const context = contextOf(el);
  if (!(context.effects & HIDE)) return false;
  if (context.hides === null) {
    const style = getComputedStyle(el);
    context.hides = !BOX_DISPLAY.test(style.display) || style.visibility !== 'visible' || style.contentVisibility !== 'visible' ||
      style.content.includes('(') || (/absolute|fixed/.test(style.position) && !/^(?:always)?$/.test(style.getPropertyValue('position-visibility')));
  }
  return context.hides;
};

/** @param {Element} el */
export const displayOf = (el) => {
  const context = contextOf(el);
  context.display ??= getComputedStyle(el).display;
  return context.display;
};
