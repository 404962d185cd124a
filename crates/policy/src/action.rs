//! Actions: everything that an agent can ask a browser to do.

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

/// Defines [`ActionKind`]: one variant, name and class for each action.
macro_rules! action_kinds {
    ($($kind:ident = $name:literal, $class:ident;)*) => {
        /// Which action it is, without its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ActionKind { $($kind),* }

        impl ActionKind {
            pub const ALL: &[ActionKind] = &[$(ActionKind::$kind),*];

            /// The name under which the action is recorded, decided and timed.
            pub const fn name(self) -> &'static str {
                match self { $(ActionKind::$kind => $name),* }
            }

            /// The class of the action, whatever its parameters: where they matter, the one that changes most.
            pub const fn class(self) -> ActionClass {
                match self { $(ActionKind::$kind => ActionClass::$class),* }
            }
        }
    };
}

action_kinds! {
    Navigate = "navigate", Navigates;
    Back = "back", Navigates;
    Forward = "forward", Navigates;
    Reload = "reload", Navigates;
    Click = "click", Acts;
    Hover = "hover", Acts;
    Drag = "drag", Acts;
    Type = "type", Acts;
    Press = "press_key", Acts;
    Select = "select", Acts;
    Check = "check", Acts;
    Scroll = "scroll", Navigates;
    WaitFor = "wait_for", Waits;
    Read = "read", Reads;
    ReadDom = "read_dom", Reads;
    Find = "find", Reads;
    Screenshot = "screenshot", Reads;
    Tabs = "tabs", Acts;
    Dialog = "dialog", Acts;
}

/// What an action does to the page, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActionClass {
    /// Leaves the page as it is.
    Reads,
    /// Does nothing itself while the page goes on.
    Waits,
    /// Shows another page, or another part of it. Doing it twice is as good as once.
    Navigates,
    /// May change something for good.
    Acts,
}

impl ActionClass {
    /// Whether the action itself changes nothing.
    pub fn is_passive(self) -> bool {
        matches!(self, ActionClass::Reads | ActionClass::Waits)
    }
}

impl Action {
    pub fn kind(&self) -> ActionKind {
        match self {
            Action::Navigate(_) => ActionKind::Navigate,
            Action::Back => ActionKind::Back,
            Action::Forward => ActionKind::Forward,
            Action::Reload => ActionKind::Reload,
            Action::Click(_) => ActionKind::Click,
            Action::Hover(_) => ActionKind::Hover,
            Action::Drag(_) => ActionKind::Drag,
            Action::Type(_) => ActionKind::Type,
            Action::Press(_) => ActionKind::Press,
            Action::Select(_) => ActionKind::Select,
            Action::Check(_) => ActionKind::Check,
            Action::Scroll(_) => ActionKind::Scroll,
            Action::WaitFor(_) => ActionKind::WaitFor,
            Action::Read(_) => ActionKind::Read,
            Action::ReadDom(_) => ActionKind::ReadDom,
            Action::Find(_) => ActionKind::Find,
            Action::Screenshot(_) => ActionKind::Screenshot,
            Action::Tabs(_) => ActionKind::Tabs,
            Action::Dialog(_) => ActionKind::Dialog,
        }
    }

    /// The name under which the action is recorded, decided and timed.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    pub fn class(&self) -> ActionClass {
        match self {
            Action::Tabs(Tabs::List) => ActionClass::Reads,
            other => other.kind().class(),
        }
    }

    /// Whether the action leaves the page as it is.
    pub fn only_reads(&self) -> bool {
        self.class() == ActionClass::Reads
    }

    /// Whether a page may close its own tab because of the action. A navigation replaces the page instead.
    pub fn may_close_tab(&self) -> bool {
        !self.class().is_passive() && !matches!(self, Action::Navigate(_))
    }

    /// The texts that the action puts into a page or into an address.
    pub fn sent_texts(&self) -> Vec<&str> {
        match self {
            Action::Navigate(navigate) => vec![navigate.url.as_str()],
            Action::Type(typing) => vec![&typing.text],
            Action::Dialog(answer) => answer.text.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// The element that the action is aimed at, if any.
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

/// The load state at which a navigation counts as done.
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
    /// A plain click: left button, once, no modifiers.
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
    /// Focused first, unless it has the focus.
    pub target: Target,
    pub chord: Chord,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    pub target: Target,
    /// All options to select; more than one only in a multiple-choice list.
    pub options: Vec<SelectOption>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectOption {
    /// By its label.
    Label(String),
    /// By its index in the list, from 0.
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
        /// The element to scroll; the page if absent.
        over: Option<Target>,
        direction: Direction,
        distance: Distance,
    },
    /// Scrolls until this element is in view.
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
    /// One viewport, with a little overlap.
    Page,
    Pixels(u32),
    /// To the present end.
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
    /// A part of the URL, or all of it with `*` as a wildcard.
    Url(String),
    Load(LoadState),
    Time(Duration),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadDom {
    /// The size limit of the reply, in bytes.
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

/// `t1`, `t2` and so on, never reused in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct TabId(pub u32);

redact::declare_safe_text!(TabId);

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

/// The answer to a page's dialog.
#[derive(Clone, PartialEq, Eq)]
pub struct AnswerDialog {
    pub accept: bool,
    /// For a prompt.
    pub text: Option<String>,
}

/// The text of a prompt may be private: it is counted, never shown.
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
    fn classes_tell_what_only_reads_and_what_may_close_a_tab() {
        let time = Action::WaitFor(WaitFor { condition: Condition::Time(Duration::ZERO) });
        let go = Navigate { url: WebUrl::parse("http://a.test/").unwrap(), wait_for: LoadState::Load };
        for (action, only_reads, may_close_tab) in [
            (Action::Read(Read::default()), true, false),
            (Action::Find(Find::default()), true, false),
            (Action::ReadDom(ReadDom::default()), true, false),
            (Action::Screenshot(Screenshot::default()), true, false),
            (Action::Tabs(Tabs::List), true, false),
            (Action::Tabs(Tabs::New), false, true),
            (time, false, false),
            (Action::Navigate(go), false, false),
            (Action::Back, false, true),
            (Action::Reload, false, true),
            (Action::Scroll(Scroll::To(Target::Focused)), false, true),
            (Action::Click(Click::on(Target::Focused)), false, true),
        ] {
            assert_eq!(
                (action.only_reads(), action.may_close_tab()),
                (only_reads, may_close_tab),
                "{action:?}"
            );
            assert!(action.class() <= action.kind().class(), "{action:?}");
        }
    }

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
    fn typed_text_is_not_in_debug_output() {
        let typing =
            TypeText { target: Target::Focused, text: "hunter2".into(), clear_first: false, submit: false };
        let answer = AnswerDialog { accept: true, text: Some("hunter2".into()) };
        assert!(!format!("{typing:?} {answer:?}").contains("hunter2"));
    }
}
