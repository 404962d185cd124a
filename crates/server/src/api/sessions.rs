//! `session.list`, `session.show` and `session.archive`: a caller's own sessions.

use crate::mcp::{Call, ToolReply, tools};
use engine::error::Fault;
use engine::session::{History, Phase, Session, SessionSummary};
use policy::SessionId;
use redact::{Redacted, RedactedFields};
use rmcp::model::JsonObject;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

#[derive(Serialize, RedactedFields)]
struct ListReply {
    sessions: Vec<SessionSummary>,
}

#[derive(Serialize, RedactedFields)]
struct ShowReply {
    session_id: SessionId,
    session: SessionSummary,
    phases: Vec<Phase>,
    history: History,
}

pub fn list(call: &Call<'_>, request: JsonObject) -> Result<ToolReply, Fault> {
    tools::check_argument_names("session.list", &JsonObject::new(), &request)?;
    let sessions = call.control.gate.sessions.list(Some(&call.scope));
    ToolReply::new(Redacted::default(), &ListReply { sessions })
}

pub fn show(call: &Call<'_>, request: JsonObject) -> Result<ToolReply, Fault> {
    let session = named(call, "session.show", request)?;
    let fields = ShowReply {
        session_id: session.id.clone(),
        session: session.summary(),
        phases: session.phases.clone(),
        history: session.history(),
    };
    ToolReply::new(Redacted::default(), &fields)
}

pub async fn archive(call: &Call<'_>, request: JsonObject) -> Result<ToolReply, Fault> {
    let session = named(call, "session.archive", request)?;
    ToolReply::new(Redacted::default(), &call.control.gate.sessions.archive(&session).await?)
}

fn named(call: &Call<'_>, action: &str, mut request: JsonObject) -> Result<Arc<Session>, Fault> {
    let Some(Value::String(wanted)) = request.remove("session_id") else {
        return Err(crate::mcp::session_required());
    };
    tools::check_argument_names(action, &JsonObject::new(), &request)?;
    call.control.gate.sessions.find(&call.scope, &wanted)
}
