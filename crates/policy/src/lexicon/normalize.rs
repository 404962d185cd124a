//! Text normalization: one spelling for texts that look the same.

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

/// Removes case, width variants, invisible characters and repeated spaces.
pub(crate) fn normalize(text: &str) -> String {
    spellings(text).0
}

/// The normalized text; and, if it has letters that look Latin, once more with those replaced. Capitals are replaced
/// before lower-casing: the Greek Υ looks like a Y, and its lower case like a u.
pub(crate) fn spellings(text: &str) -> (String, Option<String>) {
    if text.is_ascii() {
        return (collapse_spaces(text.chars().map(|c| c.to_ascii_lowercase()), text.len()), None);
    }
    let composed = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
    let normalized = lowered(composed.chars(), text.len());
    let has_lookalikes = composed.chars().any(|c| latin_lookalike(c) != c || is_combining_mark(c));
    let latin =
        || lowered(composed.chars().filter(|c| !is_combining_mark(*c)).map(latin_lookalike), text.len());
    (normalized, has_lookalikes.then(latin))
}

/// Spellings of a word without accents, as addresses have it: `loschen` and `loeschen` for `löschen`.
pub(crate) fn fold_latin(word: &str) -> Vec<String> {
    let plain: String = word.to_lowercase().chars().filter(|c| *c != '\u{307}').collect();
    let umlauts =
        plain.replace('ä', "ae").replace('ö', "oe").replace('ü', "ue").replace('å', "aa").replace('ø', "oe");
    let mut spellings: Vec<String> = [plain, umlauts].iter().map(|text| strip_accents(text)).collect();
    spellings.dedup();
    spellings
}

fn strip_accents(text: &str) -> String {
    let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(text);
    let mut folded = String::with_capacity(text.len());
    for letter in decomposed.chars().filter(|c| !is_combining_mark(*c)) {
        match letter {
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'ł' => folded.push('l'),
            'ø' => folded.push('o'),
            'đ' => folded.push('d'),
            'ı' => folded.push('i'),
            other => folded.push(other),
        }
    }
    folded
}

fn lowered(letters: impl Iterator<Item = char>, length: usize) -> String {
    // The lower case of the Turkish İ is an i with a combining dot above.
    collapse_spaces(
        letters.flat_map(char::to_lowercase).filter(|c| *c != '\u{307}' && !is_invisible(*c)),
        length,
    )
}

fn collapse_spaces(letters: impl Iterator<Item = char>, length: usize) -> String {
    let mut text = String::with_capacity(length);
    for letter in letters {
        if !letter.is_whitespace() {
            text.push(letter);
        } else if !text.is_empty() && !text.ends_with(' ') {
            text.push(' ');
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// Joiners, direction marks, soft hyphens and the like: they split a word invisibly.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Marks over, under or through a letter that did not compose with it.
fn is_combining_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// The Latin letter that a Cyrillic, Greek or small-capital letter looks like, or the letter itself.
fn latin_lookalike(c: char) -> char {
    match c {
        'а' | 'А' | 'α' | 'Α' | 'ᴀ' => 'a',
        'в' | 'В' | 'β' | 'Β' | 'ʙ' => 'b',
        'с' | 'С' | 'ς' | 'ᴄ' => 'c',
        'ԁ' | 'Ԁ' | 'ᴅ' => 'd',
        'е' | 'Е' | 'ё' | 'Ё' | 'ε' | 'Ε' | 'ᴇ' => 'e',
        'ꜰ' => 'f',
        'ɢ' => 'g',
        'һ' | 'Һ' | 'н' | 'Н' | 'Η' | 'ʜ' => 'h',
        'і' | 'І' | 'ї' | 'Ї' | 'ι' | 'Ι' | 'ɪ' => 'i',
        'ј' | 'Ј' | 'ᴊ' => 'j',
        'к' | 'К' | 'κ' | 'Κ' | 'ᴋ' => 'k',
        'ӏ' | 'Ӏ' | 'ʟ' => 'l',
        'м' | 'М' | 'Μ' | 'ᴍ' => 'm',
        'η' | 'Ν' | 'ɴ' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | 'σ' | 'ᴏ' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' | 'ᴘ' => 'p',
        'ԛ' | 'Ԛ' | 'ꞯ' => 'q',
        'ʀ' => 'r',
        'ѕ' | 'Ѕ' | 'ꜱ' => 's',
        'т' | 'Т' | 'τ' | 'Τ' | 'ᴛ' => 't',
        'υ' | 'μ' | 'ᴜ' => 'u',
        'ѵ' | 'Ѵ' | 'ν' | 'ᴠ' => 'v',
        'ԝ' | 'Ԝ' | 'ω' | 'ᴡ' => 'w',
        'х' | 'Х' | 'χ' | 'Χ' => 'x',
        'у' | 'У' | 'γ' | 'Υ' | 'ʏ' => 'y',
        'Ζ' | 'ᴢ' => 'z',
        other => other,
    }
}
