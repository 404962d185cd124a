//! Each format as a loopback receiver gets it from a running notifier.

use super::*;
use crate::operator::WebhookNotifier;
use audit::{Key, Log, LogOptions};
use engine::approvals::{ApprovalSettings, ApprovalStore, EffectFieldCard, NewQuestion};
use engine::storage::{Storage, default_scope};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const HOSTILE: &str = "Delete <!channel> “yes”";

fn page(text: &'static str) -> RedactedPageText {
    RedactedPageText::new(&text.into())
}

fn held() -> ApprovalCard {
    let field = |name, value, length, is_cut| EffectFieldCard {
        name: page(name),
        value: page(value),
        length,
        is_cut,
    };
    ApprovalCard {
        tool: "browser_click".into(),
        action: "click".into(),
        risk: Risk::High,
        rule: "effect.destroy".into(),
        description: "deletes something".into(),
        because: Vec::new(),
        url: page("https://shop.test/items"),
        domain: "shop.test".into(),
        element: Some(ElementCard {
            role: page("button"),
            name: page(HOSTILE),
            text: page("Delete"),
            origin: page("https://shop.test"),
            form_target: None,
            form_button: None,
            href: None,
        }),
        input: None,
        mark: None,
        irreversible: false,
        for_session: Vec::new(),
        effect: Some(EffectCard {
            method: "POST".into(),
            address: page("https://shop.test/items/3/delete"),
            body: "form".into(),
            body_bytes: 5_020,
            operations: Vec::new(),
            fields: vec![field("id", "3", 1, false), field("note", "long…", 5_000, true)],
            omitted_fields: 2,
            digest: "abc".into(),
        }),
    }
}

/// One POST as it arrived: the line, the headers in lower case, and the body.
async fn receive(listener: &TcpListener) -> (String, String, Value) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut heard = Vec::new();
    loop {
        let mut part = [0; 4096];
        let read = stream.read(&mut part).await.unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&part[..read]);
        let text = String::from_utf8_lossy(&heard).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let Ok(body) = serde_json::from_str(body) else { continue };
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        let (line, headers) = head.split_once("\r\n").unwrap();
        return (line.to_owned(), headers.to_ascii_lowercase(), body);
    }
}

/// Asks a question while a notifier runs, and returns its id and what arrived.
async fn deliver(
    format: WebhookFormat,
    path: &str,
    console: &str,
    signs: bool,
) -> (String, (String, String, Value)) {
    let folder = tempfile::tempdir().unwrap();
    let storage = Storage::open(&folder.path().join("stockade.db")).await.unwrap();
    let key = Key::load_or_create(&folder.path().join("key")).unwrap();
    let options = LogOptions { key, segment_bytes: 1 << 20, most_bytes: 1 << 24 };
    let (log, authority) = Log::open(&folder.path().join("audit"), "i1", options).unwrap();
    let settings =
        ApprovalSettings { timeout: Duration::from_secs(30), most_a_minute: 5, rule_timeouts: Vec::new() };
    let approvals = ApprovalStore::open(storage, (log.clone(), authority), settings).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let secret = signs.then(|| crate::operator::webhook::WebhookSecret::for_tests().into());
    let notifier = WebhookNotifier {
        approvals: approvals.clone(),
        log,
        url: format!("http://{address}{path}").parse().unwrap(),
        format,
        secret,
        console: console.to_owned(),
    };
    let stop = CancellationToken::new();
    let running = tokio::spawn(notifier.run(stop.clone()));
    let question = NewQuestion {
        kind: ApprovalKind::Effect,
        scope: default_scope().unwrap(),
        session: SessionId::parse("s-aaaaaaaaaaaa").unwrap(),
        session_name: None,
        card: held(),
        screenshot: None,
        timeout: None,
    };
    let open = approvals.ask(question).await.unwrap();
    let arrived = tokio::time::timeout(Duration::from_secs(20), receive(&listener)).await.unwrap();
    stop.cancel();
    running.await.unwrap();
    (open.approval().id.to_string(), arrived)
}

