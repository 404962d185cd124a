//! One question to a person, as every door shows it, and what became of it.

use browser::PageText;
use jiff::Timestamp;
use policy::{Name, Origin, Risk, Scope, SessionId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// `ap-` and sixteen letters: nobody's to choose, and no authority by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct ApprovalId(String);

impl ApprovalId {
    const PREFIX: &str = "ap-";
    const LENGTH: usize = 16;

    pub(super) fn random() -> ApprovalId {
        ApprovalId(format!("{}{}", Self::PREFIX, crate::random::token(Self::LENGTH)))
    }

    pub fn parse(text: &str) -> Option<ApprovalId> {
        let random = text.strip_prefix(Self::PREFIX)?;
        let fits = random.len() == Self::LENGTH
            && random.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        fits.then(|| ApprovalId(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An enum that is stored, shown and serialised by one name for each of its values.
macro_rules! words {
    ($(#[$doc:meta])* $type:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type { $($(#[$variant_doc])* $variant),* }

        impl $type {
            pub fn as_str(self) -> &'static str {
                match self { $($type::$variant => $word),* }
            }

            pub fn parse(text: &str) -> Option<$type> {
                match text { $($word => Some($type::$variant),)* _ => None }
            }
        }

        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

words!(
    /// What is asked for.
    Kind {
        /// Leave to do one thing.
        Action = "action",
        /// The same, and a domain that is not on the allowlist becomes one of this session's.
        Domain = "domain",
        /// The session is paused: what now?
        Guidance = "guidance",
    }
);

words!(
    State {
        Waiting = "waiting",
        Approved = "approved",
        Denied = "denied",
        /// Nobody answered in time, which is a no.
        Expired = "expired",
        /// The control plane ended while it waited; it is never applied.
        Interrupted = "interrupted",
        /// Its session ended, or its caller took it back.
        Withdrawn = "withdrawn",
        /// The paused session goes on.
        Resumed = "resumed",
        /// The paused session was ended.
        Ended = "ended",
    }
);

words!(
    /// The way an answer came.
    Door {
        Console = "console",
        CommandLine = "command_line",
        /// The console, opened from an agent's client.
        Elicitation = "elicitation",
        Webhook = "webhook",
    }
);

/// Who answers, and which way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decider {
    pub operator: String,
    pub door: Door,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// `for_session`: what [`Card::for_session`] tells needs no further question in this session.
    Approve {
        for_session: bool,
    },
    Deny,
    /// The same, with a reason that the agent reads.
    DenyBecause(String),
    /// A paused session goes on; the agent reads the note.
    Resume {
        note: Option<String>,
    },
    /// A paused session is ended.
    End,
}

impl Verdict {
    pub(super) fn state(&self) -> State {
        match self {
            Verdict::Approve { .. } => State::Approved,
            Verdict::Deny | Verdict::DenyBecause(_) => State::Denied,
            Verdict::Resume { .. } => State::Resumed,
            Verdict::End => State::Ended,
        }
    }

    pub(super) fn fits(&self, kind: Kind) -> bool {
        let guides = matches!(self, Verdict::Resume { .. } | Verdict::End);
        guides == (kind == Kind::Guidance)
    }
}

/// One question, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Approval {
    pub id: ApprovalId,
    pub kind: Kind,
    #[serde(flatten)]
    pub scope: Scope,
    pub session: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<Name>,
    #[serde(flatten)]
    pub card: Card,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
    pub state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub door: Option<Door>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
    /// Whether it was approved for the session.
    pub approved_for_session: bool,
    /// What the operator tells the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What came of it once it was approved: `ok` or the code of an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// What a person has to know to decide. [`PageText`] is what a page or an agent wrote, and is shown as such; every
/// other text is ours or the operator's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The tool that the agent called.
    pub tool: String,
    /// What will be done, in our words: `click`, `type 12 characters`.
    pub action: String,
    pub risk: Risk,
    pub rule: String,
    /// What the rule says the action does.
    pub description: String,
    /// The facts that the rule rests on.
    pub because: Vec<Said>,
    /// The page, or where a navigation leads.
    pub url: PageText,
    /// The host of it, in ASCII.
    pub domain: String,
    pub element: Option<ElementCard>,
    /// What is put in or chosen; typed text is counted, never told.
    pub input: Option<PageText>,
    /// Where the element is on the picture: left, top, width and height.
    pub mark: Option<[i32; 4]>,
    /// It cannot be undone.
    pub irreversible: bool,
    /// Exactly what "this" is in "allow this for the session"; empty where that is not on offer.
    pub for_session: Vec<Said>,
}

impl Card {
    /// The site of the frame that the element is in, where that is not the site of the page.
    pub fn other_site(&self) -> Option<&str> {
        let origin = self.element.as_ref()?.origin.as_str();
        is_other_site(self.url.as_str(), origin).then_some(origin)
    }
}

/// What a yes is worth where a site is off the list.
pub const OFF_THE_LIST: &str = "this session may go to that site until it ends, without being asked again";

/// Whether an element of this origin is not of the page's own site. By the origins: one host's name may begin with another's.
pub fn is_other_site(page: &str, origin: &str) -> bool {
    !origin.is_empty() && Origin::of(page).as_str() != origin
}

/// An element, in its page's words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElementCard {
    pub role: PageText,
    pub name: PageText,
    /// What a person reads on it.
    pub text: PageText,
    /// The site of the frame that it is in.
    pub origin: PageText,
    /// The method and address of the form that it sends.
    pub form_target: Option<PageText>,
    /// What the button says that Enter presses to send it.
    #[serde(default)]
    pub form_button: Option<PageText>,
    /// Where it leads.
    pub href: Option<PageText>,
}

/// A fact with a name of ours and a value of the page's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub what: String,
    pub words: PageText,
}

impl Said {
    pub fn new(what: &str, words: &str) -> Said {
        Said { what: what.to_owned(), words: PageText::new(words) }
    }
}

/// What the page showed when it was asked. In memory only, and gone when it is decided.
#[derive(Clone)]
pub struct ApprovalPicture {
    pub bytes: bytes::Bytes,
    pub mime: &'static str,
}

/// Which ones are listed.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub scope: Option<Scope>,
    pub only_waiting: bool,
}

/// Something became of a question. Whoever lags behind lists again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub id: ApprovalId,
    pub state: State,
}
