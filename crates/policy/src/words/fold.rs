//! One spelling for texts that read the same.

use icu_normalizer::ComposingNormalizerBorrowed;

/// Without case, odd widths, invisible letters and repeated spaces.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return spaced(text.chars().map(|c| c.to_ascii_lowercase()), text.len());
    }
    let composed = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
    // The Turkish capital İ is lowered to an i with a dot above it.
    let lowered = composed.chars().flat_map(char::to_lowercase).filter(|c| *c != '\u{307}' && !is_unseen(*c));
    spaced(lowered, text.len())
}

/// The text with the letters that look Latin written in Latin, if it has such.
pub(crate) fn undisguised(folded: &str) -> Option<String> {
    folded.chars().any(|c| twin(c) != c).then(|| folded.chars().map(twin).collect())
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

/// The Latin letter that a small Cyrillic or Greek one looks like, or itself.
fn twin(c: char) -> char {
    match c {
        'а' | 'α' => 'a',
        'в' | 'β' => 'b',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ё' | 'ε' => 'e',
        'һ' => 'h',
        'і' | 'ї' | 'ι' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'ӏ' => 'l',
        'м' => 'm',
        'н' => 'h',
        'о' | 'ο' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' => 'u',
        'ѵ' | 'ν' => 'v',
        'ԝ' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        other => other,
    }
}
