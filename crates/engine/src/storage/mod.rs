//! Rows: tenants, actors, operators, the keys of agents, and the questions to people.
//!
//! SQLite in the state folder. Statements and schema keep to what PostgreSQL understands too (text, bigint, `$1`), so that
//! the schema can serve both; only SQLite is opened today. Times are milliseconds since 1970.

mod error;
mod keys;
mod operator_sessions;
mod operators;
mod schema;
mod secret;

#[cfg(test)]
mod tests;

pub use error::StorageError;
pub use keys::KeyRow;
pub use operator_sessions::{LINK_LIFETIME, MAX_SESSION_AGE, OperatorSession};
pub use operators::{FIRST_OPERATOR, OperatorRow};
pub use secret::{AgentKey, OperatorToken};

use jiff::Timestamp;
use policy::{Actor, Scope, Tenant};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Sqlite, Transaction};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Time limit for a lock of another process, and for a connection of the pool.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Size of the connection pool. SQLite has one writer; the others read.
const CONNECTIONS: u32 = 4;

#[derive(Clone, Debug)]
pub struct Storage {
    pub(crate) pool: SqlitePool,
}

/// The result of the first start, with the only copy of the key.
pub struct FirstStart {
    pub scope: Scope,
    pub agent_key: AgentKey,
}

impl Storage {
    /// Opens the database file, making it (mode 0600) and bringing its schema up to date if need be.
    pub async fn open(file: &Path) -> Result<Storage, StorageError> {
        // Made here and not by SQLite, so that it is closed to others from its first moment; the files
        // that SQLite puts beside it take over its mode.
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(file)
            .map_err(|source| StorageError::File { file: file.to_owned(), source })?;
        let options = SqliteConnectOptions::new()
            .filename(file)
            .journal_mode(SqliteJournalMode::Wal)
            // A revoked key stays revoked after a power cut.
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(TIMEOUT);
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(TIMEOUT)
            .connect_with(options)
            .await
            .map_err(StorageError::because("cannot open the database"))?;
        schema::bring_up_to_date(&pool).await?;
        Ok(Storage { pool })
    }

    /// Creates tenant `default` with actor `agent`, a key and one operator; `None` after the first time.
    pub async fn first_start(&self) -> Result<Option<FirstStart>, StorageError> {
        let mut change = self.change().await?;
        let now = Timestamp::now();
        let first = sqlx::query(
            "INSERT INTO milestones (name, reached_at) VALUES ('first_start', $1) ON CONFLICT DO NOTHING",
        )
        .bind(now.as_millisecond())
        .execute(&mut *change)
        .await
        .map_err(StorageError::because("cannot note the first start"))?;
        if first.rows_affected() == 0 {
            return Ok(None);
        }
        operators::insert_first(&mut change, now).await?;
        let scope = default_scope()?;
        let (agent_key, _) = keys::insert(&mut change, &scope, "first start", now).await?;
        commit(change).await?;
        Ok(Some(FirstStart { scope, agent_key }))
    }

    /// Ends all connections, so that SQLite folds its side files into the database.
    pub async fn close(self) {
        self.pool.close().await;
    }

    /// Begins a write transaction. It locks at once, because a transaction that reads before it writes fails when
    /// another one has written in between.
    async fn change(&self) -> Result<Transaction<'_, Sqlite>, StorageError> {
        self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(StorageError::because("cannot begin a change"))
    }
}

async fn commit(change: Transaction<'_, Sqlite>) -> Result<(), StorageError> {
    change.commit().await.map_err(StorageError::because("cannot store the change"))
}

/// The scope of the first agent and of callers without a key.
pub fn default_scope() -> Result<Scope, StorageError> {
    scope("default", "agent")
}

pub(crate) fn scope(tenant: &str, actor: &str) -> Result<Scope, StorageError> {
    let bad = |source| StorageError::BadName { tenant: tenant.to_owned(), actor: actor.to_owned(), source };
    Ok(Scope { tenant: Tenant::parse(tenant).map_err(bad)?, actor: Actor::parse(actor).map_err(bad)? })
}

pub(crate) fn time(value: i64) -> Result<Timestamp, StorageError> {
    Timestamp::from_millisecond(value).map_err(|source| StorageError::BadTime { value, source })
}
