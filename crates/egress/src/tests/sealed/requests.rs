//! Requests: a secret arrives where it belongs, and nowhere else.

use super::*;
use crate::{EgressOutcome, LedgerEntry, PlaceKind, WebScheme};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use redact::SendIn;

fn ok(_: Received) -> Response<AnyBody> {
    Response::new(text("ok"))
}

const VERSIONS: [Version; 2] = [Version::HTTP_11, Version::HTTP_2];

#[tokio::test]
async fn each_kind_of_secret_arrives_where_it_belongs() {
    let (server, proxy, credential) = sealed_app(ok).await;
    let TestCredential { session, csrf, token } = &credential;
    for version in VERSIONS {
        let mut browser = proxy.browser("app.test:443", version).await;
        let cookies = format!("theme=dark; sid={}; csrftoken={}", session.as_str(), csrf.as_str());
        let basic = BASE64_STANDARD.encode(format!("me:{}", token.as_str()));
        let reply = browser
            .get(
                "/a?b=c",
                &[
                    ("cookie", &cookies),
                    ("authorization", &format!("Basic {basic}")),
                    ("x-csrftoken", csrf.as_str()),
                    ("x-custom", &format!("Token token=\"{}\"", token.as_str())),
                    ("sec-fetch-site", "same-origin"),
                ],
            )
            .await;
        assert_eq!((reply.status, reply.text().as_str()), (StatusCode::OK, "ok"));
        let received = server.last();
        assert_eq!(received.version, version);
        assert_eq!(received.header("cookie"), format!("theme=dark; sid={SESSION}; csrftoken={CSRF}"));
        let basic = BASE64_STANDARD.encode(format!("me:{TOKEN}"));
        assert_eq!(received.header("authorization"), format!("Basic {basic}"));
        assert_eq!(received.header("x-csrftoken"), CSRF);
        assert_eq!(received.header("x-custom"), format!("Token token=\"{TOKEN}\""));
        assert_eq!(received.header("x-api-key"), API_KEY);
        assert!(received.target.ends_with("/a?b=c"), "{}", received.target);
    }
    assert_eq!(proxy.seal.places(), []);
}

