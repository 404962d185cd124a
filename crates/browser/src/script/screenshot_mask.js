// The screenshot mask: fields that hold text, sensitive words that are drawn as text, and elements that paint by themselves.
//
// The page's text goes to the driver, and the driver searches it: what was typed into one site is not handed to the renderer
// process of another. Then the boxes are measured, and watched while the screenshot is taken.

import { frameContentPoint } from './actionability.js';
import {
  attribute, canHaveShadowRoot, elementByIdInTree, flatParent, isField, isInside, MAX_VISITED, parentOrHost,
  PLAIN_ATTRIBUTES, shadowRootOf,
} from './flat_tree.js';
import { pageHasGeneratedContent } from './generated_content.js';
import { EMBEDDING_TAGS } from './hit_test.js';
import {
  animationEffect, animationState, attributeNames, boundingRect, characterData, closest, createRange,
  createTreeWalker, designMode, documentElement, effectTarget, getAttribute, INPUT, isBadInput, isConnected,
  isElement, isHtml, isText, keyframesOf, localName, nativeHasAttribute, nextNode, nextSibling, ownerSvg,
  parentNode, previousSibling, querySelector, rangeBoundingRect, rangeRects, rootAnimations, runningAnimations,
  selectNodeContents, setEnd, setStart, TEXTAREA, textContent, validityOf,
} from './intrinsics.js';
import { frameOwners } from './refs.js';
import { isEditingHost } from './roles.js';
import { isSecret, isTreeUnchanged } from './secret_fields.js';
import { hasCustomizableAppearance } from './select_options.js';

// A page with more text than this, in UTF-16 units, cannot be masked.
const MAX_MASK_TEXT = 2000000;
// With more boxes than this the whole frame is masked.
const MAX_MASK_BOXES = 1000;
const MAX_WATCHED_BOXES = 200;
// A page with more unmasked fields than this is assumed to change their values.
const MAX_WATCHED_INPUTS = 5000;
// Text that appeared while a screenshot was taken, in UTF-16 units and in changes. Beyond that it is unknown.
const MAX_TRANSIENT_TEXT = 400000;
const MAX_CHANGES = 5000;
// Text read to find that out, in UTF-16 units: a page can keep changing a long text a little.
const MAX_TRANSIENT_READ = 20000000;
// Text recorded around a change: a word may begin or end there.
const MIN_CONTEXT = 120;
const MAX_CONTEXT = 2000;
// The mask of an abandoned screenshot is dropped after this time.
const WATCH_MILLISECONDS = 10000;

const UNRENDERED_TEXT_TAGS = new Set('script style template noscript title'.split(' '));
// Unless a style renders them all the same.
/** @param {Element} el */
const isUnrenderedText = (el) => UNRENDERED_TEXT_TAGS.has(localName(el)) && getComputedStyle(el).display === 'none';
const PAINTING_TAGS = new Set('canvas video embed object'.split(' '));
const LABELLED_BUTTONS = new Set(['button', 'submit', 'reset']);
const NO_TEXT_INPUTS = new Set(['checkbox', 'radio', 'range', 'color', 'hidden', ...LABELLED_BUTTONS, 'image']);
const RENDERED_ATTRIBUTES = ['placeholder', 'alt', 'label'];
const WATCHED_ATTRIBUTES = [...RENDERED_ATTRIBUTES, 'value', 'type', 'href'];
// Animations of these properties move nothing.
const NON_MOVING_PROPERTIES = new Set(
  'offset computedOffset easing composite opacity color backgroundColor borderColor outlineColor fill stroke boxShadow'.split(' '),
);

/** @type {Mask | null} */
let activeMask = null;

/** @param {Element} el @returns {el is HTMLInputElement} */
const isTextInput = (el) => el instanceof HTMLInputElement && !NO_TEXT_INPUTS.has(INPUT.type(el));

