//! Opens a session: a provided browser, its logins, the record of it; or the fault of the step that failed.

use super::effect_question::EffectQuestionState;
use super::effects::{EffectSubject, SessionEffects};
use super::images::Images;
use super::session_browser::{BrowserLink, SessionBrowser};
use super::sites::SessionSites;
use super::{EndReason, History, LastPage, Registry, Session};
use crate::approvals::SessionAllowances;
use crate::error::Fault;
use crate::logins::{self, LoginRequest, ReleasedCredentials, SessionSecrets};
use crate::provider::{BrowserConnection, BrowserLease, Keepalive, Phase, ProvidedBrowser, StartedBrowser};
use crate::record::TypedTextRedactor;
use audit::{Event, EventKind, EventSubject};
use browser::{Browser, PageEvents, UninitializedBrowser, cdp};
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::{DomainPattern, Name, Scope, SessionId};
use redact::{Redacted, RedactedFields};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::{Notify, watch};

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema, RedactedFields,
)]
#[serde(rename_all = "lowercase")]
pub enum CredentialMode {
    /// Nothing is injected; the browser is signed in nowhere.
    #[default]
    Clean,
    /// Logins that an operator granted are injected before the first page.
    Operator,
}

/// Recording modes, ordered from least to most.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    RedactedFields,
)]
#[serde(rename_all = "lowercase")]
pub enum RecordMode {
    /// Screenshots are returned and not kept.
    Off,
    /// The last screenshots are kept until the session closes.
    #[default]
    Transient,
    /// Every screenshot is kept for the audit.
    Audit,
}

impl RecordMode {
    pub fn as_str(self) -> &'static str {
        match self {
            RecordMode::Off => "off",
            RecordMode::Transient => "transient",
            RecordMode::Audit => "audit",
        }
    }
}

#[derive(Default)]
pub struct OpenRequest {
    pub name: Option<Name>,
    /// The logins to inject; a clean session if `None`.
    pub login: Option<LoginRequest>,
    /// A clean session's own allowlist, besides the operator's; none if empty.
    pub domains: Vec<DomainPattern>,
    /// The configured mode if `None`.
    pub record: Option<RecordMode>,
}

