//! Signals that hold whatever the rest of a request looks like: everything is removed, a bin is emptied, something is
//! moved to where it is gone or published.

use super::address::Path;
use super::fields::last_part;
use super::terms::*;
use crate::{Action, CausingAction, Effect, EffectClass, Key};

const WHOLLY: [&str; 5] = ["all", "forever", "permanently", "everything", "permanent"];
const BINS: [&str; 6] = ["bin", "trash", "recycle", "recyclebin", "wastebasket", "rubbish"];
const EMPTYING: [&str; 3] = ["empty", "clear", "flush"];
/// Fields that say where something goes.
const PLACES: [&str; 8] =
    ["folder", "status", "state", "stage", "location", "destination", "column", "mailbox"];
const GONE: [&str; 5] = ["trash", "bin", "deleted", "recycle", "trashed"];
const PUBLIC: [&str; 4] = ["sent", "published", "public", "live"];

/// The class of such a request, where the signal is, and what it says.
pub(super) fn judge(
    effect: &Effect,
    path: &Path,
    cause: Option<&CausingAction>,
) -> Option<(EffectClass, &'static str, String)> {
    by_path(path)
        .map(|word| (EffectClass::Destroy, "address", word))
        .or_else(|| by_field(effect).map(|(class, name)| (class, "field", name)))
        .or_else(|| by_key(cause).map(|key| (EffectClass::Destroy, "label", key)))
}

fn by_path(path: &Path) -> Option<String> {
    let (last, _) = path.named().next()?;
    let has = |known: &[&str]| last.words.iter().any(|word| known.contains(&word.text.as_str()));
    let said = || last.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let removes = last.words.iter().any(|word| word.is(DESTROY | WEAK) || word.text == "discard");
    (removes && has(&WHOLLY) || has(&EMPTYING) && path.has_word(&BINS)).then(said)
}

fn by_field(effect: &Effect) -> Option<(EffectClass, String)> {
    effect.fields.iter().find_map(|field| {
        let (name, value) = (last_part(&field.name).to_ascii_lowercase(), field.value.to_ascii_lowercase());
        if !PLACES.contains(&name.as_str()) {
            return None;
        }
        let class = if GONE.contains(&value.as_str()) {
            EffectClass::Destroy
        } else if PUBLIC.contains(&value.as_str()) {
            EffectClass::Send
        } else {
            return None;
        };
        Some((class, format!("{name} {value}")))
    })
}

/// The Delete key, outside of a field.
fn by_key(cause: Option<&CausingAction>) -> Option<String> {
    let cause = cause.filter(|cause| cause.is_recent)?;
    let Action::Press(press) = &cause.action else { return None };
    let Key::Named(key) = press.chord.key else { return None };
    let element = cause.facts.target.as_ref()?;
    let is_outside = !element.editable && !matches!(element.tag.as_str(), "input" | "textarea");
    (key.name == "Delete" && is_outside).then(|| "key Delete".to_owned())
}
