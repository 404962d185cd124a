//! The database rows of approvals. One statement changes a waiting row, so a question gets one answer.

use super::{Approval, ApprovalFilter, ApprovalId, ApprovalKind, ApprovalState, Decider, DecisionChannel};
use crate::storage::{Storage, StorageError, scope, time};
use jiff::Timestamp;
use policy::{Name, SessionId};
use redact::Redacted;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

/// Milliseconds after its expiry at which a waiting question counts as abandoned. A live owner closes it earlier.
const ABANDONED_AFTER: i64 = 60_000;

impl Storage {
    pub async fn insert_approval(&self, approval: &Approval, owner: &str) -> Result<(), StorageError> {
        let card =
            serde_json::to_string(&approval.card).map_err(|source| StorageError::BadCard { source })?;
        sqlx::query(
            "INSERT INTO approvals (id, owner, kind, tenant, actor, session, session_name, card, asked_at,
             expires_at, state, for_session) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0)",
        )
        .bind(approval.id.as_str())
        .bind(owner)
        .bind(approval.kind.as_str())
        .bind(approval.scope.tenant.as_str())
        .bind(approval.scope.actor.as_str())
        .bind(approval.session.as_str())
        .bind(approval.session_name.as_ref().map(Name::as_str))
        .bind(card)
        .bind(approval.asked_at.as_millisecond())
        .bind(approval.expires_at.as_millisecond())
        .bind(approval.state.as_str())
        .execute(&self.pool)
        .await
        .map_err(StorageError::because("cannot store a question"))?;
        Ok(())
    }

    /// Answers a waiting question; `None` if it no longer waits.
    pub async fn answer_approval(
        &self,
        id: &ApprovalId,
        state: ApprovalState,
        by: &Decider,
        for_session: bool,
        note: Option<Redacted>,
        now: Timestamp,
    ) -> Result<Option<Approval>, StorageError> {
        let row = sqlx::query(
            "UPDATE approvals SET state = $1, decided_by = $2, door = $3, decided_at = $4, for_session = $5, note = $6
             WHERE id = $7 AND state = 'waiting' AND expires_at > $4 RETURNING *",
        )
        .bind(state.as_str())
        .bind(&by.operator)
        .bind(by.channel.as_str())
        .bind(now.as_millisecond())
        .bind(i64::from(for_session))
        .bind(note.map(Redacted::into_string))
        .bind(id.as_str())
        .fetch_optional(&self.pool)
        .await
        .map_err(StorageError::because("cannot store an answer"))?;
        row.map(|row| read(&row)).transpose()
    }

    /// Closes a waiting question; `None` if it no longer waits.
    pub async fn close_approval(
        &self,
        id: &ApprovalId,
        state: ApprovalState,
        now: Timestamp,
    ) -> Result<Option<Approval>, StorageError> {
        let row = sqlx::query(
            "UPDATE approvals SET state = $1, decided_at = $2 WHERE id = $3 AND state = 'waiting' RETURNING *",
        )
        .bind(state.as_str())
        .bind(now.as_millisecond())
        .bind(id.as_str())
        .fetch_optional(&self.pool)
        .await
        .map_err(StorageError::because("cannot close a question"))?;
        row.map(|row| read(&row)).transpose()
    }

    /// Closes waiting questions of an earlier run of this owner, and abandoned ones of any owner.
    pub async fn interrupt_approvals(
        &self,
        owner: &str,
        now: Timestamp,
    ) -> Result<Vec<Approval>, StorageError> {
        let rows = sqlx::query(
            "UPDATE approvals SET state = 'interrupted', decided_at = $1
             WHERE state = 'waiting' AND (owner = $2 OR expires_at < $3) RETURNING *",
        )
        .bind(now.as_millisecond())
        .bind(owner)
        .bind(now.as_millisecond() - ABANDONED_AFTER)
        .fetch_all(&self.pool)
        .await
        .map_err(StorageError::because("cannot close what was left waiting"))?;
        rows.iter().map(read).collect()
    }

    pub async fn set_approval_outcome(
        &self,
        id: &ApprovalId,
        outcome: &Redacted,
    ) -> Result<(), StorageError> {
        sqlx::query("UPDATE approvals SET outcome = $1 WHERE id = $2")
            .bind(outcome.as_str())
            .bind(id.as_str())
            .execute(&self.pool)
            .await
            .map_err(StorageError::because("cannot store the outcome of an approval"))?;
        Ok(())
    }

    pub async fn find_approval(&self, id: &ApprovalId) -> Result<Option<Approval>, StorageError> {
        let row = sqlx::query("SELECT * FROM approvals WHERE id = $1")
            .bind(id.as_str())
            .fetch_optional(&self.pool)
            .await
            .map_err(StorageError::because("cannot look for a question"))?;
        row.map(|row| read(&row)).transpose()
    }

    pub async fn list_approvals(
        &self,
        filter: &ApprovalFilter,
        most: i64,
    ) -> Result<Vec<Approval>, StorageError> {
        let (tenant, actor) = match &filter.scope {
            Some(scope) => (scope.tenant.as_str(), scope.actor.as_str()),
            None => ("", ""),
        };
        let rows = sqlx::query(
            "SELECT * FROM approvals
             WHERE ($1 = '' OR (tenant = $1 AND actor = $2)) AND ($3 = 0 OR state = 'waiting')
             ORDER BY CASE state WHEN 'waiting' THEN 0 ELSE 1 END,
                      CASE state WHEN 'waiting' THEN asked_at ELSE -decided_at END, id
             LIMIT $4",
        )
        .bind(tenant)
        .bind(actor)
        .bind(i64::from(filter.only_waiting))
        .bind(most)
        .fetch_all(&self.pool)
        .await
        .map_err(StorageError::because("cannot list the questions"))?;
        rows.iter().map(read).collect()
    }

    /// Deletes the oldest decided questions.
    pub async fn prune_approvals(&self, keep: i64) -> Result<(), StorageError> {
        sqlx::query(
            "DELETE FROM approvals WHERE state <> 'waiting' AND id NOT IN
             (SELECT id FROM approvals ORDER BY asked_at DESC LIMIT $1)",
        )
        .bind(keep)
        .execute(&self.pool)
        .await
        .map_err(StorageError::because("cannot forget old questions"))?;
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<Approval, StorageError> {
    let failed = StorageError::because("cannot read a question's row");
    let text = |column: &str| row.try_get::<String, _>(column).map_err(&failed);
    let optional = |column: &str| row.try_get::<Option<String>, _>(column).map_err(&failed);
    // Redacted when it was stored, or an operator's own words.
    let redacted = |column: &str| Ok(optional(column)?.map(Redacted::outside_sessions));
    let number = |column: &str| row.try_get::<i64, _>(column).map_err(&failed);
    let bad = |column: &'static str, value: &str| StorageError::BadWord { column, value: value.to_owned() };
    let (id, kind, state, session) = (text("id")?, text("kind")?, text("state")?, text("session")?);
    let channel = optional("door")?;
    let name = optional("session_name")?;
    let decided_at = row.try_get::<Option<i64>, _>("decided_at").map_err(&failed)?;
    Ok(Approval {
        kind: ApprovalKind::parse(&kind).ok_or_else(|| bad("kind", &kind))?,
        scope: scope(&text("tenant")?, &text("actor")?)?,
        session: SessionId::parse(&session).map_err(|_| bad("session", &session))?,
        session_name: match name {
            Some(name) => Some(Name::parse(&name).map_err(|_| bad("session_name", &name))?),
            None => None,
        },
        card: serde_json::from_str(&text("card")?).map_err(|source| StorageError::BadCard { source })?,
        asked_at: time(number("asked_at")?)?,
        expires_at: time(number("expires_at")?)?,
        state: ApprovalState::parse(&state).ok_or_else(|| bad("state", &state))?,
        decided_by: redacted("decided_by")?,
        channel: match channel {
            Some(channel) => Some(DecisionChannel::parse(&channel).ok_or_else(|| bad("door", &channel))?),
            None => None,
        },
        decided_at: decided_at.map(time).transpose()?,
        approved_for_session: number("for_session")? != 0,
        note: redacted("note")?,
        outcome: redacted("outcome")?,
        id: ApprovalId::parse(&id).ok_or_else(|| bad("id", &id))?,
    })
}
