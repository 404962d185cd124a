//! Who may call a bridge, and for how long.
#![allow(clippy::unwrap_used)]

mod common;

use bridge::token::{Signer, now_ms};
use bytes::Bytes;
use common::{Host, LIFETIME, SCOPE, STUCK, TARGET, call, closed};
use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::{Error, Message};

/// Short enough to live through several, long enough for a busy machine.
const SHORT: Duration = Duration::from_secs(3);

/// One token of each bad kind, and the code it is refused with.
fn bad_tokens(host: &Host, used: &str) -> Vec<(String, &'static str)> {
    let good = host.token();
    let middle = good.len() / 2;
    let other = if good.as_bytes()[middle] == b'A' { "B" } else { "A" };
    let altered = [&good[..middle], other, &good[middle + 1..]].concat();
    let past = host.signer.mint_at(now_ms() - 61_000, SCOPE, TARGET, LIFETIME).unwrap();
    let future = host.signer.mint_at(now_ms() + 60_000, SCOPE, TARGET, LIFETIME).unwrap();
    let stranger = Signer::generate().unwrap();
    vec![
        (String::new(), "token_missing"),
        ("nonsense!".to_owned(), "token_malformed"),
        (altered, "token_bad_signature"),
        (stranger.mint(SCOPE, TARGET, LIFETIME).unwrap(), "token_bad_signature"),
        (host.signer.mint("default/bob", TARGET, LIFETIME).unwrap(), "token_wrong_scope"),
        (host.signer.mint(SCOPE, "j-2", LIFETIME).unwrap(), "token_wrong_target"),
        (past, "token_expired"),
        (future, "token_too_long"),
        (used.to_owned(), "token_replayed"),
    ]
}

#[tokio::test]
async fn a_bad_token_of_any_kind_is_refused_on_every_route() {
    let host = Host::fake(1, &[]);
    let path = host.ready().await;
    let used = host.token();
    assert_eq!(host.ask_with("GET", "/status", &used).await.0, 200);
    let routes = [
        ("GET", "/json/version"),
        ("GET", "/status"),
        ("POST", "/restart"),
        ("GET", path.as_str()),
        ("GET", "/nothing"),
    ];
    for (method, route) in routes {
        for (token, code) in bad_tokens(&host, &used) {
            let (status, refused) = host.ask_with(method, route, &token).await;
            // An empty header value is not a token at all, and the head is then malformed.
            let expected = if token.is_empty() { (400, "bad_request") } else { (401, code) };
            assert_eq!((status, refused["code"].as_str().unwrap()), expected, "{method} {route}");
        }
        let head = format!("{method} {route} HTTP/1.1\r\n\r\n");
        let (status, refused) = host.raw(head.as_bytes()).await;
        assert_eq!((status, &refused["code"]), (401, &json!("token_missing")), "{method} {route}");
    }
    for (token, _) in bad_tokens(&host, &used) {
        let refused = host.try_open(&path, &token).await.unwrap_err();
        assert!(matches!(*refused, Error::Http(_)), "{refused}");
    }
}

#[tokio::test]
async fn a_renewed_connection_outlives_three_tokens() {
    let host = Host::fake(0, &[]);
    let path = host.ready().await;
    let mint = || host.signer.mint(SCOPE, TARGET, SHORT).unwrap();
    let mut socket = host.try_open(&path, &mint()).await.unwrap();
    for round in 0..10 {
        sleep(SHORT / 3).await;
        socket.send(Message::Binary(Bytes::from(mint()))).await.unwrap();
        let echoed = call(&mut socket, round, "Test.echo", json!({ "round": round })).await;
        assert_eq!(echoed, json!({ "round": round }), "and the token itself did not reach chromium");
    }
}

#[tokio::test]
async fn a_connection_without_renewal_is_cut_when_its_token_ends() {
    let host = Host::fake(0, &[]);
    let path = host.ready().await;
    let token = host.signer.mint(SCOPE, TARGET, SHORT).unwrap();
    let mut socket = host.try_open(&path, &token).await.unwrap();
    assert_eq!(closed(&mut socket).await, (4401, "token_expired".to_owned()));
    assert!(timeout(STUCK, socket.next()).await.unwrap().is_none(), "and nothing follows");
}

#[tokio::test]
async fn a_reader_that_stopped_reading_is_cut_as_well() {
    let host = Host::fake(0, &[]);
    let path = host.ready().await;
    let token = host.signer.mint(SCOPE, TARGET, SHORT).unwrap();
    let mut socket = host.try_open(&path, &token).await.unwrap();
    // More than sockets hold, so the bridge is stuck in writing while the token ends.
    let large = json!({ "id": 1, "method": "Test.large", "params": { "size": 8 << 20 } });
    socket.send(Message::text(large.to_string())).await.unwrap();
    host.until(|_| token_has_ended(&token)).await;
    // The bridge is free again for another.
    let mut next = host.open().await;
    assert_eq!(call(&mut next, 5, "Test.echo", json!({})).await, json!({}));
    let end = timeout(STUCK, async { while let Some(Ok(_)) = socket.next().await {} }).await;
    assert!(end.is_ok(), "the first connection has ended");
}

/// The token's expiry is in plain form in its second to ninth byte.
fn token_has_ended(token: &str) -> bool {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(token).unwrap();
    u64::from_be_bytes(bytes[1..9].try_into().unwrap()) + 1_500 < now_ms()
}

#[tokio::test]
async fn a_renewal_with_a_bad_token_cuts_the_connection() {
    let host = Host::fake(0, &[]);
    let path = host.ready().await;
    let used = host.token();
    assert_eq!(host.ask_with("GET", "/status", &used).await.0, 200);
    for (token, code) in bad_tokens(&host, &used) {
        let mut socket = host.try_open(&path, &host.token()).await.unwrap();
        socket.send(Message::Binary(Bytes::from(token))).await.unwrap();
        assert_eq!(closed(&mut socket).await, (4401, code.to_owned()));
    }
}
