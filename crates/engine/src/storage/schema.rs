//! Brings the schema up to date by the migrations in `migrations/`.

use crate::storage::StorageError;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use std::sync::LazyLock;

const MIGRATING: &str = "cannot bring the database up to date";
/// Whether the migrator records migrations without executing them.
const SKIP: bool = true;
const EXECUTE: bool = false;
/// The first release had these steps; the numbers are those of the migrations that do the same.
const LAST_FIRST_RELEASE_STEP: i64 = 3;

/// Each migration is applied once, in order, and its file never changes after a release.
static MIGRATOR: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx::migrate!();
    migrator.dangerous_set_table_name("schema_migrations");
    migrator
});

/// Applies the migrations that are missing, all or none. Two processes that start at once take turns.
pub(super) async fn bring_up_to_date(pool: &SqlitePool) -> Result<(), StorageError> {
    let failed = StorageError::because(MIGRATING);
    let mut change = pool.begin_with("BEGIN IMMEDIATE").await.map_err(&failed)?;
    if let Some(step) = first_release_step(&mut change).await? {
        if step > LAST_FIRST_RELEASE_STEP {
            return Err(StorageError::Newer { found: step, known: LAST_FIRST_RELEASE_STEP });
        }
        MIGRATOR.run_direct(Some(step), &mut *change, SKIP).await.map_err(migrate_error)?;
    }
    MIGRATOR.run_direct(None, &mut *change, EXECUTE).await.map_err(migrate_error)?;
    change.commit().await.map_err(&failed)
}

/// How far the first release got, which kept its own list of steps. The list stays: the adoption is repeatable.
async fn first_release_step(connection: &mut SqliteConnection) -> Result<Option<i64>, StorageError> {
    let failed = StorageError::because(MIGRATING);
    let tables: i64 = sqlx::query_scalar(
        "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_steps'",
    )
    .fetch_one(&mut *connection)
    .await
    .map_err(&failed)?;
    if tables == 0 {
        return Ok(None);
    }
    sqlx::query_scalar("SELECT MAX(step) FROM schema_steps").fetch_one(connection).await.map_err(&failed)
}

fn migrate_error(error: MigrateError) -> StorageError {
    match error {
        MigrateError::VersionMissing(found) => {
            let known = MIGRATOR.iter().map(|migration| migration.version).max().unwrap_or(0);
            StorageError::Newer { found, known }
        }
        MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => {
            StorageError::Database { doing: MIGRATING, source }
        }
        other => StorageError::Database { doing: MIGRATING, source: other.into() },
    }
}
