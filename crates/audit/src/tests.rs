//! The log as a whole: durability, verification, recovery, and a full disk.

mod disk;
mod manipulate;
mod recovery;

use crate::head::Head;
use crate::line::Link;
use crate::queue::{Job, Queue};
use crate::{ActionContext, AuditError, Event, EventKind, EventSubject, Key, Log, LogOptions, verify};
use policy::{Action, Decision, Facts, Permit, Policy, SessionContext, Target, TypeText};
use redact::Redacted;
use std::path::{Path, PathBuf};

fn text(text: impl Into<String>) -> Redacted {
    Redacted::outside_sessions(text)
}

pub fn subject() -> EventSubject {
    EventSubject {
        tenant: "default".into(),
        actor: "agent".into(),
        session_id: policy::SessionId::parse("s-1").ok(),
        jail_id: None,
    }
}

pub fn key(folder: &Path) -> Key {
    Key::load_or_create(&folder.join("keys/audit.key")).unwrap()
}

/// A log with segments of the given size.
pub fn open(folder: &Path, segment_bytes: u64, most_bytes: u64) -> Result<Log, AuditError> {
    let options = LogOptions { key: key(folder), segment_bytes, most_bytes };
    Log::open(&folder.join("audit"), "i1", options).map(|(log, _)| log)
}

pub fn chain(folder: &Path) -> PathBuf {
    folder.join("audit/chain-1")
}

pub fn check(folder: &Path) -> crate::Report {
    verify(&chain(folder), Some(&key(folder).public()), &[]).unwrap()
}

pub fn permit() -> Permit {
    let target = Target::Ref("e1".into());
    let action =
        Action::Type(TypeText { target, text: "my secret".into(), clear_first: false, submit: false });
    match Policy::default().decide(action, Facts::default(), &SessionContext::default()) {
        Decision::Allow(permit) => permit,
        other => panic!("{other:?}"),
    }
}

pub async fn intend(log: &Log) -> Result<(crate::Permitted, crate::Intent), AuditError> {
    let subject = subject();
    let redact = |text: &str| Redacted::outside_sessions(text);
    log.intend(
        permit(),
        ActionContext { subject: &subject, user_agent: &"test".into(), before: None, redact: &redact },
    )
    .await
}

pub fn event(result: &str) -> Event {
    Event::new(EventKind::Refused, subject()).result(text(result))
}

/// Every line of the chain, in order.
pub fn lines(folder: &Path) -> Vec<serde_json::Value> {
    let segments = crate::segments(&chain(folder)).unwrap();
    let text = segments.iter().map(|segment| std::fs::read_to_string(&segment.path).unwrap());
    text.collect::<String>().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn an_intent_is_on_disk_before_it_can_be_performed() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), 1 << 20, 1 << 30).unwrap();
    let (permitted, intent) = intend(&log).await.unwrap();
    assert_eq!(permitted.action().name(), "type");
    let written = lines(folder.path());
    assert_eq!(written[0]["event_type"], "log_begun");
    assert_eq!(written[1]["event_type"], "intent");
    assert_eq!(written[1]["correlation_id"], intent.correlation.0.as_str());
    assert_eq!(written[1]["input_value"], "[9 characters]");
    assert_eq!(written[1]["risk"], "medium");
    assert!(!written[1].to_string().contains("my secret"));
    intent.complete(|event| event.result("ok")).await.unwrap();
    assert!(check(folder.path()).ok());
}

#[tokio::test]
async fn an_abandoned_intent_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), 1 << 20, 1 << 30).unwrap();
    drop(intend(&log).await.unwrap());
    log.append(&event("after")).await.unwrap();
    let written = lines(folder.path());
    assert_eq!((&written[2]["event_type"], &written[2]["result"]), (&"outcome".into(), &"abandoned".into()));
}