#[tokio::test]
async fn a_placeholder_anywhere_else_leaves_as_the_placeholder_and_the_place_is_noted() {
    let (server, proxy, credential) = sealed_app(ok).await;
    let TestCredential { session, csrf, token } = &credential;
    let (session, csrf, token) = (session.as_str(), csrf.as_str(), token.as_str());
    let form = ("content-type", "application/x-www-form-urlencoded");
    let json = ("content-type", "application/json");
    let multipart = ("content-type", "multipart/form-data; boundary=x");
    let part = format!("--x\r\nContent-Disposition: form-data; name=\"comment\"\r\n\r\n{token}\r\n--x--\r\n");
    type Case<'a> = (&'a str, String, Vec<(&'a str, String)>, String, PlaceKind, Option<&'a str>);
    let line = |(name, value): (&'static str, &str)| (name, value.to_owned());
    let cases: Vec<Case<'_>> = vec![
        ("GET", format!("/path/{token}"), vec![], String::new(), PlaceKind::Url, None),
        ("GET", format!("/?q={session}"), vec![], String::new(), PlaceKind::Url, None),
        (
            "POST",
            "/form".into(),
            vec![line(form)],
            format!("a=b&comment={token}"),
            PlaceKind::Body,
            Some("comment"),
        ),
        ("POST", "/form".into(), vec![line(form)], format!("sid={session}"), PlaceKind::Body, Some("sid")),
        (
            "POST",
            "/json".into(),
            vec![line(json)],
            format!("{{\"a\":{{\"b\":\"{token}\"}}}}"),
            PlaceKind::Body,
            Some("/a/b"),
        ),
        ("PUT", "/parts".into(), vec![line(multipart)], part, PlaceKind::Body, Some("comment")),
        ("POST", "/text".into(), vec![], csrf.to_owned(), PlaceKind::Body, None),
        (
            "GET",
            "/h".into(),
            vec![line(("x-comment", csrf))],
            String::new(),
            PlaceKind::Header,
            Some("x-comment"),
        ),
        (
            "GET",
            "/h".into(),
            vec![line(("x-comment", session))],
            String::new(),
            PlaceKind::Header,
            Some("x-comment"),
        ),
        (
            "GET",
            "/h".into(),
            vec![line(("authorization", session))],
            String::new(),
            PlaceKind::Header,
            Some("authorization"),
        ),
        (
            "GET",
            "/h".into(),
            vec![("referer", format!("https://app.test/{token}"))],
            String::new(),
            PlaceKind::Header,
            Some("referer"),
        ),
        (
            "GET",
            "/h".into(),
            vec![line(("user-agent", token))],
            String::new(),
            PlaceKind::Header,
            Some("user-agent"),
        ),
        (
            "GET",
            "/c".into(),
            vec![("cookie", format!("other={session}"))],
            String::new(),
            PlaceKind::Cookie,
            Some("other"),
        ),
        (
            "GET",
            "/c".into(),
            vec![("cookie", format!("SID={session}"))],
            String::new(),
            PlaceKind::Cookie,
            Some("SID"),
        ),
        (
            "GET",
            "/c".into(),
            vec![("cookie", format!("sid={session}x"))],
            String::new(),
            PlaceKind::Cookie,
            Some("sid"),
        ),
        (
            "GET",
            "/c".into(),
            vec![("cookie", format!("sid=x{session}"))],
            String::new(),
            PlaceKind::Cookie,
            Some("sid"),
        ),
        (
            "GET",
            "/c".into(),
            vec![("cookie", format!("sid=\"{session}\""))],
            String::new(),
            PlaceKind::Cookie,
            Some("sid"),
        ),
        (
            "GET",
            "/c".into(),
            vec![("cookie", format!("sid={csrf}"))],
            String::new(),
            PlaceKind::Cookie,
            Some("sid"),
        ),
        (
            "GET",
            "/c".into(),
            vec![("cookie", format!("sid={token}"))],
            String::new(),
            PlaceKind::Cookie,
            Some("sid"),
        ),
    ];
    for version in VERSIONS {
        let mut browser = proxy.browser("app.test:443", version).await;
        for (method, target, lines, body, kind, field) in &cases {
            let lines: Vec<(&str, &str)> =
                lines.iter().map(|(name, value)| (*name, value.as_str())).collect();
            browser.exchange(method, target, &lines, body).await;
            let received = server.last();
            let what = format!("{method} {target} {lines:?} {body}");
            let all = received.all().replace(API_KEY, "");
            assert_no_secret(&all, &what);
            assert!(
                [session, csrf, token].iter().any(|placeholder| all.contains(placeholder)),
                "{what}: {all}"
            );
            assert!(received.body == *body, "{what}");
            let path = target.split('?').next().unwrap();
            let noted = proxy.seal.places().into_iter().any(|place| {
                place.credential == "login"
                    && (place.kind, place.path.as_str(), place.field.as_deref()) == (*kind, path, *field)
            });
            assert!(noted, "{what}: {:?}", proxy.seal.places());
        }
    }
}

#[tokio::test]
async fn every_cookie_line_is_swapped_and_the_other_cookies_stay() {
    let (server, proxy, credential) = sealed_app(ok).await;
    let session = credential.session.as_str();
    for version in VERSIONS {
        let mut browser = proxy.browser("app.test:443", version).await;
        let lines =
            [("cookie", "a=b"), ("cookie", &format!("sid={session};c=d; =e; f")), ("cookie", "sid=wrong")];
        browser.get("/", &lines).await;
        let expected = format!("a=b | sid={SESSION};c=d; =e; f | sid=wrong");
        assert_eq!(server.last().header("cookie"), expected);
    }
}

#[tokio::test]
async fn a_request_that_another_site_started_gets_what_the_rules_let_it_have() {
    let (server, proxy, credential) = sealed_app(ok).await;
    let TestCredential { session, token, .. } = &credential;
    let cookie = format!("sid={}", session.as_str());
    for (method, site, mode, has_cookie, has_rest) in [
        ("GET", "same-origin", "cors", true, true),
        ("GET", "none", "navigate", true, true),
        ("GET", "same-site", "cors", true, false),
        ("GET", "cross-site", "navigate", true, false),
        ("GET", "cross-site", "no-cors", false, false),
        ("POST", "cross-site", "navigate", false, false),
        ("POST", "cross-site", "cors", false, false),
        ("GET", "made-up", "navigate", true, false),
    ] {
        for version in VERSIONS {
            let mut browser = proxy.browser("app.test:443", version).await;
            let lines = [
                ("cookie", cookie.as_str()),
                ("x-token", token.as_str()),
                ("sec-fetch-site", site),
                ("sec-fetch-mode", mode),
            ];
            browser.exchange(method, "/", &lines, "").await;
            let received = server.last();
            let what = format!("{method} {site} {mode}");
            assert_eq!(received.header("cookie") == format!("sid={SESSION}"), has_cookie, "{what}");
            assert_eq!(received.header("x-token") == TOKEN, has_rest, "{what}");
            assert_eq!(received.headers.contains_key("x-api-key"), has_rest, "{what}");
        }
    }
}

