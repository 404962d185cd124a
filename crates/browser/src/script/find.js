// Finding elements by what an agent calls them: role and name, text, or selector.

const MAX_FOUND = 200;
const MAX_NEAR = 8;

const TEXT_ROLES = new Set(['searchbox', 'textbox']);
const sameRole = (wanted, role) =>
  wanted === role || (wanted === 'textbox' && TEXT_ROLES.has(role)) || (wanted === 'image' && role === 'img');

// How well something answers to a name: exactly, but for case, in part; -1 not at all.
const tierOf = (told, wanted, lower) =>
  wanted === null || told === wanted ? 0
  : told.toLowerCase() === lower ? 1
  : lower && told.toLowerCase().includes(lower) ? 2
  : -1;

// Each kind of search says for an element, and for the element around a text, how well it answers.
const SEARCHES = {
  role: ({ role, name }) => {
    const wanted = name === null ? null : clean(name, MAX_NAME).trim();
    const lower = wanted?.toLowerCase();
    const visit = (el, shown, found) => {
      if (!shown) return;
      if (sameRole(role, shown)) {
        const told = nameOf(el, roleOf(el) || 'button');
        const tier = tierOf(told, wanted, lower);
        if (tier < 0) found.near(shown, told);
        else found.add(tier, el);
      } else if (lower && INTERACTIVE.has(shown)) {
        const told = nameOf(el, shown);
        if (told.toLowerCase().includes(lower)) found.near(shown, told);
      }
    };
    return { visit, text: () => {} };
  },
  selector: ({ selector }) => ({
    visit: (el, shown, found) => { if (matches(el, selector)) found.add(0, el); },
    text: () => {},
  }),
  text: ({ text }) => {
    const wanted = clean(text, MAX_NAME).trim();
    const lower = wanted.toLowerCase();
    const seen = new Set();
    const meantAlready = new Set();
    const judge = (el, told, found) => {
      const tier = tierOf(told, wanted, lower);
      if (tier < 0) return;
      const meant = effective(el, null) ?? el;
      if (meantAlready.has(meant)) return;
      meantAlready.add(meant);
      found.add(tier, meant);
    };
    return {
      // What has no text inside is read by its value.
      visit: (el, shown, found) => { if (shown === 'button' && el instanceof HTMLInputElement) judge(el, nameOf(el, shown), found); },
      text: (node, found) => {
        const parent = typeof node === 'string' ? null : flatParent(node);
        if (!parent || !isElement(parent) || seen.has(parent)) return;
        seen.add(parent);
        // What is seen costs more to tell than what is written.
        if (textOf(parent).toLowerCase().includes(lower)) judge(parent, visibleText(parent, MAX_NAME), found);
      },
    };
  },
};

// All elements that answer, sorted by how well. With `look`, the one at `index` of the best is looked at as well,
// which saves a second question.
const find = ({ prefix, by, index, look: how, options }) => {
  tellValues(options);
  const found = { exact: [], close: [], part: [], near: [], total: [0, 0, 0], complete: true, looked: null };
  const tiers = [found.exact, found.close, found.part];
  const kept = [[], [], []];
  const collect = {
    add: (tier, el) => {
      found.total[tier] += 1;
      if (kept[tier].length < MAX_FOUND) kept[tier].push(el);
    },
    near: (role, name) => { if (name && found.near.length < MAX_NEAR) found.near.push({ role, name }); },
  };
  const search = SEARCHES[by.kind](by);
  const visit = (el, elRole, depth, silent) => {
    search.visit(el, elRole || (isActionable(el, elRole) ? 'generic' : ''), collect);
    return { depth, silent };
  };
  const root = documentElement(document);
  if (root) found.complete = walk(root, visit, (node) => search.text(node, collect), () => {}).complete;
  kept.forEach((els, tier) => { for (const el of els) tiers[tier].push(`${prefix}e${refOf(el)}`); });
  const best = kept.find((els) => els.length);
  if (how && best && index < best.length) found.looked = { ...look(prefix, best[index], how), ref: `${prefix}e${refOf(best[index])}` };
  return found;
};
