//! The log as a whole: what is written is there, what is damaged is found, what is full comes back.

mod disk;
mod manipulate;
mod recovery;

use crate::{About, AuditError, Context, Event, EventKind, Key, Log, LogOptions, verify};
use policy::{Action, Decision, Facts, Permit, Policy, Standing, Target, TypeText};
use std::path::{Path, PathBuf};

pub fn about() -> About {
    About { tenant: "default".into(), actor: "agent".into(), session_id: "s-1".into(), jail_id: None }
}

pub fn key(folder: &Path) -> Key {
    Key::load_or_create(&folder.join("keys/audit.key")).unwrap()
}

/// A log with segments of the given size.
pub fn open(folder: &Path, segment_bytes: u64, most_bytes: u64) -> Result<Log, AuditError> {
    let options = LogOptions { key: key(folder), segment_bytes, most_bytes };
    Log::open(&folder.join("audit"), "i1", options)
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
    match Policy::default().decide(action, Facts::default(), &Standing::default()) {
        Decision::Allow(permit) => permit,
        other => panic!("{other:?}"),
    }
}

pub async fn intend(log: &Log) -> Result<(policy::Permitted, crate::Intent), AuditError> {
    let about = about();
    let veil = |text: &str| text.to_owned();
    log.intend(permit(), Context { about: &about, user_agent: "test", before: None, veil: &veil }).await
}

pub fn event(result: &str) -> Event {
    Event::new(EventKind::Refused, about()).result(result)
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
    assert_eq!(written[1]["correlation_id"], intent.correlation.0);
    assert_eq!(written[1]["input_value"], "[9 characters]");
    assert_eq!(written[1]["risk"], "medium");
    assert!(!written[1].to_string().contains("my secret"));
    intent.came_to(|event| event.result("ok")).await.unwrap();
    assert!(check(folder.path()).ok());
}

#[tokio::test]
async fn an_intent_that_is_given_up_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), 1 << 20, 1 << 30).unwrap();
    drop(intend(&log).await.unwrap());
    log.append(&event("after")).await.unwrap();
    let written = lines(folder.path());
    assert_eq!((&written[2]["event_type"], &written[2]["result"]), (&"outcome".into(), &"abandoned".into()));
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
async fn the_oldest_segments_go_when_the_log_is_too_large_and_verify_says_where_it_begins() {
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
async fn segments_are_dropped_by_age_only_when_asked_and_the_chain_holds() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), 2048, 1 << 30).unwrap();
    let early = log.heads().unwrap().borrow().clone();
    for _ in 0..40 {
        log.append(&event("x")).await.unwrap();
    }
    let third = crate::segments(&chain(folder.path())).unwrap()[2].first;
    assert_eq!(log.trim(third, "their age").await.unwrap(), 2);
    let report = check(folder.path());
    assert!(report.ok() && report.first == third, "{report:?}");

    // An anchor that went with them is no fault, as long as a newer one is in the log.
    let newest = crate::read_head(&chain(folder.path())).unwrap().unwrap();
    let anchored = |anchors: &[crate::Head]| verify(&chain(folder.path()), None, anchors).unwrap();
    let both = anchored(&[early.clone(), newest]);
    assert!(both.ok() && both.anchors == 1, "{both:?}");
    let wrong = anchored(&[early]).bad.unwrap().wrong;
    assert!(matches!(wrong, crate::Wrong::AnchorsDropped { first, .. } if first == third), "{wrong:?}");

    assert_eq!(log.trim(u64::MAX, "their age").await.unwrap() + 1, report.segments as u64);
    drop(log);
    assert!(check(folder.path()).ok());
}
