// Facts that are expensive to compute, cached until the current call from Rust ends, so that they are never stale.

// Facts that cost more than a look are kept until the present call ends, so that they are never stale.
/** @type {CallCache | null} */
let cache = null;
/** @returns {CallCache} */
export const callCache = () => {
  if (!cache) {
    cache = {
      tables: new WeakMap(), generates: null, owned: null, slots: new Map(), dotFonts: null, styleHints: null,
      paint: null, labels: new Map(), active: null, disables: null, edits: null,
    };
    queueMicrotask(() => { cache = null; });
  }
  return cache;
};
