//! WebSockets: messages pass both ways, sealed downward, and unsealed upward only where the operator allowed it.

use super::*;
use crate::PlaceKind;
use futures_util::{SinkExt as _, StreamExt as _};
use redact::SendIn;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async};

/// An origin that echoes messages, says what it got, and can be made to answer in another way.
async fn echo(authority: &TestAuthority, extension: &'static str) -> (OriginServer, Arc<Mutex<Vec<String>>>) {
    let got: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&got);
    let config = authority.server(&["app.test"], |_| {});
    let server = WebSocketServer::start(config, extension, kept).await;
    (server, got)
}

struct WebSocketServer;

impl WebSocketServer {
    async fn start(
        mut config: ServerConfig,
        extension: &'static str,
        got: Arc<Mutex<Vec<String>>>,
    ) -> OriginServer {
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, got) = (acceptor.clone(), Arc::clone(&got));
                open.spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let asked = head(&mut stream).await;
                    got.lock().unwrap().push(asked.clone());
                    let key = asked.lines().find_map(|line| {
                        line.to_lowercase()
                            .starts_with("sec-websocket-key:")
                            .then(|| line.split_once(':').unwrap().1.trim().to_owned())
                    });
                    let accept = derive_accept_key(key.unwrap().as_bytes());
                    let answer = format!(
                        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                         Sec-WebSocket-Accept: {accept}\r\n{extension}\r\n"
                    );
                    stream.write_all(answer.as_bytes()).await.unwrap();
                    let config = WebSocketConfig::default().max_frame_size(None).max_message_size(None);
                    let mut socket =
                        WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
                    while let Some(Ok(message)) = socket.next().await {
                        match &message {
                            Message::Text(said) if said.as_str() == "tell" => {
                                let message = Message::text(format!("secret {TOKEN}"));
                                socket.send(message).await.unwrap();
                            }
                            Message::Text(said) if said.as_str() == "close" => {
                                let reason = Utf8Bytes::from(TOKEN);
                                let frame = CloseFrame { code: CloseCode::Away, reason };
                                socket.close(Some(frame)).await.unwrap();
                            }
                            Message::Text(_) | Message::Binary(_) => {
                                got.lock()
                                    .unwrap()
                                    .push(String::from_utf8_lossy(&message.clone().into_data()).into_owned());
                                if socket.send(message).await.is_err() {
                                    return;
                                }
                            }
                            _ => {}
                        }
                    }
                });
            }
        });
        OriginServer { address, received: Arc::default(), _task: task }
    }
}

async fn open(
    proxy: &SealedProxy,
    path: &str,
    lines: &[(&'static str, &str)],
) -> Result<WebSocketStream<TlsStream<UnixStream>>, tokio_tungstenite::tungstenite::Error> {
    let stream = proxy.tls("app.test:443", &[b"http/1.1"]).await.unwrap();
    let mut request = Request::get(format!("wss://app.test{path}"))
        .header("host", "app.test")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-extensions", "permessage-deflate; client_max_window_bits");
    for (name, value) in lines {
        request = request.header(*name, *value);
    }
    let config = WebSocketConfig::default().max_frame_size(None).max_message_size(None);
    let connected =
        tokio_tungstenite::client_async_with_config(request.body(()).unwrap(), stream, Some(config));
    connected.await.map(|(socket, _)| socket)
}

async fn app() -> (OriginServer, Arc<Mutex<Vec<String>>>, SealedProxy, TestCredential) {
    let authority = TestAuthority::new();
    let (server, got) = echo(&authority, "").await;
    let credential = TestCredential::new();
    let sealed = credential.sealed("https://app.test");
    let proxy = SealedProxy::new(&authority, &[("app.test", server.address)], vec![sealed]);
    (server, got, proxy, credential)
}

#[tokio::test]
async fn messages_pass_both_ways_and_secrets_come_down_as_placeholders() {
    let (_server, got, proxy, credential) = app().await;
    let cookie = format!("sid={}", credential.session.as_str());
    let mut socket =
        open(&proxy, "/live", &[("cookie", &cookie), ("origin", "https://app.test")]).await.unwrap();
    let asked = got.lock().unwrap()[0].to_lowercase();
    assert!(asked.contains(&format!("sid={SESSION}").to_lowercase()), "{asked}");
    assert!(asked.contains("x-api-key") && !asked.contains("permessage-deflate"), "{asked}");
    for message in [
        Message::text("hello"),
        Message::text(""),
        Message::binary(vec![0, 159, 146, 150]),
        Message::text("x".repeat(1_000_000)),
    ] {
        socket.send(message.clone()).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), message);
    }
    socket.send(Message::text("tell")).await.unwrap();
    let received = socket.next().await.unwrap().unwrap();
    assert_eq!(received, Message::text(format!("secret {}", credential.token.as_str())));
    socket.send(Message::Ping(Bytes::from_static(b"p"))).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::Pong(Bytes::from_static(b"p")));
    socket.send(Message::text("close")).await.unwrap();
    let Some(Ok(Message::Close(Some(frame)))) = socket.next().await else { panic!("no close") };
    assert_eq!((frame.code, frame.reason.as_str()), (CloseCode::Away, credential.token.as_str()));
    assert!(socket.next().await.is_none_or(|end| end.is_err()));
}

