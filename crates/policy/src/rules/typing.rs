//! Typed text and pressed keys: into which field, and what Enter sets off.

use crate::rules::catalog::*;
use crate::rules::{Findings, Refusal, click, form};
use crate::words::{Sense, Senses};
use crate::{Chord, ElementFacts, Facts, Key, Press, Settings, TypeText, credential};

pub(super) fn text(findings: &mut Findings, typing: &TypeText, facts: &Facts, settings: &Settings) {
    // Before the credential: an agent that is told about the field knows what to do next.
    field(findings, facts, &TYPE_SECRET);
    scan(findings, &typing.text, settings);
    let Some(element) = &facts.target else { return };
    // In an editor a line break is Enter; a field of one line gets none, and one of several lines keeps it.
    let breaks = typing.text.contains(['\n', '\r']) && !matches!(element.tag.as_str(), "input" | "textarea");
    if typing.submit || breaks {
        enter(findings, element, "Enter", settings);
    }
}

/// What is typed, looked at for credentials.
pub(super) fn scan(findings: &mut Findings, text: &str, settings: &Settings) {
    if settings.credential_scan
        && let Some(kind) = credential::found(text)
    {
        findings.refused(&TYPE_CREDENTIAL, Refusal::Credential, &[("text looks like", kind.as_str())]);
    }
}

/// What typing into the target is. `secret` names the rule for a secret field.
fn field(findings: &mut Findings, facts: &Facts, secret: &'static Builtin) {
    let Some(element) = &facts.target else {
        return findings.found(&TYPE_FIELD, &[]);
    };
    if element.secret {
        findings.refused(secret, Refusal::SecretField, &[("secret", "true"), ("name", &element.name)]);
    }
    let senses = Senses::of(&element.name);
    let name =
        |sense: Sense| [("name", element.name.as_str()), ("word", senses.word(sense).unwrap_or_default())];
    if element.role == "textbox" && senses.has(Sense::Secret) {
        findings.refused(&TYPE_SECRET_NAME, Refusal::SecretName, &name(Sense::Secret));
    }
    if element.role == "searchbox" || element.input_type.as_deref() == Some("search") {
        return findings.found(&TYPE_SEARCH, &[("role", &element.role)]);
    }
    for (sense, rule) in [(Sense::Config, &TYPE_CONFIG), (Sense::Key, &TYPE_CONFIG)] {
        if senses.has(sense) {
            findings.found(rule, &name(sense));
        }
    }
    if senses.has(Sense::Search) {
        findings.found(&TYPE_SEARCH, &name(Sense::Search));
    } else if senses.has(Sense::Comment) {
        findings.found(&TYPE_COMMENT, &name(Sense::Comment));
    } else {
        findings.found(&TYPE_FIELD, &[("role", &element.role), ("name", &element.name)]);
    }
}

pub(super) fn key(findings: &mut Findings, press: &Press, facts: &Facts, settings: &Settings) {
    let chord = &press.chord;
    let shown = chord.told();
    if chord.uses_clipboard() {
        findings.refused(&PRESS_CLIPBOARD, Refusal::Clipboard, &[("key", &shown)]);
    }
    let Some(element) = &facts.target else {
        let rule = if is_move(chord) { &PRESS_MOVE } else { &PRESS_KEY };
        return findings.found(rule, &[("key", &shown)]);
    };
    if element.secret && chord.edits() {
        findings.refused(&PRESS_SECRET, Refusal::SecretField, &[("key", &shown), ("name", &element.name)]);
    }
    if element.input_type.as_deref() == Some("file") {
        findings.refused(&UPLOAD, Refusal::Upload, &[("input_type", "file")]);
    }
    let is_field = click::is_field(element);
    if sets_off(chord) && !is_field {
        // Enter or Space on what has the focus is a click on it.
        click::on(findings, facts, settings);
        if is_named(chord, "Enter") && (form::is_sent_by_enter(element) || click::is_called_field(element)) {
            enter(findings, element, &shown, settings);
        }
    } else if is_named(chord, "Enter") && element.tag != "textarea" || is_sending(chord) {
        enter(findings, element, &shown, settings);
    } else if is_named(chord, "Delete") || is_named(chord, "Backspace") {
        if is_field {
            field(findings, facts, &PRESS_SECRET);
        } else {
            findings.found(&PRESS_DELETE, &[("key", &shown), ("role", &element.role)]);
        }
    } else if is_arrow(chord) && chooses(element) {
        findings.found(&PRESS_KEY, &[("key", &shown), ("role", &element.role)]);
    } else if is_move(chord) {
        findings.found(&PRESS_MOVE, &[("key", &shown)]);
    } else if is_field && chord.edits() && !is_command(chord) {
        field(findings, facts, &PRESS_SECRET);
    } else {
        findings.found(&PRESS_KEY, &[("key", &shown), ("role", &element.role)]);
    }
}

/// Enter in a field sends its form; without a form, a page may do anything.
fn enter(findings: &mut Findings, element: &ElementFacts, shown: &str, settings: &Settings) {
    let senses = Senses::of(&element.name);
    form::submit(findings, element, &senses, settings);
    let looks_up = element.role == "searchbox" || senses.has(Sense::Search);
    match (&element.form, looks_up) {
        (None, true) => findings.found(&CLICK_SEARCH, &[("key", shown), ("role", &element.role)]),
        (None, false) => findings.found(&PRESS_KEY, &[("key", shown), ("role", &element.role)]),
        (Some(_), _) => {}
    }
}

fn sets_off(chord: &Chord) -> bool {
    !is_command(chord) && (is_named(chord, "Enter") || chord.key == Key::Character(' '))
}

/// What many pages send a message by.
fn is_sending(chord: &Chord) -> bool {
    is_command(chord) && is_named(chord, "Enter")
}

fn is_command(chord: &Chord) -> bool {
    chord.modifiers.control || chord.modifiers.meta || chord.modifiers.alt
}

fn is_named(chord: &Chord, name: &str) -> bool {
    matches!(chord.key, Key::Named(key) if key.name == name)
}

fn is_move(chord: &Chord) -> bool {
    matches!(chord.key, Key::Named(key) if !matches!(key.name, "Enter" | "Delete" | "Backspace" | "Insert" | "ContextMenu"))
        && !chord.modifiers.control
        && !chord.modifiers.meta
        && !chord.modifiers.alt
}

fn is_arrow(chord: &Chord) -> bool {
    matches!(chord.key, Key::Named(key) if key.name.starts_with("Arrow"))
}

/// Whether an arrow changes what it holds.
fn chooses(element: &ElementFacts) -> bool {
    element.tag == "select"
        || matches!(
            element.role.as_str(),
            "radio" | "slider" | "spinbutton" | "listbox" | "option" | "scrollbar"
        )
}
