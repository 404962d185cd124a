//! Dispatches key events and text, and focuses the field that gets them.

use super::mouse::modifier_bits;
use crate::{
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    page::ScriptCallError,
    script::ScriptFunction,
    targeting::{Element, TargetProblem},
};
use policy::{Chord, ENTER, Key, Modifiers};
use serde::{Deserialize, Serialize};

/// Successful unless there is a problem.
#[derive(Deserialize)]
struct FieldReply {
    problem: Option<TargetProblem>,
    by: Option<String>,
}

/// One key going down and up again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KeyStroke {
    pub key: String,
    code: String,
    virtual_code: u32,
    text: Option<String>,
    modifiers: Modifiers,
}

impl Browser {
    pub(super) async fn strike_key(
        &self,
        stroke: &KeyStroke,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        self.strike_keys(std::slice::from_ref(stroke), deadline).await
    }

    pub(super) async fn strike_keys(
        &self,
        strokes: &[KeyStroke],
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let mut sent = Vec::new();
        for stroke in strokes {
            let (down, up) = stroke.events();
            sent.push(self.send_tab(&down, deadline).await?);
            sent.push(self.send_tab(&up, deadline).await?);
        }
        self.wait_handled(sent, deadline).await
    }

    /// Types characters one by one; those without a key are inserted as text.
    pub(super) async fn strike_text(&self, text: &str, deadline: Deadline) -> Result<(), BrowserError> {
        let mut sent = Vec::new();
        for c in text.chars() {
            if let Some(stroke) = KeyStroke::for_character(c) {
                let (down, up) = stroke.events();
                sent.push(self.send_tab(&down, deadline).await?);
                sent.push(self.send_tab(&up, deadline).await?);
            } else {
                let mut buffer = [0; 4];
                let text = c.encode_utf8(&mut buffer);
                sent.push(self.send_tab(&p::InsertText { text }, deadline).await?);
            }
        }
        self.wait_handled(sent, deadline).await
    }

    pub(super) async fn insert(&self, text: &str, deadline: Deadline) -> Result<(), BrowserError> {
        self.call_tab(&p::InsertText { text }, deadline).await.map(|_| ())
    }

    /// Inserts each line at once, with Enter between them: editors turn that into paragraphs.
    pub(super) async fn insert_lines(&self, text: &str, deadline: Deadline) -> Result<(), BrowserError> {
        for (place, line) in text.split('\n').enumerate() {
            if place > 0 {
                self.strike_key(&KeyStroke::from_chord(&Chord::from(&ENTER)), deadline).await?;
            }
            if !line.is_empty() {
                self.insert(line, deadline).await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn call_on_field<A: Serialize>(
        &self,
        element: &Element,
        function: ScriptFunction,
        argument: &A,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        match self.call_script(&element.frame, function, argument, deadline).await {
            Ok(FieldReply { problem: None, .. }) => Ok(()),
            Ok(FieldReply { problem: Some(problem), by }) => {
                Err(problem.into_error(&element.reference, self.covering_text(by)))
            }
            Err(ScriptCallError::Gone) => Err(element.stale()),
            Err(ScriptCallError::Failed(error)) => Err(error),
        }
    }
}

impl KeyStroke {
    pub fn from_chord(chord: &Chord) -> KeyStroke {
        let Chord { modifiers, key } = *chord;
        // With these modifiers a key writes no text.
        let writes = !modifiers.control && !modifiers.meta && !modifiers.alt;
        match key {
            Key::Named(named) => KeyStroke {
                key: named.name.to_owned(),
                code: named.name.to_owned(),
                virtual_code: named.code,
                text: named.text.filter(|_| writes).map(str::to_owned),
                modifiers,
            },
            Key::Character(c) => {
                let c = if modifiers.shift { c.to_uppercase().next().unwrap_or(c) } else { c };
                let (code, virtual_code, shifted) = key_of(c).unwrap_or_default();
                let modifiers = Modifiers { shift: modifiers.shift || (writes && shifted), ..modifiers };
                let text = writes.then(|| c.to_string());
                KeyStroke { key: c.to_string(), code, virtual_code, text, modifiers }
            }
        }
    }

    /// The keystroke that writes a character, if one key does.
    pub fn for_character(c: char) -> Option<KeyStroke> {
        let key = match c {
            '\n' => Key::Named(&ENTER),
            c if key_of(c).is_some() => Key::Character(c),
            _ => return None,
        };
        Some(KeyStroke::from_chord(&Chord { modifiers: Modifiers::default(), key }))
    }

    fn events(&self) -> (p::DispatchKey<'_>, p::DispatchKey<'_>) {
        let event = |r#type, text| p::DispatchKey {
            r#type,
            key: &self.key,
            code: &self.code,
            windows_virtual_key_code: self.virtual_code,
            modifiers: modifier_bits(self.modifiers),
            text,
        };
        let down = if self.text.is_some() { "keyDown" } else { "rawKeyDown" };
        (event(down, self.text.as_deref()), event("keyUp", None))
    }
}

/// The key of a character on a US keyboard: its code, its number, and whether Shift is modifier_bits.
fn key_of(c: char) -> Option<(String, u32, bool)> {
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
    fn keystrokes_have_the_events_of_a_keyboard() {
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
            let stroke = KeyStroke::from_chord(&Chord::parse(chord).unwrap());
            let (down, up) = stroke.events();
            let sent = (down.key, down.code, down.windows_virtual_key_code, down.text, down.modifiers);
            assert_eq!(sent, (key, code, number, text, bits), "{chord}");
            assert_eq!((up.r#type, up.text), ("keyUp", None));
        }
        assert_eq!(KeyStroke::for_character('漢'), None);
    }
}
