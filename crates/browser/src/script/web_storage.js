// The origin's localStorage and sessionStorage. A document with an opaque origin has none.

import { localStore, sessionStore, storeItem, storeKey, storeLength } from './intrinsics.js';

const MAX_ENTRIES_SEEN = 10000;

// The shortest first: keys are short, and cached data is long.
/** @param {{ local: boolean, entries: number, units: number }} request */
export const readWebStorage = ({ local, entries, units }) => {
  /** @type {[boolean, string, string][]} */
  const found = [];
  let cut = false;
  for (const isLocal of local ? [true, false] : [false]) {
    let store;
    try { store = (isLocal ? localStore : sessionStore)(globalThis); } catch { continue; }
    const length = storeLength(store);
    cut ||= length > MAX_ENTRIES_SEEN;
    for (let i = 0; i < length && i < MAX_ENTRIES_SEEN; i += 1) {
      const name = storeKey(store, i);
      const value = name === null ? null : storeItem(store, name);
      if (name !== null && value) found.push([isLocal, name, value]);
    }
  }
  found.sort((a, b) => a[2].length - b[2].length);
  const listed = [];
  let room = units;
  for (const [isLocal, name, value] of found) {
    room -= name.length + value.length;
    if (room < 0 || listed.length === entries) { cut = true; break; }
    listed.push([isLocal, name.toWellFormed(), value.toWellFormed()]);
  }
  return { origin: globalThis.origin, entries: listed, cut };
};
