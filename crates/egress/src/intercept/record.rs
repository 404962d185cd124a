//! One intercepted request for the ledger, recorded when its reply has ended.

use crate::ledger::{EgressOutcome, InterceptedRequest, Ledger};
use hyper::StatusCode;
use jiff::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Longest path that is recorded.
const MAX_PATH_CHARS: usize = 2048;

/// Recorded when it is dropped: with the body of the reply, however that ends.
pub(super) struct RequestRecord {
    ledger: Arc<Ledger>,
    request: InterceptedRequest,
    bytes_up: Arc<AtomicU64>,
    begun: Instant,
    is_forgotten: bool,
}

impl RequestRecord {
    pub(super) fn new(
        ledger: Arc<Ledger>,
        method: &str,
        host: String,
        port: u16,
        path: &str,
    ) -> RequestRecord {
        let request = InterceptedRequest {
            method: method.chars().take(32).collect(),
            host,
            port,
            path_redacted: path.chars().take(MAX_PATH_CHARS).collect(),
            status: None,
            verdict: EgressOutcome::Allowed,
            action: ledger.latest_action(),
            bytes_up: 0,
            bytes_down: 0,
            started: Timestamp::now(),
            duration: std::time::Duration::ZERO,
        };
        let bytes_up = Arc::default();
        RequestRecord { ledger, request, bytes_up, begun: Instant::now(), is_forgotten: false }
    }

    pub(super) fn set_status(&mut self, status: StatusCode) {
        self.request.status = Some(status.as_u16());
    }

    /// Whether it left, for a request that is held or that failed.
    pub(super) fn set_verdict(&mut self, verdict: EgressOutcome) {
        self.request.verdict = verdict;
    }

    /// Leaves the request out: it is kept, and another one will stand for it.
    pub(super) fn forget(&mut self) {
        self.is_forgotten = true;
    }

    pub(super) fn bytes_up(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes_up)
    }

    pub(super) fn add_down(&mut self, bytes: usize) {
        self.request.bytes_down += bytes as u64;
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        if self.is_forgotten {
            return;
        }
        let request = InterceptedRequest {
            bytes_up: self.bytes_up.load(Ordering::Relaxed),
            duration: self.begun.elapsed(),
            ..self.request.clone()
        };
        self.ledger.record_request(request);
    }
}
