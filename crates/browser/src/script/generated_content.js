// Generated content: the text of ::before and ::after.

import { attribute, shadowRootsSeen } from './flat_tree.js';
import { contextOf } from './style_context.js';
import { documentRules, GENERATE, GENERATE_EACH } from './style_rules.js';
import { markCut, withSlack } from './text.js';
import { isGeneratedInvisible } from './text_visibility.js';

const MAX_GENERATED = 1200;

// Shadow roots have sheets of their own.
export const pageHasGeneratedContent = () => shadowRootsSeen || documentRules().generates;

// Its text as read by assistive technology, and as drawn.
export class GeneratedContent {
  /** @param {Element} el @param {string} text @param {string} drawn @param {boolean} unseen */
  constructor(el, text, drawn, unseen) { this.el = el; this.text = text; this.drawn = drawn; this.unseen = unseen; }
}

// Elements of one style context have the same, unless it quotes an attribute or counts.
/** @param {Element} el @param {string} where */
export const generatedContent = (el, where) => {
  const context = contextOf(el);
  if (!(context.effects & GENERATE)) return null;
  const at = where === '::before' ? 0 : 1;
  const style = context.generated[at] ??= readGeneratedStyle(el, where);
  const content = context.effects & GENERATE_EACH && style.isRendered ? getComputedStyle(el, where).content : style.content;
  if (!style.isRendered || content === 'none' || content === 'normal' || content === '') return null;
  const most = withSlack(MAX_GENERATED);
  const { text, drawn, spaced } = generatedText(el, content.slice(0, most), content.length > most);
  if (!text && !drawn) return null;
  const [before, after] = style.display === 'inline' && !spaced ? ['', ''] : [' ', ' '];
  return new GeneratedContent(el, text && before + text + after, before + drawn + after, isGeneratedInvisible(el, style));
};

/** @param {Element} el @param {string} where @returns {GeneratedStyle} */
const readGeneratedStyle = (el, where) => {
  const style = getComputedStyle(el, where);
  const { content } = style;
  const isRendered = content !== '' && style.display !== 'none' && style.visibility === 'visible';
  // Most of what could have content has none.
  if (!isRendered || content === 'none' || content === 'normal') return { ...NO_STYLE, content, isRendered };
  return {
    content, isRendered, display: style.display, fontSize: style.fontSize, opacity: style.opacity, filter: style.filter,
    fill: style.webkitTextFillColor, textShadow: style.textShadow, clipPath: style.clipPath, clip: style.clip,
    position: style.position, backgroundColor: style.backgroundColor, backgroundImage: style.backgroundImage,
    offsets: [style.left, style.top, style.textIndent, style.marginLeft, style.marginTop],
  };
};
const NO_STYLE = {
  display: '', fontSize: '', opacity: '', filter: '', fill: '', textShadow: '', clipPath: '', clip: '', position: '',
  backgroundColor: '', backgroundImage: '', offsets: [],
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
