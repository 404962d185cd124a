//! A full disk: outcomes are still recorded, intents are refused, and space brings it back.

use super::*;
use std::io::Write;
use std::process::Command;

/// A file system of one megabyte; `None` where this user may not mount.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Small> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(folder.path())
            .output()
            .is_ok_and(|done| done.status.success());
        mounted.then_some(Small(folder))
    }

    fn fill(&self) -> PathBuf {
        let path = self.0.path().join("filler");
        let mut file = std::fs::File::create(&path).unwrap();
        while file.write_all(&[0; 1024]).is_ok() {}
        path
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("--lazy").arg(self.0.path()).status());
    }
}

fn is_full(error: &AuditError) -> bool {
    error.io().is_some_and(|error| error.kind() == std::io::ErrorKind::StorageFull)
}

#[tokio::test]
async fn a_full_disk_refuses_intents_but_loses_no_outcome() {
    let Some(disk) = Small::mount() else {
        assert!(!rustix::process::getuid().is_root(), "root can mount a tmpfs");
        return;
    };
    let folder = disk.0.path();
    let log = open(folder, 1 << 20, 1 << 30).unwrap();
    let mut running = Vec::new();
    for _ in 0..10 {
        running.push(intend(&log).await.unwrap().1);
    }
    let filler = disk.fill();
    // The step that was set aside may hold a few more; then there is no room.
    let refused = loop {
        match intend(&log).await {
            Ok((_, intent)) => running.push(intent),
            Err(error) => break error,
        }
    };
    assert!(is_full(&refused), "{refused}");
    let begun = running.len();
    for intent in running {
        let long = |event: Event| event.result("ok").at(&text("u".repeat(2000)), &text("\"".repeat(2000)));
        intent.complete(long).await.unwrap();
    }
    assert!(log.note(&event("seen")));
    assert!(check(folder).ok());

    std::fs::remove_file(filler).unwrap();
    let (_, intent) = intend(&log).await.unwrap();
    intent.complete(|event| event.result("ok")).await.unwrap();
    let written = lines(folder);
    let count = |kind: &str| written.iter().filter(|line| line["event_type"] == kind).count();
    assert_eq!((count("intent"), count("outcome")), (begun + 1, begun + 1));
    let report = check(folder);
    assert!(report.ok(), "{report:?}");
}

#[tokio::test]
async fn rotation_on_a_full_disk_loses_nothing_either() {
    let Some(disk) = Small::mount() else { return };
    let folder = disk.0.path();
    let log = open(folder, 2048, 1 << 30).unwrap();
    let intents = [intend(&log).await.unwrap().1, intend(&log).await.unwrap().1];
    let filler = disk.fill();
    for intent in intents {
        intent.complete(|event| event.result("ok").at(&text("u".repeat(500)), &text(""))).await.unwrap();
    }
    std::fs::remove_file(filler).unwrap();
    for _ in 0..20 {
        log.append(&event("x")).await.unwrap();
    }
    let report = check(folder);
    assert!(report.ok() && report.segments > 2, "{report:?}");
}

#[test]
fn an_outcome_always_fits_the_room_that_is_set_aside_for_it() {
    let long = text("\u{1b}\"\\".repeat(100_000));
    let picture = crate::StoredScreenshot {
        path: text("p".repeat(200)),
        sha256: text("0".repeat(64)),
        size: [1280, 800],
        mark: None,
    };
    let subject = EventSubject { jail_id: Some(text("j".repeat(64))), ..subject() };
    let event = Event::outcome(
        crate::EventKind::Outcome,
        subject,
        crate::CorrelationId(text("i".repeat(64))),
        "press_key",
    )
    .result(long.clone())
    .at(&long, &long)
    .picture(Some(picture));
    let fields = crate::event::fields(&event).unwrap();
    assert!((fields.len() as u64) < crate::writer::OUTCOME_BYTES - 1024, "{}", fields.len());
}
