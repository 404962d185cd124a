//! While a request is held: who may leave, what goes on beside it, and what becomes of the site's connection.

use super::*;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, StatusCode, server};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

#[tokio::test]
async fn a_browser_that_leaves_withdraws_the_question() {
    for way in WAYS {
        let mut app = App::new(way).await;
        let sent = send(app.browser(way).await, "POST", "/notes", &[], "a=b");
        let question = app.gate.next().await;
        // The task owns the connection.
        sent.abort();
        question.withdrawn().await;
        assert_eq!(refusal_code(&app.row("/notes").await), "effect_withdrawn", "{way:?}");
        assert!(app.server.received().is_empty());
    }
}

#[tokio::test]
async fn a_stream_that_is_reset_withdraws_its_question_alone() {
    let mut app = App::new(Way::Http2).await;
    let mut browser = app.browser(Way::Http2).await;
    let request = browser.request("POST", "/one").body(text("1")).unwrap();
    let given_up = timeout(Duration::from_millis(200), browser.send(request)).await;
    assert!(given_up.is_err());
    app.gate.next().await.withdrawn().await;
    assert_eq!(browser.get("/", &[]).await.text(), "done");
}

#[tokio::test]
async fn other_streams_go_on_beside_a_held_one() {
    let mut app = App::new(Way::Http2).await;
    let proxy = Arc::clone(&app.proxy);
    let stream = proxy.tls("app.test:443", &[b"h2"]).await.unwrap();
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let _connection = tokio::spawn(connection);
    let ask = |method: &str, path: &str, body: &'static str| {
        let request = Request::builder().method(method).uri(format!("https://app.test{path}"));
        let (mut sender, request) = (sender.clone(), request.body(text(body)).unwrap());
        tokio::spawn(async move { sender.send_request(request).await.unwrap().status() })
    };
    let held = ask("POST", "/held", "1");
    let question = app.gate.next().await;
    assert_eq!(ask("GET", "/page", "").await.unwrap(), StatusCode::OK);
    let second = ask("POST", "/second", "2");
    app.gate.next().await.answer(Answer::Permit);
    assert_eq!(second.await.unwrap(), StatusCode::OK);
    let targets: Vec<String> = app.server.received().into_iter().map(|one| one.target).collect();
    assert_eq!(targets, ["https://app.test/page", "https://app.test/second"]);
    question.answer(Answer::Permit);
    assert_eq!(held.await.unwrap(), StatusCode::OK);
    assert_eq!(app.server.received().len(), 3);
}

#[tokio::test]
async fn a_held_request_is_not_idle() {
    for way in WAYS {
        let options = Options { idle_timeout: Duration::from_millis(250), ..options() };
        let mut app = App::with_options(way, options).await;
        let sent = send(app.browser(way).await, "POST", "/notes", &[], "a=b");
        let question = app.gate.next().await;
        tokio::time::sleep(Duration::from_millis(900)).await;
        question.answer(Answer::Permit);
        assert_eq!(reply_of(sent).await.1.status, StatusCode::OK, "{way:?}");
    }
}

/// A server whose first connection closes after a while.
struct ClosingServer {
    address: std::net::SocketAddr,
    connections: Arc<AtomicUsize>,
    bodies: Arc<Mutex<Vec<String>>>,
    _task: JoinSet<()>,
}

impl ClosingServer {
    async fn start(tls: Option<TlsAcceptor>, first_lives: Duration) -> ClosingServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let bodies: Arc<Mutex<Vec<String>>> = Arc::default();
        let (counted, kept) = (Arc::clone(&connections), Arc::clone(&bodies));
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let is_first = counted.fetch_add(1, Ordering::SeqCst) == 0;
                let (tls, kept) = (tls.clone(), Arc::clone(&kept));
                open.spawn(async move {
                    let serving = async {
                        match tls {
                            None => answer(stream, false, kept).await,
                            Some(tls) => {
                                let stream = tls.accept(stream).await.unwrap();
                                let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                                answer(stream, is_http2, kept).await;
                            }
                        }
                    };
                    let _ended = timeout(if is_first { first_lives } else { PATIENCE }, serving).await;
                });
            }
        });
        ClosingServer { address, connections, bodies, _task: task }
    }
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    is_http2: bool,
    kept: Arc<Mutex<Vec<String>>>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let kept = Arc::clone(&kept);
        async move {
            let body = http_body_util::BodyExt::collect(request.into_body()).await.unwrap().to_bytes();
            kept.lock().unwrap().push(String::from_utf8_lossy(&body).into_owned());
            Ok::<_, Infallible>(Response::new(text("done")))
        }
    });
    let io = TokioIo::new(stream);
    if is_http2 {
        let _ended =
            server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await;
    } else {
        let _ended = server::conn::http1::Builder::new().serve_connection(io, service).await;
    }
}

