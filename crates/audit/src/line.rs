//! The form of a line: `{"seq":…,"prev":"…",` the event `,"sig":"…","hash":"…"}`.
//!
//! `prev` is the `hash` of the line before, and `hash` covers every byte before it. So a line cannot be changed, moved,
//! added or removed without a mismatch at a known location. The last line of each group that is written at once also has
//! a `sig` over everything before it: a log that ends without one was truncated or extended.

use crate::digest::{self, Digest, sha256};
use crate::key::{Key, PublicKey};

/// The longest line that is written or read, in bytes.
pub const LONGEST_LINE: usize = 48 * 1024;

const CONTEXT: &str = "stockade audit line";
const PREV: &str = ",\"prev\":\"";
const SIG: &str = ",\"sig\":\"";
const HASH: &str = ",\"hash\":\"";

/// A point in a chain: the number and hash of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub seq: u64,
    pub hash: Digest,
}

impl Link {
    /// Before the first line.
    pub const START: Link = Link { seq: 0, hash: [0; 32] };
}

/// A parsed line whose hash is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedLine {
    pub seq: u64,
    pub prev: Digest,
    pub hash: Digest,
    pub sig: Option<String>,
    /// What a signature covers.
    signed: Digest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineDefect {
    /// It does not have the format of a line.
    Malformed,
    /// Its hash is wrong.
    Changed,
}

/// Formats an event (the fields of a JSON object without its braces) as the line after `last`, without a line end.
pub fn seal(last: Link, fields: &str, sign: Option<(&Key, &str)>) -> (String, Link) {
    let seq = last.seq + 1;
    let mut text = format!("{{\"seq\":{seq}{PREV}{}\",{fields}", hex::encode(last.hash));
    if let Some((key, chain)) = sign {
        let signature = key.sign(CONTEXT, &message(chain, &sha256(text.as_bytes())));
        text.push_str(&format!("{SIG}{signature}\""));
    }
    let hash = sha256(text.as_bytes());
    text.push_str(&format!("{HASH}{}\"}}", hex::encode(hash)));
    (text, Link { seq, hash })
}

/// Parses a line and checks its hash.
pub fn parse(line: &[u8]) -> Result<ParsedLine, LineDefect> {
    let body = line.strip_suffix(b"\"}").ok_or(LineDefect::Malformed)?;
    let (body, hash) = take_last::<32>(body, HASH).ok_or(LineDefect::Malformed)?;
    let rest = line.strip_prefix(b"{\"seq\":").ok_or(LineDefect::Malformed)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = rest.split_at(digits);
    let seq =
        std::str::from_utf8(number).ok().and_then(|text| text.parse().ok()).ok_or(LineDefect::Malformed)?;
    let prev =
        rest.strip_prefix(PREV.as_bytes()).and_then(|rest| rest.get(..64)).ok_or(LineDefect::Malformed)?;
    let prev = digest::decode(prev).ok_or(LineDefect::Malformed)?;
    if sha256(body) != hash {
        return Err(LineDefect::Changed);
    }
    let signature = body.strip_suffix(b"\"").and_then(|body| take_last::<64>(body, SIG));
    let signed = sha256(signature.map_or(body, |(before, _)| before));
    Ok(ParsedLine { seq, prev, hash, sig: signature.map(|(_, bytes)| hex::encode(bytes)), signed })
}

impl ParsedLine {
    pub fn link(&self) -> Link {
        Link { seq: self.seq, hash: self.hash }
    }

    /// Whether its signature is this key's; `None` if it has none.
    pub fn is_signed_by(&self, key: &PublicKey, chain: &str) -> Option<bool> {
        self.sig.as_ref().map(|sig| key.verifies(CONTEXT, &message(chain, &self.signed), sig))
    }
}

fn message(chain: &str, signed: &Digest) -> Vec<u8> {
    [chain.as_bytes(), b"\0", signed].concat()
}

/// Splits `label` and `N` bytes in hexadecimal off the end.
fn take_last<'a, const N: usize>(text: &'a [u8], label: &str) -> Option<(&'a [u8], [u8; N])> {
    let (rest, digits) = text.split_at(text.len().checked_sub(N * 2)?);
    Some((rest.strip_suffix(label.as_bytes())?, digest::decode(digits)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_line_parses() {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::load_or_create(&folder.path().join("k")).unwrap();
        let (first, link) = seal(Link::START, "\"a\":1", None);
        let (second, end) = seal(link, "\"a\":2", Some((&key, "c")));
        let (first, second) = (parse(first.as_bytes()).unwrap(), parse(second.as_bytes()).unwrap());
        assert_eq!((first.seq, first.prev, first.link()), (1, [0; 32], link));
        assert_eq!((second.seq, second.prev, second.link()), (2, link.hash, end));
        assert_eq!(first.is_signed_by(&key.public(), "c"), None);
        assert_eq!(second.is_signed_by(&key.public(), "c"), Some(true));
        assert_eq!(second.is_signed_by(&key.public(), "d"), Some(false));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let (line, _) = seal(Link { seq: 41, hash: [7; 32] }, "\"event\":\"ä\"", None);
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut bytes = line.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                assert!(parse(&bytes).is_err(), "byte {at}, bit {bit}");
            }
        }
    }
}
