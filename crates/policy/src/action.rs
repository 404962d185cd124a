//! Everything an agent can ask a browser to do. There is nothing else.

use crate::{Find, Read, WebUrl};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Navigate(Navigate),
    Click(Click),
    Type(TypeText),
    Read(Read),
    Find(Find),
    Screenshot(Screenshot),
}

impl Action {
    /// The name under which the action is recorded, decided and timed.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Navigate(_) => "navigate",
            Action::Click(_) => "click",
            Action::Type(_) => "type",
            Action::Read(_) => "read",
            Action::Find(_) => "find",
            Action::Screenshot(_) => "screenshot",
        }
    }

    /// The element it is aimed at, for actions that have one.
    pub fn target(&self) -> Option<&Target> {
        match self {
            Action::Click(click) => Some(&click.target),
            Action::Type(typing) => Some(&typing.target),
            Action::Navigate(_) | Action::Read(_) | Action::Find(_) | Action::Screenshot(_) => None,
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

/// How an agent names an element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A ref from a snapshot, such as `e12`.
    Ref(String),
    /// Role, accessible name and place among the matches.
    Role { role: String, name: Option<String>, index: usize },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screenshot {
    pub full_page: bool,
    pub format: ImageFormat,
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
