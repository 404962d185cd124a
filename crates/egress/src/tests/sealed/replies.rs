//! Replies: no secret reaches the browser, and everything else does, in time and unchanged.

use super::*;
use crate::WebScheme;
use crate::seal::{WebOrigin, seal_headers};
use futures_util::StreamExt as _;
use http_body_util::StreamBody;
use hyper::body::Frame;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

#[tokio::test]
async fn an_echo_comes_back_as_the_placeholder_in_headers_body_and_trailers() {
    let (_server, proxy, credential) = sealed_app(|received| {
        let all = received.all();
        let mut trailers = HeaderMap::new();
        trailers.insert("x-echo", HeaderValue::from_static(TOKEN));
        let frames = [Frame::data(Bytes::from(all)), Frame::trailers(trailers)].map(Ok::<_, Infallible>);
        let body = StreamBody::new(futures_util::stream::iter(frames)).boxed_unsync();
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        headers.insert("x-echo", HeaderValue::from_static(SESSION));
        headers.insert("location", HeaderValue::from_str(&format!("/next?t={TOKEN}")).unwrap());
        headers.append("set-cookie", HeaderValue::from_str(&format!("copy={TOKEN}; Path=/")).unwrap());
        headers.insert("trailer", HeaderValue::from_static("x-echo"));
        response
    })
    .await;
    let (session, token) = (credential.session.as_str(), credential.token.as_str());
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let mut browser = proxy.browser("app.test:443", version).await;
        let reply = browser
            .get("/", &[("cookie", &format!("sid={session}")), ("x-token", token), ("te", "trailers")])
            .await;
        let all = format!("{:?} {} {:?}", reply.headers, reply.text(), reply.trailers);
        assert_no_secret(&all, "the reply");
        assert!(reply.text().contains(session) && reply.text().contains(token), "{}", reply.text());
        assert_eq!(
            (reply.header("x-echo"), reply.header("location")),
            (session.into(), format!("/next?t={token}"))
        );
        assert_eq!(reply.header("set-cookie"), format!("copy={token}; Path=/"));
        if version == Version::HTTP_2 {
            assert_eq!(reply.trailers.unwrap()["x-echo"], token);
        }
    }
}

#[tokio::test]
async fn what_would_be_swapped_in_a_reply_is_found_in_what_an_agent_supplies() {
    let mut sealed = TestCredential::new().sealed("https://app.test");
    sealed.cookies[0].value = secret("48213");
    sealed.cookies[0].placeholder = placeholder("48213");
    let seal = Seal::new(vec![sealed]);
    for (text, expected) in [
        (format!("a {TOKEN} b"), std::iter::once(2..2 + TOKEN.len()).collect()),
        (format!("https://app.test/?q={API_KEY}"), std::iter::once(20..20 + API_KEY.len()).collect()),
        (TOKEN[1..].to_owned(), vec![]),
        ("my sid=48213;".to_owned(), std::iter::once(3..12).collect()),
        ("48213".to_owned(), vec![]),
    ] {
        assert_eq!(seal.find_secrets(&text), expected, "{text}");
    }
}

#[tokio::test]
async fn a_cookie_that_is_no_text_does_not_reach_the_browser() {
    let (_server, proxy, _credential) = sealed_app(|_| {
        let mut response = Response::new(text(""));
        for line in
            [&b"fresh=caf\xe9-secret-0123456789; HttpOnly"[..], b"sid=\xff-secret-0123456789", b"theme=\xe9"]
        {
            response.headers_mut().append("set-cookie", HeaderValue::from_bytes(line).unwrap());
        }
        response
    })
    .await;
    let mut browser = proxy.browser("app.test:443", Version::HTTP_11).await;
    let reply = browser.get("/", &[]).await;
    let lines: Vec<&[u8]> = reply.headers.get_all("set-cookie").iter().map(HeaderValue::as_bytes).collect();
    assert_eq!(lines, [&b""[..], b"", b"theme=\xe9"]);
    assert_eq!(proxy.seal.unswapped(), 2);
}

