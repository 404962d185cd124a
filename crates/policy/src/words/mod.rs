//! What the words on a button or a field mean, in the twenty languages that most of the web is written in.
//!
//! The words are data, in `words.txt`. They are looked for in one pass, whatever their number, after letters
//! that only look different were made the same: a page that writes "Delete" with a Cyrillic letter in it says Delete.

mod fold;

pub(crate) use fold::fold;

use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

/// Of a longer text its beginning and its end are looked at, each this long in bytes: a page that fills a name up hides
/// nothing behind the filling, and no text takes long.
const LONGEST: usize = 2000;

/// What a word can mean, in the order of the headings in `words.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Sense {
    Destroy,
    Send,
    Pay,
    Account,
    Make,
    Key,
    Authorise,
    Invite,
    Admin,
    Change,
    Login,
    Off,
    Second,
    Export,
    Data,
    Save,
    Go,
    Search,
    Comment,
    Config,
    Secret,
}

const SENSES: [(&str, Sense); 21] = [
    ("destroy", Sense::Destroy),
    ("send", Sense::Send),
    ("pay", Sense::Pay),
    ("account", Sense::Account),
    ("make", Sense::Make),
    ("key", Sense::Key),
    ("authorise", Sense::Authorise),
    ("invite", Sense::Invite),
    ("admin", Sense::Admin),
    ("change", Sense::Change),
    ("login", Sense::Login),
    ("off", Sense::Off),
    ("second", Sense::Second),
    ("export", Sense::Export),
    ("data", Sense::Data),
    ("save", Sense::Save),
    ("go", Sense::Go),
    ("search", Sense::Search),
    ("comment", Sense::Comment),
    ("config", Sense::Config),
    ("secret", Sense::Secret),
];

/// The meanings that were found in a text, each with the word that has it.
#[derive(Clone, Debug, Default)]
pub struct Senses([Option<&'static str>; SENSES.len()]);

impl Senses {
    pub fn of(text: &str) -> Senses {
        let mut found = Senses::default();
        for part in ends(text) {
            let (folded, plain) = fold::spellings(part);
            LEXICON.look(&folded, &mut found);
            if let Some(plain) = plain {
                LEXICON.look(&plain, &mut found);
            }
        }
        found
    }

    pub fn word(&self, sense: Sense) -> Option<&'static str> {
        self.0[sense as usize]
    }

    pub fn has(&self, sense: Sense) -> bool {
        self.word(sense).is_some()
    }
}

/// Where in a text a word counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Word,
    Beginning,
    Anywhere,
    Whole,
}

struct Entry {
    word: &'static str,
    sense: Sense,
    place: Place,
}

struct Lexicon {
    finder: AhoCorasick,
    entries: Vec<Entry>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let entries = entries(include_str!("words.txt"));
    let words: Vec<String> = entries.iter().map(|entry| fold(entry.word)).collect();
    #[expect(clippy::expect_used, reason = "the list is part of the program, and a test builds it")]
    let finder = AhoCorasick::new(words).expect("the word list is far below the limits");
    Lexicon { finder, entries }
});

fn entries(list: &'static str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut sense = None;
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        if let Some(heading) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            sense = SENSES.iter().find(|(name, _)| *name == heading).map(|(_, sense)| *sense);
        } else if let (Some(sense), Some((_, words))) = (sense, line.split_once(": ")) {
            entries.extend(words.split(", ").map(|word| entry(word.trim(), sense)));
        }
    }
    entries
}

fn entry(marked: &'static str, sense: Sense) -> Entry {
    let (word, place) = if let Some(word) = marked.strip_prefix('~') {
        (word, Place::Anywhere)
    } else if let Some(word) = marked.strip_prefix('=') {
        (word, Place::Whole)
    } else if let Some(word) = marked.strip_suffix('*') {
        (word, Place::Beginning)
    } else if marked.chars().any(has_no_spaces) {
        (marked, Place::Anywhere)
    } else {
        (marked, Place::Word)
    };
    Entry { word, sense, place }
}

