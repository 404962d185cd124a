//! Meanings of the words on buttons and fields, in the twenty most used languages of the web and nine more.
//!
//! The words are data, in `words.txt` and `words_more.txt`. One pass finds all of them, after look-alike letters were normalized: "Delete"
//! with a Cyrillic letter in it still means Delete.

mod normalize;

pub(crate) use normalize::{fold_latin, normalize};

use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

/// Of a longer text only the beginning and the end are searched, each of this many bytes: padding hides no word, and no
/// text takes long.
const SEARCHED_BYTES: usize = 2000;

/// The meaning of a word, in the order of the headings in `words.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Meaning {
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
    /// What comes and goes: a filter, a search, a cart.
    Trivial,
}

const MEANINGS: [(&str, Meaning); 22] = [
    ("destroy", Meaning::Destroy),
    ("send", Meaning::Send),
    ("pay", Meaning::Pay),
    ("account", Meaning::Account),
    ("make", Meaning::Make),
    ("key", Meaning::Key),
    ("authorise", Meaning::Authorise),
    ("invite", Meaning::Invite),
    ("admin", Meaning::Admin),
    ("change", Meaning::Change),
    ("login", Meaning::Login),
    ("off", Meaning::Off),
    ("second", Meaning::Second),
    ("export", Meaning::Export),
    ("data", Meaning::Data),
    ("save", Meaning::Save),
    ("go", Meaning::Go),
    ("search", Meaning::Search),
    ("comment", Meaning::Comment),
    ("config", Meaning::Config),
    ("secret", Meaning::Secret),
    ("trivial", Meaning::Trivial),
];

const LISTS: [&str; 2] = [include_str!("words.txt"), include_str!("words_more.txt")];

/// The meanings that were found in a text, each with its first word.
#[derive(Clone, Debug, Default)]
pub struct Meanings([Option<&'static str>; MEANINGS.len()]);

impl Meanings {
    pub fn of(text: &str) -> Meanings {
        let mut found = Meanings::default();
        for part in ends(text) {
            let (normalized, latin) = normalize::spellings(part);
            LEXICON.search(&normalized, &mut found);
            if let Some(latin) = latin {
                LEXICON.search(&latin, &mut found);
            }
        }
        found
    }

    pub fn word(&self, meaning: Meaning) -> Option<&'static str> {
        self.0[meaning as usize]
    }

    pub fn has(&self, meaning: Meaning) -> bool {
        self.word(meaning).is_some()
    }
}

/// Whether a text is nothing but words of these meanings, and numbers.
pub(crate) fn is_wholly(text: &str, meanings: &[Meaning]) -> bool {
    let is_word = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let known = |entry: &LexiconEntry| meanings.contains(&entry.meaning) && normalize(entry.word) == bare;
        bare.chars().all(|c| c.is_ascii_digit()) || LEXICON.entries.iter().any(known)
    };
    let text = normalize(text);
    !text.is_empty() && (is_word(&text) || text.split(' ').all(is_word))
}

/// Where in a text a word has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Word,
    Beginning,
    Anywhere,
    Whole,
}

struct LexiconEntry {
    word: &'static str,
    meaning: Meaning,
    position: Position,
}

struct Lexicon {
    finder: AhoCorasick,
    entries: Vec<LexiconEntry>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let entries: Vec<LexiconEntry> = LISTS.into_iter().flat_map(entries).collect();
    let words: Vec<String> = entries.iter().map(|entry| normalize(entry.word)).collect();
    #[expect(clippy::expect_used, reason = "the list is part of the program, and a test builds it")]
    let finder = AhoCorasick::new(words).expect("the word list is far below the limits");
    Lexicon { finder, entries }
});

fn entries(list: &'static str) -> Vec<LexiconEntry> {
    let mut entries = Vec::new();
    let mut meaning = None;
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        if let Some(heading) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            meaning = MEANINGS.iter().find(|(name, _)| *name == heading).map(|(_, meaning)| *meaning);
        } else if let (Some(meaning), Some((_, words))) = (meaning, line.split_once(": ")) {
            entries.extend(words.split(", ").map(|word| entry(word.trim(), meaning)));
        }
    }
    entries
}

fn entry(marked: &'static str, meaning: Meaning) -> LexiconEntry {
    let (word, position) = if let Some(word) = marked.strip_prefix('~') {
        (word, Position::Anywhere)
    } else if let Some(word) = marked.strip_prefix('=') {
        (word, Position::Whole)
    } else if let Some(word) = marked.strip_suffix('*') {
        (word, Position::Beginning)
    } else if marked.chars().any(has_no_spaces) {
        (marked, Position::Anywhere)
    } else {
        (marked, Position::Word)
    };
    LexiconEntry { word, meaning, position }
}

/// The words with a meaning in all languages but English that are one word each.
pub(crate) fn foreign_words(meaning: Meaning) -> Vec<&'static str> {
    let mut found = Vec::new();
    for list in LISTS {
        let mut is_wanted = false;
        for line in list.lines() {
            if let Some(heading) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                is_wanted = MEANINGS.iter().any(|(name, other)| *name == heading && *other == meaning);
            } else if let Some((language, words)) =
                line.split_once(": ").filter(|_| is_wanted && !line.starts_with('#'))
            {
                let bare = words.split(", ").map(|word| word.trim_matches(['*', '~', '=']));
                found.extend(bare.filter(|word| language != "en" && !word.contains(' ')));
            }
        }
    }
    found
}

