//! Accepting HTTP connections within bounds: so many at once, and none that only dawdles.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;

use futures_util::{StreamExt, stream};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// Connections at once; the next waits in the kernel's queue. Each agent needs two or three.
const MOST_CONNECTIONS: usize = 256;
/// How long a client may take to send the head of a request, and sit idle before the next one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// And all of its body: what is sent here is small.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// A machine out of descriptors or memory is given time to recover.
const AFTER_A_FAILED_ACCEPT: Duration = Duration::from_millis(100);

/// A body that is not there in time is an error to whoever reads it, and its connection ends.
async fn in_time(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    let deadline = Instant::now() + limit;
    let body = |body: Body| {
        let late = || std::io::Error::from(std::io::ErrorKind::TimedOut);
        Body::from_stream(stream::try_unfold(body.into_data_stream(), move |mut parts| async move {
            match timeout_at(deadline, parts.next()).await {
                Ok(Some(part)) => Ok(Some((part.map_err(std::io::Error::other)?, parts))),
                Ok(None) => Ok(None),
                Err(_) => Err(late()),
            }
        }))
    };
    next.run(request.map(body)).await
}

/// Serves until `stop`; connections that are open then are the caller's to wait for.
pub async fn accept(listener: TcpListener, router: Router, stop: CancellationToken) {
    accept_within(listener, router, stop, BODY_TIMEOUT).await;
}

async fn accept_within(listener: TcpListener, router: Router, stop: CancellationToken, body: Duration) {
    let router = router.layer(middleware::from_fn_with_state(body, in_time));
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place,
            () = stop.cancelled() => return,
        };
        // The semaphore is never closed.
        let Ok(place) = place else { return };
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
        let (router, stop) = (router.clone(), stop.clone());
        tokio::spawn(async move {
            serve(stream, router, stop).await;
            drop(place);
        });
    }
}

async fn serve(stream: TcpStream, router: Router, stop: CancellationToken) {
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    tokio::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
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
    use super::*;
    use axum::routing::post;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_body_that_does_not_come_ends_and_one_that_comes_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", post(async |body: String| body));
        let stop = CancellationToken::new();
        let limit = Duration::from_millis(500);
        tokio::spawn(accept_within(listener, router, stop.clone(), limit));
        for (body, expected) in [("whole", "HTTP/1.1 200"), ("who", "HTTP/1.1 4")] {
            let mut client = TcpStream::connect(address).await.unwrap();
            let head = "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 5\r\n\r\n";
            client.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            let mut answer = String::new();
            let read = tokio::time::timeout(Duration::from_secs(20), client.read_to_string(&mut answer));
            read.await.expect("the connection ends").unwrap();
            assert!(answer.starts_with(expected), "{body}: {answer}");
        }
        stop.cancel();
    }
}
