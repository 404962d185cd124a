//! The log as the gate uses it: events in, and an intent for every permit.

use crate::event::{About, Correlation, Event, EventKind};
use crate::text::plain;
use crate::writer::{self, Line};
use policy::{Action, Facts, Permit, Permitted};
use serde::Serialize;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Duration;
use tokio::sync::oneshot;

/// A disk that hangs for longer holds up no caller; what it writes late is on record without its action.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error("cannot open the audit log {path}")]
    Open { path: PathBuf, source: io::Error },
    #[error("cannot write the audit log")]
    Write { source: Arc<io::Error> },
    #[error("the audit log's writer is gone")]
    Gone,
    #[error("the audit log is not keeping up")]
    Busy,
    #[error("cannot put an event into words")]
    Encode { source: serde_json::Error },
}

impl AuditError {
    /// The operating system's reason, where there is one: a full disk is worth its own word.
    pub fn io(&self) -> Option<&io::Error> {
        match self {
            AuditError::Open { source, .. } => Some(source),
            AuditError::Write { source } => Some(source),
            AuditError::Gone | AuditError::Busy | AuditError::Encode { .. } => None,
        }
    }
}

/// One instance's log. Clones write to the same file.
#[derive(Clone)]
pub struct Log {
    lines: SyncSender<Line>,
    next: Arc<AtomicU64>,
    instance: Arc<str>,
}

#[derive(Serialize)]
struct Stamped<'a> {
    timestamp: jiff::Timestamp,
    #[serde(flatten)]
    event: &'a Event,
}

impl Log {
    /// Opens `<folder>/<instance>.jsonl` for appending.
    pub fn open(folder: &Path, instance: &str) -> Result<Log, AuditError> {
        let path = folder.join(format!("{instance}.jsonl"));
        let open = || {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
            writer::spawn(file)
        };
        let lines = open().map_err(|source| AuditError::Open { path: path.clone(), source })?;
        Ok(Log { lines, next: Arc::new(AtomicU64::new(1)), instance: instance.into() })
    }

    /// Writes the intent; only when it is durable does the permit become something that can be performed.
    pub async fn intend(
        &self,
        permit: Permit,
        about: &About,
    ) -> Result<(Permitted, Correlation), AuditError> {
        let correlation = self.correlation();
        let mut event = describe(EventKind::Intent, about, permit.action());
        event.correlation_id = Some(correlation.clone());
        event.decision = Some("allow");
        event.rule = Some(permit.rule().0);
        event.target_element = aimed_at(permit.facts()).map(|text| plain(&text));
        if event.url.is_none() && !permit.facts().page_url.is_empty() {
            event.url = Some(plain(&permit.facts().page_url));
        }
        self.append(&event).await?;
        Ok((permit.recorded(), correlation))
    }

    /// Writes one event and returns when it is durable.
    pub async fn append(&self, event: &Event) -> Result<(), AuditError> {
        let mut text = serde_json::to_string(&Stamped { timestamp: jiff::Timestamp::now(), event })
            .map_err(|source| AuditError::Encode { source })?;
        text.push('\n');
        let (durable, answer) = oneshot::channel();
        self.lines.try_send(Line { text, durable }).map_err(|error| match error {
            TrySendError::Full(_) => AuditError::Busy,
            TrySendError::Disconnected(_) => AuditError::Gone,
        })?;
        let answer = tokio::time::timeout(PATIENCE, answer).await.map_err(|_| AuditError::Busy)?;
        answer.map_err(|_| AuditError::Gone)?.map_err(|source| AuditError::Write { source })
    }

    /// Writes that an action was refused, and by which rule.
    pub async fn refuse(
        &self,
        about: &About,
        action: &Action,
        rule: &'static str,
        code: &str,
    ) -> Result<(), AuditError> {
        let mut event = describe(EventKind::Refused, about, action);
        event.decision = Some("deny");
        event.rule = Some(rule);
        self.append(&event.result(code)).await
    }

    fn correlation(&self) -> Correlation {
        Correlation(format!("{}-{}", self.instance, self.next.fetch_add(1, Ordering::Relaxed)))
    }
}

fn describe(kind: EventKind, about: &About, action: &Action) -> Event {
    let mut event = Event::new(kind, about.clone());
    event.action = Some(action.name());
    event.input_value = crate::input::told(action).map(|text| plain(&text));
    if let Action::Navigate(navigate) = action {
        event.url = Some(plain(navigate.url.as_str()));
        event.domain = Some(plain(navigate.url.host()));
    }
    event
}

/// The element, the one that a drag ends on, or the dialog.
fn aimed_at(facts: &Facts) -> Option<String> {
    let element = |facts: &policy::ElementFacts| format!("{} {:?}", facts.role, facts.name);
    match (&facts.target, &facts.to, &facts.dialog) {
        (Some(from), Some(to), _) => Some(format!("{} to {}", element(from), element(to))),
        (Some(target), None, _) => Some(element(target)),
        (None, _, Some(dialog)) => Some(format!("{} dialog {:?}", dialog.kind, dialog.message)),
        (None, _, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Decision, Facts, Policy, Target, TypeText};

    fn about() -> About {
        About { tenant: "default".into(), actor: "agent".into(), session_id: "s-1".into(), jail_id: None }
    }

    fn typing() -> Permit {
        let target = Target::Ref("e1".into());
        let action =
            Action::Type(TypeText { target, text: "my secret".into(), clear_first: false, submit: false });
        match Policy::default().decide(action, Facts::default()) {
            Decision::Allow(permit) => permit,
            Decision::Deny(denial) => panic!("{denial:?}"),
        }
    }

    fn lines(folder: &Path) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(folder.join("i1.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn an_intent_is_on_disk_before_it_can_be_performed() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::open(folder.path(), "i1").unwrap();
        let (permitted, correlation) = log.intend(typing(), &about()).await.unwrap();
        assert_eq!(permitted.action().name(), "type");
        let written = lines(folder.path());
        assert_eq!(written[0]["event_type"], "intent");
        assert_eq!(written[0]["correlation_id"], correlation.0);
        assert_eq!(written[0]["input_value"], "[9 characters]");
        assert!(!written[0].to_string().contains("my secret"));
    }

    #[tokio::test]
    async fn a_log_that_cannot_be_written_gives_no_permission() {
        // /dev/full answers every write with "no space left".
        let file = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let lines = writer::spawn(file).unwrap();
        let log = Log { lines, next: Arc::new(AtomicU64::new(1)), instance: "i1".into() };
        let refused = log.intend(typing(), &about()).await;
        let error = refused.err().unwrap();
        assert!(matches!(error, AuditError::Write { .. }));
        assert!(error.io().is_some());
    }

    #[tokio::test]
    async fn many_writers_leave_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::open(folder.path(), "i1").unwrap();
        let writers: Vec<_> = (0..100)
            .map(|_| {
                let log = log.clone();
                tokio::spawn(async move {
                    log.append(&Event::new(EventKind::Outcome, about()).result("a\nb")).await
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap().unwrap();
        }
        assert_eq!(lines(folder.path()).len(), 100);
    }
}
