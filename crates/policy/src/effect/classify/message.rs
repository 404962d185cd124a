//! Judges messages on an open WebSocket.

use super::name::Verdict;
use super::path::Path;
use super::terms::{FILLER, SOCKET, words};
use super::{EffectClass, Signals, dispatch, fields, is_lifted, judge_operation, label, unknown};
use crate::effect::Effect;
use crate::{CausingAction, Evidence};

/// A message on an open WebSocket.
pub(super) fn judge(effect: &Effect, cause: Option<&CausingAction>) -> (EffectClass, Vec<Evidence>) {
    let mut signals = Signals::default();
    let (mut base, mut is_unknown) = (None, false);
    let mut named: Vec<&str> = effect.operations.iter().map(String::as_str).collect();
    let is_cable = effect.fields.iter().any(|field| field.name.starts_with("identifier"));
    for field in effect.fields.iter().filter(|field| field.length <= 60) {
        let last = fields::last_part(&field.name).to_ascii_lowercase();
        let is_invocation =
            field.name == "target" && effect.fields.iter().any(|it| it.name.starts_with("arguments"));
        let names = is_invocation
            || field.name == "[0]"
            || matches!(
                last.as_str(),
                "type"
                    | "event"
                    | "op"
                    | "action"
                    | "method"
                    | "cmd"
                    | "command"
                    | "t"
                    | "msg"
                    | "kind"
                    | "name"
                    | "topic"
                    | "e"
            );
        let is_envelope = is_cable && last == "command" && field.value == "message";
        let is_inner = effect.operations.is_empty() || fields::is_strict_name(&field.name);
        // What somebody typed has spaces.
        let is_named = names && !field.value.contains(' ') || is_identifier(&field.value);
        if is_named && is_inner && !is_envelope && field.name.matches(['.', '[']).count() <= 2 {
            named.push(&field.value);
        }
    }
    let texts = ["text", "body", "content", "message", "msg"];
    let has_text = effect
        .fields
        .iter()
        .any(|field| texts.contains(&fields::last_part(&field.name)) && !field.value.is_empty());
    for name in &named {
        let found = words(name);
        let is_plain = found.len() == 1 && found[0].text == "message";
        let verdict = if name.starts_with("query ") || name.starts_with("subscription ") {
            Some(Verdict::Read)
        } else {
            judge_operation(effect, name)
        };
        let keeps_alive = !found.is_empty()
            && found.iter().all(|word| word.is(SOCKET | FILLER))
            && found.iter().any(|word| word.is(SOCKET));
        match verdict {
            _ if keeps_alive => base = base.or(Some(Verdict::Read)),
            Some(Verdict::Consequential(class)) if !is_plain || has_text => {
                signals.add(class, "message", name)
            }
            Some(Verdict::Consequential(_)) => {}
            None => is_unknown |= is_event(effect, name),
            Some(verdict) => base = base.or(Some(verdict)),
        }
    }
    let base = base.filter(|verdict| *verdict != Verdict::Read || !is_unknown);
    if signals.best.is_none() && matches!(base, Some(Verdict::Read | Verdict::Telemetry)) {
        return (EffectClass::Read, Vec::new());
    }
    let path = Path::of(&effect.request.url);
    if let Some((class, name)) = fields::judge(effect, &path, base) {
        signals.add(class, "field", &name);
    }
    let parameters = effect.fields.iter().map(|field| (&*field.name, &*field.value));
    let dispatched = || dispatch::of_parameters(parameters).filter(|_| base.is_none());
    if let Some((class, name)) = dispatch::of_text(effect).or_else(dispatched) {
        signals.add(class, "message", &name);
    }
    if let Some((class, label)) = cause.and_then(label::judge)
        && (base != Some(Verdict::Ordinary) || is_lifted(class, &path, &named, false))
    {
        signals.add(class, "label", &label);
    } else if base.is_none()
        && signals.best.is_none()
        && let Some((class, label)) = unknown::judge(effect, &path, &named, cause)
    {
        signals.add(class, "label", &label);
    }
    signals.finish()
}

/// `wipe_board`, `file.unlink`, `sendMessage`: a value that is no text.
fn is_identifier(value: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:".contains(&byte);
    value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value.bytes().all(is_part)
        && (value.contains('_') || value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase()))
}

/// Whether a value is what the message itself is called: `{"e": "say"}`.
fn is_event(effect: &Effect, value: &str) -> bool {
    const NAMES: [&str; 10] =
        ["type", "event", "op", "action", "method", "cmd", "command", "kind", "e", "[0]"];
    effect.fields.iter().any(|field| field.value == value && NAMES.contains(&field.name.as_str()))
}
