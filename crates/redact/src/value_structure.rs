//! The parts of a value that are secret, within the structure that pages read.
//!
//! Pages parse what they store: JSON, JSON in a string of JSON, base64 of JSON, JWTs, percent-encoded cookies. Keys,
//! numbers, dates and the claims of a JWT stay as they are, so that a page computes with them as before. The parts that
//! are left, the *leaves*, are replaced; what stands under the name of a credential always is one, numbers too. The same
//! walk finds the leaves of a secret and those of its placeholder.

use crate::escapes::escaped_byte;
use crate::secret::{MIN_LETTERS_AND_DIGITS, SHORTEST_SWAPPED, Secret};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};
use std::ops::Range;
use zeroize::Zeroizing;

/// Which strings within JSON are leaves.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Leaves {
    /// Those that look like tokens; names, addresses, dates and short words are not.
    Tokens,
    /// All of them.
    AllStrings,
}

/// JSON in JSON in JSON is followed this deep.
const DEEPEST: usize = 4;
/// What stands before a token and is none.
const SCHEMES: [&str; 5] = ["Bearer ", "bearer ", "Basic ", "Token ", "base64-"];

/// The value with every leaf replaced by what `leaf` gives for it: text of the same length in UTF-8, character by
/// character.
pub(crate) fn rewrite(
    value: &str,
    leaves: Leaves,
    leaf: &mut dyn FnMut(&str) -> Zeroizing<String>,
) -> Zeroizing<String> {
    Walk { leaves, leaf }.any(value, false, 0)
}

impl Secret {
    /// The parts of a stored document that are secret; the text itself if it is none.
    pub fn leaves(&self) -> Vec<Secret> {
        leaves_of(self.expose_secret()).into_iter().map(|leaf| Secret::new(leaf.to_string())).collect()
    }
}

/// The leaves, in order.
pub(crate) fn leaves_of(value: &str) -> Vec<Zeroizing<String>> {
    let mut found = Vec::new();
    rewrite(value, Leaves::Tokens, &mut |leaf| {
        found.push(Zeroizing::new(leaf.to_owned()));
        Zeroizing::new(leaf.to_owned())
    });
    found
}

struct Walk<'a> {
    leaves: Leaves,
    leaf: &'a mut dyn FnMut(&str) -> Zeroizing<String>,
}

/// A text with its escapes undone: each character with its place in the source.
struct UnescapedText {
    text: Zeroizing<String>,
    places: Vec<Range<usize>>,
}

