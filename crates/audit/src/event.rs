//! The events of the log.

use crate::error::AuditError;
use crate::line::LONGEST_LINE;
use crate::sanitize::{sanitize, sanitize_within};
use policy::{Scope, SessionId, Tenant};
use serde::Serialize;
use std::time::Duration;

/// The size limit of texts in an outcome, whose space is reserved in advance.
const OUTCOME_TEXT_BYTES: usize = 512;

/// Links an intent to its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct CorrelationId(pub String);

/// The tenant, actor and session that an event is about.
#[derive(Clone, Debug, Serialize)]
pub struct EventSubject {
    pub tenant: String,
    pub actor: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jail_id: Option<String>,
}

impl EventSubject {
    pub fn session(scope: &Scope, session: &SessionId, jail: Option<&str>) -> EventSubject {
        EventSubject {
            tenant: scope.tenant.to_string(),
            actor: scope.actor.to_string(),
            session_id: session.to_string(),
            jail_id: jail.map(ToString::to_string),
        }
    }

    /// For changes to a tenant's credentials and grants, without an agent.
    pub fn tenant(tenant: &Tenant) -> EventSubject {
        EventSubject { tenant: tenant.to_string(), ..EventSubject::stockade() }
    }

    /// For what Stockade does by itself. `*` is not a valid tenant or actor.
    pub fn stockade() -> EventSubject {
        EventSubject { tenant: "*".into(), actor: "*".into(), session_id: String::new(), jail_id: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    SessionOpened,
    SessionEnded,
    /// A bundle of the session was written.
    SessionArchived,
    /// An action is about to be performed.
    Intent,
    /// It was performed, or failed.
    Outcome,
    /// It was refused before it reached the browser.
    Refused,
    /// It was asked for, and there was nothing to decide on: no such element, a busy page.
    NotPerformed,
    /// A person is asked.
    ApprovalAsked,
    /// The question was answered, or its time is over.
    ApprovalDecided,
    /// Something that an operator should know of at once.
    Alert,
    /// The page went to another address by itself.
    PageNavigated,
    PageRedirected,
    PageOpenedTab,
    PageDialog,
    DownloadRefused,
    UploadRefused,
    /// The page tried to go where no page may.
    SchemeRefused,
    /// The page, or a crash, closed a tab.
    TabGone,
    /// More happened than was recorded; `count` says how much.
    EventsLost,
    /// What retention removed.
    Removed,
    RecordingFailed,
    LogBegun,
    LogOpened,
    /// What a crash left was mended.
    LogRecovered,
    /// Old segments are dropped.
    LogTrimmed,
    AnchorFailed,
    AnchorRestored,
    /// An operator logged in, or out, or tried to and could not.
    OperatorEntered,
    OperatorLeft,
    OperatorRefused,
    /// An operator was added or removed, or got a password or a link.
    OperatorChanged,
    /// A grant was issued, or one of its uses was taken, given back or refused.
    GrantIssued,
    GrantUsed,
    GrantReturned,
    GrantRefused,
    GrantRevoked,
    /// Old grants were removed; `count` says how many.
    GrantsCollected,
    /// A tenant's usual time for grants.
    GrantLifetimeSet,
    CredentialStored,
    CredentialRemoved,
    /// It went into a browser.
    CredentialInjected,
    /// The site did not take it.
    CredentialExpired,
    /// Cookies that a site rotated went into the vault, or were thrown away, by an operator's word.
    CredentialAccepted,
    CredentialRejected,
    /// A one-time code of it was shown to an operator.
    CredentialCodeTold,
    MasterKeyRotated,
    /// The webhook did not take a question, or takes them again.
    WebhookFailed,
    WebhookRestored,
}

/// A screenshot that is stored outside of the jail.
#[derive(Clone, Debug, Serialize)]
pub struct StoredScreenshot {
    /// Under the state folder.
    pub path: String,
    pub sha256: String,
    /// Its width and height.
    pub size: [u32; 2],
    /// The rectangle of the target on it: left, top, width and height.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<[i32; 4]>,
}

/// One event. Text of a page or an agent is passed through [`crate::sanitize`] first.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    pub event_type: EventKind,
    #[serde(flatten)]
    pub subject: EventSubject,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_element: Option<String>,
    /// Typed text is always redacted: only its length is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// `ok`, or the code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<&'static str>,
    /// The page just before the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screenshot_before: Option<StoredScreenshot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screenshot_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screenshot_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

impl Event {
    pub fn new(event_type: EventKind, subject: EventSubject) -> Event {
        Event {
            event_type,
            subject,
            correlation_id: None,
            action: None,
            url: None,
            domain: None,
            title: None,
            target_element: None,
            input_value: None,
            user_agent: None,
            risk: None,
            decision: None,
            decided_by: None,
            rule: None,
            duration_ms: None,
            result: None,
            recording: None,
            screenshot_before: None,
            screenshot_path: None,
            screenshot_sha256: None,
            detail: None,
            count: None,
        }
    }

    pub fn outcome(subject: EventSubject, correlation: CorrelationId, action: &'static str) -> Event {
        let mut event = Event::new(EventKind::Outcome, subject);
        event.correlation_id = Some(correlation);
        event.action = Some(action);
        event
    }

    pub fn result(mut self, result: &str) -> Event {
        self.result = Some(sanitize_within(result, OUTCOME_TEXT_BYTES));
        self
    }

    pub fn took(mut self, duration: Duration) -> Event {
        self.duration_ms = u64::try_from(duration.as_millis()).ok();
        self
    }

    /// The URL and title of the page.
    pub fn at(mut self, url: &str, title: &str) -> Event {
        let text = |text: &str| (!text.is_empty()).then(|| sanitize_within(text, OUTCOME_TEXT_BYTES));
        (self.url, self.title) = (text(url), text(title));
        self
    }

    pub fn detail(mut self, detail: &str) -> Event {
        self.detail = Some(sanitize(detail));
        self
    }

    pub fn count(mut self, count: u64) -> Event {
        self.count = Some(count);
        self
    }

    pub fn picture(mut self, picture: Option<StoredScreenshot>) -> Event {
        if let Some(StoredScreenshot { path, sha256, .. }) = picture {
            (self.screenshot_path, self.screenshot_sha256) = (Some(path), Some(sha256));
        }
        self
    }
}

/// The size of the number, the hashes and the signature of a line.
const FRAME_BYTES: usize = 512;

#[derive(Serialize)]
struct Stamped<'a> {
    timestamp: jiff::Timestamp,
    #[serde(flatten)]
    event: &'a Event,
}

/// The event and the time, as the fields of a JSON object without its braces.
pub fn fields(event: &Event) -> Result<String, AuditError> {
    let text = serde_json::to_string(&Stamped { timestamp: jiff::Timestamp::now(), event })
        .map_err(|source| AuditError::Encode { source })?;
    if text.len() + FRAME_BYTES > LONGEST_LINE {
        return Err(AuditError::TooLong { bytes: text.len() });
    }
    Ok(text[1..text.len() - 1].to_owned())
}
