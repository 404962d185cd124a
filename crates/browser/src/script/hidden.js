// What is declared hidden: told only where a person can reach it all the same, or where the operator asks for all.

const SHOWN = 0;
// Neither it nor anything inside is told.
const GONE = 1;
// Under aria-hidden: screen readers are kept from it, eyes and pointers are not. What can be acted on is told.
const REACHED = 2;
// Told although it is not shown, because the setting says so.
const TOLD = 3;

// Hit tests in one snapshot; of more controls under aria-hidden the rest is left out.
const MOST_HIT_TESTS = 500;

const hiddenness = (el, seen, around, tellHidden) => {
  if (around === SHOWN && seen === true) return SHOWN;
  if (SILENT.has(tagOf(el))) return GONE;
  if (tellHidden) return around === TOLD || seen !== true ? TOLD : SHOWN;
  if (seen === 'inside') return around;
  if (around === SHOWN && attribute(el, 'aria-hidden') !== 'true') return GONE;
  if (hasAttribute(el, 'inert') || UNDRAWN.has(tagOf(el))) return GONE;
  return checkVisibility(el) || getComputedStyle(el).display === 'contents' ? REACHED : GONE;
};

// Whether a person could click it now.
const isReached = (el) => {
  if (closest(el, '[inert]')) return false;
  const now = looks();
  now.hits += 1;
  if (now.hits > MOST_HIT_TESTS || !checkVisibility(el, DRAWN) || isUnseenBox(el, true)) return false;
  const point = pointOf(el);
  if (!point) return !isShaded();
  const hit = elementAt(point.x, point.y);
  return hit !== null && meets(hit, el);
};

// Whether something lies over the whole window, as behind a dialog.
const isShaded = () => {
  const now = looks();
  if (now.shaded === null) {
    const { innerWidth: width, innerHeight: height } = globalThis;
    let at = elementAt(width / 2, height / 2);
    now.shaded = false;
    for (; at && isElement(at) && !now.shaded; at = flatParent(at)) {
      now.shaded = getComputedStyle(at).position === 'fixed' && holdsBox(boundingRect(at), { left: 0, top: 0, right: width, bottom: height });
    }
  }
  return now.shaded;
};

const isFoldedAway = (el, child) => el instanceof HTMLDetailsElement && !DETAILS.open(el) && child !== childByTag(el, 'summary');

// The children, those that are folded away by <details> too.
const allChildren = (el) => {
  const told = toldChildren(el);
  if (!(el instanceof HTMLDetailsElement) || DETAILS.open(el)) return told;
  const all = [];
  for (let child = firstChild(el); child; child = nextSibling(child)) all.push(child);
  return all;
};
