//! Keys and chords, by the names of `KeyboardEvent.key`.

use redact::Redacted;
use std::fmt;

/// A key with the keys that are held down with it, such as `Control+Shift+K`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chord {
    pub modifiers: Modifiers,
    pub key: Key,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A key that types this character.
    Character(char),
    Named(&'static NamedKey),
}

#[derive(Debug, PartialEq, Eq)]
pub struct NamedKey {
    /// Its `KeyboardEvent.key`.
    pub name: &'static str,
    /// Its `KeyboardEvent.keyCode`.
    pub code: u32,
    /// The text that it types, if any.
    pub text: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    pub alt: bool,
    pub control: bool,
    pub meta: bool,
    pub shift: bool,
}

const fn key(name: &'static str, code: u32) -> NamedKey {
    NamedKey { name, code, text: None }
}

pub static ENTER: NamedKey = NamedKey { name: "Enter", code: 13, text: Some("\r") };
pub static DELETE: NamedKey = key("Delete", 46);
pub static ARROW_UP: NamedKey = key("ArrowUp", 38);
pub static ARROW_DOWN: NamedKey = key("ArrowDown", 40);
pub static ARROW_LEFT: NamedKey = key("ArrowLeft", 37);
pub static ARROW_RIGHT: NamedKey = key("ArrowRight", 39);

static OTHER_KEYS: [NamedKey; 25] = [
    key("Tab", 9),
    key("Backspace", 8),
    key("Escape", 27),
    key("Home", 36),
    key("End", 35),
    key("PageUp", 33),
    key("PageDown", 34),
    key("Insert", 45),
    key("F1", 112),
    key("F2", 113),
    key("F3", 114),
    key("F4", 115),
    key("F5", 116),
    key("F6", 117),
    key("F7", 118),
    key("F8", 119),
    key("F9", 120),
    key("F10", 121),
    key("F11", 122),
    key("F12", 123),
    key("ContextMenu", 93),
    key("Control", 17),
    key("Shift", 16),
    key("Alt", 18),
    key("Meta", 91),
];

/// Other common names.
const ALIASES: [(&str, &str); 14] = [
    ("return", "Enter"),
    ("esc", "Escape"),
    ("del", "Delete"),
    ("ins", "Insert"),
    ("left", "ArrowLeft"),
    ("up", "ArrowUp"),
    ("right", "ArrowRight"),
    ("down", "ArrowDown"),
    ("pgup", "PageUp"),
    ("pgdn", "PageDown"),
    ("page_up", "PageUp"),
    ("page_down", "PageDown"),
    ("ctrl", "Control"),
    ("command", "Meta"),
];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no key {0:?}; use one character, or a name such as Enter, Tab, ArrowDown, Control+A")]
pub struct UnknownKey(pub String);

impl From<&'static NamedKey> for Chord {
    fn from(key: &'static NamedKey) -> Chord {
        Chord { modifiers: Modifiers::default(), key: Key::Named(key) }
    }
}

impl Chord {
    /// `Enter`, `a`, `Control+A`, `Shift+Tab`; `+` itself is `+` or `Shift++`.
    pub fn parse(text: &str) -> Result<Chord, UnknownKey> {
        let unknown = || UnknownKey(text.chars().take(40).collect());
        let mut modifiers = Modifiers::default();
        let mut rest = text;
        while let Some((word, after)) =
            rest.split_once('+').filter(|(word, after)| !word.is_empty() && !after.is_empty())
        {
            let held = match named(word.trim()).map(|key| key.name) {
                Some("Alt") => &mut modifiers.alt,
                Some("Control") => &mut modifiers.control,
                Some("Meta") => &mut modifiers.meta,
                Some("Shift") => &mut modifiers.shift,
                _ => return Err(unknown()),
            };
            *held = true;
            rest = after;
        }
        let mut characters = rest.chars();
        let key = match (characters.next(), characters.next()) {
            (Some(c), None) if !c.is_control() => Key::Character(c),
            _ if rest.trim().eq_ignore_ascii_case("space") => Key::Character(' '),
            _ => Key::Named(named(rest.trim()).ok_or_else(unknown)?),
        };
        Ok(Chord { modifiers, key })
    }

