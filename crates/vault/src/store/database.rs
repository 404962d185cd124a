//! The database of credentials and grants: SQLite in a file, or PostgreSQL. Both have one schema and one set of
//! statements. Connections are made on demand, so an outage needs no restart.

use crate::error::VaultError;
use jiff::Timestamp;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{Any, AnyPool, Transaction};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::sync::OnceCell;

pub(super) type Change = Transaction<'static, Any>;

/// Timeout of a statement that waits for another, and of a caller that waits for a connection.
const PATIENCE: Duration = Duration::from_secs(5);
const CONNECTIONS: u32 = 4;
/// Whether the migrator records migrations without executing them.
const SKIP: bool = true;
const EXECUTE: bool = false;
const MIGRATING: &str = "cannot bring the database up to date";
/// The first release had these steps; the numbers are those of the migrations that do the same.
const LAST_FIRST_RELEASE_STEP: i64 = 2;

/// Bounds a call to the database: one that accepts a statement and does not answer counts as down.
pub async fn with_timeout<T>(
    call: impl Future<Output = Result<T, VaultError>>,
    patience: Duration,
) -> Result<T, VaultError> {
    let silent = |_| VaultError::StoreSilent { seconds: patience.as_secs() };
    tokio::time::timeout(patience, call).await.map_err(silent)?
}

#[derive(Clone)]
pub struct Database {
    pool: AnyPool,
    kind: Kind,
    migrated: Arc<OnceCell<()>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Postgres,
}

/// Each migration is applied once, in order, and its file never changes after a release.
static MIGRATOR: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx::migrate!();
    // A PostgreSQL database may hold another program's tables, with migrations of their own.
    migrator.dangerous_set_table_name("vault_migrations");
    // The transaction around it excludes others, on SQLite too.
    migrator.set_locking(false);
    migrator
});

impl Database {
    /// A file, made with mode 0600 if it is not there. Called within a Tokio runtime, as is [`Database::postgres`].
    pub fn sqlite(file: &Path) -> Result<Database, VaultError> {
        // Made here and not by SQLite, so that it is private from its first moment. SQLite may not make it: a file that
        // disappears later is an error, not an empty vault.
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
        Ok(Database { pool, kind, migrated: Arc::new(OnceCell::new()) })
    }

    /// The connections, with the schema up to date.
    pub(crate) async fn pool(&self) -> Result<&AnyPool, VaultError> {
        self.migrated.get_or_try_init(|| self.migrate()).await?;
        Ok(&self.pool)
    }

    /// Starts a transaction that will write. SQLite's takes the write lock at once: one that reads first fails if
    /// another has written in between.
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

    /// Applies the missing migrations, all or none. Concurrent processes wait for each other.
    async fn migrate(&self) -> Result<(), VaultError> {
        let failed = VaultError::store(MIGRATING);
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
        if let Some(step) = self.first_release_step(&mut change).await? {
            if step > LAST_FIRST_RELEASE_STEP {
                return Err(VaultError::StoreNewer { found: step, known: LAST_FIRST_RELEASE_STEP });
            }
            MIGRATOR.run_direct(Some(step), &mut *change, SKIP).await.map_err(migrate_error)?;
        }
        MIGRATOR.run_direct(None, &mut *change, EXECUTE).await.map_err(migrate_error)?;
        change.commit().await.map_err(&failed)
    }

    /// The migrations that the first release had applied, which kept a list of its own. Its tables equal those of the
    /// migrations with the same numbers. The list is kept for programs of that release that share the database.
    async fn first_release_step(&self, change: &mut Change) -> Result<Option<i64>, VaultError> {
        let failed = VaultError::store(MIGRATING);
        let tables = match self.kind {
            Kind::Sqlite => {
                "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'vault_steps'"
            }
            Kind::Postgres => {
                "SELECT COUNT(*) FROM information_schema.tables
                 WHERE table_schema = current_schema() AND table_name = 'vault_steps'"
            }
        };
        let found: i64 = sqlx::query_scalar(tables).fetch_one(&mut **change).await.map_err(&failed)?;
        if found == 0 {
            return Ok(None);
        }
        let step = sqlx::query_scalar("SELECT MAX(step) FROM vault_steps").fetch_one(&mut **change).await;
        step.map_err(&failed)
    }
}

fn migrate_error(error: MigrateError) -> VaultError {
    match error {
        MigrateError::VersionMissing(found) => {
            let known = MIGRATOR.iter().map(|migration| migration.version).max().unwrap_or(0);
            VaultError::StoreNewer { found, known }
        }
        MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => {
            VaultError::Store { doing: MIGRATING, source }
        }
        other => VaultError::Store { doing: MIGRATING, source: other.into() },
    }
}

/// Times are milliseconds since 1970.
pub(crate) fn time(value: i64) -> Result<Timestamp, VaultError> {
    Timestamp::from_millisecond(value).map_err(|_| VaultError::StoreDamaged { what: "a time" })
}
