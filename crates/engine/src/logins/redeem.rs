//! Redeems a grant: consumes it and opens the credentials that it covers.

use super::Logins;
use super::sealing::{SealedLogins, granted_site};
use crate::error::Fault;
use browser::DecidedSite;
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::{Access, DomainPattern, Endpoint, Name, Scope, WebScheme};
use redact::{Secret, redacted};
use std::time::Duration;
use vault::{
    ConsumedGrant, Credential, CredentialId, GrantRequest, GrantToken, GrantedHost, Host, Issuer, VaultError,
    with_timeout,
};

/// Lifetime of a grant issued by policy. It is issued for one session and consumed at once.
const POLICY_GRANT_LIFETIME: Duration = Duration::from_secs(120);
/// Time limit of a database call. Longer than connecting plus waiting for another writer.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The logins that an agent requests for a session.
#[derive(Default)]
pub struct LoginRequest {
    /// The grant token. Without one, a standing grant in the configuration applies.
    pub grant: Option<Secret>,
    pub hosts: Vec<Host>,
    /// Credentials by id, where the id is not the host.
    pub credentials: Vec<CredentialId>,
    /// Less access than was granted; what was granted if absent.
    pub access: Option<Access>,
}

/// Credentials that a grant released. They are injected before the agent can use the browser, and again after a restart.
pub struct ReleasedCredentials {
    grant: ConsumedGrant,
    access: Access,
    pub logins: Vec<Login>,
    /// The placeholders of the sealed ones, the same for every browser of the session.
    pub sealed: SealedLogins,
}

pub struct Login {
    pub id: CredentialId,
    pub credential: Credential,
}

impl ReleasedCredentials {
    pub fn jti(&self) -> &str {
        self.grant.jti()
    }

    pub fn into_grant(self) -> ConsumedGrant {
        self.grant
    }

    pub fn hosts(&self) -> &[GrantedHost] {
        self.grant.hosts()
    }

    /// What the session may do on the granted sites without asking: what was granted, or the less that the agent asked
    /// for.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The origins whose traffic the egress proxy does not read, by their credentials' `intercept: false`.
    pub fn unintercepted(&self) -> impl Iterator<Item = &Login> {
        self.logins.iter().filter(|login| !login.credential.is_intercepted)
    }

    /// The same as sites, each with its subdomains if the operator granted them. Requests to them are decided on in the
    /// browser. Those that the proxy intercepts for another credential are not among them.
    pub fn sites_decided_in_browser(&self) -> Vec<DecidedSite> {
        let seal = &self.sealed.seal;
        let credentials = self.unintercepted().map(|login| &login.credential);
        let open = credentials.filter(|credential| !seal.intercepts(&credential.origin));
        let site = |credential: &Credential| {
            let own = Endpoint::of(credential.origin.as_str())?;
            let granted = granted_site(&credential.domain, self.hosts());
            let host = granted.map_or(own.host.as_str(), Host::as_str);
            let endpoint = Endpoint::new(own.scheme, host, own.port);
            Some(DecidedSite { endpoint, with_subdomains: granted.is_some() })
        };
        open.filter_map(site).collect()
    }
}

/// The narrower of two accesses.
fn narrower(one: Access, other: Access) -> Access {
    let is_within = Access::ALL.into_iter().find(|access| *access == one || *access == other);
    is_within.unwrap_or(Access::Read)
}

/// The granted sites as patterns with scheme and port, for the policy and the proxy: a cookie knows neither, so a server
/// on another port of the host would receive it. Scheme and port are those of the credential's origin; a granted host
/// without a released credential has the usual ones.
pub fn home(released: &ReleasedCredentials) -> Vec<DomainPattern> {
    let mut patterns = Vec::new();
    for granted in released.hosts() {
        let names = match granted {
            GrantedHost::Host(host) => vec![host.to_string()],
            GrantedHost::Site(site) => vec![site.to_string(), format!("*.{site}")],
        };
        let credentials = released.logins.iter().map(|login| &login.credential);
        let mut origins: Vec<(WebScheme, u16)> = credentials
            .filter(|credential| granted.covers(&credential.domain))
            .filter_map(|credential| Endpoint::of(credential.origin.as_str()))
            .map(|endpoint| (endpoint.scheme, endpoint.port))
            .collect();
        origins.dedup();
        for name in &names {
            if origins.is_empty() {
                patterns.extend(DomainPattern::parse(name));
            }
            let at = |(scheme, port): &(WebScheme, u16)| format!("{}://{name}:{port}", scheme.as_str());
            patterns.extend(origins.iter().filter_map(|origin| DomainPattern::parse(&at(origin))));
        }
    }
    patterns
}

impl Logins {
    /// Consumes the grant.
    pub async fn consume(&self, scope: &Scope, request: &LoginRequest) -> Result<ConsumedGrant, Fault> {
        let token = match &request.grant {
            Some(token) => token.duplicate(),
            None => {
                Secret::new(self.issue_policy_grant(scope, &request.hosts).await?.expose_secret().to_owned())
            }
        };
        let (token, now) = (token.expose_secret(), Timestamp::now());
        let consumed = self.grants.consume(token, &scope.tenant, &request.hosts, now);
        let grant = with_timeout(consumed, TIMEOUT).await?;
        let granted = grant.access();
        match request.access {
            Some(asked) if narrower(asked, granted) != asked => {
                self.restore_grant(grant).await;
                Err(too_much_access(asked, granted))
            }
            _ => Ok(grant),
        }
    }

