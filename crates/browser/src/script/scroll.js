// Scrolling: what scrolls, how far it is and can go, and when it has stopped.

import { childByTag, flatParent, tagOf } from './flat_tree.js';
import { nextFrame } from './frame_time.js';
import { deepElementFromPoint, EMBEDDING_TAGS } from './hit_test.js';
import {
  clientHeight, clientWidth, documentElement, isElement, scrollHeight, scrollingElement, scrollLeft, scrollTop,
  scrollWidth,
} from './intrinsics.js';
import { elementByRef } from './refs.js';

const SCROLLABLE_OVERFLOW = new Set(['auto', 'scroll', 'overlay']);
const MAX_SCROLL_FRAMES = 120;

/** @param {Element} el @param {boolean} across */
const canScroll = (el, across) => {
  const style = getComputedStyle(el);
  return across
    ? SCROLLABLE_OVERFLOW.has(style.overflowX) && scrollWidth(el) > clientWidth(el)
    : SCROLLABLE_OVERFLOW.has(style.overflowY) && scrollHeight(el) > clientHeight(el);
};

const CLIPPED_OVERFLOW = new Set(['hidden', 'clip']);
/** @param {Element} el @param {boolean} across */
const overflowOf = (el, across) => (across ? getComputedStyle(el).overflowX : getComputedStyle(el).overflowY);

// Whether the page itself scrolls that way; the overflow of its body propagates to it, unless its root has one.
/** @param {Element} root @param {boolean} across */
const isPageScrollable = (root, across) => {
  if ((across ? scrollWidth(root) - innerWidth : scrollHeight(root) - innerHeight) < 1) return false;
  const top = documentElement(document);
  if (CLIPPED_OVERFLOW.has(overflowOf(top, across))) return false;
  const body = childByTag(top, 'body');
  return !(body && overflowOf(top, across) === 'visible' && CLIPPED_OVERFLOW.has(overflowOf(body, across)));
};

/** @param {Element | null} el @param {boolean} across */
const nearestScroller = (el, across) => {
  for (let at = /** @type {Node | null} */ (el); at; at = flatParent(at)) if (isElement(at) && canScroll(at, across)) return at;
  return null;
};

const rootScroller = () => scrollingElement(document) ?? documentElement(document);

// The page, or if it does not scroll, the scroll container in its center.
/** @param {number | null} number @param {boolean} across */
const scrollerOf = (number, across) => {
  const root = rootScroller();
  const from = number !== null ? elementByRef(number) : root && isPageScrollable(root, across) ? null : deepElementFromPoint(innerWidth / 2, innerHeight / 2);
  return nearestScroller(from, across) ?? root;
};

// Points of the viewport where the wheel may scroll the page and nothing else; the center first.
const WHEEL_POINTS = [[0.5, 0.5], [0.5, 0.1], [0.5, 0.9], [0.05, 0.5], [0.95, 0.5], [0.02, 0.02], [0.98, 0.98]];
/** @param {Element | null} el @param {boolean} across */
const wheelPoint = (el, across) => {
  const points = WHEEL_POINTS.map(([x, y]) => ({ x: innerWidth * x, y: innerHeight * y }));
  /** @param {Point} point */
  const leads = ({ x, y }) => {
    const hit = deepElementFromPoint(x, y);
    if (hit && EMBEDDING_TAGS.has(tagOf(hit))) return false;
    return (nearestScroller(hit, across) ?? rootScroller()) === el;
  };
  return points.find(leads) ?? points[0];
};

// The container that is being scrolled, to be measured before and after.
/** @type {Element | null} */
let activeScroller = null;

// Whether scrolling starts at the right or the lower end, so that positions are negative.
/** @param {Element} el @param {boolean} across */
const isReversed = (el, across) => {
  const place = across ? scrollLeft(el) : scrollTop(el);
  if (place !== 0) return place < 0;
  // The direction of the body propagates to the page.
  const top = documentElement(document);
  const source = el === rootScroller() && top ? childByTag(top, 'body') ?? el : el;
  const { direction, writingMode, display, flexDirection } = getComputedStyle(source);
  const turned = source === el && display.endsWith('flex') ? flexDirection : '';
  if (writingMode !== 'horizontal-tb') return across ? writingMode.endsWith('-rl') : direction === 'rtl';
  return across ? (direction === 'rtl') !== (turned === 'row-reverse') : turned === 'column-reverse';
};

// Relative to the left or the upper end.
/** @param {Element | null} el @param {boolean} across */
const scrollPosition = (el, across) => {
  if (!el) return { at: 0, most: 0, page: 0 };
  const whole = el === rootScroller();
  const page = whole ? (across ? innerWidth : innerHeight) : across ? clientWidth(el) : clientHeight(el);
  const most = (across ? scrollWidth(el) : scrollHeight(el)) - page;
  const place = across ? scrollLeft(el) : scrollTop(el);
  const at = isReversed(el, across) ? most + place : place;
  return { at: Math.round(at), most: Math.max(0, Math.round(most)), page: Math.round(page) };
};

/** @param {{ number: number | null, across: boolean }} request */
export const startScroll = ({ number, across }) => {
  activeScroller = scrollerOf(number, across);
  return { ...scrollPosition(activeScroller, across), ...wheelPoint(activeScroller, across) };
};

// Waits until the position has stayed the same for two frames.
/** @param {{ across: boolean }} request */
export const waitForScrollEnd = async ({ across }) => {
  const el = activeScroller ?? rootScroller();
  activeScroller = null;
  let before = null;
  for (let frame = 0, same = 0; frame < MAX_SCROLL_FRAMES && same < 2; frame += 1) {
    await nextFrame();
    const { at } = scrollPosition(el, across);
    same = at === before ? same + 1 : 0;
    before = at;
  }
  return { ...scrollPosition(el, across), x: 0, y: 0 };
};
