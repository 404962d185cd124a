//! The HTTP routes that an agent or a browser on this machine can reach.

use super::actions;
use super::connection_limiter::{self, AgentRequestLimiter, MAX_AGENT_REQUESTS};
use super::guard::{self, AgentKeys, ServerAddress};
use super::mcp_messages;
use super::mcp_sessions::{self, McpSessions};
use super::operator::{self, OperatorState};
use super::status;
use super::unfinished::{self, Unfinished};
use crate::mcp;
use axum::extract::{DefaultBodyLimit, Extension, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use engine::control::Control;
use engine::error::Fault;
use error_code::ErrorCode;
use policy::Scope;
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a stop waits for, and then ends.
#[derive(Clone)]
pub struct AgentTraffic {
    /// Requests of agents that have no complete response yet.
    pub requests: Unfinished,
    /// Ends the streams that only wait for what the server may send.
    pub streams: CancellationToken,
}

pub fn public_router(
    state: OperatorState,
    address: ServerAddress,
    open: bool,
    traffic: AgentTraffic,
) -> Router {
    let control = state.control.clone();
    let keys = AgentKeys { control: control.clone(), open };
    let for_agents = Router::new()
        .route("/v1/screenshots/{id}", get(screenshot))
        .route("/v1/actions", get(actions::list).post(actions::post))
        .layer(DefaultBodyLimit::max(actions::LARGEST_REQUEST))
        .with_state(control.clone())
        .merge(mcp_routes(control.clone(), traffic.streams))
        .layer(middleware::from_fn_with_state(traffic.requests, unfinished::count_request))
        .layer(middleware::from_fn_with_state(keys, guard::authenticate_agent))
        .layer(middleware::from_fn_with_state(
            AgentRequestLimiter::new(MAX_AGENT_REQUESTS),
            connection_limiter::limit_agent_requests,
        ));
    Router::new()
        .route("/", get(status::page))
        .route("/healthz", get(health))
        .with_state(control)
        .merge(for_agents)
        .merge(operator::router(state))
        .fallback(not_found)
        .layer(middleware::from_fn_with_state(address, guard::require_own_host))
}

fn mcp_routes(control: Arc<Control>, streams: CancellationToken) -> Router {
    let manager = mcp::session_manager();
    let sessions = McpSessions::new(manager.clone(), control.clone());
    Router::new()
        .nest_service("/mcp", mcp::service(control, manager, streams))
        .layer(middleware::from_fn_with_state(sessions, mcp_sessions::check_owner))
        .layer(middleware::from_fn(mcp_messages::check))
}

async fn health(State(control): State<Arc<Control>>) -> Response {
    Json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "sessions": control.gate.sessions.open_count()}))
        .into_response()
}

async fn screenshot(
    State(control): State<Arc<Control>>,
    Extension(scope): Extension<Scope>,
    Path(id): Path<String>,
) -> Response {
    let gone = || {
        let fault = Fault::new(ErrorCode::UnknownScreenshot, "there is no such screenshot")
            .hint("Screenshots of a session are gone when it closes; take another.");
        guard::fault_json(StatusCode::NOT_FOUND, fault)
    };
    let Some(stored) = control.gate.sessions.image(&scope, &id) else { return gone() };
    match tokio::fs::read(&stored.path).await {
        Ok(bytes) => {
            let headers = [
                (header::CONTENT_TYPE, stored.format.mime()),
                (header::CACHE_CONTROL, "no-store"),
                (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            ];
            (headers, bytes).into_response()
        }
        Err(_) => gone(),
    }
}

async fn not_found() -> Response {
    let fault = Fault::new(ErrorCode::NotFound, "there is nothing at this address")
        .hint("Agents use /mcp or /v1/actions; people use /console.");
    guard::fault_json(StatusCode::NOT_FOUND, fault)
}