#[tokio::test]
async fn basic_auth_that_the_proxy_adds_is_not_shown_in_any_part() {
    let authority = TestAuthority::new();
    let server = OriginServer::tls(authority.server(&["app.test"], |_| {}), |received| {
        Response::new(text(format!(
            "{} / me:long-password-1 / long-password-1",
            received.header("authorization")
        )))
    })
    .await;
    let mut sealed = TestCredential::new().sealed("https://app.test");
    let value = Secret::basic_auth("me", &secret("long-password-1"));
    let encoded = value.expose_secret().to_owned();
    sealed.headers = vec![SealedHeader { name: "Authorization".to_owned(), value }];
    let proxy = SealedProxy::new(&authority, &[("app.test", server.address)], vec![sealed]);
    let mut browser = proxy.browser("app.test:443", Version::HTTP_2).await;
    let reply = browser.get("/", &[]).await.text();
    assert_eq!(server.last().header("authorization"), encoded);
    assert!(
        !reply.contains(encoded.trim_start_matches("Basic ")) && !reply.contains("long-password-1"),
        "{reply}"
    );
    assert!(!proxy.seal.contains_placeholder("long-password-1"));
}

#[tokio::test]
async fn a_rotated_cookie_gets_a_placeholder_of_its_own_and_works_from_then_on() {
    let (server, proxy, credential) = sealed_app(|received| {
        let number: usize = received.target.rsplit('/').next().unwrap().parse().unwrap();
        let value = format!("rotated-session-value-{number:04}");
        let mut response = Response::new(text(format!("now {value}")));
        let line = format!("sid={value}; Path=/; Secure; SameSite=Lax");
        response.headers_mut().insert("set-cookie", HeaderValue::from_str(&line).unwrap());
        response
    })
    .await;
    let mut browser = proxy.browser("app.test:443", Version::HTTP_2).await;
    let mut held = credential.session.as_str().to_owned();
    let mut expected = SESSION.to_owned();
    let mut all = Vec::new();
    for number in 0..12 {
        let reply = browser.get(&format!("/{number}"), &[("cookie", &format!("sid={held}"))]).await;
        assert_eq!(server.last().header("cookie"), format!("sid={expected}"));
        expected = format!("rotated-session-value-{number:04}");
        let line = reply.header("set-cookie");
        held = line
            .strip_prefix("sid=")
            .unwrap()
            .strip_suffix("; Path=/; Secure; SameSite=Lax")
            .unwrap()
            .to_owned();
        assert_ne!(held, expected);
        assert_eq!(reply.text(), format!("now {held}"), "the new value is a secret in its own reply");
        assert!(proxy.seal.resolve(&held).unwrap().expose_secret() == expected);
        all.push(held.clone());
    }
    // The last eight are kept; older ones are forgotten.
    let known = all.iter().filter(|held| proxy.seal.resolve(held).is_some()).count();
    assert_eq!((known, proxy.seal.resolve(&all[3]).is_none()), (8, true));
    assert!(proxy.seal.resolve(credential.session.as_str()).is_some(), "the injected value stays");
}

