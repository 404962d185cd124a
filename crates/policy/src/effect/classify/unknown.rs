//! Judges requests that no word decides: a command nobody listed, or a request that says nothing at all.
//!
//! A list of consequential verbs is never complete, one of ordinary verbs nearly is. So a request in the form of a command
//! asks unless its verb, or the label that led to it, is known to be ordinary work.

use super::EffectClass;
use super::access::is_technical;
use super::dispatch::says_nothing;
use super::fields::{is_strict_name, last_part};
use super::path::Path;
use super::phrases;
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
    let echoes = || echoes(effect, path, operations, label);
    let is_staked = || stakes(effect, path);
    let asks = match (shape, tone) {
        (RequestShape::Command, _) if echoes() => true,
        (_, LabelTone::Ordinary) => false,
        // A form that is filled in is confirmed, too.
        (RequestShape::Thing, LabelTone::Affirms) => effect.fields.len() <= MOST_CONFIRMED,
        (_, LabelTone::Affirms) => true,
        (RequestShape::Command, _) => tone::is_control(cause),
        (_, LabelTone::Command) | (RequestShape::Opaque, LabelTone::Unknown) => true,
        (RequestShape::Act, LabelTone::Unknown) => is_phrase(label) || echoes(),
        (_, LabelTone::Word | LabelTone::Unknown) => echoes() || is_staked(),
        (RequestShape::Act | RequestShape::Opaque | RequestShape::Thing, LabelTone::Generic) => false,
    };
    asks.then(|| (EffectClass::Unknown, label.to_owned()))
}

