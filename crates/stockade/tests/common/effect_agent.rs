//! Agents signed in to an [`EffectSite`] with a grant of some access, and an operator who answers every question at once.

use super::effect_cases::Step;
use super::effect_site::{EffectSite, SESSION};
use super::machine::{PATIENCE, until};
use super::operator::Operator;
use super::{Home, Mcp, Server};
use engine::approvals::{Approval, Verdict};
use serde_json::{Value, json};
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The host names of every site of effects.
pub const NAMES: [&str; 3] = ["office.test", "inner.test", "second.test"];
pub const ORIGIN: &str = "https://office.test";

/// Limits that a battery of cases would exceed otherwise. Nothing is allowed that is not by default.
pub const LIMITS: &str = "    max_actions_per_session: 100000
    session_timeout: 3000
    max_session_minutes: 60
    max_concurrent_sessions: 20
    hitl:
      approval_timeout: 120
      approvals_per_minute: 60
";

/// The only name of a site that the proxy does not intercept. Chromium would not trust its certificate, so it has none.
pub const NAME_IN_BROWSER: &str = "office.localhost";

pub struct EffectFixture {
    pub site: EffectSite,
    pub server: Server,
    pub home: Home,
    pub origin: String,
    names: Vec<&'static str>,
    _served: Box<dyn Any + Send + Sync>,
}

impl EffectFixture {
    pub fn start(site: EffectSite) -> EffectFixture {
        EffectFixture::start_with(site, LIMITS)
    }

    /// `settings` is YAML under `security.browser`, and has to have `hitl`.
    pub fn start_with(site: EffectSite, settings: &str) -> EffectFixture {
        let tls = site.serve(&NAMES);
        let home = tls.home(&NAMES, settings);
        for name in NAMES {
            let cookie =
                json!({"name": "sid", "value": SESSION, "httpOnly": true, "secure": true, "sameSite": "Lax"});
            home.store_credential(&json!({"domain": name, "cookies": [cookie]}));
        }
        let server = home.serve(&[]);
        let (origin, names) = (ORIGIN.to_owned(), NAMES.to_vec());
        EffectFixture { site, server, home, origin, names, _served: Box::new(tls) }
    }

    /// With a credential whose site the proxy does not intercept: effects are decided on in the browser.
    pub fn start_in_browser(site: EffectSite) -> EffectFixture {
        let plain = site.serve_plain();
        let name = NAME_IN_BROWSER;
        let settings = format!("    egress:\n      hosts:\n        {name}: {}\n{LIMITS}", plain.address);
        let home = Home::new(&settings);
        let origin = format!("http://{name}");
        let cookie = json!({"name": "sid", "value": SESSION, "httpOnly": true, "sameSite": "Lax"});
        home.store_credential(&json!({
            "domain": name, "origin": origin, "sealed": false, "intercept": false, "cookies": [cookie],
        }));
        let server = home.serve(&[]);
        EffectFixture { site, server, home, origin, names: vec![name], _served: Box::new(plain) }
    }

    /// A client with a session that is signed in to all names.
    pub fn agent(&self, access: &str) -> EffectAgent {
        let agent = EffectAgent::open(&self.home, self.home.mcp(), access, &self.names);
        EffectAgent { origin: self.origin.clone(), ..agent }
    }

    pub fn operator(&self, verdict: Verdict) -> AnsweringOperator {
        AnsweringOperator::start(&self.home, verdict)
    }
}

/// A grant for these hosts, issued on the command line before the operator has a password.
pub fn grant(home: &Home, access: &str, hosts: &[&str]) -> String {
    let mut arguments = vec!["grant", "issue", "--access", access];
    for host in hosts {
        arguments.extend(["--host", host]);
    }
    let (code, issued) = home.json(&arguments);
    assert_eq!(code, 0, "{issued}");
    issued["token"].as_str().unwrap_or_else(|| panic!("{issued}")).to_owned()
}

pub struct EffectAgent {
    pub mcp: Mcp,
    pub session: String,
    /// The reply to the opening.
    pub opened: Value,
    /// Of addresses that are only a path.
    origin: String,
}

impl EffectAgent {
    pub fn open(home: &Home, mcp: Mcp, access: &str, hosts: &[&str]) -> EffectAgent {
        EffectAgent::with_grant(mcp, &grant(home, access, hosts))
    }

