//! One question to a person, and its answer.

use browser::RedactedPageText;
use jiff::Timestamp;
use policy::{Name, Origin, Risk, Scope, SessionId};
use redact::{Redacted, RedactedFields, previously_redacted};
use serde::{Deserialize, Serialize};
use std::fmt;

/// `ap-` and sixteen random characters. Knowing an id gives no authority.
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

redact::declare_safe_text!(ApprovalId);

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Declares an enum with one name per variant for storage, display and JSON.
macro_rules! named_enum {
    ($(#[$doc:meta])* $type:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, RedactedFields)]
        pub enum $type { $($(#[$variant_doc])* $variant),* }

        impl $type {
            pub fn as_str(self) -> &'static str {
                match self { $($type::$variant => $name),* }
            }

            pub fn parse(text: &str) -> Option<$type> {
                match text { $($name => Some($type::$variant),)* _ => None }
            }
        }

        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

named_enum!(
    /// The subject of a question.
    ApprovalKind {
        /// Permission for one action.
        Action = "action",
        /// The same, and the session may use a domain that is not on the allowlist.
        Domain = "domain",
        /// Permission for one request that may change something: exactly its bytes.
        Effect = "effect",
        /// Guidance for a paused session.
        Guidance = "guidance",
    }
);

named_enum!(
    ApprovalState {
        Waiting = "waiting",
        Approved = "approved",
        Denied = "denied",
        /// Denied because nobody answered in time.
        Expired = "expired",
        /// The control plane stopped while the question waited. Never applied.
        Interrupted = "interrupted",
        /// The session ended or the caller withdrew the action.
        Withdrawn = "withdrawn",
        /// The paused session continues.
        Resumed = "resumed",
        /// The paused session was ended.
        Ended = "ended",
    }
);

named_enum!(
    /// The interface through which an answer arrived.
    DecisionChannel {
        Console = "console",
        CommandLine = "command_line",
        /// The console, opened from the agent's client.
        Elicitation = "elicitation",
        Webhook = "webhook",
    }
);

/// The operator who answers, and the channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decider {
    pub operator: String,
    pub channel: DecisionChannel,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// With `for_session`, actions that [`ApprovalCard::for_session`] describes need no further approval in the session.
    Approve {
        for_session: bool,
    },
    Deny,
    /// Denies with a reason that the agent reads.
    DenyBecause(String),
    /// Resumes a paused session; the agent reads the note.
    Resume {
        note: Option<String>,
    },
    /// Ends a paused session.
    End,
}

impl Verdict {
    pub(super) fn state(&self) -> ApprovalState {
        match self {
            Verdict::Approve { .. } => ApprovalState::Approved,
            Verdict::Deny | Verdict::DenyBecause(_) => ApprovalState::Denied,
            Verdict::Resume { .. } => ApprovalState::Resumed,
            Verdict::End => ApprovalState::Ended,
        }
    }

    pub(super) fn fits(&self, kind: ApprovalKind) -> bool {
        let is_guidance = matches!(self, Verdict::Resume { .. } | Verdict::End);
        is_guidance == (kind == ApprovalKind::Guidance)
    }
}

/// One question and its answer.
#[derive(Clone, Debug, Serialize, RedactedFields)]
pub struct Approval {
    pub id: ApprovalId,
    pub kind: ApprovalKind,
    #[serde(flatten)]
    pub scope: Scope,
    pub session: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<Name>,
    #[serde(flatten)]
    pub card: ApprovalCard,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
    pub state: ApprovalState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Redacted>,
    #[serde(rename = "door", skip_serializing_if = "Option::is_none")]
    pub channel: Option<DecisionChannel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
    /// Whether it was approved for the session.
    pub approved_for_session: bool,
    /// The operator's message to the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Redacted>,
    /// Outcome of the approved action: `ok` or an error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Redacted>,
}

/// The information for a decision. `PageText` comes from a page or an agent and is displayed as such; all other text
/// is ours or the operator's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, RedactedFields)]
pub struct ApprovalCard {
    /// The tool that the agent called.
    #[serde(deserialize_with = "previously_redacted")]
    pub tool: Redacted,
    /// Our description of the action: `click`, `type 12 characters`.
    #[serde(deserialize_with = "previously_redacted")]
    pub action: Redacted,
    pub risk: Risk,
    #[serde(deserialize_with = "previously_redacted")]
    pub rule: Redacted,
    /// The rule's description of the action.
    #[serde(deserialize_with = "previously_redacted")]
    pub description: Redacted,
    /// The facts that the rule matched.
    pub because: Vec<CardFact>,
    /// The page's address, or the target of a navigation.
    #[serde(deserialize_with = "previously_redacted")]
    pub url: RedactedPageText,
    /// The host of `url` in ASCII.
    #[serde(deserialize_with = "previously_redacted")]
    pub domain: Redacted,
    pub element: Option<ElementCard>,
    /// The chosen option, drop target or dialog. Never typed text.
    #[serde(default, deserialize_with = "previously_redacted")]
    pub input: Option<RedactedPageText>,
    /// Position of the element on the screenshot: left, top, width and height.
    pub mark: Option<[i32; 4]>,
    /// Whether the action cannot be undone.
    pub irreversible: bool,
    /// What "this" means in "allow this for the session"; empty if that is not offered.
    pub for_session: Vec<CardFact>,
    /// The request that is held until the answer. `tool`, `action` and `element` are then those of the call before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectCard>,
}

/// A request that is held: what will be sent, and nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, RedactedFields)]
pub struct EffectCard {
    /// `POST`, or `MESSAGE` on a WebSocket.
    #[serde(deserialize_with = "previously_redacted")]
    pub method: Redacted,
    /// Scheme, host, path and query.
    #[serde(deserialize_with = "previously_redacted")]
    pub address: RedactedPageText,
    /// How the body was read: `form`, `JSON`, `GraphQL`, `none`…
    #[serde(deserialize_with = "previously_redacted")]
    pub body: Redacted,
    pub body_bytes: u64,
    /// Operations that the body names.
    #[serde(default)]
    pub operations: Vec<CardFact>,
    pub fields: Vec<EffectFieldCard>,
    /// Fields that are not listed, because there are too many.
    #[serde(default)]
    pub omitted_fields: u64,
    /// SHA-256 of what will be sent.
    #[serde(deserialize_with = "previously_redacted")]
    pub digest: Redacted,
}

/// One field of a held request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, RedactedFields)]
pub struct EffectFieldCard {
    #[serde(deserialize_with = "previously_redacted")]
    pub name: RedactedPageText,
    #[serde(deserialize_with = "previously_redacted")]
    pub value: RedactedPageText,
    /// The whole length in bytes; `value` may be cut.
    pub length: u64,
    pub is_cut: bool,
}

impl ApprovalCard {
    /// The origin of the element's frame if it differs from the page's.
    pub fn other_site(&self) -> Option<&str> {
        let origin = self.element.as_ref()?.origin.as_str();
        is_other_site(self.url.as_str(), origin).then_some(origin)
    }
}

/// The effect of approving a domain that is not on the allowlist, in words.
pub const DOMAIN_APPROVAL_EFFECT: &str = "the session may open that site until it ends, without asking again";

/// Whether an element's origin differs from the page's. Compares origins, because one host name can be a prefix of
/// another.
pub fn is_other_site(page: &str, origin: &str) -> bool {
    !origin.is_empty() && Origin::of(page).as_str() != origin
}

/// The target element, in the page's text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, RedactedFields)]
pub struct ElementCard {
    #[serde(deserialize_with = "previously_redacted")]
    pub role: RedactedPageText,
    #[serde(deserialize_with = "previously_redacted")]
    pub name: RedactedPageText,
    /// The visible text.
    #[serde(deserialize_with = "previously_redacted")]
    pub text: RedactedPageText,
    /// The origin of its frame.
    #[serde(deserialize_with = "previously_redacted")]
    pub origin: RedactedPageText,
    /// Method and address of the form that it submits.
    #[serde(default, deserialize_with = "previously_redacted")]
    pub form_target: Option<RedactedPageText>,
    /// Label of the form's default button, which Enter activates.
    #[serde(default, deserialize_with = "previously_redacted")]
    pub form_button: Option<RedactedPageText>,
    /// The link target.
    #[serde(default, deserialize_with = "previously_redacted")]
    pub href: Option<RedactedPageText>,
}

/// A named fact whose value comes from the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, RedactedFields)]
pub struct CardFact {
    #[serde(rename = "what", deserialize_with = "previously_redacted")]
    pub name: Redacted,
    #[serde(rename = "words", deserialize_with = "previously_redacted")]
    pub value: RedactedPageText,
}

impl CardFact {
    pub fn new(name: &'static str, value: &Redacted) -> CardFact {
        CardFact { name: name.into(), value: RedactedPageText::new(value) }
    }
}

/// A screenshot of the page at the time of the question. Kept in memory until the decision.
#[derive(Clone)]
pub struct ApprovalScreenshot {
    pub bytes: bytes::Bytes,
    pub mime: &'static str,
}

/// Selects questions for a list.
#[derive(Clone, Debug, Default)]
pub struct ApprovalFilter {
    pub scope: Option<Scope>,
    pub only_waiting: bool,
}

/// A change of a question's state. A lagging receiver lists again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalChange {
    pub id: ApprovalId,
    pub state: ApprovalState,
}
