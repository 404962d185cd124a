//! Requests that are held in the browser, for a site that the egress proxy does not read.

use crate::injection::header;
use crate::support::Driver;
use audit::{
    ApprovalAuthority, Approver, Cleared, EffectDecided, EffectGate, EffectRecordContext, EffectRefused,
    EventSubject, Key, Log, LogOptions,
};
use browser::{DecidedSite, EffectInterception, EffectLimits, Injection};
use policy::{Access, Effect, EffectContext, EffectDecision, EffectRequest, Endpoint, Policy, RequestHead};
use redact::Redacted;
use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};

/// Long enough for anything that does happen, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Long enough for a request that is not held to arrive.
const MOMENT: Duration = Duration::from_secs(2);

const LIMITS: EffectLimits = EffectLimits {
    max_body_bytes: 1 << 20,
    max_held: 16,
    max_held_bytes: 4 << 20,
    room_timeout: Duration::from_secs(10),
};

/// Asks the test about every effect.
struct TestGate {
    log: Log,
    approvals: Arc<ApprovalAuthority>,
    folder: tempfile::TempDir,
    asks: mpsc::UnboundedSender<Question>,
    undecided: Mutex<Vec<&'static str>>,
}

/// A request that is held.
struct Question {
    request: EffectRequest,
    allow: oneshot::Sender<bool>,
}

impl fmt::Debug for TestGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestGate")
    }
}

impl TestGate {
    fn new() -> (Arc<TestGate>, mpsc::UnboundedReceiver<Question>) {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::load_or_create(&folder.path().join("key")).unwrap();
        let options = LogOptions { key, segment_bytes: 1 << 20, most_bytes: 1 << 30 };
        let (log, approvals) = Log::open(&folder.path().join("audit"), "effects", options).unwrap();
        let (asks, questions) = mpsc::unbounded_channel();
        let approvals = Arc::new(approvals);
        (Arc::new(TestGate { log, approvals, folder, asks, undecided: Mutex::default() }), questions)
    }

    fn outcomes(&self) -> Vec<String> {
        let mut outcomes = Vec::new();
        let all = audit::EventFilter::default();
        for entry in audit::read_last(&self.folder.path().join("audit"), &all, 1000).unwrap_or_default() {
            if entry.get("event_type") == "effect_outcome" {
                outcomes.push(entry.get("result").to_owned());
            }
        }
        outcomes
    }

    async fn wait_for_outcomes(&self, expected: &[&str]) {
        let recorded = async {
            while self.outcomes() != expected {
                sleep(Duration::from_millis(20)).await;
            }
        };
        assert!(timeout(PATIENCE, recorded).await.is_ok(), "{expected:?}: {:?}", self.outcomes());
    }
}

impl EffectGate for TestGate {
    fn concerns(&self, head: &RequestHead<'_>) -> bool {
        !matches!(head.method, "GET" | "HEAD" | "OPTIONS") || head.url.contains("/do/")
    }

    fn decide(&self, request: EffectRequest) -> EffectDecided {
        let (allow, answered) = oneshot::channel();
        let asked = self.asks.send(Question { request: request.clone(), allow });
        let (log, approvals) = (self.log.clone(), Arc::clone(&self.approvals));
        Box::pin(async move {
            assert!(asked.is_ok());
            if answered.await != Ok(true) {
                return Err(EffectRefused { code: "denied_by_operator" });
            }
            let context = EffectContext { access: Access::Read, cause: None };
            let by = Approver { operator: "ann", channel: "test", approval_id: "a1" };
            let authorization = match Policy::default().decide_effect(Effect::decode(request), &context) {
                EffectDecision::Pass => return Ok(Cleared::Read),
                EffectDecision::Allow(permit) => permit.into(),
                EffectDecision::Ask(question) => approvals.approve_effect(question, &by),
                other => panic!("{other:?}"),
            };
            let subject = EventSubject::stockade();
            let redact = |text: &str| Redacted::outside_sessions(text);
            let context = EffectRecordContext { subject: &subject, caused_by: None, redact: &redact };
            Ok(Cleared::Effect(log.intend_effect(authorization, context).await.unwrap()))
        })
    }

    fn refused_undecided(&self, _head: &RequestHead<'_>, code: &'static str) {
        self.undecided.lock().unwrap().push(code);
    }
}

struct HeldBrowser {
    driver: Driver,
    gate: Arc<TestGate>,
    questions: mpsc::UnboundedReceiver<Question>,
}

