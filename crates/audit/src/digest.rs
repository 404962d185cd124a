//! SHA-256 digests, and strict hexadecimal.

use sha2::{Digest as _, Sha256};

pub type Digest = [u8; 32];

pub fn sha256(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

/// The SHA-256 of some bytes, in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(sha256(bytes))
}

/// Decodes exactly `N` bytes of lower-case hexadecimal. Upper case is refused: two spellings of one hash would let a line
/// change without its meaning.
pub fn decode<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let is_lower = !text.iter().any(u8::is_ascii_uppercase);
    (is_lower && hex::decode_to_slice(text, &mut bytes).is_ok()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_one_spelling() {
        assert_eq!(hex::encode([0, 15, 255]), "000fff");
        assert_eq!(decode::<3>(b"000fff"), Some([0, 15, 255]));
        for bad in [b"000FFF".as_slice(), b"000ff", b"000ffg", b""] {
            assert_eq!(decode::<3>(bad), None);
        }
    }
}
