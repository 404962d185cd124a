//! Keys: real ones, to the element that was decided on and to nothing else.

use super::{Told, click::held};
use crate::{
    aim::{Problem, Purpose},
    ask::AskError,
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    guard::{Hand, Input, Shot},
    locate::Element,
    page_text::{PageText, Words},
    script::ScriptFunction,
};
use policy::{Chord, ENTER, ElementFacts, Key, LoadState, Modifiers, Press, Target};
use serde::{Deserialize, Serialize};

/// Keys that scroll a page, where nothing else takes them.
const SCROLLS: [&str; 7] = ["End", "Home", "PageDown", "PageUp", "ArrowDown", "ArrowUp", " "];

#[derive(Serialize)]
struct Focus {
    number: u64,
}

/// It was done, unless a problem is told.
#[derive(Deserialize)]
struct Done {
    problem: Option<Problem>,
    by: Option<PageText>,
}

/// One key going down and up again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stroke {
    key: String,
    code: String,
    virtual_code: u32,
    text: Option<String>,
    modifiers: Modifiers,
}

impl Browser {
    pub(super) async fn press(
        &self,
        press: &Press,
        decided: Option<&ElementFacts>,
        deadline: Deadline,
    ) -> Result<Told, BrowserError> {
        self.start();
        let stroke = Stroke::of(&press.chord);
        match decided {
            Some(decided) => {
                let (element, how) = self.again(&press.target, decided, Purpose::Press, deadline).await?;
                if press.target != Target::Focused {
                    self.in_field(
                        &element,
                        ScriptFunction::FocusField,
                        &Focus { number: element.number },
                        deadline,
                    )
                    .await?;
                }
                let shot = Shot {
                    element: &element,
                    how,
                    input: Input::Key,
                    decided: Some(decided),
                    repeatable: false,
                    drop: None,
                };
                self.guarded(shot, Hand::Key(&stroke), deadline).await?;
            }
            None => self.guarded_page(&stroke, deadline).await?,
        }
        self.settle(LoadState::Load, deadline).await?;
        if SCROLLS.contains(&stroke.key.as_str()) {
            self.scrolling_ends(deadline).await?;
        }
        Ok(None)
    }

    pub(crate) async fn strike_key(&self, stroke: &Stroke, deadline: Deadline) -> Result<(), BrowserError> {
        self.strike_keys(std::slice::from_ref(stroke), deadline).await
    }

    pub(crate) async fn strike_keys(
        &self,
        strokes: &[Stroke],
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let mut sent = Vec::new();
        for stroke in strokes {
            let (down, up) = stroke.events();
            sent.push(self.send_tab(&down, deadline).await?);
            sent.push(self.send_tab(&up, deadline).await?);
        }
        self.handled(sent, deadline).await
    }

    /// Types characters one by one; those that no key writes go in as text.
    pub(crate) async fn strike_text(&self, text: &str, deadline: Deadline) -> Result<(), BrowserError> {
        let mut sent = Vec::new();
        for c in text.chars() {
            if let Some(stroke) = Stroke::writing(c) {
                let (down, up) = stroke.events();
                sent.push(self.send_tab(&down, deadline).await?);
                sent.push(self.send_tab(&up, deadline).await?);
            } else {
                let mut buffer = [0; 4];
                let text = c.encode_utf8(&mut buffer);
                sent.push(self.send_tab(&p::InsertText { text }, deadline).await?);
            }
        }
        self.handled(sent, deadline).await
    }

    pub(super) async fn in_field<A: Serialize>(
        &self,
        element: &Element,
        function: ScriptFunction,
        argument: &A,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        match self.ask(&element.frame, function, argument, deadline).await {
            Ok(Done { problem: None, .. }) => Ok(()),
            Ok(Done { problem: Some(problem), by }) => {
                Err(problem.of(&element.reference, by.map(Words::Page)))
            }
            Err(AskError::Gone) => Err(element.stale()),
            Err(AskError::Failed(error)) => Err(error),
        }
    }
}

