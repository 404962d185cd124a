//! The socket in the state folder: the owner of that folder lists, closes and archives sessions through it, acts for
//! any scope, and `stockade mcp` joins a running server through it.

use super::actions;
use super::guard::fault_json;
use super::operator;
use crate::control_protocol::{ACTIONS_PATH, PIPE_PATH, SCOPE_HEADER};
use crate::mcp;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Extension, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use engine::approvals::{ApprovalFilter, ApprovalId};
use engine::control::Control;
use engine::error::Fault;
use engine::session::EndReason;
use error_code::ErrorCode;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use policy::{Actor, Risk, Scope, SessionId, Tenant};
use redact::Redacted;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;

/// `console` is where a person finds the console.
pub fn router(state: operator::SocketState, console: String) -> Router {
    Router::new()
        .route("/v1/sessions", get(list))
        .route("/v1/sessions/{id}", get(show))
        .route("/v1/sessions/{id}/close", post(close))
        .route("/v1/sessions/{id}/archive", post(archive))
        .route("/v1/agents/{tenant}/{actor}/end", post(end_agent))
        .route(PIPE_PATH, get(pipe))
        .route(ACTIONS_PATH, post(act))
        .route("/v1/console", get(move || async move { Json(json!({ "console": console })) }))
        .merge(operator::socket_router())
        .layer(DefaultBodyLimit::max(actions::LARGEST_REQUEST))
        .with_state(state)
}

async fn list(State(control): State<Arc<Control>>) -> Response {
    match waiting_questions(&control).await {
        Ok(waiting) => {
            Json(json!({"sessions": control.gate.sessions.list(None), "waiting": waiting})).into_response()
        }
        Err(fault) => fault_json(StatusCode::INTERNAL_SERVER_ERROR, fault),
    }
}

async fn show(State(control): State<Arc<Control>>, Path(id): Path<String>) -> Response {
    let session = match control.gate.sessions.find_any(&id) {
        Ok(session) => session,
        Err(fault) => return fault_json(StatusCode::NOT_FOUND, fault),
    };
    let mut waiting = match waiting_questions(&control).await {
        Ok(waiting) => waiting,
        Err(fault) => return fault_json(StatusCode::INTERNAL_SERVER_ERROR, fault),
    };
    waiting.retain(|question| question.session == session.id);
    Json(json!({
        "session": session.summary(), "credentials": session.credential_ids(), "waiting": waiting,
        "limits": control.limits(), "phases": session.phases, "history": session.history(),
    }))
    .into_response()
}

/// A question that waits, without what the page shows: that is for operators who are logged in.
#[derive(Serialize)]
struct WaitingQuestion {
    id: ApprovalId,
    session: SessionId,
    kind: &'static str,
    action: Redacted,
    risk: Risk,
    irreversible: bool,
    expires_at: Timestamp,
}

async fn waiting_questions(control: &Control) -> Result<Vec<WaitingQuestion>, Fault> {
    let waiting = control.approvals.list(&ApprovalFilter { scope: None, only_waiting: true }).await?;
    let questions = waiting.into_iter().map(|approval| WaitingQuestion {
        id: approval.id,
        session: approval.session,
        kind: approval.kind.as_str(),
        action: approval.card.action,
        risk: approval.card.risk,
        irreversible: approval.card.irreversible,
        expires_at: approval.expires_at,
    });
    Ok(questions.collect())
}

async fn close(State(control): State<Arc<Control>>, Path(id): Path<String>) -> Response {
    match control.gate.sessions.find_any(&id) {
        Ok(session) => {
            control.gate.sessions.end(&session, EndReason::Closed).await;
            Json(json!({"session": session.summary()})).into_response()
        }
        Err(fault) => fault_json(StatusCode::NOT_FOUND, fault),
    }
}

/// Ends the sessions of an agent, and with them its open questions. For a key that was revoked: calls with it are refused
/// already.
async fn end_agent(
    State(control): State<Arc<Control>>,
    Path((tenant, actor)): Path<(String, String)>,
) -> Response {
    let (Ok(tenant), Ok(actor)) = (Tenant::parse(&tenant), Actor::parse(&actor)) else {
        return scope_required();
    };
    let scope = Scope { tenant, actor };
    let sessions = &control.gate.sessions;
    let mut ended = Vec::new();
    for summary in sessions.list(Some(&scope)) {
        let Ok(session) = sessions.find(&scope, summary.session_id.as_str()) else { continue };
        if session.ended().is_none() {
            sessions.end(&session, EndReason::Operator).await;
            ended.push(summary.session_id);
        }
    }
    Json(json!({ "ended": ended })).into_response()
}

async fn archive(State(control): State<Arc<Control>>, Path(id): Path<String>) -> Response {
    let session = match control.gate.sessions.find_any(&id) {
        Ok(session) => session,
        Err(fault) => return fault_json(StatusCode::NOT_FOUND, fault),
    };
    match control.gate.sessions.archive(&session).await {
        Ok(archived) => Json(archived).into_response(),
        Err(fault) => fault_json(StatusCode::INTERNAL_SERVER_ERROR, fault),
    }
}

async fn act(State(control): State<Arc<Control>>, headers: HeaderMap, body: Bytes) -> Response {
    match headers.get(SCOPE_HEADER).and_then(parse_scope) {
        Some(scope) => actions::post(State(control), Extension(scope), body).await,
        None => scope_required(),
    }
}

fn scope_required() -> Response {
    fault_json(
        StatusCode::BAD_REQUEST,
        Fault::outside_sessions(ErrorCode::BadArguments, format!("{SCOPE_HEADER} is tenant/actor")),
    )
}

async fn pipe(State(control): State<Arc<Control>>, mut request: Request) -> Response {
    let Some(scope) = request.headers().get(SCOPE_HEADER).and_then(parse_scope) else {
        return scope_required();
    };
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let stream = match upgrade.await {
            Ok(upgraded) => TokioIo::new(upgraded),
            Err(error) => return tracing::warn!(%error, "a pipe hung up before it joined"),
        };
        let (read, write) = tokio::io::split(stream);
        if let Err(fault) = mcp::serve_pipe(control, scope, read, write).await {
            tracing::info!(%fault, "a joined pipe ended early");
        }
    });
    let headers = [(header::CONNECTION, "upgrade"), (header::UPGRADE, "mcp")];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}

fn parse_scope(value: &HeaderValue) -> Option<Scope> {
    let (tenant, actor) = value.to_str().ok()?.split_once('/')?;
    Some(Scope { tenant: Tenant::parse(tenant).ok()?, actor: Actor::parse(actor).ok()? })
}
