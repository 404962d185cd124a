//! Collects the secrets that sites issue to a signed-in session, before anything of it is returned or recorded. Also
//! detects a page that shows the session as signed out.

use super::Gate;
use crate::error::Fault;
use crate::error::audit_fault;
use crate::logins::{self, site_issued};
use crate::session::{Session, Turn};
use audit::{Event, EventKind};
use browser::{BrowserError, Content, Outcome, TimeLimit};
use jiff::Timestamp;
use policy::{Action, Origin};
use redact::redacted;
use std::time::Duration;
use url::Url;

/// Time limit for reading cookies and storage. A page cannot delay it.
const TIMEOUT: Duration = Duration::from_secs(5);

impl Gate {
    /// Adds newly issued secrets to those that are redacted. A clean session has none.
    pub(super) async fn collect_site_secrets(
        &self,
        session: &Session,
        turn: &Turn<'_>,
    ) -> Result<(), BrowserError> {
        let Some(released) = &session.login else { return Ok(()) };
        if !turn.active.link.is_alive() {
            return Ok(());
        }
        let origins: Vec<Origin> =
            released.logins.iter().map(|login| login.credential.origin.clone()).collect();
        let mut found =
            turn.active.link.browser.collect_site_issued_secrets(&origins, TimeLimit::new(TIMEOUT)).await?;
        session.secrets.seal(site_issued::unseal(released, &mut found));
        if found.missed {
            tracing::warn!(session = %session.id, "not all secrets that sites issued could be collected");
        }
        session.secrets.add_issued(site_issued::secrets(&found));
        for (number, cookies) in site_issued::rotated(released, &found) {
            let Some(login) = released.logins.get(number) else { continue };
            let values = cookies.iter().map(|cookie| cookie.value.text.duplicate()).collect();
            if !session.secrets.note_rotation(number, values) {
                continue;
            }
            let (tenant, domain) = (&session.scope.tenant, &login.credential.domain);
            let store = &self.sessions.logins().store;
            let stored = store.keep_rotated(tenant, &login.id, domain, cookies, Timestamp::now()).await;
            if let Err(error) = stored {
                // The session continues: the stored credential is unchanged.
                tracing::warn!(%error, credential = %login.id, "cookies that a site rotated are not kept");
            }
        }
        Ok(())
    }

    /// Tells the proxy that a navigation is the agent's: over plain HTTP nothing else does.
    pub(super) fn announce_navigation(&self, session: &Session, turn: &Turn<'_>, action: &Action) {
        let Some(released) = &session.login else { return };
        let seal = &released.sealed.seal;
        match action {
            Action::Navigate(navigate) => seal.announce_navigation(navigate.url.as_str()),
            Action::Reload => seal.announce_navigation(&turn.active.link.browser.state().url),
            Action::Back | Action::Forward => seal.announce_history(),
            _ => {}
        }
    }

    /// Fails with `credential_expired` the first time that a page shows the session as signed out.
    pub(super) async fn check_signed_in(
        &self,
        session: &Session,
        url: &str,
        outcome: &Outcome,
    ) -> Result<(), Fault> {
        let Some(released) = &session.login else { return Ok(()) };
        let Ok(address) = Url::parse(url) else { return Ok(()) };
        let origin = Origin::of(url);
        let text = text_of(outcome).unwrap_or_default();
        for login in released.logins.iter().filter(|login| login.credential.origin == origin) {
            let probe = login.credential.probe.as_ref();
            if !probe.is_some_and(|probe| probe.shows_signed_out(address.path(), text)) {
                continue;
            }
            if !session.flag_once("credential_expired") {
                continue;
            }
            let about = session.event_subject();
            let event = Event::new(EventKind::CredentialExpired, about).detail(redacted!(
                "{} of {}",
                login.id,
                login.credential.domain
            ));
            self.log.append(&event).await.map_err(audit_fault)?;
            return Err(logins::expired(&login.credential.domain, "the site shows its signed-out page"));
        }
        Ok(())
    }
}

fn text_of(outcome: &Outcome) -> Option<&str> {
    let snapshot = match outcome {
        Outcome::Navigated { snapshot, .. } | Outcome::Read(snapshot) => snapshot,
        Outcome::Acted(after) => after.snapshot.as_ref()?,
        _ => return None,
    };
    Some(match &snapshot.content {
        Content::Outline(text) | Content::Markdown(text) | Content::Changes { text, .. } => text,
        Content::Tree(tree) => &tree.text_content,
    })
}
