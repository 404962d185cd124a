//! The book on a real database and a real log.

use super::*;
use crate::seen::seen;
use crate::storage::{Storage, default_scope};
use audit::{Key, Log, LogOptions};
use browser::PageText;
use policy::{Risk, SessionId};
use std::path::Path;

fn log(folder: &Path) -> (Log, audit::ApprovalAuthority) {
    let key = Key::load_or_create(&folder.join("keys/audit.key")).unwrap();
    let options = LogOptions { key, segment_bytes: 1 << 20, most_bytes: 1 << 24 };
    Log::open(&folder.join("audit"), "i1", options).unwrap()
}

async fn book_in(folder: &Path, timeout: Duration) -> Book {
    let storage = Storage::open(&folder.join("stockade.db")).await.unwrap();
    let settings = ApprovalSettings { timeout, most_a_minute: 3 };
    Book::open(storage, log(folder), settings).await.unwrap()
}

async fn book() -> (tempfile::TempDir, Book) {
    let folder = tempfile::tempdir().unwrap();
    let book = book_in(folder.path(), Duration::from_secs(30)).await;
    (folder, book)
}

fn ask(session: &str, kind: Kind) -> Ask {
    let card = Card {
        tool: "browser_click".into(),
        action: "click".into(),
        risk: Risk::High,
        rule: "words.destroy".into(),
        description: "It destroys something".into(),
        because: vec![Said::new("name", "Delete <b>all</b>")],
        url: PageText::new("http://shop.test/"),
        domain: "shop.test".into(),
        element: None,
        input: None,
        mark: Some([1, 2, 3, 4]),
        irreversible: false,
        for_session: vec![Said::new("action", "click")],
    };
    let picture = ApprovalPicture { bytes: bytes::Bytes::from_static(b"picture"), mime: "image/png" };
    Ask {
        kind,
        scope: default_scope().unwrap(),
        session: SessionId::parse(session).unwrap(),
        session_name: None,
        card,
        picture: Some(picture),
        patience: None,
    }
}

fn alice() -> Decider {
    Decider { operator: "alice".into(), door: Door::Console }
}

