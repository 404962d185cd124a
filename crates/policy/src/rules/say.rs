//! What an element's words give away: to destroy, to send, to pay, or to hand out power.

use crate::rules::Findings;
use crate::rules::catalog::*;
use crate::words::{Sense, Senses};

/// Two meanings that are dangerous together, or one alone.
const TOGETHER: [(Sense, Option<Sense>, &Builtin); 10] = [
    (Sense::Pay, None, &WORDS_PAY),
    (Sense::Destroy, Some(Sense::Account), &WORDS_ACCOUNT),
    (Sense::Off, Some(Sense::Second), &WORDS_SECOND_FACTOR),
    (Sense::Make, Some(Sense::Key), &WORDS_MINT),
    (Sense::Authorise, None, &WORDS_AUTHORISE),
    (Sense::Invite, Some(Sense::Admin), &WORDS_ADMIN),
    (Sense::Change, Some(Sense::Login), &WORDS_LOGIN),
    (Sense::Export, Some(Sense::Data), &WORDS_EXPORT),
    (Sense::Destroy, None, &WORDS_DESTROY),
    (Sense::Send, None, &WORDS_SEND),
];

/// Adds what the words of one text mean; `fact` is where the text stands.
pub(super) fn words(findings: &mut Findings, fact: &'static str, text: &str) -> Senses {
    let senses = Senses::of(text);
    for (first, second, rule) in TOGETHER {
        let Some(word) = senses.word(first) else { continue };
        match second {
            None => findings.found(rule, &[(fact, text), ("word", word)]),
            Some(second) => {
                if let Some(other) = senses.word(second) {
                    findings.found(rule, &[(fact, text), ("word", word), ("word", other)]);
                }
            }
        }
    }
    senses
}
