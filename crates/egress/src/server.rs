//! Listening on a session's socket, and ending with it.

use crate::exchange::{ProxyContext, serve_connection};
use crate::ledger::{Ledger, RequestSummary};
use crate::resolve::Resolver;
use crate::{EgressFailure, LedgerSnapshot, Reason, Rules};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

/// Bounds of one session's proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Connections at once; a further one is closed at once and recorded in the ledger.
    pub max_connections: usize,
    /// For the head of a request, from the moment of connecting; then the connection is closed.
    pub head_timeout: Duration,
    pub lookup_timeout: Duration,
    /// For all addresses of a host together.
    pub connect_timeout: Duration,
    /// How long nothing may pass in either direction; then the connection is closed, within twice that.
    pub idle_timeout: Duration,
    /// Entries in the ledger of each kind (connected, failed, refused); the oldest of its kind is dropped
    /// for a further one.
    pub ledger_entries: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            // Chromium opens at most 32 through one proxy, and 255 WebSockets.
            max_connections: 256,
            head_timeout: Duration::from_secs(60),
            lookup_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(300),
            ledger_entries: 10_000,
        }
    }
}

/// A running proxy. Dropping it closes the socket and every connection.
#[derive(Debug)]
pub struct Egress {
    ledger: Arc<Ledger>,
    task: JoinHandle<()>,
}

/// Serves one session on its socket, until the returned value is dropped.
pub fn serve(listener: UnixListener, rules: Arc<Rules>, options: Options) -> Egress {
    let resolver = Resolver::system(options.lookup_timeout);
    serve_with(listener, rules, options, resolver)
}

pub(crate) fn serve_with(
    listener: UnixListener,
    rules: Arc<Rules>,
    options: Options,
    resolver: Resolver,
) -> Egress {
    let ledger = Arc::new(Ledger::new(options.ledger_entries));
    let context = ProxyContext { rules, options, resolver, ledger: Arc::clone(&ledger) };
    Egress { ledger, task: tokio::spawn(accept(listener, Arc::new(context))) }
}

impl Egress {
    pub fn ledger(&self) -> LedgerSnapshot {
        self.ledger.snapshot()
    }

    /// Why the latest request to a host failed; `None` if it did not.
    pub fn last_failure(&self, host: &str) -> Option<EgressFailure> {
        self.ledger.last_failure(host)
    }

    /// The latest request of the session, if it failed.
    pub fn newest_failure(&self) -> Option<EgressFailure> {
        self.ledger.newest_failure()
    }
}

impl Drop for Egress {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Connections live in this task's set, so they end with it.
async fn accept(listener: UnixListener, context: Arc<ProxyContext>) {
    let slots = Arc::new(Semaphore::new(context.options.max_connections));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => admit(stream, &context, &slots, &mut connections),
                Err(error) => {
                    tracing::warn!(%error, "an egress socket could not accept");
                    // Out of descriptors, most likely; others will be closed.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "an egress connection broke off");
                }
            }
        }
    }
}

fn admit(
    stream: UnixStream,
    context: &Arc<ProxyContext>,
    slots: &Arc<Semaphore>,
    connections: &mut JoinSet<()>,
) {
    let Ok(slot) = Arc::clone(slots).try_acquire_owned() else {
        context.ledger.record_failure(RequestSummary::default(), Reason::TooManyConnections.into());
        return;
    };
    let context = Arc::clone(context);
    connections.spawn(async move {
        serve_connection(stream, context).await;
        drop(slot);
    });
}
