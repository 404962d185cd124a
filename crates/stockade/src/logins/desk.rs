//! What operators do to grants and credentials, each on record; and the old grants that nobody needs any more.

use crate::error::Fault;
use crate::gate::audit_fault;
use crate::logins::Logins;
use audit::{About, Event, EventKind, Log};
use jiff::{SignedDuration, Timestamp};
use policy::Tenant;
use std::sync::Arc;
use std::time::Duration;
use vault::{Credential, CredentialId, Grant, GrantRequest, GrantToken};

/// Between two looks for old grants, and how long one is kept after it has expired.
const INTERVAL: Duration = Duration::from_secs(60 * 60);
const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Who does something to a tenant's grants or credentials, and where it is written down.
#[derive(Clone, Copy)]
pub struct By<'a> {
    pub log: &'a Log,
    pub tenant: &'a Tenant,
    /// The operator, or the door where none had to say who they are.
    pub who: &'a str,
}

impl By<'_> {
    async fn note(&self, kind: EventKind, detail: &str) -> Result<(), Fault> {
        let mut event = Event::new(kind, About::tenant(self.tenant)).detail(detail);
        event.decided_by = Some(audit::plain(self.who));
        self.log.append(&event).await.map_err(audit_fault)
    }
}

impl Logins {
    /// A grant that is not on record is not handed out.
    pub async fn issue(&self, by: By<'_>, request: GrantRequest) -> Result<(GrantToken, Grant), Fault> {
        let (token, grant) = self.grants.issue(request, Timestamp::now()).await?;
        let often = if grant.single_use { "once" } else { "any number of times" };
        let detail = format!("{}, {often}, until {:.0}", about(&grant), grant.expires_at);
        if let Err(fault) = by.note(EventKind::GrantIssued, &detail).await {
            self.grants.revoke(&grant.tenant, &grant.jti, Timestamp::now()).await?;
            return Err(fault);
        }
        Ok((token, grant))
    }

    /// By the start of its id. What is revoked is revoked, whether or not it can be written down.
    pub async fn revoke(&self, by: By<'_>, start: &str) -> Result<Grant, Fault> {
        let found = self.grants.find_by_start(by.tenant, start).await?;
        let grant = self.grants.revoke(by.tenant, &found.jti, Timestamp::now()).await?;
        by.note(EventKind::GrantRevoked, &about(&grant)).await?;
        Ok(grant)
    }

    pub async fn put(&self, by: By<'_>, id: &CredentialId, credential: &Credential) -> Result<(), Fault> {
        self.vault()?.put(by.tenant, id, credential, Timestamp::now()).await?;
        by.note(EventKind::CredentialStored, &format!("credential {id} for {}", credential.domain)).await
    }

    pub async fn remove(&self, by: By<'_>, id: &CredentialId) -> Result<(), Fault> {
        self.vault()?.remove(by.tenant, id).await?;
        by.note(EventKind::CredentialRemoved, &format!("credential {id}")).await
    }

    /// Puts what a site rotated into the credential; the cookies' names.
    pub async fn accept(&self, by: By<'_>, id: &CredentialId) -> Result<Vec<String>, Fault> {
        let names = self.vault()?.accept(by.tenant, id, Timestamp::now()).await?;
        by.note(EventKind::CredentialAccepted, &format!("credential {id}: {}", names.join(" "))).await?;
        Ok(names)
    }

    pub async fn reject(&self, by: By<'_>, id: &CredentialId) -> Result<(), Fault> {
        self.store.reject(by.tenant, id).await?;
        by.note(EventKind::CredentialRejected, &format!("credential {id}")).await
    }

    pub async fn rotate_key(&self, by: By<'_>) -> Result<vault::Rotation, Fault> {
        let rotation = self.store.rotate().await?;
        by.note(EventKind::MasterKeyRotated, &format!("master key {} is in use", rotation.current)).await?;
        Ok(rotation)
    }

    /// Removes grants that expired long ago; says how many.
    pub async fn collect(&self, log: &Log, now: Timestamp) -> Result<u64, Fault> {
        let before = now.checked_sub(KEPT).map_err(|error| Fault::caused("internal", &error))?;
        let collected = self.grants.collect(before).await?;
        if collected > 0 {
            let event = Event::new(EventKind::GrantsCollected, About::stockade()).count(collected);
            log.append(&event).await.map_err(audit_fault)?;
        }
        Ok(collected)
    }
}

/// Collects old grants for as long as the control plane lives.
pub async fn keep_collecting(logins: Arc<Logins>, log: Log) {
    loop {
        if let Err(fault) = logins.collect(&log, Timestamp::now()).await {
            tracing::warn!(%fault, "old grants were not collected");
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

fn about(grant: &Grant) -> String {
    let hosts: Vec<String> = grant.hosts.iter().map(ToString::to_string).collect();
    format!("grant {} for {}", grant.jti, hosts.join(" "))
}
