//! Operators' changes to grants and credentials, each recorded in the audit log, and the cleanup of expired grants.

use crate::error::Fault;
use crate::error::audit_fault;
use crate::logins::Logins;
use audit::{Event, EventKind, EventSubject, Log};
use error_code::ErrorCode;
use jiff::{SignedDuration, Timestamp};
use policy::Tenant;
use redact::{Redacted, SendIn};
use std::sync::Arc;
use std::time::Duration;
use vault::{
    Credential, CredentialId, Grant, GrantRequest, GrantToken, GrantedHost, Summary, VaultError, with_timeout,
};

/// Interval of the cleanup, and how long an expired grant is kept.
const INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Time limit for listing the credentials before a grant is issued.
const LISTING: Duration = Duration::from_secs(15);
const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The operator, the tenant and the audit log of a change to grants or credentials.
#[derive(Clone, Copy)]
pub struct OperatorContext<'a> {
    pub log: &'a Log,
    pub tenant: &'a Tenant,
    /// The operator's name, or the interface if it does not identify operators.
    pub operator: &'a str,
}

impl OperatorContext<'_> {
    async fn record(&self, kind: EventKind, detail: &str) -> Result<(), Fault> {
        let event = Event::new(kind, EventSubject::tenant(self.tenant))
            .detail(Redacted::outside_sessions(detail))
            .decided_by(Some(Redacted::outside_sessions(self.operator)));
        self.log.append(&event).await.map_err(audit_fault)
    }
}

impl Logins {
    /// Issues a grant. Revokes it again if it cannot be recorded.
    pub async fn issue(
        &self,
        context: OperatorContext<'_>,
        request: GrantRequest,
    ) -> Result<(GrantToken, Grant), Fault> {
        self.check_credentials(&request).await?;
        let (token, grant) = self.grants.issue(request, Timestamp::now()).await?;
        let uses = if grant.single_use { "once" } else { "any number of times" };
        let access = grant.access.as_str();
        let detail = format!("{}, access {access}, {uses}, until {:.0}", describe(&grant), grant.expires_at);
        if let Err(fault) = context.record(EventKind::GrantIssued, &detail).await {
            self.grants.revoke(&grant.tenant, &grant.jti, Timestamp::now()).await?;
            return Err(fault);
        }
        Ok((token, grant))
    }

    /// Fails for a host without a credential: the grant would open nothing. A backend that lists ids alone may hold one
    /// under any id, so only a host that none of them can be for fails there.
    async fn check_credentials(&self, request: &GrantRequest) -> Result<(), Fault> {
        let known = with_timeout(self.vault()?.list(&request.tenant), LISTING).await?;
        for granted in &request.hosts {
            let (GrantedHost::Host(host) | GrantedHost::Site(host)) = granted;
            let is_for_it = |one: &Summary| match &one.domain {
                Some(domain) => granted.covers(domain),
                None => true,
            };
            if !known.iter().any(is_for_it) {
                return Err(Fault::from(VaultError::UnknownCredential { id: host.to_string() }).hint(
                    "Store a login for this host first, with `stockade credential put` or `import`; `stockade credential list` shows what is stored.",
                ));
            }
        }
        Ok(())
    }

    /// Revokes a grant by a prefix of its id. The revocation holds even if it cannot be recorded.
    pub async fn revoke(&self, context: OperatorContext<'_>, start: &str) -> Result<Grant, Fault> {
        let found = self.grants.find_by_start(context.tenant, start).await.map_err(|error| {
            let fault = Fault::from(error);
            if fault.code == ErrorCode::UnknownGrant {
                fault.hint("`stockade grant list` shows them.")
            } else {
                fault
            }
        })?;
        let grant = self.grants.revoke(context.tenant, &found.jti, Timestamp::now()).await?;
        context.record(EventKind::GrantRevoked, &describe(&grant)).await?;
        Ok(grant)
    }

    /// Sets the default lifetime of a tenant's grants.
    pub async fn set_lifetime(&self, context: OperatorContext<'_>, lifetime: Duration) -> Result<(), Fault> {
        self.grants.set_lifetime(context.tenant, lifetime).await?;
        context.record(EventKind::GrantLifetimeSet, &format!("{} seconds", lifetime.as_secs())).await
    }

    pub async fn put(
        &self,
        context: OperatorContext<'_>,
        id: &CredentialId,
        credential: &Credential,
    ) -> Result<(), Fault> {
        self.vault()?.put(context.tenant, id, credential, Timestamp::now()).await?;
        context
            .record(EventKind::CredentialStored, &format!("credential {id} for {}", credential.domain))
            .await
    }

