//! Listening on a session's socket, and ending with it.

use crate::exchange::{ProxyContext, serve_connection};
use crate::ledger::{Ledger, RequestSummary};
use crate::resolve::Resolver;
use crate::{EgressFailure, LedgerSnapshot, Options, Reason, Rules};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

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
