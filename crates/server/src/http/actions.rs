//! `/v1/actions`, for the HTTP API and the command line.

use super::guard::fault_json;
use crate::api::{self, ActionResult};
use crate::mcp::Call;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use engine::control::Control;
use engine::error::Fault;
use error_code::ErrorCode;
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
        Ok(_) => return respond(ActionResult::refused(api::bad_request("the request is one JSON object"))),
        Err(error) => {
            return respond(ActionResult::refused(api::bad_request(&format!(
                "the request is not JSON: {error}"
            ))));
        }
    };
    // A caller that hangs up drops this future and with it the guard, which cancels the action; its outcome is recorded.
    let cancel = CancellationToken::new();
    let _hung_up = cancel.clone().drop_guard();
    let acting =
        tokio::spawn(async move { api::run(&Call::of_scope(&control, scope, cancel), request).await });
    match acting.await {
        Ok(result) => respond(result),
        Err(error) => {
            fault_json(StatusCode::INTERNAL_SERVER_ERROR, Fault::caused(ErrorCode::Internal, &error))
        }
    }
}

/// The body has the outcome of the action. The status only says whether the request was valid.
fn respond(result: ActionResult) -> Response {
    let status = if result.is_bad_request() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
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
