//! When a tab or a whole browser dies: what the kernel says of it, and whether it comes back.

use super::open::Wire;
use super::runtime::{Link, Runtime};
use super::{EndFault, EndReason, Registry, Session};
use crate::error::Fault;
use audit::EventSubject;
use bridge::wire::StageName;
use browser::{Browser, Resumed, UninitializedBrowser};
use egress::Egress;
use error_code::ErrorCode;
use std::sync::Arc;
use std::time::Duration;

/// The bridge's threads, and those of a display where there is one.
const QUIET: u64 = 16;
/// How often, and how far apart, a jail is looked at until it is quiet: three seconds in all.
const LOOKS: usize = 60;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// What killed a tab or a browser, by the kernel's own counts.
enum Cause {
    Memory,
    Processes,
    Unknown,
}

impl Registry {
    /// Explains a crashed tab. The session goes on with a new one.
    pub(crate) async fn explain_crash(&self, session: &Session, runtime: &mut Runtime) -> Fault {
        match self.cause(session, runtime).await {
            Cause::Memory => Fault::new(ErrorCode::TabOutOfMemory, "the page used more memory than the jail may have; its tab is gone")
                .hint("The next call works in a new, empty tab. Avoid that page, or raise `container.memory_limit`."),
            Cause::Processes => Fault::new(ErrorCode::TabProcessLimit, "the page started more threads than the jail may have; its tab is gone")
                .hint("The next call works in a new, empty tab. Avoid that page, or raise `container.pids`."),
            Cause::Unknown => Fault::new(ErrorCode::TabCrashed, "the page's tab crashed")
                .hint("The next call works in a new, empty tab. Navigate again; if it crashes again, avoid that page.")
                .retryable(),
        }
    }

    /// Brings a dead browser back, or ends the session; either way the caller gets the reason.
    ///
    /// Called with the turn held, so nothing else touches the browser meanwhile.
    pub(crate) async fn recover(
        &self,
        session: &Arc<Session>,
        runtime: &mut Runtime,
    ) -> (Fault, Option<EndReason>) {
        let why = match self.cause(session, runtime).await {
            Cause::Memory => {
                return (EndReason::OutOfMemory.fault(&session.id), Some(EndReason::OutOfMemory));
            }
            Cause::Processes => "of the limit on its processes and threads ",
            Cause::Unknown => "",
        };
        while runtime.restarts_left > 0 {
            runtime.restarts_left -= 1;
            match self.restart(session, runtime).await {
                Ok(true) => {
                    tracing::warn!(session = %session.id, left = runtime.restarts_left, "browser found again");
                    return (connection_restored(), None);
                }
                Ok(false) => {
                    tracing::warn!(session = %session.id, left = runtime.restarts_left, "browser restarted");
                    let fault = Fault::new(
                        ErrorCode::BrowserRestarted,
                        format!("the browser died {why}and was started again; its pages are gone"),
                    )
                    .hint("Navigate again.")
                    .retryable();
                    return (fault, None);
                }
                Err(fault) if fault.code == ErrorCode::GrantRevoked => {
                    return (fault, Some(EndReason::GrantRevoked));
                }
                Err(error) => tracing::warn!(session = %session.id, %error, "browser restart failed"),
            }
        }
        (EndReason::BrowserLost.fault(&session.id), Some(EndReason::BrowserLost))
    }

    /// Whether the tab is as it was.
    async fn restart(&self, session: &Session, runtime: &mut Runtime) -> Result<bool, Fault> {
        // Starting is not the page's work: as at the first start, the quota counts from readiness on.
        self.on_runtime(&session.jail, |jails, jail| jails.set_cpu(jail, None)).await?;
        // A connection can be lost with its browser alive; then there is nothing to start again.
        if runtime.tunnel.status().await?.stage == StageName::Down {
            self.until_quiet(session).await?;
            runtime.tunnel.restart().await?;
        }
        let readiness = runtime.tunnel.version(self.settings.start_timeout).await?;
        let Wire { connection, closed, renewals } = self.connect(&runtime.tunnel, &readiness.ws_path).await?;
        // There may be a page already.
        self.limit_processor(&session.jail).await?;
        let (browser, same_tab) = match runtime.link.browser.resume(connection).await? {
            Resumed::SameTab(browser) => (browser, true),
            Resumed::NewTab(browser) => (browser, false),
            Resumed::NewChromium(blank) => (self.fill_again(blank, session, &runtime.egress).await?, false),
        };
        runtime.link = Link { browser, closed, _renewals: renewals };
        Ok(same_tab)
    }