fn shape(effect: &Effect, path: &Path, operations: &[&str]) -> RequestShape {
    let named_by_field = operation_of_field(effect).filter(|_| operations.is_empty());
    let operations = named_by_field.as_ref().map_or(operations, std::slice::from_ref);
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

/// `{"op": "evict", "id": 3}`: the verb that a field names, of a request that says nothing else.
fn operation_of_field(effect: &Effect) -> Option<&str> {
    const SHORTEST: usize = 4;
    const NAMES: [&str; 4] = ["fn", "call", "what", "intent"];
    let is_operation = |field: &&EffectField| {
        (is_strict_name(&field.name) || NAMES.contains(&field.name.as_str()))
            && field.value.len() >= SHORTEST
            && field.value.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
    };
    let field = effect.fields.iter().find(is_operation)?;
    let is_other = |other: &&EffectField| {
        !std::ptr::eq(*other, field)
            && !is_technical(&last_part(&other.name).to_ascii_lowercase())
            && !names_id(other)
    };
    effect.fields.iter().all(|it| !is_other(&it)).then_some(field.value.as_str())
}

/// Whether a field says which thing is meant. `{"key": "VOL_UP"}` names none.
fn names_id(field: &EffectField) -> bool {
    words(last_part(&field.name)).last().is_some_and(|word| ID_NAMES.contains(&word.text.as_str()))
        && (field.value.is_empty() || field.value.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Whether the page and the request say the same verb, which no list has: a button "Drain" that posts to `/queues/4/drain`,
/// "Evict tenant" that saves `status: evicted`. A choice is saved as it is called: `color: blue`.
fn echoes(effect: &Effect, path: &Path, operations: &[&str], label: &str) -> bool {
    let said = words(label);
    let whole: String = said.iter().map(|word| word.text.as_str()).collect();
    let is_unknown = |word: &&Word| word.uses & !FILLER == 0 && !is_known(word) && !word.text.ends_with("ed");
    let verb = said.first().filter(is_unknown);
    let is_verb = |word: &Word| {
        is_unknown(&word)
            && (word.text == whole || verb.is_some_and(|verb| is_same_verb(&verb.text, &word.text)))
    };
    let fields =
        || effect.fields.iter().filter(|field| !is_technical(&last_part(&field.name).to_ascii_lowercase()));
    // What a tool does by a number is ordinary: "Transpose" with `steps: 2`.
    let is_tool = || fields().next().is_some() && fields().all(is_measure);
    let in_path = match &path.segments[..] {
        [before @ .., last] => {
            let has_owner =
                before.iter().any(|it| it.is_id) || !before.is_empty() && fields().next().is_none();
            has_owner && matches!(&last.words[..], [word] if is_verb(word)) && !is_tool()
        }
        _ => false,
    };
    let in_operations = || {
        operations.iter().any(|name| {
            words(name.rsplit([' ', '.', '/']).next().unwrap_or(name)).first().is_some_and(is_verb)
        })
    };
    let in_state = || {
        effect.fields.iter().filter(|field| field.length <= LONGEST_STATE).any(|field| {
            verb.is_some_and(|verb| {
                field.value.eq_ignore_ascii_case(&format!("{}ed", verb.text.trim_end_matches('e')))
            }) && words(last_part(&field.name)).last().is_some_and(|word| word.is(STATE_FIELD))
        })
    };
    in_path || in_operations() || in_state()
}

const LONGEST_STATE: usize = 40;

/// A number of something: `steps: 2`, `l: 3`. `bin: 2` and `year: 2025` say to what.
fn is_measure(field: &EffectField) -> bool {
    let name = last_part(&field.name);
    let is_number =
        !field.value.is_empty() && field.value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_number && !names_id(field) && (name.len() <= 2 || name.ends_with('s'))
}

/// `evict` and `eviction`, `sign` and `signing`.
fn is_same_verb(one: &str, other: &str) -> bool {
    const SHORTEST: usize = 4;
    const LONGEST_ENDING: usize = 4;
    let common = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    common >= SHORTEST && one.len().max(other.len()) - common <= LONGEST_ENDING
}

/// Whether money is at stake: a field holds an amount, and nothing says that it is only written down.
fn stakes(effect: &Effect, path: &Path) -> bool {
    const STAKES: [&str; 7] = ["price", "shares", "stake", "bid", "tip", "deposit", "offer"];
    const KEPT: [&str; 16] = [
        "budget",
        "budgets",
        "expense",
        "expenses",
        "ledger",
        "recipe",
        "recipes",
        "ingredient",
        "ingredients",
        "goal",
        "goals",
        "product",
        "products",
        "calculator",
        "inventory",
        "stock",
    ];
    let is_amount = |field: &EffectField| {
        let found = words(last_part(&field.name));
        let names = found.last().is_some_and(|word| {
            word.is(AMOUNT) && !matches!(word.text.as_str(), "value" | "sum" | "valor")
                || STAKES.contains(&word.text.as_str())
        });
        names && field.value.bytes().any(|byte| byte.is_ascii_digit())
    };
    effect.fields.iter().any(is_amount) && !path.has_word(&KEPT)
}

/// "Raise bid", but neither "Blue" nor "3 points": these are choices.
fn is_phrase(label: &str) -> bool {
    label.split_whitespace().count() >= 2 && !label.contains(|c: char| c.is_ascii_digit())
}

/// `POST /campaigns/4/blast` without fields, `POST /press/4/embargo/lift`, or `POST /campaigns/blast` with nothing but an id.
fn command_shape(effect: &Effect, path: &Path) -> Option<RequestShape> {
    const SHORTEST: usize = 4;
    const FEW_FIELDS: usize = 2;
    let [before @ .., last] = &path.segments[..] else { return None };
    let [verb] = &last.words[..] else { return None };
    let has_owner = before.iter().any(|segment| segment.is_id);
    let is_verb = !last.is_id
        && verb.text.chars().count() >= SHORTEST
        && !verb.text.ends_with('s')
        // What happened is reported: `/articles/4/opened`.
        && !verb.text.ends_with("ed")
        && !is_known(verb)
        && effect.request.method == "POST";
    let is_visible = |field: &&EffectField| !is_technical(&last_part(&field.name).to_ascii_lowercase());
    let (ids, others): (Vec<_>, Vec<_>) =
        effect.fields.iter().filter(is_visible).partition(|field| names_id(field));
    if !is_verb || before.is_empty() || !has_owner && ids.is_empty() {
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
        || phrases::judge(&word.text).is_ordinary
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
