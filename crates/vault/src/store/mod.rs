//! The `store` backend: a table of credentials. Each row is encrypted with a data key of its own, which the master key
//! wraps.

mod database;
mod keyring;
mod master;
mod places;
mod rotate;
mod rotated;
mod seal;

pub use database::{Database, with_timeout};
pub use master::MasterKeySource;
pub use places::NotedPlace;
pub use rotate::Rotation;
pub use rotated::PendingRotation;

pub(crate) use database::time;

use crate::credential::Summary;
use crate::credential::{Credential, CredentialId, GrantScope, Host};
use crate::error::{Malformed, VaultError};
use crate::secret_tree::LARGEST_DOCUMENT;
use database::Change;
use jiff::Timestamp;
use master::MasterKeys;
use policy::Tenant;
use redact::SendIn;
use seal::RowIdentity;
use sqlx::Row;
use sqlx::any::AnyRow;
use std::sync::Arc;
use tokio::sync::{Mutex, OnceCell};

pub struct Store {
    database: Database,
    source: MasterKeySource,
    ready: OnceCell<()>,
    keys: Mutex<Arc<MasterKeys>>,
}

const ONE_CREDENTIAL: &str = "SELECT * FROM credentials WHERE tenant = $1 AND id = $2";

impl Store {
    /// Does not connect: the database may be down at the start.
    pub fn new(database: Database, source: MasterKeySource) -> Store {
        Store { database, source, ready: OnceCell::new(), keys: Mutex::new(Arc::new(MasterKeys::none())) }
    }

    /// The database, after the master keys were loaded and verified.
    async fn ready(&self) -> Result<&Database, VaultError> {
        self.ready.get_or_try_init(|| self.prepare()).await?;
        Ok(&self.database)
    }

    /// Loads and verifies the keys, so that a wrong key fails the first use and not the first matching row.
    async fn prepare(&self) -> Result<(), VaultError> {
        let failed = VaultError::store("cannot look at the master keys in use");
        let rows = sqlx::query("SELECT master_key FROM credentials UNION SELECT master_key FROM rotated")
            .fetch_all(self.database.pool().await?)
            .await
            .map_err(&failed)?;
        let used: Vec<String> =
            rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map_err(&failed)?;
        let keys = match self.source.load().await {
            // In an empty store a missing key means a first start. Later it means that rows are lost.
            Err(VaultError::NoMasterKey { .. }) if used.is_empty() && self.source.can_be_written() => {
                self.source.first().await?;
                self.source.load().await?
            }
            loaded => loaded?,
        };
        if let Some(wanted) = used.iter().find(|id| keys.get(id).is_none()) {
            return Err(self.wrong_key(wanted, &keys));
        }
        sqlx::query(
            "INSERT INTO vault_state (one, master_key, writes) VALUES (1, $1, 0) ON CONFLICT DO NOTHING",
        )
        .bind(keys.current_id())
        .execute(self.database.pool().await?)
        .await
        .map_err(&failed)?;
        if used.is_empty() {
            self.begin_anew(&keys).await?;
        }
        *self.keys.lock().await = Arc::new(keys);
        Ok(())
    }

    /// An empty store adopts the keys of the source: it has no rows to lose.
    async fn begin_anew(&self, keys: &MasterKeys) -> Result<(), VaultError> {
        let failed = VaultError::store("cannot look at the master key in use");
        let pool = self.database.pool().await?;
        let row = sqlx::query("SELECT master_key FROM vault_state WHERE one = 1").fetch_one(pool).await;
        let at: String = row.and_then(|row| row.try_get("master_key")).map_err(&failed)?;
        if keys.get(&at).is_none() {
            self.go_over(keys).await?;
        }
        Ok(())
    }

    pub(crate) async fn list(&self, tenant: &Tenant) -> Result<Vec<Summary>, VaultError> {
        let rows = sqlx::query("SELECT * FROM credentials WHERE tenant = $1 ORDER BY id")
            .bind(tenant.as_str())
            .fetch_all(self.ready().await?.pool().await?)
            .await
            .map_err(VaultError::store("cannot list the credentials"))?;
        rows.iter().map(|row| Ok(CredentialRow::read(row)?.summary)).collect()
    }

    pub(crate) async fn open_credential(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
    ) -> Result<Credential, VaultError> {
        let row = sqlx::query(ONE_CREDENTIAL)
            .bind(tenant.as_str())
            .bind(id.as_str())
            .fetch_optional(self.ready().await?.pool().await?)
            .await
            .map_err(VaultError::store("cannot read the credential"))?;
        self.open_row(tenant, id, row).await
    }

