//! WebSocket messages: decided on one by one, in their order.

use super::*;
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::Request;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, frame::coding::CloseCode};
use tokio_tungstenite::{WebSocketStream, client_async};

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

struct Chat {
    site: super::super::Site,
    proxy: SealedProxy,
    gate: Gate,
    got: Arc<Mutex<Vec<Message>>>,
}

impl Chat {
    /// A site that echoes messages, and keeps them and its end.
    async fn new(options: Options) -> Chat {
        let got: Arc<Mutex<Vec<Message>>> = Arc::default();
        let kept = Arc::clone(&got);
        let site = super::super::Site::new(move |mut stream| {
            let kept = Arc::clone(&kept);
            async move {
                super::super::head(&mut stream).await;
                let accept = derive_accept_key(KEY.as_bytes());
                let answer = format!(
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                     Sec-WebSocket-Accept: {accept}\r\n\r\n"
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
                let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
                while let Some(Ok(message)) = socket.next().await {
                    kept.lock().unwrap().push(message.clone());
                    let is_leaving = message == Message::text("leave");
                    if is_leaving
                        || (!message.is_empty() && !message.is_close() && socket.send(message).await.is_err())
                    {
                        return;
                    }
                }
            }
        })
        .await;
        let sealed = TestCredential::new().sealed("http://app.test");
        let hosts = [("app.test", site.address)];
        let proxy = SealedProxy::with_options(&TestAuthority::new(), &hosts, vec![sealed], options);
        let gate = Gate::new();
        proxy.egress.set_effect_gate(Arc::clone(&gate.inner) as Arc<dyn EffectGate>);
        Chat { site, proxy, gate, got }
    }

    async fn open(&self, path: &str) -> WebSocketStream<UnixStream> {
        open(&self.proxy, path).await
    }

    fn got(&self) -> Vec<Message> {
        self.got.lock().unwrap().clone()
    }
}

async fn open(proxy: &SealedProxy, path: &str) -> WebSocketStream<UnixStream> {
    let request = Request::get(format!("ws://app.test{path}"))
        .header("host", "app.test")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", KEY);
    let stream = proxy.tunnel("app.test:80").await;
    client_async(request.body(()).unwrap(), stream).await.unwrap().0
}

async fn next(socket: &mut WebSocketStream<UnixStream>) -> Option<Message> {
    timeout(PATIENCE, socket.next()).await.expect("no message").and_then(Result::ok)
}

#[tokio::test]
async fn messages_are_decided_on_one_by_one_and_keep_their_order() {
    let mut chat = Chat::new(options()).await;
    let mut socket = chat.open("/chat?room=1").await;
    let said = [Message::text("first"), Message::binary(vec![1, 2, 3]), Message::text("third")];
    for message in &said {
        socket.send(message.clone()).await.unwrap();
    }
    socket.send(Message::Ping(Bytes::from_static(b"p"))).await.unwrap();
    for (index, (content_type, message)) in
        ["text/plain", "application/octet-stream", "text/plain"].into_iter().zip(&said).enumerate()
    {
        let question = chat.gate.next().await;
        let EffectRequest { transport, method, url, body, .. } = &question.request;
        assert_eq!((*transport, method.as_str()), (EffectTransport::WebSocket, "MESSAGE"));
        assert_eq!(
            (url.as_str(), &question.request.content_type[..]),
            ("http://app.test/chat?room=1", content_type)
        );
        assert_eq!(*body, message.clone().into_data());
        tokio::time::sleep(Duration::from_millis(50)).await;
        // Nothing overtakes it.
        assert_eq!(chat.got(), said[..index]);
        assert!(chat.gate.questions.try_recv().is_err());
        question.answer(Answer::Permit);
        let echo = async {
            loop {
                match next(&mut socket).await {
                    Some(Message::Pong(_)) => {}
                    other => return other,
                }
            }
        };
        assert_eq!(echo.await.as_ref(), Some(message));
    }
    chat.gate.outcome("sent").await;
    let rows =
        || chat.proxy.entries().into_iter().filter(|entry| entry.method == "MESSAGE").collect::<Vec<_>>();
    while rows().len() < 3 {
        tokio::task::yield_now().await;
    }
    assert!(rows().iter().all(|entry| entry.verdict == EgressOutcome::Allowed && entry.bytes_up > 0));
}

#[tokio::test]
async fn a_refused_message_closes_both_sides_and_nothing_of_it_arrives() {
    let mut chat = Chat::new(options()).await;
    let mut socket = chat.open("/chat").await;
    socket.send(Message::text("first")).await.unwrap();
    socket.send(Message::text("second")).await.unwrap();
    chat.gate.next().await.answer(Answer::Refuse);
    let Some(Message::Close(Some(frame))) = next(&mut socket).await else { panic!("no close") };
    assert_eq!(frame.code, CloseCode::Policy);
    assert!(next(&mut socket).await.is_none());
    let closed = async {
        while chat.got().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, closed).await.unwrap();
    let got = chat.got();
    assert!(matches!(&got[..], [Message::Close(Some(frame))] if frame.code == CloseCode::Policy), "{got:?}");
    let refused = chat.proxy.entries().into_iter().find(|entry| entry.method == "MESSAGE").unwrap();
    assert_eq!(refusal_code(&refused), "denied_by_operator");
    assert_eq!(refused.bytes_up, 0);
}

#[tokio::test]
async fn messages_that_are_not_concerned_pass_at_once() {
    let mut chat = Chat::new(options()).await;
    let mut socket = chat.open("/quiet").await;
    socket.send(Message::text("tick")).await.unwrap();
    assert_eq!(next(&mut socket).await, Some(Message::text("tick")));
    assert!(chat.gate.questions.try_recv().is_err());
}

#[tokio::test]
async fn a_socket_that_goes_away_withdraws_the_question() {
    for waiting in [0, 3] {
        let mut chat = Chat::new(options()).await;
        let mut socket = chat.open("/chat").await;
        for number in 0..=waiting {
            socket.send(Message::text(format!("message {number}"))).await.unwrap();
        }
        let question = chat.gate.next().await;
        drop(socket);
        question.withdrawn().await;
        assert_eq!(chat.got(), []);
    }
}

#[tokio::test]
async fn a_message_before_a_close_can_still_be_permitted() {
    let mut chat = Chat::new(options()).await;
    let mut socket = chat.open("/chat").await;
    socket.send(Message::text("last words")).await.unwrap();
    socket.close(None).await.unwrap();
    let question = chat.gate.next().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    question.answer(Answer::Permit);
    let arrived = async {
        while chat.got().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, arrived).await.unwrap();
    assert_eq!(chat.got()[0], Message::text("last words"));
}

#[tokio::test]
async fn a_message_that_is_too_long_to_be_held_is_refused() {
    let options = Options { max_effect_bytes: 100, ..options() };
    let mut chat = Chat::new(options).await;
    let mut socket = chat.open("/chat").await;
    socket.send(Message::text("x".repeat(101))).await.unwrap();
    let Some(Message::Close(Some(frame))) = next(&mut socket).await else { panic!("no close") };
    assert_eq!(frame.code, CloseCode::Policy);
    assert_eq!(chat.gate.undecided(), ["effect_too_large"]);
    assert!(chat.gate.questions.try_recv().is_err());
}

#[tokio::test]
async fn a_site_that_leaves_withdraws_the_question() {
    let mut chat = Chat::new(options()).await;
    let mut socket = chat.open("/chat").await;
    socket.send(Message::text("leave")).await.unwrap();
    socket.send(Message::text("too late")).await.unwrap();
    chat.gate.next().await.answer(Answer::Permit);
    chat.gate.next().await.withdrawn().await;
    assert_eq!(chat.got(), [Message::text("leave")]);
}

#[tokio::test]
async fn a_handshake_that_was_held_for_long_opens_on_a_new_connection() {
    let mut chat = Chat::new(options()).await;
    let opening = open(&chat.proxy, "/do/chat");
    let answering = async {
        let question = chat.gate.next().await;
        assert_eq!((question.request.method.as_str(), question.request.body.len()), ("GET", 0));
        tokio::time::sleep(Duration::from_millis(1200)).await;
        question.answer(Answer::Read);
    };
    let (mut socket, ()) = tokio::join!(opening, answering);
    assert_eq!(chat.site.visits(), 2);
    socket.send(Message::text("hello")).await.unwrap();
    chat.gate.next().await.answer(Answer::Permit);
    assert_eq!(next(&mut socket).await, Some(Message::text("hello")));
}
