//! Grants: an operator's short-lived permission to inject credentials for named hosts.
//!
//! A token is opaque and stored as a hash; everything else is looked up. One statement consumes a grant, so that only
//! one of several concurrent openings can win a single use.

mod host;

pub use host::GrantedHost;

use crate::credential::Host;
use crate::error::VaultError;
use crate::store::{Database, time};
use jiff::Timestamp;
use policy::{Access, Name, Tenant};
use redact::{ALPHANUMERIC, Secret, random_text};
use sha2::{Digest, Sha256};
use sqlx::Row;
use sqlx::any::AnyRow;
use std::time::Duration;

pub struct Grants {
    database: Database,
    default_lifetime: Duration,
}

/// A grant to issue.
#[derive(Clone, Debug)]
pub struct GrantRequest {
    pub tenant: Tenant,
    pub issuer: Issuer,
    pub operator: Name,
    /// The operator's login session that issued it.
    pub origin_session: Name,
    pub hosts: Vec<GrantedHost>,
    /// The tenant's default if not given.
    pub lifetime: Option<Duration>,
    pub single_use: bool,
    pub access: Access,
}

/// Who issued a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issuer {
    Operator,
    /// A standing grant in the operator's settings.
    Policy,
}

/// The plain token. Only its hash is stored.
pub struct GrantToken(Secret);

/// A grant without its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub jti: String,
    pub tenant: Tenant,
    pub issuer: Issuer,
    pub operator: Name,
    pub origin_session: Name,
    pub hosts: Vec<GrantedHost>,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    pub single_use: bool,
    /// What a session may do on these hosts without asking.
    pub access: Access,
    pub uses: i64,
    pub used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// Proof that a grant was consumed. Only [`Grants::consume`] makes one; it cannot be cloned or stored.
pub struct ConsumedGrant {
    grant: Grant,
}

/// Default 15 minutes, maximum one day.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(15 * 60);
const LONGEST_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
const MOST_HOSTS: usize = 32;

/// The prefix lets secret scanners find leaked tokens.
const PREFIX: &str = "gr_stockade_";

impl Grants {
    pub fn new(database: Database) -> Grants {
        Grants { database, default_lifetime: DEFAULT_LIFETIME }
    }

    /// The lifetime of grants in tenants that have not set one.
    #[must_use]
    pub fn default_lifetime(mut self, lifetime: Duration) -> Grants {
        self.default_lifetime = lifetime;
        self
    }

    /// Sets the default lifetime of a tenant's grants.
    pub async fn set_lifetime(&self, tenant: &Tenant, lifetime: Duration) -> Result<(), VaultError> {
        check_lifetime(lifetime)?;
        sqlx::query(
            "INSERT INTO grant_lifetimes (tenant, seconds) VALUES ($1, $2)
             ON CONFLICT (tenant) DO UPDATE SET seconds = excluded.seconds",
        )
        .bind(tenant.as_str())
        .bind(lifetime.as_secs() as i64)
        .execute(self.database.pool().await?)
        .await
        .map_err(VaultError::store("cannot set the lifetime of grants"))?;
        Ok(())
    }