    async fn open_row(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
        row: Option<AnyRow>,
    ) -> Result<Credential, VaultError> {
        let row = row.ok_or_else(|| VaultError::UnknownCredential { id: id.to_string() })?;
        let stored = CredentialRow::read(&row)?;
        let keys = self.keys_with(&stored.master_key).await?;
        // The identity comes from the request, not from the row itself.
        let place = RowIdentity::credential(tenant.as_str(), id.as_str(), &stored.domain, stored.scope);
        let text = place.open(&keys, &stored.master_key, &stored.data_key, &stored.sealed)?;
        let mut credential = Credential::from_json(text.as_slice())?;
        credential.last_refreshed_at = stored.summary.last_refreshed_at;
        credential.last_injected_at = stored.summary.last_injected_at;
        Ok(credential)
    }

    /// Replaces a credential, and drops its pending rotation.
    pub(crate) async fn put(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
        credential: &Credential,
        now: Timestamp,
    ) -> Result<(), VaultError> {
        let mut writing = self.begin_writing().await?;
        self.write(&mut writing, tenant, id, credential, now).await?;
        rotated::forget(&mut writing.change, tenant, id).await?;
        writing.change.commit().await.map_err(VaultError::store("cannot store the credential"))
    }

    /// Locks the current-key row until the end. A rotation cannot switch keys before this row is written, and the row
    /// is encrypted with the key that the database currently uses, whichever comes first in the source.
    async fn begin_writing(&self) -> Result<WriteTransaction, VaultError> {
        self.ready().await?;
        let failed = VaultError::store("cannot begin to write");
        // The key must be in the source now. Otherwise whoever writes to the database could keep a key in use that was
        // rotated away. The source is read before the row is locked, because reading may take long.
        let mut keys = self.source.load().await?;
        let mut change = self.database.change().await?;
        let row =
            sqlx::query("UPDATE vault_state SET writes = writes + 1 WHERE one = 1 RETURNING master_key")
                .fetch_one(&mut *change)
                .await
                .map_err(&failed)?;
        let master_key: String = row.try_get("master_key").map_err(&failed)?;
        if keys.get(&master_key).is_none() {
            // A rotation switched to its key in between.
            keys = self.source.load().await?;
        }
        if keys.get(&master_key).is_none() {
            return Err(self.wrong_key(&master_key, &keys));
        }
        Ok(WriteTransaction { change, master_key, keys: keys.into() })
    }

    async fn write(
        &self,
        writing: &mut WriteTransaction,
        tenant: &Tenant,
        id: &CredentialId,
        credential: &Credential,
        now: Timestamp,
    ) -> Result<(), VaultError> {
        let document = credential.to_json();
        // Defaults that the reader filled in may have made it too large to be read again.
        if document.len() > LARGEST_DOCUMENT {
            let reason = format!("as it is stored it has more than {LARGEST_DOCUMENT} bytes");
            return Err(Malformed::new("", reason).into());
        }
        let scope = credential.grant_scope;
        let place = RowIdentity::credential(tenant.as_str(), id.as_str(), credential.domain.as_str(), scope);
        let (data_key, sealed) = place.seal(&writing.keys, &writing.master_key, document.as_bytes())?;
        sqlx::query(
            "INSERT INTO credentials (tenant, id, domain, grant_scope, sealed, data_key, master_key, created_at,
                last_refreshed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT (tenant, id) DO UPDATE SET domain = excluded.domain, grant_scope = excluded.grant_scope,
                sealed = excluded.sealed, data_key = excluded.data_key, master_key = excluded.master_key,
                last_refreshed_at = excluded.last_refreshed_at",
        )
        .bind(place.tenant)
        .bind(place.id)
        .bind(place.domain)
        .bind(scope.as_str())
        .bind(sealed)
        .bind(data_key)
        .bind(&writing.master_key)
        .bind(now.as_millisecond())
        .bind(credential.last_refreshed_at.unwrap_or(now).as_millisecond())
        .execute(&mut *writing.change)
        .await
        .map_err(VaultError::store("cannot store the credential"))?;
        Ok(())
    }

