//! Searches bytes for canaries in any encoding.
//!
//! It shares no code with the redactor, which it tests: it decodes every known encoding, layer by layer, and compares the
//! letters and digits that remain.

use std::collections::{BTreeSet, HashMap};
use testkit::leak_site::MARK;
use testkit::leak_site::canary::{Canaries, Kind};
use testkit::leak_site::forms::PART;

/// Layers of escapes that are decoded.
const LAYERS: usize = 4;
/// The longest distance between a mark and its value.
const REACH: usize = 4096;
/// The longest text between `<` and `>` that counts as a tag.
const LONGEST_TAG: usize = 2048;

/// A canary that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CanaryMatch {
    pub kind: Kind,
    /// Its encoding.
    pub writing: &'static str,
    /// Where the site echoed it, if a mark says so.
    pub echoed: Option<String>,
}

pub struct CanarySearcher {
    /// Every part of a canary that counts as a match, in lower case.
    parts: HashMap<[u8; PART], Kind>,
    /// The first three bytes of each part, as a quick filter.
    begins: BTreeSet<[u8; 3]>,
    /// The same as a table of hashes.
    likely: Box<[bool; 4096]>,
}

impl CanarySearcher {
    pub fn new(canaries: &Canaries) -> CanarySearcher {
        let (parts, begins, likely) = (HashMap::new(), BTreeSet::new(), Box::new([false; 4096]));
        let mut searcher = CanarySearcher { parts, begins, likely };
        for canary in canaries.all() {
            searcher.add_value(canary.kind, &canary.value);
        }
        searcher
    }

    /// Adds a value to search for.
    pub fn add_value(&mut self, kind: Kind, value: &str) {
        let letters = keep_alphanumeric(value.as_bytes());
        for part in letters.windows(PART).filter_map(|part| <[u8; PART]>::try_from(part).ok()) {
            let begin = [part[0], part[1], part[2]];
            self.likely[filter_slot(begin)] = true;
            self.begins.insert(begin);
            self.parts.insert(part, kind);
        }
    }

    /// Finds every kind of canary, each encoding once.
    pub fn search(&self, bytes: &[u8]) -> BTreeSet<CanaryMatch> {
        let mut hits = BTreeSet::new();
        let mut layer = bytes.to_vec();
        for depth in 0..=LAYERS {
            self.search_layer(&layer, depth > 0, &mut hits);
            let next = unescape_once(&layer);
            if next == layer {
                break;
            }
            layer = next;
        }
        hits
    }

    /// Searches without decoding: for compressed data.
    pub fn search_packed(&self, bytes: &[u8]) -> BTreeSet<CanaryMatch> {
        let mut hits = BTreeSet::new();
        self.scan(&keep_alphanumeric(bytes), "as it is, or spaced out", &mut hits);
        hits
    }

    fn search_layer(&self, text: &[u8], was_escaped: bool, hits: &mut BTreeSet<CanaryMatch>) {
        let plain = if was_escaped { "escaped" } else { "as it is, or spaced out" };
        let tagless = text.contains(&b'<').then(|| strip_tags(text));
        for text in std::iter::once(text).chain(tagless.as_deref()) {
            let letters = keep_alphanumeric(text);
            self.scan(&letters, plain, hits);
            self.search_hex(&letters, hits);
            self.search_base64(text, hits);
        }
    }

    fn search_base64(&self, text: &[u8], hits: &mut BTreeSet<CanaryMatch>) {
        let digits: Vec<u8> =
            text.iter().filter(|byte| !byte.is_ascii_whitespace()).map(|&byte| sextet(byte)).collect();
        for run in digits.split(|&digit| digit == NO_DIGIT).filter(|run| run.len() >= PART * 4 / 3) {
            for offset in 0..4 {
                let decoded = run.get(offset..).map(decode_sextets).unwrap_or_default();
                self.scan(&keep_alphanumeric(&decoded), "base64", hits);
            }
        }
    }