impl HeldBrowser {
    async fn start(pages: &[(&str, &str)], limits: EffectLimits, injection: Injection) -> HeldBrowser {
        let (gate, questions) = TestGate::new();
        let sites =
            vec![DecidedSite { endpoint: Endpoint::of("http://own.test").unwrap(), with_subdomains: false }];
        let effects = Some(EffectInterception { gate: gate.clone(), sites, limits });
        let driver = Driver::injected(pages, Injection { effects, ..injection }).await.unwrap();
        HeldBrowser { driver, gate, questions }
    }

    async fn next(&mut self) -> Question {
        timeout(PATIENCE, self.questions.recv()).await.expect("nothing was held").unwrap()
    }
}

const PAGE: (&str, &str) = ("own.test/", "<h1>own</h1>");

#[tokio::test]
async fn what_the_site_answered_is_on_record() {
    let error = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy";
    let pages = [PAGE, ("own.test/saved", "saved"), ("own.test/busy", error), ("own.test/reset", "CLOSE")];
    let mut held = HeldBrowser::start(&pages, LIMITS, Injection::default()).await;
    held.driver.goto("http://own.test/").await;
    for path in ["saved", "busy", "missing", "reset"] {
        let send = format!(
            "fetch('/{path}', {{ method: 'DELETE' }}).then(r => document.title = r.status, () => document.title = 'failed'); 1"
        );
        held.driver.run_in_page(&send).await;
        held.next().await.allow.send(true).unwrap();
        held.driver.wait_for_requests(&format!("own.test/{path}"), 1).await;
    }
    held.gate.wait_for_outcomes(&["200", "503", "404", "connection_lost"]).await;
    // The page has its answers.
    assert_eq!(
        held.driver
            .value("new Promise(r => setInterval(() => document.title == 'failed' && r(document.title), 10))")
            .await,
        "failed"
    );
    let text = "fetch('/saved', { method: 'DELETE' }).then(r => r.text())";
    let (text, ()) = tokio::join!(held.driver.value(text), async {
        held.questions.recv().await.unwrap().allow.send(true).unwrap();
    });
    assert_eq!(text, "saved");
}

#[tokio::test]
async fn an_answer_that_the_page_gives_up_is_recorded_as_sent() {
    let pages = [PAGE, ("own.test/slow", "HANG")];
    let mut held = HeldBrowser::start(&pages, LIMITS, Injection::default()).await;
    held.driver.goto("http://own.test/").await;
    let send = "window.stop = new AbortController();
        fetch('/slow', { method: 'DELETE', signal: stop.signal }).catch(() => 0); 1";
    held.driver.run_in_page(send).await;
    held.next().await.allow.send(true).unwrap();
    held.driver.wait_for_requests("own.test/slow", 1).await;
    held.driver.run_in_page("stop.abort(); 1").await;
    held.gate.wait_for_outcomes(&["sent"]).await;
}

#[tokio::test]
async fn requests_beyond_the_bounds_are_refused_and_none_of_them_leaves() {
    for (limits, body) in [
        (EffectLimits { max_held: 1, room_timeout: Duration::from_millis(200), ..LIMITS }, 10),
        (EffectLimits { max_held_bytes: 1000, ..LIMITS }, 700),
    ] {
        let pages = [PAGE, ("own.test/first", "ok"), ("own.test/second", "ok")];
        let mut held = HeldBrowser::start(&pages, limits, Injection::default()).await;
        held.driver.goto("http://own.test/").await;
        let send = |path: &str| {
            format!(
                "fetch('/{path}', {{ method: 'POST', body: 'x'.repeat({body}) }}).then(r => `${{r.status}}`)"
            )
        };
        held.driver.run_in_page(&format!("window.first = {}; 1", send("first"))).await;
        let first = held.next().await;
        assert_eq!(held.driver.value(&send("second")).await, "403");
        assert_eq!(*held.gate.undecided.lock().unwrap(), ["effects_full"]);
        // The first still waits for its answer, and gets it.
        first.allow.send(true).unwrap();
        assert_eq!(held.driver.value("first").await, "200");
        // Its place is free again.
        let again = send("second");
        let (status, ()) = tokio::join!(held.driver.value(&again), async {
            held.questions.recv().await.unwrap().allow.send(true).unwrap();
        });
        assert_eq!(status, "200");
        let arrived = ["first", "second"].map(|path| held.driver.request_count(&format!("own.test/{path}")));
        assert_eq!(arrived, [1, 1]);
    }
}

