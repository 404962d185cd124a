//! Choosing, checking, dragging and answering dialogs.

use crate::rules::catalog::*;
use crate::rules::{Findings, Refusal, click, form, say};
use crate::words::{Sense, Senses};
use crate::{Facts, OptionFacts, Settings};

/// Judged by what would be chosen, not by the words or the number that it was named by.
pub(super) fn select(findings: &mut Findings, facts: &Facts, settings: &Settings) {
    let name = facts.target.as_ref().map_or("", |element| element.name.as_str());
    if facts.target.as_ref().is_some_and(|element| element.secret) {
        findings.refused(&SELECT_SECRET, Refusal::SecretField, &[("secret", "true"), ("name", name)]);
    }
    for OptionFacts { label, .. } in &facts.options {
        let senses = say::words(findings, "option", label);
        if let Some(word) = senses.word(Sense::Admin) {
            findings.found(&SELECT_ADMIN, &[("option", label), ("word", word)]);
        }
    }
    if let Some(element) = &facts.target {
        form::changed(findings, element, settings);
    }
    let senses = Senses::of(name);
    let rule = if senses.has(Sense::Go) || senses.has(Sense::Search) { &SELECT_VIEW } else { &SELECT_OPTION };
    findings.found(rule, &[("name", name)]);
}

/// It is done by a click, so it is what a click there is; only which of its two states comes out is known.
pub(super) fn check(findings: &mut Findings, checked: bool, facts: &Facts, settings: &Settings) {
    let Some(element) = &facts.target else {
        return findings.found(&CHECK_BOX, &[]);
    };
    let name = element.name.as_str();
    findings.found(&CHECK_BOX, &[("role", &element.role), ("name", name)]);
    let labels = click::sets_off(findings, element, click::TARGET, facts, settings);
    if let Some(word) = labels.word(Sense::Second).filter(|_| !checked) {
        findings.found(&WORDS_SECOND_FACTOR, &[("name", name), ("word", word), ("checked", "false")]);
    }
    if let Some(word) = labels.word(Sense::Admin).filter(|_| checked) {
        findings.found(&CHECK_ADMIN, &[("name", name), ("word", word)]);
    }
    form::changed(findings, element, settings);
}

/// Both ends get the mouse, and where they are the same element that is a click on it.
pub(super) fn drag(findings: &mut Findings, facts: &Facts, settings: &Settings) {
    findings.found(&DRAG_MOVE, &[]);
    for (called, element) in [(click::TARGET, &facts.target), (["to.name", "to.text"], &facts.to)] {
        let Some(element) = element else { continue };
        if element.secret {
            findings.refused(
                &DRAG_SECRET,
                Refusal::SecretField,
                &[("secret", "true"), (called[0], &element.name)],
            );
        }
        // A field that is only clicked is not judged by all of its words; what is dropped on one called "Trash" is.
        say::words(findings, called[0], &element.name);
        click::pressed(findings, element, called, facts, settings);
    }
}

pub(super) fn dialog(findings: &mut Findings, accept: bool, facts: &Facts) {
    let Some(dialog) = &facts.dialog else {
        return findings.found(if accept { &DIALOG_ACCEPT } else { &DIALOG_DISMISS }, &[]);
    };
    let about = [("dialog.kind", dialog.kind.as_str()), ("dialog.message", dialog.message.as_str())];
    if !accept {
        return findings.found(&DIALOG_DISMISS, &about);
    }
    say::words(findings, "dialog.message", &dialog.message);
    findings.found(&DIALOG_ACCEPT, &about);
}
