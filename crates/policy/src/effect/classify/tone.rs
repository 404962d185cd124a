//! The tone of a label that no list of consequential words decides: ordinary work, the end of a form, a yes, a command.

use super::label::{CHOICES, CONTENT, LONGEST_LABEL, label_of};
use super::phrases;
use super::terms::*;
use super::verb;
use crate::lexicon::{Meaning, Meanings};
use crate::{Action, CausingAction, ElementFacts, Facts, Key};

/// What a label says that no list of consequential words decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LabelTone {
    /// It names ordinary work: "Save", "Add row".
    Ordinary,
    /// It ends a form or a dialog of any kind: "OK", "Continue".
    Generic,
    /// It says yes to a question of the page, which is not known here.
    Affirms,
    /// It is a verb, by its form, of no ordinary work.
    Command,
    /// One word that no list has: a choice ("Monthly") more often than a verb.
    Word,
    Unknown,
}

/// The tone of what was acted on, and its label. Nothing if no control was.
pub(super) fn tone(cause: &CausingAction) -> Option<(LabelTone, &str)> {
    if !cause.is_recent {
        return None;
    }
    let is_question = |facts: &Facts| facts.dialog.as_ref().is_some_and(|dialog| dialog.kind == "confirm");
    // An alert only has to be closed: what opened it counts.
    let cause = cause.confirmed().filter(|_| !is_question(&cause.facts)).unwrap_or(cause);
    let facts = &cause.facts;
    let label = match &cause.action {
        Action::Dialog(answer) if answer.accept => {
            let dialog = facts.dialog.as_ref().filter(|dialog| dialog.kind == "confirm")?;
            // Sites ask before what cannot be undone.
            let is_ordinary = phrases::judge(&dialog.message).is_ordinary
                || is_ordinary(&dialog.message)
                || is_word(&dialog.message);
            let tone = if is_ordinary { LabelTone::Ordinary } else { LabelTone::Affirms };
            return Some((tone, &dialog.message));
        }
        Action::Click(_) => control_label(facts.target.as_ref()?)?,
        Action::Press(press) if press.chord.activates() => control_label(facts.target.as_ref()?)?,
        _ => return None,
    };
    let reading = phrases::judge(label);
    let is_named = label.chars().filter(|c| c.is_alphabetic()).count() >= 3 || !label.is_ascii();
    let tone = if reading.affirms {
        LabelTone::Affirms
    } else if reading.is_generic || !label.chars().any(char::is_alphanumeric) {
        // A picture says no more than no label: "🔍".
        LabelTone::Generic
    } else if has_price(label) {
        LabelTone::Command
    } else if reading.is_ordinary || is_ordinary(label) || !is_named {
        LabelTone::Ordinary
    } else if verb::is_command(label) || is_imperative(label) {
        LabelTone::Command
    } else if is_word(label) {
        LabelTone::Word
    } else {
        LabelTone::Unknown
    };
    Some((tone, label))
}

/// Whether a line was typed into a field and ended, which is no search.
pub(super) fn is_line(cause: &CausingAction) -> bool {
    let cause = cause.confirmed().unwrap_or(cause);
    let Some(element) = cause.facts.target.as_ref() else { return false };
    let ends = match &cause.action {
        Action::Type(typing) => typing.submit || typing.text.contains(['\n', '\r']),
        Action::Press(press) => matches!(press.chord.key, Key::Named(key) if key.name == "Enter"),
        _ => false,
    };
    ends && element.role == "textbox" && !is_ordinary(&element.name) && !is_word(&element.name)
}

/// Whether a control was acted on, with or without a label.
pub(super) fn is_control(cause: &CausingAction) -> bool {
    let cause = cause.confirmed().unwrap_or(cause);
    let role = cause.facts.target.as_ref().map(|element| element.role.as_str());
    match &cause.action {
        Action::Click(_) => role.is_some_and(|role| !CHOICES.contains(&role) && !CONTENT.contains(&role)),
        Action::Press(press) => press.chord.activates(),
        Action::Dialog(answer) => answer.accept,
        _ => false,
    }
}

fn control_label(element: &ElementFacts) -> Option<&str> {
    let role = element.role.as_str();
    let label = label_of(element).trim();
    let is_control = !CHOICES.contains(&role) && !CONTENT.contains(&role);
    (is_control && !label.is_empty() && label.chars().count() <= LONGEST_LABEL).then_some(label)
}