fn code<T>(answer: Result<T, crate::error::Fault>) -> String {
    let fault = answer.err().expect("a fault");
    assert!(!fault.hint.is_empty(), "{fault}");
    seen(fault.code.to_string()).split(':').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_first_answer_stands_and_the_picture_is_gone_with_it() {
    let (folder, book) = book().await;
    let waiting = book.ask(ask("s-1", Kind::Action)).await.unwrap();
    let id = waiting.asked().id.clone();
    assert_eq!(ApprovalId::parse(id.as_str()), Some(id.clone()));
    assert_eq!(&book.picture(&id).unwrap().bytes[..], b"picture");
    let mut changes = book.watch();

    let (one, other) = (Verdict::Approve { for_session: true }, Verdict::Deny);
    let by = alice();
    let (one, other) = tokio::join!(book.answer(&id, one, &by), book.answer(&id, other, &by));
    assert!(one.is_ok() != other.is_ok());
    let stands = if one.is_ok() { State::Approved } else { State::Denied };
    assert_eq!(code(if one.is_ok() { other } else { one }), "approval_decided");
    assert_eq!(changes.recv().await.unwrap(), Change { id: id.clone(), state: stands });

    let answered = waiting.answered().await.unwrap();
    assert_eq!((answered.state, answered.decided_by.as_deref()), (stands, Some("alice")));
    assert_eq!(answered.door, Some(Door::Console));
    assert!(book.picture(&id).is_none());
    assert_eq!(answered.card, waiting.asked().card, "a card is stored as it was");
    book.came_to(&id, "ok").await.unwrap();
    assert_eq!(book.find(&id).await.unwrap().unwrap().outcome.as_deref(), Some("ok"));

    let segments = audit::segments(&folder.path().join("audit/chain-1")).unwrap();
    let text: String = segments.iter().map(|it| std::fs::read_to_string(&it.path).unwrap()).collect();
    let told: Vec<&str> = text.lines().filter(|line| line.contains(id.as_str())).collect();
    assert_eq!(told.len(), 2, "asked and decided: {told:?}");
    assert!(told[1].contains("operator alice by console"), "{told:?}");
}

#[tokio::test]
async fn nobody_answers_and_that_is_a_no() {
    let folder = tempfile::tempdir().unwrap();
    let book = book_in(folder.path(), Duration::from_millis(300)).await;
    let waiting = book.ask(ask("s-1", Kind::Action)).await.unwrap();
    assert_eq!(waiting.answered().await.unwrap().state, State::Expired);
    let late = book.answer(&waiting.asked().id, Verdict::Approve { for_session: false }, &alice()).await;
    assert_eq!(code(late), "approval_expired");
}

#[tokio::test]
async fn an_answer_from_another_process_is_found_and_an_earlier_run_is_never_applied() {
    let (folder, book) = book().await;
    let other = book_in(folder.path(), Duration::from_secs(30)).await;
    let waiting = book.ask(ask("s-1", Kind::Action)).await.unwrap();
    let id = &waiting.asked().id;
    assert_eq!(other.find(id).await.unwrap().unwrap().state, State::Waiting, "another chain's is not closed");
    other.answer(id, Verdict::Deny, &alice()).await.unwrap();
    assert_eq!(waiting.answered().await.unwrap().state, State::Denied);
    drop(waiting);

    let left = book.ask(ask("s-1", Kind::Action)).await.unwrap();
    let id = left.asked().id.clone();
    drop((left, book, other));
    // The log is let go of by its own thread.
    let again = loop {
        let again = book_in(folder.path(), Duration::from_secs(30)).await;
        if again.find(&id).await.unwrap().unwrap().state != State::Waiting {
            break again;
        }
        drop(again);
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(again.find(&id).await.unwrap().unwrap().state, State::Interrupted);
    let late = again.answer(&id, Verdict::Approve { for_session: false }, &alice()).await;
    assert_eq!(code(late), "approval_decided");
}

#[tokio::test]
async fn a_session_asks_one_thing_at_a_time_and_not_too_often() {
    let (_folder, book) = book().await;
    let first = book.ask(ask("s-1", Kind::Action)).await.unwrap();
    assert_eq!(code(book.ask(ask("s-1", Kind::Domain)).await), "approval_pending");
    let guidance = book.ask(ask("s-1", Kind::Guidance)).await.unwrap();
    let other = book.ask(ask("s-2", Kind::Action)).await.unwrap();
    assert_eq!(book.list(&Filter { only_waiting: true, ..Filter::default() }).await.unwrap().len(), 3);
    first.withdraw().await.unwrap();
    assert_eq!(first.answered().await.unwrap().state, State::Withdrawn);
    drop(first);
    for _ in 0..2 {
        drop(book.ask(ask("s-1", Kind::Action)).await.unwrap());
    }
    assert_eq!(code(book.ask(ask("s-1", Kind::Action)).await), "approval_flood");
    drop((guidance, other));
    // Four of the nine that the agent has with all of its sessions are used up.
    for number in 0..5 {
        drop(book.ask(ask(&format!("s-new{number}"), Kind::Action)).await.unwrap());
    }
    assert_eq!(code(book.ask(ask("s-newest", Kind::Action)).await), "approval_flood");
    let mut waiting = Vec::new();
    let full = loop {
        match book.ask(ask(&format!("s-{}", 100 + waiting.len()), Kind::Guidance)).await {
            Ok(one) => waiting.push(one),
            refused => break refused,
        }
    };
    assert_eq!((code(full), waiting.len()), ("approvals_full".into(), 64));
}

#[tokio::test]
async fn an_answer_has_to_fit_its_question() {
    let (_folder, book) = book().await;
    let mut once = ask("s-1", Kind::Action);
    once.card.for_session = Vec::new();
    let action = book.ask(once).await.unwrap();
    let guidance = book.ask(ask("s-1", Kind::Guidance)).await.unwrap();
    let (action, paused) = (&action.asked().id, &guidance.asked().id);
    let resume = |note: &str| Verdict::Resume { note: Some(note.into()) };
    for (id, verdict) in [
        (action, resume("x")),
        (action, Verdict::End),
        (action, Verdict::Approve { for_session: true }),
        (paused, Verdict::Deny),
        (paused, Verdict::Approve { for_session: false }),
    ] {
        assert_eq!(code(book.answer(id, verdict, &alice()).await), "bad_verdict");
    }
    let answered = book.answer(paused, resume(" look at the\u{1b}[2J menu "), &alice()).await.unwrap();
    assert_eq!(answered.state, State::Resumed);
    assert_eq!(answered.note.as_deref(), Some("look at the\\u{1b}[2J menu"));
    let nobody = ApprovalId::random();
    assert_eq!(code(book.answer(&nobody, Verdict::Deny, &alice()).await), "unknown_approval");
}
