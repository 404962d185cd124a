//! Messages as no browser and no honest server frames them: what is ambiguous ends there, and no secret gets around the
//! search by it.

use super::super::{Site, rest};
use super::*;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_millis(100);

fn plain_proxy(site: &Site) -> (SealedProxy, TestCredential) {
    let credential = TestCredential::new();
    let sealed = credential.sealed("http://app.test");
    (SealedProxy::new(&TestAuthority::new(), &[("app.test", site.address)], vec![sealed]), credential)
}

/// What a browser gets of a reply, with the token's placeholder in it as `PLACEHOLDER`.
async fn delivered(reply: Vec<u8>) -> String {
    let site = Site::new(move |mut stream| {
        let reply = reply.clone();
        async move {
            head(&mut stream).await;
            let _written = stream.write_all(&reply).await;
        }
    })
    .await;
    let (proxy, credential) = plain_proxy(&site);
    let mut stream = proxy.tunnel("app.test:80").await;
    stream.write_all(b"GET / HTTP/1.0\r\nHost: app.test\r\n\r\n").await.unwrap();
    rest(&mut stream).await.replace(credential.token.as_str(), "PLACEHOLDER")
}

fn reply(head: &str, body: &[u8]) -> Vec<u8> {
    [b"HTTP/1.1 200 OK\r\n", head.as_bytes(), b"\r\n", body].concat()
}

fn chunked(body: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n0\r\n\r\n"].concat()
}

#[tokio::test]
async fn a_reply_that_can_be_read_in_two_ways_is_not_delivered() {
    let (token, length) = (TOKEN.as_bytes(), format!("Content-Length: {}\r\n", TOKEN.len()));
    let upgrade = "HTTP/1.1 101 OK\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
    for (name, reply) in [
        ("coded in transfer", reply("Transfer-Encoding: gzip, chunked\r\n", &chunked(token))),
        ("coded in transfer alone", reply("Transfer-Encoding: gzip\r\n", token)),
        ("folded", reply(&format!("X-A: b\r\n {TOKEN}\r\nContent-Length: 0\r\n"), b"")),
        ("two lengths", reply(&format!("Content-Length: 2\r\n{length}"), token)),
        ("another protocol", [upgrade.as_bytes(), token].concat()),
    ] {
        assert_eq!(delivered(reply).await, "", "{name}");
    }
}

#[tokio::test]
async fn a_secret_in_an_odd_place_of_a_reply_does_not_get_through() {
    let none = "Content-Length: 0\r\n";
    let (token, lower) = (TOKEN.as_bytes(), TOKEN.to_lowercase());
    let hint = format!("HTTP/1.1 103 Hints\r\nLink: <{TOKEN}>\r\n\r\nHTTP/1.1 200 OK\r\n{none}\r\n");
    let extended = format!("2;{TOKEN}\r\nok\r\n0\r\n\r\n");
    let both = "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n";
    let of_hop = "Connection: content-encoding\r\nContent-Encoding: identity\r\n";
    let kept = format!("Set-Cookie: a={TOKEN}; HttpOnly; Max-Age=-x\r\n{none}");
    for (name, reply, is_swapped) in [
        ("name of a header", reply(&format!("{TOKEN}: 1\r\n{none}"), b""), false),
        ("name of a header, lower", reply(&format!("x-{lower}: 1\r\n{none}"), b""), false),
        ("name of a cookie", reply(&format!("Set-Cookie: {TOKEN}=1\r\n{none}"), b""), true),
        ("reason", format!("HTTP/1.1 200 {TOKEN}\r\n{none}\r\n").into(), false),
        ("hint", hint.into(), false),
        ("of a chunk", reply("Transfer-Encoding: chunked\r\n", extended.as_bytes()), false),
        ("behind the end", reply("Content-Length: 2\r\n", format!("ok{TOKEN}").as_bytes()), false),
        ("of no content", format!("HTTP/1.1 204 OK\r\n\r\n{TOKEN}").into(), false),
        ("without a length", reply("", token), true),
        ("length and chunks", reply(both, &chunked(token)), true),
        ("a coding of the hop", reply(of_hop, token), true),
        ("a cookie that is not deleted", reply(&kept, b""), true),
    ] {
        let delivered = delivered(reply).await;
        assert!(delivered.starts_with("HTTP/1."), "{name}: {delivered}");
        assert!(!delivered.to_lowercase().contains(&lower), "{name}: {delivered}");
        assert_eq!(delivered.contains("PLACEHOLDER"), is_swapped, "{name}: {delivered}");
    }
}

#[tokio::test]
async fn a_coded_reply_of_no_bytes_is_empty() {
    for coding in ["gzip", "deflate", "br", "zstd", "gzip, br"] {
        let head = format!("Content-Encoding: {coding}\r\nTransfer-Encoding: chunked\r\n");
        let delivered = delivered(reply(&head, b"0\r\n\r\n")).await;
        assert!(
            delivered.contains(" 200 OK\r\n") && delivered.ends_with("\r\n\r\n"),
            "{coding}: {delivered}"
        );
    }
}

