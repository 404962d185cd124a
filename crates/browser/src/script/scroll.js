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

const HELD = new Set(['hidden', 'clip']);
const overflowOf = (el, across) => (across ? getComputedStyle(el).overflowX : getComputedStyle(el).overflowY);

// Whether the page itself scrolls that way; what its body says holds for it, unless its root says something.
const turnsWithWheel = (root, across) => {
  if ((across ? scrollWidth(root) - innerWidth : scrollHeight(root) - innerHeight) < 1) return false;
  const top = documentElement(document);
  if (HELD.has(overflowOf(top, across))) return false;
  const body = childByTag(top, 'body');
  return !(body && overflowOf(top, across) === 'visible' && HELD.has(overflowOf(body, across)));
};

const nearestScroller = (el, across) => {
  for (let at = el; at; at = flatParent(at)) if (isElement(at) && canScroll(at, across)) return at;
  return null;
};

const pageRoot = () => scrollingElement(document) ?? documentElement(document);

// The page, or where that does not scroll what does in the middle of it.
const scrollerOf = (number, across) => {
  const root = pageRoot();
  const from = number !== null ? elementOf(number) : root && turnsWithWheel(root, across) ? null : elementAt(innerWidth / 2, innerHeight / 2);
  return nearestScroller(from, across) ?? root;
};

// Parts of the view where the wheel may turn the page and nothing else; the middle first.
const PLACES = [[0.5, 0.5], [0.5, 0.1], [0.5, 0.9], [0.05, 0.5], [0.95, 0.5], [0.02, 0.02], [0.98, 0.98]];
const wheelPoint = (el, across) => {
  const points = PLACES.map(([x, y]) => ({ x: innerWidth * x, y: innerHeight * y }));
  const leads = ({ x, y }) => {
    const hit = elementAt(x, y);
    if (hit && EMBEDS.has(tagOf(hit))) return false;
    return (nearestScroller(hit, across) ?? pageRoot()) === el;
  };
  return points.find(leads) ?? points[0];
};

// What is being scrolled, so that it is measured before and after.
let wheeled = null;

// Whether what scrolls begins at its right or its lower end, so that its positions run from 0 downwards.
const beginsAtFarEnd = (el, across) => {
  const place = across ? scrollLeft(el) : scrollTop(el);
  if (place !== 0) return place < 0;
  // What its body says holds for the page.
  const top = documentElement(document);
  const told = el === pageRoot() && top ? childByTag(top, 'body') ?? el : el;
  const { direction, writingMode, display, flexDirection } = getComputedStyle(told);
  const turned = told === el && display.endsWith('flex') ? flexDirection : '';
  if (writingMode !== 'horizontal-tb') return across ? writingMode.endsWith('-rl') : direction === 'rtl';
  return across ? (direction === 'rtl') !== (turned === 'row-reverse') : turned === 'column-reverse';
};

// Counted from the left or the upper end.
const positionOf = (el, across) => {
  if (!el) return { at: 0, most: 0, page: 0 };
  const whole = el === pageRoot();
  const page = whole ? (across ? innerWidth : innerHeight) : across ? clientWidth(el) : clientHeight(el);
  const most = (across ? scrollWidth(el) : scrollHeight(el)) - page;
  const place = across ? scrollLeft(el) : scrollTop(el);
  const at = beginsAtFarEnd(el, across) ? most + place : place;
  return { at: Math.round(at), most: Math.max(0, Math.round(most)), page: Math.round(page) };
};

const scrollState = ({ number, across }) => {
  wheeled = scrollerOf(number, across);
  return { ...positionOf(wheeled, across), ...wheelPoint(wheeled, across) };
};

// Waits until the position has stayed the same for two frames.
const scrolled = async ({ across }) => {
  const el = wheeled ?? pageRoot();
  wheeled = null;
  let before = null;
  for (let frame = 0, same = 0; frame < MOST_SCROLL_FRAMES && same < 2; frame += 1) {
    await nextFrame();
    const { at } = positionOf(el, across);
    same = at === before ? same + 1 : 0;
    before = at;
  }
  return { ...positionOf(el, across), x: 0, y: 0 };
};
