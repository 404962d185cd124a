// Facts about one element: role, name, link, form. The gate decides on them.

import { MAX_NAME, nameOf, optionLabel } from './accessible_name.js';
import { isEditable } from './aria_states.js';
import { attribute, flatParent, formOf, hasAttribute, inputType, tagOf } from './flat_tree.js';
import {
  anchorHref, animatedText, areaHref, baseURI, BUTTON, collectionLength, collectionItem, FORM, getRootNode, INPUT,
  isElement, matches, OPTION, querySelector, querySelectorAll, rootQuerySelectorAll, SELECT, selectOptions, svgHref,
  TEXTAREA,
} from './intrinsics.js';
import { refOf } from './refs.js';
import { roleOf } from './roles.js';
import { isSecret } from './secret_fields.js';
import { boundText, shownText, truncateUrl, withSlack } from './text.js';
import { visibleText } from './visible_text.js';

/** @param {Element} el */
export const describeElement = (el) => {
  const role = roleOf(el);
  const name = role ? nameOf(el, role) : '';
  const id = attribute(el, 'id');
  return boundText(`${role || tagOf(el)}${name ? ` "${name}"` : id ? ` #${id}` : ''}`, 120);
};

/** @param {Element} el */
const isSubmitter = (el) => {
  const type = el instanceof HTMLButtonElement ? BUTTON.type(el) : inputType(el);
  return type === 'submit' || type === 'image';
};

// Resolves a URL as Chromium does; an invalid one stays as it is.
/** @param {string} written */
const resolveUrl = (written) => (URL.canParse(written, baseURI(document)) ? new URL(written, baseURI(document)).href : written);

// Payment card fields, by their autocomplete tokens.
/** @param {HTMLFormElement} form */
const hasCardField = (form) => querySelector(form, '[autocomplete*="cc-number" i], [autocomplete*="cc-csc" i]') !== null;

// The form's default button, which Enter in a field activates: the first submit button, image buttons included, which
// `form.elements` omits. From a field that is not for text, the first that is not disabled.
const TEXT_TYPES = new Set(['text', 'search', 'url', 'tel', 'email', 'password', 'number']);
const SUBMITTERS = 'button, input[type="submit" i], input[type="image" i]';
/** @param {Element} el @param {HTMLFormElement} form */
const defaultButton = (el, form) => {
  const root = getRootNode(form);
  const found = root instanceof ShadowRoot ? rootQuerySelectorAll(root, SUBMITTERS) : querySelectorAll(document, SUBMITTERS);
  const anyState = el instanceof HTMLTextAreaElement || TEXT_TYPES.has(inputType(el) ?? '');
  for (const button of found) {
    if (formOf(button) !== form || !isSubmitter(button)) continue;
    if (anyState || !matches(button, ':disabled')) return button;
  }
  return null;
};

// Enter on a non-submit button does not activate the default button.
/** @param {Element} el */
const isNonSubmitButton = (el) => el instanceof HTMLButtonElement || ['button', 'reset'].includes(inputType(el) ?? '');

// Any other is a GET.
const METHODS = ['get', 'post', 'dialog'];
/** @param {Element} el */
export const formFacts = (el) => {
  const form = formOf(el);
  if (!form) return null;
  const own = isSubmitter(el);
  const other = own || isNonSubmitButton(el) ? null : defaultButton(el, form);
  const by = own ? el : other;
  const action = by && hasAttribute(by, 'formaction') ? resolveUrl(attribute(by, 'formaction') ?? '') : FORM.action(form);
  const verb = (by && attribute(by, 'formmethod')) || FORM.method(form);
  return {
    method: METHODS.find((method) => method === verb.toLowerCase()) ?? 'get',
    action: truncateUrl(action, withSlack(2000)),
    payment: hasCardField(form),
    button: other && { name: nameOf(other, 'button'), text: visibleText(other, 200) },
  };
};

// A hash of what a form would submit: enough to detect a change, and no more. Values of secret fields are left out.
const MAX_CONTROLS = 2000;
/** @param {Element} el */
const hashFormState = (el) => {
  const form = formOf(el);
  if (!form) return '';
  let [one, other] = [0xdeadbeef, 0x41c6ce57];
  /** @param {string} text */
  const mix = (text) => {
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      one = Math.imul(one ^ unit, 2654435761);
      other = Math.imul(other ^ unit, 1597334677);
    }
    one = Math.imul(one ^ 0x10000, 2654435761);
  };
  const controls = /** @type {HTMLCollection} */ (FORM.elements(form));
  const count = Math.min(collectionLength(controls), MAX_CONTROLS);
  mix(`${count}`);
  for (let at = 0; at < count; at += 1) {
    const control = /** @type {Element} */ (collectionItem(controls, at));
    mix(attribute(control, 'name') ?? '');
    if (inputType(control) !== 'hidden' && isSecret(control)) continue;
    if (control instanceof HTMLInputElement) mix(`${INPUT.type(control)} ${INPUT.value(control)} ${INPUT.checked(control)}`);
    else if (control instanceof HTMLTextAreaElement) mix(TEXTAREA.value(control));
    else if (control instanceof HTMLSelectElement) for (const option of SELECT.selected(control)) mix(OPTION.value(option));
    else mix(attribute(control, 'value') ?? '');
  }
  return `${(one >>> 0).toString(16)}${(other >>> 0).toString(16)}`;
};

