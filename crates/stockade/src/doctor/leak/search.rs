//! Looks for canaries in anything, in whatever writing they stand there.
//!
//! It shares nothing with the redactor, which it is there to judge: it undoes every writing it knows, layer by layer, and
//! looks at the letters and digits that are left.

use std::collections::{BTreeSet, HashMap};
use testkit::leak_site::MARK;
use testkit::leak_site::canary::{Canaries, Kind};
use testkit::leak_site::forms::PART;

/// How many layers of escapes are taken off.
const LAYERS: usize = 4;
/// The farthest that a mark stands before its value.
const REACH: usize = 4096;
/// The longest thing between `<` and `>` that is taken for a tag.
const LONGEST_TAG: usize = 2048;

/// A canary was there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    pub kind: Kind,
    /// How it was written there.
    pub writing: &'static str,
    /// Where the site had put it, if that can be told.
    pub echoed: Option<String>,
}

pub struct Searcher {
    /// Every part that counts, in lower case.
    parts: HashMap<[u8; PART], Kind>,
    /// The first three bytes of each part: most text is passed over by these.
    begins: BTreeSet<[u8; 3]>,
    /// The same as bits by a sum of the three.
    likely: Box<[bool; 4096]>,
}

impl Searcher {
    pub fn new(canaries: &Canaries) -> Searcher {
        let (parts, begins, likely) = (HashMap::new(), BTreeSet::new(), Box::new([false; 4096]));
        let mut searcher = Searcher { parts, begins, likely };
        for canary in canaries.all() {
            searcher.also(canary.kind, &canary.value);
        }
        searcher
    }

    /// One more thing to look for.
    pub fn also(&mut self, kind: Kind, value: &str) {
        let letters = squeezed(value.as_bytes());
        for part in letters.windows(PART).filter_map(|part| <[u8; PART]>::try_from(part).ok()) {
            let begin = [part[0], part[1], part[2]];
            self.likely[slot(begin)] = true;
            self.begins.insert(begin);
            self.parts.insert(part, kind);
        }
    }

    /// Every kind of canary in it, each writing once.
    pub fn search(&self, bytes: &[u8]) -> BTreeSet<Hit> {
        let mut hits = BTreeSet::new();
        let mut layer = bytes.to_vec();
        for depth in 0..=LAYERS {
            self.layer(&layer, depth > 0, &mut hits);
            let next = unescaped(&layer);
            if next == layer {
                break;
            }
            layer = next;
        }
        hits
    }

    /// As it is alone: for what is packed, where nothing could be undone.
    pub fn search_packed(&self, bytes: &[u8]) -> BTreeSet<Hit> {
        let mut hits = BTreeSet::new();
        self.scan(&squeezed(bytes), "as it is, or spaced out", &mut hits);
        hits
    }

    fn layer(&self, text: &[u8], was_escaped: bool, hits: &mut BTreeSet<Hit>) {
        let plain = if was_escaped { "escaped" } else { "as it is, or spaced out" };
        let tagless = text.contains(&b'<').then(|| without_tags(text));
        for text in std::iter::once(text).chain(tagless.as_deref()) {
            let letters = squeezed(text);
            self.scan(&letters, plain, hits);
            self.hex(&letters, hits);
            self.base64(text, hits);
        }
    }

    fn base64(&self, text: &[u8], hits: &mut BTreeSet<Hit>) {
        let digits: Vec<u8> =
            text.iter().filter(|byte| !byte.is_ascii_whitespace()).map(|&byte| sextet(byte)).collect();
        for run in digits.split(|&digit| digit == NO_DIGIT).filter(|run| run.len() >= PART * 4 / 3) {
            for offset in 0..4 {
                let decoded = run.get(offset..).map(joined).unwrap_or_default();
                self.scan(&squeezed(&decoded), "base64", hits);
            }
        }
    }

    fn hex(&self, letters: &[u8], hits: &mut BTreeSet<Hit>) {
        for run in letters.split(|byte| !byte.is_ascii_hexdigit()).filter(|run| run.len() >= PART * 2) {
            for offset in 0..2 {
                let pairs = run.get(offset..).unwrap_or_default().chunks_exact(2);
                let decoded: Vec<u8> = pairs.map(|pair| nibble(pair[0]) * 16 + nibble(pair[1])).collect();
                self.scan(&squeezed(&decoded), "hex", hits);
            }
        }
    }

