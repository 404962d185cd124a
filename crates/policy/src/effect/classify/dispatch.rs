//! Judges what a dispatcher is asked to do: `POST /do` with `a=rm`, `GET /rpc?call=publish&id=3`.
//!
//! An address that says nothing leaves the operation to a parameter, whatever that is called.

use super::fields::last_part;
use super::name::{Verdict, led_class};
use super::path::Path;
use super::terms::*;
use super::{BodyKind, Effect, EffectClass};

const LONGEST: usize = 40;
const MOST_PARAMETERS: usize = 12;
const FUNCTIONS: [&str; 8] = ["call", "fn", "func", "rpc", "method", "op", "cmd", "do"];

/// Whether no segment of an address says what is done.
pub(super) fn is_dispatcher(path: &Path) -> bool {
    path.operations.is_empty() && path.named().all(|(segment, _)| says_nothing(&segment.words))
}

pub(super) fn says_nothing(words: &[Word]) -> bool {
    words
        .iter()
        .all(|word| word.is(GENERIC) || word.text.len() <= 2 || word.text.chars().all(|c| c.is_ascii_digit()))
}

/// The class of the operation that a parameter of a dispatcher names, and the name of the parameter.
pub(super) fn judge<'a>(
    path: &Path,
    parameters: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<(EffectClass, String)> {
    if is_dispatcher(path) { of_parameters(parameters) } else { None }
}

/// The first parameter with a verb says what is done, whatever it is called; those after it say to what.
pub(super) fn of_parameters<'a>(
    parameters: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<(EffectClass, String)> {
    const VERBS: Uses =
        DESTROY | SEND | PAY | POWER | LEAD | CHANGE | MAKE | READ | ORDINARY_VERB | KNOWN | SOCKET;
    let mut named =
        parameters.take(MOST_PARAMETERS).filter(|(name, value)| is_identifier(value) && !is_typed(name));
    let has_verb = |value: &str| {
        let found = words(value);
        found.first().is_some_and(|word| word.is(VERBS)) || found.last().is_some_and(|word| word.is(VERBS))
    };
    let (name, value) = named.find(|(_, value)| has_verb(value))?;
    // Verbs that are nouns elsewhere count where a function is named.
    let called = || match &words(value)[..] {
        [verb] if FUNCTIONS.contains(&name) => led_class(verb),
        _ => None,
    };
    operation(value).or_else(called).map(|class| (class, name.to_owned()))
}

/// `delete 3`, `DEL:3`: a message that is a command and no sentence.
pub(super) fn of_text(effect: &Effect) -> Option<(EffectClass, String)> {
    const LONGEST_TEXT: usize = 60;
    const MOST_WORDS: usize = 3;
    if effect.body != BodyKind::Text || effect.request.body.len() > LONGEST_TEXT {
        return None;
    }
    let text = std::str::from_utf8(&effect.request.body).ok()?.trim();
    let mut parts = text.split([' ', ':', '|', ',', ';', '/']).filter(|part| !part.is_empty());
    let verb = parts.next().filter(|verb| is_identifier(verb))?;
    let mut rest = parts.clone();
    let is_command =
        parts.count() < MOST_WORDS && rest.all(|part| part.bytes().any(|byte| byte.is_ascii_digit()));
    operation(verb).filter(|_| is_command).map(|class| (class, verb.to_owned()))
}

/// `users.delete`, `publish`, `wipe_all`: nothing that a person types has this form and begins or ends with such a verb.
fn operation(value: &str) -> Option<EffectClass> {
    const VERBS: Uses = DESTROY | SEND | PAY | POWER;
    const NOUNS: Uses = SEND_NOUN | PAY_NOUN | POWER_NOUN | ORDINARY | ORDINARY_VERB | UI_NOUN;
    let found = words(value);
    let is_verb = |word: &Word| word.is(VERBS) && !word.is(NOUNS);
    if !found.first().is_some_and(is_verb) && !found.last().is_some_and(is_verb) {
        return None;
    }
    match super::judge_dotted(value) {
        Some(Verdict::Consequential(class)) => Some(class),
        _ => None,
    }
}

fn is_identifier(value: &str) -> bool {
    (2..=LONGEST).contains(&value.len())
        && value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte))
}

/// Whether people type into a parameter of this name, or it says what is looked for.
fn is_typed(name: &str) -> bool {
    const SEARCHED: [&str; 6] = ["q", "s", "search", "term", "text", "status"];
    let last = last_part(name);
    SEARCHED.contains(&last)
        || name.contains("filter")
        || words(last).iter().any(|word| word.is(TYPED | QUERIED | SEND_NOUN | STATE_FIELD))
}