    /// A new Chromium has nothing in it. It becomes what the session was opened as, or nobody's to use.
    async fn fill_again(
        &self,
        blank: UninitializedBrowser,
        session: &Session,
        egress: &Egress,
    ) -> Result<Browser, Fault> {
        let Some(released) = &session.login else { return Ok(blank.without_credentials()) };
        if self.logins.grants.is_revoked(released.jti()).await? {
            return Err(Fault::from(vault::VaultError::GrantRevoked { jti: released.jti().to_owned() }));
        }
        let about = EventSubject::session(&session.scope, &session.id, Some(session.jail.as_str()));
        self.inject(blank, released, egress, &about).await
    }

    /// Waits for what is left of the dead browser to go. Hundreds of threads take a moment, and until they
    /// are gone a new browser would meet the same limit that the old one died of.
    async fn until_quiet(&self, session: &Session) -> Result<(), Fault> {
        for _ in 0..LOOKS {
            let stats = self.on_runtime(&session.jail, |jails, jail| jails.stats(jail)).await?;
            if stats.is_none_or(|stats| stats.pids <= QUIET) {
                return Ok(());
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        // A start is tried all the same: if it fails, it says why.
        Ok(())
    }

    /// Reads the kernel's counts and takes note of them, so that one kill explains one death.
    async fn cause(&self, session: &Session, runtime: &mut Runtime) -> Cause {
        let stats = match self.on_runtime(&session.jail, |jails, jail| jails.stats(jail)).await {
            Ok(stats) => stats.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(session = %session.id, %error, "cannot read a jail's counts");
                return Cause::Unknown;
            }
        };
        tracing::info!(session = %session.id, ?stats, known = runtime.oom_kills, "a tab or a browser died");
        let memory = stats.oom_kills > runtime.oom_kills;
        let processes = stats.pids_limit_hits > runtime.pids_hits;
        runtime.oom_kills = stats.oom_kills;
        runtime.pids_hits = stats.pids_limit_hits;
        match (memory, processes) {
            (true, _) => Cause::Memory,
            (false, true) => Cause::Processes,
            (false, false) => Cause::Unknown,
        }
    }

    /// Notices a browser that dies while nobody is using it.
    pub(super) async fn guard_browser(self: Arc<Self>, session: Arc<Session>) {
        loop {
            let mut closed = match session.runtime.lock().await.as_ref() {
                Some(runtime) => runtime.link.closed.clone(),
                None => return,
            };
            tokio::select! {
                // A sender that is gone means the same: there is no connection any more.
                _ = closed.wait_for(Option::is_some) => {}
                _ = session.until_ended() => return,
            }
            let ending = {
                let mut turn = session.runtime.lock().await;
                if session.ended().is_some() {
                    return;
                }
                match turn.as_mut() {
                    // Whoever had the turn has brought it back already.
                    Some(runtime) if runtime.link.is_alive() => None,
                    Some(runtime) => {
                        let (fault, end) = self.recover(&session, runtime).await;
                        runtime.untold = Some(fault);
                        end.and_then(|reason| self.declare_end(&session, reason))
                    }
                    None => return,
                }
            };
            if let Some(ending) = ending {
                return self.finish(ending).await;
            }
        }
    }
}

fn connection_restored() -> Fault {
    let message = "the connection to the browser broke and was made again; the page and its refs are as they were, \
                   and whether the action was done is not known";
    Fault::new(ErrorCode::ConnectionRestored, message)
        .hint("Read the page, and go on from there.")
        .retryable()
}