// Text that an element renders from attributes, or by reference.
/** @param {Element} el @param {string} tag @param {boolean} generates */
const renderedAttributeText = (el, tag, generates) => {
  const texts = [];
  if (el instanceof HTMLInputElement && LABELLED_BUTTONS.has(INPUT.type(el))) texts.push(INPUT.value(el));
  if (tag === 'use') {
    const id = (attribute(el, 'href') ?? attribute(el, 'xlink:href') ?? '').replace(/^#/, '');
    const used = id ? elementByIdInTree(el, id) : null;
    if (used) texts.push(textContent(used));
  }
  for (const name of attributeNames(el)) {
    if (RENDERED_ATTRIBUTES.includes(name) || (generates && !PLAIN_ATTRIBUTES.has(name))) texts.push(getAttribute(el, name));
  }
  return texts;
};

/** @param {Element} el */
const isMaskable = (el) =>
  isTextInput(el) || el instanceof HTMLTextAreaElement || (nativeHasAttribute(el, 'contenteditable') && isHtml(el) && isEditingHost(el));

// Collects all text of the frame, and the elements that may have to be masked whatever their text. With `again`, text
// that appeared since the last call is included.
/** @param {MaskTextRequest} request */
export const collectMaskText = ({ words, drawings, secrets, again }) => {
  const before = words && again ? activeMask : null;
  const passed = words && again ? transientText() : '';
  stopMasking();
  /** @type {(Document | ShadowRoot)[]} */
  const roots = [document];
  /** @type {string[]} */
  const parts = [];
  /** @type {number[]} */
  const starts = [];
  /** @type {(Node | null)[]} */
  const nodes = [];
  /** @type {Element[]} */
  const fields = [];
  /** @type {Element[]} */
  const drawn = [];
  /** @type {[Element, string][]} */
  const beside = [];
  /** @type {TextField[]} */
  const inputs = [];
  let length = 0;
  let visited = 0;
  /** @param {Node | null} node @param {string} text */
  const add = (node, text) => {
    starts.push(length);
    nodes.push(node);
    parts.push(text);
    length += text.length;
  };
  const generates = words && pageHasGeneratedContent();
  // Whether there are fields that are masked only if they contain sensitive words.
  let searched = false;
  for (const root of roots) {
    const walker = createTreeWalker(document, root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = nextNode(walker); node; node = nextNode(walker)) {
      visited += 1;
      if (visited > MAX_VISITED || length > MAX_MASK_TEXT) return { text: '', all: false, found: false, fields: true, still: isTreeUnchanged() };
      if (isText(node)) {
        const parent = words ? parentNode(node) : null;
        if (parent && !(isElement(parent) && isUnrenderedText(parent))) add(node, characterData(node));
        continue;
      }
      if (!isElement(node)) continue;
      const tag = localName(node);
      const inside = canHaveShadowRoot(node) ? shadowRootOf(node) : null;
      if (inside) roots.push(inside);
      if (isMaskable(node)) {
        if (words && isField(node)) inputs.push(node);
        if (!secrets || isSecret(node)) fields.push(node);
        else if (words) {
          searched = true;
          if (isField(node)) beside.push([node, fieldValue(node)]);
        }
      }
      if (drawings && PAINTING_TAGS.has(tag)) drawn.push(node);
      if (words) for (const text of renderedAttributeText(node, tag, generates)) if (text) beside.push([node, text]);
    }
    if (words) add(null, '\0');
  }
  for (const [node, text] of beside) {
    if (length > MAX_MASK_TEXT) break;
    add(node, text);
    add(null, '\0');
  }
  const observer = new MutationObserver((records) => { if (activeMask === mask) recordChanges(mask, records); });
  const mask = {
    starts, nodes, fields, drawn, roots, generates, observer, passed, changes: 0, read: 0, watched: [], inputs, values: [],
    filled: false, frame: 0, sizes: null, measured: null, carried: false,
  };
  // A new root may have contained anything meanwhile: it was not observed.
  if (before && roots.some((root) => !before.roots.includes(root))) mask.passed = null;
  activeMask = mask;
  setTimeout(() => { if (activeMask === mask) stopMasking(); }, WATCH_MILLISECONDS);
  /** @type {MutationObserverInit} */
  const watched = { subtree: true, childList: true, characterData: true, characterDataOldValue: true, attributes: true, attributeOldValue: true };
  // Generated content may use any attribute.
  if (!generates) watched.attributeFilter = WATCHED_ATTRIBUTES;
  if (words) for (const root of roots) observer.observe(root, watched);
  const all = length <= MAX_MASK_TEXT;
  const found = drawn.length > 0 || designMode(document) === 'on' || fields.some(hasTextInside);
  return { text: all ? parts.join('').toWellFormed() : '', all, found, fields: searched || fields.length > 0, still: isTreeUnchanged() };
};

const stopMasking = () => {
  if (!activeMask) return;
  stopCheckingValues(activeMask);
  activeMask.observer.disconnect();
  for (const { observer } of activeMask.watched) observer?.disconnect();
  activeMask = null;
};

/** @param {string} name @param {boolean} generates */
const isRenderedAttribute = (name, generates) => WATCHED_ATTRIBUTES.includes(name) || (generates && !PLAIN_ATTRIBUTES.has(name));

/** @param {TextField} field */
const fieldValue = (field) => (field instanceof HTMLInputElement ? INPUT.value(field) : TEXTAREA.value(field));
// Invalid input of a number or date field has no value, but is drawn as typed.
const BAD_INPUT = '\0';
/** @param {TextField} field */
const fieldText = (field) => fieldValue(field) || (field instanceof HTMLInputElement && isBadInput(validityOf(field)) ? BAD_INPUT : '');
/** @param {Element} el */
const hasTextInside = (el) => (isField(el) ? fieldText(el) !== '' : (textContent(el) ?? '').trim() !== '');

// A field can be filled and emptied again without a trace, so unmasked fields are checked in every frame: after the
// page's own scripts have run and before it is painted, which is when a new ResizeObserver is called.
/** @param {Mask} mask */
const watchFieldValues = (mask) => {
  const boxed = new Set(mask.fields.filter(hasTextInside));
  mask.values = mask.inputs.filter((el) => !boxed.has(el)).map((el) => [el, fieldText(el)]);
  mask.filled = mask.values.length > MAX_WATCHED_INPUTS;
  if (mask.values.length && !mask.filled) checkValuesEachFrame(mask);
};
/** @param {Mask} mask */
const checkValuesEachFrame = (mask) => {
  mask.frame = requestAnimationFrame(() => {
    checkValues(mask);
    mask.sizes?.disconnect();
    mask.sizes = new ResizeObserver(() => checkValues(mask));
    const top = documentElement(document);
    if (top) mask.sizes.observe(top);
    checkValuesEachFrame(mask);
  });
};
/** @param {Mask} mask */
const stopCheckingValues = (mask) => {
  cancelAnimationFrame(mask.frame);
  mask.sizes?.disconnect();
};
/** @param {Mask} mask */
const checkValues = (mask) => { mask.filled ||= mask.values.some(([el, value]) => fieldText(el) !== value); };

// How far text is painted beyond its box, by shadows and filters. null: anywhere.
/** @param {Element} el */
const paintOverflow = (el) => {
  let reach = 0;
  /** @param {string} style */
  const widen = (style) => {
    for (const [, number] of style.matchAll(/(-?[\d.]+)px/g)) reach = Math.max(reach, 2 * Math.abs(Number(number)));
  };
  widen(getComputedStyle(el).textShadow);
  for (let at = /** @type {Node | null} */ (el); at && isElement(at); at = flatParent(at)) {
    const style = getComputedStyle(at);
    if (style.webkitBoxReflect && style.webkitBoxReflect !== 'none') return null;
    if (style.filter !== 'none') widen(style.filter);
  }
  return reach;
};

/** @param {Element} el */
const generatesPositionedContent = (el) => ['::before', '::after'].some((where) => {
  const style = getComputedStyle(el, where);
  const positioned = style.position === 'absolute' || style.position === 'fixed';
  const generates = !['none', 'normal', ''].includes(style.content);
  return generates && positioned && style.visibility === 'visible' && style.opacity !== '0';
});

// Boxes of [left, top, right, bottom] in the frame's viewport, and whether the whole frame must be masked. `watch` is
// called with each masked element.
/** @param {Mask} options @param {number[]} ranges @param {(el: Element) => void} watch */
const measureBoxes = ({ fields, drawn, starts, nodes }, ranges, watch) => {
  /** @type {number[][]} */
  const boxes = [];
  let whole = designMode(document) === 'on';
  /** @param {Box} rect @param {number} reach */
  const box = ({ left, top, right, bottom }, reach) => {
    if (right <= left || bottom <= top) return;
    const around = reach + 2 + Math.min(16, (bottom - top) * 0.15);
    boxes.push([left - around, top - around, right + around, bottom + around]);
  };
  /** @param {Element} el */
  const element = (el) => { watch(el); box(boundingRect(el), 0); };
  for (const el of fields) {
    if (!hasTextInside(el)) continue;
    element(el);
    if (isField(el)) continue;
    const range = createRange(document);
    selectNodeContents(range, el);
    box(rangeBoundingRect(range), 0);
  }
  for (const el of drawn) element(el);
  let at = 0;
  for (let i = 0; i < ranges.length && boxes.length <= MAX_MASK_BOXES; i += 2) {
    const [from, to] = [ranges[i], ranges[i + 1]];
    while (at + 1 < starts.length && starts[at + 1] <= from) at += 1;
    for (let piece = at; piece < starts.length && starts[piece] < to; piece += 1) {
      const node = nodes[piece];
      if (!node) continue;
      if (isElement(node)) {
        whole ||= generatesPositionedContent(node);
        element(closest(node, 'select') ?? node);
        continue;
      }
      const parent = parentOrHost(node);
      if (!parent || !isElement(parent)) continue;
      const range = createRange(document);
      const size = characterData(/** @type {CharacterData} */ (node)).length;
      setStart(range, node, Math.min(size, Math.max(0, from - starts[piece])));
      setEnd(range, node, Math.min(size, to - starts[piece]));
      const drawnAt = Array.from(rangeRects(range));
      const list = closest(parent, 'select');
      // A customizable <select> shows the selected option on its button too.
      if (list && (!drawnAt.length || hasCustomizableAppearance(list))) element(list);
      if (!drawnAt.length) continue;
      watch(parent);
      const reach = paintOverflow(parent);
      whole ||= reach === null;
      for (const rect of drawnAt) box(rect, reach ?? 0);
    }
  }
  return { boxes: boxes.slice(0, MAX_MASK_BOXES), whole: whole || boxes.length > MAX_MASK_BOXES };
};

/** @param {Element} el */
const isAxisAligned = (el) => {
  for (let at = /** @type {Node | null} */ (el); at && isElement(at); at = flatParent(at)) {
    const { transform, rotate, perspective, offsetPath } = getComputedStyle(at);
    if (rotate !== 'none' || perspective !== 'none' || (offsetPath && offsetPath !== 'none')) return false;
    if (transform !== 'none' && !/^matrix\([^,]+, 0, 0, [^,]+, [^,]+, [^,]+\)$/.test(transform)) return false;
  }
  return true;
};

// Origin, scale and box of a child frame's content; null for one that is not shown.
/** @param {Mask} mask @param {string} frame @returns {FramePlacement | null} */
const framePlacement = (mask, frame) => {
  const owner = frameOwners.get(frame)?.deref();
  if (!owner || !isConnected(owner)) return null;
  const { left, top, right, bottom } = boundingRect(owner);
  const [zero, one] = [frameContentPoint(owner, 0, 0), frameContentPoint(owner, 1, 1)];
  watchBox(mask, owner);
  return { x: zero.x, y: zero.y, across: one.x - zero.x, down: one.y - zero.y, box: [left, top, right, bottom], upright: isAxisAligned(owner) };
};

// One IntersectionObserver per element: Chromium checks in every rendered frame that it is still within its box. It
// does not report on elements inside SVG, so those have none.
/** @param {Mask} mask @param {Element} el */
const watchBox = (mask, el) => {
  if (mask.watched.some((watched) => watched.el === el)) return;
  const drawing = el instanceof SVGElement ? ownerSvg(el) : null;
  if (drawing) {
    mask.watched.push({ el, observer: null, at: [], records: [] });
    watchBox(mask, drawing);
    return;
  }
  const { left, top, right, bottom } = boundingRect(el);
  if (mask.watched.length >= MAX_WATCHED_BOXES) { mask.watched.push({ el, observer: null, at: [], records: [] }); return; }
  const margins = [top - 1, innerWidth - right - 1, innerHeight - bottom - 1, left - 1].map((side) => `${-Math.floor(side)}px`);
  const observer = new IntersectionObserver((records) => watched.records.push(...records), { root: document, rootMargin: margins.join(' '), threshold: 1 });
  /** @type {WatchedBox} */
  const watched = { el, observer, at: [left, top, right, bottom], records: [] };
  observer.observe(el);
  mask.watched.push(watched);
};

/** @param {number[]} a @param {number[]} b */
const isClose = (a, b) => a.length === b.length && a.every((number, i) => Math.abs(number - b[i]) <= 1);

// SVG animation elements, which getAnimations() does not list.
const SVG_ANIMATIONS = 'animate, animateTransform, animateMotion, set';
/** @param {Element} el */
const isInAnimatedSvg = (el) => {
  let drawing = closest(el, 'svg');
  while (drawing && !querySelector(drawing, SVG_ANIMATIONS)) drawing = ownerSvg(/** @type {SVGElement} */ (drawing));
  return drawing !== null;
};

/** @param {Mask} mask */
const isAnimated = (mask) => {
  if (mask.watched.some(({ el }) => isInAnimatedSvg(el))) return true;
  const animations = mask.roots.flatMap((root) => (root instanceof Document ? runningAnimations(root) : rootAnimations(root)));
  return animations.some((animation) => {
    if (animationState(animation) !== 'running') return false;
    const effect = animationEffect(animation);
    if (!(effect instanceof KeyframeEffect)) return false;
    const target = effectTarget(effect);
    if (target === null || !mask.watched.some(({ el }) => isInside(el, target))) return false;
    return keyframesOf(effect).some((frame) => Object.keys(frame).some((key) => !NON_MOVING_PROPERTIES.has(key)));
  });
};

// Measures the mask and, if it will be verified, starts watching what is masked.
/** @param {{ ranges: number[], frames: string[], watched: boolean }} request */
export const measureMask = ({ ranges, frames, watched }) => {
  const mask = activeMask;
  if (!mask) return { boxes: [], whole: true, places: frames.map(() => null) };
  const places = frames.map((frame) => framePlacement(mask, frame));
  const { boxes, whole } = measureBoxes(mask, ranges, (el) => watchBox(mask, el));
  mask.measured = { ranges, boxes, places };
  mask.carried = isAnimated(mask);
  if (watched) watchFieldValues(mask);
  else stopMasking();
  return { boxes, whole, places };
};

// Records text as it appears: whatever is painted is in the page when mutation observers are called.
/** @param {Mask} mask @param {MutationRecord[]} records */
const recordChanges = (mask, records) => {
  for (const record of records) {
    if (record.type === 'attributes' && !isRenderedAttribute(record.attributeName ?? '', mask.generates)) continue;
    mask.changes += 1;
    if (mask.passed === null) continue;
    const shown = changedText(mask, record);
    const fits = shown !== null && mask.changes < MAX_CHANGES && mask.passed.length + shown.length < MAX_TRANSIENT_TEXT;
    mask.passed = fits ? `${mask.passed}${shown}\0` : null;
  }
};

// The text that a change may have shown; null if unknown.
/** @param {Mask} mask @param {MutationRecord} options */
const changedText = (mask, { type, target, attributeName, addedNodes, removedNodes }) => {
  if (type === 'attributes') {
    // The field's type changed, or it showed another text, meanwhile.
    if (attributeName === 'type' ? target instanceof HTMLInputElement : attributeName === 'href' && isElement(target) && localName(target) === 'use') return null;
    return isElement(target) ? getAttribute(target, attributeName ?? '') ?? '' : '';
  }
  let text = textAround(mask, target);
  for (const node of [...addedNodes, ...removedNodes]) {
    if (!isElement(node)) continue;
    const walker = createTreeWalker(document, node, NodeFilter.SHOW_ELEMENT);
    for (let el = /** @type {Node | null} */ (node); el && isElement(el); el = nextNode(walker)) {
      mask.read += 100;
      if (mask.read > MAX_TRANSIENT_READ || mayRenderUnknownText(el)) return null;
      for (const drawn of renderedAttributeText(el, localName(el), mask.generates)) text += `\0${drawn}`;
    }
  }
  for (const node of addedNodes) text += `\0${textBeside(mask, node)}`;
  return mask.read > MAX_TRANSIENT_READ ? null : text;
};

/** @param {Mask} mask @param {Node | null} node */
const readCountedText = (mask, node) => {
  const text = node ? textContent(node) ?? '' : '';
  mask.read += text.length;
  return text;
};
/** @param {Mask} mask @param {Node} node */
const textBeside = (mask, node) =>
  readCountedText(mask, previousSibling(node)).slice(-MIN_CONTEXT) + readCountedText(mask, node) + readCountedText(mask, nextSibling(node)).slice(0, MIN_CONTEXT);

// The text of the smallest part of the page around a change that is not short, with the text next to it. Empty for a
// long part: added nodes are recorded by themselves.
/** @param {Mask} mask @param {Node} target */
const textAround = (mask, target) => {
  let at = target;
  let text = readCountedText(mask, target);
  if (isElement(target) && text.length > MAX_CONTEXT) return '';
  while (text.length < MIN_CONTEXT) {
    const parent = parentNode(at);
    if (!parent || !isElement(parent)) break;
    text = readCountedText(mask, parent);
    if (text.length > MAX_CONTEXT) break;
    at = parent;
  }
  return textBeside(mask, at);
};

// Text that appeared since the last call; null if unknown.
const transientText = () => {
  const mask = activeMask;
  if (!mask) return null;
  checkValues(mask);
  recordChanges(mask, mask.observer.takeRecords());
  const unknown = mask.filled || (!mask.generates && pageHasGeneratedContent());
  return unknown || mask.passed === null ? null : mask.passed.toWellFormed();
};

// Called after closed roots were looked for.
export const readTransientText = () => ({ passed: transientText() });

// Whether an added or removed element may have shown text that is not in its tree: a field, a canvas, another
// document, or, if it was removed, an unknown shadow root.
/** @param {Element} el */
const mayRenderUnknownText = (el) =>
  isMaskable(el) || PAINTING_TAGS.has(localName(el)) || EMBEDDING_TAGS.has(localName(el)) || (!isConnected(el) && canHaveShadowRoot(el));

// Whether everything stayed where it was measured, whether that is certain of each element, and whether the page's
// text changed. Changes are recorded further, for another call.
export const verifyMask = () => {
  const mask = activeMask;
  if (!mask) return { held: false, sure: false, changed: true };
  recordChanges(mask, mask.observer.takeRecords());
  checkValues(mask);
  stopCheckingValues(mask);
  let held = mask.measured !== null && !mask.carried && !isAnimated(mask) && !mask.filled;
  let sure = true;
  for (const { el, observer, at, records: seen } of mask.watched) {
    if (!observer) { sure = false; continue; }
    const entries = [...seen, ...observer.takeRecords()];
    observer.disconnect();
    sure &&= entries.length > 0 && entries.every((entry) => entry.intersectionRatio > 0.99);
    const boxes = entries.map(({ boundingClientRect: { left, top, right, bottom } }) => [left, top, right, bottom]);
    const { left, top, right, bottom } = boundingRect(el);
    held &&= [...boxes, [left, top, right, bottom]].every((box) => isClose(box, at));
  }
  if (held && mask.measured) {
    const now = measureBoxes(mask, mask.measured.ranges, () => {});
    held = isClose(now.boxes.flat(), mask.measured.boxes.flat());
  }
  return { held, sure, changed: mask.changes > 0 };
};
