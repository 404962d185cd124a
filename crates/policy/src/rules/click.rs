//! Clicks, and keys that act as one: the labels of the element, its form and its link.

use crate::lexicon::{Meaning, Meanings, is_wholly};
use crate::rules::catalog::*;
use crate::rules::{Findings, Refusal, RuleContext, form, navigate, wording};
use crate::{ElementFacts, Facts};

/// A longer text is content and not a label, unless it stands on a control.
const LONGEST_LABEL: usize = 80;

const FIELD_ROLES: [&str; 5] = ["textbox", "searchbox", "combobox", "spinbutton", "listbox"];
const CHOICE_ROLES: [&str; 7] =
    ["checkbox", "radio", "switch", "option", "menuitemcheckbox", "menuitemradio", "slider"];
const VIEW_ROLES: [&str; 4] = ["tab", "treeitem", "tabpanel", "tooltip"];

/// The names of the facts that hold the labels of the target.
pub(super) const TARGET_LABELS: [&str; 2] = ["name", "text"];

pub(super) fn on(findings: &mut Findings, facts: &Facts, context: &RuleContext<'_>) {
    let Some(element) = &facts.target else {
        return findings.add(&CLICK_OTHER, &[]);
    };
    pressed(findings, element, TARGET_LABELS, facts, context);
}

