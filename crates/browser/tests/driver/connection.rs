//! The CDP layer against a scripted WebSocket server.

// Helpers outside of #[test] functions count as ordinary code for clippy; here a panic is the report.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use browser::cdp::{CallError, Command, Connection, ConnectionOptions, EventKind, SessionId, protocol as p};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::{
    io::{DuplexStream, duplex},
    sync::broadcast::error::RecvError,
    time::Instant,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        protocol::{CloseFrame, Role, frame::coding::CloseCode},
    },
};

#[derive(Serialize)]
struct Echo {
    text: &'static str,
}

#[derive(Debug, Deserialize)]
struct Echoed {
    text: String,
}

impl Command for Echo {
    const METHOD: &'static str = "Test.echo";
    type Response = Echoed;
}

/// A call on the wire.
#[derive(Debug, Deserialize)]
struct Sent {
    id: u64,
    method: String,
    #[serde(rename = "sessionId")]
    session: Option<String>,
}

struct Chromium(WebSocketStream<DuplexStream>);

impl Chromium {
    async fn hear(&mut self) -> Sent {
        match self.0.next().await.unwrap().unwrap() {
            Message::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    async fn say(&mut self, text: impl Into<String>) {
        self.0.send(Message::text(text.into())).await.unwrap();
    }

    async fn attach(&mut self, session: &str) {
        let target = r#"{"targetId":"T","type":"page"}"#;
        let params = format!(r#"{{"sessionId":"{session}","targetInfo":{target}}}"#);
        self.say(format!(r#"{{"method":"Target.attachedToTarget","params":{params}}}"#)).await;
    }

    async fn echo(&mut self, id: u64, text: &str) {
        self.say(format!(r#"{{"id":{id},"result":{{"text":"{text}","new":[1]}}}}"#)).await;
    }
}

async fn connect(options: ConnectionOptions) -> (Connection, Chromium) {
    let (ours, theirs) = duplex(64 * 1024);
    let client = WebSocketStream::from_raw_socket(ours, Role::Client, None).await;
    let server = WebSocketStream::from_raw_socket(theirs, Role::Server, None).await;
    (Connection::over(client, options), Chromium(server))
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

#[tokio::test]
async fn answers_find_their_calls_in_any_order() {
    let (connection, mut chromium) = connect(ConnectionOptions::default()).await;
    let session = SessionId::from("S");
    let calls = async {
        tokio::join!(
            connection.call(None, &Echo { text: "a" }, soon()),
            connection.call(Some(&session), &Echo { text: "b" }, soon()),
        )
    };
    let answers = async {
        let (first, second) = (chromium.hear().await, chromium.hear().await);
        assert_eq!((first.method.as_str(), first.session), ("Test.echo", None));
        assert_eq!(second.session.as_deref(), Some("S"));
        chromium.echo(second.id, "second").await;
        chromium.echo(first.id, "first").await;
    };
    let ((first, second), ()) = tokio::join!(calls, answers);
    assert_eq!((first.unwrap().text.as_str(), second.unwrap().text.as_str()), ("first", "second"));
}

#[tokio::test]
async fn unknown_messages_are_ignored() {
    let (connection, mut chromium) = connect(ConnectionOptions::default()).await;
    let call = connection.call(None, &Echo { text: "a" }, soon());
    let answer = async {
        let sent = chromium.hear().await;
        for noise in [
            r#"{"method":"New.event","params":{"a":1}}"#,
            r#"{"method":"Page.lifecycleEvent","params":{"frameId":7}}"#,
            r#"{"method":"Page.lifecycleEvent"}"#,
            r#"{"id":"one"}"#,
            r#"{"id":999999,"result":{}}"#,
            "not json",
            "[]",
        ] {
            chromium.say(noise).await;
        }
        chromium.0.send(Message::Binary(Bytes::from_static(b"\x00\x01"))).await.unwrap();
        chromium.echo(sent.id, "still here").await;
    };
    let (answer, ()) = tokio::join!(call, answer);
    assert_eq!(answer.unwrap().text, "still here");
}

#[tokio::test]
async fn a_malformed_answer_or_a_refusal_fails_only_its_call() {
    let (connection, mut chromium) = connect(ConnectionOptions::default()).await;
    for (answer, refused) in [
        (r#""result":{"text":7}"#, false),
        (r#""result":{}"#, false),
        (r#""error":{"code":-32000,"message":"No"}"#, true),
    ] {
        let reply = async {
            let sent = chromium.hear().await;
            chromium.say(format!(r#"{{"id":{},{answer}}}"#, sent.id)).await;
        };
        let (result, ()) = tokio::join!(connection.call(None, &Echo { text: "a" }, soon()), reply);
        match result {
            Err(CallError::Refused { code: -32000, message, .. }) => assert!(refused && message == "No"),
            Err(CallError::Decode { .. }) => assert!(!refused, "{answer}"),
            other => panic!("{answer}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_call_without_an_answer_ends_at_its_deadline() {
    let (connection, _chromium) = connect(ConnectionOptions::default()).await;
    let deadline = Instant::now() + Duration::from_millis(20);
    let result = connection.call(None, &Echo { text: "a" }, deadline).await;
    assert!(matches!(result, Err(CallError::Timeout { method: "Test.echo" })), "{result:?}");
}

#[tokio::test]
async fn calls_fail_with_their_target_and_others_do_not() {
    let (connection, mut chromium) = connect(ConnectionOptions::default()).await;
    let (crashing, leaving, staying) = (SessionId::from("A"), SessionId::from("B"), SessionId::from("C"));
    let calls = async {
        tokio::join!(
            connection.call(Some(&crashing), &Echo { text: "" }, soon()),
            connection.call(Some(&leaving), &Echo { text: "" }, soon()),
            connection.call(Some(&staying), &Echo { text: "" }, soon()),
        )
    };
    let events = async {
        let sent = [chromium.hear().await, chromium.hear().await, chromium.hear().await];
        chromium.attach("A").await;
        chromium.say(r#"{"method":"Inspector.targetCrashed","params":{},"sessionId":"A"}"#).await;
        chromium.say(r#"{"method":"Target.detachedFromTarget","params":{"sessionId":"B"}}"#).await;
        chromium.echo(sent[2].id, "alive").await;
    };
    let ((crashed, detached, alive), ()) = tokio::join!(calls, events);
    assert!(matches!(crashed, Err(CallError::Crashed { .. })), "{crashed:?}");
    assert!(matches!(detached, Err(CallError::Detached { .. })), "{detached:?}");
    assert_eq!(alive.unwrap().text, "alive");
    let late = connection.call(Some(&crashing), &Echo { text: "" }, soon()).await;
    assert!(matches!(late, Err(CallError::Crashed { .. })), "asked after the crash: {late:?}");
}

#[tokio::test]
async fn crashes_are_remembered_only_for_attached_targets() {
    let (connection, mut chromium) = connect(ConnectionOptions::default()).await;
    let session = SessionId::from("A");
    chromium.say(r#"{"method":"Inspector.targetCrashed","params":{},"sessionId":"A"}"#).await;
    // The first answer follows the event, so the second call knows of it.
    let calls = async {
        connection.call(None, &Echo { text: "" }, soon()).await.unwrap();
        connection.call(Some(&session), &Echo { text: "" }, soon()).await
    };
    let answers = async {
        for _ in 0..2 {
            let sent = chromium.hear().await;
            chromium.echo(sent.id, "sent and answered").await;
        }
    };
    let (answered, ()) = tokio::join!(calls, answers);
    assert_eq!(answered.unwrap().text, "sent and answered");
}

#[tokio::test]
async fn an_oversized_answer_fails_only_its_call() {
    let (connection, mut chromium) = connect(ConnectionOptions::default()).await;
    for (size, fits) in [(1 << 20, false), (4 << 20, false), (1000, true)] {
        let answer = async {
            let sent = chromium.hear().await;
            chromium.echo(sent.id, &"x".repeat(size)).await;
        };
        let (answered, ()) = tokio::join!(connection.call(None, &Echo { text: "" }, soon()), answer);
        match answered {
            Ok(echoed) => assert!(fits && echoed.text.len() == size, "{size}"),
            Err(CallError::TooLarge { bytes, limit, .. }) => assert!(!fits && bytes > limit, "{size}"),
            other => panic!("{size}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn events_with_malformed_ids_are_dropped() {
    let (connection, mut chromium) = connect(ConnectionOptions::default()).await;
    let mut events = connection.subscribe();
    let long = "x".repeat(200);
    let stopped = |frame: &str, session: &str| {
        let params = format!(r#"{{"frameId":"{frame}"}}"#);
        format!(r#"{{"method":"Page.frameStoppedLoading","params":{params},"sessionId":"{session}"}}"#)
    };
    chromium.say(stopped(&long, "S")).await;
    chromium.say(stopped("F", &long)).await;
    chromium.attach(&long).await;
    let noise = format!(r#""loaderId":"{long}","frameId":"F","name":"init""#);
    chromium.say(format!(r#"{{"method":"Page.lifecycleEvent","params":{{{noise}}},"sessionId":"S"}}"#)).await;
    chromium.say(stopped("last", "S")).await;
    let first = events.recv().await.unwrap();
    assert!(matches!(&first.kind, EventKind::LoadingStopped(it) if it.frame_id == "last"), "{first:?}");
}

#[tokio::test]
async fn a_closed_connection_fails_all_calls_with_its_reason() {
    let (connection, mut chromium) = connect(ConnectionOptions::default()).await;
    let close = async {
        chromium.hear().await;
        let frame = CloseFrame { code: CloseCode::Library(4001), reason: "token expired".into() };
        chromium.0.close(Some(frame)).await.unwrap();
    };
    let (in_flight, ()) = tokio::join!(connection.call(None, &Echo { text: "" }, soon()), close);
    let after = connection.call(None, &Echo { text: "" }, soon()).await;
    for result in [in_flight, after] {
        match result {
            Err(CallError::Closed { closed }) => {
                assert_eq!((closed.code, closed.reason.as_str()), (Some(4001), "token expired"));
            }
            other => panic!("{other:?}"),
        }
    }
    let reason = connection.closed().borrow().clone().unwrap();
    assert_eq!(reason.to_string(), "token expired (close code 4001)");
}

#[tokio::test]
async fn renewals_go_out_as_binary_frames() {
    let (connection, mut chromium) = connect(ConnectionOptions::default()).await;
    connection.renewals().send(Bytes::from_static(b"fresh")).await.unwrap();
    assert_eq!(chromium.0.next().await.unwrap().unwrap(), Message::Binary(Bytes::from_static(b"fresh")));
}

#[tokio::test]
async fn a_lagging_subscriber_learns_how_many_events_it_missed() {
    let (connection, mut chromium) = connect(ConnectionOptions { event_buffer: 4 }).await;
    let mut events = connection.subscribe();
    let call = connection.call(None, &Echo { text: "" }, soon());
    let flood = async {
        let sent = chromium.hear().await;
        for n in 0..10 {
            chromium
                .say(format!(r#"{{"method":"Page.frameStoppedLoading","params":{{"frameId":"{n}"}}}}"#))
                .await;
        }
        chromium.echo(sent.id, "").await;
    };
    let (answer, ()) = tokio::join!(call, flood);
    assert!(answer.is_ok());
    assert!(matches!(events.recv().await, Err(RecvError::Lagged(6))));
    let kept = events.recv().await.unwrap();
    assert!(matches!(&kept.kind, EventKind::LoadingStopped(it) if it.frame_id == "6"));
}

#[tokio::test]
async fn an_observer_sees_events_in_order_and_may_react() {
    let (connection, mut chromium) = connect(ConnectionOptions::default()).await;
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counting = std::sync::Arc::clone(&seen);
    connection.observe(move |event, reactions| {
        counting.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        reactions.post(event.session.as_ref(), &p::HandleDialog { accept: false, prompt_text: None });
    });
    let call = connection.call(None, &Echo { text: "" }, soon());
    let answer = async {
        let sent = chromium.hear().await;
        chromium
            .say(r#"{"method":"Page.frameStoppedLoading","params":{"frameId":"F"},"sessionId":"S"}"#)
            .await;
        chromium.echo(sent.id, "").await;
        let reaction = chromium.hear().await;
        assert_eq!(
            (reaction.method.as_str(), reaction.session.as_deref()),
            ("Page.handleJavaScriptDialog", Some("S"))
        );
    };
    let (answered, ()) = tokio::join!(call, answer);
    assert!(answered.is_ok());
    assert_eq!(seen.load(std::sync::atomic::Ordering::SeqCst), 1);
}