    pub fn with_grant(mut mcp: Mcp, grant: &str) -> EffectAgent {
        let opened = mcp.ok("browser_open_session", json!({"credential_mode": "operator", "grant": grant}));
        let session = opened["session_id"].as_str().unwrap().to_owned();
        EffectAgent { mcp, session, opened, origin: ORIGIN.to_owned() }
    }

    /// One call, with its error as it is.
    pub fn call(&mut self, tool: &str, mut arguments: Value) -> Result<Value, Value> {
        arguments["session_id"] = json!(self.session);
        if let Some(path) = arguments["url"].as_str().filter(|url| url.starts_with('/')) {
            arguments["url"] = json!(format!("{}{path}", self.origin));
        }
        self.mcp.call(tool, arguments)
    }

    /// One call, and what became of it in the end: an answer that is pending is waited for.
    pub fn act(&mut self, tool: &str, arguments: Value) -> Result<Value, String> {
        self.call(tool, arguments).or_else(|error| self.outcome_of(&error))
    }

    pub fn step(&mut self, step: &Step) -> Result<Value, String> {
        self.act(step.tool, step.arguments.clone())
    }

    /// The page that the agent gets to see in the end, or the code of the error.
    pub fn outcome_of(&mut self, error: &Value) -> Result<Value, String> {
        let code = error["code"].as_str().unwrap_or_else(|| panic!("{error}")).to_owned();
        let Some(id) = code.strip_prefix("approval_pending:") else { return Err(code) };
        until("the question is answered", PATIENCE, || {
            match self.mcp.call("browser_pending", json!({"pending_id": id, "wait_seconds": 20})) {
                Ok(reply) if reply["state"] == "waiting" => None,
                Ok(reply) => Some(Ok(reply)),
                Err(error) => Some(Err(error["code"].as_str().unwrap().to_owned())),
            }
        })
    }

    /// Opens a page, as soon as an earlier question is out of the way.
    pub fn goto(&mut self, path: &str) {
        let arrived = until("the page is opened", PATIENCE, || {
            match self.call("browser_navigate", json!({"url": path})) {
                Ok(page) => Some(page),
                Err(error) if is_open_question(&error) => None,
                Err(error) => panic!("{path}: {error}"),
            }
        });
        assert!(arrived["error"].is_null(), "{path}: {arrived}");
    }

    /// Everything that a person reads on the page.
    pub fn read(&mut self) -> String {
        let page = self.call("browser_read", json!({})).unwrap_or_else(|error| panic!("{error}"));
        page["snapshot"].as_str().unwrap_or_default().to_owned()
    }
}

fn is_open_question(error: &Value) -> bool {
    let code = error["code"].as_str().unwrap_or_default();
    code == "question_open" || code.starts_with("approval_pending:")
}

/// How often the operator looks. A look is a query of the database.
const LOOK_INTERVAL: Duration = Duration::from_millis(40);

/// Gives the same answer to every question, and keeps what was asked.
pub struct AnsweringOperator {
    is_approving: bool,
    asked: Arc<Mutex<Vec<Approval>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl AnsweringOperator {
    /// Once a control plane has been started from this home.
    pub fn start(home: &Home, verdict: Verdict) -> AnsweringOperator {
        let operator = Operator::of(home);
        let is_approving = matches!(verdict, Verdict::Approve { .. });
        let (asked, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (log, ended) = (asked.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                for approval in operator.all_waiting() {
                    let id = approval.id.clone();
                    log.lock().unwrap().push(approval);
                    // The page may have withdrawn it meanwhile.
                    drop(operator.says(&id, verdict.clone()));
                }
                std::thread::sleep(LOOK_INTERVAL);
            }
        });
        AnsweringOperator { is_approving, asked, stop, thread: Some(thread) }
    }

    pub fn is_approving(&self) -> bool {
        self.is_approving
    }

    pub fn asked(&self) -> Vec<Approval> {
        self.asked.lock().unwrap().clone()
    }

    pub fn asked_by(&self, session: &str) -> Vec<Approval> {
        self.asked().into_iter().filter(|one| one.session.as_str() == session).collect()
    }

    pub fn count_of(&self, session: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|one| one.session.as_str() == session).count()
    }
}

impl Drop for AnsweringOperator {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
