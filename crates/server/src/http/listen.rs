//! Accepting HTTP connections within bounds: so many at once, and none that only dawdles.

use super::places::{Answering, MOST, Places, Seat, Taken, hold};
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{Extension, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// How long a client may take to send the head of a request, and sit idle before the next one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// And all of its body: what is sent here is small.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// A machine out of descriptors or memory is given time to recover.
const AFTER_A_FAILED_ACCEPT: Duration = Duration::from_millis(100);

/// A body that is not there in time is an error to whoever reads it, and its connection ends. Once it is there, the connection
/// is busy until the answer was sent.
async fn in_time(
    State(limit): State<Duration>,
    Extension(seat): Extension<Arc<Seat>>,
    request: Request,
    next: Next,
) -> Response {
    let deadline = Instant::now() + limit;
    let answering = Answering(seat.clone());
    if request.body().is_end_stream() {
        seat.begin();
    }
    let body = |body: Body| {
        let late = || std::io::Error::from(std::io::ErrorKind::TimedOut);
        let parts = (body.into_data_stream(), seat);
        Body::from_stream(stream::try_unfold(parts, move |(mut parts, seat)| async move {
            match timeout_at(deadline, parts.next()).await {
                Ok(Some(part)) => Ok(Some((part.map_err(std::io::Error::other)?, (parts, seat)))),
                Ok(None) => {
                    seat.begin();
                    Ok(None)
                }
                Err(_) => Err(late()),
            }
        }))
    };
    hold(next.run(request.map(body)).await, answering)
}

/// Serves until `stop`; connections that are open then are the caller's to wait for.
pub async fn accept(listener: TcpListener, router: Router, stop: CancellationToken) {
    accept_within(listener, router, stop, Places::new(MOST), BODY_TIMEOUT).await;
}

async fn accept_within(
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
    places: Places,
    body: Duration,
) {
    let router = router.layer(middleware::from_fn_with_state(body, in_time));
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(AFTER_A_FAILED_ACCEPT).await;
                    continue;
                }
            },
            () = stop.cancelled() => return,
        };
        let taken = tokio::select! {
            taken = places.take() => taken,
            () = stop.cancelled() => return,
        };
        tokio::spawn(serve(stream, router.clone(), stop.clone(), taken));
    }
}

async fn serve(stream: TcpStream, router: Router, stop: CancellationToken, taken: Taken) {
    let (router, seat) = (TowerToHyperService::new(router), taken.seat.clone());
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(seat.clone());
        router.call(request)
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = taken.seat.leave.cancelled() => Ok(()),
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::{Agents, bounded};
    use super::*;
    use axum::routing::{get, post};
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Notify;

    const LONG: Duration = Duration::from_secs(30);

    async fn start(router: Router, most: usize, body: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(accept_within(listener, router, CancellationToken::new(), Places::new(most), body));
        address
    }

    async fn send(address: SocketAddr, text: &str) -> TcpStream {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(text.as_bytes()).await.unwrap();
        client
    }

    /// All that comes until the connection ends.
    async fn answer(mut client: TcpStream) -> String {
        let mut answer = Vec::new();
        // One that was ended for another may end by a reset.
        let read = tokio::time::timeout(LONG, client.read_to_end(&mut answer)).await;
        drop(read.expect("the connection ends"));
        String::from_utf8(answer).unwrap()
    }

    /// A route that says when it has begun, and goes on when it is told to.
    #[derive(Clone, Default)]
    struct Slow {
        begun: Arc<Notify>,
        go_on: Arc<Notify>,
    }

    impl Slow {
        fn route(&self) -> axum::routing::MethodRouter {
            let Slow { begun, go_on } = self.clone();
            get(async move || {
                begun.notify_one();
                go_on.notified().await;
                "slow"
            })
        }
    }

    fn request(path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_ends_and_one_that_comes_is_read() {
        let router = Router::new().route("/", post(async |body: String| body));
        let address = start(router, 8, Duration::from_millis(500)).await;
        for (body, expected) in [("whole", "HTTP/1.1 200"), ("who", "HTTP/1.1 4")] {
            let head = "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 5\r\n\r\n";
            let answer = answer(send(address, &format!("{head}{body}")).await).await;
            assert!(answer.starts_with(expected), "{body}: {answer}");
        }
    }

    #[tokio::test]
    async fn the_connection_that_was_quiet_the_longest_makes_room_and_a_busy_one_does_not() {
        let slow = Slow::default();
        let router = Router::new()
            .route("/slow", slow.route())
            .route("/quick", get(async || "quick"))
            .route("/body", post(async |body: String| body));
        let address = start(router, 3, LONG).await;
        let busy = send(address, &request("/slow")).await;
        slow.begun.notified().await;
        let body = "POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nwho";
        for (what, dawdling) in [("nothing", ""), ("a head", "GET /quick HTTP/1.1\r\n"), ("a body", body)] {
            let first = send(address, dawdling).await;
            let second = send(address, dawdling).await;
            let quick = answer(send(address, &request("/quick")).await).await;
            assert!(quick.starts_with("HTTP/1.1 200") && quick.ends_with("quick"), "{what}: {quick}");
            assert_eq!(answer(first).await, "", "{what}");
            drop(second);
        }
        slow.go_on.notify_one();
        let slow = answer(busy).await;
        assert!(slow.ends_with("slow") && slow.contains("content-length: 4\r\n"), "{slow}");
    }

    #[tokio::test]
    async fn agents_leave_places_to_others() {
        let slow = Slow::default();
        let agents = Router::new()
            .route("/agent", slow.route())
            .layer(middleware::from_fn_with_state(Agents::new(2), bounded));
        let router = agents.route("/console", get(async || "console"));
        let address = start(router, 3, LONG).await;
        let mut busy = Vec::new();
        for _ in 0..2 {
            busy.push(send(address, &request("/agent")).await);
            slow.begun.notified().await;
        }
        let refused = answer(send(address, &request("/agent")).await).await;
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        let (_, fault) = refused.split_once("\r\n\r\n").unwrap();
        let fault: serde_json::Value = serde_json::from_str(fault).unwrap();
        assert_eq!(crate::seen::seen(fault["code"].as_str().unwrap().to_owned()), "server_busy");
        assert_eq!(fault["retryable"], true);
        let console = answer(send(address, &request("/console")).await).await;
        assert!(console.starts_with("HTTP/1.1 200"), "{console}");
        for one in busy {
            slow.go_on.notify_one();
            assert!(answer(one).await.ends_with("slow"));
        }
        let next = send(address, &request("/agent")).await;
        slow.begun.notified().await;
        slow.go_on.notify_one();
        assert!(answer(next).await.ends_with("slow"), "a place that is left is free again");
    }
}