#[tokio::test]
async fn an_abandoned_intent_is_recorded_though_the_queue_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let (queue, jobs) = Queue::new();
    let head = Head::sign(&key(folder.path()), "c", Link::START, Link::START, 1);
    let log = Log::unattended(queue, head);
    let writer = log.clone();
    let intending = tokio::spawn(async move { intend(&writer).await });
    let queued = loop {
        match jobs.try_recv() {
            Ok(queued) => break queued,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let Job::Line(line) = queued.job else { panic!("not a line") };
    line.durable.unwrap().send(Ok(())).unwrap();
    let (_, intent) = intending.await.unwrap().unwrap();
    while log.note(&event("x")) {}
    assert!(matches!(log.append(&event("x")).await, Err(AuditError::Busy)));
    assert!(matches!(intend(&log).await.err(), Some(AuditError::Busy)));
    drop(intent);
    let is_abandoned = |job: &Job| matches!(job, Job::Line(line) if line.fields.contains("abandoned"));
    assert_eq!(jobs.try_iter().filter(|queued| is_abandoned(&queued.job)).count(), 1);
}

/// The line may be written all the same, and then needs an outcome; one that was refused has none.
#[tokio::test]
async fn an_intent_whose_caller_goes_away_while_it_is_written_is_recorded_as_abandoned() {
    let folder = tempfile::tempdir().unwrap();
    for (is_refused, outcomes) in [(false, 1), (true, 0)] {
        let (queue, jobs) = Queue::new();
        let head = Head::sign(&key(folder.path()), "c", Link::START, Link::START, 1);
        let log = Log::unattended(queue, head);
        let intending = tokio::spawn(async move { intend(&log).await.map(|_| ()) });
        let queued = loop {
            match jobs.try_recv() {
                Ok(queued) => break queued,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let Job::Line(line) = queued.job else { panic!("not a line") };
        if is_refused {
            let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
            line.durable.unwrap().send(Err(std::sync::Arc::new(full))).unwrap();
            assert!(matches!(intending.await.unwrap(), Err(AuditError::Write { .. })));
        } else {
            intending.abort();
            assert!(intending.await.unwrap_err().is_cancelled());
        }
        let is_abandoned = |job: &Job| matches!(job, Job::Line(line) if line.fields.contains("abandoned"));
        assert_eq!(jobs.try_iter().filter(|queued| is_abandoned(&queued.job)).count(), outcomes);
    }
}

#[tokio::test]
async fn intents_without_an_outcome_are_bounded() {
    let (queue, _jobs) = Queue::new();
    let mut slots = Vec::new();
    let refused = loop {
        match queue.reserve_outcome() {
            Ok(slot) => slots.push(slot),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, AuditError::Busy) && slots.len() == 1024);
    slots.pop();
    assert!(queue.reserve_outcome().is_ok());
}

#[tokio::test]
async fn many_writers_leave_whole_lines_in_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), 4096, 1 << 30).unwrap();
    let writers: Vec<_> = (0..100)
        .map(|_| {
            let log = log.clone();
            tokio::spawn(async move { log.append(&event("a\nb")).await })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    // All of them may have been one group, and a group stays in its segment.
    log.append(&event("after")).await.unwrap();
    assert_eq!(lines(folder.path()).len(), 102);
    let report = check(folder.path());
    assert!(report.ok(), "{report:?}");
    assert!(report.segments > 1, "{report:?}");
}

#[tokio::test]
async fn the_oldest_segments_are_dropped_when_the_log_is_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), 4096, 20_000).unwrap();
    for _ in 0..200 {
        log.append(&event("x")).await.unwrap();
    }
    let report = check(folder.path());
    assert!(report.ok(), "{report:?}");
    assert!(report.dropped > 50 && report.first == report.dropped + 1, "{report:?}");
    let size: u64 = crate::segments(&chain(folder.path())).unwrap().iter().map(|s| s.bytes).sum();
    assert!(size < 20_000 + 2 * 8192, "{size}");
    assert!(lines(folder.path()).iter().any(|line| line["event_type"] == "log_trimmed"));

    // A segment that is missing without such a note is a hole.
    std::fs::remove_file(&crate::segments(&chain(folder.path())).unwrap()[0].path).unwrap();
    assert!(!check(folder.path()).ok());
}

#[tokio::test]
async fn trimming_drops_old_segments_and_the_chain_still_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), 2048, 1 << 30).unwrap();
    let early = log.heads().unwrap().borrow().clone();
    for _ in 0..40 {
        log.append(&event("x")).await.unwrap();
    }
    let third = crate::segments(&chain(folder.path())).unwrap()[2].first;
    assert_eq!(log.trim(third, &"their age".into()).await.unwrap(), 2);
    let report = check(folder.path());
    assert!(report.ok() && report.first == third, "{report:?}");

    // An anchor that went with them is no fault, as long as a newer one is in the log.
    let newest = crate::read_head(&chain(folder.path())).unwrap().unwrap();
    let anchored = |anchors: &[crate::Head]| verify(&chain(folder.path()), None, anchors).unwrap();
    let both = anchored(&[early.clone(), newest]);
    assert!(both.ok() && both.anchors == 1, "{both:?}");
    let kind = anchored(&[early]).defect.unwrap().kind;
    assert!(matches!(kind, crate::DefectKind::AnchorsDropped { first, .. } if first == third), "{kind:?}");

    assert_eq!(log.trim(u64::MAX, &"their age".into()).await.unwrap() + 1, report.segments as u64);
    drop(log);
    assert!(check(folder.path()).ok());
}