#[tokio::test]
async fn a_cookie_is_sealed_if_it_was_injected_or_is_http_only_and_else_passes() {
    let lines: &[(&str, bool)] = &[
        ("fresh=abc123; HttpOnly", true),
        ("fresh=x; HttpOnly", true),
        ("csrftoken=short", true),
        ("sid=7", true),
        ("sid=; Max-Age=0", false),
        ("sid=deleteMe; Max-Age=0; HttpOnly", false),
        ("theme=dark", false),
        ("theme=--; HttpOnly", false),
        ("novalue", false),
        ("a-value-without-a-name-1; HttpOnly", true),
        ("fresh=größe-0123456789; HttpOnly", true),
    ];
    let (server, proxy, _credential) = sealed_app(move |received| {
        let number: usize = received.target.rsplit('/').next().unwrap().parse().unwrap();
        let mut response = Response::new(text(""));
        response
            .headers_mut()
            .insert("set-cookie", HeaderValue::from_bytes(lines[number].0.as_bytes()).unwrap());
        response
    })
    .await;
    let mut browser = proxy.browser("app.test:443", Version::HTTP_11).await;
    for (number, (line, is_sealed)) in lines.iter().enumerate() {
        let set_cookie =
            |reply: &Reply| String::from_utf8(reply.headers["set-cookie"].as_bytes().to_vec()).unwrap();
        let set = set_cookie(&browser.get(&format!("/{number}"), &[]).await);
        assert_eq!(set != *line, *is_sealed, "{line}: {set}");
        assert_eq!(set.len(), line.len());
        let again = set_cookie(&browser.get(&format!("/{number}"), &[]).await);
        assert_eq!(again, set, "the same value has the same placeholder");
        if *is_sealed {
            let read = |line: &str| -> (String, String) {
                let pair = line.split(';').next().unwrap();
                let (name, value) = pair.split_once('=').unwrap_or(("", pair));
                (name.to_owned(), value.to_owned())
            };
            let (name, held) = read(&set);
            let resolved = proxy.seal.resolve_cookie(&name, "app.test", &held).unwrap();
            assert!(resolved.expose_secret() == read(line).1, "{line}");
        }
    }
    // A cookie without a name comes back without one.
    let reply = browser.get(&format!("/{}", lines.len() - 2), &[]).await;
    let held = reply.header("set-cookie").replace("; HttpOnly", "");
    browser.get("/0", &[("cookie", &format!("a=b; {held}"))]).await;
    assert_eq!(server.last().header("cookie"), "a=b; a-value-without-a-name-1");
}

#[tokio::test]
async fn cookies_that_a_site_sets_are_kept_in_bounded_number() {
    let (_server, proxy, _credential) = sealed_app(|received| {
        let base: usize = received.target.rsplit('/').next().unwrap().parse().unwrap();
        let mut response = Response::new(text(""));
        for number in base..base + 100 {
            let line = format!("name{number}=value-{number:05}; HttpOnly");
            response.headers_mut().append("set-cookie", HeaderValue::from_str(&line).unwrap());
        }
        response
    })
    .await;
    let mut browser = proxy.browser("app.test:443", Version::HTTP_11).await;
    let mut held = Vec::new();
    for base in (0..1200).step_by(100) {
        let reply = browser.get(&format!("/{base}"), &[]).await;
        for line in reply.headers.get_all("set-cookie") {
            let line = line.to_str().unwrap();
            held.push(line.split_once('=').unwrap().1.split(';').next().unwrap().to_owned());
        }
    }
    let known: Vec<bool> = held.iter().map(|held| proxy.seal.resolve(held).is_some()).collect();
    assert_eq!(known.iter().filter(|known| **known).count(), 1000);
    assert!(known[200..].iter().all(|known| *known), "the newest are kept");
    assert!(proxy.seal.resolve(TestCredential::new().session.as_str()).is_none());
}

#[tokio::test]
async fn cookies_that_a_site_sets_are_kept_in_bounded_memory() {
    let (_server, proxy, credential) = sealed_app(|received| {
        let number: usize = received.target.rsplit('/').next().unwrap().parse().unwrap();
        let line = format!("name{number}={number:04}{}; HttpOnly", "x7".repeat(1500));
        let mut response = Response::new(text(""));
        response.headers_mut().append("set-cookie", HeaderValue::from_str(&line).unwrap());
        response
    })
    .await;
    let mut browser = proxy.browser("app.test:443", Version::HTTP_11).await;
    let mut held = Vec::new();
    for number in 0..12 {
        let line = browser.get(&format!("/{number}"), &[]).await.header("set-cookie");
        held.push(line.split_once('=').unwrap().1.split(';').next().unwrap().to_owned());
    }
    let known: Vec<bool> = held.iter().map(|held| proxy.seal.resolve(held).is_some()).collect();
    // Five of 3,004 bytes are within 16 KiB, and the injected cookie is not among those that are dropped.
    assert_eq!(known, [false; 7].into_iter().chain([true; 5]).collect::<Vec<_>>());
    assert!(proxy.seal.resolve(credential.session.as_str()).is_some());
}

