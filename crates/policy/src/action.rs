//! Everything an agent can ask a browser to do. There is nothing else.

use crate::{Chord, Find, Modifiers, Read, Target, WebUrl};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Navigate(Navigate),
    Back,
    Forward,
    Reload,
    Click(Click),
    Hover(Hover),
    Drag(Drag),
    Type(TypeText),
    Press(Press),
    Select(Select),
    Check(Check),
    Scroll(Scroll),
    WaitFor(WaitFor),
    Read(Read),
    ReadDom(ReadDom),
    Find(Find),
    Screenshot(Screenshot),
    Tabs(Tabs),
    Dialog(AnswerDialog),
}

impl Action {
    /// Every name that an action can have.
    pub const NAMES: [&str; 19] = [
        "navigate",
        "back",
        "forward",
        "reload",
        "click",
        "hover",
        "drag",
        "type",
        "press_key",
        "select",
        "check",
        "scroll",
        "wait_for",
        "read",
        "read_dom",
        "find",
        "screenshot",
        "tabs",
        "dialog",
    ];

    /// The name under which the action is recorded, decided and timed.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Navigate(_) => "navigate",
            Action::Back => "back",
            Action::Forward => "forward",
            Action::Reload => "reload",
            Action::Click(_) => "click",
            Action::Hover(_) => "hover",
            Action::Drag(_) => "drag",
            Action::Type(_) => "type",
            Action::Press(_) => "press_key",
            Action::Select(_) => "select",
            Action::Check(_) => "check",
            Action::Scroll(_) => "scroll",
            Action::WaitFor(_) => "wait_for",
            Action::Read(_) => "read",
            Action::ReadDom(_) => "read_dom",
            Action::Find(_) => "find",
            Action::Screenshot(_) => "screenshot",
            Action::Tabs(_) => "tabs",
            Action::Dialog(_) => "dialog",
        }
    }

    /// The element it is aimed at, for actions that have one.
    pub fn target(&self) -> Option<&Target> {
        match self {
            Action::Click(Click { target, .. })
            | Action::Hover(Hover { target })
            | Action::Drag(Drag { from: target, .. })
            | Action::Type(TypeText { target, .. })
            | Action::Press(Press { target, .. })
            | Action::Select(Select { target, .. })
            | Action::Check(Check { target, .. })
            | Action::Scroll(Scroll::To(target)) => Some(target),
            Action::Scroll(Scroll::By { over, .. }) => over.as_ref(),
            Action::Screenshot(Screenshot { target, .. }) => target.as_ref(),
            Action::Navigate(_)
            | Action::Back
            | Action::Forward
            | Action::Reload
            | Action::WaitFor(_)
            | Action::Read(_)
            | Action::ReadDom(_)
            | Action::Find(_)
            | Action::Tabs(_)
            | Action::Dialog(_) => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Navigate {
    pub url: WebUrl,
    pub wait_for: LoadState,
}

/// How far a page must have come before a navigation counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadState {
    #[default]
    Load,
    DomContentLoaded,
    NetworkIdle,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Click {
    pub target: Target,
    pub button: MouseButton,
    /// 2 is a double click; at most 3.
    pub count: u8,
    pub modifiers: Modifiers,
}

impl Click {
    /// What is meant by a click without more words.
    pub fn on(target: Target) -> Click {
        Click { target, button: MouseButton::Left, count: 1, modifiers: Modifiers::default() }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MouseButton {
    #[default]
    Left,
    Middle,
    Right,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Hover {
    pub target: Target,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Drag {
    pub from: Target,
    pub to: Target,
}

#[derive(Clone, PartialEq)]
pub struct TypeText {
    pub target: Target,
    pub text: String,
    pub clear_first: bool,
    /// Press Enter afterwards.
    pub submit: bool,
}

/// Typed text may be private: it is counted, never shown.
impl std::fmt::Debug for TypeText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TypeText")
            .field("target", &self.target)
            .field("characters", &self.text.chars().count())
            .field("clear_first", &self.clear_first)
            .field("submit", &self.submit)
            .finish()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Press {
    /// Gets the focus first, unless it is what has it.
    pub target: Target,
    pub chord: Chord,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    pub target: Target,
    /// All that are to be chosen; more than one in a list that takes several.
    pub options: Vec<SelectOption>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectOption {
    /// By what is read on it.
    Label(String),
    /// By its place in the list, from 0.
    Index(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub target: Target,
    pub checked: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Scroll {
    By {
        /// What is scrolled; the page if absent.
        over: Option<Target>,
        direction: Direction,
        distance: Distance,
    },
    /// Until this is in view.
    To(Target),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Up,
    Down,
    Left,
    Right,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// What is in view, less a little that stays.
    Page,
    Pixels(u32),
    /// As far as it goes now.
    End,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WaitFor {
    pub condition: Condition,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    Text(String),
    TextGone(String),
    Element(Target),
    ElementGone(Target),
    /// Part of the address, or all of it with `*` for anything.
    Url(String),
    Load(LoadState),
    Time(Duration),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadDom {
    /// What the reply may have, in bytes.
    pub bytes: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screenshot {
    pub full_page: bool,
    /// Only this element.
    pub target: Option<Target>,
    pub format: ImageFormat,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tabs {
    List,
    /// An empty one.
    New,
    Switch(TabId),
    Close(TabId),
}

/// `t1`, `t2` and so on, never given twice in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct TabId(pub u32);

impl TabId {
    pub fn parse(text: &str) -> Option<TabId> {
        let digits = text.strip_prefix('t')?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?.map(TabId)
    }
}

impl std::fmt::Display for TabId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "t{}", self.0)
    }
}

/// The answer to a question that a page has put into a dialog.
#[derive(Clone, PartialEq, Eq)]
pub struct AnswerDialog {
    pub accept: bool,
    /// For a prompt.
    pub text: Option<String>,
}

/// As typed text, it is counted, never shown.
impl std::fmt::Debug for AnswerDialog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let characters = self.text.as_ref().map(|text| text.chars().count());
        f.debug_struct("AnswerDialog").field("accept", &self.accept).field("characters", &characters).finish()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    #[default]
    Png,
    Jpeg,
    Webp,
}

impl ImageFormat {
    pub fn mime(self) -> &'static str {
        match self {
            ImageFormat::Png => "image/png",
            ImageFormat::Jpeg => "image/jpeg",
            ImageFormat::Webp => "image/webp",
        }
    }

    pub fn extension(self) -> &'static str {
        match self {
            ImageFormat::Png => "png",
            ImageFormat::Jpeg => "jpg",
            ImageFormat::Webp => "webp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tab_is_named_by_a_letter_and_a_number() {
        for (text, expected) in [
            ("t1", Some(1)),
            ("t20", Some(20)),
            ("t", None),
            ("1", None),
            ("t-1", None),
            ("t99999999999", None),
        ] {
            assert_eq!(TabId::parse(text).map(|id| id.0), expected, "{text}");
        }
    }

    #[test]
    fn what_is_typed_is_in_no_debug_print() {
        let typing =
            TypeText { target: Target::Focused, text: "hunter2".into(), clear_first: false, submit: false };
        let answer = AnswerDialog { accept: true, text: Some("hunter2".into()) };
        assert!(!format!("{typing:?} {answer:?}").contains("hunter2"));
    }
}