/// Chinese and Japanese write without spaces, Korean hangs its endings on.
fn has_no_spaces(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

impl Lexicon {
    fn look(&self, text: &str, found: &mut Senses) {
        for hit in self.finder.find_overlapping_iter(text) {
            let entry = &self.entries[hit.pattern().as_usize()];
            let slot = &mut found.0[entry.sense as usize];
            if slot.is_none() && counts(entry.place, text, hit.start(), hit.end()) {
                *slot = Some(entry.word);
            }
        }
    }
}

fn counts(place: Place, text: &str, start: usize, end: usize) -> bool {
    let begins = || !text[..start].chars().next_back().is_some_and(char::is_alphanumeric);
    let ends = || !text[end..].chars().next().is_some_and(char::is_alphanumeric);
    match place {
        Place::Word => begins() && ends(),
        Place::Beginning => begins(),
        Place::Anywhere => true,
        Place::Whole => start == 0 && end == text.len(),
    }
}

/// All of it, or where that is too long its beginning and its end.
fn ends(text: &str) -> impl Iterator<Item = &str> {
    let is_long = text.len() > 2 * LONGEST;
    let boundary = |mut places: std::ops::Range<usize>| places.find(|at| text.is_char_boundary(*at));
    let first = boundary(LONGEST..text.len()).filter(|_| is_long).map_or(text, |at| &text[..at]);
    let last = boundary(text.len().saturating_sub(LONGEST)..text.len()).filter(|_| is_long);
    std::iter::once(first).chain(last.map(|at| &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const LANGUAGES: [&str; 20] = [
        "en", "zh", "es", "de", "ja", "fr", "pt", "ru", "it", "nl", "pl", "tr", "fa", "vi", "cs", "id", "ko",
        "uk", "hu", "ar",
    ];

    #[test]
    fn every_meaning_has_words_in_every_language_and_every_line_is_understood() {
        let mut headings: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut heading = "";
        for line in
            include_str!("words.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                heading = name;
                continue;
            }
            let (language, words) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
            headings.entry(heading).or_default().push(language);
            for word in words.split(", ") {
                let bare = word.trim_start_matches(['~', '=']).trim_end_matches('*');
                assert!(
                    !bare.is_empty() && !bare.contains(['*', '~', '=', ',']),
                    "{heading} {language}: {word:?}"
                );
            }
        }
        assert_eq!(headings.len(), SENSES.len());
        for (name, _) in SENSES {
            assert_eq!(headings[name], LANGUAGES, "{name}");
        }
    }

    #[test]
    fn a_word_counts_where_its_mark_says() {
        for (text, sense, expected) in [
            ("Delete", Sense::Destroy, true),
            ("undeletable", Sense::Destroy, false),
            ("Deleted items", Sense::Destroy, true),
            ("repayable", Sense::Pay, false),
            ("Pay $5.00", Sense::Pay, true),
            ("Post", Sense::Send, true),
            ("Post office", Sense::Send, false),
            ("Удаление", Sense::Destroy, true),
            ("この商品を削除する", Sense::Destroy, true),
            ("Đặt   hàng", Sense::Pay, true),
            ("LÖSCHEN!", Sense::Destroy, true),
            ("SİL", Sense::Destroy, true),
            ("silver", Sense::Destroy, false),
        ] {
            assert_eq!(Senses::of(text).has(sense), expected, "{text}");
        }
    }

    #[test]
    fn letters_that_only_look_different_are_the_same() {
        for text in ["Ｄｅｌｅｔｅ", "𝐃𝐞𝐥𝐞𝐭𝐞", "D\u{435}lete", "De\u{200b}le\u{ad}te", "\u{202e}Delete"]
        {
            assert!(Senses::of(text).has(Sense::Destroy), "{text:?}");
        }
        // Cyrillic letters throughout.
        assert!(Senses::of("\u{440}\u{430}\u{443}").has(Sense::Pay));
        assert!(Senses::of("Xo\u{301}a").has(Sense::Destroy));
        // Greek capitals, of which some look like other letters than their small ones; small capitals.
        for text in ["ΡΑΥ now", "ΒUΥ", "ΤRΑΝSFΕR", "ᴘᴀʏ ɴᴏᴡ", "ᴄʜᴇᴄᴋᴏᴜᴛ"] {
            assert!(Senses::of(text).has(Sense::Pay), "{text}");
        }
        for text in ["ΡURGE", "ΤERΜΙΝΑΤΕ", "ᴅᴇʟᴇᴛᴇ", "dele\u{336}te\u{336}"] {
            assert!(Senses::of(text).has(Sense::Destroy), "{text}");
        }
    }

    #[test]
    fn what_stands_before_or_behind_a_word_does_not_hide_it() {
        for fill in [0, 300, 1_500, 5_000, 500_000] {
            for fill in ["a ".repeat(fill), "é ".repeat(fill), "字 ".repeat(fill)] {
                assert!(Senses::of(&format!("{fill} delete")).has(Sense::Destroy));
                assert!(Senses::of(&format!("delete {fill}")).has(Sense::Destroy));
            }
        }
        assert!(Senses::of(&format!("{0}delete {0}", "a ".repeat(900))).has(Sense::Destroy));
    }
}
