//! One spelling for texts that read the same.

use icu_normalizer::ComposingNormalizerBorrowed;

/// Without case, odd widths, invisible letters and repeated spaces.
pub(crate) fn fold(text: &str) -> String {
    spellings(text).0
}

/// The text, folded; and once more with the letters that look Latin written in Latin, if it has such. Capitals are looked
/// at as such: the Greek Υ looks like a Y, and its small letter like a u.
pub(crate) fn spellings(text: &str) -> (String, Option<String>) {
    if text.is_ascii() {
        return (spaced(text.chars().map(|c| c.to_ascii_lowercase()), text.len()), None);
    }
    let composed = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
    let folded = lowered(composed.chars(), text.len());
    let is_disguised = composed.chars().any(|c| twin(c) != c || is_stroke(c));
    let plain = || lowered(composed.chars().filter(|c| !is_stroke(*c)).map(twin), text.len());
    (folded, is_disguised.then(plain))
}

fn lowered(letters: impl Iterator<Item = char>, length: usize) -> String {
    // The Turkish capital İ is lowered to an i with a dot above it.
    spaced(letters.flat_map(char::to_lowercase).filter(|c| *c != '\u{307}' && !is_unseen(*c)), length)
}

fn spaced(letters: impl Iterator<Item = char>, length: usize) -> String {
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

/// Joiners, marks of direction, soft hyphens and the like: they part a word without being seen.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Marks that are drawn over, under or through a letter and have not become one letter with it.
fn is_stroke(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// The Latin letter that a Cyrillic, a Greek or a small capital one looks like, or itself.
fn twin(c: char) -> char {
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
