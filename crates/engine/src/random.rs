//! Unguessable random identifiers.

/// `length` lower-case letters and digits. Each has 5 bits: 16 characters are 80 bits.
pub fn token(length: usize) -> String {
    // Nothing here is safe without randomness, so there is no fallback.
    #[expect(clippy::expect_used)]
    let text =
        redact::random_text(redact::UNAMBIGUOUS, length).expect("the operating system gives random bytes");
    text.to_string()
}

#[cfg(test)]
mod tests {
    use super::token;

    #[test]
    fn tokens_differ_and_have_their_length() {
        assert_eq!(token(16).len(), 16);
        assert_ne!(token(16), token(16));
    }
}
