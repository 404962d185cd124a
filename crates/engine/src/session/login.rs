//! Signs a session in: consumes the grant and injects the credentials before the agent can use the browser.

use super::sites::{SessionSites, SiteList};
use super::{OpenRequest, Registry, Session, SessionEffects};
use crate::approvals::SessionAllowances;
use crate::error::Fault;
use crate::error::{audit_fault, explain};
use crate::logins::{self, LoginRequest, ReleasedCredentials, SessionSecrets, UnreplacedPlaceholder};
use audit::{Event, EventKind, EventSubject};
use browser::{Browser, EffectInterception, EffectLimits, ProbePage, TimeLimit, UninitializedBrowser};
use egress::Egress;
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::{DomainPattern, Endpoint, Scope};
use redact::{Redacted, redacted};
use std::sync::Arc;
use std::time::Duration;
use url::Url;
use vault::{ConsumedGrant, Issuer, SignInState};

/// How long it may take to fill a browser and to look whether the site knows its owner.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Session {
    /// The ids of the credentials that are in the browser. For operators: agents know sites, not ids.
    pub fn credential_ids(&self) -> Vec<Redacted> {
        let logins = self.login.iter().flat_map(|released| &released.logins);
        logins.map(|login| Redacted::from_safe(&login.id)).collect()
    }

    /// The hosts whose logins are in the browser.
    pub fn signed_in_to(&self) -> Vec<Redacted> {
        let logins = self.login.iter().flat_map(|released| &released.logins);
        logins.map(|login| Redacted::from_safe(&login.credential.domain)).collect()
    }
}

impl Session {
    /// Logins whose secrets are in the browser itself.
    pub fn unsealed(&self) -> Vec<Redacted> {
        let logins = self.login.iter().flat_map(|released| &released.logins);
        let open = logins.filter(|login| !login.credential.is_sealed);
        open.map(|login| Redacted::from_safe(&login.credential.domain)).collect()
    }

    /// Logins whose traffic the proxy does not read.
    pub fn unintercepted(&self) -> Vec<Redacted> {
        let logins = self.login.iter().flat_map(|released| released.unintercepted());
        logins.map(|login| Redacted::from_safe(&login.credential.domain)).collect()
    }

    /// What is weaker than usual in this session, in words.
    pub fn notes(&self) -> Vec<Redacted> {
        let in_browser = |site| {
            redacted!(
                "effects of {} are decided in the browser; a compromised renderer could evade that",
                site
            )
        };
        self.unintercepted().into_iter().map(in_browser).collect()
    }

    /// Where placeholders were sent and not replaced.
    pub fn unreplaced_placeholders(&self) -> Vec<UnreplacedPlaceholder> {
        self.login.as_ref().map(|released| released.unreplaced(&|text| self.redact(text))).unwrap_or_default()
    }
}

