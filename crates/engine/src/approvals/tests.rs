//! The approval store on a real database and a real log.

use super::*;
use crate::seen::seen;
use crate::storage::{Storage, default_scope};
use audit::{Key, Log, LogOptions};
use browser::RedactedPageText;
use policy::{Risk, SessionId};
use std::path::Path;

fn log(folder: &Path) -> (Log, audit::ApprovalAuthority) {
    let key = Key::load_or_create(&folder.join("keys/audit.key")).unwrap();
    let options = LogOptions { key, segment_bytes: 1 << 20, most_bytes: 1 << 24 };
    Log::open(&folder.join("audit"), "i1", options).unwrap()
}

async fn store_in(folder: &Path, timeout: Duration) -> ApprovalStore {
    let storage = Storage::open(&folder.join("stockade.db")).await.unwrap();
    let settings = ApprovalSettings { timeout, most_a_minute: 3, rule_timeouts: Vec::new() };
    ApprovalStore::open(storage, log(folder), settings).await.unwrap()
}

async fn store() -> (tempfile::TempDir, ApprovalStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path(), Duration::from_secs(30)).await;
    (folder, store)
}

fn question(session: &str, kind: ApprovalKind) -> NewQuestion {
    let card = ApprovalCard {
        tool: "browser_click".into(),
        action: "click".into(),
        risk: Risk::High,
        rule: "words.destroy".into(),
        description: "It destroys something".into(),
        because: vec![CardFact::new("name", &"Delete <b>all</b>".into())],
        url: RedactedPageText::new(&"http://shop.test/".into()),
        domain: "shop.test".into(),
        element: None,
        input: None,
        mark: Some([1, 2, 3, 4]),
        irreversible: false,
        for_session: vec![CardFact::new("action", &"click".into())],
        effect: None,
    };
    let screenshot = ApprovalScreenshot { bytes: bytes::Bytes::from_static(b"picture"), mime: "image/png" };
    NewQuestion {
        kind,
        scope: default_scope().unwrap(),
        session: SessionId::parse(session).unwrap(),
        session_name: None,
        card,
        screenshot: Some(screenshot),
        timeout: None,
    }
}

fn alice() -> Decider {
    Decider { operator: "alice".into(), channel: DecisionChannel::Console }
}

fn code<T>(answer: Result<T, crate::error::Fault>) -> String {
    let fault = answer.err().expect("a fault");
    assert!(!fault.hint.is_empty(), "{fault}");
    seen(fault.code.to_string()).split(':').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_first_answer_wins_and_discards_the_screenshot() {
    let (folder, store) = store().await;
    let waiting = store.ask(question("s-1", ApprovalKind::Action)).await.unwrap();
    let id = waiting.approval().id.clone();
    assert_eq!(ApprovalId::parse(id.as_str()), Some(id.clone()));
    assert_eq!(&store.screenshot(&id).unwrap().bytes[..], b"picture");
    let mut changes = store.watch();

    let (one, other) = (Verdict::Approve { for_session: true }, Verdict::Deny);
    let by = alice();
    let (one, other) = tokio::join!(store.answer(&id, one, &by), store.answer(&id, other, &by));
    assert!(one.is_ok() != other.is_ok());
    let first_state = if one.is_ok() { ApprovalState::Approved } else { ApprovalState::Denied };
    assert_eq!(code(if one.is_ok() { other } else { one }), "approval_decided");
    assert_eq!(changes.recv().await.unwrap(), ApprovalChange { id: id.clone(), state: first_state });

    let answered = waiting.answered().await.unwrap();
    assert_eq!((answered.state, answered.decided_by.as_deref()), (first_state, Some("alice")));
    assert_eq!(answered.channel, Some(DecisionChannel::Console));
    assert!(store.screenshot(&id).is_none());
    assert_eq!(answered.card, waiting.approval().card, "a card is stored as it was");
    store.record_outcome(&id, &"ok".into()).await.unwrap();
    assert_eq!(store.find(&id).await.unwrap().unwrap().outcome.as_deref(), Some("ok"));

    let segments = audit::segments(&folder.path().join("audit/chain-1")).unwrap();
    let text: String = segments.iter().map(|it| std::fs::read_to_string(&it.path).unwrap()).collect();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(id.as_str())).collect();
    assert_eq!(lines.len(), 2, "asked and decided: {lines:?}");
    assert!(lines[1].contains("operator alice by console"), "{lines:?}");
}

