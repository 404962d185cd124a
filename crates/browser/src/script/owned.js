// aria-owns: elements that are told below another than the one they stand in.

// A page with more owners than this is read as it is written.
const MOST_OWNERS = 200;

const ownership = () => {
  const now = knownNow();
  if (!now.owned) {
    now.owned = { ownerOf: new Map(), ownedBy: new Map() };
    for (const owner of Array.from(queryAll(document, '[aria-owns]')).slice(0, MOST_OWNERS)) own(owner, now.owned);
  }
  return now.owned;
};

const own = (owner, { ownerOf, ownedBy }) => {
  // What cannot hold anything cannot own anything.
  if (controlTable(owner) && !(owner instanceof HTMLButtonElement)) return;
  const ids = attribute(owner, 'aria-owns').trim().split(/\s+/).slice(0, MAX_REFERENCES);
  for (const el of ids.map((id) => inSameTree(owner, id))) {
    if (!el || ownerOf.has(el) || holds(el, owner, ownerOf)) continue;
    ownerOf.set(el, owner);
    ownedBy.set(owner, [...(ownedBy.get(owner) ?? []), el]);
  }
};

// Whether `inner` is told somewhere below `el`; then `el` cannot go below `inner`.
const holds = (el, inner, ownerOf) => {
  for (let at = inner; at; at = ownerOf.get(at) ?? flatParent(at)) if (at === el) return true;
  return false;
};

// The children in the order they are told; strings are text.
const toldChildren = (el) => {
  const children = flatChildren(el);
  const { ownerOf, ownedBy } = ownership();
  if (ownerOf.size === 0) return children;
  const own = ownedBy.get(el);
  const here = children.filter((child) => !ownerOf.has(child));
  // What is brought here from elsewhere does not run on from what stands before it.
  return own ? here.concat(own.flatMap((el) => [' ', el])) : here;
};