/// What the site gets of a request, in which `{sid}` and `{token}` are placeholders, and the answer.
async fn received(request: &str) -> (String, String) {
    let got: Arc<Mutex<Vec<u8>>> = Arc::default();
    let kept = Arc::clone(&got);
    let site = Site::new(move |mut stream| {
        let kept = Arc::clone(&kept);
        async move {
            let mut buffer = [0; 4096];
            while let Ok(Ok(read @ 1..)) = timeout(PATIENCE, stream.read(&mut buffer)).await {
                kept.lock().unwrap().extend_from_slice(&buffer[..read]);
            }
            let _written = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        }
    })
    .await;
    let (proxy, credential) = plain_proxy(&site);
    let (sid, token) = (credential.session.as_str(), credential.token.as_str());
    let mut stream = proxy.tunnel("app.test:80").await;
    stream.write_all(request.replace("{sid}", sid).replace("{token}", token).as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let read = timeout(PATIENCE * 50, stream.read(&mut answer)).await.unwrap().unwrap_or(0);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&got.lock().unwrap()), text(&answer[..read]))
}

#[tokio::test]
async fn a_request_that_can_be_read_in_two_ways_does_not_smuggle_another() {
    const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: app.test\r\n\r\n";
    let chunk = String::from_utf8(chunked(SMUGGLED.as_bytes())).unwrap();
    for (name, lines) in [
        ("length and chunks", format!("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}")),
        ("chunks and length", format!("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n{chunk}")),
        ("two codings", format!("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n{chunk}")),
        (
            "an odd coding",
            format!("Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{SMUGGLED}"),
        ),
        ("a space", format!("Transfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{SMUGGLED}")),
        ("two lengths", format!("Content-Length: 0\r\nContent-Length: {}\r\n\r\n{SMUGGLED}", SMUGGLED.len())),
        ("a signed length", format!("Content-Length: +0\r\n\r\n{SMUGGLED}")),
        ("folded", format!("X-A: b\r\n Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n{SMUGGLED}")),
    ] {
        let (got, answer) = received(&format!("POST / HTTP/1.1\r\nHost: app.test\r\n{lines}")).await;
        let is_refused = got.is_empty() && (answer.is_empty() || answer.starts_with("HTTP/1.1 400"));
        // What is inside of a chunk stays there.
        let is_framed = got.to_lowercase().ends_with(&chunk.to_lowercase())
            && !got.to_lowercase().contains("content-length");
        assert!(is_refused || is_framed, "{name}: {got} {answer}");
    }
}

#[tokio::test]
async fn a_secret_is_in_no_other_place_of_a_request() {
    let own = "Host: app.test\r\nReferer: http://app.test/\r\n";
    for (lines, is_sent) in [
        ("X-Token: {token}", true),
        ("Sec-WebSocket-Protocol: bearer, {token}", true),
        ("Content-Type: multipart/form-data; boundary={token}", false),
        ("Content-Disposition: attachment; filename={token}", false),
        ("Accept: text/{token}", false),
        ("Accept-Language: {token}", false),
        ("If-None-Match: \"{token}\"", false),
        ("Range: bytes={token}", false),
        ("X-Original-URL: /comment?text={token}", false),
        ("X-Rewrite-URL: /comment?text={token}", false),
        ("X-Forwarded-Host: {token}.app.test", false),
        ("Forwarded: for={token}", false),
        ("X-HTTP-Method-Override: {token}", false),
        ("Destination: /dav/{token}", false),
        ("Last-Event-ID: {token}", false),
        ("{token}: 1", false),
        ("Trailer: {token}", false),
        ("Cookie: sid={sid}", true),
        ("Cookie: a=b;sid={sid}", true),
        ("Cookie: a=b\r\nCookie: sid={sid}", true),
        ("Cookie: sid={sid},{sid}", false),
        ("Cookie: sid=\"{sid}\"", false),
        ("Cookie: $Version=1, sid={sid}", false),
        ("Cookie: {sid}={sid}", false),
        ("Cookie2: sid={sid}", false),
        ("Connection: cookie\r\nCookie: sid={sid}", false),
        ("Connection: sec-fetch-site\r\nSec-Fetch-Site: cross-site\r\nX-Token: {token}", false),
        ("Connection: origin\r\nOrigin: http://evil.test\r\nX-Token: {token}", false),
    ] {
        let (got, answer) = received(&format!("GET / HTTP/1.1\r\n{own}{lines}\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{lines}: {answer}");
        assert_eq!(got.contains(TOKEN) || got.contains(SESSION), is_sent, "{lines}: {got}");
    }
    for line in ["{token} /", "GET /{token}", "GET /?{token}", "OPTIONS /{token}"] {
        let (got, _) = received(&format!("{line} HTTP/1.1\r\n{own}\r\n")).await;
        assert!(!got.is_empty() && !got.contains(TOKEN), "{line}: {got}");
    }
}
