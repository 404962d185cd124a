//! `/v1/actions`: one door for the HTTP API and for the command line.

use super::guard::answer;
use crate::api::{self, ActionResult};
use crate::mcp::Call;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use engine::control::Control;
use engine::error::Fault;
use policy::Scope;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The largest request; typed text is the largest thing a caller sends.
pub const LARGEST_REQUEST: usize = 4 * 1024 * 1024;

pub async fn post(
    State(control): State<Arc<Control>>,
    Extension(scope): Extension<Scope>,
    body: Bytes,
) -> Response {
    let request = match serde_json::from_slice(&body) {
        Ok(Value::Object(request)) => request,
        Ok(_) => return told(ActionResult::refused(api::bad_request("the request is one JSON object"))),
        Err(error) => {
            return told(ActionResult::refused(api::bad_request(&format!(
                "the request is not JSON: {error}"
            ))));
        }
    };
    // A caller that hangs up drops this future and with it the guard: the action is then cancelled as any other is,
    // with its outcome on record.
    let cancel = CancellationToken::new();
    let _hung_up = cancel.clone().drop_guard();
    let acting =
        tokio::spawn(async move { api::run(&Call::of_scope(&control, scope, cancel), request).await });
    match acting.await {
        Ok(result) => told(result),
        Err(error) => answer(StatusCode::INTERNAL_SERVER_ERROR, Fault::caused("internal", &error)),
    }
}

/// What an action comes to is told in the answer; the status only says whether there was one.
fn told(result: ActionResult) -> Response {
    let status = if result.is_misuse() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    (status, Json(result)).into_response()
}

pub async fn list() -> Response {
    let actions: Vec<Value> = api::ACTIONS
        .iter()
        .map(|action| {
            let (parameters, required) = api::parameters(action);
            json!({
                "action": action.name,
                "about": action.about(),
                "session": action.takes_session(),
                "parameters": parameters,
                "required": required,
            })
        })
        .collect();
    Json(json!({ "actions": actions })).into_response()
}