/// Chinese, Japanese and Thai have no spaces, and Korean attaches endings to words.
fn has_no_spaces(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

impl Lexicon {
    fn search(&self, text: &str, found: &mut Meanings) {
        for hit in self.finder.find_overlapping_iter(text) {
            let entry = &self.entries[hit.pattern().as_usize()];
            let slot = &mut found.0[entry.meaning as usize];
            if slot.is_none() && is_at_position(entry.position, text, hit.start(), hit.end()) {
                *slot = Some(entry.word);
            }
        }
    }
}

fn is_at_position(position: Position, text: &str, start: usize, end: usize) -> bool {
    let begins = || !text[..start].chars().next_back().is_some_and(char::is_alphanumeric);
    let ends = || !text[end..].chars().next().is_some_and(char::is_alphanumeric);
    match position {
        Position::Word => begins() && ends(),
        Position::Beginning => begins(),
        Position::Anywhere => true,
        Position::Whole => start == 0 && end == text.len(),
    }
}

/// The whole text, or the beginning and the end of a long one.
fn ends(text: &str) -> impl Iterator<Item = &str> {
    let is_long = text.len() > 2 * SEARCHED_BYTES;
    let boundary = |mut places: std::ops::Range<usize>| places.find(|at| text.is_char_boundary(*at));
    let first = boundary(SEARCHED_BYTES..text.len()).filter(|_| is_long).map_or(text, |at| &text[..at]);
    let last = boundary(text.len().saturating_sub(SEARCHED_BYTES)..text.len()).filter(|_| is_long);
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
    const MORE_LANGUAGES: [&str; 5] = ["sv", "el", "he", "hi", "th"];
    /// These have the words that matter most.
    const SOME_LANGUAGES: [&str; 4] = ["da", "no", "fi", "ro"];
    /// These have names of secret fields, which are refused and not asked about.
    const SECRET_LANGUAGES: [&str; 14] =
        ["hr", "sr", "bg", "mk", "sl", "sk", "lt", "lv", "et", "ca", "eu", "is", "ms", "af"];

    #[test]
    fn every_meaning_has_words_in_every_language_and_every_line_parses() {
        for (list, languages) in LISTS.into_iter().zip([&LANGUAGES[..], &MORE_LANGUAGES]) {
            let mut headings: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            let mut heading = "";
            for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
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
            assert_eq!(headings.len(), MEANINGS.len());
            for (name, meaning) in MEANINGS {
                let (all, some) = headings[name].split_at(languages.len());
                assert_eq!(all, languages, "{name}");
                let matters =
                    matches!(meaning, Meaning::Destroy | Meaning::Send | Meaning::Pay | Meaning::Secret);
                let secret: &[&str] = if meaning == Meaning::Secret { &SECRET_LANGUAGES } else { &[] };
                if matters && languages.len() == 5 {
                    assert_eq!(some, [&SOME_LANGUAGES[..], secret].concat(), "{name}");
                }
            }
        }
    }

    #[test]
    fn a_word_counts_only_in_its_position() {
        for (text, meaning, expected) in [
            ("Delete", Meaning::Destroy, true),
            ("undeletable", Meaning::Destroy, false),
            ("Deleted items", Meaning::Destroy, true),
            ("repayable", Meaning::Pay, false),
            ("Pay $5.00", Meaning::Pay, true),
            ("Post", Meaning::Send, true),
            ("Post office", Meaning::Send, false),
            ("Удаление", Meaning::Destroy, true),
            ("この商品を削除する", Meaning::Destroy, true),
            ("Đặt   hàng", Meaning::Pay, true),
            ("LÖSCHEN!", Meaning::Destroy, true),
            ("SİL", Meaning::Destroy, true),
            ("silver", Meaning::Destroy, false),
        ] {
            assert_eq!(Meanings::of(text).has(meaning), expected, "{text}");
        }
    }

    #[test]
    fn look_alike_letters_are_found() {
        for text in ["Ｄｅｌｅｔｅ", "𝐃𝐞𝐥𝐞𝐭𝐞", "D\u{435}lete", "De\u{200b}le\u{ad}te", "\u{202e}Delete"]
        {
            assert!(Meanings::of(text).has(Meaning::Destroy), "{text:?}");
        }
        // Cyrillic letters throughout.
        assert!(Meanings::of("\u{440}\u{430}\u{443}").has(Meaning::Pay));
        assert!(Meanings::of("Xo\u{301}a").has(Meaning::Destroy));
        // Greek capitals, of which some look like other letters than their small ones; small capitals.
        for text in ["ΡΑΥ now", "ΒUΥ", "ΤRΑΝSFΕR", "ᴘᴀʏ ɴᴏᴡ", "ᴄʜᴇᴄᴋᴏᴜᴛ"] {
            assert!(Meanings::of(text).has(Meaning::Pay), "{text}");
        }
        for text in ["ΡURGE", "ΤERΜΙΝΑΤΕ", "ᴅᴇʟᴇᴛᴇ", "dele\u{336}te\u{336}"] {
            assert!(Meanings::of(text).has(Meaning::Destroy), "{text}");
        }
    }

    #[test]
    fn padding_before_or_after_a_word_does_not_hide_it() {
        for fill in [0, 300, 1_500, 5_000, 500_000] {
            for fill in ["a ".repeat(fill), "é ".repeat(fill), "字 ".repeat(fill)] {
                assert!(Meanings::of(&format!("{fill} delete")).has(Meaning::Destroy));
                assert!(Meanings::of(&format!("delete {fill}")).has(Meaning::Destroy));
            }
        }
        assert!(Meanings::of(&format!("{0}delete {0}", "a ".repeat(900))).has(Meaning::Destroy));
    }
}
