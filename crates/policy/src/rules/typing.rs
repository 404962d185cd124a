//! Typed text and pressed keys: the field they go to, and what Enter triggers.

use crate::lexicon::{Meaning, Meanings};
use crate::rules::catalog::*;
use crate::rules::{Findings, Refusal, RuleContext, click, form, wording};
use crate::{Chord, ElementFacts, Facts, Key, Press, TypeText, credential};

pub(super) fn text(findings: &mut Findings, typing: &TypeText, facts: &Facts, context: &RuleContext<'_>) {
    // Before the credential scan: the refusal of a secret field has the more useful hint.
    field(findings, facts, &TYPE_SECRET);
    scan(findings, &typing.text, context);
    let Some(element) = &facts.target else { return };
    // A line break is Enter, except in a `<textarea>`; and there, too, where it is for chatting.
    let chats = element.form.is_none() && wording::is_chat(&element.name);
    let breaks = typing.text.contains(['\n', '\r']) && (element.tag != "textarea" || chats);
    if typing.submit || breaks {
        if !click::is_field(element) {
            click::on(findings, facts, context);
        }
        enter(findings, element, "Enter", context);
        send_if_chat(findings, element);
    }
    if is_list(element) {
        choice_changed(findings, element, "a character", context);
    }
}

/// Refuses typed text that looks like a credential.
pub(super) fn scan(findings: &mut Findings, text: &str, context: &RuleContext<'_>) {
    if context.settings.credential_scan
        && let Some(kind) = credential::detect(text)
    {
        findings.refuse(&TYPE_CREDENTIAL, Refusal::Credential, &[("text looks like", kind.as_str())]);
    }
}

/// Adds the findings for typing into the target. `secret` is the rule for a secret field.
fn field(findings: &mut Findings, facts: &Facts, secret: &'static BuiltinRule) {
    let Some(element) = &facts.target else {
        return findings.add(&TYPE_FIELD, &[]);
    };
    if element.secret {
        findings.refuse(secret, Refusal::SecretField, &[("secret", "true"), ("name", &element.name)]);
    }
    let meanings = Meanings::of(&element.name);
    let name = |meaning: Meaning| {
        [("name", element.name.as_str()), ("word", meanings.word(meaning).unwrap_or_default())]
    };
    let is_masked = is_masked(&element.name);
    if element.role == "textbox" && (meanings.has(Meaning::Secret) || is_masked) {
        findings.refuse(&TYPE_SECRET_NAME, Refusal::SecretName, &name(Meaning::Secret));
    }
    if element.role == "searchbox" || element.input_type.as_deref() == Some("search") {
        return findings.add(&TYPE_SEARCH, &[("role", &element.role)]);
    }
    for (meaning, rule) in [(Meaning::Config, &TYPE_CONFIG), (Meaning::Key, &TYPE_CONFIG)] {
        if meanings.has(meaning) {
            findings.add(rule, &name(meaning));
        }
    }
    if meanings.has(Meaning::Search) {
        findings.add(&TYPE_SEARCH, &name(Meaning::Search));
    } else if meanings.has(Meaning::Comment) {
        findings.add(&TYPE_COMMENT, &name(Meaning::Comment));
    } else {
        findings.add(&TYPE_FIELD, &[("role", &element.role), ("name", &element.name)]);
    }
}