    pub(crate) async fn remove(&self, tenant: &Tenant, id: &CredentialId) -> Result<(), VaultError> {
        let failed = VaultError::store("cannot remove the credential");
        let mut change = self.ready().await?.change().await?;
        let removed = sqlx::query("DELETE FROM credentials WHERE tenant = $1 AND id = $2")
            .bind(tenant.as_str())
            .bind(id.as_str())
            .execute(&mut *change)
            .await
            .map_err(&failed)?;
        if removed.rows_affected() == 0 {
            return Err(VaultError::UnknownCredential { id: id.to_string() });
        }
        rotated::forget(&mut change, tenant, id).await?;
        change.commit().await.map_err(&failed)?;
        self.forget_places(tenant, id, None).await
    }

    /// Adds a place to a credential's `send_in`, after an operator's decision.
    pub(crate) async fn allow_place(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
        place: SendIn,
        now: Timestamp,
    ) -> Result<(), VaultError> {
        let mut writing = self.begin_writing().await?;
        let row = sqlx::query(ONE_CREDENTIAL)
            .bind(tenant.as_str())
            .bind(id.as_str())
            .fetch_optional(&mut *writing.change)
            .await
            .map_err(VaultError::store("cannot read the credential"))?;
        let mut credential = self.open_row(tenant, id, row).await?;
        credential.send_in.push(place.clone());
        credential.send_in.sort();
        credential.send_in.dedup();
        self.write(&mut writing, tenant, id, &credential, now).await?;
        writing.change.commit().await.map_err(VaultError::store("cannot store the credential"))?;
        self.forget_places(tenant, id, Some(&place)).await
    }

    pub(crate) async fn note_injected(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
        now: Timestamp,
    ) -> Result<(), VaultError> {
        sqlx::query("UPDATE credentials SET last_injected_at = $1 WHERE tenant = $2 AND id = $3")
            .bind(now.as_millisecond())
            .bind(tenant.as_str())
            .bind(id.as_str())
            .execute(self.ready().await?.pool().await?)
            .await
            .map_err(VaultError::store("cannot note the use of the credential"))?;
        Ok(())
    }

    /// A list of keys that includes the requested one. An unknown key comes from a rotation in another process, so the
    /// source is read again.
    async fn keys_with(&self, wanted: &str) -> Result<Arc<MasterKeys>, VaultError> {
        let keys = self.keys.lock().await.clone();
        if keys.get(wanted).is_some() {
            return Ok(keys);
        }
        let keys = self.reload().await?;
        if keys.get(wanted).is_some() { Ok(keys) } else { Err(self.wrong_key(wanted, &keys)) }
    }

    /// Keys that were removed from the source stay known here: a row that was read before a rotation ended still needs
    /// the old one.
    async fn reload(&self) -> Result<Arc<MasterKeys>, VaultError> {
        let fresh = self.source.load().await?;
        let mut keys = self.keys.lock().await;
        let merged = Arc::new(fresh.with_older(&keys));
        *keys = Arc::clone(&merged);
        Ok(merged)
    }

    fn wrong_key(&self, wanted: &str, keys: &MasterKeys) -> VaultError {
        let (place, found) = (self.source.place(), keys.ids().join(", "));
        VaultError::WrongMasterKey { place, wanted: wanted.to_owned(), found }
    }
}

/// A transaction that writes rows, and the key to encrypt them with.
struct WriteTransaction {
    change: Change,
    master_key: String,
    keys: Arc<MasterKeys>,
}

/// A row of the table `credentials`.
struct CredentialRow {
    domain: String,
    scope: GrantScope,
    sealed: String,
    data_key: String,
    master_key: String,
    summary: Summary,
}

impl CredentialRow {
    fn read(row: &AnyRow) -> Result<CredentialRow, VaultError> {
        let failed = VaultError::store("cannot read a credential's row");
        let damaged = |what: &'static str| VaultError::StoreDamaged { what };
        let text = |column: &str| row.try_get::<String, _>(column).map_err(&failed);
        let optional =
            |column: &str| row.try_get::<Option<i64>, _>(column).map_err(&failed)?.map(time).transpose();
        let domain = text("domain")?;
        let scope = GrantScope::parse(&text("grant_scope")?).ok_or_else(|| damaged("a grant scope"))?;
        let summary = Summary {
            id: CredentialId::parse(&text("id")?).map_err(|_| damaged("a credential's id"))?,
            domain: Some(Host::parse(&domain).map_err(|_| damaged("a credential's domain"))?),
            grant_scope: Some(scope),
            created_at: optional("created_at")?,
            last_refreshed_at: optional("last_refreshed_at")?,
            last_injected_at: optional("last_injected_at")?,
        };
        Ok(CredentialRow {
            domain,
            scope,
            sealed: text("sealed")?,
            data_key: text("data_key")?,
            master_key: text("master_key")?,
            summary,
        })
    }
}