    pub async fn issue(
        &self,
        request: GrantRequest,
        now: Timestamp,
    ) -> Result<(GrantToken, Grant), VaultError> {
        let failed = VaultError::store("cannot store the grant");
        if request.hosts.is_empty() || request.hosts.len() > MOST_HOSTS {
            return Err(VaultError::GrantRequest {
                reason: format!("a grant is for 1 to {MOST_HOSTS} hosts"),
            });
        }
        let lifetime = match request.lifetime {
            Some(lifetime) => lifetime,
            None => self.lifetime(&request.tenant).await?,
        };
        check_lifetime(lifetime)?;
        let no_randomness = |source| VaultError::NoRandomness { source };
        let random = random_text(ALPHANUMERIC, 43).map_err(no_randomness)?;
        let token = GrantToken(Secret::concat(&[PREFIX, &random]));
        let grant = Grant {
            jti: uuid().map_err(no_randomness)?,
            tenant: request.tenant,
            issuer: request.issuer,
            operator: request.operator,
            origin_session: request.origin_session,
            hosts: request.hosts,
            issued_at: now,
            expires_at: now + lifetime,
            single_use: request.single_use,
            access: request.access,
            uses: 0,
            used_at: None,
            revoked_at: None,
        };
        let hosts: Vec<String> = grant.hosts.iter().map(ToString::to_string).collect();
        sqlx::query(
            "INSERT INTO grants (jti, hash, tenant, issuer, operator, origin_session, hosts, issued_at, expires_at,
                single_use, access, uses) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0)",
        )
        .bind(&grant.jti)
        .bind(hash(token.expose_secret()))
        .bind(grant.tenant.as_str())
        .bind(grant.issuer.as_str())
        .bind(grant.operator.as_str())
        .bind(grant.origin_session.as_str())
        .bind(hosts.join(" "))
        .bind(grant.issued_at.as_millisecond())
        .bind(grant.expires_at.as_millisecond())
        .bind(i64::from(grant.single_use))
        .bind(grant.access.as_str())
        .execute(self.database.pool().await?)
        .await
        .map_err(failed)?;
        Ok((token, grant))
    }

    /// Uses a grant for these hosts of this tenant. Another tenant's token is unknown here, whatever its state.
    pub async fn consume(
        &self,
        token: &str,
        tenant: &Tenant,
        hosts: &[Host],
        now: Timestamp,
    ) -> Result<ConsumedGrant, VaultError> {
        let failed = VaultError::store("cannot use the grant");
        let hash = hash(token);
        // A request for hosts beyond the grant does not consume it.
        let grant = self.find(&hash, tenant).await?.ok_or(VaultError::UnknownGrant)?;
        grant.usable(now)?;
        grant.check_all(hosts)?;
        let row = sqlx::query(
            "UPDATE grants SET uses = uses + 1, used_at = $1
             WHERE hash = $2 AND tenant = $3 AND revoked_at IS NULL AND expires_at > $1
                AND (single_use = 0 OR uses = 0)
             RETURNING *",
        )
        .bind(now.as_millisecond())
        .bind(&hash)
        .bind(tenant.as_str())
        .fetch_optional(self.database.pool().await?)
        .await
        .map_err(failed)?;
        if let Some(row) = row {
            return Ok(ConsumedGrant { grant: Grant::read(&row)? });
        }
        // Another opening consumed it first, or an operator revoked it.
        let grant = self.find(&hash, tenant).await?.ok_or(VaultError::UnknownGrant)?;
        grant.usable(now)?;
        Err(VaultError::GrantConsumed { jti: grant.jti })
    }

    /// Checks that a consumed grant is not revoked and has not expired. Called again right before the injection, so
    /// that a revocation stops a session that is opening.
    pub async fn confirm(&self, consumed: &ConsumedGrant, now: Timestamp) -> Result<(), VaultError> {
        let row = sqlx::query("SELECT * FROM grants WHERE jti = $1")
            .bind(consumed.jti())
            .fetch_optional(self.database.pool().await?)
            .await
            .map_err(VaultError::store("cannot look at the grant"))?;
        let grant = Grant::read(&row.ok_or(VaultError::UnknownGrant)?)?;
        grant.in_force(now)
    }

    /// Gives a use back after an opening that failed before anything was injected. A grant that was used again
    /// meanwhile is left unchanged.
    pub async fn restore(&self, consumed: ConsumedGrant) -> Result<(), VaultError> {
        sqlx::query(
            "UPDATE grants SET uses = uses - 1, used_at = CASE WHEN uses = 1 THEN NULL ELSE used_at END
             WHERE jti = $1 AND uses = $2 AND used_at = $3",
        )
        .bind(consumed.jti())
        .bind(consumed.grant.uses)
        .bind(consumed.grant.used_at.map(Timestamp::as_millisecond))
        .execute(self.database.pool().await?)
        .await
        .map_err(VaultError::store("cannot give the grant back"))?;
        Ok(())
    }

    /// Whether an operator revoked it. Checked when a signed-in browser is restarted. That is not a new use, so an
    /// expired grant is accepted.
    pub async fn is_revoked(&self, jti: &str) -> Result<bool, VaultError> {
        let failed = VaultError::store("cannot look at the grant");
        let row = sqlx::query("SELECT revoked_at FROM grants WHERE jti = $1")
            .bind(jti)
            .fetch_optional(self.database.pool().await?)
            .await
            .map_err(&failed)?
            .ok_or(VaultError::UnknownGrant)?;
        Ok(row.try_get::<Option<i64>, _>("revoked_at").map_err(&failed)?.is_some())
    }

    pub async fn revoke(&self, tenant: &Tenant, jti: &str, now: Timestamp) -> Result<Grant, VaultError> {
        let row = sqlx::query(
            "UPDATE grants SET revoked_at = COALESCE(revoked_at, $1) WHERE jti = $2 AND tenant = $3 RETURNING *",
        )
        .bind(now.as_millisecond())
        .bind(jti)
        .bind(tenant.as_str())
        .fetch_optional(self.database.pool().await?)
        .await
        .map_err(VaultError::store("cannot revoke the grant"))?;
        Grant::read(&row.ok_or(VaultError::UnknownGrant)?)
    }

    /// The only grant whose id starts with this prefix.
    pub async fn find_by_start(&self, tenant: &Tenant, start: &str) -> Result<Grant, VaultError> {
        // An id has no other characters, and none of these means anything to LIKE.
        let fits = (4..=36).contains(&start.len())
            && start.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-'));
        if !fits {
            return Err(VaultError::UnknownGrant);
        }
        let rows = sqlx::query("SELECT * FROM grants WHERE tenant = $1 AND jti LIKE $2 LIMIT 2")
            .bind(tenant.as_str())
            .bind(format!("{start}%"))
            .fetch_all(self.database.pool().await?)
            .await
            .map_err(VaultError::store("cannot look for the grant"))?;
        match rows.as_slice() {
            [] => Err(VaultError::UnknownGrant),
            [row] => Grant::read(row),
            _ => Err(VaultError::AmbiguousGrant { start: start.to_owned() }),
        }
    }

    /// A tenant's grants, newest first; at most this many.
    pub async fn list(&self, tenant: &Tenant, most: u32) -> Result<Vec<Grant>, VaultError> {
        let rows =
            sqlx::query("SELECT * FROM grants WHERE tenant = $1 ORDER BY issued_at DESC, jti LIMIT $2")
                .bind(tenant.as_str())
                .bind(i64::from(most))
                .fetch_all(self.database.pool().await?)
                .await
                .map_err(VaultError::store("cannot list the grants"))?;
        rows.iter().map(Grant::read).collect()
    }

    /// Deletes the grants that expired before this moment. Returns their number.
    pub async fn collect(&self, before: Timestamp) -> Result<u64, VaultError> {
        let removed = sqlx::query("DELETE FROM grants WHERE expires_at < $1")
            .bind(before.as_millisecond())
            .execute(self.database.pool().await?)
            .await
            .map_err(VaultError::store("cannot collect old grants"))?;
        Ok(removed.rows_affected())
    }

    async fn find(&self, hash: &str, tenant: &Tenant) -> Result<Option<Grant>, VaultError> {
        let row = sqlx::query("SELECT * FROM grants WHERE hash = $1 AND tenant = $2")
            .bind(hash)
            .bind(tenant.as_str())
            .fetch_optional(self.database.pool().await?)
            .await
            .map_err(VaultError::store("cannot look for the grant"))?;
        row.as_ref().map(Grant::read).transpose()
    }

    async fn lifetime(&self, tenant: &Tenant) -> Result<Duration, VaultError> {
        let failed = VaultError::store("cannot read the lifetime of grants");
        let row = sqlx::query("SELECT seconds FROM grant_lifetimes WHERE tenant = $1")
            .bind(tenant.as_str())
            .fetch_optional(self.database.pool().await?)
            .await
            .map_err(&failed)?;
        let Some(row) = row else { return Ok(self.default_lifetime) };
        let seconds: i64 = row.try_get("seconds").map_err(&failed)?;
        u64::try_from(seconds)
            .map(Duration::from_secs)
            .map_err(|_| VaultError::StoreDamaged { what: "a lifetime" })
    }
}

