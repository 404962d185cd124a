//! Digests, and bytes as text.

use sha2::{Digest as _, Sha256};

pub type Digest = [u8; 32];

pub fn sha256(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

/// The SHA-256 of some bytes, in lower-case hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    encode(&sha256(bytes))
}

pub fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Exactly `N` bytes of lower-case hexadecimal: a second spelling would be a second text with one meaning.
pub fn decode<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if text.len() != N * 2 {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_one_spelling() {
        assert_eq!(encode(&[0, 15, 255]), "000fff");
        assert_eq!(decode::<3>(b"000fff"), Some([0, 15, 255]));
        for bad in [b"000FFF".as_slice(), b"000ff", b"000ffg", b""] {
            assert_eq!(decode::<3>(bad), None);
        }
    }
}
