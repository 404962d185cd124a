//! Opening a session: a jail, its readiness, a page; or a clear word on which step failed.

use super::images::Images;
use super::runtime::{Link, Phase, Renewals, Runtime};
use super::{EndReason, History, LastPage, Registry, Session};
use crate::approvals::Given;
use crate::error::Fault;
use crate::logins::{self, Released, Secrets, Wanted};
use crate::record::Veil;
use crate::tunnel::{Tunnel, keep_renewed};
use audit::{Event, EventKind, EventSubject};
use browser::{Browser, UninitializedBrowser, cdp};
use error_code::ErrorCode;
use jail::{JailId, JailSpec, PreparedJail};
use jiff::Timestamp;
use policy::{Name, Scope, SessionId};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::net::UnixListener;
use tokio::sync::watch;

/// The port on the jail's own loopback where the bridge takes Chromium's proxy traffic.
const PROXY_PORT: u16 = 3128;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CredentialMode {
    /// Nothing is injected; the browser is a stranger everywhere.
    #[default]
    Clean,
    /// Logins that an operator granted are injected before the first page.
    Operator,
}

/// From the least to the most.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
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
    /// What to be signed in to; nowhere, if left out.
    pub login: Option<Wanted>,
    /// As the configuration says, if left out.
    pub record: Option<RecordMode>,
}

impl Registry {
    pub async fn open(self: &Arc<Self>, scope: &Scope, request: OpenRequest) -> Result<Arc<Session>, Fault> {
        let record = request.record.unwrap_or(self.settings.record).max(self.settings.record_floor);
        let slot = self.reserve(scope, request.name.as_ref())?;
        let id = SessionId::parse(&format!("s-{}", crate::random::token(12)))
            .map_err(|e| Fault::caused(ErrorCode::Internal, &e))?;
        let jail =
            JailId::parse(&format!("j-{}", crate::random::token(12))).map_err(jail::JailError::from)?;
        let begun = Instant::now();
        let about = EventSubject::session(scope, &id, Some(jail.as_str()));
        let leave = match &request.login {
            None => None,
            Some(wanted) => Some(self.consume(scope, wanted, &about).await?),
        };
        let given = Arc::new(Given::default());
        let home = leave.as_ref().map(|leave| self.home(leave));
        let built = JailGuard { jails: self.jails.clone(), jail: Some(jail.clone()) };
        let released = async {
            match (leave, &request.login) {
                (Some(leave), Some(wanted)) => self.release(leave, wanted, &about).await.map(|released| {
                    let secrets = Secrets::of(&released);
                    (Some(released), secrets)
                }),
                _ => Ok((None, Secrets::default())),
            }
        };
        let launched = self.launch(scope, &jail, self.rules(home.as_ref(), &given));
        let (started, (login, secrets)) = match tokio::join!(launched, released) {
            (Ok(started), Ok(released)) => (started, released),
            (Err(fault), Ok((login, _))) => {
                if let Some(released) = login {
                    self.give_back(released, &about).await;
                }
                return Err(fault);
            }
            (_, Err(fault)) => return Err(fault),
        };
        let secrets = Arc::new(secrets);
        let (runtime, phases, user_agent) = self.enter(started, &jail, login.as_ref(), &about).await?;
        if login.is_some() {
            runtime.link.browser.set_text_redactor(secrets.mask());
        }

        let mut event = Event::new(EventKind::SessionOpened, about).took(begun.elapsed()).result("ok");
        event.recording = Some(record.as_str());
        event.user_agent = Some(audit::sanitize(&user_agent));
        self.log.append(&event).await.map_err(crate::error::audit_fault)?;

        let page_events = runtime.link.browser.page_events();
        let images = match record {
            RecordMode::Audit => Images::all_of_them(self.settings.recordings.join(id.as_str())),
            RecordMode::Off | RecordMode::Transient => {
                Images::ring(self.settings.transient.join(id.as_str()), self.settings.most_images)
            }
        };
        let session = Arc::new(Session {
            id,
            name: request.name,
            scope: scope.clone(),
            jail,
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
            runtime: tokio::sync::Mutex::new(Some(runtime)),
            last_page: Mutex::new(LastPage::default()),
            history: Mutex::new(History::default()),
            veil: Arc::new(Veil::over(secrets.clone())),
            secrets,
            login,
            home,
            user_agent,
            images,
            given,
            watched: Mutex::default(),
        });
        built.keep();
        slot.fill(session.clone());
        tokio::spawn(self.clone().guard_deadline(session.clone()));
        tokio::spawn(self.clone().guard_browser(session.clone()));
        tokio::spawn(self.clone().guard_health(session.clone()));
        tokio::spawn(super::page_events::note_pages(session.clone(), self.log.clone(), page_events));
        tracing::info!(session = %session.id, jail = %session.jail, ms = begun.elapsed().as_millis(), "session opened");
        Ok(session)
    }

