// How a snapshot is sent: a line a node, and of those the driver has already only how many.
//
// Chromium takes as long to carry 200 KB as the walk to collect them, and a page that is read again is mostly as it was.

// What is remembered of the last answer, in characters; a larger one is sent whole each time.
const MOST_REMEMBERED = 4000000;
let lastTelling = { serial: Math.floor(Math.random() * 1e9), lines: null, key: null };

// No name or value has a tab or a line break in it; an address might.
const lineOf = ({ d, r, n, v, e, u, w, f, s }) => {
  let line = `${d}\t${r === 'text' ? '' : r}\t${n ?? ''}`;
  if (e !== undefined) line += `\te${e}`;
  if (v !== undefined) line += `\tv${v}`;
  if (w !== undefined) line += `\tw${w}`;
  if (u !== undefined) line += `\tu${u.replace(/[\t\n]/g, ' ')}`;
  if (f !== undefined) line += `\tf${f}`;
  if (s !== undefined) for (const key in s) line += `\ts${key}=${s[key]}`;
  return line;
};

// `known` is the serial of the answer that the driver still has. The first `from` lines of it and its last `to` ones
// are as they were, what is between them is sent.
const tell = (nodes, about, known, key) => {
  const lines = nodes.map(lineOf);
  const before = lastTelling.serial === known && lastTelling.key === key ? lastTelling.lines ?? [] : [];
  const shared = Math.min(lines.length, before.length);
  let from = 0;
  while (from < shared && lines[from] === before[from]) from += 1;
  let to = 0;
  while (to < shared - from && lines[lines.length - 1 - to] === before[before.length - 1 - to]) to += 1;
  const size = lines.reduce((sum, line) => sum + line.length, 0);
  lastTelling = { serial: lastTelling.serial + 1, lines: size <= MOST_REMEMBERED ? lines : null, key };
  const between = lines.slice(from, lines.length - to).join('\n');
  const plain = inAscii(between);
  const head = { ...about, serial: lastTelling.serial, from, to, escaped: plain !== null, still: isStill() };
  return `${inJson(head)}\n${plain ?? between}`;
};

// Chromium carries plain ASCII twice as fast as anything else. Beyond this many exceptions it is not worth it.
const MOST_ESCAPED = 20000;
const escaped = (c) => `~${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
const inAscii = (text) => {
  const odd = text.match(/[^\0-}]/g);
  if (!odd) return text;
  return odd.length > MOST_ESCAPED ? null : text.replace(/[^\0-}]/g, escaped);
};

const inJson = (head) =>
  JSON.stringify(head).replace(/[^\0-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