    fn search_hex(&self, letters: &[u8], hits: &mut BTreeSet<CanaryMatch>) {
        for run in letters.split(|byte| !byte.is_ascii_hexdigit()).filter(|run| run.len() >= PART * 2) {
            for offset in 0..2 {
                let pairs = run.get(offset..).unwrap_or_default().chunks_exact(2);
                let decoded: Vec<u8> = pairs.map(|pair| nibble(pair[0]) * 16 + nibble(pair[1])).collect();
                self.scan(&keep_alphanumeric(&decoded), "hex", hits);
            }
        }
    }

    /// `letters` is the result of [`keep_alphanumeric`].
    fn scan(&self, letters: &[u8], writing: &'static str, hits: &mut BTreeSet<CanaryMatch>) {
        let mut last = None;
        for (at, window) in letters.windows(PART).enumerate() {
            let begin = [window[0], window[1], window[2]];
            if !self.likely[filter_slot(begin)] || !self.begins.contains(&begin) {
                continue;
            }
            let Ok(part) = <[u8; PART]>::try_from(window) else { continue };
            if let Some(&kind) = self.parts.get(&part) {
                // Overlapping windows belong to the same value.
                if last.is_none_or(|(seen, from)| seen != kind || at - from > 1) {
                    hits.insert(CanaryMatch { kind, writing, echoed: last_mark(&letters[..at]) });
                }
                last = Some((kind, at));
            }
        }
    }
}

/// The name in the last mark of the preceding text.
fn last_mark(before: &[u8]) -> Option<String> {
    let near = &before[before.len().saturating_sub(REACH)..];
    let text = std::str::from_utf8(near).ok()?;
    let end = text.rfind(MARK.1)?;
    let start = text[..end].rfind(MARK.0)? + MARK.0.len();
    let name = &text[start..end];
    (name.len() < 24 && name.bytes().all(|byte| byte.is_ascii_lowercase())).then(|| name.to_owned())
}

fn filter_slot([a, b, c]: [u8; 3]) -> usize {
    (usize::from(a) * 131 + usize::from(b) * 31 + usize::from(c)) % 4096
}

/// Keeps letters and digits, in lower case: spaces, hyphens, quotes and invisible characters are ignored.
fn keep_alphanumeric(text: &[u8]) -> Vec<u8> {
    text.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
}

fn strip_tags(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let opens = text[at] == b'<'
            && text.get(at + 1).is_some_and(|next| next.is_ascii_alphabetic() || b"/!".contains(next));
        if opens {
            let near = &text[at..text.len().min(at + LONGEST_TAG)];
            if let Some(length) = near.iter().position(|&byte| byte == b'>') {
                at += length + 1;
                continue;
            }
        }
        out.push(text[at]);
        at += 1;
    }
    out
}

/// Decodes one layer of percent, HTML, JSON and JavaScript escapes.
fn unescape_once(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let (byte, length) = match text[at] {
            b'%' | b'&' | b'\\' => decode_escape(&text[at..text.len().min(at + 12)]),
            other => (other, 1),
        };
        out.push(byte);
        at += length;
    }
    out
}

/// Replaces a character that is no ASCII letter or digit.
const OTHER: u8 = 0;

/// Decodes the escape at the start of the text; returns the character and the escape's length.
fn decode_escape(text: &[u8]) -> (u8, usize) {
    let digits = |from: usize, count: usize| parse_number(text.get(from..from + count)?, 16);
    let found = match text {
        [b'%', ..] => digits(1, 2).map(|code| (code, 3)),
        [b'&', b'#', b'x' | b'X', rest @ ..] => {
            parse_entity(rest, 16).map(|(code, length)| (code, length + 3))
        }
        [b'&', b'#', rest @ ..] => parse_entity(rest, 10).map(|(code, length)| (code, length + 2)),
        [b'&', rest @ ..] => {
            let end = rest.iter().position(|&byte| byte == b';').filter(|&end| end > 0);
            let name = end.map(|end| (&rest[..end], end + 2));
            name.filter(|(name, _)| name.iter().all(u8::is_ascii_alphabetic)).map(|(name, length)| {
                let code = if name == b"amp" { u32::from(b'&') } else { u32::from(OTHER) };
                (code, length)
            })
        }
        [b'\\', b'u', ..] => digits(2, 4).map(|code| (code, 6)),
        [b'\\', b'x', ..] => digits(2, 2).map(|code| (code, 4)),
        [b'\\', b'\\', ..] => Some((u32::from(b'\\'), 2)),
        [b'\\', b'n' | b'r' | b't' | b'b' | b'f', ..] => Some((u32::from(b' '), 2)),
        [b'\\', after, ..] if !after.is_ascii_alphanumeric() => Some((u32::from(*after), 2)),
        _ => None,
    };
    match found {
        Some((code, length)) => (u8::try_from(code).ok().filter(u8::is_ascii).unwrap_or(OTHER), length),
        None => (text[0], 1),
    }
}