/// An element that gets a click, a mouse press or a mouse release.
pub(super) fn pressed(
    findings: &mut Findings,
    element: &ElementFacts,
    label_facts: [&'static str; 2],
    facts: &Facts,
    context: &RuleContext<'_>,
) {
    if is_field(element) {
        return field(findings, element);
    }
    let labels = activated(findings, element, label_facts, facts, context);
    if is_choice(element) {
        choice(findings, element, &labels);
        form::check_target(findings, element, context);
    }
    if form::submits(element) || is_link(element, facts) {
        return;
    }
    // A button by role, or one that scripts handle, may send the form that it stands in.
    if !is_choice(element) {
        form::inherit(findings, element);
    }
    let meanings = &labels.meanings;
    let role = [("role", element.role.as_str()), ("name", element.name.as_str())];
    if VIEW_ROLES.contains(&element.role.as_str()) {
        findings.add(&CLICK_GO, &role);
    } else if is_choice(element) {
        findings.add(&CLICK_CHANGE, &role);
    } else if has_field_role(element) {
        findings.add(&CLICK_FIELD, &role);
    } else if meanings.has(Meaning::Save) {
        findings.add(&CLICK_SAVE, &role);
    } else if meanings.has(Meaning::Search) && is_harmless(element) {
        findings.add(&CLICK_SEARCH, &role);
    } else if meanings.has(Meaning::Go) && is_control(element) && is_harmless(element) {
        findings.add(&CLICK_GO, &role);
    } else {
        findings.add(&CLICK_OTHER, &role);
    }
}

/// Adds what a click triggers: the labels of the element, its link and its form. A button in a link submits its form as
/// well, so both are added.
pub(super) fn activated(
    findings: &mut Findings,
    element: &ElementFacts,
    label_facts: [&'static str; 2],
    facts: &Facts,
    context: &RuleContext<'_>,
) -> Labels {
    if element.input_type.as_deref() == Some("file") {
        findings.refuse(&UPLOAD, Refusal::Upload, &[("input_type", "file")]);
    }
    let labels =
        if is_link(element, facts) && navigate::is_documentation(label(element), element.href.as_deref()) {
            Labels { meanings: Meanings::default(), of_text: Meanings::default() }
        } else {
            labels(findings, element, label_facts)
        };
    if let Some(href) = element.href.as_ref().filter(|href| !is_fragment(href, &facts.page_url)) {
        form::check_destroying(findings, "href", href);
        navigate::link(findings, href, facts, context);
    }
    if form::submits(element) {
        form::submit(findings, element, &labels.meanings, context);
    }
    labels
}

/// A link that leads somewhere. One to a fragment of the same page, or handled by a script, is a button.
fn is_link(element: &ElementFacts, facts: &Facts) -> bool {
    let is_web = |href: &str| href.starts_with("http:") || href.starts_with("https:");
    element.href.as_deref().is_some_and(|href| is_web(href) && !is_fragment(href, &facts.page_url))
}

fn is_fragment(href: &str, page_url: &str) -> bool {
    let Some((bare, _)) = href.split_once('#') else { return false };
    bare.is_empty() || bare == page_url.split('#').next().unwrap_or_default()
}

fn label(element: &ElementFacts) -> &str {
    if element.name.is_empty() { &element.text } else { &element.name }
}

/// Whether its label has nothing but harmless words: "Next" and "Show more", not "Next: pay".
fn is_harmless(element: &ElementFacts) -> bool {
    is_wholly(label(element), &[Meaning::Go, Meaning::Search])
}

/// A real input field. An element with the role of one that is a link, or takes no input, is judged as a click.
pub(super) fn is_field(element: &ElementFacts) -> bool {
    has_field_role(element)
        && element.href.is_none()
        && (element.editable || matches!(element.tag.as_str(), "input" | "textarea" | "select"))
        && !matches!(element.input_type.as_deref(), Some("submit" | "image" | "button" | "reset" | "file"))
        && !matches!(element.input_type.as_deref(), Some("checkbox" | "radio" | "range"))
        && element.tag != "button"
}

pub(super) fn has_field_role(element: &ElementFacts) -> bool {
    FIELD_ROLES.contains(&element.role.as_str())
}

fn is_choice(element: &ElementFacts) -> bool {
    CHOICE_ROLES.contains(&element.role.as_str())
        || is_box(element)
        || matches!(element.input_type.as_deref(), Some("radio" | "range"))
}

fn is_box(element: &ElementFacts) -> bool {
    matches!(element.role.as_str(), "checkbox" | "switch" | "menuitemcheckbox")
        || element.input_type.as_deref() == Some("checkbox")
}

/// A click may check or uncheck the choice, so both are judged.
fn choice(findings: &mut Findings, element: &ElementFacts, labels: &Labels) {
    let name = [("role", element.role.as_str()), ("name", element.name.as_str())];
    if let Some(word) = labels.word(Meaning::Admin) {
        findings.add(&CHECK_ADMIN, &[name[1], ("word", word)]);
    }
    if let Some(word) = labels.word(Meaning::Second).filter(|_| is_box(element)) {
        findings.add(&WORDS_SECOND_FACTOR, &[name[0], name[1], ("word", word)]);
    }
}

fn is_control(element: &ElementFacts) -> bool {
    matches!(element.role.as_str(), "button" | "link" | "menuitem")
}

/// A click into a field only moves the cursor. S1's rule on names applies to fields as well.
fn field(findings: &mut Findings, element: &ElementFacts) {
    let meanings = Meanings::of(&element.name);
    if let Some(word) = meanings.word(Meaning::Destroy) {
        findings.add(&WORDS_DESTROY, &[("name", &element.name), ("word", word)]);
    }
    findings.add(&CLICK_FIELD, &[("role", &element.role), ("name", &element.name)]);
}

/// The meanings of an element's accessible name and of its visible text.
pub(super) struct Labels {
    /// Of its name, or of its text if it has no name. Only these can make it harmless.
    meanings: Meanings,
    of_text: Meanings,
}

impl Labels {
    /// The word with this meaning in either of the two.
    pub fn word(&self, meaning: Meaning) -> Option<&'static str> {
        self.meanings.word(meaning).or_else(|| self.of_text.word(meaning))
    }
}

/// Adds the findings for the name and for the visible text; the stricter one counts.
fn labels(findings: &mut Findings, element: &ElementFacts, [name, text]: [&'static str; 2]) -> Labels {
    let meanings = wording::classify(findings, name, &element.name);
    let is_label = is_control(element) || element.text.chars().count() <= LONGEST_LABEL;
    if element.text.is_empty() || element.text == element.name || !is_label {
        return Labels { meanings, of_text: Meanings::default() };
    }
    let of_text = wording::classify(findings, text, &element.text);
    let meanings = if element.name.is_empty() { of_text.clone() } else { meanings };
    Labels { meanings, of_text }
}