pub(super) fn key(findings: &mut Findings, press: &Press, facts: &Facts, context: &RuleContext<'_>) {
    let chord = &press.chord;
    let shown = chord.redacted().into_string();
    if chord.uses_clipboard() {
        findings.refuse(&PRESS_CLIPBOARD, Refusal::Clipboard, &[("key", &shown)]);
    }
    let Some(element) = &facts.target else {
        let rule = if is_move(chord) { &PRESS_MOVE } else { &PRESS_KEY };
        return findings.add(rule, &[("key", &shown)]);
    };
    if element.secret && chord.edits() {
        findings.refuse(&PRESS_SECRET, Refusal::SecretField, &[("key", &shown), ("name", &element.name)]);
    }
    if element.input_type.as_deref() == Some("file") {
        findings.refuse(&UPLOAD, Refusal::Upload, &[("input_type", "file")]);
    }
    let is_field = click::is_field(element);
    if changes_choice(chord, element) {
        choice_changed(findings, element, &shown, context);
    }
    if chord.activates() && !is_field {
        // Enter and Space click the focused element, whatever the modifiers.
        click::on(findings, facts, context);
        let submits =
            form::submits_on_enter(element) || click::has_field_role(element) || is_send_shortcut(chord);
        if is_named(chord, "Enter") && submits {
            enter(findings, element, &shown, context);
        }
        if is_command(chord) {
            findings.add(&PRESS_KEY, &[("key", &shown), ("role", &element.role)]);
        }
    } else if is_named(chord, "Enter") && element.tag != "textarea" || is_send_shortcut(chord) {
        enter(findings, element, &shown, context);
        send_if_chat(findings, element);
    } else if is_named(chord, "Delete") || is_named(chord, "Backspace") {
        if is_field {
            field(findings, facts, &PRESS_SECRET);
        } else {
            findings.add(&PRESS_DELETE, &[("key", &shown), ("role", &element.role)]);
        }
    } else if is_move(chord) {
        findings.add(&PRESS_MOVE, &[("key", &shown)]);
    } else if is_field && chord.edits() && !is_command(chord) {
        field(findings, facts, &PRESS_SECRET);
    } else {
        findings.add(&PRESS_KEY, &[("key", &shown), ("role", &element.role)]);
    }
}

/// A key changes the choice in a list or on a scale. The result is unknown, so the riskiest label counts.
fn choice_changed(findings: &mut Findings, element: &ElementFacts, shown: &str, context: &RuleContext<'_>) {
    findings.add(&PRESS_KEY, &[("key", shown), ("role", &element.role)]);
    for (fact, text) in [("name", &element.name), ("text", &element.text)] {
        if fact == "text" && element.text == element.name {
            continue;
        }
        let meanings = wording::classify(findings, fact, text);
        if let Some(word) = meanings.word(Meaning::Admin) {
            findings.add(&SELECT_ADMIN, &[(fact, text), ("word", word)]);
        }
    }
    form::check_target(findings, element, context);
}

/// Enter in a field submits its form; without a form, the page may do anything.
fn enter(findings: &mut Findings, element: &ElementFacts, shown: &str, context: &RuleContext<'_>) {
    let meanings = Meanings::of(&element.name);
    form::submit(findings, element, &meanings, context);
    let is_search = element.role == "searchbox" || meanings.has(Meaning::Search);
    match (&element.form, is_search) {
        (None, true) => findings.add(&CLICK_SEARCH, &[("key", shown), ("role", &element.role)]),
        (None, false) => findings.add(&PRESS_KEY, &[("key", shown), ("role", &element.role)]),
        (Some(_), _) => {}
    }
}

/// Enter in a field for messages sends one. A form says by itself what it sends.
fn send_if_chat(findings: &mut Findings, element: &ElementFacts) {
    if element.form.is_none() && wording::is_chat(&element.name) {
        findings.add(&WORDS_SEND, &[("name", &element.name), ("key", "Enter")]);
    }
}

/// A field whose name is its placeholder, and that is the dots of a password.
fn is_masked(name: &str) -> bool {
    let name = name.trim();
    name.chars().count() >= 4
        && name.chars().all(|c| matches!(c, ' ' | '•' | '●' | '∙' | '·' | '*' | '＊' | '⚫' | '⦁' | '∗'))
}

/// Control+Enter and the like, by which many pages send a message.
fn is_send_shortcut(chord: &Chord) -> bool {
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

/// Whether the key changes a choice: arrow, Home, End and page keys, and characters where no text is typed.
fn changes_choice(chord: &Chord, element: &ElementFacts) -> bool {
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
