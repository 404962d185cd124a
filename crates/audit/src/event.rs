//! What one line of the log holds.

use policy::{Scope, SessionId};
use serde::Serialize;
use std::time::Duration;

/// Joins an intent to its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Correlation(pub String);

/// Whom and what an event is about.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    pub tenant: String,
    pub actor: String,
    pub session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jail_id: Option<String>,
}

impl About {
    pub fn session(scope: &Scope, session: &SessionId, jail: Option<&str>) -> About {
        About {
            tenant: scope.tenant.to_string(),
            actor: scope.actor.to_string(),
            session_id: session.to_string(),
            jail_id: jail.map(ToString::to_string),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    SessionOpened,
    SessionEnded,
    /// An action is about to be performed.
    Intent,
    /// It was performed, or failed.
    Outcome,
    /// It was refused before it reached the browser.
    Refused,
}

/// One event. Text that a page or an agent wrote is cleaned and cut by [`crate::plain`] on its way in.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    pub event_type: EventKind,
    #[serde(flatten)]
    pub about: About,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<Correlation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_element: Option<String>,
    /// Typed text is always redacted: only its length is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// `ok`, or the code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screenshot_path: Option<String>,
}

impl Event {
    pub fn new(event_type: EventKind, about: About) -> Event {
        Event {
            event_type,
            about,
            correlation_id: None,
            action: None,
            url: None,
            domain: None,
            target_element: None,
            input_value: None,
            decision: None,
            rule: None,
            duration_ms: None,
            result: None,
            screenshot_path: None,
        }
    }

    pub fn outcome(about: About, correlation: Correlation, action: &'static str) -> Event {
        let mut event = Event::new(EventKind::Outcome, about);
        event.correlation_id = Some(correlation);
        event.action = Some(action);
        event
    }

    pub fn result(mut self, result: &str) -> Event {
        self.result = Some(crate::plain(result));
        self
    }

    pub fn took(mut self, duration: Duration) -> Event {
        self.duration_ms = u64::try_from(duration.as_millis()).ok();
        self
    }
}