#[tokio::test]
async fn our_own_format_is_signed_and_carries_the_held_request() {
    let console = "http://127.0.0.1:7700/console";
    let (id, (line, headers, body)) = deliver(WebhookFormat::Stockade, "/hook", console, true).await;
    assert!(line.starts_with("POST /hook "), "{line}");
    assert!(headers.contains("x-stockade-signature:"), "{headers}");
    assert_eq!((&body["approval"], &body["kind"]), (&json!(id), &json!("effect")));
    let effect = &body["page_says"]["effect"];
    assert_eq!(
        (&effect["method"], &effect["address"]),
        (&json!("POST"), &json!("https://shop.test/items/3/delete"))
    );
    assert_eq!(effect["fields"][0], json!({"name": "id", "value": "3", "length": 1, "is_cut": false}));
}

#[tokio::test]
async fn ntfy_gets_the_topic_a_title_and_a_link_to_the_console() {
    let console = "https://stockade.example.net/console";
    let (id, (line, headers, body)) =
        deliver(WebhookFormat::Ntfy, "/base/my-topic?auth=QmVhcmVy", console, false).await;
    assert!(line.starts_with("POST /base/?auth=QmVhcmVy "), "{line}");
    assert!(!headers.contains("x-stockade-signature"), "{headers}");
    assert_eq!(body["topic"], "my-topic");
    assert_eq!(body["title"], "Stockade, high risk: deletes something on shop.test");
    assert_eq!(body["click"], format!("{console}/approvals/{id}"));
    assert_eq!((&body["actions"][0]["action"], &body["priority"]), (&json!("view"), &json!(5)));
    let message = body["message"].as_str().unwrap();
    for part in [
        "POST “https://shop.test/items/3/delete”",
        "“id” = “3”",
        "(5000 bytes in all)",
        "and 2 more fields",
        "After: click on button “Delete <!channel> yes”",
        "Denied by itself after 30 s.",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
}

#[tokio::test]
async fn slack_gets_plain_text_blocks_and_no_page_text_where_it_reads_markup() {
    let (id, (_, headers, body)) =
        deliver(WebhookFormat::Slack, "/services/T/B/X", "http://127.0.0.1:7700/console", true).await;
    assert!(headers.contains("x-stockade-signature"), "signed, because there is a secret: {headers}");
    assert!(!body["text"].as_str().unwrap().contains("channel"), "{body}");
    let kinds: Vec<&str> =
        body["blocks"].as_array().unwrap().iter().filter_map(|block| block["type"].as_str()).collect();
    assert_eq!(kinds, ["header", "section", "actions"]);
    for block in &body["blocks"].as_array().unwrap()[..2] {
        assert_eq!((&block["text"]["type"], &block["text"]["emoji"]), (&json!("plain_text"), &json!(false)));
    }
    assert!(body["blocks"][1]["text"]["text"].as_str().unwrap().contains("<!channel>"), "{body}");
    let button = &body["blocks"][2]["elements"][0];
    assert_eq!(button["url"], format!("http://127.0.0.1:7700/console/approvals/{id}"));
}

#[tokio::test]
async fn telegram_gets_the_chat_in_the_body_and_a_button_where_it_allows_one() {
    let path = "/bot123:abc/sendMessage?chat_id=-100200";
    for (console, has_button) in
        [("https://stockade.example.net/console", true), ("http://127.0.0.1:7700/console", false)]
    {
        let (id, (line, _, body)) = deliver(WebhookFormat::Telegram, path, console, false).await;
        assert!(line.starts_with("POST /bot123:abc/sendMessage "), "{line}");
        assert_eq!(body["chat_id"], "-100200");
        assert!(body.get("parse_mode").is_none(), "{body}");
        let text = body["text"].as_str().unwrap();
        assert!(text.contains(&format!("{console}/approvals/{id}")) && text.contains("“id” = “3”"), "{text}");
        assert!(text.len() < 4096);
        assert_eq!(body.get("reply_markup").is_some(), has_button, "{console}");
    }
}
