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

/// The writer's thread releases the chain a moment after the last sender.
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
        let report = check(folder.path());
        let bytes = torn.len() as u64;
        let tail = crate::IncompleteTail { bytes, lines: 0, torn_bytes: bytes };
        assert_eq!((report.ok(), &report.defect, report.incomplete_tail), (false, &None, Some(tail)));
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
    // The state between the truncation and its record.
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
    let report = check(folder.path());
    let tail = report.incomplete_tail.clone().unwrap();
    assert!(report.defect.is_none() && !report.ok(), "{report:?}");
    assert!(tail.lines > 0 && tail.bytes > 0 && tail.torn_bytes == 0, "{tail:?}");
    written(folder.path(), 1).await;
    assert!(check(folder.path()).ok());
    assert!(
        lines(folder.path())
            .iter()
            .any(|line| line["detail"].as_str().is_some_and(|d| d.contains("under the head")))
    );
}

/// Both writes that a crash can interrupt, compared with what only a manipulation explains.
#[tokio::test]
async fn an_interrupted_write_is_an_incomplete_tail_and_a_manipulated_end_is_a_defect() {
    /// The file of heads has two slots of this size.
    const SLOT: usize = 4096;
    let spoil_newest_head = |folder: &Path| {
        let path = chain(folder).join("head");
        let mut bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len() % 2, 0);
        let slot = bytes.len() / 2;
        assert!(slot <= SLOT);
        let seq = |bytes: &[u8]| {
            serde_json::from_slice::<serde_json::Value>(bytes).ok().and_then(|head| head["seq"].as_u64())
        };
        let newest = usize::from(seq(&bytes[slot..]) > seq(&bytes[..slot]));
        bytes[newest * slot + 20] ^= 1;
        std::fs::write(path, bytes).unwrap();
    };
    let cut_end = |folder: &Path, bytes: usize| {
        let text = std::fs::read(segment(folder)).unwrap();
        std::fs::write(segment(folder), &text[..text.len() - bytes]).unwrap();
    };
    let forge = |folder: &Path| {
        let text = std::fs::read(segment(folder)).unwrap();
        let last = text[..text.len() - 1].split(|byte| *byte == b'\n').next_back().unwrap();
        let parsed = crate::parse_line(last).unwrap();
        let (forged, _) = crate::line::seal(parsed.link(), "\"event_type\":\"intent\"", None);
        add(folder, format!("{forged}\n").as_bytes());
    };
    type Damage<'a> = (&'a str, Box<dyn Fn(&Path) + 'a>, bool);
    let cases: [Damage<'_>; 7] = [
        ("half of a line", Box::new(|folder| add(folder, b"{\"seq\":6,\"pr")), true),
        ("half of a head", Box::new(spoil_newest_head), true),
        ("the head's own line cut short", Box::new(move |folder| cut_end(folder, 10)), false),
        ("the last line without its end", Box::new(move |folder| cut_end(folder, 1)), false),
        ("an unsigned line put in", Box::new(forge), false),
        (
            "a line cut short with its head",
            Box::new(move |folder| {
                cut_end(folder, 10);
                spoil_newest_head(folder);
            }),
            false,
        ),
        (
            "a changed line before half of a line",
            Box::new(|folder| {
                let text = std::fs::read_to_string(segment(folder)).unwrap();
                std::fs::write(segment(folder), text.replacen("s-1", "s-2", 1) + "{\"seq").unwrap();
            }),
            false,
        ),
    ];
    for (what, damage, is_crash) in cases {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), 3).await;
        damage(folder.path());
        let report = check(folder.path());
        let found = (report.ok(), report.incomplete_tail.is_some(), report.defect.is_some());
        assert_eq!(found, (false, is_crash, !is_crash), "{what}: {report:?}");
        let log = open(folder.path(), 1 << 20, 1 << 30).unwrap();
        if is_crash {
            log.append(&event("after")).await.unwrap();
            assert!(check(folder.path()).ok(), "{what}: the next start repairs it");
        }
    }
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
