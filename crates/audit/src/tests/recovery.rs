//! What a crash leaves is repaired and recorded; other damage is refused.

use super::*;
use std::fs::OpenOptions;
use std::io::Write;

async fn written(folder: &Path, count: usize) {
    let log = open(folder, 1 << 20, 1 << 30).unwrap();
    for _ in 0..count {
        log.append(&event("x")).await.unwrap();
    }
    closed(log, folder);
}

/// The writer's thread lets go of the chain a moment after the last sender.
fn closed(log: Log, folder: &Path) {
    drop(log);
    let lock = std::fs::File::open(chain(folder).join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
}

fn segment(folder: &Path) -> PathBuf {
    crate::segments(&chain(folder)).unwrap().pop().unwrap().path
}

fn add(folder: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(segment(folder)).unwrap().write_all(bytes).unwrap();
}

#[tokio::test]
async fn a_torn_line_is_removed_and_recorded() {
    for torn in [b"{\"seq\":5,\"prev\":\"00".as_slice(), &[0; 300], b"{"] {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), 3).await;
        add(folder.path(), torn);
        assert!(!check(folder.path()).ok());
        let log = open(folder.path(), 1 << 20, 1 << 30).unwrap();
        log.append(&event("after")).await.unwrap();
        let report = check(folder.path());
        assert!(report.ok(), "{report:?}");
        let notes: Vec<_> =
            lines(folder.path()).into_iter().filter(|line| line["event_type"] == "log_recovered").collect();
        assert_eq!(notes.len(), 1);
        assert!(notes[0]["detail"].as_str().unwrap().contains(&format!("{} bytes", torn.len())), "{notes:?}");
    }
}

#[tokio::test]
async fn a_crash_during_recovery_keeps_the_torn_line() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), 3).await;
    // As it is left between the cut and the note.
    std::fs::write(chain(folder.path()).join("torn"), "{\"seq\":5,\"half").unwrap();
    written(folder.path(), 1).await;
    assert!(
        lines(folder.path()).iter().any(|line| line["detail"].as_str().is_some_and(|d| d.contains("half")))
    );
    assert!(!chain(folder.path()).join("torn").exists());
    assert!(check(folder.path()).ok());
}

#[tokio::test]
async fn a_log_ahead_of_its_head_is_signed_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), 3).await;
    let head = std::fs::read(chain(folder.path()).join("head")).unwrap();
    written(folder.path(), 3).await;
    std::fs::write(chain(folder.path()).join("head"), head).unwrap();
    assert!(matches!(check(folder.path()).defect.unwrap().kind, crate::DefectKind::Ahead { .. }));
    written(folder.path(), 1).await;
    assert!(check(folder.path()).ok());
    assert!(
        lines(folder.path())
            .iter()
            .any(|line| line["detail"].as_str().is_some_and(|d| d.contains("under the head")))
    );
}

#[tokio::test]
async fn a_damaged_end_refuses_every_event() {
    let cut = |folder: &Path| {
        let text = std::fs::read_to_string(segment(folder)).unwrap();
        let whole: Vec<&str> = text.lines().collect();
        std::fs::write(segment(folder), whole[..whole.len() - 1].join("\n") + "\n").unwrap();
    };
    let flip = |folder: &Path| {
        let mut bytes = std::fs::read(segment(folder)).unwrap();
        let at = bytes.len() - 300;
        bytes[at] ^= 1;
        std::fs::write(segment(folder), bytes).unwrap();
    };
    let no_head = |folder: &Path| std::fs::remove_file(chain(folder).join("head")).unwrap();
    let damages: [&dyn Fn(&Path); 3] = [&cut, &flip, &no_head];
    for damage in damages {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), 3).await;
        damage(folder.path());
        let before = std::fs::read(segment(folder.path())).unwrap();
        let log = open(folder.path(), 1 << 20, 1 << 30).unwrap();
        assert!(matches!(log.append(&event("x")).await, Err(AuditError::Corrupt { .. })));
        assert!(matches!(intend(&log).await.err(), Some(AuditError::Corrupt { .. })));
        assert!(!log.note(&event("x")) && log.check().is_err());
        assert_eq!(std::fs::read(segment(folder.path())).unwrap(), before, "nothing is added or mended");
    }
}

#[tokio::test]
async fn a_chain_is_not_continued_with_another_key() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), 1).await;
    std::fs::remove_file(folder.path().join("keys/audit.key")).unwrap();
    let log = open(folder.path(), 1 << 20, 1 << 30).unwrap();
    assert!(matches!(log.append(&event("x")).await, Err(AuditError::Corrupt { .. })));
    assert_eq!(check(folder.path()).defect.unwrap().kind, crate::DefectKind::OtherKey);
}

#[tokio::test]
async fn an_old_copy_with_its_old_head_is_found_by_an_anchor() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), 3).await;
    let old: Vec<(PathBuf, Vec<u8>)> = [segment(folder.path()), chain(folder.path()).join("head")]
        .into_iter()
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    written(folder.path(), 3).await;
    let anchor = crate::read_head(&chain(folder.path())).unwrap().unwrap();
    let report = verify(&chain(folder.path()), None, std::slice::from_ref(&anchor)).unwrap();
    assert!(report.ok() && report.anchors == 1, "{report:?}");
    for (path, bytes) in old {
        std::fs::write(path, bytes).unwrap();
    }
    assert!(check(folder.path()).ok(), "by itself an old copy is whole");
    let report = verify(&chain(folder.path()), None, &[anchor]).unwrap();
    assert!(matches!(report.defect.unwrap().kind, crate::DefectKind::Old { last: 4, .. }));
}
