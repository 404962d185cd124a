//! Judges requests that no word decides: a command nobody listed, or a request that says nothing at all.
//!
//! A list of consequential verbs is never complete, one of ordinary verbs nearly is. So a request in the form of a command
//! asks unless its verb, or the label that led to it, is known to be ordinary work.

use super::EffectClass;
use super::access::is_technical;
use super::address::Path;
use super::fields::last_part;
use super::label::{self, Tone};
use super::terms::*;
use crate::CausingAction;
use crate::effect::{Effect, EffectTransport};

/// What the form of a request tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// A verb that no list has, done to something: `/campaigns/4/blast`, `mutation blastCampaign`.
    Command,
    /// Nothing says what it does: `/api/rpc` with `{"op": 7}`.
    Opaque,
    /// A thing is named.
    Thing,
}

/// The class of a request without any signal, and what speaks for it.
pub(super) fn judge(
    effect: &Effect,
    path: &Path,
    operations: &[&str],
    cause: Option<&CausingAction>,
) -> Option<(EffectClass, String)> {
    let cause = cause.filter(|cause| cause.is_recent)?;
    let shape = shape(effect, path, operations);
    // Who types a line and presses Enter where messages are exchanged sends it.
    if effect.request.transport == EffectTransport::WebSocket && label::is_line(cause) {
        return Some((EffectClass::Send, "line".to_owned()));
    }
    let (tone, label) = label::tone(cause).unwrap_or((Tone::Generic, ""));
    let asks = match (shape, tone) {
        (_, Tone::Ordinary) => false,
        (_, Tone::Affirms) => true,
        (Shape::Command, _) => label::is_control(cause),
        (Shape::Opaque, Tone::Command | Tone::Unknown) => true,
        (Shape::Thing, Tone::Command) => true,
        (Shape::Opaque | Shape::Thing, _) => false,
    };
    asks.then(|| (EffectClass::Destroy, label.to_owned()))
}

fn shape(effect: &Effect, path: &Path, operations: &[&str]) -> Shape {
    let says_nothing = |words: &[Word]| {
        words.iter().all(|word| {
            word.is(GENERIC | FILLER) || word.text.len() <= 2 || word.text.chars().all(|c| c.is_ascii_digit())
        })
    };
    if !operations.is_empty() {
        let named: Vec<Vec<Word>> =
            operations.iter().map(|name| words(name.split(' ').next_back().unwrap_or(name))).collect();
        return if named.iter().all(|words| says_nothing(words)) {
            Shape::Opaque
        } else if named.iter().flatten().any(is_known)
            || effect.request.transport == EffectTransport::WebSocket
        {
            Shape::Thing
        } else {
            Shape::Command
        };
    }
    if effect.request.transport == EffectTransport::WebSocket {
        return Shape::Opaque;
    }
    if path.named().all(|(segment, _)| says_nothing(&segment.words)) {
        return Shape::Opaque;
    }
    if is_command(effect, path) { Shape::Command } else { Shape::Thing }
}

/// `POST /campaigns/4/blast` without fields, or `POST /campaigns/blast` with nothing but an id.
fn is_command(effect: &Effect, path: &Path) -> bool {
    const SHORTEST: usize = 4;
    let [.., before, last] = &path.segments[..] else { return false };
    let [verb] = &last.words[..] else { return false };
    let is_verb =
        !last.is_id && verb.text.chars().count() >= SHORTEST && !verb.text.ends_with('s') && !is_known(verb);
    let (mut has_id, mut has_more) = (before.is_id, false);
    for field in
        effect.fields.iter().filter(|field| !is_technical(&last_part(&field.name).to_ascii_lowercase()))
    {
        let names_id =
            words(last_part(&field.name)).last().is_some_and(|word| ID_NAMES.contains(&word.text.as_str()));
        has_id |= names_id;
        has_more |= !names_id;
    }
    is_verb && has_id && !has_more && effect.request.method == "POST"
}

const ID_NAMES: [&str; 12] =
    ["id", "ids", "nr", "no", "number", "uuid", "guid", "key", "code", "ref", "nummer", "numero"];

/// Whether a word says something, if only that it is ordinary.
fn is_known(word: &Word) -> bool {
    word.is(MAKE
        | CHANGE
        | ORDINARY
        | ORDINARY_VERB
        | READ
        | STEP
        | NESTED
        | LIGHT
        | TELEMETRY
        | SOCKET
        | KNOWN
        | UI_NOUN
        | AUTH)
}
