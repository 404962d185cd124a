//! A grant becomes logins: looked up, used, and what it releases taken out of the vault.

use super::Logins;
use crate::error::Fault;
use jiff::Timestamp;
use policy::{DomainPattern, Scope};
use vault::{Credential, CredentialId, GrantedHost, Host, Leave, Secret, VaultError};

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
    leave: Leave,
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

    pub fn into_leave(self) -> Leave {
        self.leave
    }

    pub fn hosts(&self) -> &[GrantedHost] {
        self.leave.hosts()
    }

    /// The sites of these logins, as the policy and the proxy read them.
    pub fn home(&self) -> Vec<DomainPattern> {
        let patterns = self.hosts().iter().flat_map(|granted| match granted {
            GrantedHost::Host(host) => vec![host.to_string()],
            GrantedHost::Site(site) => vec![site.to_string(), format!("*.{site}")],
        });
        patterns.filter_map(|text| DomainPattern::parse(&text)).collect()
    }
}

impl Logins {
    /// Uses the grant and opens what it is for. If that fails, the grant is as good as before.
    pub async fn redeem(&self, scope: &Scope, wanted: &Wanted) -> Result<Released, Fault> {
        let Some(token) = &wanted.grant else { return Err(grant_required()) };
        let now = Timestamp::now();
        let leave = self.grants.consume(token.expose_secret(), &scope.tenant, &wanted.hosts, now).await?;
        match self.release(&leave, wanted).await {
            Ok(logins) => Ok(Released { leave, logins }),
            Err(error) => {
                self.give_back(leave).await;
                Err(error.into())
            }
        }
    }

    /// Right before the secrets go into a browser: a revocation in between counts.
    pub async fn confirm(&self, released: &Released) -> Result<(), Fault> {
        Ok(self.grants.confirm(&released.leave, Timestamp::now()).await?)
    }

    /// They are in a browser.
    pub async fn note_injected(&self, released: &Released) {
        for login in &released.logins {
            let noted = self.vault.note_injected(&released.leave, &login.id, Timestamp::now()).await;
            if let Err(error) = noted {
                tracing::warn!(%error, credential = %login.id, "that a credential was used is not noted beside it");
            }
        }
    }

    /// Nothing went into a browser: the grant is as good as it was.
    pub async fn give_back(&self, leave: Leave) {
        let jti = leave.jti().to_owned();
        if let Err(error) = self.grants.give_back(leave).await {
            tracing::warn!(%error, jti, "a grant stays used though nothing came of it");
        }
    }

    async fn release(&self, leave: &Leave, wanted: &Wanted) -> Result<Vec<Login>, VaultError> {
        let mut logins = Vec::new();
        for id in ids(leave, wanted)? {
            let credential = self.vault.release(leave, &id).await?;
            logins.push(Login { id, credential });
        }
        Ok(logins)
    }
}

/// Which credentials are meant: those that were named, else those of the hosts, else those of all granted hosts.
fn ids(leave: &Leave, wanted: &Wanted) -> Result<Vec<CredentialId>, VaultError> {
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
    Fault::new("grant_required", "a signed-in session needs a grant, and there is none for this agent and these sites")
        .hint("Ask the operator for one (`stockade grant issue --host HOST`) and give it as `grant`; or open the session with credential_mode \"clean\".")
}
