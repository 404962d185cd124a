//! Random text that cannot be guessed, from the operating system's generator.

use zeroize::Zeroizing;

/// Letters and digits: 43 of them are 256 bits.
pub const ALPHANUMERIC: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Lower-case letters and digits that no reader confuses: 32 of them, so each character has 5 bits.
pub const UNAMBIGUOUS: &str = "abcdefghijkmnpqrstuvwxyz23456789";

/// `length` characters of the ASCII alphabet, each equally likely.
pub fn random_text(alphabet: &'static str, length: usize) -> Result<Zeroizing<String>, getrandom::Error> {
    let letters = alphabet.as_bytes();
    // Larger bytes would make the first letters likelier than the rest.
    let even = 256 - 256 % letters.len();
    let mut text = Zeroizing::new(String::with_capacity(length));
    while text.len() < length {
        let mut bytes = Zeroizing::new([0u8; 64]);
        getrandom::fill(&mut *bytes)?;
        let missing = length - text.len();
        let fair = bytes.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < even);
        text.extend(fair.take(missing).map(|byte| char::from(letters[byte % letters.len()])));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_letter_occurs_and_no_text_repeats() {
        for alphabet in [ALPHANUMERIC, UNAMBIGUOUS] {
            let texts: BTreeSet<String> =
                (0..100).map(|_| random_text(alphabet, 43).unwrap().to_string()).collect();
            assert!(texts.len() == 100 && texts.iter().all(|text| text.len() == 43));
            let used: BTreeSet<char> = texts.iter().flat_map(|text| text.chars()).collect();
            assert_eq!(used, alphabet.chars().collect());
        }
        assert!(random_text(ALPHANUMERIC, 0).unwrap().is_empty());
    }
}
