// Finds the properties in which frameworks keep the handlers of elements. Runs in the page's own world, where Chromium ends
// whatever has an effect; it has no closures that assign, and no calls that might have one.
(/** @this {any} */ function () {
  const all = this.all;
  const count = all.length;
  /** @type {string[]} */
  const keys = [];
  /** @type {string[]} */
  const jquery = [];
  /** @type {number[]} */
  const symbols = [];
  /** @param {object} object @param {number} place */
  const look = (object, place) => {
    for (const key of Object.keys(object)) {
      if (key.startsWith('__reactProps$') || key.startsWith('__reactEventHandlers$') || key === '$EV') { if (!keys.includes(key)) keys.push(key); }
      if (key.startsWith('jQuery') && !jquery.includes(key)) jquery.push(key);
    }
    if (place >= 0 && symbols.length === 0) {
      for (const own of Object.getOwnPropertySymbols(object)) if (String(own) === 'Symbol(events)') symbols.push(place);
    }
  };
  look(this, -1);
  const step = Math.max(1, Math.floor(count / 150));
  for (let place = 0; place < count; place += place < 150 ? 1 : step) look(all[place], place);
  return { react: keys[0] ?? '', symbol: symbols[0] ?? -1, jquery: jquery[0] ?? '' };
})
