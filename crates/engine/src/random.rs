//! Random names that cannot be guessed.

/// `length` characters of a-z and 0-9 from the operating system's generator.
///
/// 32 letters make 5 bits each: 16 characters are 80 bits.
pub fn token(length: usize) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = vec![0; length];
    // Without randomness nothing here is safe to start; there is no lesser way on.
    #[expect(clippy::expect_used)]
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte & 31)])).collect()
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
