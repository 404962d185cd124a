//! Recovery from a crashed tab or browser: explains the cause and restarts the browser.

use super::session_browser::{BrowserLink, SessionBrowser};
use super::{EndFault, EndReason, Registry, Session};
use crate::error::Fault;
use crate::provider::{BrowserConnection, CrashCause};
use browser::{Browser, Resumed, UninitializedBrowser};
use egress::Egress;
use error_code::ErrorCode;
use redact::redacted;
use std::sync::Arc;

impl Registry {
    /// Explains a crashed tab and opens a new one. If Chromium cannot open any, it is restarted or the session ends.
    ///
    /// The caller holds the turn, so nothing else uses the browser.
    pub(crate) async fn recover_tab(
        &self,
        session: &Arc<Session>,
        active: &mut SessionBrowser,
    ) -> (Fault, Option<EndReason>) {
        let cause = active.provided.crash_cause().await;
        // A new tab may meet the limit that the old one met. The next call tries again, and explains it.
        if let Err(error) = active.link.browser.replace_crashed_tab().await
            && cause == CrashCause::Unknown
        {
            tracing::warn!(session = %session.id, %error, "the browser cannot open tabs any more; restarting it");
            if active.link.is_alive() && !active.link.browser.terminate().await {
                return (EndReason::BrowserLost.fault(&session.id), Some(EndReason::BrowserLost));
            }
            return self.recover(session, active).await;
        }
        (explain_crash(cause), None)
    }

    /// Restarts a dead browser or ends the session. Returns the fault for the caller.
    ///
    /// The caller holds the turn, so nothing else uses the browser.
    pub(crate) async fn recover(
        &self,
        session: &Arc<Session>,
        active: &mut SessionBrowser,
    ) -> (Fault, Option<EndReason>) {
        let why = match active.provided.crash_cause().await {
            CrashCause::Memory => {
                return (EndReason::OutOfMemory.fault(&session.id), Some(EndReason::OutOfMemory));
            }
            CrashCause::Processes => "of the limit on its processes and threads ",
            CrashCause::Unknown => "",
        };
        while active.restarts_left > 0 {
            active.restarts_left -= 1;
            match self.restart(session, active).await {
                Ok(true) => {
                    tracing::warn!(session = %session.id, left = active.restarts_left, "browser found again");
                    return (connection_restored(), None);
                }
                Ok(false) => {
                    tracing::warn!(session = %session.id, left = active.restarts_left, "browser restarted");
                    let fault = Fault::new(
                        ErrorCode::BrowserRestarted,
                        redacted!("the browser died {}and was started again; its pages are gone", why),
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

    /// Reconnects or restarts. Returns whether the tab survived.
    async fn restart(&self, session: &Session, active: &mut SessionBrowser) -> Result<bool, Fault> {
        let BrowserConnection { cdp, closed, keepalive } = active.provided.reconnect().await?;
        let resumed = active.link.browser.resume(cdp).await;
        let (browser, same_tab) =
            match resumed.map_err(|error| Fault::of_browser(&error, &|text| session.redact(text)))? {
                Resumed::SameTab(browser) => (browser, true),
                Resumed::NewTab(browser) => (browser, false),
                Resumed::NewChromium(blank) => {
                    (self.reinject(blank, session, active.provided.egress()).await?, false)
                }
            };
        active.link = BrowserLink { browser, closed, _keepalive: keepalive };
        Ok(same_tab)
    }

    /// Prepares a new Chromium as the session was opened: clean, or with its logins injected again.
    async fn reinject(
        &self,
        blank: UninitializedBrowser,
        session: &Session,
        egress: Option<&Egress>,
    ) -> Result<Browser, Fault> {
        let Some(released) = &session.login else { return Ok(blank.without_credentials()) };
        if self.logins.grants.is_revoked(released.jti()).await? {
            return Err(Fault::from(vault::VaultError::GrantRevoked { jti: released.jti().to_owned() }));
        }
        let about = session.event_subject();
        self.inject(blank, released, egress, &about, &session.secrets, session.effects()).await
    }

    /// Restarts a browser that dies while idle.
    pub(super) async fn guard_browser(self: Arc<Self>, session: Arc<Session>) {
        loop {
            let mut closed = match session.active.lock().await.as_ref() {
                Some(active) => active.link.closed.clone(),
                None => return,
            };
            tokio::select! {
                // A dropped sender also means that the connection is closed.
                _ = closed.wait_for(Option::is_some) => {}
                _ = session.until_ended() => return,
            }
            let ending = {
                let mut turn = session.active.lock().await;
                if session.ended().is_some() {
                    return;
                }
                match turn.as_mut() {
                    // The last holder of the turn has restarted it already.
                    Some(active) if active.link.is_alive() => None,
                    Some(active) => {
                        let (fault, end) = self.recover(&session, active).await;
                        active.unreported = Some(fault);
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
    let message = "the connection to the browser broke and was restored; the page and its refs are unchanged, \
                   and whether the action was done is unknown";
    Fault::new(ErrorCode::ConnectionRestored, message)
        .hint("Read the page, and continue from there.")
        .retryable()
}

/// The fault of a crashed tab. The session goes on with a new one.
fn explain_crash(cause: CrashCause) -> Fault {
    match cause {
        CrashCause::Memory => Fault::new(
            ErrorCode::TabOutOfMemory,
            "the page used more memory than the jail may have; its tab is gone",
        )
        .hint("The next call works in a new, empty tab. Avoid that page, or raise `container.memory_limit`."),
        CrashCause::Processes => Fault::new(
            ErrorCode::TabProcessLimit,
            "the page started more threads than the jail may have; its tab is gone",
        )
        .hint("The next call works in a new, empty tab. Avoid that page, or raise `container.pids`."),
        CrashCause::Unknown => Fault::new(ErrorCode::TabCrashed, "the page's tab crashed")
            .hint("The next call works in a new, empty tab. Navigate again; if it crashes again, avoid that page.")
            .retryable(),
    }
}
