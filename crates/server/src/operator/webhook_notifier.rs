//! Sends each new approval request to a webhook. It blocks nobody: failures are logged and recorded in the audit log.

use crate::operator::webhook::{Direction, NONCE_HEADER, SIGNATURE_HEADER, TIME_HEADER, WebhookSecret};
use crate::operator::webhook_message::WebhookMessage;
use audit::{Event, EventKind, EventSubject, Log};
use engine::approvals::{ApprovalFilter, ApprovalId, ApprovalStore};
use engine::post::post;
use engine::settings::WebhookFormat;
use jiff::Timestamp;
use redact::Redacted;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

/// The limit for one delivery, and the number of attempts.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_ATTEMPTS: u32 = 2;
/// How often to look for approvals that were not delivered.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Concurrent deliveries; a request beyond them is not delivered.
const MAX_CONCURRENT: usize = 8;

pub struct WebhookNotifier {
    pub approvals: ApprovalStore,
    pub log: Log,
    pub url: url::Url,
    pub format: WebhookFormat,
    /// Signs deliveries. Chat and push services do without.
    pub secret: Option<Arc<WebhookSecret>>,
    /// The address of the console.
    pub console: String,
}

impl WebhookNotifier {
    /// Delivers until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let mut changes = self.approvals.watch();
        let me = Arc::new((self, AtomicBool::new(true)));
        let permits = Arc::new(Semaphore::new(MAX_CONCURRENT));
        let mut delivered = HashSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                change = changes.recv() => if change == Err(RecvError::Closed) { return },
                // Another process with the same state folder may have added an approval.
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            let waiting = me.0.waiting().await;
            delivered.retain(|id| waiting.contains(id));
            for id in waiting.into_iter().filter(|id| delivered.insert(id.clone())) {
                let Ok(permit) = permits.clone().try_acquire_owned() else {
                    tracing::warn!(approval = %id, "the webhook is too slow; a question was not delivered");
                    continue;
                };
                let me = me.clone();
                tokio::spawn(async move {
                    me.0.deliver(&id, &me.1).await;
                    drop(permit);
                });
            }
        }
    }

    async fn waiting(&self) -> Vec<ApprovalId> {
        let filter = ApprovalFilter { only_waiting: true, ..ApprovalFilter::default() };
        match self.approvals.list(&filter).await {
            Ok(list) => list.into_iter().map(|approval| approval.id).collect(),
            Err(fault) => {
                tracing::warn!(%fault, "questions could not be listed for the webhook");
                Vec::new()
            }
        }
    }

    async fn deliver(&self, id: &ApprovalId, healthy: &AtomicBool) {
        let approval = match self.approvals.find(id).await {
            Ok(Some(approval)) => approval,
            Ok(None) => return,
            Err(fault) => return tracing::warn!(%fault, "a question could not be read for the webhook"),
        };
        let message = match WebhookMessage::new(self.format, &self.url, &approval, &self.console) {
            Ok(message) => message,
            Err(error) => {
                tracing::error!(%error, "a question could not be written for the webhook");
                return;
            }
        };
        let mut failed = None;
        for _ in 0..MAX_ATTEMPTS {
            match self.send(&message).await {
                Ok(()) => {
                    failed = None;
                    break;
                }
                Err(error) => failed = Some(error),
            }
        }
        let host = self.url.host_str().unwrap_or_default();
        // Recorded when deliveries begin to fail and when they work again, not each time.
        let event = match (&failed, healthy.swap(failed.is_none(), Ordering::SeqCst)) {
            (Some(error), true) => {
                tracing::warn!(%error, host, "the webhook did not take a question");
                Event::new(EventKind::WebhookFailed, EventSubject::stockade())
                    .detail(Redacted::outside_sessions(format!("{host}: {error}")))
            }
            (None, false) => Event::new(EventKind::WebhookRestored, EventSubject::stockade())
                .detail(Redacted::outside_sessions(host)),
            _ => return,
        };
        if !self.log.note(&event) {
            tracing::warn!("that is not on record either");
        }
    }

    async fn send(&self, WebhookMessage { url, body }: &WebhookMessage) -> std::io::Result<()> {
        let (time, nonce) = (Timestamp::now().as_second(), engine::random::token(24));
        let time_text = time.to_string();
        let sign = |secret: &Arc<WebhookSecret>| secret.sign(Direction::Ask, time, &nonce, body.as_bytes());
        let signature = self.secret.as_ref().map(sign);
        let headers: Vec<(&str, &str)> = match &signature {
            Some(signature) => {
                vec![(TIME_HEADER, &time_text), (NONCE_HEADER, &nonce), (SIGNATURE_HEADER, signature)]
            }
            None => Vec::new(),
        };
        let sending = post(url, &headers, body.as_str().to_owned());
        let late = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
        tokio::time::timeout(DELIVERY_TIMEOUT, sending).await.map_err(late)?
    }
}
