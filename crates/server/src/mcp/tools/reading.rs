//! Arguments and reply fields that all reading tools share.

use super::super::server::Call;
use super::super::tool_reply::ErrorReply;
use super::{timeout, tokens};
use engine::error::Fault;
use engine::gate::Reply;
use engine::session::Session;
use policy::{Action, TokenBudget};
use redact::{Redacted, RedactedFields};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Deserialize, JsonSchema)]
pub struct ReadingArguments {
    /// The session's id or name; over stdio it may be left out
    #[serde(default)]
    session_id: Option<String>,
    /// What the reply may cost: 250 to 50000 tokens of four bytes, 6000 if left out
    #[serde(default)]
    max_tokens: Option<u32>,
    /// How long it may take, at most 120; 30 if left out
    #[serde(default)]
    timeout_seconds: Option<f64>,
}

/// Validated [`ReadingArguments`].
pub struct Reading {
    pub tokens: TokenBudget,
    session: Option<String>,
    timeout: Option<Duration>,
}

impl ReadingArguments {
    pub fn check(self, tool: &str) -> Result<Reading, Fault> {
        Ok(Reading {
            tokens: tokens(tool, self.max_tokens)?,
            session: self.session_id,
            timeout: timeout(tool, self.timeout_seconds)?,
        })
    }
}

impl Reading {
    pub async fn act(self, call: &Call<'_>, action: Action) -> Result<Reply, Fault> {
        let session = call.session(self.session).await?;
        call.act(&session, action, self.timeout, false).await
    }
}

#[derive(Serialize, JsonSchema, RedactedFields)]
pub struct ReadingReply {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<Redacted>,
    /// The page's own words
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<Redacted>,
    /// Calls the session may still take
    #[serde(skip_serializing_if = "Option::is_none")]
    actions_left: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorReply>,
}

impl ReadingReply {
    pub fn new(session: &Session, url: Redacted, title: Redacted, actions_left: u32) -> ReadingReply {
        ReadingReply {
            success: true,
            session_id: Some(Redacted::from_safe(&session.id)),
            url: Some(url),
            title: Some(title),
            actions_left: Some(actions_left),
            error: None,
        }
    }
}
