//! Operators' login sessions and one-time login links. Both are random tokens, stored as hashes.

use crate::storage::{OperatorToken, Storage, StorageError, commit, secret, time};
use jiff::Timestamp;
use sqlx::{Row, Sqlite, Transaction};
use std::time::Duration;

/// Lifetime of an unused link.
pub const LINK_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Maximum lifetime of a session.
pub const MAX_SESSION_AGE: Duration = Duration::from_secs(12 * 60 * 60);
/// Idle timeout of a session.
const MAX_IDLE_TIME: Duration = Duration::from_secs(2 * 60 * 60);
/// Maximum number of sessions, and of unused links, of one operator. A new one ends the oldest.
const MAX_PER_OPERATOR: i64 = 16;
/// Minimum age of `used_at` before a use updates it.
const STALE: Duration = Duration::from_secs(60);

/// A logged-in operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorSession {
    pub operator: String,
    pub since: Timestamp,
}

fn before(now: Timestamp, span: Duration) -> i64 {
    now.as_millisecond().saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX))
}

impl Storage {
    /// Creates a single-use, short-lived login link for an operator.
    pub async fn make_link(&self, operator: &str) -> Result<OperatorToken, StorageError> {
        self.make_link_at(operator, Timestamp::now()).await
    }

    pub(super) async fn make_link_at(
        &self,
        operator: &str,
        now: Timestamp,
    ) -> Result<OperatorToken, StorageError> {
        let failed = StorageError::because("cannot store the link");
        if self.operator_password(operator).await?.is_none() {
            return Err(StorageError::UnknownOperator { name: operator.to_owned() });
        }
        let token = OperatorToken::random()?;
        let mut change = self.change().await?;
        sqlx::query(
            "DELETE FROM operator_links WHERE expires_at < $1 OR used_at IS NOT NULL OR hash IN
             (SELECT hash FROM operator_links WHERE operator = $2 ORDER BY created_at DESC LIMIT $3 OFFSET $4)",
        )
        .bind(now.as_millisecond())
        .bind(operator)
        .bind(i64::from(i32::MAX))
        .bind(MAX_PER_OPERATOR - 1)
        .execute(&mut *change)
        .await
        .map_err(&failed)?;
        sqlx::query(
            "INSERT INTO operator_links (hash, operator, created_at, expires_at) VALUES ($1, $2, $3, $4)",
        )
        .bind(token.hash())
        .bind(operator)
        .bind(now.as_millisecond())
        .bind(now.as_millisecond() + i64::try_from(LINK_LIFETIME.as_millis()).unwrap_or(0))
        .execute(&mut *change)
        .await
        .map_err(&failed)?;
        commit(change).await?;
        Ok(token)
    }

    /// Uses a link and returns its operator; `None` if it is unknown, used or expired.
    pub async fn use_link(&self, token: &str) -> Result<Option<String>, StorageError> {
        self.use_link_at(token, Timestamp::now()).await
    }

