//! Redacts typed text from records. Typed text appears in addresses (forms sent by GET) and in page titles.

use crate::logins::SessionSecrets;
use browser::ScreenshotMask;
use policy::{Action, Key};
use redact::{Redacted, address_forms};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const MASK: &str = "[typed]";
/// Shorter texts are redacted only as a whole query value, because "a" occurs in every word.
const SHORT: usize = 4;
/// Limits on remembered texts: their number and total bytes. When the oldest is forgotten, no query, fragment or
/// screenshot is recorded any more, because it may contain the forgotten text.
const MOST_TEXTS: usize = 256;
const MOST_BYTES: usize = 64 * 1024;

/// Redacts the text that an agent typed into a session's pages, and the session's secrets.
#[derive(Default)]
pub struct TypedTextRedactor {
    typed: Mutex<TypedTexts>,
    secrets: Arc<SessionSecrets>,
}

#[derive(Default)]
struct TypedTexts {
    texts: VecDeque<String>,
    /// Consecutive single key presses.
    pressed: String,
    has_forgotten: bool,
}

impl TypedTextRedactor {
    pub fn new(secrets: Arc<SessionSecrets>) -> TypedTextRedactor {
        TypedTextRedactor { secrets, ..TypedTextRedactor::default() }
    }

    /// Remembers the text that an action types. Called before the action is recorded.
    pub fn remember(&self, action: &Action) {
        let mut typed = self.lock();
        match action {
            Action::Type(typing) => typed.add(&typing.text),
            Action::Dialog(answer) => typed.add(answer.text.as_deref().unwrap_or_default()),
            Action::Press(press) => match press.chord.key {
                Key::Character(character) => return typed.pressed.push(character),
                Key::Named(_) => {}
            },
            _ => {}
        }
        let pressed = std::mem::take(&mut typed.pressed);
        typed.add(&pressed);
    }

    /// Redacts a page's or an agent's text for the record.
    pub fn redact(&self, text: &str) -> Redacted {
        let typed = self.lock();
        let is_address = text.contains("://");
        let mut out = self.secrets.redact(text);
        for word in typed.texts.iter().map(String::as_str).chain([typed.pressed.as_str()]) {
            if word.is_empty() {
                continue;
            }
            if word.chars().count() < SHORT {
                out = if is_address { redact_query_value(&out, word) } else { out };
                continue;
            }
            for form in address_forms(word) {
                out = out.mask_text(&form, MASK);
            }
            // An unknown encoding of the text: redact the whole query, then the whole path.
            if is_address && decoded(out.as_str()).contains(&without_whitespace(word)) {
                out = out.transform(redact_query);
            }
            if is_address && decoded(out.as_str()).contains(&without_whitespace(word)) {
                out = out.transform(redact_path);
            }
        }
        if typed.has_forgotten && is_address { out.transform(redact_query) } else { out }
    }

    /// The mask for recorded screenshots: each text and each of its lines, because pages split text into paragraphs.
    pub fn screenshot_mask(&self) -> ScreenshotMask {
        let typed = self.lock();
        if typed.has_forgotten {
            return ScreenshotMask::incomplete();
        }
        let texts = typed.texts.iter().map(String::as_str).chain([typed.pressed.as_str()]);
        ScreenshotMask::typed_text(texts.flat_map(|text| text.lines().chain([text])))
            .with_secrets_of(&self.secrets.screenshot_mask())
    }

