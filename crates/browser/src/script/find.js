// Finding elements by what an agent calls them: role and name, text, or selector.

import { GeneratedContent } from './generated_content.js';
import { MAX_NAME, nameOf, readableText, setValueExposure } from './accessible_name.js';
import { checkActionability, scrollUnrendered } from './actionability.js';
import { isDeclaredActionable, isInferredActionable } from './aria_states.js';
import { visibility } from './element_visibility.js';
import { flatParent } from './flat_tree.js';
import { intendedTarget } from './hit_test.js';
import { iconHint, isSymbolName } from './icon_hint.js';
import { characterData, documentElement, firstElementChild, isConnected, isElement, isText, matches } from './intrinsics.js';
import { elementsByRef, isInThisDocument, lastDescriptions, lastRef, refOf } from './refs.js';
import { INTERACTIVE, roleOf } from './roles.js';
import { isTreeUnchanged } from './secret_fields.js';
import { boundText, normalizeText, shownText } from './text.js';
import { walk } from './tree_walk.js';
import { visibleText } from './visible_text.js';

// Why a ref is stale: never issued, hidden, moved to another document, or removed.
/** @param {{ prefix: string, number: number, options: SnapshotOptions }} request */
export const describeStaleRef = ({ prefix, number, options }) => {
  if (number < 1 || number > lastRef) return { state: 'never_issued' };
  const el = elementsByRef.get(number)?.deref();
  if (el && isInThisDocument(el)) return { state: visibility(el) === true ? 'not_in_snapshots' : 'hidden' };
  const was = lastDescriptions.get(number) ?? null;
  if (el && isConnected(el)) return { state: 'moved', ...was };
  if (!was) return { state: 'removed' };
  const now = findElements({ prefix, by: { kind: 'role', role: was.role, name: shownText(was.name, MAX_NAME) }, index: 0, look: null, options });
  return { state: 'removed', ...was, like: now.total[0] === 1 ? now.exact[0] : null };
};
const MAX_FOUND = 200;
// More than are shown: those whose names are masked are left out later.
const MAX_NEAR = 40;

const TEXT_ROLES = new Set(['searchbox', 'textbox']);
/** @param {string} wanted @param {string} role */
const matchesRole = (wanted, role) =>
  wanted === role || (wanted === 'icon' && role === 'generic') || (wanted === 'textbox' && TEXT_ROLES.has(role)) || (wanted === 'image' && role === 'img');

// How well a name matches: 0 exactly, 1 but for case, 2 in part, -1 not at all.
/** @param {string} name @param {string | null} wanted @param {string | undefined} lower */
export const matchTier = (name, wanted, lower) =>
  wanted === null || name === wanted ? 0
  : name.toLowerCase() === lower ? 1
  : lower && name.toLowerCase().includes(lower) ? 2
  : -1;

// The name as a snapshot has it; null for what is no icon, if one is wanted.
/** @param {Element} el @param {boolean} isIcon */
const shownName = (el, isIcon) => {
  const role = roleOf(el);
  const name = nameOf(el, role || 'button');
  if (!isIcon) return name;
  return (isSymbolName(name) && iconHint(el, role)) || null;
};

// How well the text of an element matches, which has it in place of a name: the outline shows both alike.
/** @param {Element} el @param {string | null} wanted @param {string} lower */
const textTier = (el, wanted, lower) => {
  const tier = matchTier(shownText(readableText(el), MAX_NAME).trim(), wanted, lower);
  return tier === 2 && firstElementChild(el) !== null ? -1 : tier;
};

