//! A grant becomes logins: looked up, used, and what it releases taken out of the vault.

use super::Logins;
use crate::error::Fault;
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::{DomainPattern, Name, Scope};
use redact::Secret;
use std::time::Duration;
use vault::{
    ConsumedGrant, Credential, CredentialId, GrantRequest, GrantToken, GrantedHost, Host, Issuer, VaultError,
    with_timeout,
};

/// How long a grant of the settings lives: it is issued for one opening, and used by it.
const STANDING: Duration = Duration::from_secs(120);
/// A database that hangs is one that is down. Longer than it takes to connect and to wait for another's writing.
const PATIENCE: Duration = Duration::from_secs(15);

/// What an agent asks to be signed in to.
#[derive(Default)]
pub struct Wanted {
    /// The operator's leave. Without one, a standing grant of the configuration is looked for.
    pub grant: Option<Secret>,
    pub hosts: Vec<Host>,
    /// Credentials by id, where the id is not the host.
    pub credentials: Vec<CredentialId>,
}

/// Logins that a grant released. They go into a browser before anybody gets near, and once more if it is started again.
pub struct Released {
    leave: ConsumedGrant,
    pub logins: Vec<Login>,
}

pub struct Login {
    pub id: CredentialId,
    pub credential: Credential,
}

impl Released {
    pub fn jti(&self) -> &str {
        self.leave.jti()
    }

    pub fn into_leave(self) -> ConsumedGrant {
        self.leave
    }

    pub fn hosts(&self) -> &[GrantedHost] {
        self.leave.hosts()
    }
}

/// The sites of a grant, as the policy and the proxy read them.
pub fn home(leave: &ConsumedGrant) -> Vec<DomainPattern> {
    let patterns = leave.hosts().iter().flat_map(|granted| match granted {
        GrantedHost::Host(host) => vec![host.to_string()],
        GrantedHost::Site(site) => vec![site.to_string(), format!("*.{site}")],
    });
    patterns.filter_map(|text| DomainPattern::parse(&text)).collect()
}

impl Logins {
    /// Uses the grant.
    pub async fn consume(&self, scope: &Scope, wanted: &Wanted) -> Result<ConsumedGrant, Fault> {
        let token = match &wanted.grant {
            Some(given) => given.duplicate(),
            None => Secret::new(self.issue_standing(scope, &wanted.hosts).await?.expose_secret().to_owned()),
        };
        let (token, now) = (token.expose_secret(), Timestamp::now());
        Ok(with_timeout(self.grants.consume(token, &scope.tenant, &wanted.hosts, now), PATIENCE).await?)
    }

    /// Opens what the grant is for. If that fails, the grant is as good as before.
    pub async fn release(&self, leave: ConsumedGrant, wanted: &Wanted) -> Result<Released, Fault> {
        match self.open_all(&leave, wanted).await {
            Ok(logins) => Ok(Released { leave, logins }),
            Err(fault) => {
                self.give_back(leave).await;
                Err(fault)
            }
        }
    }

    /// A grant that the operator's settings give this agent, for the hosts it asks for or for all of them.
    async fn issue_standing(&self, scope: &Scope, hosts: &[Host]) -> Result<GrantToken, Fault> {
        let own = self.standing.iter().filter(|one| one.tenant == scope.tenant && one.actor == scope.actor);
        let all: Vec<GrantedHost> = own.flat_map(|one| one.hosts.iter().cloned()).collect();
        let is_wanted =
            |granted: &GrantedHost| hosts.is_empty() || hosts.iter().any(|host| granted.covers(host));
        let granted: Vec<GrantedHost> = all.into_iter().filter(is_wanted).collect();
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
            lifetime: Some(STANDING),
            single_use: true,
        };
        Ok(with_timeout(self.grants.issue(request, Timestamp::now()), PATIENCE).await?.0)
    }

    /// Right before the secrets go into a browser: a revocation in between counts.
    pub async fn confirm(&self, released: &Released) -> Result<(), Fault> {
        Ok(with_timeout(self.grants.confirm(&released.leave, Timestamp::now()), PATIENCE).await?)
    }

    /// They are in a browser.
    pub async fn note_injected(&self, released: &Released) {
        let Ok(vault) = self.vault() else { return };
        for login in &released.logins {
            let noted = vault.note_injected(&released.leave, &login.id, Timestamp::now());
            let noted = with_timeout(noted, PATIENCE).await;
            if let Err(error) = noted {
                tracing::warn!(%error, credential = %login.id, "that a credential was used is not noted beside it");
            }
        }
    }

    /// Nothing went into a browser: the grant is as good as it was.
    pub async fn give_back(&self, leave: ConsumedGrant) {
        let jti = leave.jti().to_owned();
        if let Err(error) = with_timeout(self.grants.restore(leave), PATIENCE).await {
            tracing::warn!(%error, jti, "a grant stays used though nothing came of it");
        }
    }

    async fn open_all(&self, leave: &ConsumedGrant, wanted: &Wanted) -> Result<Vec<Login>, Fault> {
        let vault = self.vault()?;
        let mut logins = Vec::new();
        for id in ids(leave, wanted)? {
            let credential = vault.open_for_grant(leave, &id).await?;
            logins.push(Login { id, credential });
        }
        Ok(logins)
    }
}

/// Which credentials are meant: those that were named, else those of the hosts, else those of all granted hosts.
fn ids(leave: &ConsumedGrant, wanted: &Wanted) -> Result<Vec<CredentialId>, VaultError> {
    let mut ids = wanted.credentials.clone();
    let mut hosts: Vec<&Host> = wanted.hosts.iter().collect();
    if ids.is_empty() && hosts.is_empty() {
        hosts.extend(leave.hosts().iter().map(|granted| match granted {
            GrantedHost::Host(host) | GrantedHost::Site(host) => host,
        }));
    }
    if wanted.credentials.is_empty() {
        for host in hosts {
            let unknown = |_| VaultError::UnknownCredential { id: host.to_string() };
            ids.push(CredentialId::parse(host.as_str()).map_err(unknown)?);
        }
    }
    ids.sort();
    ids.dedup();
    Ok(ids)
}

fn grant_required() -> Fault {
    Fault::new(ErrorCode::GrantRequired, "a signed-in session needs a grant, and there is none for this agent and these sites")
        .hint("Ask the operator for one (`stockade grant issue --host HOST`) and give it as `grant`; or open the session with credential_mode \"clean\".")
}
