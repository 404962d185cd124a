//! Accepting HTTP connections within bounds: so many at once, and none that only dawdles.

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Connections at once; the next waits in the kernel's queue. Each agent needs two or three.
const MOST_CONNECTIONS: usize = 256;
/// How long a client may take to send the head of a request, and sit idle before the next one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// A machine out of descriptors or memory is given time to recover.
const AFTER_A_FAILED_ACCEPT: Duration = Duration::from_millis(100);

/// Serves until `stop`; connections that are open then are the caller's to wait for.
pub async fn accept(listener: TcpListener, router: Router, stop: CancellationToken) {
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
