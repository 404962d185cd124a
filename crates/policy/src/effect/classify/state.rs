//! Judges fields that move something to another state: `status: cancelled`, `published_at`, `paid: true`.

use super::access::is_technical;
use super::fields::{is_truthy, last_part};
use super::name::{self, Verdict};
use super::path::Path;
use super::terms::*;
use crate::EffectClass;
use crate::effect::{Effect, EffectField};

/// A form of more fields saves what it shows: whether a state in it is new is not known.
const FEW_FIELDS: usize = 4;
const LONGEST_STATE: usize = 40;

/// The strictest state that the fields move something to, with the name of the field.
pub(super) fn judge<'a>(effect: &'a Effect, path: &Path) -> Option<(EffectClass, &'a str)> {
    let is_visible = |field: &&EffectField| !is_technical(&plain(&field.name));
    let is_small = effect.fields.iter().filter(is_visible).take(FEW_FIELDS + 1).count() <= FEW_FIELDS;
    let moved =
        effect.fields.iter().filter(|field| field.length <= LONGEST_STATE && !is_queried(&field.name));
    let found = moved.filter_map(|field| {
        let class = by_value(field, path, is_small).or_else(|| by_name(field, is_small))?;
        Some((class, field.name.as_str()))
    });
    // The form of a row has every field of it; which of them are new is not known.
    let counts = |class: &EffectClass| *class == EffectClass::Destroy || !path.is_admin_row();
    found
        .chain(publishes(effect))
        .filter(|(class, _)| counts(class))
        .max_by_key(|(class, _)| class.severity())
}

/// The last part of a name, without case and separators.
fn plain(name: &str) -> String {
    last_part(name).to_ascii_lowercase().replace(['_', '-'], "")
}

/// Whether a field is part of what is looked for: `filter.status`.
pub(super) fn is_queried(name: &str) -> bool {
    let Some((parents, _)) = name.rsplit_once(['.', '[']) else { return false };
    parents.split(['.', '[', ']']).any(|part| words(part).iter().any(|word| word.is(QUERIED)))
}

/// `status: cancelled`.
fn by_value(field: &EffectField, path: &Path, is_small: bool) -> Option<EffectClass> {
    const MOST_WORDS: usize = 3;
    if field.value.is_empty() || !words(last_part(&field.name)).last()?.is(STATE_FIELD) {
        return None;
    }
    let found = words(&field.value);
    let state = found.last().filter(|_| found.len() <= MOST_WORDS)?;
    // `/vm/8/power` with `state: off`.
    let switched = || {
        let (last, _) = path.named().next()?;
        let mut name = last.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join("_");
        name.push_str(&format!("_{}", state.text));
        match name::judge(&words(&name), &[]) {
            Some(Verdict::Consequential(EffectClass::Destroy)) => Some(EffectClass::Destroy),
            _ => None,
        }
    };
    let class = state_class(state).or_else(switched)?;
    let is_work = path.has_word(&["task", "tasks", "todo", "todos", "issue", "issues", "card", "cards"]);
    let is_ended = state.text.starts_with("cancel");
    let counts = match class {
        EffectClass::Destroy if is_ended => !is_work && (is_small || path.any(PAY_NOUN | CANCELLED)),
        EffectClass::Destroy | EffectClass::Send => true,
        _ => is_small && !is_work,
    };
    let ends_person = || {
        let ended = ["banned", "suspended", "deactivated", "disabled", "inactive", "blocked"];
        ended.contains(&state.text.as_str()) && path.has_people()
    };
    counts.then_some(class).or_else(|| ends_person().then_some(EffectClass::Power))
}

