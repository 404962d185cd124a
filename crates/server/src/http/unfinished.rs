//! Counts what is not finished yet, so that a stop can wait for it.

use super::connection_limiter::hold_until_sent;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

#[derive(Clone, Default)]
pub struct Unfinished(Arc<watch::Sender<usize>>);

/// Counts as one until dropped.
pub struct UnfinishedGuard(Arc<watch::Sender<usize>>);

impl Unfinished {
    pub fn enter(&self) -> UnfinishedGuard {
        self.0.send_modify(|count| *count += 1);
        UnfinishedGuard(self.0.clone())
    }

    /// Waits until everything is finished, and at most this long. Returns how many are not.
    pub async fn wait(&self, at_most: Duration) -> usize {
        let mut count = self.0.subscribe();
        let finished = tokio::time::timeout(at_most, count.wait_for(|count| *count == 0)).await.is_ok();
        if finished { 0 } else { *self.0.borrow() }
    }
}

impl Drop for UnfinishedGuard {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Counts a request until its response was sent. Streams that a client opens to listen are not waited for.
pub async fn count_request(State(requests): State<Unfinished>, request: Request, next: Next) -> Response {
    if request.method() == Method::GET {
        return next.run(request).await;
    }
    let guard = requests.enter();
    hold_until_sent(next.run(request).await, guard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_ends_with_the_last_guard_or_with_its_time() {
        let requests = Unfinished::default();
        assert_eq!(requests.wait(Duration::ZERO).await, 0);
        let (first, second) = (requests.enter(), requests.enter());
        drop(first);
        assert_eq!(requests.wait(Duration::ZERO).await, 1);
        let waiting = tokio::spawn({
            let requests = requests.clone();
            async move { requests.wait(Duration::from_secs(60)).await }
        });
        drop(second);
        assert_eq!(waiting.await.unwrap(), 0);
    }
}
