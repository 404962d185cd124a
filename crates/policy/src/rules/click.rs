//! A click, and the keys that are one: what its words say, what its form does, where it leads.

use crate::rules::catalog::*;
use crate::rules::{Findings, Refusal, form, navigate, say};
use crate::words::{Sense, Senses};
use crate::{ElementFacts, Facts, Settings};

/// Of anything that is no control, a longer text is something to read and no label.
const LONGEST_LABEL: usize = 80;

const FIELDS: [&str; 5] = ["textbox", "searchbox", "combobox", "spinbutton", "listbox"];
const CHOICES: [&str; 7] =
    ["checkbox", "radio", "switch", "option", "menuitemcheckbox", "menuitemradio", "slider"];
const SHOWING: [&str; 4] = ["tab", "treeitem", "tabpanel", "tooltip"];

/// Under which facts the words of what is clicked are told.
pub(super) const TARGET: [&str; 2] = ["name", "text"];

pub(super) fn on(findings: &mut Findings, facts: &Facts, settings: &Settings) {
    let Some(element) = &facts.target else {
        return findings.found(&CLICK_OTHER, &[]);
    };
    pressed(findings, element, TARGET, facts, settings);
}

/// This element, clicked, or with the mouse going down or up on it.
pub(super) fn pressed(
    findings: &mut Findings,
    element: &ElementFacts,
    called: [&'static str; 2],
    facts: &Facts,
    settings: &Settings,
) {
    if is_field(element) {
        return field(findings, element);
    }
    let labels = sets_off(findings, element, called, facts, settings);
    if is_choice(element) {
        choice(findings, element, &labels);
        form::changed(findings, element, settings);
    }
    if form::submits(element) || leads(element) {
        return;
    }
    let senses = &labels.senses;
    let role = [("role", element.role.as_str()), ("name", element.name.as_str())];
    if SHOWING.contains(&element.role.as_str()) {
        findings.found(&CLICK_GO, &role);
    } else if is_choice(element) {
        findings.found(&CLICK_CHANGE, &role);
    } else if is_called_field(element) {
        findings.found(&CLICK_FIELD, &role);
    } else if senses.has(Sense::Save) {
        findings.found(&CLICK_SAVE, &role);
    } else if senses.has(Sense::Search) {
        findings.found(&CLICK_SEARCH, &role);
    } else if senses.has(Sense::Go) && is_control(element) {
        findings.found(&CLICK_GO, &role);
    } else {
        findings.found(&CLICK_OTHER, &role);
    }
}

/// What a click sets off whatever it is called: what the element says, where it leads, and the form that it sends. A
/// button in a link sends its form, so a link is no reason to leave the form out.
pub(super) fn sets_off(
    findings: &mut Findings,
    element: &ElementFacts,
    called: [&'static str; 2],
    facts: &Facts,
    settings: &Settings,
) -> Labels {
    if element.input_type.as_deref() == Some("file") {
        findings.refused(&UPLOAD, Refusal::Upload, &[("input_type", "file")]);
    }
    let labels = labels(findings, element, called);
    if let Some(href) = &element.href {
        form::destroying(findings, "href", href);
        navigate::link(findings, href, facts, settings);
    }
    if form::submits(element) {
        form::submit(findings, element, &labels.senses, settings);
    }
    labels
}

fn leads(element: &ElementFacts) -> bool {
    element.href.as_deref().is_some_and(|href| href.starts_with("http:") || href.starts_with("https:"))
}

/// A field, and not only called one by its page: what leads somewhere, or only looks like a field, is clicked.
pub(super) fn is_field(element: &ElementFacts) -> bool {
    is_called_field(element)
        && element.href.is_none()
        && (element.editable || matches!(element.tag.as_str(), "input" | "textarea" | "select"))
        && !matches!(element.input_type.as_deref(), Some("submit" | "image" | "button" | "reset" | "file"))
        && !matches!(element.input_type.as_deref(), Some("checkbox" | "radio" | "range"))
        && element.tag != "button"
}

pub(super) fn is_called_field(element: &ElementFacts) -> bool {
    FIELDS.contains(&element.role.as_str())
}

fn is_choice(element: &ElementFacts) -> bool {
    CHOICES.contains(&element.role.as_str())
        || is_box(element)
        || matches!(element.input_type.as_deref(), Some("radio" | "range"))
}

fn is_box(element: &ElementFacts) -> bool {
    matches!(element.role.as_str(), "checkbox" | "switch" | "menuitemcheckbox")
        || element.input_type.as_deref() == Some("checkbox")
}

/// As it would be for checking it and, where a click may do that too, for unchecking it.
fn choice(findings: &mut Findings, element: &ElementFacts, labels: &Labels) {
    let name = [("role", element.role.as_str()), ("name", element.name.as_str())];
    if let Some(word) = labels.word(Sense::Admin) {
        findings.found(&CHECK_ADMIN, &[name[1], ("word", word)]);
    }
    if let Some(word) = labels.word(Sense::Second).filter(|_| is_box(element)) {
        findings.found(&WORDS_SECOND_FACTOR, &[name[0], name[1], ("word", word)]);
    }
}

fn is_control(element: &ElementFacts) -> bool {
    matches!(element.role.as_str(), "button" | "link" | "menuitem")
}

/// The cursor is put into it, and no more; S1's rule on names holds for fields as well.
fn field(findings: &mut Findings, element: &ElementFacts) {
    let senses = Senses::of(&element.name);
    if let Some(word) = senses.word(Sense::Destroy) {
        findings.found(&WORDS_DESTROY, &[("name", &element.name), ("word", word)]);
    }
    findings.found(&CLICK_FIELD, &[("role", &element.role), ("name", &element.name)]);
}

/// What an element is called and what a person reads on it.
pub(super) struct Labels {
    /// Of its name, or of what is read where it has none: what makes it harmless is looked for here alone.
    senses: Senses,
    seen: Senses,
}

impl Labels {
    /// In either of the two.
    pub fn word(&self, sense: Sense) -> Option<&'static str> {
        self.senses.word(sense).or_else(|| self.seen.word(sense))
    }
}

/// What its name says and what a person reads on it: the stricter of the two counts, so each adds its own.
fn labels(findings: &mut Findings, element: &ElementFacts, [name, text]: [&'static str; 2]) -> Labels {
    let senses = say::words(findings, name, &element.name);
    let is_label = is_control(element) || element.text.chars().count() <= LONGEST_LABEL;
    if element.text.is_empty() || element.text == element.name || !is_label {
        return Labels { senses, seen: Senses::default() };
    }
    let seen = say::words(findings, text, &element.text);
    let senses = if element.name.is_empty() { seen.clone() } else { senses };
    Labels { senses, seen }
}
