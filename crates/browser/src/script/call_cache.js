// Facts that are expensive to compute, cached until the current call from Rust ends, so that they are never stale.

/** @type {CallCache | null} */
let cache = null;
// Differs from one call to the next, for facts that are kept outside.
export let callNumber = 0;
/** @returns {CallCache} */
export const callCache = () => {
  if (!cache) {
    cache = {
      tables: new WeakMap(), owned: null, slots: new Map(), dotFonts: null, rules: null, contexts: null, seen: new Map(),
      paint: null, labels: new Map(), active: null, disables: null, edits: null, pointed: null,
    };
    queueMicrotask(() => { cache = null; callNumber += 1; });
  }
  return cache;
};
