//! The HTTP API: each action name runs the tool that does the same, through the one gate.
//!
//! A request is one object: `action`, `session` by id or name, and the action's parameters beside them. Every response
//! has the same form.

mod catalog;
mod extract;
mod sessions;

pub use catalog::{ACTIONS, ApiAction, parameters};

use crate::mcp::{Call, DelimitedFields, delimited_fields, name_timed_out_action, tools};
use catalog::ActionTarget;
use engine::error::Fault;
use error_code::ErrorCode;
use redact::{Redacted, RedactedFields};
use rmcp::model::JsonObject;
use serde::Serialize;
use serde_json::Value;

/// The response to every action.
#[derive(Serialize, RedactedFields)]
pub struct ActionResult {
    pub success: bool,
    pub action: Redacted,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<DelimitedFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

impl ActionResult {
    /// The result of a request that could not be parsed.
    pub fn refused(fault: Fault) -> ActionResult {
        ActionResult {
            success: false,
            action: Redacted::default(),
            session_id: None,
            data: None,
            error: Some(fault),
        }
    }

    /// Whether the request itself is invalid.
    pub fn is_bad_request(&self) -> bool {
        self.error.as_ref().is_some_and(|fault| {
            matches!(
                fault.code,
                ErrorCode::UnknownAction
                    | ErrorCode::BadArguments
                    | ErrorCode::BadSelector
                    | ErrorCode::BadAddress
                    | ErrorCode::SessionRequired
            )
        })
    }
}

pub async fn run(call: &Call<'_>, request: JsonObject) -> ActionResult {
    let action = match request.get("action") {
        Some(Value::String(name)) => Redacted::outside_sessions(audit::sanitize(name)),
        _ => return ActionResult::refused(bad_request("action is one of the action names, as a string")),
    };
    let mut session_id = None;
    let done = perform(call, &action, request, &mut session_id).await;
    match delimited_fields(done) {
        Ok(mut data) => {
            // Fields beside the data are not repeated in it.
            data.remove("success");
            session_id = data.take_text("session_id").or(session_id);
            ActionResult { success: true, action, session_id, data: Some(data), error: None }
        }
        Err(fault) => ActionResult { success: false, action, session_id, data: None, error: Some(fault) },
    }
}

async fn perform(
    call: &Call<'_>,
    name: &str,
    mut request: JsonObject,
    session_id: &mut Option<Redacted>,
) -> Result<crate::mcp::ToolReply, Fault> {
    let action = catalog::find(name)?;
    request.remove("action");
    let names_session = SESSION.iter().any(|key| request.contains_key(*key));
    if action.takes_session() || (action.may_take_session() && names_session) {
        let session = take_session(&mut request)?;
        // A failure reports the session id too. The gate decides whether the session exists.
        *session_id = call
            .control
            .gate
            .sessions
            .find(&call.scope, &session)
            .ok()
            .map(|found| Redacted::from_safe(&found.id));
        request.insert("session_id".to_owned(), Value::String(session));
    }
    let done = match action.target {
        ActionTarget::Tool { name, preset } => {
            if let Some((key, value)) = preset {
                request.insert(key.to_owned(), Value::String(value.to_owned()));
            }
            tools::call(call, tools::find_tool(name)?, request).await
        }
        ActionTarget::Extract => extract::run(call, request).await,
        ActionTarget::ListSessions => sessions::list(call, request),
        ActionTarget::ShowSession => sessions::show(call, request),
        ActionTarget::ArchiveSession => sessions::archive(call, request).await,
    };
    match action.verb() {
        // The fault of another call, which has that call's name.
        "pending" => done,
        verb => done.map_err(|fault| name_timed_out_action(fault, verb)),
    }
}

/// The keys that name a session, by id or by name. Every call names one.
const SESSION: [&str; 3] = ["session", "session_id", "session_name"];

fn take_session(request: &mut JsonObject) -> Result<String, Fault> {
    let mut given = SESSION.iter().filter_map(|key| request.remove(*key));
    match (given.next(), given.next()) {
        (Some(Value::String(session)), None) => Ok(session),
        (Some(_), None) => Err(bad_request("session is the id or the name of a session, as a string")),
        (Some(_), Some(_)) => {
            Err(bad_request("name the session once, by session, session_id or session_name"))
        }
        (None, _) => Err(crate::mcp::session_required()),
    }
}

pub fn bad_request(why: &str) -> Fault {
    Fault::outside_sessions(ErrorCode::BadArguments, why)
        .hint("Send one JSON object: {\"action\": \"page.goto\", \"session\": \"…\", \"url\": \"…\"}. GET /v1/actions lists all of them.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_session_is_named_once_and_as_a_string() {
        for (request, expected) in [
            (json!({"session": "s-1"}), Ok("s-1")),
            (json!({"session_id": "s-1", "url": "x"}), Ok("s-1")),
            (json!({"session_name": "shop"}), Ok("shop")),
            (json!({"url": "x"}), Err("session_required")),
            (json!({"session": 1}), Err("bad_arguments")),
            (json!({"session": "a", "session_id": "a"}), Err("bad_arguments")),
        ] {
            let mut fields = request.as_object().unwrap().clone();
            let taken = take_session(&mut fields).map_err(|fault| fault.code.to_string());
            assert_eq!(taken.as_deref().map_err(String::as_str), expected, "{request}");
        }
    }
}