// The URL of an <a>, an <area>, or an SVG <a>, whose href may be animated.
/** @param {Element} el */
export const linkUrl = (el) => {
  if (el instanceof HTMLAnchorElement) return hasAttribute(el, 'href') ? anchorHref(el) : null;
  if (el instanceof HTMLAreaElement) return hasAttribute(el, 'href') ? areaHref(el) : null;
  if (!(el instanceof SVGAElement)) return null;
  const written = animatedText(svgHref(el));
  return written === '' ? null : resolveUrl(written);
};

/** @param {Element} el */
export const closestLinkUrl = (el) => {
  for (let at = /** @type {Node | null} */ (el); at; at = flatParent(at)) {
    const href = isElement(at) ? linkUrl(at) : null;
    if (href !== null) return href;
  }
  return null;
};

// All options of a list: a key press may select any of them.
const MAX_CHOICES_LENGTH = 2000;
/** @param {HTMLSelectElement} list @returns {JoinedText} */
const listChoices = (list) => {
  /** @type {JoinedText} */
  const text = { parts: [], separator: ' · ' };
  let length = 0;
  for (const option of selectOptions(list)) {
    if (length > MAX_CHOICES_LENGTH) break;
    const label = optionLabel(option);
    text.parts.push([MAX_NAME, label]);
    length += text.separator.length + Math.min(label.length, MAX_NAME);
  }
  return text;
};

// The visible text of an element, and its tooltip.
const MAX_FACT_TEXT = 200;
/** @param {Element} el @returns {JoinedText} */
const textAndTitle = (el) => {
  const text = visibleText(el, MAX_FACT_TEXT);
  const title = boundText(attribute(el, 'title') ?? '', MAX_FACT_TEXT).trim();
  return joinTexts(shownText(text, MAX_FACT_TEXT).includes(shownText(title, MAX_FACT_TEXT)) ? [text] : [text, title]);
};

// The driver cuts each of them.
/** @param {string[]} texts @returns {JoinedText} */
const joinTexts = (texts) => ({
  parts: [...new Set(texts)].filter(Boolean).map((text) => [MAX_FACT_TEXT, text]),
  separator: ' ',
});

/** @param {string} prefix @param {Element} el */
export const collectFacts = (prefix, el) => {
  const role = roleOf(el);
  const secret = isSecret(el);
  const href = closestLinkUrl(el);
  return {
    element: `${prefix}e${refOf(el)}`,
    role: role || 'generic',
    name: nameOf(el, role || 'button'),
    text: el instanceof HTMLSelectElement && !secret ? listChoices(el) : textAndTitle(el),
    tag: tagOf(el),
    input_type: inputType(el),
    editable: isEditable(el),
    secret,
    href: href === null ? null : truncateUrl(href, withSlack(2000)),
    form: formFacts(el),
    form_state: hashFormState(el),
  };
};
