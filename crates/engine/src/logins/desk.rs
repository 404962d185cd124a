//! What operators do to grants and credentials, each on record; and the old grants that nobody needs any more.

use crate::error::Fault;
use crate::error::audit_fault;
use crate::logins::Logins;
use audit::{Event, EventKind, EventSubject, Log};
use error_code::ErrorCode;
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
        let mut event = Event::new(kind, EventSubject::tenant(self.tenant)).detail(detail);
        event.decided_by = Some(audit::sanitize(self.who));
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
        let found = self.grants.find_by_start(by.tenant, start).await.map_err(|error| {
            let fault = Fault::from(error);
            if fault.code == ErrorCode::UnknownGrant {
                fault.hint("`stockade grant list` shows them.")
            } else {
                fault
            }
        })?;
        let grant = self.grants.revoke(by.tenant, &found.jti, Timestamp::now()).await?;
        by.note(EventKind::GrantRevoked, &about(&grant)).await?;
        Ok(grant)
    }

    /// The usual time of a tenant's grants from now on.
    pub async fn set_lifetime(&self, by: By<'_>, lifetime: Duration) -> Result<(), Fault> {
        self.grants.set_lifetime(by.tenant, lifetime).await?;
        by.note(EventKind::GrantLifetimeSet, &format!("{} seconds", lifetime.as_secs())).await
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

    /// The one-time code of this moment, and for how many seconds it is. On record before it is told.
    pub async fn code(&self, by: By<'_>, id: &CredentialId) -> Result<(redact::Secret, u32), Fault> {
        let told = self.vault()?.code(by.tenant, id, Timestamp::now()).await?;
        by.note(EventKind::CredentialCodeTold, &format!("credential {id}")).await?;
        Ok(told)
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
        let before = now.checked_sub(KEPT).map_err(|error| Fault::caused(ErrorCode::Internal, &error))?;
        let collected = self.grants.collect(before).await?;
        if collected > 0 {
            let event = Event::new(EventKind::GrantsCollected, EventSubject::stockade()).count(collected);
            log.append(&event).await.map_err(audit_fault)?;
        }
        Ok(collected)
    }
}

/// `90s`, `15m`, `2h`.
pub fn parse_lifetime(text: &str) -> Option<Duration> {
    text.parse::<SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{
        Anchor, Audit, Credentials, KvLogin, KvServer, PictureFormat, Seconds, Size, Sops, StoreSettings,
        VaultBackend,
    };
    use crate::state::State;
    use policy::Name;
    use vault::{GrantedHost, Issuer};

    struct Settings {
        credentials: Credentials,
        audit: Audit,
    }

    fn room() -> (tempfile::TempDir, State, Settings) {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path()).unwrap();
        let server = KvServer {
            address: None,
            namespace: None,
            ca_file: None,
            mount: None,
            auth: KvLogin::Token,
            auth_mount: None,
            token_file: None,
            role_id: None,
            secret_id_file: None,
            wrapped: false,
            role: None,
            jwt_file: None,
        };
        let credentials = Credentials {
            vault_backend: VaultBackend::Store,
            vault_path: "secrets/browser/".to_owned(),
            vault: server,
            sops: Sops { folder: None, age_key_file: None },
            store: StoreSettings { database_url_file: None, key: None, key_file: None },
            auto_inject: true,
            standing: Vec::new(),
            egress: Vec::new(),
            grant_lifetime: Seconds(900),
        };
        let audit = Audit {
            key_file: None,
            segment_size: Size::mib(16),
            max_size: Size::mib(1024),
            retention_days: 365,
            image_retention_days: 7,
            image_format: PictureFormat::Webp,
            anchor: Anchor { file: None, syslog: false, webhook: None, interval: Seconds(60) },
        };
        (folder, state, Settings { credentials, audit })
    }

    fn request(tenant: &Tenant) -> GrantRequest {
        GrantRequest {
            tenant: tenant.clone(),
            issuer: Issuer::Operator,
            operator: Name::parse("ada").unwrap(),
            origin_session: Name::parse("console").unwrap(),
            hosts: vec![GrantedHost::parse("github.com").unwrap()],
            lifetime: Some(Duration::from_secs(60)),
            single_use: true,
        }
    }

    #[tokio::test]
    async fn grants_are_collected_a_week_after_they_expired_and_that_is_on_record() {
        let (_folder, state, config) = room();
        let logins = Logins::open(&config.credentials, &state).unwrap();
        let (log, _) = crate::record::open_log(&config.audit, &state, "i1").unwrap();
        let tenant = Tenant::parse("default").unwrap();
        let by = By { log: &log, tenant: &tenant, who: "ada" };
        let (token, grant) = logins.issue(by, request(&tenant)).await.unwrap();
        let after = |time: SignedDuration| grant.expires_at + time;
        assert_eq!(logins.collect(&log, after(KEPT)).await.unwrap(), 0);
        assert_eq!(logins.collect(&log, after(KEPT + SignedDuration::from_secs(1))).await.unwrap(), 1);
        assert!(logins.grants.list(&tenant, 10).await.unwrap().is_empty());
        let entries = audit::read_last(&state.audit(), &audit::EventFilter::default(), 10).unwrap();
        let lines: Vec<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
        let lines = lines.join("\n");
        assert!(lines.contains("grant_issued") && lines.contains("grants_collected"), "{lines}");
        assert!(lines.contains(&grant.jti) && lines.contains("\"ada\""), "{lines}");
        assert!(!lines.contains(token.expose_secret()), "{lines}");
    }

    #[tokio::test]
    async fn a_grant_that_cannot_be_put_on_record_is_not_handed_out_and_a_revocation_counts_all_the_same() {
        let (_folder, state, config) = room();
        let logins = Logins::open(&config.credentials, &state).unwrap();
        let tenant = Tenant::parse("default").unwrap();
        let (log, _) = crate::record::open_log(&config.audit, &state, "i1").unwrap();
        let by = By { log: &log, tenant: &tenant, who: "ada" };
        let (_, good) = logins.issue(by, request(&tenant)).await.unwrap();
        drop(log);
        // Somebody writes into the log: from then on nothing is added to it.
        let chain = audit::chain_folders(&state.audit()).unwrap().remove(0);
        let segment = audit::segments(&chain).unwrap().pop().unwrap().path;
        let text = std::fs::read_to_string(&segment).unwrap();
        std::fs::write(&segment, text.replace("\"ada\"", "\"eve\"")).unwrap();
        let log = loop {
            let (log, _) = crate::record::open_log(&config.audit, &state, "i1").unwrap();
            // The writer that held this chain takes a moment to let go of it.
            if log.folder() == chain {
                break log;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        assert!(log.check().is_err());
        let by = By { log: &log, tenant: &tenant, who: "ada" };
        assert!(logins.issue(by, request(&tenant)).await.is_err());
        let listed = logins.grants.list(&tenant, 10).await.unwrap();
        let revoked: Vec<bool> = listed.iter().map(|grant| grant.revoked_at.is_some()).collect();
        assert_eq!(revoked, [true, false], "the one that nobody got is worth nothing");
        assert!(logins.revoke(by, &good.jti).await.is_err());
        assert!(logins.grants.is_revoked(&good.jti).await.unwrap());
    }
}
