//! Guesses at sealed secrets: a right one goes the way of a wrong one, everywhere.
//!
//! A whole secret in what an agent supplies is replaced by a decoy before it reaches the driver; replies show what was
//! supplied. In pictures the decoy would be seen, so text that has the shape of a secret is masked there whether it is
//! one or not: a placeholder has that shape too, so it is no secret.

use policy::SuppliedText;
use redact::{Decoys, Redacted, Secret};
use std::collections::VecDeque;
use std::ops::Range;

/// How much of what was typed is remembered: a secret may be typed in pieces.
const MAX_TYPED_BYTES: usize = 16 * 1024;
/// Texts in the shape of a secret that are masked in pictures; the oldest makes room.
const MAX_SHAPED: usize = 64;
/// Values of which the shape is compared.
const SHAPE_LENGTHS: std::ops::RangeInclusive<usize> = 8..=512;

#[derive(Default)]
pub struct Guesses {
    decoys: Decoys,
    /// What was typed, as it was sent, one after the other.
    typed: String,
    shaped: VecDeque<String>,
}

impl Guesses {
    /// What is sent in place of a text; `None` if it is sent as it is. `find` gives the places of whole secrets.
    pub fn replace(
        &mut self,
        how: SuppliedText,
        text: &str,
        find: &dyn Fn(&str) -> Vec<Range<usize>>,
    ) -> Option<String> {
        let before = match how {
            SuppliedText::Typed => self.typed.as_str(),
            SuppliedText::Whole => "",
        };
        let (whole, changeable) = ([before, text].concat(), before.len());
        let found = find(&whole);
        let sent = self.decoys.replace(&whole, &found, changeable);
        let new = &sent[changeable..];
        let new = (new != text).then(|| new.to_owned());
        if how == SuppliedText::Typed {
            let mut cut = sent.len().saturating_sub(MAX_TYPED_BYTES);
            while !sent.is_char_boundary(cut) {
                cut += 1;
            }
            self.typed = sent[cut..].to_owned();
        }
        new
    }

    /// Notes the texts in the shape of a secret among what was sent. Returns whether there are new ones.
    pub fn note_shapes(&mut self, how: SuppliedText, sent: &str, secrets: &[Vec<char>]) -> bool {
        let text: Vec<char> = match how {
            SuppliedText::Typed => self.typed.chars().collect(),
            SuppliedText::Whole => sent.chars().collect(),
        };
        let new_characters = sent.chars().count();
        let mut is_new = false;
        for secret in secrets.iter().filter(|secret| secret.len() <= text.len()) {
            let first = text.len().saturating_sub(new_characters + secret.len() - 1);
            for window in text[first..].windows(secret.len()).filter(|window| has_shape(window, secret)) {
                let shaped: String = window.iter().collect();
                if !self.shaped.contains(&shaped) {
                    self.shaped.push_back(shaped);
                    is_new = true;
                }
            }
        }
        self.shaped.drain(..self.shaped.len().saturating_sub(MAX_SHAPED));
        is_new
    }

    pub fn shaped(&self) -> impl Iterator<Item = &str> {
        self.shaped.iter().map(String::as_str)
    }

    /// Shows what the agent supplied where a decoy stands.
    pub fn restore(&self, text: Redacted) -> Redacted {
        if self.decoys.is_empty() { text } else { self.decoys.restore_redacted(text) }
    }
}

/// The values whose shape counts.
pub fn shapes<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Vec<Vec<char>> {
    let leaves = secrets.into_iter().flat_map(Secret::leaves);
    let shapes = leaves.map(|leaf| leaf.expose_secret().chars().collect::<Vec<char>>());
    shapes.filter(|shape| SHAPE_LENGTHS.contains(&shape.len())).collect()
}

/// Whether letters and digits stand where a placeholder of the secret could have them.
fn has_shape(text: &[char], secret: &[char]) -> bool {
    let is_hex = secret.iter().all(|c| c.is_ascii_hexdigit() || !c.is_alphanumeric());
    text.iter().zip(secret).all(|(one, other)| match (one, other) {
        (one, other) if is_hex && other.is_ascii_hexdigit() => one.is_ascii_hexdigit(),
        (one, other) if other.is_ascii_digit() => one.is_ascii_digit(),
        (one, other) if other.is_alphabetic() => one.is_alphabetic(),
        (one, other) => one == other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "Kq7vXw2mZt9pLb4nYc6Rd8";

    fn find(text: &str) -> Vec<Range<usize>> {
        text.match_indices(SECRET).map(|(at, found)| at..at + found.len()).collect()
    }

    #[test]
    fn a_secret_is_never_sent_whole_however_it_is_supplied() {
        for pieces in [
            vec![SECRET.to_owned()],
            vec![SECRET[..9].to_owned(), SECRET[9..].to_owned()],
            SECRET.chars().map(String::from).collect(),
        ] {
            let mut guesses = Guesses::default();
            let mut sent = String::new();
            for piece in &pieces {
                let new = guesses.replace(SuppliedText::Typed, piece, &find);
                sent.push_str(&new.unwrap_or_else(|| piece.clone()));
            }
            assert!(sent.len() == SECRET.len() && sent != SECRET, "{sent}");
            assert_eq!(
                guesses.restore(Redacted::outside_sessions(format!("wrote {sent}"))),
                format!("wrote {SECRET}")
            );
        }
        let mut guesses = Guesses::default();
        let url = format!("https://a.test/?q={SECRET}");
        assert!(guesses.replace(SuppliedText::Whole, &url, &find).is_some_and(|sent| sent != url));
        assert!(guesses.replace(SuppliedText::Whole, &SECRET[1..], &find).is_none());
        // What is no typing does not interrupt it.
        guesses.replace(SuppliedText::Typed, &SECRET[..9], &find);
        guesses.replace(SuppliedText::Whole, "a button", &find);
        assert!(guesses.replace(SuppliedText::Typed, &SECRET[9..], &find).is_some());
    }

    #[test]
    fn a_right_guess_and_a_wrong_one_of_its_shape_are_masked_alike() {
        let secrets = shapes(&[Secret::new(SECRET.to_owned()), Secret::new("0123456789abcdef".to_owned())]);
        let wrong = "Ab1cDe2fGh3iJk4lMn5Op6";
        for (text, expected) in [
            (SECRET, true),
            (wrong, true),
            ("xxAb1cDe2fGh3iJk4lMn5Op6yy", true),
            ("AB1CDE2FGH3IJK4LMN5OP6", true),
            ("fedcba9876543210", true),
            ("ffffffffffffffff", true),
            ("an ordinary sentence of words", false),
            ("Ab1cDe2fGh3iJk4lMn5Opq", false),
            ("short", false),
        ] {
            let mut guesses = Guesses::default();
            assert_eq!(guesses.note_shapes(SuppliedText::Whole, text, &secrets), expected, "{text}");
            // Key by key as well.
            let mut guesses = Guesses::default();
            let noted = text.chars().map(|c| {
                guesses.replace(SuppliedText::Typed, &c.to_string(), &|_| Vec::new());
                guesses.note_shapes(SuppliedText::Typed, &c.to_string(), &secrets)
            });
            assert_eq!(noted.filter(|noted| *noted).count() > 0, expected, "{text}, typed");
        }
    }
}
