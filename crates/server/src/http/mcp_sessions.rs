//! MCP sessions of the 2025 revisions: bound to the scope that opened them, and bounded in number.
//!
//! The transport issues an id at `initialize` and then accepts it from anyone. This check accepts it only from the scope
//! that got it, so that a leaked id is useless to another key.

use super::guard::fault_json;
use super::mcp_messages::MessageId;
use crate::mcp;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use engine::control::Control;
use engine::error::Fault;
use error_code::ErrorCode;
use policy::Scope;
use redact::{Redacted, redacted};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const HEADER: &str = "mcp-session-id";
/// MCP sessions of one scope; a further one replaces the least recently used.
const MAX_PER_SCOPE: usize = 32;
/// The JSON-RPC code that the protocol's own servers use for it.
const SESSION_NOT_FOUND: i32 = -32001;

#[derive(Clone)]
pub struct McpSessions {
    manager: Arc<LocalSessionManager>,
    control: Arc<Control>,
    table: SharedTable,
}

#[derive(Clone, Default)]
struct SharedTable(Arc<Mutex<SessionTable>>);

#[derive(Default)]
struct SessionTable {
    clock: u64,
    sessions: HashMap<String, (Scope, u64)>,
}

impl McpSessions {
    pub fn new(manager: Arc<LocalSessionManager>, control: Arc<Control>) -> McpSessions {
        McpSessions { manager, control, table: SharedTable::default() }
    }

    /// Clients of the public SDKs do not initialize again by themselves. They show the message, so it says what to do
    /// and what became of the browsers.
    fn unknown(&self, scope: &Scope, id: &MessageId) -> Response {
        let sessions = self.control.gate.sessions.list(Some(scope)).into_iter();
        let open = sessions.filter(|session| session.closed_at.is_none());
        let open: Vec<_> = open.map(|session| Redacted::from_safe(&session.session_id)).collect();
        let browsers = if open.is_empty() {
            "No browser session of this key is open: a restart of the server ends them all.".into()
        } else {
            redacted!("Browser sessions of this key that are open: {}.", Redacted::join(open, ", "))
        };
        let fault = Fault::new(
            ErrorCode::UnknownMcpSession,
            "there is no such MCP session: it was closed, or the server was restarted",
        )
        .hint(redacted!("Reconnect this MCP server in the client, which initializes again. {}", browsers));
        let body = mcp::error_response(&id.0, SESSION_NOT_FOUND, &fault);
        (StatusCode::NOT_FOUND, Json(body)).into_response()
    }
}

impl SharedTable {
    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, id: &str) {
        self.lock().sessions.remove(id);
    }

    /// Whether this scope owns the session; marks it as used.
    fn touch_if_owner(&self, id: &str, scope: &Scope) -> bool {
        let mut table = self.lock();
        table.clock += 1;
        let now = table.clock;
        match table.sessions.get_mut(id) {
            Some((owner, used)) if owner == scope => {
                *used = now;
                true
            }
            _ => false,
        }
    }

    /// Registers a new session, and returns the one that it replaces.
    fn register(&self, id: &str, scope: &Scope) -> Option<String> {
        let mut table = self.lock();
        table.clock += 1;
        let now = table.clock;
        table.sessions.insert(id.to_owned(), (scope.clone(), now));
        let own = || table.sessions.iter().filter(|(_, (owner, _))| owner == scope);
        if own().count() <= MAX_PER_SCOPE {
            return None;
        }
        let oldest = own().min_by_key(|(_, (_, used))| *used).map(|(id, _)| id.clone())?;
        table.sessions.remove(&oldest);
        Some(oldest)
    }
}

/// Runs after the key check, which puts the scope on the request.
pub async fn check_owner(State(sessions): State<McpSessions>, request: Request, next: Next) -> Response {
    let Some(scope) = request.extensions().get::<Scope>().cloned() else {
        return fault_json(
            StatusCode::UNAUTHORIZED,
            Fault::new(ErrorCode::Unauthorized, "the caller is not known"),
        );
    };
    if let Some(id) = session_id(request.headers())
        && !sessions.table.touch_if_owner(&id, &scope)
    {
        let message = request.extensions().get::<MessageId>().cloned().unwrap_or_default();
        return sessions.unknown(&scope, &message);
    }
    let named = session_id(request.headers());
    let is_close = request.method() == Method::DELETE;
    let response = next.run(request).await;
    if let Some(id) = &named
        && (is_close && response.status().is_success())
    {
        sessions.table.forget(id);
    }
    if named.is_none()
        && let Some(id) = session_id(response.headers())
        && let Some(oldest) = sessions.table.register(&id, &scope)
        && let Err(error) = sessions.manager.close_session(&oldest.into()).await
    {
        tracing::warn!(%error, "cannot end an old MCP session");
    }
    response
}

fn session_id(headers: &HeaderMap) -> Option<String> {
    headers.get(HEADER).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Actor, Tenant};

    fn scope(actor: &str) -> Scope {
        Scope { tenant: Tenant::parse("default").unwrap(), actor: Actor::parse(actor).unwrap() }
    }

    #[test]
    fn an_id_is_refused_to_another_scope() {
        let sessions = SharedTable::default();
        assert_eq!(sessions.register("a", &scope("one")), None);
        assert!(sessions.touch_if_owner("a", &scope("one")));
        assert!(!sessions.touch_if_owner("a", &scope("two")));
        assert!(!sessions.touch_if_owner("b", &scope("one")));
    }

    #[test]
    fn the_least_recently_used_session_of_the_same_scope_is_replaced() {
        let sessions = SharedTable::default();
        sessions.register("other", &scope("two"));
        for n in 0..MAX_PER_SCOPE {
            assert_eq!(sessions.register(&n.to_string(), &scope("one")), None);
        }
        assert!(sessions.touch_if_owner("0", &scope("one")));
        assert_eq!(sessions.register("new", &scope("one")), Some("1".to_owned()));
        assert!(!sessions.touch_if_owner("1", &scope("one")));
        assert!(
            sessions.touch_if_owner("0", &scope("one")) && sessions.touch_if_owner("other", &scope("two"))
        );
    }
}