#[tokio::test]
async fn replies_without_a_body_and_parts_of_one_stay_as_they_are() {
    let (server, proxy, _credential) = sealed_app(|received| {
        let mut response = Response::new(text(""));
        let status = match received.target.rsplit('/').next().unwrap() {
            "no-content" => StatusCode::NO_CONTENT,
            "not-modified" => StatusCode::NOT_MODIFIED,
            "range" => {
                let headers = response.headers_mut();
                headers.insert("content-range", HeaderValue::from_static("bytes 2-5/10"));
                headers.insert("accept-ranges", HeaderValue::from_static("bytes"));
                *response.body_mut() = text("2345");
                StatusCode::PARTIAL_CONTENT
            }
            "head" => {
                response.headers_mut().insert("content-length", HeaderValue::from_static("12345"));
                StatusCode::OK
            }
            _ => StatusCode::IM_A_TEAPOT,
        };
        *response.status_mut() = status;
        response
    })
    .await;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let mut browser = proxy.browser("app.test:443", version).await;
        assert_eq!(browser.get("/no-content", &[]).await.status, StatusCode::NO_CONTENT);
        assert_eq!(browser.get("/not-modified", &[]).await.status, StatusCode::NOT_MODIFIED);
        assert_eq!(browser.get("/x", &[]).await.status, StatusCode::IM_A_TEAPOT);
        let reply = browser.exchange("HEAD", "/head", &[], "").await;
        assert_eq!((reply.header("content-length"), reply.body.len()), ("12345".to_owned(), 0));
        let asked = [("range", "bytes=2-5"), ("accept-encoding", "gzip, br"), ("sec-fetch-dest", "video")];
        let reply = browser.get("/range", &asked).await;
        assert_eq!((reply.status, reply.text().as_str()), (StatusCode::PARTIAL_CONTENT, "2345"));
        assert_eq!(
            (reply.header("content-range"), reply.header("content-length")),
            ("bytes 2-5/10".into(), "4".into())
        );
        assert_eq!(server.last().header("accept-encoding"), "identity");
    }
}

/// An origin whose body is fed piece by piece.
async fn fed_app() -> (mpsc::Sender<Bytes>, OriginServer, SealedProxy, TestCredential) {
    let (pieces, fed) = mpsc::channel::<Bytes>(1);
    let fed = Mutex::new(Some(fed));
    let (server, proxy, credential) = sealed_app(move |_| {
        let mut fed = fed.lock().unwrap().take().unwrap();
        let stream = futures_util::stream::poll_fn(move |cx| fed.poll_recv(cx));
        let frames = stream.map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
        let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
        response.headers_mut().insert("content-type", HeaderValue::from_static("text/event-stream"));
        response
    })
    .await;
    (pieces, server, proxy, credential)
}

#[tokio::test]
async fn a_value_that_is_set_while_a_stream_is_open_is_sealed_in_it() {
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let (pieces, _server, proxy, _credential) = fed_app().await;
        let mut browser = proxy.browser("app.test:443", version).await;
        let request = browser.request("GET", "/events").body(text("")).unwrap();
        let mut body = browser.send(request).await.unwrap().into_body();
        pieces.send(Bytes::from("data: 1\n\n")).await.unwrap();
        body.frame().await.unwrap().unwrap();
        let host = HostName::parse("app.test").unwrap();
        let origin = WebOrigin { scheme: WebScheme::Https, host, port: 443 };
        let line = HeaderValue::from_static("sid=rotated-session-0123456789; Path=/");
        let mut headers = HeaderMap::from_iter([(HeaderName::from_static("set-cookie"), line)]);
        seal_headers(&mut headers, &proxy.seal, &origin, b"/");
        let event = "data: rotated-session-0123456789\n\n";
        pieces.send(Bytes::from(event)).await.unwrap();
        let mut delivered = Vec::new();
        while delivered.len() < event.len() {
            delivered.extend_from_slice(body.frame().await.unwrap().unwrap().data_ref().unwrap());
        }
        assert_ne!(delivered, event.as_bytes(), "{version:?}");
    }
}

