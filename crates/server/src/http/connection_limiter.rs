//! Connection limits: a new connection evicts an idle one when all slots are taken, and agents cannot take all slots.

use super::guard::fault_json;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use engine::error::Fault;
use error_code::ErrorCode;
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Concurrent connections. Each agent needs two or three.
pub const MAX_CONNECTIONS: usize = 256;
/// Concurrent requests of agents. The rest is reserved for operators, who decide and end sessions.
pub const MAX_AGENT_REQUESTS: usize = 224;
/// How often to look for an idle connection while all are busy.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub struct ConnectionLimiter {
    free: Arc<Semaphore>,
    slots: Arc<Mutex<Vec<Arc<Slot>>>>,
}

/// The slot of one connection.
pub struct Slot {
    /// Since when no complete request is being answered; `None` while one is.
    idle_since: Mutex<Option<Instant>>,
    /// Cancelled when the slot is needed for another connection.
    pub evicted: CancellationToken,
}

/// Occupies a slot until dropped.
pub struct SlotGuard {
    pub slot: Arc<Slot>,
    slots: Arc<Mutex<Vec<Arc<Slot>>>>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionLimiter {
    pub fn new(most: usize) -> ConnectionLimiter {
        ConnectionLimiter { free: Arc::new(Semaphore::new(most)), slots: Arc::default() }
    }

    /// Takes a slot. When none is free, evicts the connection that has been idle longest; waits while all are busy.
    pub async fn take(&self) -> SlotGuard {
        let permit = loop {
            if let Ok(permit) = self.free.clone().try_acquire_owned() {
                break permit;
            }
            self.evict_longest_idle();
            if let Ok(Ok(permit)) =
                tokio::time::timeout(RETRY_INTERVAL, self.free.clone().acquire_owned()).await
            {
                break permit;
            }
        };
        let slot = Arc::new(Slot {
            idle_since: Mutex::new(Some(Instant::now())),
            evicted: CancellationToken::new(),
        });
        lock(&self.slots).push(slot.clone());
        SlotGuard { slot, slots: self.slots.clone(), _permit: permit }
    }

    fn evict_longest_idle(&self) {
        let slots = lock(&self.slots);
        let idle = slots.iter().filter(|slot| !slot.evicted.is_cancelled());
        let idle = idle.filter_map(|slot| Some(((*lock(&slot.idle_since))?, slot)));
        if let Some((_, slot)) = idle.min_by_key(|(since, _)| *since) {
            slot.evicted.cancel();
        }
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        lock(&self.slots).retain(|slot| !Arc::ptr_eq(slot, &self.slot));
    }
}

impl Slot {
    /// A complete request arrived: the connection cannot be evicted now.
    pub fn mark_busy(&self) {
        *lock(&self.idle_since) = None;
    }

    /// The response was sent.
    fn mark_idle(&self) {
        *lock(&self.idle_since) = Some(Instant::now());
    }
}

/// Marks the slot idle when dropped.
pub struct BusyGuard(pub Arc<Slot>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.mark_idle();
    }
}

/// Counts concurrent requests of agents.
#[derive(Clone)]
pub struct AgentRequestLimiter(Arc<Semaphore>);

impl AgentRequestLimiter {
    pub fn new(most: usize) -> AgentRequestLimiter {
        AgentRequestLimiter(Arc::new(Semaphore::new(most)))
    }
}

/// Refuses an agent's request when too many are being answered, streams included.
pub async fn limit_agent_requests(
    State(agents): State<AgentRequestLimiter>,
    request: Request,
    next: Next,
) -> Response {
    let Ok(permit) = agents.0.try_acquire_owned() else {
        let fault = Fault::new(ErrorCode::ServerBusy, "too many requests of agents are being answered")
            .hint("Wait for answers or close streams that you do not read, then try again.")
            .retryable();
        return fault_json(StatusCode::SERVICE_UNAVAILABLE, fault);
    };
    hold_until_sent(next.run(request).await, permit)
}

/// A response that keeps `guard` until its body was sent or dropped.
pub fn hold_until_sent<T: Send + Unpin + 'static>(response: Response, guard: T) -> Response {
    response.map(|body| Body::new(GuardedBody { body, _guard: guard }))
}

struct GuardedBody<T> {
    body: Body,
    _guard: T,
}

impl<T: Unpin> HttpBody for GuardedBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
