//! Operator routes on the control socket, for the command line: an operator logs in for one command, or for a while to
//! list questions in one terminal session.

use super::approvals::decide;
use super::login::status;
use crate::control_protocol::TOKEN_HEADER;
use crate::operator::{
    LoginChannel, OperatorAuth, Password, TERMINAL_LOGIN_LIFETIME, TerminalLogins, TerminalSession,
    login_required, terminal_session,
};
use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::extract::{FromRef, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::IncomingStream;
use axum::{Json, Router};
use engine::approvals::{ApprovalFilter, Decider, DecisionChannel};
use engine::control::Control;
use engine::error::Fault;
use redact::Secret;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;
use tokio::net::UnixListener;

#[derive(Deserialize)]
struct LoginBody {
    operator: String,
    password: Secret,
    /// Whether a login for this terminal session is wanted, to list with later.
    #[serde(default)]
    for_terminal: bool,
}

/// The process at the other end of a connection.
#[derive(Clone, Copy)]
pub struct SocketPeer {
    /// `None` if the kernel does not say: then there is no terminal login.
    session: Option<TerminalSession>,
}

impl Connected<IncomingStream<'_, UnixListener>> for SocketPeer {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> SocketPeer {
        let pid = stream.io().peer_cred().ok().and_then(|peer| peer.pid());
        SocketPeer { session: pid.filter(|pid| *pid > 0).and_then(|pid| terminal_session(Some(pid))) }
    }
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
    pub terminal_logins: TerminalLogins,
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

async fn login(
    State(SocketState { auth, terminal_logins, .. }): State<SocketState>,
    ConnectInfo(peer): ConnectInfo<SocketPeer>,
    Json(login): Json<LoginBody>,
) -> Response {
    let password = Password::from(login.password);
    let logged_in = async {
        let token = auth.log_in_with_password(LoginChannel::Socket, &login.operator, password).await?;
        let terminal = match peer.session.filter(|_| login.for_terminal) {
            Some(session) => {
                Some(terminal_logins.issue(&auth, &login.operator, session, Instant::now()).await?)
            }
            None => None,
        };
        Ok::<_, Fault>((token, terminal))
    };
    match logged_in.await {
        Ok((token, terminal)) => Json(json!({
            "token": token.expose(),
            "terminal_token": terminal.as_ref().map(Secret::expose_secret),
            "terminal_seconds": TERMINAL_LOGIN_LIFETIME.as_secs(),
        }))
        .into_response(),
        Err(fault) => fault_response(fault),
    }
}

async fn logout(
    State(SocketState { auth, terminal_logins, .. }): State<SocketState>,
    headers: HeaderMap,
) -> Response {
    terminal_logins.forget(token(&headers));
    match auth.log_out(token(&headers)).await {
        Ok(()) => Json(json!({ "left": true })).into_response(),
        Err(fault) => fault_response(fault),
    }
}

async fn list(
    State(state): State<SocketState>,
    ConnectInfo(peer): ConnectInfo<SocketPeer>,
    headers: HeaderMap,
) -> Response {
    let listed = async {
        let token = token(&headers);
        if TerminalLogins::is_terminal_token(token) {
            state.terminal_logins.check(&state.auth, token, peer.session, Instant::now()).await?;
        } else {
            operator(&state.auth, &headers).await?;
        }
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
