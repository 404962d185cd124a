//! The database of credentials and grants: SQLite in a file, or PostgreSQL by its address. One schema, one set of
//! statements. Connections are made when they are needed, so a database that was down is used again when it is back.

use crate::error::VaultError;
use jiff::Timestamp;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{Any, AnyPool, Transaction};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;

pub(super) type Change = Transaction<'static, Any>;

/// How long a statement waits for another's, and a caller for a connection; then it is an error.
const PATIENCE: Duration = Duration::from_secs(5);
const CONNECTIONS: u32 = 4;

/// A database that takes what it is sent and says nothing is one that is down; nobody waits for it without an end.
pub async fn answered<T>(
    asked: impl Future<Output = Result<T, VaultError>>,
    patience: Duration,
) -> Result<T, VaultError> {
    let silent = |_| VaultError::StoreSilent { seconds: patience.as_secs() };
    tokio::time::timeout(patience, asked).await.map_err(silent)?
}

#[derive(Clone)]
pub struct Database {
    pool: AnyPool,
    kind: Kind,
    up_to_date: Arc<OnceCell<()>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Postgres,
}

/// Each step is applied once, in order, and never changed after a release. Text, bigint and `$1` are what both databases
/// understand alike; sealed bytes are base64.
const STEPS: &[&[&str]] = &[
    &[
        "CREATE TABLE credentials (
        tenant TEXT NOT NULL,
        id TEXT NOT NULL,
        domain TEXT NOT NULL,
        grant_scope TEXT NOT NULL,
        sealed TEXT NOT NULL,
        data_key TEXT NOT NULL,
        master_key TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        last_refreshed_at BIGINT,
        last_injected_at BIGINT,
        PRIMARY KEY (tenant, id)
    )",
        "CREATE TABLE vault_state (
        one BIGINT PRIMARY KEY,
        master_key TEXT NOT NULL,
        writes BIGINT NOT NULL
    )",
        "CREATE TABLE grants (
        jti TEXT PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        tenant TEXT NOT NULL,
        issuer TEXT NOT NULL,
        operator TEXT NOT NULL,
        origin_session TEXT NOT NULL,
        hosts TEXT NOT NULL,
        issued_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        single_use BIGINT NOT NULL,
        uses BIGINT NOT NULL,
        used_at BIGINT,
        revoked_at BIGINT
    )",
        "CREATE TABLE grant_lifetimes (
        tenant TEXT PRIMARY KEY,
        seconds BIGINT NOT NULL
    )",
    ],
    &["CREATE TABLE rotated (
        tenant TEXT NOT NULL,
        id TEXT NOT NULL,
        sealed TEXT NOT NULL,
        data_key TEXT NOT NULL,
        master_key TEXT NOT NULL,
        kept_at BIGINT NOT NULL,
        PRIMARY KEY (tenant, id)
    )"],
];

impl Database {
    /// A file, made with mode 0600 if it is not there. Called within a Tokio runtime, as is [`Database::postgres`].
    pub fn sqlite(file: &Path) -> Result<Database, VaultError> {
        // Made here and not by SQLite, so that it is closed to others from its first moment. SQLite itself may not
        // make it: a file that is gone later is an error, and not an empty vault.
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(file)
            .map_err(|source| VaultError::StoreFile { file: file.to_owned(), source })?;
        let path: String = file
            .to_string_lossy()
            .bytes()
            .map(|b| match b {
                b if b.is_ascii_alphanumeric() || b"/-._".contains(&b) => char::from(b).to_string(),
                b => format!("%{b:02X}"),
            })
            .collect();
        Database::lazy(&format!("sqlite://{path}?mode=rw"), Kind::Sqlite)
    }

    /// `postgres://user:password@host/database`. The password stays out of every message.
    pub fn postgres(address: &str) -> Result<Database, VaultError> {
        if !address.starts_with("postgres://") && !address.starts_with("postgresql://") {
            let reason = "an address such as postgres://user@host/stockade".to_owned();
            return Err(VaultError::Settings { what: "database", reason });
        }
        Database::lazy(address, Kind::Postgres)
    }

    fn lazy(address: &str, kind: Kind) -> Result<Database, VaultError> {
        sqlx::any::install_default_drivers();
        let bad =
            |_| VaultError::Settings { what: "database", reason: "its address cannot be read".to_owned() };
        let options = AnyConnectOptions::from_str(address).map_err(bad)?;
        let pool = AnyPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(PATIENCE)
            .connect_lazy_with(options);
        Ok(Database { pool, kind, up_to_date: Arc::new(OnceCell::new()) })
    }

    /// The connections, with the schema up to date.
    pub(crate) async fn pool(&self) -> Result<&AnyPool, VaultError> {
        self.up_to_date.get_or_try_init(|| self.bring_up_to_date()).await?;
        Ok(&self.pool)
    }

    /// A transaction that will write. SQLite's takes its place in the queue of writers at once, because one that reads
    /// first and then writes fails when another has written in between.
    pub(super) async fn change(&self) -> Result<Change, VaultError> {
        self.pool().await?;
        self.begin().await
    }

    async fn begin(&self) -> Result<Change, VaultError> {
        let how = match self.kind {
            Kind::Sqlite => "BEGIN IMMEDIATE",
            Kind::Postgres => "BEGIN",
        };
        self.pool.begin_with(how).await.map_err(VaultError::store("cannot begin a change in the database"))
    }

    /// Ends all connections.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Applies the steps that are missing, all or none. Two processes that start at once take turns.
    async fn bring_up_to_date(&self) -> Result<(), VaultError> {
        let failed = VaultError::store("cannot bring the database up to date");
        if self.kind == Kind::Sqlite {
            // Readers and a writer do not wait for each other. It stays with the file. What is left as it is: a
            // statement waits five seconds for another's, and what was committed survives a power cut.
            sqlx::query("PRAGMA journal_mode = WAL").execute(&self.pool).await.map_err(&failed)?;
        }
        let mut change = self.begin().await?;
        if self.kind == Kind::Postgres {
            sqlx::query("DO $$ BEGIN PERFORM pg_advisory_xact_lock(7315423801); END $$")
                .execute(&mut *change)
                .await
                .map_err(&failed)?;
        }
        sqlx::query("CREATE TABLE IF NOT EXISTS vault_steps (step BIGINT PRIMARY KEY)")
            .execute(&mut *change)
            .await
            .map_err(&failed)?;
        let done: Option<i64> = sqlx::query_scalar("SELECT MAX(step) FROM vault_steps")
            .fetch_one(&mut *change)
            .await
            .map_err(&failed)?;
        let (done, known) = (done.unwrap_or(0), STEPS.len() as i64);
        if done > known {
            return Err(VaultError::StoreNewer { found: done, known });
        }
        for (step, statements) in (1i64..).zip(STEPS).filter(|(step, _)| *step > done) {
            for statement in *statements {
                sqlx::query(*statement).execute(&mut *change).await.map_err(&failed)?;
            }
            sqlx::query("INSERT INTO vault_steps (step) VALUES ($1)")
                .bind(step)
                .execute(&mut *change)
                .await
                .map_err(&failed)?;
        }
        change.commit().await.map_err(&failed)
    }
}

/// Times are milliseconds since 1970.
pub(crate) fn time(value: i64) -> Result<Timestamp, VaultError> {
    Timestamp::from_millisecond(value).map_err(|_| VaultError::StoreDamaged { what: "a time" })
}
