//! Places for connections: so many at once, a quiet one makes room for a new one, and agents cannot take them all.

use super::guard::answer;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use engine::error::Fault;
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Connections at once. Each agent needs two or three.
pub const MOST: usize = 256;
/// Requests of agents at once; what is left is for operators, who decide and end sessions.
pub const MOST_OF_AGENTS: usize = 224;
/// How often it is looked for a quiet connection when all of them were busy.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub struct Places {
    free: Arc<Semaphore>,
    taken: Arc<Mutex<Vec<Arc<Seat>>>>,
}

/// The place of one connection.
pub struct Seat {
    /// Since when it has had no request that came whole and is not answered; none while it has one.
    quiet_since: Mutex<Option<Instant>>,
    /// Cancelled when another needs the place more.
    pub leave: CancellationToken,
}

/// A place that is taken, until this is dropped.
pub struct Taken {
    pub seat: Arc<Seat>,
    taken: Arc<Mutex<Vec<Arc<Seat>>>>,
    _place: OwnedSemaphorePermit,
}

impl Places {
    pub fn new(most: usize) -> Places {
        Places { free: Arc::new(Semaphore::new(most)), taken: Arc::default() }
    }

    /// Takes a place; if there is none, the connection that has been quiet the longest ends. While all of them are busy,
    /// it waits.
    pub async fn take(&self) -> Taken {
        let place = loop {
            if let Ok(place) = self.free.clone().try_acquire_owned() {
                break place;
            }
            self.end_the_quietest();
            if let Ok(Ok(place)) = tokio::time::timeout(LOOK, self.free.clone().acquire_owned()).await {
                break place;
            }
        };
        let seat =
            Arc::new(Seat { quiet_since: Mutex::new(Some(Instant::now())), leave: CancellationToken::new() });
        lock(&self.taken).push(seat.clone());
        Taken { seat, taken: self.taken.clone(), _place: place }
    }

    fn end_the_quietest(&self) {
        let taken = lock(&self.taken);
        let quiet = taken.iter().filter(|seat| !seat.leave.is_cancelled());
        let quiet = quiet.filter_map(|seat| Some(((*lock(&seat.quiet_since))?, seat)));
        if let Some((_, seat)) = quiet.min_by_key(|(since, _)| *since) {
            seat.leave.cancel();
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        lock(&self.taken).retain(|seat| !Arc::ptr_eq(seat, &self.seat));
    }
}

impl Seat {
    /// A request came whole: from now on the connection is not ended for another.
    pub fn begin(&self) {
        *lock(&self.quiet_since) = None;
    }

    /// Its answer was sent.
    fn end(&self) {
        *lock(&self.quiet_since) = Some(Instant::now());
    }
}

/// The seat is busy until this is dropped.
pub struct Answering(pub Arc<Seat>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// How many requests of agents there are.
#[derive(Clone)]
pub struct Agents(Arc<Semaphore>);

impl Agents {
    pub fn new(most: usize) -> Agents {
        Agents(Arc::new(Semaphore::new(most)))
    }
}

/// Turns an agent away if too many are being answered, streams among them.
pub async fn bounded(State(agents): State<Agents>, request: Request, next: Next) -> Response {
    let Ok(place) = agents.0.try_acquire_owned() else {
        let fault = Fault::new("server_busy", "too many requests of agents are being answered")
            .hint("Wait for answers, close streams that you do not read, and try again.")
            .retryable();
        return answer(StatusCode::SERVICE_UNAVAILABLE, fault);
    };
    hold(next.run(request).await, place)
}

/// The answer, with something that is kept until all of it was sent or nobody wants it any more.
pub fn hold<T: Send + Unpin + 'static>(response: Response, kept: T) -> Response {
    response.map(|body| Body::new(Held { body, _kept: kept }))
}

struct Held<T> {
    body: Body,
    _kept: T,
}

impl<T: Unpin> HttpBody for Held<T> {
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