fn check_lifetime(lifetime: Duration) -> Result<(), VaultError> {
    if (Duration::from_secs(1)..=LONGEST_LIFETIME).contains(&lifetime) {
        return Ok(());
    }
    Err(VaultError::GrantRequest {
        reason: format!("a grant lives for 1 to {} seconds", LONGEST_LIFETIME.as_secs()),
    })
}

impl GrantToken {
    /// The plain token, for whoever issued it.
    pub fn expose_secret(&self) -> &str {
        self.0.expose_secret()
    }
}

impl Grant {
    fn in_force(&self, now: Timestamp) -> Result<(), VaultError> {
        let jti = self.jti.clone();
        if self.revoked_at.is_some() {
            return Err(VaultError::GrantRevoked { jti });
        }
        if self.expires_at <= now {
            return Err(VaultError::GrantExpired { jti });
        }
        Ok(())
    }

    fn usable(&self, now: Timestamp) -> Result<(), VaultError> {
        self.in_force(now)?;
        if self.single_use && self.uses > 0 {
            return Err(VaultError::GrantConsumed { jti: self.jti.clone() });
        }
        Ok(())
    }

    fn check_all(&self, hosts: &[Host]) -> Result<(), VaultError> {
        match hosts.iter().find(|host| !self.hosts.iter().any(|granted| granted.covers(host))) {
            None => Ok(()),
            Some(host) => Err(VaultError::GrantHost { jti: self.jti.clone(), host: host.to_string() }),
        }
    }