impl Registry {
    /// Opens a session: browser and logins in parallel, then the record, then the session itself.
    pub async fn open(self: &Arc<Self>, scope: &Scope, request: OpenRequest) -> Result<Arc<Session>, Fault> {
        let started_at = Instant::now();
        let record = request.record.unwrap_or(self.settings.record).max(self.settings.record_floor);
        let slot = self.reserve(scope, request.name.as_ref())?;
        let id = SessionId::parse(&format!("s-{}", crate::random::token(12)))
            .map_err(|e| Fault::caused(ErrorCode::Internal, &e))?;
        let lease = self.provider.reserve()?;
        let browser_id = lease.id();
        let about = EventSubject::session(scope, &id, Some(&browser_id));
        let allowances = Arc::new(SessionAllowances::new(self.settings.denial_stands));
        let sites = Arc::new(self.sites(&request, &allowances));
        let PreparedSession { started, login, secrets } =
            self.prepare(scope, lease, request.login.as_ref(), &sites, &about).await?;
        let secrets = Arc::new(secrets);
        let typed_text = Arc::new(TypedTextRedactor::new(secrets.clone()));
        let effects = login.as_ref().map(|released| {
            SessionEffects::new(
                self.effect_settings.clone(),
                EffectSubject {
                    access: released.access(),
                    event_subject: about.clone(),
                    secrets: secrets.clone(),
                    typed_text: typed_text.clone(),
                    allowances: allowances.clone(),
                },
            )
        });
        let (effects, held) = effects.unzip();
        // Before the first page: a probe loads one.
        if let (Some(effects), Some(egress)) = (&effects, started.provided.egress()) {
            egress.set_effect_gate(Arc::new(effects.clone()));
        }
        let entered = self.enter(started, login.as_ref(), &secrets, &about, effects.as_ref()).await;
        let (active, phases, user_agent) = match entered {
            Ok(entered) => entered,
            // The browser is gone, and no agent has seen it: the operator's grant was not used.
            Err(fault) => {
                if let Some(released) = login {
                    self.restore_grant(released, &about).await;
                }
                return Err(fault);
            }
        };
        if login.is_some() {
            active.link.browser.set_text_redactor(secrets.text_redactor());
        }

        let user_agent = Redacted::outside_sessions(user_agent);
        let event = Event::new(EventKind::SessionOpened, about)
            .took(started_at.elapsed())
            .result("ok")
            .recording(record.as_str())
            .user_agent(&user_agent);
        self.log.append(&event).await.map_err(crate::error::audit_fault)?;

        let journal = active.provided.egress().map(egress::Egress::journal);
        let cpu = active.provided.cpu_account();
        let page_events = active.link.browser.page_events();
        let images = self.images(record, &id);
        let session = Arc::new(Session {
            id,
            name: request.name,
            scope: scope.clone(),
            browser_id,
            provider: self.provider.name(),
            credential_mode: if login.is_some() { CredentialMode::Operator } else { CredentialMode::Clean },
            record,
            started_at: Timestamp::now(),
            phases,
            deadline: Instant::now() + self.settings.lifetime,
            lifetime: self.settings.lifetime,
            most_actions: self.settings.most_actions,
            actions: AtomicU32::new(0),
            waiting: AtomicUsize::new(0),
            end: watch::Sender::new(None),
            active: tokio::sync::Mutex::new(Some(active)),
            last_page: Mutex::new(LastPage::default()),
            history: Mutex::new(History::default()),
            typed_text,
            secrets,
            login,
            sites,
            journal,
            cpu,
            action_done: Notify::new(),
            user_agent,
            images,
            allowances,
            supervision: Mutex::default(),
            effects,
            effect_question: EffectQuestionState::new(held),
        });
        slot.fill(session.clone());
        self.watch_over(&session, page_events);
        tracing::info!(session = %session.id, jail = %session.browser_id, ms = started_at.elapsed().as_millis(), "session opened");
        Ok(session)
    }

    /// Uses the grant, then starts the browser while the logins are decrypted.
    async fn prepare(
        &self,
        scope: &Scope,
        lease: BrowserLease,
        request: Option<&LoginRequest>,
        sites: &Arc<SessionSites>,
        about: &EventSubject,
    ) -> Result<PreparedSession, Fault> {
        let grant = match request {
            None => None,
            Some(request) => Some(self.consume(scope, request, about).await?),
        };
        let released = async {
            match (grant, request) {
                (Some(grant), Some(request)) => self.release(grant, request, about).await.map(|released| {
                    let secrets = SessionSecrets::of(&released);
                    sites.set_home(self.home(&released));
                    (Some(released), secrets)
                }),
                _ => Ok((None, SessionSecrets::default())),
            }
        };
        let launched = async { self.launch(scope, lease, self.rules(sites)?).await };
        match tokio::join!(launched, released) {
            (Ok(started), Ok((login, secrets))) => Ok(PreparedSession { started, login, secrets }),
            (Err(fault), Ok((login, _))) => {
                if let Some(released) = login {
                    self.restore_grant(released, about).await;
                }
                Err(fault)
            }
            (_, Err(fault)) => Err(fault),
        }
    }

