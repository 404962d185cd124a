//! Operator routes on the control socket, for the command line: an operator logs in for one command.

use super::approvals::decide;
use super::login::status;
use crate::control_protocol::TOKEN_HEADER;
use crate::operator::{LoginChannel, OperatorAuth, Password, login_required};
use axum::extract::{FromRef, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use engine::approvals::{ApprovalFilter, Decider, DecisionChannel};
use engine::control::Control;
use engine::error::Fault;
use redact::Secret;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

#[derive(Deserialize)]
struct LoginBody {
    operator: String,
    password: Secret,
}

#[derive(Deserialize)]
struct VerdictBody {
    verdict: String,
    #[serde(default)]
    note: String,
}

/// State of the control socket's routes.
#[derive(Clone)]
pub struct SocketState {
    pub control: Arc<Control>,
    pub auth: OperatorAuth,
}

impl FromRef<SocketState> for Arc<Control> {
    fn from_ref(state: &SocketState) -> Arc<Control> {
        state.control.clone()
    }
}

impl FromRef<SocketState> for OperatorAuth {
    fn from_ref(state: &SocketState) -> OperatorAuth {
        state.auth.clone()
    }
}

pub fn router() -> Router<SocketState> {
    Router::new()
        .route("/operator/login", post(login))
        .route("/operator/logout", post(logout))
        .route("/operator/approvals", get(list))
        .route("/operator/approvals/{id}", post(answer))
}

async fn login(State(auth): State<OperatorAuth>, Json(login): Json<LoginBody>) -> Response {
    let password = Password::from(login.password);
    match auth.log_in_with_password(LoginChannel::Socket, &login.operator, password).await {
        Ok(token) => Json(json!({ "token": token.expose() })).into_response(),
        Err(fault) => fault_response(fault),
    }
}

async fn logout(State(auth): State<OperatorAuth>, headers: HeaderMap) -> Response {
    match auth.log_out(token(&headers)).await {
        Ok(()) => Json(json!({ "left": true })).into_response(),
        Err(fault) => fault_response(fault),
    }
}

async fn list(State(state): State<SocketState>, headers: HeaderMap) -> Response {
    let listed = async {
        operator(&state.auth, &headers).await?;
        state.control.approvals.list(&ApprovalFilter::default()).await
    };
    match listed.await {
        Ok(approvals) => Json(json!({ "approvals": approvals })).into_response(),
        Err(fault) => fault_response(fault),
    }
}

async fn answer(
    State(state): State<SocketState>,
    headers: HeaderMap,
    Path(id): Path<String>,
    Json(answer): Json<VerdictBody>,
) -> Response {
    let answered = async {
        let operator = operator(&state.auth, &headers).await?;
        let by = Decider { operator, channel: DecisionChannel::CommandLine };
        decide(&state.control, &id, &answer.verdict, &answer.note, by).await
    };
    match answered.await {
        Ok(approval) => Json(json!({ "approval": approval })).into_response(),
        Err(fault) => fault_response(fault),
    }
}

async fn operator(auth: &OperatorAuth, headers: &HeaderMap) -> Result<String, Fault> {
    let session = auth.find(token(headers), true).await?;
    session.map(|session| session.operator).ok_or_else(login_required)
}

fn token(headers: &HeaderMap) -> &str {
    headers.get(TOKEN_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn fault_response(fault: Fault) -> Response {
    let status: StatusCode = status(&fault);
    (status, Json(fault)).into_response()
}
