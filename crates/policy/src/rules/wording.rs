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

/// Adds the findings for one text and returns its meanings; `fact` names where the text comes from.
pub(super) fn classify(findings: &mut Findings, fact: &'static str, text: &str) -> Meanings {
    let meanings = Meanings::of(text);
    for (first, second, rule) in RISKY {
        let Some(word) = meanings.word(first) else { continue };
        match second {
            None => findings.add(rule, &[(fact, text), ("word", word)]),
            Some(second) => {
                if let Some(other) = meanings.word(second) {
                    findings.add(rule, &[(fact, text), ("word", word), ("word", other)]);
                }
            }
        }
    }
    meanings
}
