//! Choosing, checking, dragging and answering dialogs.

use crate::rules::catalog::*;
use crate::rules::{Findings, Refusal, say};
use crate::words::{Sense, Senses};
use crate::{Facts, OptionFacts};

/// Judged by what would be chosen, not by the words or the number that it was named by.
pub(super) fn select(findings: &mut Findings, facts: &Facts) {
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
    let senses = Senses::of(name);
    let rule = if senses.has(Sense::Go) || senses.has(Sense::Search) { &SELECT_VIEW } else { &SELECT_OPTION };
    findings.found(rule, &[("name", name)]);
}

pub(super) fn check(findings: &mut Findings, checked: bool, facts: &Facts) {
    let Some(element) = &facts.target else {
        return findings.found(&CHECK_BOX, &[]);
    };
    let name = element.name.as_str();
    let senses = say::words(findings, "name", name);
    if let Some(word) = senses.word(Sense::Second).filter(|_| !checked) {
        findings.found(&WORDS_SECOND_FACTOR, &[("name", name), ("word", word), ("checked", "false")]);
    }
    if let Some(word) = senses.word(Sense::Admin).filter(|_| checked) {
        findings.found(&CHECK_ADMIN, &[("name", name), ("word", word)]);
    }
    findings.found(&CHECK_BOX, &[("role", &element.role), ("name", name)]);
}

pub(super) fn drag(findings: &mut Findings, facts: &Facts) {
    for (fact, element) in [("name", &facts.target), ("to.name", &facts.to)] {
        let Some(element) = element else { continue };
        if element.secret {
            findings.refused(
                &DRAG_SECRET,
                Refusal::SecretField,
                &[("secret", "true"), (fact, &element.name)],
            );
        }
        say::words(findings, fact, &element.name);
    }
    findings.found(&DRAG_MOVE, &[]);
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
