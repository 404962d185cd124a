// Text that CSS writes before and after elements.

// A page with more rules than this is asked element by element.
const MOST_RULES = 20000;
const MAX_GENERATED = 1200;

const styleSheets = getter(Document, 'styleSheets');
const adoptedSheets = getter(Document, 'adoptedStyleSheets');
const sheetRules = getter(CSSStyleSheet, 'cssRules');
const importedSheet = getter(CSSImportRule, 'styleSheet');
const selectorText = getter(CSSStyleRule, 'selectorText');
const styleRules = getter(CSSStyleRule, 'cssRules');
const groupRules = getter(CSSGroupingRule, 'cssRules');

// Asking each element for its generated text costs as much as all the rest of a walk, and few pages have any.
// A sheet is looked through again when its number of rules changes.
const lookedThrough = new WeakMap();

// null for the sheet of another origin, which may hold anything.
const rulesOf = (sheet) => {
  try {
    return sheetRules(sheet);
  } catch (error) {
    if (error.name === 'SecurityError') return null;
    throw error;
  }
};

const sheetGenerates = (sheet, budget) => {
  const top = rulesOf(sheet);
  if (!top) return true;
  const before = lookedThrough.get(sheet);
  if (before && before.count === top.length) return before.found;
  const found = rulesGenerate(top, budget);
  lookedThrough.set(sheet, { count: top.length, found });
  return found;
};

const rulesGenerate = (top, budget) => {
  const waiting = [top];
  while (waiting.length) {
    for (const rule of waiting.pop()) {
      budget.rules -= 1;
      if (budget.rules < 0) return true;
      if (rule instanceof CSSStyleRule) {
        if (/:(?:before|after)/i.test(selectorText(rule))) return true;
        waiting.push(styleRules(rule));
      } else if (rule instanceof CSSGroupingRule) {
        waiting.push(groupRules(rule));
      } else if (rule instanceof CSSImportRule && importedSheet(rule)) {
        const imported = rulesOf(importedSheet(rule));
        if (!imported) return true;
        waiting.push(imported);
      }
    }
  }
  return false;
};

const pageGenerates = () => {
  // Shadow roots have sheets of their own.
  if (shadowRootsSeen) return true;
  const now = knownNow();
  if (now.generates === null) {
    const budget = { rules: MOST_RULES };
    const sheets = [...styleSheets(document), ...adoptedSheets(document)];
    now.generates = sheets.some((sheet) => sheetGenerates(sheet, budget));
  }
  return now.generates;
};

const generated = (el, where) => generatedPart(el, where)?.text ?? '';

// Text as it is told, and as it is drawn.
class Generated {
  constructor(text, drawn, unseen) { this.text = text; this.drawn = drawn; this.unseen = unseen; }
}

const generatedPart = (el, where) => {
  if (tagOf(el) !== 'q' && !pageGenerates()) return null;
  const style = getComputedStyle(el, where);
  const content = style.content;
  if (content === 'none' || content === 'normal' || content === '') return null;
  if (style.display === 'none' || style.visibility !== 'visible') return null;
  const { text, drawn, spaced } = generatedText(el, content.slice(0, MAX_GENERATED));
  if (!text && !drawn) return null;
  const [before, after] = style.display === 'inline' && !spaced ? ['', ''] : [' ', ' '];
  return new Generated(text && before + text + after, before + drawn + after, isUnseenGenerated(el, style));
};

const QUOTES = { 'open-quote': '“', 'close-quote': '”' };
const generatedText = (el, content) => {
  // Behind a slash stands what is to be read instead.
  const alternative = /\/((?:\s*"(?:[^"\\]|\\.)*")+)\s*$/.exec(content);
  const drawn = writtenText(el, alternative ? content.slice(0, alternative.index) : content);
  return { text: alternative ? writtenText(el, alternative[1]) : drawn, drawn, spaced: alternative !== null };
};

const writtenText = (el, content) => {
  const parts = content.matchAll(
    /"((?:[^"\\]|\\.)*)"|attr\(([\w-]+)\)|(open-quote|close-quote)|url\((?:"(?:[^"\\]|\\.)*"|[^)]*)\)/g,
  );
  let text = '';
  for (const [, quoted, key, quote] of parts) {
    if (quoted !== undefined) text += unescapeCss(quoted);
    else if (key !== undefined) text += attribute(el, key) ?? '';
    else if (quote !== undefined) text += QUOTES[quote];
  }
  return text;
};

const unescapeCss = (text) =>
  text.replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gi, (_, hex, plain) => {
    if (hex === undefined) return plain;
    const code = parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  });
