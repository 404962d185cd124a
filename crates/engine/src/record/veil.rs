//! Takes out of records what an agent typed: a form that is sent by GET puts it into the address, a page into its title.

use crate::logins::Secrets;
use browser::ScreenshotMask;
use policy::{Action, Key};
use redact::address_forms;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const MASK: &str = "[typed]";
/// Shorter texts are taken out only where they are a whole value in an address: "a" is in every word.
const SHORT: usize = 4;
/// Texts that are remembered, and their bytes together. Beyond it the oldest are forgotten, and no query, fragment
/// or picture is recorded any more: whether it holds one of them is not known.
const MOST_TEXTS: usize = 256;
const MOST_BYTES: usize = 64 * 1024;

/// What was typed into one session's pages, over what nothing may tell anyway.
#[derive(Default)]
pub struct Veil {
    typed: Mutex<Typed>,
    secrets: Arc<Secrets>,
}

#[derive(Default)]
struct Typed {
    texts: VecDeque<String>,
    /// Characters that were pressed one after the other.
    pressed: String,
    forgot: bool,
}

impl Veil {
    pub fn over(secrets: Arc<Secrets>) -> Veil {
        Veil { secrets, ..Veil::default() }
    }

    /// Remembers what an action types, before it is on record.
    pub fn learn(&self, action: &Action) {
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

    /// A page's or an agent's text as it may be recorded.
    pub fn text(&self, text: &str) -> String {
        let typed = self.lock();
        let is_address = text.contains("://");
        let mut out = self.secrets.text(text).into_owned();
        for word in typed.texts.iter().map(String::as_str).chain([typed.pressed.as_str()]) {
            if word.is_empty() {
                continue;
            }
            if word.chars().count() < SHORT {
                out = if is_address { without_value(&out, word) } else { out };
                continue;
            }
            for form in address_forms(word) {
                out = out.replace(&form, MASK);
            }
            // Written in a way that is not ours to guess: what could hold it goes as a whole.
            if is_address && plain(&out).contains(&squeezed(word)) {
                out = without_query(&out);
            }
            if is_address && plain(&out).contains(&squeezed(word)) {
                out = origin(&out);
            }
        }
        if typed.forgot && is_address { without_query(&out) } else { out }
    }

    /// What no picture may show: each text, and each line of it, because pages make paragraphs of them.
    pub fn cover(&self) -> ScreenshotMask {
        let typed = self.lock();
        if typed.forgot {
            return ScreenshotMask::incomplete();
        }
        let texts = typed.texts.iter().map(String::as_str).chain([typed.pressed.as_str()]);
        ScreenshotMask::typed_text(texts.flat_map(|text| text.lines().chain([text])))
            .with_secrets_of(&self.secrets.cover())
    }

    fn lock(&self) -> MutexGuard<'_, Typed> {
        // A list of texts is whole after any panic.
        self.typed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Typed {
    fn add(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() || self.texts.iter().any(|known| known == text) {
            return;
        }
        self.texts.push_back(text.to_owned());
        let bytes = |texts: &VecDeque<String>| texts.iter().map(String::len).sum::<usize>();
        while self.texts.len() > MOST_TEXTS || bytes(&self.texts) > MOST_BYTES {
            self.texts.pop_front();
            self.forgot = true;
        }
    }
}

/// Takes out a short text where it is all of a value.
fn without_value(address: &str, word: &str) -> String {
    let mut out = address.to_owned();
    for form in address_forms(word) {
        for end in ["&", "#", ";"] {
            out = out.replace(&format!("={form}{end}"), &format!("={MASK}{end}"));
        }
        if let Some(rest) = out.strip_suffix(&format!("={form}")) {
            out = format!("{rest}={MASK}");
        }
    }
    out
}

/// An address with its escapes undone, twice because some are escaped twice, and without white space.
fn plain(address: &str) -> String {
    squeezed(&unescaped(&unescaped(address)))
}

fn unescaped(text: &str) -> String {
    // Before the first "=" stands a name; this one is empty, and all of the text is the value.
    let whole = format!("={}", text.replace('&', "%26"));
    url::form_urlencoded::parse(whole.as_bytes()).map(|(_, value)| value.into_owned()).collect()
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn without_query(address: &str) -> String {
    match address.find(['?', '#']) {
        Some(at) => format!("{}?[redacted]", &address[..at]),
        None => address.to_owned(),
    }
}

fn origin(address: &str) -> String {
    let host = address.find("://").map_or(0, |at| at + 3);
    let end = address[host..].find(['/', '?', '#']).map_or(address.len(), |at| host + at);
    format!("{}/[redacted]", &address[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Chord, Press, Target, TypeText};

    fn typed(texts: &[&str]) -> Veil {
        let veil = Veil::default();
        for text in texts {
            let target = Target::Focused;
            let text = text.to_string();
            veil.learn(&Action::Type(TypeText { target, text, clear_first: false, submit: false }));
        }
        veil
    }

    #[test]
    fn what_was_typed_is_in_no_address_and_no_title() {
        let veil = typed(&["zebra crossing", "añb/c", "xy"]);
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
            assert_eq!(veil.text(text), expected);
        }
    }

    #[test]
    fn letters_that_are_pressed_one_by_one_make_a_text() {
        let veil = Veil::default();
        for letter in "zebra".chars() {
            let chord = Chord::parse(&letter.to_string()).unwrap();
            veil.learn(&Action::Press(Press { target: Target::Focused, chord }));
        }
        assert_eq!(veil.text("http://a.test/?q=zebra"), "http://a.test/?q=[typed]");
        veil.learn(&Action::Reload);
        assert_eq!(veil.text("a zebra"), "a [typed]");
    }

    #[test]
    fn what_is_forgotten_takes_every_query_with_it() {
        let texts: Vec<String> = (0..MOST_TEXTS + 1).map(|n| format!("text number {n}")).collect();
        let veil = typed(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(veil.text("http://a.test/?q=text+number+0"), "http://a.test/?[redacted]");
        assert_eq!(veil.text("http://a.test/page"), "http://a.test/page");
    }
}