/// Whether a text has a word of ordinary work, or is the name of a thing.
fn is_ordinary(text: &str) -> bool {
    let meanings = Meanings::of(text);
    let known =
        [Meaning::Save, Meaning::Go, Meaning::Search, Meaning::Trivial, Meaning::Make, Meaning::Change];
    let found = words(text);
    let is_title = |word: Option<&Word>| word.is_some_and(|word| word.is(UI_NOUN));
    let leads = found.first().is_some_and(|word| word.is(ORDINARY_VERB | READ | CHANGE | MAKE | KNOWN));
    // English has its list; words of it are verbs only where they lead.
    let is_foreign = !text.is_ascii();
    is_foreign && known.into_iter().any(|meaning| meanings.has(meaning))
        || leads
        || is_title(found.first())
        || is_title(found.last())
        || found
            .iter()
            .any(|word| word.is(ORDINARY) || !word.text.is_ascii() && word.is(ORDINARY_VERB | CHANGE | MAKE))
}

/// One word of Latin letters that is no verb by its form: "Monthly", "Bold", "Short".
fn is_word(text: &str) -> bool {
    matches!(&words(text)[..], [one] if one.text.is_ascii()) && !verb::is_command(text)
}

/// "Back this project", "Bail out": the verb of an English sentence, whatever it means.
fn is_imperative(label: &str) -> bool {
    const MOST_WORDS: usize = 7;
    const DETERMINERS: [&str; 14] =
        ["this", "that", "these", "those", "the", "my", "our", "your", "it", "him", "her", "them", "a", "an"];
    const PARTICLES: [&str; 5] = ["out", "off", "away", "aside", "apart"];
    if !label.is_ascii() {
        return false;
    }
    let text = label.to_ascii_lowercase();
    let found: Vec<&str> =
        text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty()).collect();
    let [first, second, ..] = found[..] else { return false };
    // What is done to something is named after the verb: "Half off" names a price.
    let is_phrasal = PARTICLES.contains(&second) && !label.contains(|c: char| c.is_ascii_digit());
    let is_unknown = first.len() >= 3 && uses_of(first) & !FILLER == 0 && !PREPOSITIONS.contains(&first);
    is_unknown && found.len() <= MOST_WORDS && (DETERMINERS.contains(&second) || is_phrasal)
}

/// Words before a noun that are no verbs: "In the box", "For my team".
const PREPOSITIONS: [&str; 30] = [
    "for", "from", "with", "without", "about", "into", "onto", "over", "under", "after", "before", "during",
    "until", "since", "like", "what", "why", "how", "when", "where", "who", "not", "only", "also", "all",
    "both", "just", "and", "but", "near",
];

/// "Confirm ride for €14", "Bestätigen (12,50 EUR)"; but neither "From €14" nor "€14".
fn has_price(label: &str) -> bool {
    const SIGNS: [char; 13] = ['$', '€', '£', '¥', '₹', '₩', '₽', '₺', '₴', '₪', '฿', '₫', '￥'];
    const CODES: [&str; 14] =
        ["EUR", "USD", "GBP", "SEK", "NOK", "DKK", "CHF", "PLN", "CZK", "JPY", "kr", "zł", "Kč", "Ft"];
    let has_code = || label.split(|c: char| !c.is_alphabetic()).any(|word| CODES.contains(&word));
    const SHOWING: [&str; 16] = [
        "from", "under", "over", "up", "details", "compare", "add", "view", "show", "filter", "save", "edit",
        "sort", "see", "select", "choose",
    ];
    let found = words(label);
    let Some(first) = found.first() else { return false };
    // "Express delivery €5" is a choice.
    let verbs = MAKE | CHANGE | EXECUTE | READ | ORDINARY_VERB | LEAD | KNOWN | DESTROY | SEND | PAY | POWER;
    let is_verb = first.is(verbs) || phrases::judge(&first.text).is_verb();
    let is_shown = first.text == "addtocart"
        || SHOWING.contains(&first.text.as_str())
        || found.iter().any(|word| word.is(ORDINARY))
        || !is_verb;
    !is_shown && label.contains(|c: char| c.is_ascii_digit()) && (label.contains(SIGNS) || has_code())
}