#[tokio::test]
async fn a_cookie_for_all_sites_stays_with_its_own_when_another_site_embeds_it() {
    let authority = TestAuthority::new();
    let server = OriginServer::tls(authority.server(&["app.test"], |_| {}), ok).await;
    let credential = TestCredential::new();
    let mut sealed = credential.sealed("https://app.test");
    sealed.cookies[0].same_site = SameSite::None;
    let proxy = SealedProxy::new(&authority, &[("app.test", server.address)], vec![sealed]);
    let mut browser = proxy.browser("app.test:443", Version::HTTP_11).await;
    let cookie = format!("sid={}", credential.session.as_str());
    browser
        .get("/", &[("cookie", &cookie), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")])
        .await;
    assert_eq!(server.last().header("cookie"), cookie);
}

#[tokio::test]
async fn a_pages_own_authorization_stays_and_other_headers_are_replaced() {
    let authority = TestAuthority::new();
    let server = OriginServer::tls(authority.server(&["app.test"], |_| {}), ok).await;
    let mut sealed = TestCredential::new().sealed("https://app.test");
    sealed
        .headers
        .push(SealedHeader { name: "Authorization".to_owned(), value: secret("Bearer own-bearer-token-1") });
    let proxy = SealedProxy::new(&authority, &[("app.test", server.address)], vec![sealed]);
    let mut browser = proxy.browser("app.test:443", Version::HTTP_2).await;
    browser.get("/", &[]).await;
    assert_eq!(server.last().header("authorization"), "Bearer own-bearer-token-1");
    browser.get("/", &[("authorization", "Bearer page"), ("x-api-key", "page")]).await;
    let received = server.last();
    assert_eq!(
        (received.header("authorization"), received.header("x-api-key")),
        ("Bearer page".into(), API_KEY.into())
    );
}

#[tokio::test]
async fn other_origins_ports_and_schemes_are_not_looked_into() {
    let authority = TestAuthority::new();
    let app = OriginServer::tls(authority.server(&["app.test", "www.app.test"], |_| {}), ok).await;
    let other = OriginServer::tls(authority.server(&["other.test"], |_| {}), ok).await;
    let plain = OriginServer::plain(ok).await;
    let credential = TestCredential::new();
    let hosts = [
        ("app.test", app.address),
        ("www.app.test", app.address),
        ("other.test", other.address),
        ("plain.test", plain.address),
    ];
    let mut sealed = credential.sealed("https://app.test");
    let mut second = credential.sealed("https://plain.test");
    second.id = "plain".to_owned();
    sealed.headers.clear();
    let proxy = SealedProxy::new(&authority, &hosts, vec![sealed, second]);
    let cookie = format!("sid={}", credential.session.as_str());
    for target in ["app.test:8443", "www.app.test:443", "other.test:443"] {
        let mut browser =
            Browser::over(proxy.blind_tls(target).await.unwrap(), target, Version::HTTP_11).await;
        browser.get("/", &[("cookie", &cookie), ("authorization", credential.token.as_str())]).await;
    }
    // Plain HTTP to a host that is sealed for HTTPS.
    let mut stream = proxy.dial().await;
    let request = format!("GET http://plain.test/ HTTP/1.1\r\nHost: plain.test\r\nCookie: {cookie}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    super::super::rest(&mut stream).await;
    let received: Vec<Received> =
        [app.received(), other.received(), plain.received()].into_iter().flatten().collect();
    assert_eq!(received.len(), 4);
    for received in received {
        assert_eq!(received.header("cookie"), cookie);
        assert_no_secret(&received.all(), "another origin");
    }
    assert_eq!(intercepted(&proxy), [], "no request was looked into");
}

#[tokio::test]
async fn a_whole_site_has_its_subdomains_and_their_cookies() {
    let authority = TestAuthority::new();
    let names = ["app.test", "api.app.test", "myapp.test"];
    let server = OriginServer::tls(authority.server(&names, |_| {}), ok).await;
    let credential = TestCredential::new();
    let mut sealed = credential.sealed("https://app.test");
    sealed.scope =
        SealScope::Site { scheme: WebScheme::Https, host_suffix: "app.test".to_owned(), port: 443 };
    sealed.cookies[0].host_only = false;
    let hosts: Vec<(&str, SocketAddr)> = names.iter().map(|name| (*name, server.address)).collect();
    let proxy = SealedProxy::new(&authority, &hosts, vec![sealed]);
    let cookies = format!("sid={}; csrftoken={}", credential.session.as_str(), credential.csrf.as_str());
    let mut browser = proxy.browser("api.app.test:443", Version::HTTP_11).await;
    browser.get("/", &[("cookie", &cookies)]).await;
    // One cookie is for the site, the other for its own host alone.
    let expected = format!("sid={SESSION}; csrftoken={}", credential.csrf.as_str());
    assert_eq!(server.last().header("cookie"), expected);
    assert!(proxy.tls("myapp.test:443", &[b"http/1.1"]).await.is_err(), "it is not looked into");
}

#[tokio::test]
async fn what_the_operator_allows_is_swapped_there_and_only_there() {
    let (server, proxy, credential) = sealed_app(ok).await;
    let token = credential.token.as_str();
    let csrf = credential.csrf.as_str();
    let session = credential.session.as_str();
    for send_in in [
        SendIn::Body { path: "/oauth/token".to_owned() },
        SendIn::Url { path: "/feed".to_owned() },
        SendIn::Header { name: "X-Session".to_owned() },
    ] {
        proxy.seal.allow("login", send_in);
    }
    for version in VERSIONS {
        let mut browser = proxy.browser("app.test:443", version).await;
        let body = format!("refresh={token}&csrf={csrf}&sid={session}");
        browser.exchange("POST", "/oauth/token", &[], &body).await;
        assert_eq!(server.last().body, format!("refresh={TOKEN}&csrf={CSRF}&sid={session}"));
        for path in ["/oauth/tokens", "/oauth", "/oauth/token/../../comment", "/oauth/token/%2e%2e/comment"] {
            browser.exchange("POST", path, &[], &body).await;
            assert_eq!(server.last().body, body, "{path}");
        }
        browser.exchange("POST", "/oauth/token", &[("sec-fetch-site", "cross-site")], &body).await;
        assert_eq!(server.last().body, body, "another site posts");

        browser.get(&format!("/feed/{token}?t={token}"), &[("x-session", csrf)]).await;
        let received = server.last();
        assert!(received.target.ends_with(&format!("/feed/{TOKEN}?t={TOKEN}")), "{}", received.target);
        assert_eq!(received.header("x-session"), CSRF);
        browser.get(&format!("/other/{token}"), &[("x-session", session)]).await;
        let received = server.last();
        assert!(received.target.ends_with(token), "{}", received.target);
        assert_eq!(received.header("x-session"), session, "what no script can read is in no header");
    }
}

#[tokio::test]
async fn a_body_is_swapped_however_it_is_cut_and_keeps_its_length() {
    let (server, proxy, credential) = sealed_app(ok).await;
    proxy.seal.allow("login", SendIn::Body { path: "/oauth".to_owned() });
    let mut browser = proxy.browser("app.test:443", Version::HTTP_11).await;
    let body = format!("a=b&refresh_token={}&c=d", credential.token.as_str());
    for cut in 1..body.len() {
        let (first, second) = (body[..cut].to_owned(), body[cut..].to_owned());
        let pieces = futures_util::stream::iter([first, second])
            .map(|piece| Ok::<_, Infallible>(hyper::body::Frame::data(Bytes::from(piece))));
        let stream = http_body_util::StreamBody::new(pieces).boxed_unsync();
        let request =
            browser.request("POST", "/oauth").header("content-length", body.len()).body(stream).unwrap();
        let reply = browser.send(request).await.unwrap();
        reply.into_body().collect().await.unwrap();
        let received = server.last();
        assert_eq!(received.body, format!("a=b&refresh_token={TOKEN}&c=d"), "cut at {cut}");
        assert_eq!(received.header("content-length"), body.len().to_string());
    }
}

use futures_util::StreamExt as _;

#[tokio::test]
async fn a_plain_http_origin_is_sealed_if_the_operator_said_so() {
    let authority = TestAuthority::new();
    let server = OriginServer::plain(|received| {
        let mut response = Response::new(text(format!("your token is {TOKEN}")));
        if received.target.ends_with("/login") {
            let cookie = HeaderValue::from_static("sid=fresh-value-0123456789; HttpOnly");
            response.headers_mut().insert("set-cookie", cookie);
        }
        response
    })
    .await;
    let credential = TestCredential::new();
    let hosts = [("app.test", server.address)];
    let proxy = SealedProxy::new(&authority, &hosts, vec![credential.sealed("http://app.test")]);
    let cookie = format!("sid={}", credential.session.as_str());
    let mut stream = proxy.dial().await;
    let request = format!("GET http://app.test/login HTTP/1.1\r\nHost: app.test\r\nCookie: {cookie}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = super::super::rest(&mut stream).await;
    assert_no_secret(&answer, "the reply");
    assert!(answer.contains(credential.token.as_str()) && !answer.contains("fresh-value"), "{answer}");
    assert_eq!(server.last().header("cookie"), format!("sid={SESSION}"));

    // The same in a tunnel, as for a WebSocket.
    let mut browser = Browser::over(proxy.tunnel("app.test:80").await, "app.test", Version::HTTP_11).await;
    let reply = browser.get("/", &[("cookie", &cookie), ("referer", "http://app.test/login")]).await;
    assert_eq!(reply.text(), format!("your token is {}", credential.token.as_str()));
    assert_eq!(server.last().header("x-api-key"), API_KEY);
    // A page of another site can leave out who it is; a navigation of the agent is announced.
    let top = [("cookie", cookie.as_str()), ("upgrade-insecure-requests", "1")];
    browser.get("/page?a=b", &top).await;
    assert!(!server.last().headers.contains_key("x-api-key"));
    proxy.seal.announce_navigation("http://app.test/page?a=b");
    browser.get("/page?a=b", &top[..1]).await;
    assert!(!server.last().headers.contains_key("x-api-key"), "a picture of the same address");
    browser.get("/page?a=b", &top).await;
    assert_eq!(server.last().header("x-api-key"), API_KEY);
    // Another site's page: over plain HTTP there is no Sec-Fetch-Site, but an Origin.
    browser.exchange("POST", "/", &[("cookie", &cookie), ("origin", "http://evil.test")], "").await;
    assert_no_secret(&server.last().all(), "a request of another site");
}

#[tokio::test]
async fn nothing_is_intercepted_before_the_seal_is_set_or_without_an_authority() {
    let authority = TestAuthority::new();
    let server = OriginServer::tls(authority.server(&["app.test"], |_| {}), ok).await;
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join("egress")).unwrap();
    let hosts = HostMap::parse([("app.test", server.address.to_string())]).unwrap();
    let egress = serve_with(listener, Arc::new(Rules::new(hosts)), Options::default(), None, table());
    let seal = Seal::new(vec![TestCredential::new().sealed("https://app.test")]);
    let jail = JailAuthority::generate().unwrap();
    let proxy = SealedProxy { egress, seal, authority: jail, site_authority: authority.der(), folder };
    assert!(proxy.blind_tls("app.test:443").await.is_ok());
    proxy.egress.set_seal(Arc::clone(&proxy.seal));
    assert!(proxy.blind_tls("app.test:443").await.is_ok());
}

/// Requests of the ledger that were made on an intercepted connection.
fn intercepted(proxy: &SealedProxy) -> Vec<LedgerEntry> {
    let is_request = |entry: &LedgerEntry| entry.address.is_none() && entry.verdict == EgressOutcome::Allowed;
    proxy.egress.ledger().entries.into_iter().filter(is_request).collect()
}

#[tokio::test]
async fn every_intercepted_request_is_on_record_without_secrets() {
    let (_server, proxy, credential) = sealed_app(|_| Response::new(text("12345"))).await;
    for version in VERSIONS {
        let mut browser = proxy.browser("app.test:443", version).await;
        browser.exchange("POST", &format!("/a/{TOKEN}?q={SESSION}"), &[], "abc").await;
    }
    let requests = loop {
        let requests = intercepted(&proxy);
        if requests.len() == 2 {
            break requests;
        }
        tokio::task::yield_now().await;
    };
    for request in requests {
        assert_eq!((request.method.as_str(), request.host.as_str(), request.port), ("POST", "app.test", 443));
        assert_eq!(request.path, Some(format!("/a/{}", credential.token.as_str())));
        assert_eq!((request.status, request.bytes_up, request.bytes_down), (Some(200), 3, 5));
    }
}

#[tokio::test]
async fn placeholders_are_known_and_resolved() {
    let (_server, proxy, credential) = sealed_app(ok).await;
    let seal = &proxy.seal;
    assert!(seal.contains_placeholder(&format!("say {} loud", credential.token.as_str())));
    assert!(seal.contains_placeholder(&BASE64_STANDARD.encode(format!("u:{}", credential.session.as_str()))));
    assert!(!seal.contains_placeholder("hello") && !seal.contains_placeholder(TOKEN));
    let resolved = seal.resolve(credential.session.as_str()).unwrap();
    assert!(resolved.expose_secret() == SESSION);
    assert!(seal.resolve("unheard of").is_none() && seal.resolve(SESSION).is_none());
    assert_eq!(format!("{seal:?}"), "Seal { credentials: 1, .. }");
}