    /// Jail, readiness in two phases, an empty page.
    async fn launch(
        &self,
        scope: &Scope,
        jail: &JailId,
        rules: Arc<egress::Rules>,
    ) -> Result<Started, Fault> {
        let begun = Instant::now();
        let mut phases = Vec::new();
        let prepared = self.on_runtime(jail, |jails, jail| jails.prepare(jail)).await?;
        let PreparedJail { cdp, egress, .. } = prepared;
        let egress = egress::serve(listener(egress)?, rules, egress::Options::default());
        let tunnel = Tunnel::new(listener(cdp)?, self.signer.clone(), scope.to_string(), jail.to_string());
        let tunnel = Arc::new(tunnel.token_lifetime(self.settings.token_lifetime));
        let spec = self.spec(scope, jail);
        self.on_runtime(jail, move |jails, _| jails.start(&spec)).await?;
        phases.push(Phase { name: "jail".into(), ms: millis(begun) });

        let readiness = match tunnel.version(self.settings.start_timeout).await {
            Ok(readiness) => readiness,
            Err(error) => return Err(self.start_failed(jail, error.into()).await),
        };
        phases.extend(
            readiness.phases.iter().map(|phase| Phase { name: phase.name.to_string(), ms: phase.ms }),
        );
        let shaking = Instant::now();
        let wire = self.connect(&tunnel, &readiness.ws_path).await?;
        phases.push(Phase { name: "websocket".into(), ms: millis(shaking) });
        let attaching = Instant::now();
        let blank = Browser::attach(wire.connection, self.settings.browser.clone()).await?;
        phases.push(Phase { name: "page".into(), ms: millis(attaching) });
        let (closed, renewals) = (wire.closed, wire.renewals);
        Ok(Started {
            blank,
            closed,
            renewals,
            tunnel,
            egress,
            phases,
            begun,
            user_agent: readiness.user_agent,
        })
    }

    /// From an empty browser to the session's own: clean, or with its logins in it.
    async fn enter(
        &self,
        started: Started,
        jail: &JailId,
        login: Option<&Released>,
        about: &EventSubject,
    ) -> Result<(Runtime, Vec<Phase>, String), Fault> {
        let Started { blank, closed, renewals, tunnel, egress, mut phases, begun, user_agent } = started;
        let browser = match login {
            None => {
                self.limit_processor(jail).await?;
                blank.without_credentials()
            }
            Some(released) => {
                let injecting = Instant::now();
                self.logins.confirm(released).await?;
                // A probe is a page of the site's.
                let is_probed = !logins::probes(released).is_empty();
                if is_probed {
                    self.limit_processor(jail).await?;
                }
                let browser = self.inject(blank, released, &egress, about).await?;
                if !is_probed {
                    self.limit_processor(jail).await?;
                }
                phases.push(Phase { name: "login".into(), ms: millis(injecting) });
                browser
            }
        };
        phases.push(Phase { name: "total".into(), ms: millis(begun) });
        let stats = self.on_runtime(jail, |jails, jail| jails.stats(jail)).await?.unwrap_or_default();
        let runtime = Runtime {
            link: Link { browser, closed, _renewals: renewals },
            tunnel,
            egress,
            oom_kills: stats.oom_kills,
            pids_hits: stats.pids_limit_hits,
            restarts_left: self.settings.restarts,
            untold: None,
        };
        Ok((runtime, phases, user_agent))
    }

    /// From here on the jail has its share of the processor and no more. What comes before is our own work: no page has
    /// run yet.
    pub(super) async fn limit_processor(&self, jail: &JailId) -> Result<(), Fault> {
        let cpu = self.settings.limits.cpu;
        self.on_runtime(jail, move |jails, jail| jails.set_cpu(jail, Some(cpu))).await
    }

    /// The second phase of readiness.
    pub(super) async fn connect(&self, tunnel: &Arc<Tunnel>, path: &str) -> Result<Wire, Fault> {
        let socket = tunnel.open_cdp(path).await?;
        let connection = cdp::Connection::over(socket, cdp::ConnectionOptions::default());
        let closed = connection.closed();
        let renewals = Renewals(tokio::spawn(keep_renewed(tunnel.clone(), connection.renewals())));
        Ok(Wire { connection, closed, renewals })
    }

