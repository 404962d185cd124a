//! Findings from the words of a label: destroying, sending, paying, or granting access.

use crate::lexicon::{Meaning, Meanings};
use crate::rules::Findings;
use crate::rules::catalog::*;

/// A meaning that is risky alone, or two that are risky together.
const RISKY: [(Meaning, Option<Meaning>, &BuiltinRule); 10] = [
    (Meaning::Pay, None, &WORDS_PAY),
    (Meaning::Destroy, Some(Meaning::Account), &WORDS_ACCOUNT),
    (Meaning::Off, Some(Meaning::Second), &WORDS_SECOND_FACTOR),
    (Meaning::Make, Some(Meaning::Key), &WORDS_MINT),
    (Meaning::Authorise, None, &WORDS_AUTHORISE),
    (Meaning::Invite, Some(Meaning::Admin), &WORDS_ADMIN),
    (Meaning::Change, Some(Meaning::Login), &WORDS_LOGIN),
    (Meaning::Export, Some(Meaning::Data), &WORDS_EXPORT),
    (Meaning::Destroy, None, &WORDS_DESTROY),
    (Meaning::Send, None, &WORDS_SEND),
];

/// At most this many words are a label that says what is taken away: "Remove filter", "Clear search history".
const MOST_TRIVIAL_WORDS: usize = 5;

/// The rules that the meanings of a label call for, with their words.
pub(crate) fn risky(
    meanings: &Meanings,
) -> impl Iterator<Item = (&'static BuiltinRule, [Option<&'static str>; 2])> + '_ {
    RISKY.into_iter().filter_map(|(first, second, rule)| {
        let word = meanings.word(first)?;
        match second {
            None => Some((rule, [Some(word), None])),
            Some(second) => meanings.word(second).map(|other| (rule, [Some(word), Some(other)])),
        }
    })
}

/// Whether a label takes away only what comes and goes, such as a filter.
pub(crate) fn is_trivial(text: &str, meanings: &Meanings) -> bool {
    meanings.has(Meaning::Trivial)
        && !meanings.has(Meaning::Account)
        && text.split_whitespace().count() <= MOST_TRIVIAL_WORDS
}

/// Adds the findings for one text and returns its meanings; `fact` names where the text comes from.
pub(crate) fn classify(findings: &mut Findings, fact: &'static str, text: &str) -> Meanings {
    let meanings = Meanings::of(text);
    let is_trivial = is_trivial(text, &meanings);
    for (rule, words) in risky(&meanings) {
        if is_trivial && matches!(rule.name, "words.destroy" | "words.login") {
            continue;
        }
        let mut evidence = vec![(fact, text)];
        evidence.extend(words.into_iter().flatten().map(|word| ("word", word)));
        findings.add(rule, &evidence);
    }
    meanings
}

/// Words of [`Meaning::Comment`] that are kept rather than sent.
const NOTES: [&str; 24] = [
    "note",
    "notes",
    "备注",
    "nota",
    "notiz",
    "bemerkung",
    "メモ",
    "notatka",
    "not",
    "یادداشت",
    "ghi chú",
    "poznámka",
    "catatan",
    "메모",
    "нотатк*",
    "заметк*",
    "jegyzet",
    "megjegyzés",
    "ملاحظة",
    "notitie",
    "anteckning",
    "σημείωση",
    "नोट",
    "บันทึก",
];

/// Whether a field of this name is for messages, comments or replies: Enter sends there.
pub(crate) fn is_chat(name: &str) -> bool {
    let meanings = Meanings::of(name);
    let word = meanings.word(Meaning::Comment);
    // Who writes a letter breaks its lines with Enter.
    const LETTERS: [&str; 9] =
        ["body", "corps", "cuerpo", "corpo", "nachrichtentext", "treść", "brödtext", "тело", "本文"];
    let name = name.to_lowercase();
    let is_letter = LETTERS.iter().any(|part| name.contains(part));
    word.is_some_and(|word| !NOTES.contains(&word)) && !meanings.has(Meaning::Search) && !is_letter
}
