//! `session.list`, `session.show` and `session.archive`: a caller's own sessions.

use crate::mcp::{Call, ToolReply, tools};
use engine::error::Fault;
use engine::session::Session;
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use std::sync::Arc;

pub fn list(call: &Call<'_>, request: JsonObject) -> Result<ToolReply, Fault> {
    tools::check_argument_names("session.list", &JsonObject::new(), &request)?;
    ToolReply::new(String::new(), &json!({"sessions": call.control.gate.sessions.list(Some(&call.scope))}))
}

pub fn show(call: &Call<'_>, request: JsonObject) -> Result<ToolReply, Fault> {
    let session = named(call, "session.show", request)?;
    let fields = json!({
        "session_id": session.id,
        "session": session.summary(),
        "phases": session.phases,
        "history": session.history(),
    });
    ToolReply::new(String::new(), &fields)
}

pub async fn archive(call: &Call<'_>, request: JsonObject) -> Result<ToolReply, Fault> {
    let session = named(call, "session.archive", request)?;
    ToolReply::new(String::new(), &call.control.gate.sessions.archive(&session).await?)
}

fn named(call: &Call<'_>, action: &str, mut request: JsonObject) -> Result<Arc<Session>, Fault> {
    let Some(Value::String(wanted)) = request.remove("session_id") else {
        return Err(crate::mcp::session_required());
    };
    tools::check_argument_names(action, &JsonObject::new(), &request)?;
    call.control.gate.sessions.find(&call.scope, &wanted)
}
