//! Accepts HTTP connections, limited in number and in time.

use super::connection_limiter::{
    BusyGuard, ConnectionLimiter, MAX_CONNECTIONS, Slot, SlotGuard, hold_until_sent,
};
use super::unfinished::Unfinished;
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

/// The limit for the head of a request, and for being idle before the next one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// The limit for a whole body. Request bodies are small.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failed accept: the machine may be out of descriptors or memory.
const AFTER_A_FAILED_ACCEPT: Duration = Duration::from_millis(100);

/// Fails a body that is not complete in time, which ends the connection. Once the body is complete, the connection is
/// busy until the response was sent.
async fn with_body_deadline(
    State(limit): State<Duration>,
    Extension(slot): Extension<Arc<Slot>>,
    request: Request,
    next: Next,
) -> Response {
    let deadline = Instant::now() + limit;
    let busy = BusyGuard(slot.clone());
    if request.body().is_end_stream() {
        slot.mark_busy();
    }
    let body = |body: Body| {
        let late = || std::io::Error::from(std::io::ErrorKind::TimedOut);
        let parts = (body.into_data_stream(), slot);
        Body::from_stream(stream::try_unfold(parts, move |(mut parts, slot)| async move {
            match timeout_at(deadline, parts.next()).await {
                Ok(Some(part)) => Ok(Some((part.map_err(std::io::Error::other)?, (parts, slot)))),
                Ok(None) => {
                    slot.mark_busy();
                    Ok(None)
                }
                Err(_) => Err(late()),
            }
        }))
    };
    hold_until_sent(next.run(request.map(body)).await, busy)
}

/// Serves until `stop`. The caller waits for the connections that are still open.
pub async fn accept(listener: TcpListener, router: Router, stop: CancellationToken, open: Unfinished) {
    let limits = ConnectionLimits { count: ConnectionLimiter::new(MAX_CONNECTIONS), body: BODY_TIMEOUT };
    accept_within(listener, router, stop, limits, open).await;
}

struct ConnectionLimits {
    count: ConnectionLimiter,
    /// For a whole body.
    body: Duration,
}

async fn accept_within(
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
    limits: ConnectionLimits,
    open: Unfinished,
) {
    let router = router.layer(middleware::from_fn_with_state(limits.body, with_body_deadline));
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
        let guard = tokio::select! {
            guard = limits.count.take() => guard,
            () = stop.cancelled() => return,
        };
        let serving = serve_connection(stream, router.clone(), stop.clone(), guard);
        let unfinished = open.enter();
        tokio::spawn(async move {
            serving.await;
            drop(unfinished);
        });
    }
}

async fn serve_connection(stream: TcpStream, router: Router, stop: CancellationToken, guard: SlotGuard) {
    let (router, slot) = (TowerToHyperService::new(router), guard.slot.clone());
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(slot.clone());
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
        () = guard.slot.evicted.cancelled() => Ok(()),
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
    use super::super::connection_limiter::{AgentRequestLimiter, limit_agent_requests};
    use super::*;
    use axum::routing::{get, post};
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Notify;

    const LONG: Duration = Duration::from_secs(30);

    async fn start(router: Router, most: usize, body: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(accept_within(
            listener,
            router,
            CancellationToken::new(),
            ConnectionLimits { count: ConnectionLimiter::new(most), body },
            Unfinished::default(),
        ));
        address
    }

    async fn send(address: SocketAddr, text: &str) -> TcpStream {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(text.as_bytes()).await.unwrap();
        client
    }

    /// Everything received until the connection ends.
    async fn answer(mut client: TcpStream) -> String {
        let mut answer = Vec::new();
        // An evicted connection may end by a reset.
        let read = tokio::time::timeout(LONG, client.read_to_end(&mut answer)).await;
        drop(read.expect("the connection ends"));
        String::from_utf8(answer).unwrap()
    }

    /// A route that signals its start and waits for `go_on`.
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
    async fn an_incomplete_body_times_out_and_a_complete_one_is_read() {
        let router = Router::new().route("/", post(async |body: String| body));
        let address = start(router, 8, Duration::from_millis(500)).await;
        for (body, expected) in [("whole", "HTTP/1.1 200"), ("who", "HTTP/1.1 4")] {
            let head = "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 5\r\n\r\n";
            let answer = answer(send(address, &format!("{head}{body}")).await).await;
            assert!(answer.starts_with(expected), "{body}: {answer}");
        }
    }

    #[tokio::test]
    async fn the_longest_idle_connection_is_evicted_and_a_busy_one_is_not() {
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
    async fn agents_cannot_take_all_connections() {
        let slow = Slow::default();
        let agents = Router::new()
            .route("/agent", slow.route())
            .layer(middleware::from_fn_with_state(AgentRequestLimiter::new(2), limit_agent_requests));
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
        assert!(answer(next).await.ends_with("slow"), "a released slot is free again");
    }
}