impl Walk<'_> {
    fn any(&mut self, value: &str, in_json: bool, depth: usize) -> Zeroizing<String> {
        if depth >= DEEPEST {
            return self.plain(value, in_json);
        }
        if let Some(scheme) = SCHEMES.iter().find(|scheme| value.starts_with(**scheme)) {
            let rest = self.any(&value[scheme.len()..], in_json, depth + 1);
            return joined(&[scheme, &rest]);
        }
        if let Some(unescaped) = percent_unescaped(value) {
            let made = self.any(&unescaped.text, in_json, depth + 1);
            return unescaped.escaped_again(value, &made, |bytes, lower| {
                bytes.iter().map(|b| if lower { format!("%{b:02x}") } else { format!("%{b:02X}") }).collect()
            });
        }
        if is_json(value) {
            return self.json(value, depth);
        }
        if let Some(made) = self.base64(value, depth) {
            return made;
        }
        if let Some(kept) = kept_of_jwt(value) {
            let rest = (self.leaf)(&value[kept..]);
            return joined(&[&value[..kept], &rest]);
        }
        self.plain(value, in_json)
    }

    fn plain(&mut self, value: &str, in_json: bool) -> Zeroizing<String> {
        let is_leaf = !in_json || self.leaves == Leaves::AllStrings || looks_like_a_token(value);
        if is_leaf { (self.leaf)(value) } else { Zeroizing::new(value.to_owned()) }
    }

    /// Base64 of JSON.
    fn base64(&mut self, value: &str, depth: usize) -> Option<Zeroizing<String>> {
        let engines = [&BASE64_STANDARD, &BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE, &BASE64_URL_SAFE_NO_PAD];
        for engine in engines {
            let Ok(bytes) = engine.decode(value).map(Zeroizing::new) else { continue };
            let Ok(text) = std::str::from_utf8(&bytes) else { return None };
            if !is_json(text) || engine.encode(text) != value {
                return None;
            }
            let made = self.any(text, false, depth + 1);
            return Some(Zeroizing::new(engine.encode(made.as_bytes())));
        }
        None
    }

    fn json(&mut self, value: &str, depth: usize) -> Zeroizing<String> {
        let mut made = Zeroizing::new(String::with_capacity(value.len()));
        let in_json = !value.trim_start().starts_with('"');
        // What stands here belongs to the key of a credential.
        let mut is_named = false;
        let mut from = 0;
        while let Some(open) = value[from..].find('"').map(|at| from + at + 1) {
            let close = open + end_of_string(&value[open..]);
            made.push_str(&self.numbers(&value[from..open], is_named));
            let content = &value[open..close];
            let is_key = value.get(close + 1..).is_some_and(|rest| rest.trim_start().starts_with(':'));
            if is_key {
                is_named = is_credential_key(content);
                made.push_str(content);
            } else {
                let unescaped = json_unescaped(content);
                let is_leaf = is_named && !is_mail_address(content) && !is_web_address(content);
                let new = self.any(&unescaped.text, in_json && !is_leaf, depth + 1);
                made.push_str(&unescaped.escaped_again(content, &new, |bytes, _| {
                    let text = String::from_utf8_lossy(bytes).into_owned();
                    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
                }));
            }
            made.push('"');
            from = close + 1;
        }
        made.push_str(&self.numbers(&value[from..], is_named));
        made
    }

    /// What stands between two strings of JSON. Numbers in it are leaves if they belong to the key of a credential.
    fn numbers(&mut self, between: &str, is_named: bool) -> Zeroizing<String> {
        let mut made = Zeroizing::new(String::with_capacity(between.len()));
        // Another value of an object has a key of its own.
        let own = between.find(['{', '}']).unwrap_or(between.len());
        let mut rest = &between[..if is_named { own } else { 0 }];
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
            let length = rest[start..].find(|c| !is_part(c)).unwrap_or(rest.len() - start);
            let number = &rest[start..start + length];
            made.push_str(&rest[..start]);
            if number.contains(['e', 'E']) {
                made.push_str(number);
            } else {
                let new = (self.leaf)(number);
                // A number does not begin with a zero.
                made.push_str(if new.starts_with('0') { &number[..1] } else { &new[..1] });
                made.push_str(&new[1..]);
            }
            rest = &rest[start + length..];
        }
        made.push_str(rest);
        made.push_str(&between[if is_named { own } else { 0 }..]);
        made
    }
}

impl UnescapedText {
    /// The new text, with what was escaped in the source escaped again. Characters that did not change stay as they were.
    fn escaped_again(
        &self,
        source: &str,
        new: &str,
        escape: impl Fn(&[u8], bool) -> String,
    ) -> Zeroizing<String> {
        let mut made = Zeroizing::new(String::with_capacity(source.len()));
        for ((old, character), place) in self.text.chars().zip(new.chars()).zip(&self.places) {
            let before = &source[place.clone()];
            if old == character {
                made.push_str(before);
            } else if before.len() == old.len_utf8() {
                made.push(character);
            } else {
                let mut room = [0; 4];
                let lower = before.bytes().any(|byte| byte.is_ascii_lowercase());
                made.push_str(&escape(character.encode_utf8(&mut room).as_bytes(), lower));
            }
        }
        made
    }
}

/// `None` if there is no escape, or if what comes out is no UTF-8.
fn percent_unescaped(value: &str) -> Option<UnescapedText> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(value.len()));
    let mut spans: Vec<Range<usize>> = Vec::with_capacity(value.len());
    let mut at = 0;
    let mut any = false;
    while at < value.len() {
        match value.get(at..).and_then(escaped_byte) {
            Some(byte) => {
                any = true;
                bytes.push(byte);
                spans.push(at..at + 3);
                at += 3;
            }
            None => {
                bytes.push(value.as_bytes()[at]);
                spans.push(at..at + 1);
                at += 1;
            }
        }
    }
    let text = std::str::from_utf8(&bytes).ok().filter(|_| any)?;
    let places =
        text.char_indices().map(|(at, c)| spans[at].start..spans[at + c.len_utf8() - 1].end).collect();
    Some(UnescapedText { text: Zeroizing::new(text.to_owned()), places })
}