#[tokio::test]
async fn an_unanswered_question_expires() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path(), Duration::from_millis(300)).await;
    let waiting = store.ask(question("s-1", ApprovalKind::Action)).await.unwrap();
    assert_eq!(waiting.answered().await.unwrap().state, ApprovalState::Expired);
    let late = store.answer(&waiting.approval().id, Verdict::Approve { for_session: false }, &alice()).await;
    assert_eq!(code(late), "approval_expired");
}

#[tokio::test]
async fn an_answer_from_another_process_counts_and_an_earlier_run_is_interrupted() {
    let (folder, store) = store().await;
    let other = store_in(folder.path(), Duration::from_secs(30)).await;
    let waiting = store.ask(question("s-1", ApprovalKind::Action)).await.unwrap();
    let id = &waiting.approval().id;
    assert_eq!(
        other.find(id).await.unwrap().unwrap().state,
        ApprovalState::Waiting,
        "another chain's is not closed"
    );
    other.answer(id, Verdict::Deny, &alice()).await.unwrap();
    assert_eq!(waiting.answered().await.unwrap().state, ApprovalState::Denied);
    drop(waiting);

    let left = store.ask(question("s-1", ApprovalKind::Action)).await.unwrap();
    let id = left.approval().id.clone();
    drop((left, store, other));
    // The log is released by its own thread.
    let again = loop {
        let again = store_in(folder.path(), Duration::from_secs(30)).await;
        if again.find(&id).await.unwrap().unwrap().state != ApprovalState::Waiting {
            break again;
        }
        drop(again);
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(again.find(&id).await.unwrap().unwrap().state, ApprovalState::Interrupted);
    let late = again.answer(&id, Verdict::Approve { for_session: false }, &alice()).await;
    assert_eq!(code(late), "approval_decided");
}

#[tokio::test]
async fn a_session_has_one_open_question_and_a_rate_limit() {
    let (_folder, store) = store().await;
    let first = store.ask(question("s-1", ApprovalKind::Action)).await.unwrap();
    assert_eq!(code(store.ask(question("s-1", ApprovalKind::Domain)).await), "approval_pending");
    let guidance = store.ask(question("s-1", ApprovalKind::Guidance)).await.unwrap();
    let other = store.ask(question("s-2", ApprovalKind::Action)).await.unwrap();
    assert_eq!(
        store.list(&ApprovalFilter { only_waiting: true, ..ApprovalFilter::default() }).await.unwrap().len(),
        3
    );
    first.withdraw().await.unwrap();
    assert_eq!(first.answered().await.unwrap().state, ApprovalState::Withdrawn);
    drop(first);
    for _ in 0..2 {
        drop(store.ask(question("s-1", ApprovalKind::Action)).await.unwrap());
    }
    assert_eq!(code(store.ask(question("s-1", ApprovalKind::Action)).await), "approval_flood");
    drop((guidance, other));
    // Four of the nine that the agent has with all of its sessions are used up.
    for number in 0..5 {
        drop(store.ask(question(&format!("s-new{number}"), ApprovalKind::Action)).await.unwrap());
    }
    assert_eq!(code(store.ask(question("s-newest", ApprovalKind::Action)).await), "approval_flood");
    let mut waiting = Vec::new();
    let full = loop {
        match store.ask(question(&format!("s-{}", 100 + waiting.len()), ApprovalKind::Guidance)).await {
            Ok(one) => waiting.push(one),
            refused => break refused,
        }
    };
    assert_eq!((code(full), waiting.len()), ("approvals_full".into(), 64));
}

#[tokio::test]
async fn an_answer_must_fit_the_kind_of_question() {
    let (_folder, store) = store().await;
    let mut once = question("s-1", ApprovalKind::Action);
    once.card.for_session = Vec::new();
    let action = store.ask(once).await.unwrap();
    let guidance = store.ask(question("s-1", ApprovalKind::Guidance)).await.unwrap();
    let (action, paused) = (&action.approval().id, &guidance.approval().id);
    let resume = |note: &str| Verdict::Resume { note: Some(note.into()) };
    for (id, verdict) in [
        (action, resume("x")),
        (action, Verdict::End),
        (action, Verdict::Approve { for_session: true }),
        (paused, Verdict::Deny),
        (paused, Verdict::Approve { for_session: false }),
    ] {
        assert_eq!(code(store.answer(id, verdict, &alice()).await), "bad_verdict");
    }
    let answered = store.answer(paused, resume(" look at the\u{1b}[2J menu "), &alice()).await.unwrap();
    assert_eq!(answered.state, ApprovalState::Resumed);
    assert_eq!(answered.note.as_deref(), Some("look at the\\u{1b}[2J menu"));
    let nobody = ApprovalId::random();
    assert_eq!(code(store.answer(&nobody, Verdict::Deny, &alice()).await), "unknown_approval");
}
