//! Sends each new approval request to a webhook. It blocks nobody: failures are logged and recorded in the audit log.

use crate::operator::webhook::{Direction, NONCE_HEADER, SIGNATURE_HEADER, TIME_HEADER, WebhookSecret};
use audit::{Event, EventKind, EventSubject, Log};
use browser::RedactedPageText;
use engine::approvals::{
    Approval, ApprovalFilter, ApprovalId, ApprovalKind, ApprovalStore, CardFact, ElementCard,
};
use engine::post::post;
use jiff::Timestamp;
use policy::{Actor, Risk, SessionId, Tenant};
use redact::{Redacted, RedactedFields, redacted};
use serde::Serialize;
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
    pub secret: Arc<WebhookSecret>,
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
        let body = match Redacted::json(&Notification::new(&approval, &self.console)) {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(%error, "a question could not be written for the webhook");
                return;
            }
        };
        let mut failed = None;
        for _ in 0..MAX_ATTEMPTS {
            match self.send(&body).await {
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

    async fn send(&self, body: &str) -> std::io::Result<()> {
        let (time, nonce) = (Timestamp::now().as_second(), engine::random::token(24));
        let signature = self.secret.sign(Direction::Ask, time, &nonce, body.as_bytes());
        let time = time.to_string();
        let headers = [(TIME_HEADER, time.as_str()), (NONCE_HEADER, &nonce), (SIGNATURE_HEADER, &signature)];
        let sending = post(&self.url, &headers, body.to_owned());
        let late = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
        tokio::time::timeout(DELIVERY_TIMEOUT, sending).await.map_err(late)?
    }
}

/// The body of a delivery. Text of the page is under `page_says` and nowhere else.
#[derive(Serialize, RedactedFields)]
struct Notification<'a> {
    event: &'static str,
    approval: &'a ApprovalId,
    kind: ApprovalKind,
    risk: Risk,
    tool: &'a Redacted,
    action: &'a Redacted,
    domain: &'a Redacted,
    why: &'a Redacted,
    rule: &'a Redacted,
    irreversible: bool,
    for_session: bool,
    tenant: &'a Tenant,
    actor: &'a Actor,
    session: &'a SessionId,
    asked_at: Timestamp,
    expires_at: Timestamp,
    page_says: PageSays<'a>,
    console: Redacted,
}

#[derive(Serialize, RedactedFields)]
struct PageSays<'a> {
    url: &'a RedactedPageText,
    element: Option<&'a ElementCard>,
    input: Option<&'a RedactedPageText>,
    because: &'a [CardFact],
    for_session: &'a [CardFact],
}

impl Notification<'_> {
    fn new<'a>(approval: &'a Approval, console: &str) -> Notification<'a> {
        let card = &approval.card;
        Notification {
            event: "approval_asked",
            approval: &approval.id,
            kind: approval.kind,
            risk: card.risk,
            tool: &card.tool,
            action: &card.action,
            domain: &card.domain,
            why: &card.description,
            rule: &card.rule,
            irreversible: card.irreversible,
            for_session: !card.for_session.is_empty(),
            tenant: &approval.scope.tenant,
            actor: &approval.scope.actor,
            session: &approval.session,
            asked_at: approval.asked_at,
            expires_at: approval.expires_at,
            page_says: PageSays {
                url: &card.url,
                element: card.element.as_ref(),
                input: card.input.as_ref(),
                because: &card.because,
                for_session: &card.for_session,
            },
            console: redacted!("{}/approvals/{}", Redacted::outside_sessions(console), approval.id),
        }
    }
}
