//! Held requests: a browser on the proxy's socket, real servers on loopback, and a gate whose answers the test gives.

mod bounds;
mod bypass;
mod holding;
mod lifetime;
mod messages;
mod passing;

use super::sealed::{AnyBody, Browser, OriginServer, Received, Reply, SealedProxy, TestAuthority};
use super::sealed::{TestCredential, text};
use crate::{EgressOutcome, LedgerEntry, Options};
use audit::{
    ApprovalAuthority, Approver, EffectAuthorization, EffectRecordContext, EventSubject, Key, Log,
    LogOptions, PermittedEffect,
};
use audit::{Cleared, EffectDecided, EffectGate, EffectRefused};
use hyper::{Response, Version};
use policy::{
    Access, Effect, EffectContext, EffectDecision, EffectRequest, EffectTransport, Policy, RequestHead,
};
use redact::Redacted;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Long enough for anything that does happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// The test's side of the gate.
struct Gate {
    inner: Arc<TestGate>,
    questions: mpsc::UnboundedReceiver<Question>,
}

/// A request that is held.
struct Question {
    request: EffectRequest,
    answer: oneshot::Sender<Answer>,
}

enum Answer {
    Read,
    Permit,
    /// A permit, for another request.
    PermitFor(EffectRequest),
    Refuse,
}

struct TestGate {
    log: Log,
    approvals: Arc<ApprovalAuthority>,
    folder: tempfile::TempDir,
    asks: mpsc::UnboundedSender<Question>,
    heads: Mutex<Vec<String>>,
    undecided: Mutex<Vec<&'static str>>,
}

impl fmt::Debug for TestGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestGate")
    }
}

impl Gate {
    fn new() -> Gate {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::load_or_create(&folder.path().join("keys/audit.key")).unwrap();
        let options = LogOptions { key, segment_bytes: 1 << 20, most_bytes: 1 << 30 };
        let (log, approvals) = Log::open(&folder.path().join("audit"), "i1", options).unwrap();
        let (asks, questions) = mpsc::unbounded_channel();
        let (heads, undecided) = Default::default();
        Gate {
            inner: Arc::new(TestGate { log, approvals: Arc::new(approvals), folder, asks, heads, undecided }),
            questions,
        }
    }

    /// The next request that is held.
    async fn next(&mut self) -> Question {
        timeout(PATIENCE, self.questions.recv()).await.expect("nothing was held").unwrap()
    }

    /// Heads of all requests that the gate was asked about, held or not.
    fn heads(&self) -> Vec<String> {
        self.inner.heads.lock().unwrap().clone()
    }

