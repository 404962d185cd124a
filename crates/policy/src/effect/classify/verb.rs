//! Finds commands among labels by the form of their verb: for verbs that no list has.
//!
//! A list of consequential verbs is never complete. A button in German that ends in `-en`, or one in Japanese that ends in
//! `する`, is a command all the same.

use crate::lexicon::{fold_latin, normalize};

const LONG: usize = 8;

/// More words are a sentence, not a command.
const MOST_WORDS: usize = 6;

/// Endings of the first word: infinitives of French, Spanish, Portuguese, Russian, Ukrainian, Czech and Slovak, imperatives
/// of Polish, Italian and Scandinavian languages.
const OF_FIRST: [&str; 22] = [
    "ar", "er", "ir", "re", "arse", "erse", "irse", "arme", "erme", "irme", "ть", "ться", "ти", "тись",
    "тися", "aj", "uj", "ij", "at", "it", "ovat", "out",
];
/// Endings of the last word: infinitives of German and Dutch, verbs of Turkish, Hungarian and Hindi.
const OF_LAST: [&str; 14] =
    ["en", "eln", "ern", "et", "yap", "ver", "kes", "gec", "lemek", "lamak", "asa", "ese", "करें", "दें"];
/// Endings of texts without spaces.
const OF_TEXT: [&str; 10] =
    ["する", "します", "せる", "れる", "める", "ける", "하기", "합니다", "시키기", "니다"];
/// English words that end like verbs of other languages.
const NOUNS: [&str; 52] = [
    "brighten",
    "lengthen",
    "strengthen",
    "straighten",
    "sharpen",
    "lighten",
    "flatten",
    "enlighten",
    "heighten",
    "smoothen",
    "fullscreen",
    "evergreen",
    "touchscreen",
    "forgotten",
    "homescreen",
    "splitscreen",
    "other",
    "user",
    "number",
    "order",
    "letter",
    "paper",
    "water",
    "summer",
    "winter",
    "power",
    "counter",
    "folder",
    "header",
    "footer",
    "slider",
    "calendar",
    "bar",
    "car",
    "star",
    "air",
    "chair",
    "pair",
    "center",
    "layer",
    "manager",
    "partner",
    "screen",
    "green",
    "open",
    "seven",
    "ten",
    "children",
    "women",
    "men",
    "kitchen",
    "garden",
];

/// Short words that English does not have.
const ARTICLES: [&str; 44] = [
    "el", "la", "los", "las", "un", "una", "mi", "mis", "del", "al", "le", "les", "une", "mon", "ma", "mes",
    "cette", "ce", "il", "lo", "gli", "mio", "der", "die", "das", "den", "dem", "ein", "eine", "mein",
    "meine", "zur", "zum", "het", "een", "mijn", "meu", "minha", "os", "moje", "moj", "dich", "se", "sie",
];

/// Whether a label is a command in a language other than English.
pub(super) fn is_command(label: &str) -> bool {
    let text = normalize(label);
    if OF_TEXT.iter().any(|ending| text.ends_with(ending)) {
        return true;
    }
    let folded = fold_latin(&text).swap_remove(0);
    let words: Vec<&str> =
        folded.split(|c: char| !c.is_alphanumeric() && !is_mark(c)).filter(|it| !it.is_empty()).collect();
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return false };
    if words.len() > MOST_WORDS {
        return false;
    }
    let ends = |word: &str, endings: &[&str]| {
        const SHORTEST: usize = 4;
        word.chars().count() >= SHORTEST
            && !NOUNS.contains(&word)
            && endings.iter().any(|ending| word.ends_with(ending))
    };
    // Words of Latin letters without an accent may be English.
    let is_foreign = !label.is_ascii() || words.iter().any(|word| ARTICLES.contains(word));
    // "Wegwerfen": long English words seldom end so.
    let is_infinitive =
        words.len() == 1 && first.len() >= LONG && first.ends_with("en") && !NOUNS.contains(first);
    is_infinitive || is_foreign && (ends(first, &OF_FIRST) || ends(last, &OF_LAST))
}

/// Vowel signs of Devanagari.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{900}'..='\u{97f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_of_other_languages_are_commands() {
        for label in
            ["Wegwerfen", "Déclarer un sinistre", "契約する", "Расторгнуть договор", "Ausbürgern lassen"]
        {
            assert!(is_command(label), "{label}");
        }
        for label in ["December 1", "Calendar", "Fullscreen", "Open folder", "Größe", "2026年"] {
            assert!(!is_command(label), "{label}");
        }
    }
}