/// `deleted_at`, `isPublished`, `approved`.
fn by_name(field: &EffectField, is_small: bool) -> Option<EffectClass> {
    if field.value.is_empty() || !is_truthy(&field.value) {
        return None;
    }
    let found = words(last_part(&field.name));
    let is_part =
        |word: &&Word| !matches!(word.text.as_str(), "is" | "was" | "has" | "mark" | "set" | "date" | "time");
    let core: Vec<&Word> = found.iter().filter(is_part).collect();
    let (state, is_moment) = match core[..] {
        [state] => (state, core.len() < found.len() && found.last().is_some_and(|word| word.text == "date")),
        [state, suffix] if matches!(suffix.text.as_str(), "at" | "on") => (state, true),
        _ => return None,
    };
    let class = state_class(state)?;
    let is_flag = matches!(field.value.to_ascii_lowercase().as_str(), "true" | "1" | "on" | "yes");
    // Forms say that they were submitted, and people accept terms.
    let is_certain =
        !matches!(state.text.as_str(), "submitted" | "accepted" | "declined" | "public" | "trash" | "bin");
    let counts = match class {
        EffectClass::Destroy => is_moment || is_flag,
        EffectClass::Send => is_moment && is_small || is_flag,
        _ => is_small && (is_moment || is_flag),
    };
    (counts && is_certain).then_some(class)
}

/// The class of a state, listed or formed from a verb: `archived` is none, `dissolved` is that of `dissolve`.
pub(super) fn state_class(state: &Word) -> Option<EffectClass> {
    const STATES: [(Uses, EffectClass); 4] = [
        (GONE, EffectClass::Destroy),
        (PUBLIC, EffectClass::Send),
        (PAID, EffectClass::Pay),
        (GRANTED, EffectClass::Power),
    ];
    const VERBS: [(Uses, EffectClass); 4] = [
        (DESTROY | CANCEL, EffectClass::Destroy),
        (SEND, EffectClass::Send),
        (PAY, EffectClass::Pay),
        (POWER, EffectClass::Power),
    ];
    let of = |uses: Uses, list: &[(Uses, EffectClass)]| {
        list.iter().find_map(|(wanted, class)| (uses & wanted != 0).then_some(*class))
    };
    let by_verb = || {
        let stem = state.text.strip_suffix("ed")?;
        let with_e = format!("{stem}e");
        let doubled = stem.len() >= 2 && stem.as_bytes()[stem.len() - 1] == stem.as_bytes()[stem.len() - 2];
        let single = if doubled { &stem[..stem.len() - 1] } else { stem };
        let uses = uses_of(stem) | uses_of(&with_e) | uses_of(single);
        of(uses, &VERBS).filter(|_| uses & ORDINARY_VERB == 0)
    };
    of(state.uses, &STATES).or_else(by_verb)
}

/// Fields that show something to everybody.
fn publishes(effect: &Effect) -> Option<(EffectClass, &str)> {
    effect.fields.iter().find_map(|field| {
        let name = last_part(&field.name).to_ascii_lowercase().replace(['_', '-'], "");
        let value = field.value.to_ascii_lowercase();
        match (name.as_str(), value.as_str()) {
            ("published" | "ispublished" | "publish", "true" | "1" | "on" | "yes") => {
                Some((EffectClass::Send, field.name.as_str()))
            }
            (
                "visibility" | "privacy" | "access" | "sharing",
                "public"
                | "everyone"
                | "world"
                | "anyone"
                | "open"
                | "anyonewithlink"
                | "anyone_with_link"
                | "anyone_with_the_link"
                | "link"
                | "publicread"
                | "public-read",
            ) => Some((EffectClass::Power, field.name.as_str())),
            ("ispublic" | "public" | "anyonecanview", "true" | "1" | "on") => {
                Some((EffectClass::Power, field.name.as_str()))
            }
            // Drafts are kept; what is none any more is shown.
            ("draft" | "isdraft", "false" | "0") if effect.fields.len() <= FEW_FIELDS => {
                Some((EffectClass::Send, field.name.as_str()))
            }
            ("private" | "isprivate", "false" | "0") if effect.request.method != "POST" => {
                Some((EffectClass::Power, field.name.as_str()))
            }
            _ => None,
        }
    })
}