#[tokio::test]
async fn a_held_request_leaves_with_its_injected_header_or_not_at_all() {
    let pages = [
        ("own.test/", "<form method=post action=/do/send><input name=a value=b></form><img src=/picture>"),
        ("own.test/do/api", "ok"),
        ("own.test/do/send", "<h1>sent</h1>"),
        ("own.test/picture", "ok"),
    ];
    let injection = Injection { headers: vec![header("http://own.test", "X-Key")], ..Injection::default() };
    let mut held = HeldBrowser::start(&pages, LIMITS, injection).await;
    held.driver.goto("http://own.test/").await;
    assert_eq!(held.driver.request("own.test/picture").await.header("X-Key"), Some("hunter2"));
    let send = "fetch('/do/api', { method: 'POST', body: 'c=d' }).then(r => `${r.status}`)";
    for (allow, status) in [(false, "403"), (true, "200")] {
        let (found, ()) = tokio::join!(held.driver.value(send), async {
            let question = held.questions.recv().await.unwrap();
            assert_eq!((&*question.request.method, &*question.request.body), ("POST", &b"c=d"[..]));
            sleep(Duration::from_millis(300)).await;
            question.allow.send(allow).unwrap();
        });
        assert_eq!(found, status);
        assert_eq!(held.driver.request_count("own.test/do/api"), usize::from(allow));
    }
    assert_eq!(held.driver.request("own.test/do/api").await.header("X-Key"), Some("hunter2"));
    // A navigation as well.
    held.driver.run_in_page("document.forms[0].submit(); 1").await;
    let question = held.next().await;
    assert_eq!(&*question.request.body, b"a=b");
    question.allow.send(true).unwrap();
    assert_eq!(held.driver.request("own.test/do/send").await.header("X-Key"), Some("hunter2"));
    held.gate.wait_for_outcomes(&["200", "200"]).await;
}

/// The site's rules come in a document, by script, by a header and in a frame. FedCM asks an address as well.
#[tokio::test]
async fn no_page_is_fetched_ahead_without_a_decision() {
    let rules = |path: &str| {
        format!(
            r#"{{"prefetch": [{{"urls": ["/do/{path}"], "eagerness": "immediate"}}], "prerender": [{{"urls": ["/do/{path}-whole"], "eagerness": "immediate"}}]}}"#
        )
    };
    let inline = |path: &str| format!("<script type=speculationrules>{}</script>", rules(path));
    let body = format!(
        "{}<script>const rules = document.createElement('script'); rules.type = 'speculationrules';
         rules.textContent = '{}'; document.head.append(rules)</script>
         <iframe src=/frame></iframe><link rel=prefetch href=/do/link><link rel=prerender href=/do/link-whole>
         <link rel=prefetch href=/harmless><h1>own</h1>
         <script>navigator.credentials.get({{ identity: {{ providers: [{{ configURL: location.origin + '/do/identity', clientId: '1' }}] }} }}).catch(() => 0)</script>",
        inline("inline"),
        rules("script")
    );
    let page = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSpeculation-Rules: \"/rules\"\r\nLink: </do/header-link>; rel=prefetch\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let sent = rules("header");
    let file = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/speculationrules+json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{sent}",
        sent.len()
    );
    let frame = inline("frame");
    // Rules need an origin that is trustworthy, as a name on loopback is.
    let pages = [
        ("own.localhost/", page.as_str()),
        ("own.localhost/rules", &file),
        ("own.localhost/frame", &frame),
        ("own.localhost/harmless", "ok"),
        ("own.localhost/do/inline", "<h1>done</h1>"),
    ];
    let (gate, mut questions) = TestGate::new();
    let sites =
        vec![DecidedSite { endpoint: Endpoint::of("http://own.localhost").unwrap(), with_subdomains: false }];
    let effects = Some(EffectInterception { gate: gate.clone(), sites, limits: LIMITS });
    let driver = Driver::injected(&pages, Injection { effects, ..Injection::default() }).await.unwrap();
    driver.goto("http://own.localhost/").await;
    for path in ["harmless", "rules", "frame"] {
        driver.wait_for_requests(&format!("own.localhost/{path}"), 1).await;
    }
    sleep(MOMENT).await;
    let ahead: Vec<String> =
        driver.requests().into_iter().map(|one| one.at).filter(|at| at.contains("/do/")).collect();
    assert!(ahead.is_empty(), "{ahead:?}");
    // Links are decided on.
    let mut asked = Vec::new();
    while let Ok(question) = questions.try_recv() {
        asked.push(question.request.url);
    }
    asked.sort();
    assert_eq!(asked, ["http://own.localhost/do/header-link", "http://own.localhost/do/link"]);
    // Who goes there does not wait for what was never fetched.
    let began = std::time::Instant::now();
    driver.run_in_page("location = '/do/inline'; 1").await;
    let question = timeout(PATIENCE, questions.recv()).await.unwrap().unwrap();
    assert_eq!(question.request.url, "http://own.localhost/do/inline");
    question.allow.send(true).unwrap();
    driver.wait_for_requests("own.localhost/do/inline", 1).await;
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}