// Each kind of search matches elements, and texts by the element around them.
/** @type {{ [K in FindBy['kind']]: (by: Extract<FindBy, { kind: K }>) => Search }} */
const SEARCHES = {
  role: ({ role, name }) => {
    const wanted = name === null ? null : normalizeText(name, MAX_NAME).trim();
    const lower = wanted?.toLowerCase();
    /** @type {Search['visit']} */
    const visit = (el, shown, found) => {
      if (!shown) return;
      if (matchesRole(role, shown)) {
        const elName = shownName(el, role === 'icon');
        if (elName === null) return;
        const own = matchTier(shownText(elName, MAX_NAME), wanted, lower);
        const tier = own < 0 && lower && elName === '' && !INTERACTIVE.has(shown) ? textTier(el, wanted, lower) : own;
        if (tier < 0) found.near(shown, elName);
        else found.add(tier, el);
      } else if (lower && INTERACTIVE.has(shown)) {
        const elName = nameOf(el, shown);
        if (shownText(elName, MAX_NAME).toLowerCase().includes(lower)) found.near(shown, elName);
      }
    };
    return { visit, text: () => {} };
  },
  selector: ({ selector }) => ({
    visit: (el, _role, found) => { if (matches(el, selector)) found.add(0, el); },
    text: () => {},
  }),
  text: ({ text }) => {
    const wanted = normalizeText(text, MAX_NAME).trim();
    const lower = wanted.toLowerCase();
    const words = lower.split(' ');
    /** @type {Set<Element>} */
    const seen = new Set();
    /** @param {number} tier @param {Element} meant @param {Matches} found */
    const add = (tier, meant, found) => {
      if (tier < 0 || seen.has(meant)) return;
      seen.add(meant);
      found.add(tier, meant);
    };
    /** @param {string} own */
    const touches = (own) => own.toLowerCase().split(' ').some((word) => word && words.some((one) => one.includes(word) || word.includes(one)));
    return {
      // Button inputs have no text nodes.
      visit: (el, shown, found) => {
        if (shown !== 'button' || !(el instanceof HTMLInputElement)) return;
        add(matchTier(nameOf(el, shown), wanted, lower), intendedTarget(el, null) ?? el, found);
      },
      // A text may be split by markup; but one part of it must be in this node.
      text: (node, found) => {
        const isGenerated = node instanceof GeneratedContent;
        if (typeof node === 'string' || (isGenerated ? node.unseen : !isText(node))) return;
        const parent = isGenerated ? node.el : flatParent(node);
        if (!parent || !isElement(parent)) return;
        const own = shownText(boundText(isGenerated ? node.drawn : characterData(/** @type {Text} */ (node)), MAX_NAME).trim(), MAX_NAME);
        if (!touches(own)) return;
        const meant = intendedTarget(parent, null) ?? parent;
        if (seen.has(meant)) return;
        // Visible text costs more to compute than text content.
        /** @param {Element} el */
        const shown = (el) => (shownText(readableText(el), MAX_NAME).toLowerCase().includes(lower) ? shownText(visibleText(el, MAX_NAME), MAX_NAME) : '');
        const around = shown(parent);
        const texts = [around.includes(own) ? own : '', around, meant === parent ? '' : shown(meant)];
        const tiers = texts.filter(Boolean).map((text) => matchTier(text, wanted, lower)).filter((tier) => tier >= 0);
        if (tiers.length) add(Math.min(...tiers), meant, found);
      },
    };
  },
};

// The name and the visible text of a match, for the driver to check whether it may be returned.
const MAX_CHECKED_LENGTH = 2000;
const MAX_CHECKED_TOTAL = 1000000;
/** @param {Element} el */
const textToCheck = (el) => `${nameOf(el, roleOf(el))}\n${visibleText(el, MAX_CHECKED_LENGTH)}`.toWellFormed();

/** @param {FindRequest} request @returns {FindReply} */
export const findElements = ({ prefix, by, index, look: how, words, options }) => {
  setValueExposure(options);
  /** @type {FindReply} */
  const found = { exact: [], close: [], part: [], near: [], total: [0, 0, 0], complete: true, looked: null, still: isTreeUnchanged() };
  const tiers = [found.exact, found.close, found.part];
  /** @type {[Element[], Element[], Element[]]} */
  const kept = [[], [], []];
  /** @type {Matches} */
  const collect = {
    add: (tier, el) => {
      found.total[tier] += 1;
      if (kept[tier].length < MAX_FOUND) kept[tier].push(el);
    },
    near: (role, name) => { if (name && found.near.length < MAX_NEAR) found.near.push({ role, name }); },
  };
  const search = SEARCHES[by.kind](/** @type {any} */ (by));
  /** @type {WalkVisitor} */
  const visit = (el, elRole, depth, silent) => {
    search.visit(el, elRole || (isDeclaredActionable(el, elRole) || isInferredActionable(el) ? 'generic' : ''), collect);
    return { depth, silent };
  };
  const root = documentElement(document);
  if (root) found.complete = walk(root, visit, (node) => search.text(node, collect), () => {}).complete;
  kept.forEach((els, tier) => { for (const el of els) tiers[tier].push(`${prefix}e${refOf(el)}`); });
  if (words) {
    // The driver drops matches without their words.
    let length = 0;
    found.words = kept.map((els) => {
      /** @type {string[]} */
      const texts = [];
      for (const el of els) {
        if (length > MAX_CHECKED_TOTAL) break;
        const text = textToCheck(el);
        length += text.length;
        texts.push(text);
      }
      return texts;
    });
  }
  const best = kept.find((els) => els.length);
  if (how && best && index < best.length) {
    const looked = checkActionability(prefix, best[index], how);
    if (!scrollUnrendered) found.looked = { ...looked, ref: `${prefix}e${refOf(best[index])}` };
  }
  return found;
};