    fn lock(&self) -> MutexGuard<'_, TypedTexts> {
        // The list stays consistent across a panic.
        self.typed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TypedTexts {
    fn add(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() || self.texts.iter().any(|known| known == text) {
            return;
        }
        self.texts.push_back(text.to_owned());
        let bytes = |texts: &VecDeque<String>| texts.iter().map(String::len).sum::<usize>();
        while self.texts.len() > MOST_TEXTS || bytes(&self.texts) > MOST_BYTES {
            self.texts.pop_front();
            self.has_forgotten = true;
        }
    }
}

/// Redacts a short text where it is a whole query value.
fn redact_query_value(address: &Redacted, word: &str) -> Redacted {
    let text = address.as_str();
    let mut values = Vec::new();
    for form in address_forms(word) {
        let starts = text.match_indices(&format!("={form}")).map(|(at, _)| at + 1).collect::<Vec<_>>();
        let is_whole = |end: &usize| text[*end..].is_empty() || text[*end..].starts_with(['&', '#', ';']);
        values
            .extend(starts.into_iter().map(|start| start..start + form.len()).filter(|at| is_whole(&at.end)));
    }
    if values.is_empty() { address.clone() } else { address.mask_ranges(values, MASK) }
}

/// An address percent-decoded twice, because some are encoded twice, and without white space.
fn decoded(address: &str) -> String {
    without_whitespace(&percent_decoded(&percent_decoded(address)))
}

fn percent_decoded(text: &str) -> String {
    // The name before the first "=" is empty, so all of the text is the value.
    let whole = format!("={}", text.replace('&', "%26"));
    url::form_urlencoded::parse(whole.as_bytes()).map(|(_, value)| value.into_owned()).collect()
}

fn without_whitespace(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn redact_query(address: &str) -> String {
    match address.find(['?', '#']) {
        Some(at) => format!("{}?[redacted]", &address[..at]),
        None => address.to_owned(),
    }
}

fn redact_path(address: &str) -> String {
    let host = address.find("://").map_or(0, |at| at + 3);
    let end = address[host..].find(['/', '?', '#']).map_or(address.len(), |at| host + at);
    format!("{}/[redacted]", &address[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Chord, Press, Target, TypeText};

    fn typed(texts: &[&str]) -> TypedTextRedactor {
        let redactor = TypedTextRedactor::default();
        for text in texts {
            let target = Target::Focused;
            let text = text.to_string();
            redactor.remember(&Action::Type(TypeText { target, text, clear_first: false, submit: false }));
        }
        redactor
    }

    #[test]
    fn typed_text_is_redacted_from_addresses_and_titles() {
        let redactor = typed(&["zebra crossing", "añb/c", "xy"]);
        for (text, expected) in [
            ("Results for zebra crossing", "Results for [typed]"),
            ("http://a.test/?q=zebra+crossing&p=1", "http://a.test/?q=[typed]&p=1"),
            ("http://a.test/zebra%20crossing", "http://a.test/[typed]"),
            ("http://a.test/?q=a%C3%B1b%2Fc", "http://a.test/?q=[typed]"),
            // Lower-case escapes, and only some of them.
            ("http://a.test/?q=a%c3%b1b/c", "http://a.test/?[redacted]"),
            ("http://a.test/a%c3%b1b%2fc?x", "http://a.test/[redacted]"),
            ("http://a.test/?q=zebra%2520crossing", "http://a.test/?[redacted]"),
            ("http://a.test/?q=xy", "http://a.test/?q=[typed]"),
            ("http://a.test/?q=xy&z=xyz", "http://a.test/?q=[typed]&z=xyz"),
            ("http://a.test/xy", "http://a.test/xy"),
            ("http://a.test/?page=2#top", "http://a.test/?page=2#top"),
        ] {
            assert_eq!(redactor.redact(text), expected);
        }
    }

    #[test]
    fn single_key_presses_are_joined_into_one_text() {
        let redactor = TypedTextRedactor::default();
        for letter in "zebra".chars() {
            let chord = Chord::parse(&letter.to_string()).unwrap();
            redactor.remember(&Action::Press(Press { target: Target::Focused, chord }));
        }
        assert_eq!(redactor.redact("http://a.test/?q=zebra"), "http://a.test/?q=[typed]");
        redactor.remember(&Action::Reload);
        assert_eq!(redactor.redact("a zebra"), "a [typed]");
    }

    #[test]
    fn after_forgetting_a_text_every_query_is_redacted() {
        let texts: Vec<String> = (0..MOST_TEXTS + 1).map(|n| format!("text number {n}")).collect();
        let redactor = typed(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(redactor.redact("http://a.test/?q=text+number+0"), "http://a.test/?[redacted]");
        assert_eq!(redactor.redact("http://a.test/page"), "http://a.test/page");
    }
}
