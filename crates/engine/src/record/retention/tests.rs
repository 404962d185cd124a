//! Retention with a simulated uptime.

use super::*;
use std::fs::{create_dir_all, write};

const RULES: RetentionRules =
    RetentionRules { recordings_days: 7, bundles_days: 3, log_days: 30, most_bytes: 10_000 };

fn up(boot: &str, seconds: u64) -> Uptime {
    Uptime { boot: boot.to_owned(), seconds }
}

fn recording(state: &Path, name: &str, bytes: usize) {
    let folder = state.join("recordings").join(name);
    create_dir_all(&folder).unwrap();
    write(folder.join("img-1.webp"), vec![0; bytes]).unwrap();
}

fn removed(state: &Path, open: &[&str], now: &Uptime) -> Vec<String> {
    let open: Vec<String> = open.iter().map(ToString::to_string).collect();
    let mut removed = sweep(state, &RULES, &open, now).unwrap().unwrap().removed;
    removed.iter_mut().for_each(|detail| detail.truncate(detail.find(',').unwrap()));
    removed
}

#[test]
fn recordings_and_bundles_go_when_they_are_old_and_not_before() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    recording(state, "s-1", 10);
    recording(state, "s-open", 10);
    create_dir_all(state.join("archive")).unwrap();
    write(state.join("archive/s-0.tar"), b"x").unwrap();
    assert!(removed(state, &["s-open"], &up("a", 100)).is_empty());
    assert!(removed(state, &["s-open"], &up("a", 100 + 3 * DAY - 1)).is_empty());
    assert_eq!(removed(state, &["s-open"], &up("a", 100 + 3 * DAY)), ["archive/s-0.tar"]);
    assert!(removed(state, &["s-open"], &up("a", 100 + 7 * DAY - 1)).is_empty());
    assert_eq!(removed(state, &["s-open"], &up("a", 100 + 7 * DAY)), ["recordings/s-1"]);
    assert!(state.join("recordings/s-open").exists());
    // It is new when it is first seen to be over.
    assert!(removed(state, &[], &up("a", 100 + 13 * DAY)).is_empty());
    assert_eq!(removed(state, &[], &up("a", 100 + 20 * DAY)), ["recordings/s-open"]);
}

#[test]
fn neither_a_restart_nor_a_lost_count_deletes_early() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    recording(state, "s-1", 10);
    assert!(removed(state, &[], &up("a", 400 * DAY)).is_empty(), "a machine that has been up for a year");
    // After a reboot only the new uptime counts.
    assert!(removed(state, &[], &up("b", 6 * DAY)).is_empty());
    assert!(removed(state, &[], &up("b", 5 * DAY)).is_empty(), "a count that goes backward");
    std::fs::remove_file(state.join("retention.json")).unwrap();
    assert!(removed(state, &[], &up("b", 300 * DAY)).is_empty());
    assert!(removed(state, &[], &up("b", 307 * DAY - 1)).is_empty());
    assert_eq!(removed(state, &[], &up("b", 307 * DAY)), ["recordings/s-1"]);
}

#[test]
fn the_oldest_go_when_all_together_is_too_large() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    for (at, name) in ["s-1", "s-2", "s-3"].into_iter().enumerate() {
        recording(state, name, 4_000);
        let gone = removed(state, &[], &up("a", 100 + at as u64));
        assert_eq!(gone, if at == 2 { vec!["recordings/s-1"] } else { Vec::new() });
    }
    assert!(state.join("recordings/s-2").exists() && state.join("recordings/s-3").exists());
}

#[tokio::test]
async fn old_log_segments_are_dropped_and_the_removal_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path();
    let key = audit::Key::load_or_create(&state.join("key")).unwrap();
    let options = audit::LogOptions { key, segment_bytes: 1024, most_bytes: 1 << 30 };
    let (log, _) = Log::open(&state.join("audit"), "i1", options).unwrap();
    for _ in 0..20 {
        log.append(&Event::new(EventKind::Refused, EventSubject::stockade())).await.unwrap();
    }
    recording(state, "s-1", 10);
    record_sweep(&log, sweep(state, &RULES, &[], &up("a", 1)).unwrap().unwrap()).await;
    let before = audit::verify(log.folder(), None, &[]).unwrap();
    assert_eq!(before.dropped, 0);
    record_sweep(&log, sweep(state, &RULES, &[], &up("a", 1 + 30 * DAY)).unwrap().unwrap()).await;
    let after = audit::verify(log.folder(), None, &[]).unwrap();
    assert!(after.ok() && after.dropped >= before.last - 5, "{after:?}");
    let removals = audit::EventFilter { action: Some("removed".into()), ..Default::default() };
    let removals_logged = audit::read_last(&state.join("audit"), &removals, 10).unwrap();
    assert!(
        removals_logged[0].get("detail").starts_with("recordings/s-1, 10 bytes: it was 30 days old"),
        "{removals_logged:?}"
    );
    assert!(!state.join("recordings/s-1").exists());
}
