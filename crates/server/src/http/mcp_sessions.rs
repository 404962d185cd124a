//! MCP sessions of the 2025 revisions: bound to the scope that opened them, and bounded in number.
//!
//! The transport issues an id at `initialize` and then accepts it from anyone. This check accepts it only from the scope
//! that got it, so that a leaked id is useless to another key.

use super::guard::fault_json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use engine::error::Fault;
use error_code::ErrorCode;
use policy::Scope;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const HEADER: &str = "mcp-session-id";
/// MCP sessions of one scope; a further one replaces the least recently used.
const MAX_PER_SCOPE: usize = 32;

#[derive(Clone)]
pub struct McpSessions {
    manager: Arc<LocalSessionManager>,
    table: Arc<Mutex<SessionTable>>,
}

#[derive(Default)]
struct SessionTable {
    clock: u64,
    sessions: HashMap<String, (Scope, u64)>,
}

impl McpSessions {
    pub fn new(manager: Arc<LocalSessionManager>) -> McpSessions {
        McpSessions { manager, table: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
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
        && !sessions.touch_if_owner(&id, &scope)
    {
        // The transport's own response to an unknown id: the client initializes again.
        let fault = Fault::new(ErrorCode::UnknownMcpSession, "there is no such MCP session")
            .hint("Initialize again; browser sessions stay as they are.");
        return fault_json(StatusCode::NOT_FOUND, fault);
    }
    let is_new = session_id(request.headers()).is_none();
    let response = next.run(request).await;
    if is_new
        && let Some(id) = session_id(response.headers())
        && let Some(oldest) = sessions.register(&id, &scope)
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
        let sessions = McpSessions::new(Arc::default());
        assert_eq!(sessions.register("a", &scope("one")), None);
        assert!(sessions.touch_if_owner("a", &scope("one")));
        assert!(!sessions.touch_if_owner("a", &scope("two")));
        assert!(!sessions.touch_if_owner("b", &scope("one")));
    }

    #[test]
    fn the_least_recently_used_session_of_the_same_scope_is_replaced() {
        let sessions = McpSessions::new(Arc::default());
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