    fn undecided(&self) -> Vec<&'static str> {
        self.inner.undecided.lock().unwrap().clone()
    }

    /// Waits for an outcome in the audit log.
    async fn outcome(&self, expected: &str) {
        let recorded = async {
            while !self.outcomes().iter().any(|outcome| outcome == expected) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(timeout(PATIENCE, recorded).await.is_ok(), "{expected}: {:?}", self.outcomes());
    }

    fn outcomes(&self) -> Vec<String> {
        let segments = audit::segments(&self.inner.folder.path().join("audit/chain-1")).unwrap();
        let text: String =
            segments.iter().map(|segment| std::fs::read_to_string(&segment.path).unwrap()).collect();
        // The last line may be half written.
        let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let outcomes = lines.filter(|line| line.to_string().contains("effect_outcome"));
        outcomes.map(|line| line["result"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl Question {
    fn answer(self, answer: Answer) {
        assert!(self.answer.send(answer).is_ok(), "the question was withdrawn");
    }

    /// Waits until nobody waits for the answer any more.
    async fn withdrawn(mut self) {
        timeout(PATIENCE, self.answer.closed()).await.expect("the question stays open");
    }
}

impl EffectGate for TestGate {
    fn concerns(&self, head: &RequestHead<'_>) -> bool {
        self.heads.lock().unwrap().push(format!("{} {}", head.method, head.url));
        let is_read = matches!(head.method, "GET" | "HEAD" | "OPTIONS") && !head.url.contains("/do/");
        let is_quiet = head.transport == EffectTransport::WebSocket && head.url.contains("/quiet");
        !is_read && !is_quiet
    }

    fn decide(&self, request: EffectRequest) -> EffectDecided {
        let (answer, answered) = oneshot::channel();
        let asked = self.asks.send(Question { request: request.clone(), answer });
        let (log, approvals) = (self.log.clone(), Arc::clone(&self.approvals));
        Box::pin(async move {
            assert!(asked.is_ok());
            let permitted = match answered.await {
                Ok(Answer::Read) => return Ok(Cleared::Read),
                Ok(Answer::Refuse) | Err(_) => return Err(EffectRefused { code: "denied_by_operator" }),
                Ok(Answer::Permit) => request,
                Ok(Answer::PermitFor(other)) => other,
            };
            Ok(Cleared::Effect(intend(&log, authorization(&approvals, permitted)).await))
        })
    }

    fn refused_undecided(&self, _head: &RequestHead<'_>, code: &'static str) {
        self.undecided.lock().unwrap().push(code);
    }
}

fn authorization(approvals: &ApprovalAuthority, request: EffectRequest) -> EffectAuthorization {
    let context = EffectContext { access: Access::Full, cause: None };
    let by = Approver { operator: "ann", channel: "test", approval_id: "a1" };
    match Policy::default().decide_effect(Effect::decode(request), &context) {
        EffectDecision::Allow(permit) => permit.into(),
        EffectDecision::Ask(question) => approvals.approve_effect(question, &by),
        other => panic!("a permit is for a request that changes something: {other:?}"),
    }
}

async fn intend(log: &Log, authorization: EffectAuthorization) -> PermittedEffect {
    let subject = EventSubject {
        tenant: "default".into(),
        actor: "agent".into(),
        session_id: policy::SessionId::parse("s-1").ok(),
        jail_id: None,
    };
    let redact = |text: &str| Redacted::outside_sessions(text);
    let context = EffectRecordContext { subject: &subject, caused_by: None, redact: &redact };
    log.intend_effect(authorization, context).await.unwrap()
}

/// An application behind a proxy with a gate.
struct App {
    server: OriginServer,
    proxy: Arc<SealedProxy>,
    credential: TestCredential,
    gate: Gate,
}

/// Where a browser speaks from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Http1,
    Http2,
    /// Plain HTTP, through a tunnel as a WebSocket would be.
    PlainTunnel,
}

const WAYS: [Way; 3] = [Way::Http1, Way::Http2, Way::PlainTunnel];

fn options() -> Options {
    Options { requests_per_second: None, bandwidth: None, ..Options::default() }
}

impl App {
    async fn new(way: Way) -> App {
        App::answering(way, options(), |_| Response::new(text("done"))).await
    }

    async fn with_options(way: Way, options: Options) -> App {
        App::answering(way, options, |_| Response::new(text("done"))).await
    }

    async fn answering(
        way: Way,
        options: Options,
        handler: impl Fn(Received) -> Response<AnyBody> + Send + Sync + 'static,
    ) -> App {
        let authority = TestAuthority::new();
        let server = match way {
            Way::PlainTunnel => OriginServer::plain(handler).await,
            Way::Http1 | Way::Http2 => {
                OriginServer::tls(authority.server(&["app.test"], |_| {}), handler).await
            }
        };
        let credential = TestCredential::new();
        let sealed = credential.sealed(way.origin());
        let hosts = [("app.test", server.address)];
        let proxy = SealedProxy::with_options(&authority, &hosts, vec![sealed], options);
        let gate = Gate::new();
        proxy.egress.set_effect_gate(Arc::clone(&gate.inner) as Arc<dyn EffectGate>);
        App { server, proxy: Arc::new(proxy), credential, gate }
    }

    async fn browser(&self, way: Way) -> Browser {
        browser(&self.proxy, way).await
    }

    /// The row of a request on the ledger, once it is there.
    async fn row(&self, path: &str) -> LedgerEntry {
        row(&self.proxy, path).await
    }
}

async fn browser(proxy: &SealedProxy, way: Way) -> Browser {
    match way {
        Way::Http1 => proxy.browser("app.test:443", Version::HTTP_11).await,
        Way::Http2 => proxy.browser("app.test:443", Version::HTTP_2).await,
        Way::PlainTunnel => {
            Browser::over(proxy.tunnel("app.test:80").await, "app.test", Version::HTTP_11).await
        }
    }
}

async fn row(proxy: &SealedProxy, path: &str) -> LedgerEntry {
    let found = async {
        loop {
            let mut entries = proxy.entries().into_iter();
            if let Some(entry) =
                entries.find(|entry| entry.address.is_none() && entry.path.as_deref() == Some(path))
            {
                return entry;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, found).await.expect("no row")
}

impl Way {
    fn origin(self) -> &'static str {
        if self == Way::PlainTunnel { "http://app.test" } else { "https://app.test" }
    }
}

/// Sends a request in a task of its own.
fn send(
    mut browser: Browser,
    method: &'static str,
    target: &'static str,
    lines: &'static [(&str, &str)],
    body: impl Into<String>,
) -> tokio::task::JoinHandle<(Browser, Reply)> {
    let body = body.into();
    tokio::spawn(async move {
        let reply = browser.exchange(method, target, lines, &body).await;
        (browser, reply)
    })
}

async fn reply_of(sent: tokio::task::JoinHandle<(Browser, Reply)>) -> (Browser, Reply) {
    timeout(PATIENCE, sent).await.expect("no reply").unwrap()
}

fn refusal_code(entry: &LedgerEntry) -> String {
    match entry.verdict {
        EgressOutcome::Refused(reason) => reason.code().to_string(),
        other => format!("{other:?}"),
    }
}
