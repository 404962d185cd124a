//! CDP through the bridge: complete, in order, to one client, and bounded.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Host, call, closed, receive, send};
use futures_util::SinkExt;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

const LARGE: usize = 35_000_000;

#[tokio::test]
async fn large_messages_arrive_whole_both_ways() {
    let host = Host::fake(0, &[]);
    let mut socket = host.open().await;
    let down = call(&mut socket, 1, "Test.large", json!({ "size": LARGE })).await;
    let data = down["data"].as_str().unwrap();
    assert!(data.len() == LARGE && data.bytes().all(|byte| byte == b'x'));

    let up = json!({ "id": 2, "method": "Test.length", "params": { "data": "y".repeat(LARGE) } }).to_string();
    let length = up.len();
    socket.send(Message::text(up)).await.unwrap();
    assert_eq!(receive(&mut socket).await, json!({ "id": 2, "result": { "length": length } }));
}

#[tokio::test]
async fn events_and_answers_keep_their_order() {
    let host = Host::fake(0, &[]);
    let mut socket = host.open().await;
    send(&mut socket, json!({ "id": 1, "method": "Test.events", "params": { "size": 5000 } })).await;
    for number in 0..5000 {
        let event = receive(&mut socket).await;
        assert_eq!(event["params"]["number"], number);
    }
    assert_eq!(receive(&mut socket).await["id"], 1);
}

#[tokio::test]
async fn a_new_connection_takes_the_place_of_a_stale_one() {
    let host = Host::fake(0, &[]);
    let mut stale = host.open().await;
    // An answer and events that the stale client never reads.
    for id in [1, 2] {
        send(&mut stale, json!({ "id": id, "method": "Test.events", "params": { "size": 2000 } })).await;
    }
    let mut fresh = host.open().await;
    assert_eq!(call(&mut fresh, 1, "Test.echo", json!({ "for": "fresh" })).await, json!({ "for": "fresh" }));
    assert_eq!(closed(&mut stale).await, (4409, "replaced by a newer connection".to_owned()));
    assert_eq!(call(&mut fresh, 2, "Test.echo", json!({})).await, json!({}), "it stays");
}

#[tokio::test]
async fn what_nobody_listens_to_does_not_hold_chromium_up() {
    let host = Host::fake(0, &[]);
    let mut first = host.open().await;
    send(&mut first, json!({ "id": 1, "method": "Test.events", "params": { "size": 100_000 } })).await;
    drop(first);
    let mut second = host.open().await;
    assert_eq!(call(&mut second, 1, "Test.echo", json!({})).await, json!({}));
}

#[tokio::test]
async fn a_message_over_the_limit_cuts_the_connection_and_the_next_one_works() {
    let host = Host::fake(0, &[]);
    let mut socket = host.open().await;
    send(&mut socket, json!({ "id": 1, "method": "Test.large", "params": { "size": 70 << 20 } })).await;
    assert_eq!(closed(&mut socket).await.0, 1009);
    let report = host.until(|_| true).await;
    assert!(report["log_tail"].as_str().unwrap().contains("message over 67108864 bytes"), "{report}");

    let mut socket = host.open().await;
    let up = json!({ "id": 1, "method": "Test.length", "params": "y".repeat(70 << 20) }).to_string();
    // The bridge hangs up while we are still sending.
    socket.send(Message::text(up)).await.ok();
    drop(socket);

    let mut socket = host.open().await;
    assert_eq!(call(&mut socket, 1, "Test.echo", json!({})).await, json!({}), "chromium is none the worse");
}
