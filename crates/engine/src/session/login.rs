//! Signs a session in: consumes the grant and injects the credentials before the agent can use the browser.

use super::{Registry, Session};
use crate::approvals::SessionAllowances;
use crate::error::Fault;
use crate::error::{audit_fault, explain};
use crate::logins::{self, LoginRequest, ReleasedCredentials, SessionSecrets};
use audit::{Event, EventKind, EventSubject};
use browser::{Browser, ProbePage, TimeLimit, UninitializedBrowser};
use egress::Egress;
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::{DomainPattern, Scope, first_match};
use redact::{Redacted, redacted};
use std::sync::Arc;
use std::time::Duration;
use url::Url;
use vault::{ConsumedGrant, Issuer, SignInState};

/// How long it may take to fill a browser and to look whether the site knows its owner.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Session {
    /// The hosts whose logins are in the browser.
    pub fn signed_in_to(&self) -> Vec<Redacted> {
        let logins = self.login.iter().flat_map(|released| &released.logins);
        logins.map(|login| Redacted::from_safe(&login.credential.domain)).collect()
    }
}

impl Registry {
    /// Consumes the grant. Records a refused one.
    pub(super) async fn consume(
        &self,
        scope: &Scope,
        request: &LoginRequest,
        about: &EventSubject,
    ) -> Result<ConsumedGrant, Fault> {
        let consumed = self.logins.consume(scope, request).await;
        if let Err(fault) = &consumed {
            let event =
                Event::new(EventKind::GrantRefused, about.clone()).result(Redacted::from_safe(&fault.code));
            self.log.append(&event).await.map_err(audit_fault)?;
        }
        consumed
    }

    /// Opens the granted credentials while the jail starts. Records the use of the grant first.
    pub(super) async fn release(
        &self,
        grant: ConsumedGrant,
        request: &LoginRequest,
        about: &EventSubject,
    ) -> Result<ReleasedCredentials, Fault> {
        let used = describe(&grant);
        let on_record = async {
            if grant.issuer() == Issuer::Policy {
                let issued = Event::new(EventKind::GrantIssued, about.clone()).detail(used.clone());
                self.log.append(&issued).await?;
            }
            self.log.append(&Event::new(EventKind::GrantUsed, about.clone()).detail(used.clone())).await
        };
        if let Err(error) = on_record.await {
            self.logins.restore_grant(grant).await;
            return Err(audit_fault(error));
        }
        let released = self.logins.release(grant, request).await;
        if let Err(fault) = &released {
            let event = Event::new(EventKind::GrantReturned, about.clone())
                .detail(used)
                .result(Redacted::from_safe(&fault.code));
            self.log.append(&event).await.map_err(audit_fault)?;
        }
        released
    }

    /// Restores the grant, because nothing was injected.
    pub(super) async fn restore_grant(&self, released: ReleasedCredentials, about: &EventSubject) {
        let grant = released.into_grant();
        let event = Event::new(EventKind::GrantReturned, about.clone()).detail(describe(&grant));
        self.logins.restore_grant(grant).await;
        if let Err(error) = self.log.append(&event).await {
            tracing::warn!(%error, "that a grant was given back is not on record");
        }
    }

    /// Injects the credentials and returns the browser if every probe shows the site as signed in.
    pub(super) async fn inject(
        &self,
        blank: UninitializedBrowser,
        released: &ReleasedCredentials,
        egress: Option<&Egress>,
        about: &EventSubject,
        secrets: &SessionSecrets,
    ) -> Result<Browser, Fault> {
        let injection = logins::injection(released, Timestamp::now())?;
        let probes = logins::probes(released);
        let pages = probes.iter().map(|(.., url)| ProbePage { url: url.clone() }).collect();
        let filled = blank.inject_and_probe(injection, pages, TimeLimit::new(TIMEOUT)).await;
        let (browser, seen) =
            filled.map_err(|error| explain_redirect(explain(error, egress, &|text| secrets.redact(text))))?;
        let on_record = async {
            for login in &released.logins {
                let (id, domain, jti) = (&login.id, &login.credential.domain, released.jti());
                let detail = Redacted::outside_sessions(format!("{id} of {domain} by grant {jti}"));
                let event = Event::new(EventKind::CredentialInjected, about.clone()).detail(detail);
                self.log.append(&event).await.map_err(audit_fault)?;
            }
            Ok::<_, Fault>(())
        };
        let ((), on_record) = tokio::join!(self.logins.note_injected(released), on_record);
        on_record?;
        for ((login, probe, _), seen) in probes.iter().zip(&seen) {
            let path = Url::parse(&seen.final_url).map(|url| url.path().to_owned()).unwrap_or_default();
            if probe.evaluate(&path, &seen.text) == SignInState::SignedOut {
                let event = Event::new(EventKind::CredentialExpired, about.clone());
                let event = event.detail(redacted!("{} of {}", login.id, login.credential.domain));
                self.log.append(&event).await.map_err(audit_fault)?;
                return Err(logins::expired(
                    &login.credential.domain,
                    "the site does not know its owner any more",
                ));
            }
        }
        Ok(browser)
    }

    /// The sites that a signed-in session may reach: the granted ones and the configured extra ones.
    pub(super) fn home(&self, grant: &ConsumedGrant) -> Vec<DomainPattern> {
        logins::home(grant).into_iter().chain(self.settings.also_home.iter().cloned()).collect()
    }

    /// The proxy's rules for a session. A signed-in session reaches its own sites and those that a person allowed.
    pub(super) fn rules(
        &self,
        home: Option<&Vec<DomainPattern>>,
        allowances: &Arc<SessionAllowances>,
    ) -> Arc<egress::Rules> {
        let Some(home) = home.cloned() else { return self.settings.egress.clone() };
        let allowances = allowances.clone();
        Arc::new(self.settings.egress.restricted_to(move |host| {
            first_match(&home, host).is_some() || first_match(&allowances.domains(), host).is_some()
        }))
    }
}

/// Describes a grant for the audit log: id, operator and hosts.
fn describe(grant: &ConsumedGrant) -> Redacted {
    let hosts: Vec<String> = grant.hosts().iter().map(ToString::to_string).collect();
    let (jti, operator, hosts) = (grant.jti(), grant.operator(), hosts.join(", "));
    Redacted::outside_sessions(format!("grant {jti} of {operator} for {hosts}"))
}

/// Explains a redirect to another site during the probe as an expired login.
fn explain_redirect(fault: Fault) -> Fault {
    match fault.code {
        ErrorCode::EgressNotHome => logins::expired(
            "this session",
            redacted!("the site leads elsewhere to log in: {}", fault.message),
        ),
        _ => fault,
    }
}