fn acceptor(authority: &TestAuthority) -> TlsAcceptor {
    let mut config = authority.server(&["app.test"], |_| {});
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn a_request_leaves_once_on_a_new_connection_if_the_site_closed_the_old_one() {
    for way in WAYS {
        // Held for less and for more than a connection is trusted.
        for held_for in [Duration::from_millis(800), Duration::from_millis(1300)] {
            let authority = TestAuthority::new();
            let tls = (way != Way::PlainTunnel).then(|| acceptor(&authority));
            let site = ClosingServer::start(tls, Duration::from_millis(500)).await;
            let sealed = TestCredential::new().sealed(way.origin());
            let hosts = [("app.test", site.address)];
            let proxy = SealedProxy::with_options(&authority, &hosts, vec![sealed], options());
            let mut gate = Gate::new();
            proxy.egress.set_effect_gate(Arc::clone(&gate.inner) as Arc<dyn EffectGate>);
            let sent = send(browser(&proxy, way).await, "POST", "/notes", &[], "a=b");
            let question = gate.next().await;
            tokio::time::sleep(held_for).await;
            question.answer(Answer::Permit);
            let (_, reply) = reply_of(sent).await;
            assert_eq!(
                (reply.status, reply.text().as_str()),
                (StatusCode::OK, "done"),
                "{way:?} {held_for:?}"
            );
            assert_eq!(*site.bodies.lock().unwrap(), ["a=b"]);
            assert_eq!(site.connections.load(Ordering::SeqCst), 2);
            gate.outcome("200").await;
            // Both connections are on the ledger, and have ended.
            let connections = || proxy.entries().into_iter().filter(|entry| entry.address.is_some());
            assert_eq!(connections().count(), 2, "{way:?}");
            assert_eq!(row(&proxy, "/notes").await.status, Some(200));
        }
    }
}

#[tokio::test]
async fn a_released_request_that_finds_no_site_is_answered_and_not_repeated() {
    for way in WAYS {
        let authority = TestAuthority::new();
        let tls = (way != Way::PlainTunnel).then(|| acceptor(&authority));
        let site = ClosingServer::start(tls, PATIENCE).await;
        let sealed = TestCredential::new().sealed(way.origin());
        let hosts = [("app.test", site.address)];
        let proxy = SealedProxy::with_options(&authority, &hosts, vec![sealed], options());
        let mut gate = Gate::new();
        proxy.egress.set_effect_gate(Arc::clone(&gate.inner) as Arc<dyn EffectGate>);
        let sent = send(browser(&proxy, way).await, "PUT", "/notes", &[], "a=b");
        let question = gate.next().await;
        drop(site);
        tokio::time::sleep(Duration::from_millis(300)).await;
        question.answer(Answer::Permit);
        assert_eq!(reply_of(sent).await.1.status, StatusCode::BAD_GATEWAY, "{way:?}");
        gate.outcome("connection_refused").await;
        assert!(matches!(row(&proxy, "/notes").await.verdict, EgressOutcome::Failed(_)));
    }
}

#[tokio::test]
async fn dropping_the_proxy_withdraws_every_question() {
    let mut app = App::new(Way::Http2).await;
    let _sent = send(app.browser(Way::Http2).await, "POST", "/notes", &[], "a=b");
    let question = app.gate.next().await;
    let App { proxy, gate: _gate, .. } = app;
    drop(proxy);
    question.withdrawn().await;
}
