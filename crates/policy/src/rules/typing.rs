//! Typed text and pressed keys: into which field, and what Enter sets off.

use crate::rules::catalog::*;
use crate::rules::{Findings, Refusal, click, form, say};
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
        if !click::is_field(element) {
            click::on(findings, facts, settings);
        }
        enter(findings, element, "Enter", settings);
    }
    if is_list(element) {
        chosen(findings, element, "a character", settings);
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
    if is_choosing(chord, element) {
        chosen(findings, element, &shown, settings);
    }
    if chord.activates() && !is_field {
        // Enter or Space on what has the focus is a click on it, whatever is held down with it.
        click::on(findings, facts, settings);
        let sends = form::is_sent_by_enter(element) || click::is_called_field(element) || is_sending(chord);
        if is_named(chord, "Enter") && sends {
            enter(findings, element, &shown, settings);
        }
        if is_command(chord) {
            findings.found(&PRESS_KEY, &[("key", &shown), ("role", &element.role)]);
        }
    } else if is_named(chord, "Enter") && element.tag != "textarea" || is_sending(chord) {
        enter(findings, element, &shown, settings);
    } else if is_named(chord, "Delete") || is_named(chord, "Backspace") {
        if is_field {
            field(findings, facts, &PRESS_SECRET);
        } else {
            findings.found(&PRESS_DELETE, &[("key", &shown), ("role", &element.role)]);
        }
    } else if is_move(chord) {
        findings.found(&PRESS_MOVE, &[("key", &shown)]);
    } else if is_field && chord.edits() && !is_command(chord) {
        field(findings, facts, &PRESS_SECRET);
    } else {
        findings.found(&PRESS_KEY, &[("key", &shown), ("role", &element.role)]);
    }
}

/// Something in a list or on a scale, and nobody knows what: it may be the worst that the element tells of.
fn chosen(findings: &mut Findings, element: &ElementFacts, shown: &str, settings: &Settings) {
    findings.found(&PRESS_KEY, &[("key", shown), ("role", &element.role)]);
    for (fact, text) in [("name", &element.name), ("text", &element.text)] {
        if fact == "text" && element.text == element.name {
            continue;
        }
        let senses = say::words(findings, fact, text);
        if let Some(word) = senses.word(Sense::Admin) {
            findings.found(&SELECT_ADMIN, &[(fact, text), ("word", word)]);
        }
    }
    form::changed(findings, element, settings);
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

/// Whether this key chooses there: arrows and the keys that go to the end, and letters in what has no text of its own.
fn is_choosing(chord: &Chord, element: &ElementFacts) -> bool {
    match chord.key {
        Key::Named(key) => {
            let moves = matches!(key.name, "Home" | "End" | "PageUp" | "PageDown");
            (moves || key.name.starts_with("Arrow")) && (is_list(element) || is_scale(element))
        }
        Key::Character(_) => is_list(element) || is_scale(element) && !click::is_field(element),
    }
}

fn is_list(element: &ElementFacts) -> bool {
    element.tag == "select"
        || element.input_type.as_deref() == Some("radio")
        || matches!(element.role.as_str(), "radio" | "radiogroup" | "menuitemradio" | "listbox" | "option")
}

fn is_scale(element: &ElementFacts) -> bool {
    matches!(element.role.as_str(), "slider" | "spinbutton" | "scrollbar")
        || matches!(
            element.input_type.as_deref(),
            Some("range" | "number" | "date" | "datetime-local" | "month" | "week" | "time")
        )
}