    fn spec(&self, scope: &Scope, jail: &JailId) -> JailSpec {
        let settings = &self.settings;
        let mut command: Vec<String> = vec![jail::BRIDGE.into()];
        command.extend(["--cdp".into(), jail::CDP_SOCKET.into()]);
        command.extend(["--egress".into(), jail::EGRESS_SOCKET.into()]);
        command.extend(["--public-key".into(), self.signer.public_key()]);
        command.extend(["--scope".into(), scope.to_string(), "--target".into(), jail.to_string()]);
        command.extend(["--restarts".into(), settings.restarts.to_string()]);
        command.extend(["--proxy-port".into(), PROXY_PORT.to_string()]);
        if let Some((width, height)) = settings.display {
            command.extend(["--display".into(), format!("{width}x{height}")]);
        }
        command.extend(["--".into(), self.jails.info().browser_program.clone()]);
        let display =
            if settings.display.is_some() { browser::Display::X11 } else { browser::Display::Headless };
        let proxy = format!("127.0.0.1:{PROXY_PORT}");
        let launch = browser::LaunchOptions { proxy, display, ..Default::default() };
        command.extend(browser::launch_flags(&launch));
        JailSpec {
            id: jail.clone(),
            limits: settings.limits.clone(),
            command,
            env: vec![("HOME".into(), "/tmp".into()), ("LANG".into(), "C.UTF-8".into())],
        }
    }

    /// Adds what the jail itself said to a failed start: the bridge may have died before it could speak.
    async fn start_failed(&self, jail: &JailId, mut fault: Fault) -> Fault {
        if let Ok(tail) = self.on_runtime(jail, |jails, jail| jails.log_tail(jail)).await
            && !tail.trim().is_empty()
        {
            fault.message = format!("{}; the jail said: {}", fault.message, audit::sanitize(tail.trim()));
        }
        fault
    }

    /// Asks the runtime something from a thread that may wait.
    pub(super) async fn on_runtime<T: Send + 'static>(
        &self,
        jail: &JailId,
        ask: impl FnOnce(&dyn jail::Runtime, &JailId) -> Result<T, jail::JailError> + Send + 'static,
    ) -> Result<T, Fault> {
        let jails = self.jails.clone();
        let jail = jail.clone();
        match tokio::task::spawn_blocking(move || ask(&*jails, &jail)).await {
            Ok(answer) => answer.map_err(Fault::from),
            Err(error) => Err(Fault::caused(ErrorCode::Internal, &error)),
        }
    }

    async fn guard_deadline(self: Arc<Self>, session: Arc<Session>) {
        tokio::select! {
            () = tokio::time::sleep(session.lifetime) => self.end(&session, EndReason::Deadline).await,
            _ = session.until_ended() => {}
        }
    }
}

/// A connection to a Chromium that nobody has spoken to yet.
pub(super) struct Wire {
    pub connection: cdp::Connection,
    pub closed: watch::Receiver<Option<cdp::Closed>>,
    pub renewals: Renewals,
}

/// A browser that is nobody's yet, and what belongs to it.
struct Started {
    blank: UninitializedBrowser,
    closed: watch::Receiver<Option<cdp::Closed>>,
    renewals: Renewals,
    tunnel: Arc<Tunnel>,
    egress: egress::Egress,
    phases: Vec<Phase>,
    begun: Instant,
    user_agent: String,
}

/// Destroys the jail of an opening that failed or was given up half-way.
struct JailGuard {
    jails: Arc<dyn jail::Runtime>,
    jail: Option<JailId>,
}

impl JailGuard {
    fn keep(mut self) {
        self.jail = None;
    }
}

impl Drop for JailGuard {
    fn drop(&mut self) {
        let Some(jail) = self.jail.take() else { return };
        let jails = self.jails.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = jails.destroy(&jail) {
                tracing::error!(%error, %jail, "cannot destroy the jail of a failed opening");
            }
        });
    }
}

fn listener(socket: std::os::unix::net::UnixListener) -> Result<UnixListener, Fault> {
    socket
        .set_nonblocking(true)
        .and_then(|()| UnixListener::from_std(socket))
        .map_err(|e| Fault::io(ErrorCode::Internal, "cannot listen on a jail's socket", &e))
}

fn millis(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 10_000.0).round() / 10.0
}
