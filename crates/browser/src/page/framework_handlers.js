// Finds the elements that frameworks keep handlers for, by their places among all elements, and what jQuery delegates.
// Runs in the page's own world like `framework_keys.js`; plain property reads in one loop are what is fast there.
(/** @this {any} @param {string} react @param {number} symbolAt @param {string} jquery */ function (react, symbolAt, jquery) {
  const all = this.all;
  const count = all.length;
  const places = [];
  const delegating = [];
  const delegated = [];
  const symbol = symbolAt < 0 || symbolAt >= count ? undefined : Object.getOwnPropertySymbols(all[symbolAt]).find((own) => String(own) === 'Symbol(events)');
  if (jquery && this[jquery] !== undefined) delegating.push(-1);
  for (let at = 0; at < count; at += 1) {
    const el = all[at];
    let acts = el.__click !== undefined || el.$$click !== undefined || el.__mousedown !== undefined || el.$$mousedown !== undefined ||
      el.__pointerdown !== undefined || el.$$pointerdown !== undefined || el.__mouseup !== undefined || el.__pointerup !== undefined;
    if (react && !acts) {
      const props = el[react];
      acts = props && (props.onClick || props.onMouseDown || props.onPointerDown || props.onMouseUp || props.onPointerUp || props.onDoubleClick || props.onTouchStart);
    }
    if (symbol !== undefined && !acts) {
      const events = el[symbol];
      acts = events && (events.click || events.mousedown || events.pointerdown || events.mouseup || events.pointerup || events.dblclick || events.touchstart);
    }
    if (jquery && el[jquery] !== undefined && delegating.length < 100) delegating.push(at);
    if (acts && places.length < 1000) places.push(at);
  }
  for (const at of delegating) {
    const events = (at < 0 ? this : all[at])[jquery].events;
    if (!events) continue;
    for (const type of ['click', 'mousedown', 'pointerdown', 'mouseup', 'pointerup', 'dblclick', 'touchstart']) {
      if (events[type]) for (const handler of events[type]) if (typeof handler.selector === 'string' && delegated.length < 100) delegated.push([at, handler.selector]);
    }
  }
  return { places, count, delegated };
})
