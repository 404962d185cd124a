//! Listening on a session's socket, and ending with it.

use crate::dial::Dialer;
use crate::exchange::{ProxyContext, Sealing, serve_connection};
use crate::intercept::{DeferredNavigations, HoldingRoom};
use crate::ledger::{Ledger, RequestSummary};
use crate::limiter::TrafficLimiter;
use crate::resolve::Resolver;
use crate::{EgressFailure, Interception, LedgerBatch, LedgerSnapshot, Options, Reason, Rules, Seal};
use audit::{EffectGate, NavigationTicket, PermittedEffect};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

/// A running proxy. Dropping it closes the socket and every connection.
#[derive(Debug)]
pub struct Egress {
    ledger: Arc<Ledger>,
    seal: Arc<OnceLock<Arc<Seal>>>,
    effect_gate: Arc<OnceLock<Arc<dyn EffectGate>>>,
    deferred: Arc<DeferredNavigations>,
    task: JoinHandle<()>,
}

/// Serves one session on its socket, until the returned value is dropped. Without an `interception` no TLS connection
/// is looked into, whatever is sealed.
pub fn serve(
    listener: UnixListener,
    rules: Arc<Rules>,
    options: Options,
    interception: Option<Interception>,
) -> Egress {
    let resolver = Resolver::system(options.lookup_timeout);
    serve_with(listener, rules, options, interception, resolver)
}

pub(crate) fn serve_with(
    listener: UnixListener,
    rules: Arc<Rules>,
    options: Options,
    interception: Option<Interception>,
    resolver: Resolver,
) -> Egress {
    let ledger = Arc::new(Ledger::new(options.ledger_entries));
    let limiter = Arc::new(TrafficLimiter::new(&options));
    let seal = Arc::new(OnceLock::new());
    let effect_gate = Arc::new(OnceLock::new());
    let deferred = Arc::new(DeferredNavigations::default());
    let sealing = Sealing {
        interception,
        seal: Arc::clone(&seal),
        effect_gate: Arc::clone(&effect_gate),
        holding_room: Arc::new(HoldingRoom::new(&options)),
        deferred: Arc::clone(&deferred),
    };
    let connect_timeout = options.connect_timeout;
    let dialer = Dialer { rules, resolver, ledger: Arc::clone(&ledger), connect_timeout };
    let context = ProxyContext { dialer, options, ledger: Arc::clone(&ledger), limiter, sealing };
    let task = tokio::spawn(accept(listener, Arc::new(context)));
    Egress { ledger, seal, effect_gate, deferred, task }
}

impl Egress {
    /// Seals the session's credentials, before its first page; until then nothing is intercepted. A session is sealed
    /// once: another seal changes nothing.
    pub fn set_seal(&self, seal: Arc<Seal>) {
        if !Arc::ptr_eq(self.seal.get_or_init(|| Arc::clone(&seal)), &seal) {
            tracing::error!("a session was sealed twice; the first seal stays");
        }
    }

    /// Sets who decides on requests of intercepted origins, before the session's first page, once.
    pub fn set_effect_gate(&self, gate: Arc<dyn EffectGate>) {
        if self.effect_gate.set(gate).is_err() {
            tracing::error!("a session's gate for effects was set twice; the first stays");
        }
    }

    /// Lets a navigation that the proxy keeps leave with the next navigation to its address.
    pub fn release_navigation(&self, ticket: NavigationTicket, permitted: PermittedEffect) {
        if self.deferred.release(ticket, permitted).is_some() {
            tracing::debug!("a released navigation is not kept any more");
        }
    }

    /// Forgets a navigation that the proxy keeps.
    pub fn discard_navigation(&self, ticket: NavigationTicket) {
        self.deferred.discard(ticket);
    }

    pub fn ledger(&self) -> LedgerSnapshot {
        self.ledger.snapshot()
    }

    /// The ledger for those who record it.
    pub fn journal(&self) -> LedgerJournal {
        LedgerJournal(Arc::clone(&self.ledger))
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

/// A session's ledger as the audit log needs it. It outlives the proxy.
#[derive(Clone, Debug)]
pub struct LedgerJournal(Arc<Ledger>);

impl LedgerJournal {
    /// What begins from now on is caused by the session's action of this number.
    pub fn set_action(&self, number: u32) {
        self.0.set_action(number);
    }

    /// Takes up to `most` entries that the audit log does not have yet.
    pub fn take_batch(&self, most: usize) -> LedgerBatch {
        self.0.take_batch(most)
    }

    /// Resolves when many entries wait.
    pub async fn batch_ready(&self) {
        self.0.batch_ready().await;
    }

    /// Closes every connection on the ledger, because the session has ended.
    pub fn close(&self) {
        self.0.close_all();
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