    /// `letters` are squeezed.
    fn scan(&self, letters: &[u8], writing: &'static str, hits: &mut BTreeSet<Hit>) {
        let mut last = None;
        for (at, window) in letters.windows(PART).enumerate() {
            let begin = [window[0], window[1], window[2]];
            if !self.likely[slot(begin)] || !self.begins.contains(&begin) {
                continue;
            }
            let Ok(part) = <[u8; PART]>::try_from(window) else { continue };
            if let Some(&kind) = self.parts.get(&part) {
                // The next windows are of the same value.
                if last.is_none_or(|(seen, from)| seen != kind || at - from > 1) {
                    hits.insert(Hit { kind, writing, echoed: marked(&letters[..at]) });
                }
                last = Some((kind, at));
            }
        }
    }
}

/// The name in the last mark before here.
fn marked(before: &[u8]) -> Option<String> {
    let near = &before[before.len().saturating_sub(REACH)..];
    let text = std::str::from_utf8(near).ok()?;
    let end = text.rfind(MARK.1)?;
    let start = text[..end].rfind(MARK.0)? + MARK.0.len();
    let name = &text[start..end];
    (name.len() < 24 && name.bytes().all(|byte| byte.is_ascii_lowercase())).then(|| name.to_owned())
}

fn slot([a, b, c]: [u8; 3]) -> usize {
    (usize::from(a) * 131 + usize::from(b) * 31 + usize::from(c)) % 4096
}

/// Letters and digits alone, in lower case: blanks, hyphens, quotes and characters that nobody sees are nothing.
fn squeezed(text: &[u8]) -> Vec<u8> {
    text.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
}

fn without_tags(text: &[u8]) -> Vec<u8> {
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

/// With one layer of percent, HTML, JSON and JavaScript escapes taken off.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let (byte, length) = match text[at] {
            b'%' | b'&' | b'\\' => escape(&text[at..text.len().min(at + 12)]),
            other => (other, 1),
        };
        out.push(byte);
        at += length;
    }
    out
}

/// Stands for a character that is no letter or digit.
const OTHER: u8 = 0;

/// What the text begins with, and how long that is written.
fn escape(text: &[u8]) -> (u8, usize) {
    let digits = |from: usize, count: usize| number(text.get(from..from + count)?, 16);
    let found = match text {
        [b'%', ..] => digits(1, 2).map(|code| (code, 3)),
        [b'&', b'#', b'x' | b'X', rest @ ..] => entity(rest, 16).map(|(code, length)| (code, length + 3)),
        [b'&', b'#', rest @ ..] => entity(rest, 10).map(|(code, length)| (code, length + 2)),
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

/// The number before the semicolon.
fn entity(rest: &[u8], base: u32) -> Option<(u32, usize)> {
    let end = rest.iter().position(|&byte| byte == b';')?;
    number(&rest[..end], base).map(|code| (code, end + 1))
}

fn number(digits: &[u8], base: u32) -> Option<u32> {
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

/// A digit of base64, of both alphabets.
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

fn joined(digits: &[u8]) -> Vec<u8> {
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
    fn every_form_of_the_written_list_is_found_as_text_and_in_a_page() {
        let canaries = Canaries::plant();
        let searcher = Searcher::new(&canaries);
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
    fn a_find_tells_where_the_site_had_put_it() {
        let canaries = Canaries::plant();
        let value = canaries.of(Kind::Header);
        let text = format!("{} nothing here, {} {value}", mark("title"), mark("alt"));
        let hits = Searcher::new(&canaries).search(text.as_bytes());
        let expected =
            Hit { kind: Kind::Header, writing: "as it is, or spaced out", echoed: Some("alt".into()) };
        assert_eq!(hits, BTreeSet::from([expected]));
    }

    #[test]
    fn nineteen_characters_are_no_find_and_neither_is_anything_else() {
        let canaries = Canaries::plant();
        let searcher = Searcher::new(&canaries);
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
        assert_eq!(Searcher::new(&canaries).search(&wide).len(), 1);
    }
}
