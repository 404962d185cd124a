// Generated content: the text of ::before and ::after.

import { callCache } from './call_cache.js';
import { attribute, shadowRootsSeen, tagOf } from './flat_tree.js';
import {
  adoptedStyleSheets, groupRules, importedSheet, selectorText, styleRules, styleSheets,
} from './intrinsics.js';
import { readableRules } from './stylesheets.js';
import { markCut, withSlack } from './text.js';
import { isGeneratedInvisible } from './text_visibility.js';

// A page with more rules is assumed to generate content everywhere.
const MAX_RULES = 20000;
const MAX_GENERATED = 1200;

// Computing the pseudo-element styles of each element costs as much as all the rest of a walk, and few pages have
// generated content. A sheet is inspected again when its number of rules changes.
/** @type {WeakMap<CSSStyleSheet, { count: number, found: boolean }>} */
const inspectedSheets = new WeakMap();

/** @param {CSSStyleSheet} sheet @param {{ rules: number }} budget */
const sheetGeneratesContent = (sheet, budget) => {
  const top = readableRules(sheet);
  if (!top) return true;
  const before = inspectedSheets.get(sheet);
  if (before && before.count === top.length) return before.found;
  const found = rulesGenerateContent(top, budget);
  inspectedSheets.set(sheet, { count: top.length, found });
  return found;
};

/** @param {CSSRuleList} top @param {{ rules: number }} budget */
const rulesGenerateContent = (top, budget) => {
  const waiting = [top];
  while (waiting.length) {
    for (const rule of waiting.pop() ?? []) {
      budget.rules -= 1;
      if (budget.rules < 0) return true;
      if (rule instanceof CSSStyleRule) {
        if (/:(?:before|after)/i.test(selectorText(rule))) return true;
        waiting.push(styleRules(rule));
      } else if (rule instanceof CSSGroupingRule) {
        waiting.push(groupRules(rule));
      } else if (rule instanceof CSSImportRule) {
        const sheet = importedSheet(rule);
        if (!sheet) continue;
        const imported = readableRules(sheet);
        if (!imported) return true;
        waiting.push(imported);
      }
    }
  }
  return false;
};

export const pageHasGeneratedContent = () => {
  // Shadow roots have sheets of their own.
  if (shadowRootsSeen) return true;
  const now = callCache();
  if (now.generates === null) {
    const budget = { rules: MAX_RULES };
    const sheets = [...styleSheets(document), ...adoptedStyleSheets(document)];
    now.generates = sheets.some((sheet) => sheetGeneratesContent(sheet, budget));
  }
  return now.generates;
};

// Its text as read by assistive technology, and as drawn.
export class GeneratedContent {
  /** @param {string} text @param {string} drawn @param {boolean} unseen */
  constructor(text, drawn, unseen) { this.text = text; this.drawn = drawn; this.unseen = unseen; }
}

/** @param {Element} el @param {string} where */
export const generatedContent = (el, where) => {
  if (tagOf(el) !== 'q' && !pageHasGeneratedContent()) return null;
  const style = getComputedStyle(el, where);
  const content = style.content;
  if (content === 'none' || content === 'normal' || content === '') return null;
  if (style.display === 'none' || style.visibility !== 'visible') return null;
  const most = withSlack(MAX_GENERATED);
  const { text, drawn, spaced } = generatedText(el, content.slice(0, most), content.length > most);
  if (!text && !drawn) return null;
  const [before, after] = style.display === 'inline' && !spaced ? ['', ''] : [' ', ' '];
  return new GeneratedContent(text && before + text + after, before + drawn + after, isGeneratedInvisible(el, style));
};

/** @type {Record<string, string>} */
const QUOTES = { 'open-quote': '“', 'close-quote': '”' };
/** @param {Element} el @param {string} content @param {boolean} isCut */
const generatedText = (el, content, isCut) => {
  // The alternative text follows a slash.
  const alternative = /\/((?:\s*"(?:[^"\\]|\\.)*")+)\s*$/.exec(content);
  const drawn = markCut(contentText(el, alternative ? content.slice(0, alternative.index) : content), isCut);
  return { text: alternative ? contentText(el, alternative[1]) : drawn, drawn, spaced: alternative !== null };
};

/** @param {Element} el @param {string} content */
const contentText = (el, content) => {
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

/** @param {string} text */
const unescapeCss = (text) =>
  text.replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gi, (_, hex, plain) => {
    if (hex === undefined) return plain;
    const code = parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  });
