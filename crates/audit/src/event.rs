//! The events of the log.

use crate::egress::EgressRecord;
use crate::error::AuditError;
use crate::line::LONGEST_LINE;
use crate::sanitize::{sanitize_redacted, sanitize_redacted_within};
use policy::{Risk, Scope, SessionId, Tenant};
use redact::{Redacted, RedactedFields, SafeText};
use serde::Serialize;
use std::time::Duration;

/// The size limit of texts in an outcome, whose space is reserved in advance.
const OUTCOME_TEXT_BYTES: usize = 512;

/// Links an intent to its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, RedactedFields)]
#[serde(transparent)]
pub struct CorrelationId(pub Redacted);

/// The tenant, actor and session that an event is about.
#[derive(Clone, Debug, Serialize, RedactedFields)]
pub struct EventSubject {
    pub tenant: Redacted,
    pub actor: Redacted,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jail_id: Option<Redacted>,
}

impl EventSubject {
    /// `jail` is the id of the jail, or of the browser that a provider runs.
    pub fn session(scope: &Scope, session: &SessionId, jail: Option<&dyn SafeText>) -> EventSubject {
        EventSubject {
            tenant: Redacted::from_safe(&scope.tenant),
            actor: Redacted::from_safe(&scope.actor),
            session_id: Some(session.clone()),
            jail_id: jail.map(|jail| Redacted::fill("{}", &[jail])),
        }
    }

    /// For changes to a tenant's credentials and grants, without an agent.
    pub fn tenant(tenant: &Tenant) -> EventSubject {
        EventSubject { tenant: Redacted::from_safe(tenant), ..EventSubject::stockade() }
    }

    /// For what Stockade does by itself. `*` is not a valid tenant or actor.
    pub fn stockade() -> EventSubject {
        EventSubject { tenant: "*".into(), actor: "*".into(), session_id: None, jail_id: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, RedactedFields)]
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
    /// A request that may change something is about to leave.
    EffectIntent,
    /// The site answered it, or it failed.
    EffectOutcome,
    /// It did not leave.
    EffectRefused,
    /// A person is asked.
    ApprovalAsked,
    /// The question was answered or expired.
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
    /// What left through the egress proxy, or tried to, in a batch.
    Egress,
    /// More happened than was recorded; `count` says how much.
    EventsLost,
    /// What retention removed.
    Removed,
    RecordingFailed,
    LogBegun,
    LogOpened,
    /// The end of the log was repaired after a crash.
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
    /// A key of an agent was made or revoked.
    KeyMade,
    KeyRevoked,
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
    /// An operator stored or discarded cookies that a site rotated.
    CredentialAccepted,
    CredentialRejected,
    /// An operator lets the egress proxy put its secrets into one more place of requests.
    CredentialPlaceAllowed,
    /// A one-time code of it was shown to an operator.
    #[serde(rename = "credential_code_told")]
    CredentialCodeShown,
    MasterKeyRotated,
    /// The webhook did not take a question, or takes them again.
    WebhookFailed,
    WebhookRestored,
}

/// A screenshot that is stored outside of the jail.
#[derive(Clone, Debug, Serialize, RedactedFields)]
pub struct StoredScreenshot {
    /// Under the state folder.
    pub path: Redacted,
    pub sha256: Redacted,
    /// Its width and height.
    pub size: [u32; 2],
    /// The rectangle of the target on it: left, top, width and height.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<[i32; 4]>,
}

/// One event. Its text is redacted by type, and the methods that set it escape control and invisible characters.
#[derive(Clone, Debug, Serialize, RedactedFields)]
pub struct Event {
    event_type: EventKind,
    #[serde(flatten)]
    subject: EventSubject,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<CorrelationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_element: Option<Redacted>,
    /// Typed text is always redacted: only its length is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_value: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    /// `ok`, or the code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<&'static str>,
    /// The page just before the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    screenshot_before: Option<StoredScreenshot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    screenshot_path: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    screenshot_sha256: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    egress: Vec<EgressRecord>,
}

impl Event {
    pub fn kind(&self) -> EventKind {
        self.event_type
    }

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
            egress: Vec::new(),
        }
    }

    pub fn outcome(
        kind: EventKind,
        subject: EventSubject,
        correlation: CorrelationId,
        action: &'static str,
    ) -> Event {
        let mut event = Event::new(kind, subject);
        event.correlation_id = Some(correlation);
        event.action = Some(action);
        event
    }

    /// Links it to the events of the same action or approval.
    pub fn correlation(mut self, id: CorrelationId) -> Event {
        self.correlation_id = Some(id);
        self
    }

    pub fn action(mut self, action: &'static str) -> Event {
        self.action = Some(action);
        self
    }

    /// The URL and the host of the page, or of where a navigation leads.
    pub fn address(mut self, url: Option<Redacted>, domain: Option<Redacted>) -> Event {
        (self.url, self.domain) =
            (url.map(|url| sanitize_redacted(&url)), domain.map(|host| sanitize_redacted(&host)));
        self
    }

    pub fn target_element(mut self, element: Option<Redacted>) -> Event {
        self.target_element = element.map(|element| sanitize_redacted(&element));
        self
    }

    /// What is selected or pressed; of typed text only its length.
    pub fn input_value(mut self, input: Option<Redacted>) -> Event {
        self.input_value = input.map(|input| sanitize_redacted(&input));
        self
    }

    pub fn user_agent(mut self, user_agent: &Redacted) -> Event {
        self.user_agent = Some(sanitize_redacted(user_agent));
        self
    }

    pub fn risk(mut self, risk: Risk) -> Event {
        self.risk = Some(risk.as_str());
        self
    }

    pub fn decision(mut self, decision: Option<&'static str>) -> Event {
        self.decision = decision;
        self
    }

    pub fn decided_by(mut self, who: Option<Redacted>) -> Event {
        self.decided_by = who.map(|who| sanitize_redacted(&who));
        self
    }

    pub fn rule(mut self, rule: impl Into<Redacted>) -> Event {
        self.rule = Some(sanitize_redacted(&rule.into()));
        self
    }

    pub fn recording(mut self, mode: &'static str) -> Event {
        self.recording = Some(mode);
        self
    }

    pub fn screenshot_before(mut self, screenshot: Option<StoredScreenshot>) -> Event {
        self.screenshot_before = screenshot;
        self
    }

    /// `ok`, or the code of the error.
    pub fn result(mut self, result: impl Into<Redacted>) -> Event {
        self.result = Some(sanitize_redacted_within(&result.into(), OUTCOME_TEXT_BYTES));
        self
    }

    pub fn took(mut self, duration: Duration) -> Event {
        self.duration_ms = u64::try_from(duration.as_millis()).ok();
        self
    }

    /// The URL and title of the page.
    pub fn at(mut self, url: &Redacted, title: &Redacted) -> Event {
        let text =
            |text: &Redacted| (!text.is_empty()).then(|| sanitize_redacted_within(text, OUTCOME_TEXT_BYTES));
        (self.url, self.title) = (text(url), text(title));
        self
    }

    pub fn detail(mut self, detail: impl Into<Redacted>) -> Event {
        self.detail = Some(sanitize_redacted(&detail.into()));
        self
    }

    pub fn count(mut self, count: u64) -> Event {
        self.count = Some(count);
        self
    }

    pub fn egress(mut self, records: Vec<EgressRecord>) -> Event {
        self.egress = records;
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
