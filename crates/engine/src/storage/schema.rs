//! The schema, as a list of steps that only grows.

use crate::storage::StorageError;
use sqlx::sqlite::SqlitePool;

/// Each step is applied once, in order, and never changed after a release.
const STEPS: &[&[&str]] = &[
    &[
        "CREATE TABLE tenants (
        name TEXT PRIMARY KEY,
        created_at BIGINT NOT NULL
    )",
        "CREATE TABLE actors (
        tenant TEXT NOT NULL REFERENCES tenants (name),
        name TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        PRIMARY KEY (tenant, name)
    )",
        "CREATE TABLE operators (
        name TEXT PRIMARY KEY,
        created_at BIGINT NOT NULL
    )",
        "CREATE TABLE agent_keys (
        id TEXT PRIMARY KEY,
        tenant TEXT NOT NULL,
        actor TEXT NOT NULL,
        hash TEXT NOT NULL UNIQUE,
        label TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        last_used_at BIGINT,
        revoked_at BIGINT,
        FOREIGN KEY (tenant, actor) REFERENCES actors (tenant, name)
    )",
        "CREATE TABLE operator_links (
        hash TEXT PRIMARY KEY,
        operator TEXT NOT NULL REFERENCES operators (name),
        created_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        used_at BIGINT
    )",
    ],
    &[
        "CREATE TABLE approvals (
        id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        kind TEXT NOT NULL,
        tenant TEXT NOT NULL,
        actor TEXT NOT NULL,
        session TEXT NOT NULL,
        session_name TEXT,
        card TEXT NOT NULL,
        asked_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        state TEXT NOT NULL,
        decided_by TEXT,
        door TEXT,
        decided_at BIGINT,
        for_session BIGINT NOT NULL,
        note TEXT,
        outcome TEXT
    )",
        "CREATE INDEX approvals_by_state ON approvals (state, asked_at)",
    ],
    &[
        "ALTER TABLE operators ADD COLUMN password TEXT",
        "CREATE TABLE operator_sessions (
        hash TEXT PRIMARY KEY,
        operator TEXT NOT NULL REFERENCES operators (name),
        created_at BIGINT NOT NULL,
        used_at BIGINT NOT NULL
    )",
        "CREATE TABLE milestones (
        name TEXT PRIMARY KEY,
        reached_at BIGINT NOT NULL
    )",
        "INSERT INTO milestones (name, reached_at)
        SELECT 'first_start', created_at FROM operators ORDER BY created_at LIMIT 1",
    ],
];

/// Applies the steps that are missing, all or none. Two processes that start at once take turns.
pub(super) async fn bring_up_to_date(pool: &SqlitePool) -> Result<(), StorageError> {
    let failed = StorageError::because("cannot bring the database up to date");
    let mut change = pool.begin_with("BEGIN IMMEDIATE").await.map_err(&failed)?;
    sqlx::query("CREATE TABLE IF NOT EXISTS schema_steps (step BIGINT PRIMARY KEY)")
        .execute(&mut *change)
        .await
        .map_err(&failed)?;
    let done: i64 = sqlx::query_scalar("SELECT COALESCE(MAX(step), 0) FROM schema_steps")
        .fetch_one(&mut *change)
        .await
        .map_err(&failed)?;
    let known = STEPS.len() as i64;
    if done > known {
        return Err(StorageError::Newer { found: done, known });
    }
    for (step, statements) in (1i64..).zip(STEPS).filter(|(step, _)| *step > done) {
        for statement in *statements {
            sqlx::query(*statement).execute(&mut *change).await.map_err(&failed)?;
        }
        sqlx::query("INSERT INTO schema_steps (step) VALUES ($1)")
            .bind(step)
            .execute(&mut *change)
            .await
            .map_err(&failed)?;
    }
    change.commit().await.map_err(&failed)
}
