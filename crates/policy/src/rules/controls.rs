//! Selecting options, checking boxes, dragging and answering dialogs.

use crate::lexicon::{Meaning, Meanings};
use crate::rules::catalog::*;
use crate::rules::{Findings, Refusal, RuleContext, click, form, wording};
use crate::{Facts, OptionFacts};

/// Judged by the options that would be selected, however the agent named them.
pub(super) fn select(findings: &mut Findings, facts: &Facts, context: &RuleContext<'_>) {
    let name = facts.target.as_ref().map_or("", |element| element.name.as_str());
    if facts.target.as_ref().is_some_and(|element| element.secret) {
        findings.refuse(&SELECT_SECRET, Refusal::SecretField, &[("secret", "true"), ("name", name)]);
    }
    for OptionFacts { label, .. } in &facts.options {
        let meanings = wording::classify(findings, "option", label);
        if let Some(word) = meanings.word(Meaning::Admin) {
            findings.add(&SELECT_ADMIN, &[("option", label), ("word", word)]);
        }
    }
    if let Some(element) = &facts.target {
        form::check_target(findings, element, context);
    }
    let meanings = Meanings::of(name);
    let rule = if meanings.has(Meaning::Go) || meanings.has(Meaning::Search) {
        &SELECT_VIEW
    } else {
        &SELECT_OPTION
    };
    findings.add(rule, &[("name", name)]);
}

/// Judged as a click with a known result.
pub(super) fn check(findings: &mut Findings, checked: bool, facts: &Facts, context: &RuleContext<'_>) {
    let Some(element) = &facts.target else {
        return findings.add(&CHECK_BOX, &[]);
    };
    let name = element.name.as_str();
    findings.add(&CHECK_BOX, &[("role", &element.role), ("name", name)]);
    let labels = click::activated(findings, element, click::TARGET_LABELS, facts, context);
    if let Some(word) = labels.word(Meaning::Second).filter(|_| !checked) {
        findings.add(&WORDS_SECOND_FACTOR, &[("name", name), ("word", word), ("checked", "false")]);
    }
    if let Some(word) = labels.word(Meaning::Admin).filter(|_| checked) {
        findings.add(&CHECK_ADMIN, &[("name", name), ("word", word)]);
    }
    form::check_target(findings, element, context);
}

/// Both ends are judged as a click: a drag that ends where it began is one.
pub(super) fn drag(findings: &mut Findings, facts: &Facts, context: &RuleContext<'_>) {
    findings.add(&DRAG_MOVE, &[]);
    for (label_facts, element) in [(click::TARGET_LABELS, &facts.target), (["to.name", "to.text"], &facts.to)]
    {
        let Some(element) = element else { continue };
        if element.secret {
            findings.refuse(
                &DRAG_SECRET,
                Refusal::SecretField,
                &[("secret", "true"), (label_facts[0], &element.name)],
            );
        }
        // A click into a field ignores most meanings of its name; a drop on one called "Trash" does not.
        wording::classify(findings, label_facts[0], &element.name);
        click::pressed(findings, element, label_facts, facts, context);
    }
}

pub(super) fn dialog(findings: &mut Findings, accept: bool, facts: &Facts) {
    let Some(dialog) = &facts.dialog else {
        return findings.add(if accept { &DIALOG_ACCEPT } else { &DIALOG_DISMISS }, &[]);
    };
    let evidence = [("dialog.kind", dialog.kind.as_str()), ("dialog.message", dialog.message.as_str())];
    if !accept {
        return findings.add(&DIALOG_DISMISS, &evidence);
    }
    wording::classify(findings, "dialog.message", &dialog.message);
    findings.add(&DIALOG_ACCEPT, &evidence);
}
