// Page text and URLs: normalized, truncated, and measured as JSON.

// Control characters but for white space, and all that is drawn as nothing or reorders what is around it.
const INVISIBLE_CHARACTERS = /[\0-\x08\x0e-\x1f\x7f-\x9f\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cs}]/gu;

// Most text is plain ASCII, and needs nothing, or only line breaks removed.
const NEEDS_NORMALIZING = /[^ -~]| {2}/;
const NON_ASCII = /[^\t\n\r -~]/;
// Line breaks first: they are rarer than single spaces.
/** @param {string} text */
const collapseWhitespace = (text) => {
  const line = text.replace(/[^\S ]\s*/g, ' ');
  return line.includes('  ') ? line.replace(/  +/g, ' ') : line;
};

// A session with secrets masks them in the driver, before anything is cut: a cut could leave a part of a secret that
// nobody recognizes. There the driver passes `slack` with each call: that many characters are sent beyond each limit,
// and the driver cuts. `mark` is where the script itself had to cut. It is random, so that no page can forge it.
/** @type {TextLimits} */
let limits = { slack: 0, mark: '', tail: 0 };
/** @param {TextLimits | null} given */
export const setTextLimits = (given) => { limits = given ?? { slack: 0, mark: '', tail: 0 }; };

/** @param {number} limit */
export const withSlack = (limit) => limit + limits.slack;
// Ends a text that is sent incomplete.
/** @param {string} text @param {boolean} isCut */
export const markCut = (text, isCut) => (isCut ? text + limits.mark : text);

// A text as the driver shows it, if it has no secret.
/** @param {string} text @param {number} limit */
export const shownText = (text, limit) => {
  if (limits.slack === 0) return text;
  const cut = text.indexOf(limits.mark);
  const whole = cut < 0 ? text : text.slice(0, Math.max(0, cut - limits.tail));
  if (cut < 0 && whole.length <= limit) return whole;
  return whole.slice(0, limit).replace(/[\ud800-\udbff]$/, '') + '…';
};

// Page text to be sent, on one line, without invisible characters.
/** @param {string} text @param {number} limit */
export const boundText = (text, limit) => {
  if (limits.slack === 0) return normalizeText(text, limit);
  const most = withSlack(limit);
  if (text.length <= most && !NEEDS_NORMALIZING.test(text)) return text;
  const whole = text.length > most * 4 + 64 ? text.slice(0, most * 4 + 64) : text;
  const plain = collapseWhitespace(NON_ASCII.test(whole) ? whole.replace(INVISIBLE_CHARACTERS, '') : whole);
  if (plain.length <= most) return markCut(plain, whole.length < text.length);
  return markCut(plain.slice(0, most).replace(/[\ud800-\udbff]$/, ''), true);
};

// Text on one line, without invisible characters. Cuts, so it is for what an agent calls something, and for texts that
// are sent whole.
/** @param {string} text @param {number} limit */
export const normalizeText = (text, limit) => {
  if (text.length <= limit && !NEEDS_NORMALIZING.test(text)) return text;
  const whole = text.length > limit * 4 + 64 ? text.slice(0, limit * 4 + 64) : text;
  const plain = collapseWhitespace(NON_ASCII.test(whole) ? whole.replace(INVISIBLE_CHARACTERS, '') : whole);
  return plain.length <= limit ? plain : plain.slice(0, limit).replace(/[\ud800-\udbff]$/, '') + '…';
};

// Stands for a line break on the wire: a line of it is a node. Any of the page's own has become a space.
const LINE_BREAK = '\u2028';
// Text with its line breaks and spaces as they are, without invisible characters. Not cut.
/** @param {string} text */
export const preformattedText = (text) => {
  const spaced = text.replace(/\t/g, '    ').replace(/[\v\f\u0085\u2028\u2029]/g, ' ').replace(/\r\n?|\n/g, LINE_BREAK);
  if (!NON_ASCII.test(spaced)) return spaced;
  return spaced.replace(INVISIBLE_CHARACTERS, '');
};

// The same for a text that may be long.
/** @param {string} text @param {number} limit */
export const boundPreformattedText = (text, limit) => {
  const most = withSlack(limit);
  if (text.length <= most) return preformattedText(text);
  const cut = preformattedText(text.slice(0, most).replace(/[\ud800-\udbff]$/, ''));
  return limits.slack === 0 ? `${cut}…` : markCut(cut, true);
};

// Truncates a URL without changing its site, and without user name and password: those precede the host, where a part
// of them could pass for another one.
/** @param {string} text @param {number} limit */
export const truncateUrl = (text, limit) => {
  if (text.length <= limit && !text.includes('@')) return text;
  if (!URL.canParse(text)) return text.length <= limit ? text : text.slice(0, 32).replace(/:.*|$/s, ':');
  const url = new URL(text);
  url.username = '';
  url.password = '';
  const whole = url.href;
  if (whole.length <= limit) return whole;
  const cut = whole.slice(0, limit);
  /** @param {URL} address */
  const site = ({ protocol, host }) => `${protocol}//${host}/`;
  if (URL.canParse(cut) && site(new URL(cut)) === site(url)) return cut;
  return site(url).length <= limit ? site(url) : url.protocol;
};

/** @param {string} text @param {number} most */
export const boundedJsonLength = (text, most) => (text.length > 100000 ? 6 * Math.min(text.length, most) : jsonLength(text));

// Length as JSON by Chromium, which escapes non-ASCII as six characters, and some of ASCII with a backslash.
/** @param {string | undefined} text */
export const jsonLength = (text) => {
  if (!text) return 0;
  if (/[^ -~]/.test(text)) return text.length + 5 * (text.match(/[^ !#-[\]-~]/g)?.length ?? 0);
  return /["\\]/.test(text) ? 2 * text.length : text.length;
};