    pub async fn remove(&self, context: OperatorContext<'_>, id: &CredentialId) -> Result<(), Fault> {
        self.vault()?.remove(context.tenant, id).await?;
        context.record(EventKind::CredentialRemoved, &format!("credential {id}")).await
    }

    /// Accepts rotated cookies into the credential. Returns their names.
    pub async fn accept(
        &self,
        context: OperatorContext<'_>,
        id: &CredentialId,
    ) -> Result<Vec<String>, Fault> {
        let names = self.vault()?.accept(context.tenant, id, Timestamp::now()).await?;
        context
            .record(EventKind::CredentialAccepted, &format!("credential {id}: {}", names.join(" ")))
            .await?;
        Ok(names)
    }

    /// The current one-time code and its remaining seconds. The access is recorded first.
    pub async fn code(
        &self,
        context: OperatorContext<'_>,
        id: &CredentialId,
    ) -> Result<(redact::Secret, u32), Fault> {
        let code = self.vault()?.code(context.tenant, id, Timestamp::now()).await?;
        context.record(EventKind::CredentialCodeShown, &format!("credential {id}")).await?;
        Ok(code)
    }

    /// Lets the egress proxy put the credential's secrets into a place. The decision is recorded first.
    pub async fn allow_place(
        &self,
        context: OperatorContext<'_>,
        id: &CredentialId,
        place: SendIn,
    ) -> Result<(), Fault> {
        let vault = self.vault()?;
        vault.check_writable()?;
        vault.outline(context.tenant, id).await?;
        context.record(EventKind::CredentialPlaceAllowed, &format!("credential {id}: {place}")).await?;
        Ok(vault.allow_place(context.tenant, id, place, Timestamp::now()).await?)
    }

    pub async fn reject(&self, context: OperatorContext<'_>, id: &CredentialId) -> Result<(), Fault> {
        self.store.reject(context.tenant, id).await?;
        context.record(EventKind::CredentialRejected, &format!("credential {id}")).await
    }

    pub async fn rotate_key(&self, context: OperatorContext<'_>) -> Result<vault::Rotation, Fault> {
        let rotation = self.store.rotate().await?;
        context
            .record(EventKind::MasterKeyRotated, &format!("master key {} is in use", rotation.current))
            .await?;
        Ok(rotation)
    }

    /// Removes grants that expired long ago. Returns their number.
    pub async fn remove_expired(&self, log: &Log, now: Timestamp) -> Result<u64, Fault> {
        let before = now.checked_sub(KEPT).map_err(|error| Fault::caused(ErrorCode::Internal, &error))?;
        let removed = self.grants.collect(before).await?;
        if removed > 0 {
            let event = Event::new(EventKind::GrantsCollected, EventSubject::stockade()).count(removed);
            log.append(&event).await.map_err(audit_fault)?;
        }
        Ok(removed)
    }
}

/// `90s`, `15m`, `2h`.
pub fn parse_lifetime(text: &str) -> Option<Duration> {
    text.parse::<SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok())
}