#[tokio::test]
async fn an_event_is_delivered_before_the_next_one_is_sent() {
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let (pieces, _server, proxy, credential) = fed_app().await;
        let mut browser = proxy.browser("app.test:443", version).await;
        let request = browser.request("GET", "/events").body(text("")).unwrap();
        let mut body = browser.send(request).await.unwrap().into_body();
        for number in 0..5 {
            let event = format!("data: {number} {TOKEN}\n\n");
            pieces.send(Bytes::from(event)).await.unwrap();
            let expected = format!("data: {number} {}\n\n", credential.token.as_str());
            let mut delivered = String::new();
            while delivered.len() < expected.len() {
                let frame = body.frame().await.unwrap().unwrap();
                delivered.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
            }
            assert_eq!(delivered, expected);
        }
        drop(pieces);
        assert!(body.frame().await.is_none_or(|end| end.is_ok()));
    }
}

#[tokio::test]
async fn a_browser_that_does_not_read_holds_a_long_reply_up() {
    const PIECE: usize = 64 * 1024;
    const ALL: usize = 200 * 1024 * 1024;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let (pieces, _server, proxy, credential) = fed_app().await;
        let mut browser = proxy.browser("app.test:443", version).await;
        let taken = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&taken);
        let mut feeding = JoinSet::new();
        feeding.spawn(async move {
            let mut piece = vec![b'x'; PIECE];
            piece[100..100 + TOKEN.len()].copy_from_slice(TOKEN.as_bytes());
            let piece = Bytes::from(piece);
            while counted.load(Ordering::SeqCst) < ALL && pieces.send(piece.clone()).await.is_ok() {
                counted.fetch_add(PIECE, Ordering::SeqCst);
            }
        });
        let request = browser.request("GET", "/").body(text("")).unwrap();
        let mut body = browser.send(request).await.unwrap().into_body();
        let mut read = 0;
        let mut most_held = 0;
        let mut sealed = 0;
        while let Some(frame) = body.frame().await {
            let data = frame.unwrap().into_data().unwrap();
            read += data.len();
            most_held = most_held.max(taken.load(Ordering::SeqCst).saturating_sub(read));
            let found =
                |needle: &str| data.windows(needle.len()).filter(|part| *part == needle.as_bytes()).count();
            // Every tenth piece is looked at: a search of all of it takes long without optimisation.
            if read % (10 * PIECE) < data.len() {
                assert_eq!(found(TOKEN), 0);
                sealed += found(credential.token.as_str());
            }
        }
        assert_eq!(read, ALL);
        assert!(sealed > 0);
        // Sockets, windows and buffers of two hops.
        assert!(most_held < 16 * 1024 * 1024, "{most_held} bytes were under way at once");
    }
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_not_taken_for_a_whole_one() {
    let authority = TestAuthority::new();
    let mut config = authority.server(&["app.test"], |_| {});
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let site = super::super::Site::new(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = acceptor.accept(stream).await.unwrap();
            head(&mut stream).await;
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    })
    .await;
    let proxy = SealedProxy::new(
        &authority,
        &[("app.test", site.address)],
        vec![TestCredential::new().sealed("https://app.test")],
    );
    let mut browser = proxy.browser("app.test:443", Version::HTTP_11).await;
    let request = browser.request("GET", "/").body(text("")).unwrap();
    let response = browser.send(request).await.unwrap();
    assert!(response.into_body().collect().await.is_err());
}