impl Registry {
    /// Keeps the places where placeholders were not replaced, for `credential show`.
    pub(super) async fn keep_places(&self, session: &Session) {
        let Some(released) = &session.login else { return };
        for (id, places) in released.allowable_places() {
            let noted =
                self.logins.store.note_places(&session.scope.tenant, &id, &places, Timestamp::now()).await;
            if let Err(error) = noted {
                tracing::warn!(%error, credential = %id, "where placeholders were sent is not noted");
            }
        }
    }

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
        effects: Option<&SessionEffects>,
    ) -> Result<Browser, Fault> {
        let mut injection = logins::injection(released, Timestamp::now())?;
        injection.effects = effects.and_then(|effects| decided_in_browser(released, effects));
        match egress {
            Some(egress) if released.sealed.is_intercepting => {
                egress.set_seal(Arc::clone(&released.sealed.seal));
            }
            None if released.sealed.is_needed() => return Err(sealing_unavailable()),
            _ => {}
        }
        let probes = logins::probes(released);
        probes.iter().for_each(|(.., url)| released.sealed.seal.announce_navigation(url.as_str()));
        let pages = probes.iter().map(|(.., url)| ProbePage { url: url.clone() }).collect();
        let filled = blank.inject_and_probe(injection, pages, TimeLimit::new(TIMEOUT)).await;
        let (browser, seen) =
            filled.map_err(|error| explain_redirect(explain(error, egress, &|text| secrets.redact(text))))?;
        let on_record = async {
            for login in &released.logins {
                let (id, domain, jti) = (&login.id, &login.credential.domain, released.jti());
                let form = match &login.credential {
                    credential if credential.is_sealed => "sealed",
                    credential if credential.is_intercepted => "not sealed",
                    _ => "not sealed, effects decided in the browser",
                };
                let detail = Redacted::outside_sessions(format!("{id} of {domain} by grant {jti}, {form}"));
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
                return Err(logins::expired(&login.credential.domain, "the site shows a signed-out page"));
            }
        }
        Ok(browser)
    }

    /// The lists of a new session. A signed-in one is kept to its granted sites; a clean one to the operator's list, and
    /// to the one that the agent asked for.
    pub(super) fn sites(&self, request: &OpenRequest, allowances: &Arc<SessionAllowances>) -> SessionSites {
        if request.login.is_some() {
            return SessionSites::signed_in(allowances.clone());
        }
        let asked = (!request.domains.is_empty()).then(|| SiteList {
            navigation: request.domains.clone(),
            resources: self.settings.resources.clone(),
        });
        let lists = self.settings.sites.iter().cloned().chain(asked).collect();
        SessionSites::clean(lists, allowances.clone())
    }

    /// The sites that a signed-in session may reach: the granted ones and the configured extra ones.
    pub(super) fn home(&self, released: &ReleasedCredentials) -> Vec<DomainPattern> {
        logins::home(released).into_iter().chain(self.settings.also_home.iter().cloned()).collect()
    }

    /// The proxy's rules for a session. This machine's addresses are looked up for each, because they change.
    pub(super) fn rules(&self, sites: &Arc<SessionSites>) -> Result<Arc<egress::Rules>, Fault> {
        let own = egress::own_addresses().map_err(|error| {
            Fault::io(ErrorCode::Internal, "cannot list this machine's addresses", &error)
        })?;
        let rules = self.settings.egress.refusing(own);
        if sites.is_open() {
            return Ok(Arc::new(rules));
        }
        let sites = sites.clone();
        Ok(Arc::new(rules.restricted_to(move |site| sites.check(site))))
    }

    /// Why a site that a person would be asked about cannot be reached anyway. Nothing is looked up.
    pub(crate) fn unreachable_site(&self, domain: &DomainPattern) -> Option<Fault> {
        // The proxy lists this machine's addresses again, and serves nothing if it cannot.
        let rules = self.settings.egress.refusing(egress::own_addresses().unwrap_or_default());
        let endpoints = domain.endpoints();
        let refused =
            |endpoint: &Endpoint| Some((rules.refusal(&endpoint.host, endpoint.port)?, endpoint.port));
        let refusals: Option<Vec<_>> = endpoints.iter().map(refused).collect();
        let (reason, port) = refusals?.into_iter().next()?;
        let host = endpoints.first().map(|endpoint| endpoint.host.as_str()).unwrap_or_default();
        let message = Redacted::outside_sessions(reason.message(host, port));
        Some(Fault::new(reason.code(), message).hint(reason.hint()).retryable_if(reason.retryable()))
    }
}

/// Describes a grant for the audit log: id, operator and hosts.
fn describe(grant: &ConsumedGrant) -> Redacted {
    let hosts: Vec<String> = grant.hosts().iter().map(ToString::to_string).collect();
    let (jti, operator, hosts) = (grant.jti(), grant.operator(), hosts.join(", "));
    Redacted::outside_sessions(format!("grant {jti} of {operator} for {hosts}"))
}

/// The part of a session's effects that the driver holds, with the bounds of the proxy.
fn decided_in_browser(
    released: &ReleasedCredentials,
    effects: &SessionEffects,
) -> Option<EffectInterception> {
    let sites = released.sites_decided_in_browser();
    let bounds = egress::Options::default();
    if !sites.is_empty() {
        effects.set_sites_in_browser(&sites);
    }
    (!sites.is_empty()).then(|| EffectInterception {
        gate: Arc::new(effects.clone()),
        sites,
        limits: EffectLimits {
            max_body_bytes: bounds.max_effect_bytes,
            max_held: bounds.max_held,
            max_held_bytes: bounds.max_held_bytes,
            room_timeout: bounds.held_room_timeout,
        },
    })
}

/// The fault of a provider whose traffic does not pass our proxy: the browser would get the secrets themselves.
fn sealing_unavailable() -> Fault {
    Fault::new(
        ErrorCode::InjectionFailed,
        "this provider's traffic does not pass the egress proxy, so credentials cannot be sealed",
    )
    .hint("Use the sandbox provider, or have the operator store the credential with `sealed: false`.")
}

/// Explains a redirect to another site during the probe as an expired login.
fn explain_redirect(fault: Fault) -> Fault {
    match fault.code {
        ErrorCode::EgressNotHome => logins::expired(
            "this session",
            redacted!("the site redirects to another site to log in: {}", fault.message),
        ),
        _ => fault,
    }
}