    /// Whether it can change or select the content of a field.
    pub fn edits(&self) -> bool {
        match self.key {
            Key::Character(_) => true,
            Key::Named(key) => !matches!(key.name, "Tab" | "Escape" | "Enter"),
        }
    }

    /// Copy, cut and paste, in each of their shortcuts.
    pub fn uses_clipboard(&self) -> bool {
        let command = self.modifiers.control || self.modifiers.meta;
        match self.key {
            Key::Character(c) => command && matches!(c.to_ascii_lowercase(), 'c' | 'x' | 'v'),
            Key::Named(key) => {
                (key.name == "Insert" && (command || self.modifiers.shift))
                    || (key.name == "Delete" && self.modifiers.shift)
            }
        }
    }

    /// For the record: a key that types text is not named, since typed text may be private. Any other has one character.
    pub fn redacted(&self) -> Redacted {
        let Modifiers { alt, control, meta, .. } = self.modifiers;
        match self.key {
            Key::Character(c) if c != ' ' && !(alt || control || meta) => "a character".into(),
            _ => Redacted::outside_sessions(self.to_string()),
        }
    }

    /// Enter and Space activate a button as a click does.
    pub fn activates(&self) -> bool {
        match self.key {
            Key::Character(c) => c == ' ',
            Key::Named(key) => key.name == "Enter",
        }
    }
}

fn named(word: &str) -> Option<&'static NamedKey> {
    let lower = word.to_ascii_lowercase();
    let name = ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(word, |(_, name)| name);
    let all =
        [&ENTER, &DELETE, &ARROW_UP, &ARROW_DOWN, &ARROW_LEFT, &ARROW_RIGHT].into_iter().chain(&OTHER_KEYS);
    all.into_iter().find(|key| key.name.eq_ignore_ascii_case(name))
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Modifiers { alt, control, meta, shift } = self.modifiers;
        for (held, name) in [(control, "Control"), (alt, "Alt"), (shift, "Shift"), (meta, "Meta")] {
            if held {
                write!(f, "{name}+")?;
            }
        }
        match self.key {
            Key::Character(' ') => f.write_str("Space"),
            Key::Character(c) => write!(f, "{c}"),
            Key::Named(key) => f.write_str(key.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chords_are_parsed_by_web_names_and_common_names() {
        for (text, expected) in [
            ("Enter", "Enter"),
            ("return", "Enter"),
            ("a", "a"),
            ("ctrl+a", "Control+a"),
            ("Shift+Control+K", "Control+Shift+K"),
            ("down", "ArrowDown"),
            (" ", "Space"),
            ("space", "Space"),
            ("+", "+"),
            ("Shift++", "Shift++"),
            ("é", "é"),
            ("F5", "F5"),
        ] {
            assert_eq!(Chord::parse(text).map(|chord| chord.to_string()).as_deref(), Ok(expected));
        }
        for text in ["", "Entr", "a+b", "Control+", "\n", "ab"] {
            assert!(Chord::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn chords_know_whether_they_edit_use_the_clipboard_or_activate() {
        for (text, edits, clipboard, activates) in [
            ("a", true, false, false),
            ("Space", true, false, true),
            ("Enter", false, false, true),
            ("Tab", false, false, false),
            ("Backspace", true, false, false),
            ("Control+V", true, true, false),
            ("Meta+c", true, true, false),
            ("Shift+Insert", true, true, false),
            ("Shift+Delete", true, true, false),
            ("ArrowDown", true, false, false),
        ] {
            let chord = Chord::parse(text).unwrap();
            assert_eq!(
                (chord.edits(), chord.uses_clipboard(), chord.activates()),
                (edits, clipboard, activates),
                "{text}"
            );
        }
    }
}
