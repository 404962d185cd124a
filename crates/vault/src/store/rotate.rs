//! Rotation of the master key, while sessions open and credentials are stored. Every row stays decryptable throughout.
//!
//! The new key is put before the old one in the source. The database switches to it, after waiting for writers that use
//! the old one. Each data key is wrapped again. The old key is removed when no row needs it. An interrupted rotation
//! leaves both keys in the source, and the next one continues.

use crate::credential::GrantScope;
use crate::error::VaultError;
use crate::store::seal::{RowIdentity, Table};
use crate::store::{MasterKeys, Store};
use sqlx::Row;
use sqlx::any::AnyRow;
use std::sync::Arc;

#[derive(Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The number of the new encrypting key.
    pub current: String,
    pub rewrapped: u64,
    /// False if the operator has to remove the old keys, because the source is a variable.
    pub old_keys_dropped: bool,
}

/// Rows per batch.
const BATCH: i64 = 100;
/// Rounds without progress before giving up: rows of another writer are in the way.
const MOST_IDLE_ROUNDS: u32 = 100;

impl Store {
    pub async fn rotate(&self) -> Result<Rotation, VaultError> {
        self.ready().await?;
        // Two rotations at once would each drop the other's key.
        let _turn = self.source.lock()?;
        let there = self.source.load().await?;
        let keys = match there.ids().len() {
            1 => self.source.add(&there).await?,
            _ => there,
        };
        let known = Arc::new(keys);
        *self.keys.lock().await = Arc::clone(&known);
        self.go_over(&known).await?;
        let rewrapped = self.rewrap_all(&known).await?;
        let old_keys_dropped = self.source.keep_current(&known).await?;
        Ok(Rotation { current: known.current_id().to_owned(), rewrapped, old_keys_dropped })
    }

    pub(super) async fn go_over(&self, keys: &MasterKeys) -> Result<(), VaultError> {
        sqlx::query("UPDATE vault_state SET master_key = $1 WHERE one = 1")
            .bind(keys.current_id())
            .execute(self.database.pool().await?)
            .await
            .map_err(VaultError::store("cannot go over to the new master key"))?;
        Ok(())
    }

    async fn rewrap_all(&self, keys: &MasterKeys) -> Result<u64, VaultError> {
        let credentials = self.rewrap_table(keys, Table::Credentials).await?;
        Ok(credentials + self.rewrap_table(keys, Table::Rotated).await?)
    }

    async fn rewrap_table(&self, keys: &MasterKeys, table: Table) -> Result<u64, VaultError> {
        let failed = VaultError::store("cannot wrap the data keys anew");
        // Rows of rotated cookies have neither domain nor scope.
        let select = match table {
            Table::Credentials => {
                "SELECT tenant, id, domain, grant_scope, data_key, master_key FROM credentials
                 WHERE master_key <> $1 ORDER BY tenant, id LIMIT $2"
            }
            Table::Rotated => {
                "SELECT tenant, id, '' AS domain, 'operator' AS grant_scope, data_key, master_key FROM rotated
                 WHERE master_key <> $1 ORDER BY tenant, id LIMIT $2"
            }
        };
        let (mut rewrapped, mut idle) = (0, 0);
        loop {
            let rows = sqlx::query(select)
                .bind(keys.current_id())
                .bind(BATCH)
                .fetch_all(self.database.pool().await?)
                .await
                .map_err(&failed)?;
            if rows.is_empty() {
                return Ok(rewrapped);
            }
            let before = rewrapped;
            for row in &rows {
                rewrapped += self.rewrap(keys, table, row).await?;
            }
            idle = if rewrapped == before { idle + 1 } else { 0 };
            if idle > MOST_IDLE_ROUNDS {
                return Err(VaultError::StoreDamaged { what: "rows that change faster than they are read" });
            }
        }
    }

    /// Wraps the key of one row again, unless the row was replaced meanwhile. A row that does not decrypt stops the
    /// rotation, and the old key stays.
    async fn rewrap(&self, keys: &MasterKeys, table: Table, row: &AnyRow) -> Result<u64, VaultError> {
        let failed = VaultError::store("cannot wrap a data key anew");
        let text = |column: &str| row.try_get::<String, _>(column).map_err(&failed);
        let (tenant, id, domain) = (text("tenant")?, text("id")?, text("domain")?);
        let (data_key, master_key) = (text("data_key")?, text("master_key")?);
        let scope = GrantScope::parse(&text("grant_scope")?)
            .ok_or(VaultError::StoreDamaged { what: "a grant scope" })?;
        if keys.get(&master_key).is_none() {
            return Err(self.wrong_key(&master_key, keys));
        }
        let place = RowIdentity { table, tenant: &tenant, id: &id, domain: &domain, scope };
        let wrapped = place.wrap(keys, keys.current_id(), &place.unwrap(keys, &master_key, &data_key)?)?;
        let update = match table {
            Table::Credentials => {
                "UPDATE credentials SET data_key = $1, master_key = $2
                 WHERE tenant = $3 AND id = $4 AND data_key = $5"
            }
            Table::Rotated => {
                "UPDATE rotated SET data_key = $1, master_key = $2 WHERE tenant = $3 AND id = $4 AND data_key = $5"
            }
        };
        let done = sqlx::query(update)
            .bind(wrapped)
            .bind(keys.current_id())
            .bind(&tenant)
            .bind(&id)
            .bind(&data_key)
            .execute(self.database.pool().await?)
            .await
            .map_err(&failed)?;
        Ok(done.rows_affected())
    }
}
