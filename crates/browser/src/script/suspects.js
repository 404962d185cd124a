// Which elements the page's styles could keep from being seen, and in which way.
//
// Asking every element for its style costs as much as all the rest of a walk, and most elements of a page are plain
// text in plain places. So the rules are read first, and only what a rule or attribute of interest can match is asked.
// Nothing is remembered from one snapshot to the next: a page can change a rule in place.

// A page with more of these is asked element by element.
const MOST_STYLE_RULES = 4000;
const MOST_STYLED = 4000;
const MOST_ANIMATIONS = 200;

const styleOfHtml = getter(HTMLElement, 'style');
const styleOfSvg = getter(SVGElement, 'style');
const styleOfMath = getter(MathMLElement, 'style');
const ruleStyle = getter(CSSStyleRule, 'style');
const animationsOf = method(Document, 'getAnimations');

// How text is drawn, which is inherited, and asked of those that hold text.
const COLOUR = 1;
const FONT = 2;
const MASK = 4;
// What clips, fades or moves; what underlays or covers with a ground of its own; and what may leave its place for one
// over or under something else.
const PLACE = 8;
const GROUND = 16;
const MOVE = 32;
// What may push text out of its place, or crush it, by a size alone.
const MARGIN = 64;
const INDENT = 128;
const SPACING = 256;
const CRUSH = 512;
const BOX = 1024;
// What may not be drawn at all.
const HIDE = 2048;
const EVERYTHING = 4095;
const INK = COLOUR | FONT | MASK;
const SIZE = MARGIN | INDENT | SPACING | CRUSH | BOX;