/// Removes expired grants for the lifetime of the control plane.
pub async fn remove_expired_periodically(logins: Arc<Logins>, log: Log) {
    loop {
        if let Err(fault) = logins.remove_expired(&log, Timestamp::now()).await {
            tracing::warn!(%fault, "old grants were not removed");
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

fn describe(grant: &Grant) -> String {
    let hosts: Vec<String> = grant.hosts.iter().map(ToString::to_string).collect();
    format!("grant {} for {}", grant.jti, hosts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logins::LoginRequest;
    use crate::settings::{
        Anchor, Audit, Credentials, KvLogin, KvServer, PictureFormat, Seconds, Size, Sops, StandingGrant,
        StoreSettings, VaultBackend,
    };
    use crate::state::State;
    use policy::{Access, Name};
    use vault::{GrantedHost, Issuer};

    struct Settings {
        credentials: Credentials,
        audit: Audit,
    }

    fn fixture() -> (tempfile::TempDir, State, Settings) {
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

    /// Stores the login that the grants of these tests are for.
    async fn store_login(logins: &Logins, context: OperatorContext<'_>) {
        let document = br#"{"domain": "github.com", "cookies": [{"name": "sid", "value": "v-0123456789"}]}"#;
        let credential = Credential::from_json(document).unwrap();
        logins.put(context, &CredentialId::parse("github.com").unwrap(), &credential).await.unwrap();
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
            access: policy::Access::Write,
        }
    }

    #[tokio::test]
    async fn a_grant_is_removed_a_week_after_it_expired_and_that_is_recorded() {
        let (_folder, state, config) = fixture();
        let logins = Logins::open(&config.credentials, &state).unwrap();
        let (log, _) = crate::record::open_log(&config.audit, &state, "i1").unwrap();
        let tenant = Tenant::parse("default").unwrap();
        let context = OperatorContext { log: &log, tenant: &tenant, operator: "ada" };
        store_login(&logins, context).await;
        let (token, grant) = logins.issue(context, request(&tenant)).await.unwrap();
        let after = |time: SignedDuration| grant.expires_at + time;
        assert_eq!(logins.remove_expired(&log, after(KEPT)).await.unwrap(), 0);
        assert_eq!(logins.remove_expired(&log, after(KEPT + SignedDuration::from_secs(1))).await.unwrap(), 1);
        assert!(logins.grants.list(&tenant, 10).await.unwrap().is_empty());
        let entries = audit::read_last(&state.audit(), &audit::EventFilter::default(), 10).unwrap();
        let lines: Vec<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
        let lines = lines.join("\n");
        assert!(lines.contains("grant_issued") && lines.contains("grants_collected"), "{lines}");
        assert!(lines.contains(&grant.jti) && lines.contains("\"ada\""), "{lines}");
        assert!(!lines.contains(token.expose_secret()), "{lines}");
    }

    #[tokio::test]
    async fn a_session_may_ask_for_less_access_than_was_granted_and_the_strictest_standing_grant_counts() {
        let (_folder, state, mut config) = fixture();
        let scope = crate::storage::default_scope().unwrap();
        let standing = |host: &str, access| StandingGrant {
            tenant: scope.tenant.clone(),
            actor: scope.actor.clone(),
            hosts: vec![GrantedHost::parse(host).unwrap()],
            access,
        };
        config.credentials.standing =
            vec![standing("a.test", Access::Full), standing("b.test", Access::Read)];
        let logins = Logins::open(&config.credentials, &state).unwrap();
        let host = |name: &str| vault::Host::parse(name).unwrap();
        for (hosts, expected) in [
            (vec![host("a.test")], Access::Full),
            (vec![host("b.test")], Access::Read),
            (vec![], Access::Read),
            (vec![host("a.test"), host("b.test")], Access::Read),
        ] {
            let request = LoginRequest { hosts, ..LoginRequest::default() };
            assert_eq!(logins.consume(&scope, &request).await.unwrap().access(), expected);
        }
        let wanted = GrantRequest { access: Access::Write, ..request(&scope.tenant) };
        let (token, _) = logins.grants.issue(wanted, Timestamp::now()).await.unwrap();
        let ask = |access| LoginRequest {
            grant: Some(redact::Secret::new(token.expose_secret().to_owned())),
            access: Some(access),
            ..LoginRequest::default()
        };
        let fault = logins.consume(&scope, &ask(Access::Full)).await.err().unwrap();
        assert_eq!(fault.code, ErrorCode::BadArguments, "{fault}");
        // That did not use it up.
        logins.consume(&scope, &ask(Access::Read)).await.unwrap();
        let fault = logins.consume(&scope, &ask(Access::Read)).await.err().unwrap();
        assert_eq!(fault.code, ErrorCode::GrantConsumed);
    }

    #[tokio::test]
    async fn a_grant_that_cannot_be_recorded_is_revoked_and_a_revocation_still_holds() {
        let (_folder, state, config) = fixture();
        let logins = Logins::open(&config.credentials, &state).unwrap();
        let tenant = Tenant::parse("default").unwrap();
        let (log, _) = crate::record::open_log(&config.audit, &state, "i1").unwrap();
        let context = OperatorContext { log: &log, tenant: &tenant, operator: "ada" };
        store_login(&logins, context).await;
        let (_, good) = logins.issue(context, request(&tenant)).await.unwrap();
        drop(log);
        // A tampered log accepts no further entries.
        let chain = audit::chain_folders(&state.audit()).unwrap().remove(0);
        let segment = audit::segments(&chain).unwrap().pop().unwrap().path;
        let text = std::fs::read_to_string(&segment).unwrap();
        std::fs::write(&segment, text.replace("\"ada\"", "\"eve\"")).unwrap();
        let log = loop {
            let (log, _) = crate::record::open_log(&config.audit, &state, "i1").unwrap();
            // The previous writer takes a moment to release this chain.
            if log.folder() == chain {
                break log;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        assert!(log.check().is_err());
        let context = OperatorContext { log: &log, tenant: &tenant, operator: "ada" };
        assert!(logins.issue(context, request(&tenant)).await.is_err());
        let listed = logins.grants.list(&tenant, 10).await.unwrap();
        let revoked: Vec<bool> = listed.iter().map(|grant| grant.revoked_at.is_some()).collect();
        assert_eq!(revoked, [true, false], "the one that nobody got is worth nothing");
        assert!(logins.revoke(context, &good.jti).await.is_err());
        assert!(logins.grants.is_revoked(&good.jti).await.unwrap());
    }
}