    /// Starts a browser with an empty page.
    async fn launch(
        &self,
        scope: &Scope,
        lease: BrowserLease,
        rules: Arc<egress::Rules>,
    ) -> Result<LaunchedBrowser, Fault> {
        let started_at = Instant::now();
        let StartedBrowser { browser: provided, connection, user_agent, mut phases } =
            self.provider.start(lease, scope, rules).await?;
        let BrowserConnection { cdp, closed, keepalive } = connection;
        let attaching = Instant::now();
        // An empty browser: no page and no credential had a part in its errors.
        let attached = Browser::attach(cdp, self.settings.browser.clone()).await;
        let blank =
            attached.map_err(|error| Fault::of_browser(&error, &|text| Redacted::outside_sessions(text)))?;
        phases.push(Phase { name: "page".into(), ms: millis(attaching) });
        Ok(LaunchedBrowser { blank, closed, keepalive, provided, phases, started_at, user_agent })
    }

    /// Turns an empty browser into the session's: clean, or with its logins injected.
    async fn enter(
        &self,
        started: LaunchedBrowser,
        login: Option<&ReleasedCredentials>,
        secrets: &SessionSecrets,
        about: &EventSubject,
        effects: Option<&SessionEffects>,
    ) -> Result<(SessionBrowser, Vec<Phase>, String), Fault> {
        let LaunchedBrowser { blank, closed, keepalive, mut provided, mut phases, started_at, user_agent } =
            started;
        let browser = match login {
            // No page has run so far: CPU time before this is our own work.
            None => {
                provided.start_cpu_credit().await?;
                blank.without_credentials()
            }
            Some(released) => {
                let injecting = Instant::now();
                self.logins.confirm(released).await?;
                // A probe loads a page of the site.
                let is_probed = !logins::probes(released).is_empty();
                if is_probed {
                    provided.start_cpu_credit().await?;
                }
                let egress = provided.egress();
                let browser = self.inject(blank, released, egress, about, secrets, effects).await?;
                if !is_probed {
                    provided.start_cpu_credit().await?;
                }
                phases.push(Phase { name: "login".into(), ms: millis(injecting) });
                browser
            }
        };
        phases.push(Phase { name: "total".into(), ms: millis(started_at) });
        provided.reset_crash_counts().await?;
        let active = SessionBrowser {
            link: BrowserLink { browser, closed, _keepalive: keepalive },
            provided,
            restarts_left: self.settings.restarts,
            unreported: None,
        };
        Ok((active, phases, user_agent))
    }

    fn images(&self, record: RecordMode, id: &SessionId) -> Images {
        match record {
            RecordMode::Audit => Images::unlimited(self.settings.recordings.join(id.as_str())),
            RecordMode::Off | RecordMode::Transient => {
                Images::ring(self.settings.transient.join(id.as_str()), self.settings.most_images)
            }
        }
    }

    /// Starts the tasks that end, restart and record the session; they end with it.
    fn watch_over(self: &Arc<Self>, session: &Arc<Session>, page_events: PageEvents) {
        tokio::spawn(self.clone().guard_deadline(session.clone()));
        tokio::spawn(self.clone().guard_browser(session.clone()));
        tokio::spawn(self.clone().guard_health(session.clone()));
        tokio::spawn(super::egress_record::record_egress(session.clone(), self.log.clone()));
        tokio::spawn(super::page_events::record_page_events(session.clone(), self.log.clone(), page_events));
    }

    async fn guard_deadline(self: Arc<Self>, session: Arc<Session>) {
        tokio::select! {
            () = tokio::time::sleep(session.lifetime) => self.end(&session, EndReason::Deadline).await,
            _ = session.until_ended() => {}
        }
    }
}

/// An open browser and the logins to inject into it.
struct PreparedSession {
    started: LaunchedBrowser,
    login: Option<ReleasedCredentials>,
    secrets: SessionSecrets,
}

/// A browser without credentials or pages, and what belongs to it.
struct LaunchedBrowser {
    blank: UninitializedBrowser,
    closed: watch::Receiver<Option<cdp::Closed>>,
    keepalive: Keepalive,
    provided: ProvidedBrowser,
    phases: Vec<Phase>,
    started_at: Instant,
    user_agent: String,
}

/// Milliseconds since then, to a tenth.
fn millis(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 10_000.0).round() / 10.0
}
