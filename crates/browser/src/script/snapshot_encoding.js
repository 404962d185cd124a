// The wire format of a snapshot: one line per node, and only a count of the lines that the driver already has.
//
// Chromium takes as long to carry 200 KB as the walk to collect them, and a page that is read again is mostly unchanged.

import { isTreeUnchanged } from './secret_fields.js';

// The largest reply that is kept for comparison, in characters; a larger one is sent whole each time.
const MAX_REMEMBERED = 4000000;
/** @type {{ serial: number, lines: string[] | null, key: string | null }} */
let lastEncoded = { serial: Math.floor(Math.random() * 1e9), lines: null, key: null };

// The serial of the last reply.
export const lastSerial = () => lastEncoded.serial;

// No name or value contains a tab or a line break; a URL might.
/** @param {SnapshotNode} request */
const encodeNode = ({ d, r, n, v, e, u, w, f, s, p, b }) => {
  let line = `${d}\t${r === 'text' ? '' : r}\t${n ?? ''}`;
  if (e !== undefined) line += `\te${e}`;
  if (v !== undefined) line += `\tv${v}`;
  if (w !== undefined) line += `\tw${w}`;
  if (u !== undefined) line += `\tu${u.replace(/[\t\n]/g, ' ')}`;
  if (f !== undefined) line += `\tf${f}`;
  if (b !== undefined) line += `\tb${b}`;
  if (p !== undefined) line += `\tp${p}`;
  if (s !== undefined) for (const key in s) line += `\ts${key}=${s[/** @type {keyof States} */ (key)]}`;
  return line;
};

// `known` is the serial of the reply that the driver still has. Its first `from` and last `to` lines are unchanged;
// only the lines between are sent.
/** @param {SnapshotNode[]} nodes @param {object} about @param {number | null} known @param {string} key */
export const encodeSnapshot = (nodes, about, known, key) => {
  const lines = nodes.map(encodeNode);
  const before = lastEncoded.serial === known && lastEncoded.key === key ? lastEncoded.lines ?? [] : [];
  const shared = Math.min(lines.length, before.length);
  let from = 0;
  while (from < shared && lines[from] === before[from]) from += 1;
  let to = 0;
  while (to < shared - from && lines[lines.length - 1 - to] === before[before.length - 1 - to]) to += 1;
  const size = lines.reduce((sum, line) => sum + line.length, 0);
  lastEncoded = { serial: lastEncoded.serial + 1, lines: size <= MAX_REMEMBERED ? lines : null, key };
  const between = lines.slice(from, lines.length - to).join('\n');
  const plain = escapeToAscii(between);
  const head = { ...about, serial: lastEncoded.serial, from, to, escaped: plain !== null, still: isTreeUnchanged() };
  return `${asciiJson(head)}\n${plain ?? between}`;
};

// Chromium transfers ASCII twice as fast as anything else. With more exceptions than this, escaping is not worth it.
const MAX_ESCAPED = 20000;
/** @param {string} c */
const escapeCharacter = (c) => `~${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
/** @param {string} text */
const escapeToAscii = (text) => {
  const odd = text.match(/[^\0-}]/g);
  if (!odd) return text;
  return odd.length > MAX_ESCAPED ? null : text.replace(/[^\0-}]/g, escapeCharacter);
};

/** @param {object} head */
const asciiJson = (head) =>
  JSON.stringify(head).replace(/[^\0-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