    fn read(row: &AnyRow) -> Result<Grant, VaultError> {
        let failed = VaultError::store("cannot read a grant's row");
        let damaged = |what: &'static str| VaultError::StoreDamaged { what };
        let text = |column: &str| row.try_get::<String, _>(column).map_err(&failed);
        let number = |column: &str| row.try_get::<i64, _>(column).map_err(&failed);
        let optional =
            |column: &str| row.try_get::<Option<i64>, _>(column).map_err(&failed)?.map(time).transpose();
        let hosts = text("hosts")?;
        let hosts = hosts.split(' ').map(GrantedHost::parse).collect::<Result<_, _>>();
        Ok(Grant {
            jti: text("jti")?,
            tenant: Tenant::parse(&text("tenant")?).map_err(|_| damaged("a tenant's name"))?,
            issuer: Issuer::parse(&text("issuer")?).ok_or_else(|| damaged("an issuer"))?,
            operator: Name::parse(&text("operator")?).map_err(|_| damaged("an operator's name"))?,
            origin_session: Name::parse(&text("origin_session")?).map_err(|_| damaged("a session's name"))?,
            hosts: hosts.map_err(|_| damaged("a grant's hosts"))?,
            issued_at: time(number("issued_at")?)?,
            expires_at: time(number("expires_at")?)?,
            single_use: number("single_use")? != 0,
            access: Access::parse(&text("access")?).ok_or_else(|| damaged("a grant's access"))?,
            uses: number("uses")?,
            used_at: optional("used_at")?,
            revoked_at: optional("revoked_at")?,
        })
    }
}

impl ConsumedGrant {
    pub fn jti(&self) -> &str {
        &self.grant.jti
    }

    pub fn tenant(&self) -> &Tenant {
        &self.grant.tenant
    }

    pub fn operator(&self) -> &Name {
        &self.grant.operator
    }

    pub fn issuer(&self) -> Issuer {
        self.grant.issuer
    }

    pub fn hosts(&self) -> &[GrantedHost] {
        &self.grant.hosts
    }

    pub fn access(&self) -> Access {
        self.grant.access
    }

    pub fn check(&self, host: &Host) -> Result<(), VaultError> {
        self.grant.check_all(std::slice::from_ref(host))
    }
}

impl Issuer {
    pub fn as_str(self) -> &'static str {
        match self {
            Issuer::Operator => "operator",
            Issuer::Policy => "policy",
        }
    }

    fn parse(text: &str) -> Option<Issuer> {
        [Issuer::Operator, Issuer::Policy].into_iter().find(|issuer| issuer.as_str() == text)
    }
}

/// A token has 256 random bits, so a plain hash is as good as a slow one.
fn hash(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}

/// A random UUID (version 4).
fn uuid() -> Result<String, getrandom::Error> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex::encode(bytes);
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}