impl Stroke {
    pub fn of(chord: &Chord) -> Stroke {
        let Chord { modifiers, key } = *chord;
        // With these held a key writes nothing.
        let writes = !modifiers.control && !modifiers.meta && !modifiers.alt;
        match key {
            Key::Named(named) => Stroke {
                key: named.name.to_owned(),
                code: named.name.to_owned(),
                virtual_code: named.code,
                text: named.text.filter(|_| writes).map(str::to_owned),
                modifiers,
            },
            Key::Character(c) => {
                let c = if modifiers.shift { c.to_uppercase().next().unwrap_or(c) } else { c };
                let (code, virtual_code, shifted) = place_of(c).unwrap_or_default();
                let modifiers = Modifiers { shift: modifiers.shift || (writes && shifted), ..modifiers };
                let text = writes.then(|| c.to_string());
                Stroke { key: c.to_string(), code, virtual_code, text, modifiers }
            }
        }
    }

    /// The stroke that writes a character, where one key does.
    pub fn writing(c: char) -> Option<Stroke> {
        let key = match c {
            '\n' => Key::Named(&ENTER),
            c if place_of(c).is_some() => Key::Character(c),
            _ => return None,
        };
        Some(Stroke::of(&Chord { modifiers: Modifiers::default(), key }))
    }

    fn events(&self) -> (p::DispatchKey<'_>, p::DispatchKey<'_>) {
        let event = |r#type, text| p::DispatchKey {
            r#type,
            key: &self.key,
            code: &self.code,
            windows_virtual_key_code: self.virtual_code,
            modifiers: held(self.modifiers),
            text,
        };
        let down = if self.text.is_some() { "keyDown" } else { "rawKeyDown" };
        (event(down, self.text.as_deref()), event("keyUp", None))
    }
}

/// Where a character is on a keyboard: the key's name, its number, and whether Shift is held for it.
fn place_of(c: char) -> Option<(String, u32, bool)> {
    const SHIFTED_DIGITS: &str = ")!@#$%^&*(";
    const MARKS: [(char, char, &str, u32); 11] = [
        (';', ':', "Semicolon", 186),
        ('=', '+', "Equal", 187),
        (',', '<', "Comma", 188),
        ('-', '_', "Minus", 189),
        ('.', '>', "Period", 190),
        ('/', '?', "Slash", 191),
        ('`', '~', "Backquote", 192),
        ('[', '{', "BracketLeft", 219),
        ('\\', '|', "Backslash", 220),
        (']', '}', "BracketRight", 221),
        ('\'', '"', "Quote", 222),
    ];
    match c {
        'a'..='z' | 'A'..='Z' => {
            let upper = c.to_ascii_uppercase();
            Some((format!("Key{upper}"), u32::from(upper), c.is_ascii_uppercase()))
        }
        '0'..='9' => Some((format!("Digit{c}"), u32::from(c), false)),
        ' ' => Some(("Space".to_owned(), 32, false)),
        _ => {
            if let Some(digit) = SHIFTED_DIGITS.find(c) {
                return Some((format!("Digit{digit}"), 48 + u32::try_from(digit).ok()?, true));
            }
            let (plain, _, name, code) =
                MARKS.into_iter().find(|(plain, shifted, ..)| c == *plain || c == *shifted)?;
            Some((name.to_owned(), code, c != plain))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_struck_as_on_a_keyboard() {
        for (chord, key, code, number, text, bits) in [
            ("a", "a", "KeyA", 65, Some("a"), 0),
            ("Shift+a", "A", "KeyA", 65, Some("A"), 8),
            ("A", "A", "KeyA", 65, Some("A"), 8),
            ("Control+a", "a", "KeyA", 65, None, 2),
            ("Control+Shift+K", "K", "KeyK", 75, None, 10),
            ("?", "?", "Slash", 191, Some("?"), 8),
            ("(", "(", "Digit9", 57, Some("("), 8),
            ("Enter", "Enter", "Enter", 13, Some("\r"), 0),
            ("Tab", "Tab", "Tab", 9, None, 0),
            ("Alt+ArrowLeft", "ArrowLeft", "ArrowLeft", 37, None, 1),
            ("é", "é", "", 0, Some("é"), 0),
        ] {
            let stroke = Stroke::of(&Chord::parse(chord).unwrap());
            let (down, up) = stroke.events();
            let told = (down.key, down.code, down.windows_virtual_key_code, down.text, down.modifiers);
            assert_eq!(told, (key, code, number, text, bits), "{chord}");
            assert_eq!((up.r#type, up.text), ("keyUp", None));
        }
        assert_eq!(Stroke::writing('漢'), None);
    }
}
