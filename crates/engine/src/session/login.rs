//! Becoming somebody's: a grant is used, and logins go into a browser before anybody gets near it.

use super::{Registry, Session};
use crate::approvals::Given;
use crate::error::Fault;
use crate::error::{audit_fault, explain};
use crate::logins::{self, Released, Wanted};
use audit::{Event, EventKind, EventSubject};
use browser::{Browser, ProbePage, TimeLimit, UninitializedBrowser};
use egress::Egress;
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::{DomainPattern, Scope, first_match};
use std::sync::Arc;
use std::time::Duration;
use url::Url;
use vault::{ConsumedGrant, Issuer, SignInState};

/// How long it may take to fill a browser and to look whether the site knows its owner.
const PATIENCE: Duration = Duration::from_secs(30);

impl Session {
    /// The hosts whose logins are in the browser.
    pub fn signed_in_to(&self) -> Vec<String> {
        let logins = self.login.iter().flat_map(|released| &released.logins);
        logins.map(|login| login.credential.domain.to_string()).collect()
    }
}

impl Registry {
    /// Uses the grant; one that does not hold is on record.
    pub(super) async fn consume(
        &self,
        scope: &Scope,
        wanted: &Wanted,
        about: &EventSubject,
    ) -> Result<ConsumedGrant, Fault> {
        let consumed = self.logins.consume(scope, wanted).await;
        if let Err(fault) = &consumed {
            let event = Event::new(EventKind::GrantRefused, about.clone()).result(&fault.code.to_string());
            self.log.append(&event).await.map_err(audit_fault)?;
        }
        consumed
    }

    /// Opens what the grant is for, while the jail is being started. What is used is on record before it is put to use.
    pub(super) async fn release(
        &self,
        leave: ConsumedGrant,
        wanted: &Wanted,
        about: &EventSubject,
    ) -> Result<Released, Fault> {
        let used = told(&leave);
        let on_record = async {
            if leave.issuer() == Issuer::Policy {
                let issued = Event::new(EventKind::GrantIssued, about.clone()).detail(&used);
                self.log.append(&issued).await?;
            }
            self.log.append(&Event::new(EventKind::GrantUsed, about.clone()).detail(&used)).await
        };
        if let Err(error) = on_record.await {
            self.logins.give_back(leave).await;
            return Err(audit_fault(error));
        }
        let released = self.logins.release(leave, wanted).await;
        if let Err(fault) = &released {
            let event = Event::new(EventKind::GrantReturned, about.clone())
                .detail(&used)
                .result(&fault.code.to_string());
            self.log.append(&event).await.map_err(audit_fault)?;
        }
        released
    }

    /// Nothing went into a browser.
    pub(super) async fn give_back(&self, released: Released, about: &EventSubject) {
        let leave = released.into_leave();
        let event = Event::new(EventKind::GrantReturned, about.clone()).detail(&told(&leave));
        self.logins.give_back(leave).await;
        if let Err(error) = self.log.append(&event).await {
            tracing::warn!(%error, "that a grant was given back is not on record");
        }
    }

    /// Fills a browser, and hands it out if each site that can tell says that it is signed in.
    pub(super) async fn inject(
        &self,
        blank: UninitializedBrowser,
        released: &Released,
        egress: Option<&Egress>,
        about: &EventSubject,
    ) -> Result<Browser, Fault> {
        let injection = logins::injection(released, Timestamp::now())?;
        let probes = logins::probes(released);
        let pages = probes.iter().map(|(.., url)| ProbePage { url: url.clone() }).collect();
        let filled = blank.inject_and_probe(injection, pages, TimeLimit::new(PATIENCE)).await;
        let (browser, seen) = filled.map_err(|error| leads_away(explain(error, egress)))?;
        let on_record = async {
            for login in &released.logins {
                let detail =
                    format!("{} of {} by grant {}", login.id, login.credential.domain, released.jti());
                let event = Event::new(EventKind::CredentialInjected, about.clone()).detail(&detail);
                self.log.append(&event).await.map_err(audit_fault)?;
            }
            Ok::<_, Fault>(())
        };
        let ((), on_record) = tokio::join!(self.logins.note_injected(released), on_record);
        on_record?;
        for ((login, probe, _), seen) in probes.iter().zip(&seen) {
            let path = Url::parse(&seen.final_url).map(|url| url.path().to_owned()).unwrap_or_default();
            if probe.evaluate(&path, &seen.text) == SignInState::SignedOut {
                let domain = login.credential.domain.as_str();
                let event = Event::new(EventKind::CredentialExpired, about.clone());
                let event = event.detail(&format!("{} of {domain}", login.id));
                self.log.append(&event).await.map_err(audit_fault)?;
                return Err(logins::expired(domain, "the site does not know its owner any more"));
            }
        }
        Ok(browser)
    }

    /// Where a signed-in session is at home: its sites, and what the operator set beside them.
    pub(super) fn home(&self, leave: &ConsumedGrant) -> Vec<DomainPattern> {
        logins::home(leave).into_iter().chain(self.settings.also_home.iter().cloned()).collect()
    }

    /// The proxy's rules for a session: one that is signed in reaches its home, and where a person let it go.
    pub(super) fn rules(&self, home: Option<&Vec<DomainPattern>>, given: &Arc<Given>) -> Arc<egress::Rules> {
        let Some(home) = home.cloned() else { return self.settings.egress.clone() };
        let given = given.clone();
        Arc::new(self.settings.egress.restricted_to(move |host| {
            first_match(&home, host).is_some() || first_match(&given.domains(), host).is_some()
        }))
    }
}

/// Which grant, whose and what for.
fn told(leave: &ConsumedGrant) -> String {
    let hosts: Vec<String> = leave.hosts().iter().map(ToString::to_string).collect();
    format!("grant {} of {} for {}", leave.jti(), leave.operator(), hosts.join(", "))
}

/// A site that sends its owner elsewhere to be let in does not know them.
fn leads_away(fault: Fault) -> Fault {
    match fault.code {
        ErrorCode::EgressNotHome => {
            logins::expired("this session", &format!("the site leads elsewhere to log in: {}", fault.message))
        }
        _ => fault,
    }
}