// By property, and for some by what it is set to.
const NEGATIVE = /-[\d.]|\(/;
// Any way of drawing but those that draw an element and what is inside.
const NOT_DRAWN =
  /^(?!(?:block|inline|inline-block|flow-root|list-item|(?:inline-)?(?:flex|grid|table)|table-(?:row|cell|caption|(?:row|header|footer)-group))(?: !important)?$)/;
const SIGNS = [
  [EVERYTHING, /^all$/],
  [COLOUR, /^(?:color|-webkit-text-fill-color|fill|fill-opacity)$/],
  [FONT, /^(?:font|font-size)$/],
  [MASK, /^-webkit-text-security$/],
  [PLACE | GROUND, /^background/],
  [PLACE | MOVE, /^(?:position|transform|translate|scale|rotate)$|^(?:offset|grid-)/],
  [PLACE, /^(?:opacity|filter|clip|clip-path|float|top|left|right|bottom|zoom|contain|z-index)$/],
  [PLACE, /^(?:content-visibility|backface-visibility)$|^(?:-webkit-)?mask|^(?:overflow|inset)/],
  [MARGIN | MOVE, /^margin/, NEGATIVE],
  [INDENT, /^text-indent$/, NEGATIVE],
  [SPACING, /^(?:letter|word)-spacing$/, NEGATIVE],
  [CRUSH, /^(?:max-)?(?:width|height|inline-size|block-size|line-height)$/, /^[0-2](?:\.\d+)?(?:px)?(?![\d.%a-z])/],
  [BOX, /^display$/, /inline-|\(/],
  [HIDE, /^display$/, NOT_DRAWN],
  // A picture in place of what is inside.
  [HIDE, /^content$/, /\(/],
  [HIDE, /^(?:content-|position-)?visibility$/, /hidden|collapse|visible|overflow|\(/],
];

const signsByProperty = new Map();
const signsFor = (property) => {
  let signs = signsByProperty.get(property);
  if (signs === undefined) {
    signs = SIGNS.filter(([, names]) => names.test(property));
    signsByProperty.set(property, signs);
  }
  return signs;
};

// What the declarations of a rule or an element could do. What is in quotes may look like one, and only costs time.
const signsOf = (text) => {
  let all = 0;
  for (const [, property, value] of text.matchAll(/(?:^|[;{}])\s*([a-z-]+):\s*([^;{}]*)/g)) {
    if (property.startsWith('--')) continue;
    for (const [signs, , values] of signsFor(property)) if (!values || values.test(value)) all |= signs;
  }
  return all;
};

// What has a colour, a ground or a place by HTML alone, or holds text that is not drawn.
const BY_TAG = [
  [COLOUR, 'a area option optgroup font text tspan textPath'],
  [FONT, 'button input select textarea option optgroup font text tspan textPath'],
  [COLOUR | PLACE | GROUND, 'mark body button input select textarea'],
  [PLACE | GROUND, 'html canvas video audio object marquee'],
  [PLACE | GROUND | MOVE, 'dialog'],
];
const BY_ATTRIBUTE = [
  [PLACE | GROUND | MOVE, '[popover]'], [PLACE | GROUND, '[bgcolor]'], [PLACE | GROUND, '[background]'],
  [PLACE, 'svg :is([opacity], [fill-opacity], [transform], [clip-path], [mask], [filter], [x], [y])'],
];

const add = (map, key, signs) => map.set(key, map.get(key) | signs);

const TAGS = new Map();
for (const [signs, tags] of BY_TAG) for (const tag of tags.split(' ')) add(TAGS, tag, signs);

const suspects = () => {
  const now = knownNow();
  now.suspects ??= collectSuspects() ?? EVERY_ELEMENT;
  return now.suspects;
};

const EVERY_ELEMENT = { tags: new Map([['*', EVERYTHING]]), elements: new Map(), all: true };

// What an element is suspected of.
const suspectedOf = (el) => {
  const { tags, elements, all } = suspects();
  return all || shadowRootsSeen ? EVERYTHING : elements.get(el) | tags.get(tagOf(el));
};

// By element and by tag; null where rules cannot be read or understood.
const collectSuspects = () => {
  const found = { tags: new Map(TAGS), elements: new Map(), all: false };
  const selectors = new Map();
  // Chromium looks for one selector several times faster than for two in a list.
  for (const [signs, selector] of BY_ATTRIBUTE) addMatching(signs, [selector], found.elements);
  const budget = { rules: MOST_STYLE_RULES };
  const sheets = [...styleSheets(document), ...adoptedSheets(document)];
  if (!sheets.every((sheet) => readSheet(sheet, (signs, selector) => suspect(selectors, signs, selector, found.tags), budget))) return null;
  for (const [signs, some] of selectors) if (!addMatching(signs, some, found.elements)) return null;
  return addStyled(found.elements) && addAnimated(found.elements) ? found : null;
};

// Selectors of a tag alone, whatever state it is in, need not be looked for.
const ONE_TAG = /^([a-z][a-z0-9]*)(?::(?:link|visited|hover|active|focus))?$/i;

const suspect = (selectors, signs, selector, tags) => {
  const parts = /[("'[\\]/.test(selector) ? [selector] : selector.split(',');
  for (const part of parts) {
    const tag = ONE_TAG.exec(part.trim())?.[1];
    if (tag) {
      add(tags, tag, signs);
      add(tags, tag.toLowerCase(), signs);
    } else if (selectors.has(signs)) {
      selectors.get(signs).push(part);
    } else {
      selectors.set(signs, [part]);
    }
  }
};

const addMatching = (signs, selectors, elements) => {
  try {
    for (const el of queryAll(document, selectors.join(','))) add(elements, el, signs);
    return true;
  } catch (error) {
    // Selectors with the prefix of a namespace cannot be asked for.
    if (error.name !== 'SyntaxError') throw error;
    return false;
  }
};

// false where a rule cannot be read or understood.
const readSheet = (sheet, take, budget) => {
  const top = rulesOf(sheet);
  if (!top) return false;
  const waiting = [top];
  while (waiting.length) {
    for (const rule of waiting.pop()) {
      budget.rules -= 1;
      if (budget.rules < 0) return false;
      if (rule instanceof CSSStyleRule) {
        const signs = signsOf(ruleStyle(rule).cssText);
        if (signs !== 0) take(signs, selectorText(rule));
        // A rule inside a rule has a selector that only makes sense there.
        if (styleRules(rule).length && signsOf(rule.cssText) !== 0) return false;
      } else if (rule instanceof CSSImportRule) {
        if (importedSheet(rule) && !readSheet(importedSheet(rule), take, budget)) return false;
      } else if (rule instanceof CSSMediaRule || rule instanceof CSSSupportsRule || rule instanceof CSSLayerBlockRule || rule instanceof CSSContainerRule) {
        waiting.push(groupRules(rule));
      } else if (rule instanceof CSSGroupingRule && signsOf(rule.cssText) !== 0) {
        return false;
      }
    }
  }
  return true;
};

// Whether anything on the page may lie over something else.
const mayCover = () => {
  const { tags, elements, all } = suspects();
  if (all || shadowRootsSeen) return true;
  for (const signs of elements.values()) if (signs & MOVE) return true;
  return tagsOf(tags, MOVE).some((tag) => queryAll(document, tag).length > 0);
};

const tagsOf = (tags, sign) => Array.from(tags).filter(([, signs]) => signs & sign).map(([tag]) => tag);

const addStyled = (elements) => {
  const styled = queryAll(document, '[style]');
  if (styled.length > MOST_STYLED) return false;
  for (const el of styled) {
    const style = isHtml(el) ? styleOfHtml(el) : el instanceof SVGElement ? styleOfSvg(el) : el instanceof MathMLElement ? styleOfMath(el) : null;
    const signs = style ? signsOf(style.cssText) : 0;
    if (signs !== 0) add(elements, el, signs);
  }
  return true;
};

const addAnimated = (elements) => {
  const animations = animationsOf(document);
  if (animations.length > MOST_ANIMATIONS) return false;
  for (const { effect } of animations) {
    const target = effect instanceof KeyframeEffect ? effect.target : null;
    if (target) elements.set(target, EVERYTHING);
  }
  return true;
};