/// The content of a string of valid JSON.
fn json_unescaped(content: &str) -> UnescapedText {
    let mut text = Zeroizing::new(String::with_capacity(content.len()));
    let mut places = Vec::with_capacity(content.len());
    let mut at = 0;
    while let Some(character) = content[at..].chars().next() {
        let length = match (character, content.as_bytes().get(at + 1)) {
            ('\\', Some(b'u')) => match content.get(at + 6..at + 8) {
                Some("\\u") if content[at + 2..].starts_with(['d', 'D']) => 12,
                _ => 6,
            },
            ('\\', _) => 2,
            _ => character.len_utf8(),
        };
        let end = (at + length).min(content.len());
        let piece = &content[at..end];
        let one =
            serde_json::from_str::<String>(&format!("\"{piece}\"")).ok().and_then(|text| text.chars().next());
        text.push(one.unwrap_or(character));
        places.push(at..end);
        at = end;
    }
    UnescapedText { text, places }
}

fn is_json(value: &str) -> bool {
    value.trim_start().starts_with(['{', '[', '"'])
        && serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok()
}

/// Where the string ends whose content begins here.
fn end_of_string(content: &str) -> usize {
    let mut is_escaped = false;
    let end = content.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.unwrap_or(content.len())
}

/// How much of a JWT stays: header and payload of a signed one, the header of an encrypted one.
fn kept_of_jwt(value: &str) -> Option<usize> {
    let parts: Vec<&str> = value.split('.').collect();
    let is_part = |part: &&str| part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if !matches!(parts.len(), 3 | 5) || !parts.iter().all(is_part) || parts.last()?.is_empty() {
        return None;
    }
    let header = BASE64_URL_SAFE_NO_PAD.decode(parts[0]).ok()?;
    let header: serde_json::Value = serde_json::from_slice(&header).ok()?;
    header.is_object().then(|| match parts.len() {
        3 => parts[0].len() + parts[1].len() + 2,
        _ => parts[0].len() + 1,
    })
}

fn looks_like_a_token(text: &str) -> bool {
    let is_date = text.len() >= 10
        && text.bytes().take(10).enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
        && !text[10..].starts_with(|c: char| c.is_ascii_alphanumeric() && c != 'T');
    is_searchable(text)
        && !is_date
        && !is_mail_address(text)
        && !is_web_address(text)
        && !text.contains(char::is_whitespace)
}

/// Whether a value under this key is a credential, whatever it looks like.
fn is_credential_key(key: &str) -> bool {
    const ENDS: [&str; 14] = [
        "token",
        "tokens",
        "secret",
        "secrets",
        "password",
        "passwd",
        "passphrase",
        "apikey",
        "accesskey",
        "privatekey",
        "sessionid",
        "sessionkey",
        "jwt",
        "bearer",
    ];
    const WHOLE: [&str; 8] = ["sid", "pin", "otp", "pwd", "auth", "authorization", "csrf", "xsrf"];
    let bare: String =
        key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    ENDS.iter().any(|end| bare.ends_with(end)) || WHOLE.contains(&bare.as_str())
}

/// Recognized by characters that a placeholder keeps, so that it is one if the value is one.
fn is_mail_address(text: &str) -> bool {
    let is_local = |c: char| c.is_alphanumeric() || ".+-_".contains(c);
    let is_host = |c: char| c.is_alphanumeric() || ".-".contains(c);
    text.split_once('@').is_some_and(|(local, host)| {
        let has_domain = host.trim_matches('.').contains('.');
        !local.is_empty() && local.chars().all(is_local) && host.chars().all(is_host) && has_domain
    })
}

/// An address that holds no user name or password.
fn is_web_address(text: &str) -> bool {
    let rest = ["https://", "http://", "wss://", "ws://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(|c: char| c.is_whitespace() || c == '@'))
}

/// Whether a value is long enough to be looked for in pages.
pub(crate) fn is_searchable(text: &str) -> bool {
    text.chars().count() >= SHORTEST_SWAPPED
        && text.chars().filter(|c| c.is_alphanumeric()).count() >= MIN_LETTERS_AND_DIGITS
}

fn joined(parts: &[&str]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(parts.iter().map(|part| part.len()).sum()));
    parts.iter().for_each(|part| text.push_str(part));
    text
}