/// Parses the number before the semicolon.
fn parse_entity(rest: &[u8], base: u32) -> Option<(u32, usize)> {
    let end = rest.iter().position(|&byte| byte == b';')?;
    parse_number(&rest[..end], base).map(|code| (code, end + 1))
}

fn parse_number(digits: &[u8], base: u32) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok().filter(|text| !text.is_empty() && !text.starts_with('+'))?;
    u32::from_str_radix(text, base).ok()
}

fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => digit.to_ascii_lowercase().wrapping_sub(b'a').wrapping_add(10),
    }
}

const NO_DIGIT: u8 = 0xff;

/// Decodes a base64 digit of either alphabet.
fn sextet(byte: u8) -> u8 {
    match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => NO_DIGIT,
    }
}

fn decode_sextets(digits: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4 + 2);
    for four in digits.chunks(4) {
        let bits =
            four.iter().fold(0_u32, |bits, &digit| bits << 6 | u32::from(digit)) << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::leak_site::forms::FORMS;
    use testkit::leak_site::mark;

    #[test]
    fn every_encoding_is_found_as_text_and_in_a_page() {
        let canaries = Canaries::plant();
        let searcher = CanarySearcher::new(&canaries);
        for form in &FORMS {
            for canary in canaries.all() {
                for shown in [form.text(&canary.value), form.html(&canary.value).into_string()] {
                    for text in [
                        shown.clone(),
                        format!("<p>Your key is {}{shown}!</p>", mark("text")),
                        serde_json::json!({"text": format!("a\nb\"{shown}\"")}).to_string(),
                    ] {
                        let hits = searcher.search(text.as_bytes());
                        let kinds: Vec<Kind> = hits.iter().map(|hit| hit.kind).collect();
                        assert!(kinds.contains(&canary.kind), "{}: {text}", form.name);
                    }
                }
            }
        }
    }

    #[test]
    fn a_match_names_where_the_site_echoed_it() {
        let canaries = Canaries::plant();
        let value = canaries.of(Kind::Header);
        let text = format!("{} nothing here, {} {value}", mark("title"), mark("alt"));
        let hits = CanarySearcher::new(&canaries).search(text.as_bytes());
        let expected = CanaryMatch {
            kind: Kind::Header,
            writing: "as it is, or spaced out",
            echoed: Some("alt".into()),
        };
        assert_eq!(hits, BTreeSet::from([expected]));
    }

    #[test]
    fn a_part_below_the_minimum_and_other_values_do_not_match() {
        let canaries = Canaries::plant();
        let searcher = CanarySearcher::new(&canaries);
        let value = canaries.of(Kind::CookieHttpOnly);
        assert!(searcher.search(format!("it begins with {}.", &value[..PART - 1]).as_bytes()).is_empty());
        assert!(!searcher.search(format!("it begins with {}.", &value[..PART]).as_bytes()).is_empty());
        let others = Canaries::plant();
        let strange: String = others.all().iter().map(|canary| canary.value.clone() + "\n").collect();
        assert!(searcher.search(strange.as_bytes()).is_empty());
    }

    #[test]
    fn wide_characters_in_a_file_are_found() {
        let canaries = Canaries::plant();
        let wide: Vec<u8> =
            canaries.of(Kind::LocalStorage).encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(CanarySearcher::new(&canaries).search(&wide).len(), 1);
    }
}