    pub(super) async fn use_link_at(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<Option<String>, StorageError> {
        // One statement, so that only one of two concurrent uses succeeds.
        sqlx::query_scalar(
            "UPDATE operator_links SET used_at = $1
             WHERE hash = $2 AND used_at IS NULL AND expires_at >= $1 RETURNING operator",
        )
        .bind(now.as_millisecond())
        .bind(secret::hash(token))
        .fetch_optional(&self.pool)
        .await
        .map_err(StorageError::because("cannot use the link"))
    }

    pub async fn open_operator_session(&self, operator: &str) -> Result<OperatorToken, StorageError> {
        self.open_operator_session_at(operator, Timestamp::now()).await
    }

    /// Opens a session only if the operator still has this password hash; `None` if it was changed.
    pub async fn open_operator_session_by_password(
        &self,
        operator: &str,
        password: &str,
    ) -> Result<Option<OperatorToken>, StorageError> {
        let token = OperatorToken::random()?;
        let mut change = self.change().await?;
        let kept: Option<i64> =
            sqlx::query_scalar("SELECT 1 FROM operators WHERE name = $1 AND password = $2")
                .bind(operator)
                .bind(password)
                .fetch_optional(&mut *change)
                .await
                .map_err(StorageError::because("cannot look the operator up"))?;
        if kept.is_none() {
            return Ok(None);
        }
        insert_operator_session(&mut change, &token, operator, Timestamp::now()).await?;
        commit(change).await?;
        Ok(Some(token))
    }

    pub(super) async fn open_operator_session_at(
        &self,
        operator: &str,
        now: Timestamp,
    ) -> Result<OperatorToken, StorageError> {
        let token = OperatorToken::random()?;
        let mut change = self.change().await?;
        insert_operator_session(&mut change, &token, operator, now).await?;
        commit(change).await?;
        Ok(token)
    }

    /// Finds the session of a token. With `busy` false, for automatic requests of a page, it does not count as activity.
    pub async fn find_operator_session(
        &self,
        token: &str,
        busy: bool,
    ) -> Result<Option<OperatorSession>, StorageError> {
        self.find_operator_session_at(token, busy, Timestamp::now()).await
    }

    pub(super) async fn find_operator_session_at(
        &self,
        token: &str,
        busy: bool,
        now: Timestamp,
    ) -> Result<Option<OperatorSession>, StorageError> {
        let failed = StorageError::because("cannot look for the log-in");
        let row = sqlx::query(
            "SELECT operator, created_at, used_at FROM operator_sessions
             WHERE hash = $1 AND created_at >= $2 AND used_at >= $3",
        )
        .bind(secret::hash(token))
        .bind(before(now, MAX_SESSION_AGE))
        .bind(before(now, MAX_IDLE_TIME))
        .fetch_optional(&self.pool)
        .await
        .map_err(&failed)?;
        let Some(row) = row else { return Ok(None) };
        let used: i64 = row.try_get("used_at").map_err(&failed)?;
        if busy && used < before(now, STALE) {
            sqlx::query("UPDATE operator_sessions SET used_at = $1 WHERE hash = $2")
                .bind(now.as_millisecond())
                .bind(secret::hash(token))
                .execute(&self.pool)
                .await
                .map_err(&failed)?;
        }
        let operator = row.try_get("operator").map_err(&failed)?;
        Ok(Some(OperatorSession { operator, since: time(row.try_get("created_at").map_err(&failed)?)? }))
    }

    /// Ends the session.
    pub async fn end_operator_session(&self, token: &str) -> Result<(), StorageError> {
        sqlx::query("DELETE FROM operator_sessions WHERE hash = $1")
            .bind(secret::hash(token))
            .execute(&self.pool)
            .await
            .map_err(StorageError::because("cannot log out"))?;
        Ok(())
    }
}

/// Inserts a session. Deletes expired ones, and the operator's least recently used ones beyond the limit.
async fn insert_operator_session(
    change: &mut Transaction<'_, Sqlite>,
    token: &OperatorToken,
    operator: &str,
    now: Timestamp,
) -> Result<(), StorageError> {
    let failed = StorageError::because("cannot store the log-in");
    sqlx::query(
        "DELETE FROM operator_sessions WHERE created_at < $1 OR used_at < $2 OR hash IN
         (SELECT hash FROM operator_sessions WHERE operator = $3 ORDER BY used_at DESC LIMIT $4 OFFSET $5)",
    )
    .bind(before(now, MAX_SESSION_AGE))
    .bind(before(now, MAX_IDLE_TIME))
    .bind(operator)
    .bind(i64::from(i32::MAX))
    .bind(MAX_PER_OPERATOR - 1)
    .execute(&mut **change)
    .await
    .map_err(&failed)?;
    sqlx::query(
        "INSERT INTO operator_sessions (hash, operator, created_at, used_at) VALUES ($1, $2, $3, $3)",
    )
    .bind(token.hash())
    .bind(operator)
    .bind(now.as_millisecond())
    .execute(&mut **change)
    .await
    .map_err(&failed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    async fn storage() -> (tempfile::TempDir, Storage) {
        let folder = tempfile::tempdir().unwrap();
        let storage = Storage::open(&folder.path().join("stockade.db")).await.unwrap();
        storage.first_start().await.unwrap();
        (folder, storage)
    }

    fn minutes(count: i64) -> SignedDuration {
        SignedDuration::from_mins(count)
    }

    #[tokio::test]
    async fn a_link_works_once_and_expires() {
        let (_folder, storage) = storage().await;
        let now = Timestamp::now();
        let link = storage.make_link_at("operator", now).await.unwrap();
        let (one, two) = tokio::join!(storage.use_link(link.expose()), storage.use_link(link.expose()));
        assert_eq!(one.unwrap().is_some() as u8 + two.unwrap().is_some() as u8, 1);
        assert_eq!(storage.use_link(link.expose()).await.unwrap(), None, "used");
        let late = storage.make_link_at("operator", now).await.unwrap();
        assert_eq!(storage.use_link_at(late.expose(), now + minutes(11)).await.unwrap(), None, "too old");
        assert_eq!(storage.use_link_at(late.expose(), now + minutes(9)).await.unwrap().unwrap(), "operator");
        assert_eq!(storage.use_link("made up").await.unwrap(), None);
        let error = storage.make_link("nobody").await.err().unwrap();
        assert_eq!(crate::seen::seen(error.code()), "unknown_operator");
    }

    #[tokio::test]
    async fn a_session_ends_by_idleness_by_age_and_by_logout() {
        let (_folder, storage) = storage().await;
        let now = Timestamp::now();
        let token = storage.open_operator_session_at("operator", now).await.unwrap();
        let at = |minute: i64, busy: bool| {
            storage.find_operator_session_at(token.expose(), busy, now + minutes(minute))
        };
        assert_eq!(at(119, false).await.unwrap().unwrap().operator, "operator");
        assert_eq!(at(121, true).await.unwrap(), None, "what a page does by itself keeps nobody in");
        for minute in (0..720).step_by(100) {
            assert!(at(minute, true).await.unwrap().is_some(), "{minute}");
        }
        assert_eq!(at(721, true).await.unwrap(), None, "half a day is the longest");
        storage.end_operator_session(token.expose()).await.unwrap();
        assert_eq!(at(0, true).await.unwrap(), None);
    }

    #[tokio::test]
    async fn sessions_are_limited_and_a_new_password_ends_them() {
        let (_folder, storage) = storage().await;
        let now = Timestamp::now();
        let mut tokens = Vec::new();
        for second in 0..20 {
            let at = now + SignedDuration::from_secs(second);
            tokens.push(storage.open_operator_session_at("operator", at).await.unwrap());
        }
        let mut open = 0;
        for token in &tokens {
            open += i64::from(storage.find_operator_session(token.expose(), false).await.unwrap().is_some());
        }
        assert_eq!(open, MAX_PER_OPERATOR);
        assert!(storage.set_operator_password("operator", None, "one").await.unwrap());
        assert_eq!(storage.find_operator_session(tokens[19].expose(), false).await.unwrap(), None);
        assert!(!storage.set_operator_password("operator", None, "two").await.unwrap(), "it has one by now");
        assert!(storage.set_operator_password("operator", Some("one"), "two").await.unwrap());
    }

    #[tokio::test]
    async fn the_last_operator_cannot_be_removed() {
        let (_folder, storage) = storage().await;
        let code = |error: StorageError| crate::seen::seen(error.code());
        assert!(!storage.add_operator("ada").await.unwrap().has_password);
        assert_eq!(code(storage.add_operator("ada").await.unwrap_err()), "operator_exists");
        let token = storage.open_operator_session("ada").await.unwrap();
        storage.remove_operator("ada").await.unwrap();
        assert_eq!(storage.find_operator_session(token.expose(), true).await.unwrap(), None);
        assert_eq!(code(storage.remove_operator("ada").await.unwrap_err()), "unknown_operator");
        assert_eq!(code(storage.remove_operator("operator").await.unwrap_err()), "last_operator");
        assert_eq!(storage.list_operators().await.unwrap().len(), 1);
    }
}
