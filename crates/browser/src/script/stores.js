// What the document's origin keeps in its stores. A document without an origin of its own has none.

const MOST_STORED_SEEN = 10000;
const localStore = uncurry(Object.getOwnPropertyDescriptor(globalThis, 'localStorage').get);
const sessionStore = uncurry(Object.getOwnPropertyDescriptor(globalThis, 'sessionStorage').get);
const storeLength = getter(Storage, 'length');
const storeKey = method(Storage, 'key');
const storeItem = method(Storage, 'getItem');

// The shortest first: a key is short, and what a page caches is long.
const storedHere = ({ local, entries, units }) => {
  const found = [];
  let cut = false;
  for (const isLocal of local ? [true, false] : [false]) {
    let store;
    try { store = (isLocal ? localStore : sessionStore)(globalThis); } catch { continue; }
    const length = storeLength(store);
    cut ||= length > MOST_STORED_SEEN;
    for (let i = 0; i < length && i < MOST_STORED_SEEN; i += 1) {
      const name = storeKey(store, i);
      const value = name === null ? null : storeItem(store, name);
      if (value) found.push([isLocal, name, value]);
    }
  }
  found.sort((a, b) => a[2].length - b[2].length);
  const told = [];
  let room = units;
  for (const [isLocal, name, value] of found) {
    room -= name.length + value.length;
    if (room < 0 || told.length === entries) { cut = true; break; }
    told.push([isLocal, name.toWellFormed(), value.toWellFormed()]);
  }
  return { origin: globalThis.origin, entries: told, cut };
};