    /// The login that a standing grant of this agent offers for a host, if there is one.
    pub fn standing_login(&self, scope: &Scope, host: &Host) -> Option<LoginRequest> {
        let own = self.standing.iter().filter(|one| one.tenant == scope.tenant && one.actor == scope.actor);
        let covering = own.flat_map(|one| &one.hosts).find(|granted| granted.covers(host))?;
        let (GrantedHost::Host(named) | GrantedHost::Site(named)) = covering;
        Some(LoginRequest { hosts: vec![named.clone()], ..LoginRequest::default() })
    }

    /// Opens the granted credentials. Restores the grant if that fails.
    pub async fn release(
        &self,
        grant: ConsumedGrant,
        request: &LoginRequest,
    ) -> Result<ReleasedCredentials, Fault> {
        match self.open_credentials(&grant, request).await {
            Ok(logins) => {
                let sealed = SealedLogins::new(&logins, grant.hosts(), Timestamp::now());
                let access = request.access.map_or(grant.access(), |asked| narrower(asked, grant.access()));
                Ok(ReleasedCredentials { grant, access, logins, sealed })
            }
            Err(fault) => {
                self.restore_grant(grant).await;
                Err(fault)
            }
        }
    }

    /// Issues a grant from the agent's standing grants, for the requested hosts or for all.
    async fn issue_policy_grant(&self, scope: &Scope, hosts: &[Host]) -> Result<GrantToken, Fault> {
        let own = self.standing.iter().filter(|one| one.tenant == scope.tenant && one.actor == scope.actor);
        let is_wanted =
            |granted: &GrantedHost| hosts.is_empty() || hosts.iter().any(|host| granted.covers(host));
        let mut granted = Vec::new();
        // Of several standing grants the strictest decides: one session has one access.
        let mut access = Access::Full;
        for one in own {
            let wanted: Vec<GrantedHost> = one.hosts.iter().filter(|host| is_wanted(host)).cloned().collect();
            if !wanted.is_empty() {
                access = narrower(access, one.access);
                granted.extend(wanted);
            }
        }
        let is_covered = |host: &Host| granted.iter().any(|granted| granted.covers(host));
        if granted.is_empty() || !hosts.iter().all(is_covered) {
            return Err(grant_required());
        }
        let name = |text: &str| Name::parse(text).map_err(|error| Fault::caused(ErrorCode::Internal, &error));
        let request = GrantRequest {
            tenant: scope.tenant.clone(),
            issuer: Issuer::Policy,
            operator: name("settings")?,
            origin_session: name("standing")?,
            hosts: granted,
            lifetime: Some(POLICY_GRANT_LIFETIME),
            single_use: true,
            access,
        };
        Ok(with_timeout(self.grants.issue(request, Timestamp::now()), TIMEOUT).await?.0)
    }

    /// Checks right before injection that the grant was not revoked in the meantime.
    pub async fn confirm(&self, released: &ReleasedCredentials) -> Result<(), Fault> {
        Ok(with_timeout(self.grants.confirm(&released.grant, Timestamp::now()), TIMEOUT).await?)
    }

    /// Stores the time of injection with each credential.
    pub async fn note_injected(&self, released: &ReleasedCredentials) {
        let Ok(vault) = self.vault() else { return };
        for login in &released.logins {
            let noted = vault.note_injected(&released.grant, &login.id, Timestamp::now());
            let noted = with_timeout(noted, TIMEOUT).await;
            if let Err(error) = noted {
                tracing::warn!(%error, credential = %login.id, "that a credential was used is not noted beside it");
            }
        }
    }

    /// Makes the grant usable again, because nothing was injected.
    pub async fn restore_grant(&self, grant: ConsumedGrant) {
        let jti = grant.jti().to_owned();
        if let Err(error) = with_timeout(self.grants.restore(grant), TIMEOUT).await {
            tracing::warn!(%error, jti, "a grant stays used though nothing came of it");
        }
    }

    async fn open_credentials(
        &self,
        grant: &ConsumedGrant,
        request: &LoginRequest,
    ) -> Result<Vec<Login>, Fault> {
        let vault = self.vault()?;
        let mut logins = Vec::new();
        for id in ids(grant, request)? {
            let credential = vault.open_for_grant(grant, &id).await?;
            logins.push(Login { id, credential });
        }
        Ok(logins)
    }
}

/// The requested credentials: by id, else by host, else those of all granted hosts.
fn ids(grant: &ConsumedGrant, request: &LoginRequest) -> Result<Vec<CredentialId>, VaultError> {
    let mut ids = request.credentials.clone();
    let mut hosts: Vec<&Host> = request.hosts.iter().collect();
    if ids.is_empty() && hosts.is_empty() {
        hosts.extend(grant.hosts().iter().map(|granted| match granted {
            GrantedHost::Host(host) | GrantedHost::Site(host) => host,
        }));
    }
    if request.credentials.is_empty() {
        for host in hosts {
            let unknown = |_| VaultError::UnknownCredential { id: host.to_string() };
            ids.push(CredentialId::parse(host.as_str()).map_err(unknown)?);
        }
    }
    ids.sort();
    ids.dedup();
    Ok(ids)
}

fn too_much_access(asked: Access, granted: Access) -> Fault {
    let message = redacted!("access: the grant is for {}, and {} is more", granted.as_str(), asked.as_str());
    Fault::new(ErrorCode::BadArguments, message)
        .hint("Leave `access` out to get what was granted, or ask the operator for a grant with more.")
}

fn grant_required() -> Fault {
    Fault::new(ErrorCode::GrantRequired, "a signed-in session needs a grant, and there is none for this agent and these sites")
        .hint("Ask the operator for one (`stockade grant issue --host HOST`) and give it as `grant`; or open the session with credential_mode \"clean\".")
}