#[tokio::test]
async fn a_placeholder_in_a_message_is_noted_until_the_operator_allows_it() {
    let (_server, got, proxy, credential) = app().await;
    let message = format!("auth {} {}", credential.token.as_str(), credential.session.as_str());
    let mut socket = open(&proxy, "/live/feed", &[("origin", "https://app.test")]).await.unwrap();
    let say = |message: String| Message::binary(message.into_bytes());
    socket.send(say(message.clone())).await.unwrap();
    socket.next().await.unwrap().unwrap();
    assert_eq!(*got.lock().unwrap().last().unwrap(), message);
    let place = proxy.seal.places().into_iter().find(|place| place.kind == PlaceKind::WebSocket).unwrap();
    assert_eq!((place.path.as_str(), place.count), ("/live/feed", 1));

    proxy.seal.allow("login", SendIn::WebSocket { path: "/live".to_owned() });
    socket.send(say(message.clone())).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), say(message.clone()), "the echo is sealed again");
    let expected = format!("auth {TOKEN} {}", credential.session.as_str());
    assert_eq!(*got.lock().unwrap().last().unwrap(), expected);

    // A page of another site opens one: it has no Sec-Fetch-Site, but an Origin.
    let mut other = open(&proxy, "/live/feed", &[("origin", "https://evil.test")]).await.unwrap();
    assert_no_secret(&got.lock().unwrap().last().unwrap().clone(), "the handshake");
    other.send(say(message.clone())).await.unwrap();
    other.next().await.unwrap().unwrap();
    assert_eq!(*got.lock().unwrap().last().unwrap(), message);
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_the_connection() {
    let (_server, _got, proxy, _credential) = app().await;
    let mut socket = open(&proxy, "/live", &[]).await.unwrap();
    let long = Message::binary(vec![b'x'; 17 * 1024 * 1024]);
    let sent = socket.send(long).await;
    let end = socket.next().await;
    assert!(sent.is_err() || end.is_none_or(|end| end.is_err() || end.is_ok_and(|end| end.is_close())));
}

#[tokio::test]
async fn a_site_that_compresses_messages_unasked_is_not_spoken_to() {
    let authority = TestAuthority::new();
    let (server, _got) = echo(&authority, "Sec-WebSocket-Extensions: permessage-deflate\r\n").await;
    let sealed = TestCredential::new().sealed("https://app.test");
    let proxy = SealedProxy::new(&authority, &[("app.test", server.address)], vec![sealed]);
    assert!(open(&proxy, "/live", &[]).await.is_err());
    assert_eq!(proxy.failure().await, EgressOutcome::Failed(crate::Reason::BadAnswer));
}

#[tokio::test]
async fn a_websocket_to_a_plain_origin_is_sealed_in_its_tunnel() {
    let authority = TestAuthority::new();
    let site = super::super::Site::new(|mut stream| async move {
        let asked = head(&mut stream).await;
        assert!(asked.contains(SESSION), "{asked}");
        let accept = derive_accept_key(b"dGhlIHNhbXBsZSBub25jZQ==");
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
        let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
        socket.send(Message::text(TOKEN)).await.unwrap();
        while let Some(Ok(_)) = socket.next().await {}
    })
    .await;
    let credential = TestCredential::new();
    let sealed = credential.sealed("http://app.test");
    let proxy = SealedProxy::new(&authority, &[("app.test", site.address)], vec![sealed]);
    let request = Request::get("ws://app.test/live")
        .header("host", "app.test")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("cookie", format!("sid={}", credential.session.as_str()));
    let stream = proxy.tunnel("app.test:80").await;
    let (mut socket, _) = client_async(request.body(()).unwrap(), stream).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text(credential.token.as_str()));
}

#[tokio::test]
async fn a_change_to_another_protocol_is_not_passed_on() {
    let (server, proxy, _credential) = sealed_app(|_| Response::new(text("as before"))).await;
    let mut stream = proxy.tls("app.test:443", &[b"http/1.1"]).await.unwrap();
    let request = "GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
                   HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 200 "));
    assert!(
        !server.last().headers.contains_key("upgrade")
            && !server.last().headers.contains_key("http2-settings")
    );
}

#[tokio::test]
async fn four_connections_at_once_may_carry_the_longest_messages() {
    let (_server, _got, proxy, _credential) = app().await;
    let long = Message::binary(vec![7; 2 << 20]);
    let connect = || open(&proxy, "/live", &[("origin", "https://app.test")]);
    let mut four = Vec::new();
    for _ in 0..4 {
        let mut socket = connect().await.unwrap();
        socket.send(long.clone()).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), long);
        four.push(socket);
    }
    let mut fifth = connect().await.unwrap();
    let short = Message::binary(vec![7; 512 << 10]);
    fifth.send(short.clone()).await.unwrap();
    assert_eq!(fifth.next().await.unwrap().unwrap(), short);
    // The connection may break while the message is still being sent.
    let sent = fifth.send(long.clone()).await;
    let next = fifth.next().await;
    assert!(sent.is_err() || !matches!(next, Some(Ok(Message::Binary(_)))), "{next:?}");
}
