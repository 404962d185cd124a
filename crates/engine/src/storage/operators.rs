//! Operators: names and password hashes.

use crate::storage::{Storage, StorageError, commit, time};
use jiff::Timestamp;
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, Sqlite, Transaction};

/// The operator that the first start creates; the default where none is named.
pub const FIRST_OPERATOR: &str = "operator";

/// An operator for display, without the password hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OperatorRow {
    pub name: String,
    pub created_at: Timestamp,
    pub has_password: bool,
}

impl Storage {
    /// Creates the first operator, so that a password can be set before the first start.
    pub async fn first_operator(&self) -> Result<(), StorageError> {
        let mut change = self.change().await?;
        insert_first(&mut change, Timestamp::now()).await?;
        commit(change).await
    }

    pub async fn list_operators(&self) -> Result<Vec<OperatorRow>, StorageError> {
        let rows = sqlx::query("SELECT * FROM operators ORDER BY created_at, name")
            .fetch_all(&self.pool)
            .await
            .map_err(StorageError::because("cannot list the operators"))?;
        rows.into_iter().map(OperatorRow::read).collect()
    }

    pub async fn add_operator(&self, name: &str) -> Result<OperatorRow, StorageError> {
        let row = sqlx::query(
            "INSERT INTO operators (name, created_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING *",
        )
        .bind(name)
        .bind(Timestamp::now().as_millisecond())
        .fetch_optional(&self.pool)
        .await
        .map_err(StorageError::because("cannot store the operator"))?;
        row.map(OperatorRow::read)
            .transpose()?
            .ok_or_else(|| StorageError::OperatorExists { name: name.to_owned() })
    }

    /// Removes an operator and ends all their sessions. The last operator cannot be removed.
    pub async fn remove_operator(&self, name: &str) -> Result<(), StorageError> {
        let failed = StorageError::because("cannot remove the operator");
        let mut change = self.change().await?;
        for statement in [
            "DELETE FROM operator_sessions WHERE operator = $1",
            "DELETE FROM operator_links WHERE operator = $1",
        ] {
            sqlx::query(statement).bind(name).execute(&mut *change).await.map_err(&failed)?;
        }
        let removed = sqlx::query("DELETE FROM operators WHERE name = $1")
            .bind(name)
            .execute(&mut *change)
            .await
            .map_err(&failed)?;
        if removed.rows_affected() == 0 {
            return Err(StorageError::UnknownOperator { name: name.to_owned() });
        }
        let left: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM operators")
            .fetch_one(&mut *change)
            .await
            .map_err(&failed)?;
        if left == 0 {
            return Err(StorageError::LastOperator { name: name.to_owned() });
        }
        commit(change).await
    }

    /// The hash of an operator's password: `None` if there is no such operator, `Some(None)` if it has none yet.
    pub async fn operator_password(&self, name: &str) -> Result<Option<Option<String>>, StorageError> {
        sqlx::query_scalar("SELECT password FROM operators WHERE name = $1")
            .bind(name)
            .fetch_optional(&self.pool)
            .await
            .map_err(StorageError::because("cannot look for the operator"))
    }

    /// Whether any operator has a password. From then on creating links and operators requires one.
    pub async fn any_operator_password(&self) -> Result<bool, StorageError> {
        let count: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM operators WHERE password IS NOT NULL")
            .fetch_one(&self.pool)
            .await
            .map_err(StorageError::because("cannot look at the operators"))?;
        Ok(count > 0)
    }

    /// Replaces the password hash `old` by `hash` and ends all the operator's sessions and links. False if the old one
    /// was replaced in the meantime.
    pub async fn set_operator_password(
        &self,
        name: &str,
        old: Option<&str>,
        hash: &str,
    ) -> Result<bool, StorageError> {
        let failed = StorageError::because("cannot store the password");
        let mut change = self.change().await?;
        let changed =
            sqlx::query("UPDATE operators SET password = $1 WHERE name = $2 AND COALESCE(password, '') = $3")
                .bind(hash)
                .bind(name)
                .bind(old.unwrap_or_default())
                .execute(&mut *change)
                .await
                .map_err(&failed)?;
        if changed.rows_affected() == 0 {
            return Ok(false);
        }
        for statement in [
            "DELETE FROM operator_sessions WHERE operator = $1",
            "DELETE FROM operator_links WHERE operator = $1",
        ] {
            sqlx::query(statement).bind(name).execute(&mut *change).await.map_err(&failed)?;
        }
        commit(change).await?;
        Ok(true)
    }
}

/// Adds the first operator, if there is none at all.
pub(super) async fn insert_first(
    change: &mut Transaction<'_, Sqlite>,
    now: Timestamp,
) -> Result<(), StorageError> {
    sqlx::query(
        "INSERT INTO operators (name, created_at)
         SELECT $1, $2 WHERE NOT EXISTS (SELECT 1 FROM operators)",
    )
    .bind(FIRST_OPERATOR)
    .bind(now.as_millisecond())
    .execute(&mut **change)
    .await
    .map_err(StorageError::because("cannot make the operator"))?;
    Ok(())
}

impl OperatorRow {
    fn read(row: SqliteRow) -> Result<OperatorRow, StorageError> {
        let failed = StorageError::because("cannot read an operator's row");
        let password: Option<String> = row.try_get("password").map_err(&failed)?;
        Ok(OperatorRow {
            name: row.try_get("name").map_err(&failed)?,
            created_at: time(row.try_get("created_at").map_err(&failed)?)?,
            has_password: password.is_some(),
        })
    }
}
