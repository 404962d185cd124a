//! `browser_close_session`: destroys the session's jail.

use super::super::server::Call;
use super::super::tool_reply::{ErrorReply, ToolReply};
use engine::error::Fault;
use engine::session::EndReason;
use redact::{Redacted, RedactedFields, redacted};
use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const NAME: &str = "browser_close_session";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CloseSessionArguments {
    /// The session's id or name; over stdio it may be left out for your own
    #[serde(default)]
    session_id: Option<String>,
}

#[derive(Serialize, JsonSchema, RedactedFields)]
pub struct CloseSessionReply {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorReply>,
}

pub fn tool() -> Tool {
    Tool::new(
        NAME,
        "Close a browser session. Its pages, cookies and screenshots are gone for good. Closing a session \
that has ended already is fine.",
        serde_json::Map::new(),
    )
    .with_input_schema::<CloseSessionArguments>()
    .with_output_schema::<CloseSessionReply>()
    .with_annotations(
        ToolAnnotations::with_title("Close a browser session")
            .read_only(false)
            .destructive(true)
            .idempotent(true)
            .open_world(false),
    )
}

pub async fn run(call: &Call<'_>, arguments: CloseSessionArguments) -> Result<ToolReply, Fault> {
    let wanted = call.named_session(arguments.session_id).await?;
    let sessions = &call.control.gate.sessions;
    let session = sessions.find(&call.scope, &wanted)?;
    sessions.end(&session, EndReason::Closed).await;
    call.forget(session.id.as_str()).await;
    let closed_at = session.ended().map(|ended| Redacted::from_safe(ended.at));
    let text = redacted!("Session {} is closed.", session.id);
    ToolReply::new(
        text,
        &CloseSessionReply {
            success: true,
            session_id: Some(Redacted::from_safe(&session.id)),
            closed_at,
            error: None,
        },
    )
}
