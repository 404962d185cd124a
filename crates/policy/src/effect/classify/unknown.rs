//! Judges requests that no word decides: a command nobody listed, or a request that says nothing at all.
//!
//! A list of consequential verbs is never complete, one of ordinary verbs nearly is. So a request in the form of a command
//! asks unless its verb, or the label that led to it, is known to be ordinary work.

use super::EffectClass;
use super::access::is_technical;
use super::fields::last_part;
use super::path::Path;
use super::terms::*;
use super::tone::{self, LabelTone};
use crate::CausingAction;
use crate::effect::{Effect, EffectField, EffectTransport};

const MOST_CONFIRMED: usize = 3;

/// What the form of a request tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestShape {
    /// A verb that no list has, done to something: `/campaigns/4/blast`, `mutation blastCampaign`.
    Command,
    /// The same with a field or two: `/auctions/4/raise` with `{"by": 10}`.
    Act,
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
    if effect.request.transport == EffectTransport::WebSocket && tone::is_line(cause) {
        return Some((EffectClass::Send, "line".to_owned()));
    }
    let (tone, label) = tone::tone(cause).unwrap_or((LabelTone::Generic, ""));
    // A button "Drain" that posts to `/queues/4/drain` is no choice such as "Monthly".
    let verb = path.segments.last().and_then(|segment| segment.words.last());
    let echoes = verb.is_some_and(|verb| verb.uses == 0 && verb.text == label.trim().to_lowercase());
    let asks = match (shape, tone) {
        (RequestShape::Command, _) if echoes => true,
        (_, LabelTone::Ordinary) => false,
        // A form that is filled in is confirmed, too.
        (RequestShape::Thing, LabelTone::Affirms) => effect.fields.len() <= MOST_CONFIRMED,
        (_, LabelTone::Affirms) => true,
        (RequestShape::Command, _) => tone::is_control(cause),
        (RequestShape::Opaque, LabelTone::Command | LabelTone::Unknown) => true,
        (RequestShape::Thing, LabelTone::Command) => true,
        (RequestShape::Act, LabelTone::Command) => true,
        (RequestShape::Act, LabelTone::Unknown) => is_phrase(label),
        (RequestShape::Act | RequestShape::Opaque | RequestShape::Thing, _) => false,
    };
    asks.then(|| (EffectClass::Unknown, label.to_owned()))
}

fn shape(effect: &Effect, path: &Path, operations: &[&str]) -> RequestShape {
    let says_nothing = |words: &[Word]| {
        words.iter().all(|word| {
            word.is(GENERIC) || word.text.len() <= 2 || word.text.chars().all(|c| c.is_ascii_digit())
        })
    };
    if !operations.is_empty() {
        let named: Vec<Vec<Word>> =
            operations.iter().map(|name| words(name.split(' ').next_back().unwrap_or(name))).collect();
        return if named.iter().all(|words| says_nothing(words)) {
            RequestShape::Opaque
        } else if named.iter().flatten().any(is_known)
            || effect.request.transport == EffectTransport::WebSocket
        {
            RequestShape::Thing
        } else {
            RequestShape::Command
        };
    }
    if effect.request.transport == EffectTransport::WebSocket {
        return RequestShape::Opaque;
    }
    if path.named().all(|(segment, _)| says_nothing(&segment.words)) {
        return RequestShape::Opaque;
    }
    command_shape(effect, path).unwrap_or(RequestShape::Thing)
}

/// "Raise bid", but neither "Blue" nor "3 points": these are choices.
fn is_phrase(label: &str) -> bool {
    label.split_whitespace().count() >= 2 && !label.contains(|c: char| c.is_ascii_digit())
}

/// `POST /campaigns/4/blast` without fields, or `POST /campaigns/blast` with nothing but an id.
fn command_shape(effect: &Effect, path: &Path) -> Option<RequestShape> {
    const SHORTEST: usize = 4;
    const FEW_FIELDS: usize = 2;
    let [.., before, last] = &path.segments[..] else { return None };
    let [verb] = &last.words[..] else { return None };
    let is_verb = !last.is_id
        && verb.text.chars().count() >= SHORTEST
        && !verb.text.ends_with('s')
        // What happened is reported: `/articles/4/opened`.
        && !verb.text.ends_with("ed")
        && !is_known(verb)
        && effect.request.method == "POST";
    let is_visible = |field: &&EffectField| !is_technical(&last_part(&field.name).to_ascii_lowercase());
    let names_id = |field: &EffectField| {
        // `{"key": "VOL_UP"}` names no thing.
        words(last_part(&field.name)).last().is_some_and(|word| ID_NAMES.contains(&word.text.as_str()))
            && (field.value.is_empty() || field.value.bytes().any(|byte| byte.is_ascii_digit()))
    };
    let (ids, others): (Vec<_>, Vec<_>) =
        effect.fields.iter().filter(is_visible).partition(|field| names_id(field));
    if !is_verb || !before.is_id && ids.is_empty() {
        None
    } else if others.is_empty() {
        Some(RequestShape::Command)
    } else {
        (others.len() <= FEW_FIELDS).then_some(RequestShape::Act)
    }
}

const ID_NAMES: [&str; 12] =
    ["id", "ids", "nr", "no", "number", "uuid", "guid", "key", "code", "ref", "nummer", "numero"];

/// Whether a word says something, if only that it is ordinary.
fn is_known(word: &Word) -> bool {
    // English makes verbs of ordinary work so: "optimise", "beautify".
    const SHORTEST_FORMED: usize = 8;
    const TAKING: [&str; 13] = [
        "compromi",
        "anonymi",
        "pseudonymi",
        "moneti",
        "vapori",
        "penali",
        "ostraci",
        "neutrali",
        "privati",
        "immobili",
        "nulli",
        "disquali",
        "colli",
    ];
    let is_formed = ["ize", "ise", "ify", "yze", "yse"].iter().any(|end| word.text.ends_with(end));
    is_formed
        && word.text.len() >= SHORTEST_FORMED
        && word.uses & !FILLER == 0
        && !TAKING.iter().any(|stem| word.text.starts_with(stem))
        || word.is(MAKE
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
