// Scrolling: what scrolls, how far it is and can go, and when it has come to rest.

const clientHeight = getter(Element, 'clientHeight');
const clientWidth = getter(Element, 'clientWidth');
const scrollingElement = getter(Document, 'scrollingElement');

const SCROLLS = new Set(['auto', 'scroll', 'overlay']);
const MOST_SCROLL_FRAMES = 120;

const canScroll = (el, across) => {
  const style = getComputedStyle(el);
  return across
    ? SCROLLS.has(style.overflowX) && scrollWidth(el) > clientWidth(el)
    : SCROLLS.has(style.overflowY) && scrollHeight(el) > clientHeight(el);
};

const scrollerOf = (number, across) => {
  for (let at = number === null ? null : elementOf(number); at; at = flatParent(at)) {
    if (isElement(at) && canScroll(at, across)) return at;
  }
  return scrollingElement(document) ?? documentElement(document);
};

const scrollState = ({ number, across }) => {
  const el = scrollerOf(number, across);
  if (!el) return { at: 0, most: 0, page: 0, x: 0, y: 0 };
  const whole = el === scrollingElement(document);
  const page = whole ? (across ? innerWidth : innerHeight) : across ? clientWidth(el) : clientHeight(el);
  const most = (across ? scrollWidth(el) : scrollHeight(el)) - page;
  const at = across ? scrollLeft(el) : scrollTop(el);
  return { at: Math.round(at), most: Math.max(0, Math.round(most)), page: Math.round(page), x: innerWidth / 2, y: innerHeight / 2 };
};

// Waits until the position has stayed the same for two frames.
const scrolled = async (what) => {
  let before = null;
  for (let frame = 0, same = 0; frame < MOST_SCROLL_FRAMES && same < 2; frame += 1) {
    await nextFrame();
    const { at } = scrollState(what);
    same = at === before ? same + 1 : 0;
    before = at;
  }
  return scrollState(what);
};
