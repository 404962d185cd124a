//! Becoming somebody's: a grant is used, and logins go into a browser before anybody gets near it.

use super::{Registry, Session};
use crate::approvals::Given;
use crate::error::Fault;
use crate::gate::{audit_fault, explain};
use crate::logins::{self, Released, Wanted};
use audit::{About, Event, EventKind};
use browser::{Blank, Browser, ProbePage, TimeLimit};
use egress::Egress;
use jiff::Timestamp;
use policy::{DomainPattern, Scope, listed};
use std::sync::Arc;
use std::time::Duration;
use url::Url;
use vault::Verdict;

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
    /// Uses the grant, on record whether it is good or not.
    pub(super) async fn redeem(
        &self,
        scope: &Scope,
        wanted: &Wanted,
        about: &About,
    ) -> Result<Released, Fault> {
        let redeemed = self.logins.redeem(scope, wanted).await;
        let event = match &redeemed {
            Ok(released) => Event::new(EventKind::GrantUsed, about.clone()).detail(&told(released)),
            Err(fault) => Event::new(EventKind::GrantRefused, about.clone()).result(&fault.code),
        };
        match (redeemed, self.log.append(&event).await) {
            (Ok(released), Err(error)) => {
                self.logins.give_back(released.into_leave()).await;
                Err(audit_fault(error))
            }
            (redeemed, _) => redeemed,
        }
    }

    /// Nothing went into a browser.
    pub(super) async fn give_back(&self, released: Released, about: &About) {
        let event = Event::new(EventKind::GrantReturned, about.clone()).detail(&told(&released));
        self.logins.give_back(released.into_leave()).await;
        if let Err(error) = self.log.append(&event).await {
            tracing::warn!(%error, "that a grant was given back is not on record");
        }
    }

    /// Fills a browser, and hands it out if each site that can tell says that it is signed in.
    pub(super) async fn inject(
        &self,
        blank: Blank,
        released: &Released,
        egress: &Egress,
        about: &About,
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
            if probe.judge(&path, &seen.text) == Verdict::SignedOut {
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
    pub(super) fn home(&self, released: &Released) -> Vec<DomainPattern> {
        released.home().into_iter().chain(self.settings.also_home.iter().cloned()).collect()
    }

    /// The proxy's rules for a session: one that is signed in reaches its home, and where a person let it go.
    pub(super) fn rules(&self, home: Option<&Vec<DomainPattern>>, given: &Arc<Given>) -> Arc<egress::Rules> {
        let Some(home) = home.cloned() else { return self.settings.egress.clone() };
        let given = given.clone();
        Arc::new(
            self.settings.egress.at_home(move |host| {
                listed(&home, host).is_some() || listed(&given.domains(), host).is_some()
            }),
        )
    }
}

/// Which grant, whose and what for.
fn told(released: &Released) -> String {
    let hosts: Vec<String> = released.hosts().iter().map(ToString::to_string).collect();
    format!("grant {} of {} for {}", released.jti(), released.operator(), hosts.join(", "))
}

/// A site that sends its owner elsewhere to be let in does not know them.
fn leads_away(fault: Fault) -> Fault {
    match fault.code.as_ref() {
        "egress_not_home" => {
            logins::expired("this session", &format!("the site leads elsewhere to log in: {}", fault.message))
        }
        _ => fault,
    }
}
