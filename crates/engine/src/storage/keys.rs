//! Agent keys: create, find, list, revoke.

use crate::storage::{AgentKey, Storage, StorageError, commit, scope, secret, time};
use jiff::Timestamp;
use policy::Scope;
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, Sqlite, Transaction};

/// A stored agent key, without the key itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyRow {
    pub id: String,
    #[serde(flatten)]
    pub scope: Scope,
    pub label: String,
    pub created_at: Timestamp,
    /// Up to a minute late.
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// Maximum length of a label.
const LONGEST_LABEL: usize = 64;

/// Minimum age of `last_used_at` before a use updates it, so that a busy agent does not cause a write per call.
const STALE_MILLISECONDS: i64 = 60_000;

impl Storage {
    /// Creates a key for an actor, and the tenant and actor if they are new.
    pub async fn make_key(&self, scope: &Scope, label: &str) -> Result<(AgentKey, KeyRow), StorageError> {
        let length = label.chars().count();
        if length > LONGEST_LABEL {
            return Err(StorageError::LongLabel { length, most: LONGEST_LABEL });
        }
        let mut change = self.change().await?;
        let made = insert(&mut change, scope, label, Timestamp::now()).await?;
        commit(change).await?;
        Ok(made)
    }

    /// Finds the scope of a key; `None` if it is unknown or revoked. Always one lookup by hash, so that the response time
    /// reveals nothing about stored keys.
    pub async fn find_key(&self, key: &str) -> Result<Option<Scope>, StorageError> {
        self.find_key_at(key, Timestamp::now()).await
    }

    pub(super) async fn find_key_at(&self, key: &str, now: Timestamp) -> Result<Option<Scope>, StorageError> {
        let row = sqlx::query("SELECT * FROM agent_keys WHERE hash = $1 AND revoked_at IS NULL")
            .bind(secret::hash(key))
            .fetch_optional(&self.pool)
            .await
            .map_err(StorageError::because("cannot look for the key"))?;
        let Some(found) = row.map(KeyRow::read).transpose()? else { return Ok(None) };
        let stale_before = now.as_millisecond() - STALE_MILLISECONDS;
        if found.last_used_at.is_none_or(|used| used.as_millisecond() < stale_before) {
            let touched = sqlx::query("UPDATE agent_keys SET last_used_at = $1 WHERE id = $2")
                .bind(now.as_millisecond())
                .bind(&found.id)
                .execute(&self.pool)
                .await;
            // A full disk must not lock agents out: the key stays valid if its use cannot be stored.
            if let Err(error) = touched {
                tracing::warn!(%error, key = found.id, "the use of a key could not be noted");
            }
        }
        Ok(Some(found.scope))
    }

    /// All keys, revoked ones included, oldest first.
    pub async fn list_keys(&self) -> Result<Vec<KeyRow>, StorageError> {
        let rows = sqlx::query("SELECT * FROM agent_keys ORDER BY created_at, id")
            .fetch_all(&self.pool)
            .await
            .map_err(StorageError::because("cannot list the keys"))?;
        rows.into_iter().map(KeyRow::read).collect()
    }

    /// Revokes a key from the next call on. A revoked key keeps its time of revocation.
    pub async fn revoke_key(&self, id: &str) -> Result<KeyRow, StorageError> {
        let failed = StorageError::because("cannot revoke the key");
        let mut change = self.change().await?;
        sqlx::query("UPDATE agent_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL")
            .bind(Timestamp::now().as_millisecond())
            .bind(id)
            .execute(&mut *change)
            .await
            .map_err(&failed)?;
        let row = sqlx::query("SELECT * FROM agent_keys WHERE id = $1")
            .bind(id)
            .fetch_optional(&mut *change)
            .await
            .map_err(&failed)?
            .ok_or_else(|| StorageError::UnknownKey { id: id.to_owned() })?;
        commit(change).await?;
        KeyRow::read(row)
    }
}

/// Inserts a key within the caller's transaction.
pub(super) async fn insert(
    change: &mut Transaction<'_, Sqlite>,
    scope: &Scope,
    label: &str,
    now: Timestamp,
) -> Result<(AgentKey, KeyRow), StorageError> {
    let failed = StorageError::because("cannot store the key");
    let key = AgentKey::random()?;
    let random = redact::random_text(redact::ALPHANUMERIC, 8)
        .map_err(|source| StorageError::NoRandomness { source })?;
    let id = format!("key-{}", random.to_ascii_lowercase());
    let millis = now.as_millisecond();
    sqlx::query("INSERT INTO tenants (name, created_at) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(scope.tenant.as_str())
        .bind(millis)
        .execute(&mut **change)
        .await
        .map_err(&failed)?;
    sqlx::query("INSERT INTO actors (tenant, name, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
        .bind(scope.tenant.as_str())
        .bind(scope.actor.as_str())
        .bind(millis)
        .execute(&mut **change)
        .await
        .map_err(&failed)?;
    let row = sqlx::query(
        "INSERT INTO agent_keys (id, tenant, actor, hash, label, created_at)
         VALUES ($1, $2, $3, $4, $5, $6) RETURNING *",
    )
    .bind(id)
    .bind(scope.tenant.as_str())
    .bind(scope.actor.as_str())
    .bind(key.hash())
    .bind(label)
    .bind(millis)
    .fetch_one(&mut **change)
    .await
    .map_err(&failed)?;
    Ok((key, KeyRow::read(row)?))
}

impl KeyRow {
    fn read(row: SqliteRow) -> Result<KeyRow, StorageError> {
        let failed = StorageError::because("cannot read a key's row");
        let tenant: String = row.try_get("tenant").map_err(&failed)?;
        let actor: String = row.try_get("actor").map_err(&failed)?;
        let optional = |column: &str| -> Result<Option<Timestamp>, StorageError> {
            let value: Option<i64> = row.try_get(column).map_err(&failed)?;
            value.map(time).transpose()
        };
        Ok(KeyRow {
            id: row.try_get("id").map_err(&failed)?,
            scope: scope(&tenant, &actor)?,
            label: row.try_get("label").map_err(&failed)?,
            created_at: time(row.try_get("created_at").map_err(&failed)?)?,
            last_used_at: optional("last_used_at")?,
            revoked_at: optional("revoked_at")?,
        })
    }
}
