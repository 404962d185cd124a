// Which elements the page's styles could keep from being seen.
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

// How text is drawn. It is inherited, and asked of those that hold text.
const INK = /(?:^|[ ;])(?:all|color|-webkit-text-fill-color|-webkit-text-security|font|font-size|fill|fill-opacity):/;
// What moves, clips, fades, covers or underlays.
const PLACE = new RegExp(
  '(?:^|[ ;])(?:(?:all|background[a-z-]*|opacity|filter|(?:-webkit-)?mask[a-z-]*|clip|clip-path|overflow[a-z-]*|position|' +
  'float|inset[a-z-]*|top|left|right|bottom|transform|translate|scale|rotate|offset[a-z-]*|zoom|contain|' +
  'content-visibility|backface-visibility|z-index|grid-[a-z-]*):|' +
  '(?:margin[a-z-]*|text-indent|letter-spacing|word-spacing):[^;]*(?:-[\\d.]|\\()|' +
  '(?:max-)?(?:width|height|inline-size|block-size|line-height):\\s*[0-2](?:\\.\\d+)?(?:px)?(?![\\d.%a-z]))',
);

// What has a colour, a ground or a place by HTML alone, or holds text that is not drawn.
const INK_BY_HTML = 'a, area, mark, button, input, select, textarea, option, optgroup, font, body, svg text, svg tspan, svg textPath';
const PLACE_BY_HTML =
  'html, body, mark, button, input, select, textarea, dialog, [popover], :is(table, thead, tbody, tfoot, tr, td, th):is([bgcolor], [background]), canvas, video, audio, ' +
  'object, marquee, svg :is([opacity], [fill-opacity], [transform], [clip-path], [mask], [filter], [x], [y])';

const suspects = () => {
  const now = knownNow();
  now.suspects ??= collectSuspects();
  return now.suspects;
};

const isSuspect = (set, el) => set === null || shadowRootsSeen || set.has(el);

// Sets of elements; null is every element.
const collectSuspects = () => {
  const selectors = { ink: [INK_BY_HTML], place: [PLACE_BY_HTML] };
  const budget = { rules: MOST_STYLE_RULES };
  const sheets = [...styleSheets(document), ...adoptedSheets(document)];
  if (!sheets.every((sheet) => readSheet(sheet, selectors, budget))) return { ink: null, place: null };
  const found = { ink: matching(selectors.ink), place: matching(selectors.place) };
  if (found.ink && found.place && !(addStyled(found) && addAnimated(found))) return { ink: null, place: null };
  return found;
};

const matching = (selectors) => {
  try {
    return new Set(queryAll(document, selectors.join(',')));
  } catch (error) {
    // Selectors with the prefix of a namespace cannot be asked for.
    if (error.name !== 'SyntaxError') throw error;
    return null;
  }
};

// false where a rule cannot be read or understood.
const readSheet = (sheet, selectors, budget) => {
  const top = rulesOf(sheet);
  if (!top) return false;
  const waiting = [top];
  while (waiting.length) {
    for (const rule of waiting.pop()) {
      budget.rules -= 1;
      if (budget.rules < 0) return false;
      if (rule instanceof CSSStyleRule) {
        const text = ruleStyle(rule).cssText;
        if (INK.test(text)) selectors.ink.push(selectorText(rule));
        if (PLACE.test(text)) selectors.place.push(selectorText(rule));
        // A rule inside a rule has a selector that only makes sense there.
        if (styleRules(rule).length && concerns(rule.cssText)) return false;
      } else if (rule instanceof CSSImportRule) {
        if (importedSheet(rule) && !readSheet(importedSheet(rule), selectors, budget)) return false;
      } else if (rule instanceof CSSMediaRule || rule instanceof CSSSupportsRule || rule instanceof CSSLayerBlockRule || rule instanceof CSSContainerRule) {
        waiting.push(groupRules(rule));
      } else if (rule instanceof CSSGroupingRule && concerns(rule.cssText)) {
        return false;
      }
    }
  }
  return true;
};

const concerns = (text) => INK.test(text.replace(/[{}]/g, ';')) || PLACE.test(text.replace(/[{}]/g, ';'));

const addStyled = (found) => {
  const styled = queryAll(document, '[style]');
  if (styled.length > MOST_STYLED) return false;
  for (const el of styled) {
    const style = isHtml(el) ? styleOfHtml(el) : el instanceof SVGElement ? styleOfSvg(el) : el instanceof MathMLElement ? styleOfMath(el) : null;
    if (!style) continue;
    if (INK.test(style.cssText)) found.ink.add(el);
    if (PLACE.test(style.cssText)) found.place.add(el);
  }
  return true;
};

const addAnimated = (found) => {
  const animations = animationsOf(document);
  if (animations.length > MOST_ANIMATIONS) return false;
  for (const { effect } of animations) {
    const target = effect instanceof KeyframeEffect ? effect.target : null;
    if (!target) continue;
    found.ink.add(target);
    found.place.add(target);
  }
  return true;
};
