//! MCP sessions of the 2025 revisions: bound to the scope that opened them, and bounded in number.
//!
//! The transport makes an id at `initialize` and takes it from anyone afterwards. Here it is only taken
//! from the scope that got it, so that a leaked id is worth nothing to another key.

use super::guard::answer;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use engine::error::Fault;
use policy::Scope;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const HEADER: &str = "mcp-session-id";
/// MCP sessions of one scope; opening another ends the one that was quiet the longest.
const MOST_PER_SCOPE: usize = 32;

#[derive(Clone)]
pub struct McpSessions {
    manager: Arc<LocalSessionManager>,
    book: Arc<Mutex<Book>>,
}

#[derive(Default)]
struct Book {
    clock: u64,
    sessions: HashMap<String, (Scope, u64)>,
}

impl McpSessions {
    pub fn new(manager: Arc<LocalSessionManager>) -> McpSessions {
        McpSessions { manager, book: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this scope may use the session; notes that it did.
    fn may_use(&self, id: &str, scope: &Scope) -> bool {
        let mut book = self.lock();
        book.clock += 1;
        let now = book.clock;
        match book.sessions.get_mut(id) {
            Some((owner, used)) if owner == scope => {
                *used = now;
                true
            }
            _ => false,
        }
    }

    /// Notes a new session, and returns the one that has to make room for it.
    fn opened(&self, id: &str, scope: &Scope) -> Option<String> {
        let mut book = self.lock();
        book.clock += 1;
        let now = book.clock;
        book.sessions.insert(id.to_owned(), (scope.clone(), now));
        let own = || book.sessions.iter().filter(|(_, (owner, _))| owner == scope);
        if own().count() <= MOST_PER_SCOPE {
            return None;
        }
        let oldest = own().min_by_key(|(_, (_, used))| *used).map(|(id, _)| id.clone())?;
        book.sessions.remove(&oldest);
        Some(oldest)
    }
}

/// Runs after the key check, which puts the scope on the request.
pub async fn bind(State(sessions): State<McpSessions>, request: Request, next: Next) -> Response {
    let Some(scope) = request.extensions().get::<Scope>().cloned() else {
        return answer(StatusCode::UNAUTHORIZED, Fault::new("unauthorized", "the caller is not known"));
    };
    if let Some(id) = session_id(request.headers())
        && !sessions.may_use(&id, &scope)
    {
        // What the transport says of an id it does not know: the client then starts anew.
        let fault = Fault::new("unknown_mcp_session", "there is no such MCP session")
            .hint("Initialize again; browser sessions stay as they are.");
        return answer(StatusCode::NOT_FOUND, fault);
    }
    let is_new = session_id(request.headers()).is_none();
    let response = next.run(request).await;
    if is_new
        && let Some(id) = session_id(response.headers())
        && let Some(oldest) = sessions.opened(&id, &scope)
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
    fn an_id_is_worth_nothing_to_another_scope() {
        let sessions = McpSessions::new(Arc::default());
        assert_eq!(sessions.opened("a", &scope("one")), None);
        assert!(sessions.may_use("a", &scope("one")));
        assert!(!sessions.may_use("a", &scope("two")));
        assert!(!sessions.may_use("b", &scope("one")));
    }

    #[test]
    fn the_quietest_makes_room_and_only_in_its_own_scope() {
        let sessions = McpSessions::new(Arc::default());
        sessions.opened("other", &scope("two"));
        for n in 0..MOST_PER_SCOPE {
            assert_eq!(sessions.opened(&n.to_string(), &scope("one")), None);
        }
        assert!(sessions.may_use("0", &scope("one")));
        assert_eq!(sessions.opened("new", &scope("one")), Some("1".to_owned()));
        assert!(!sessions.may_use("1", &scope("one")));
        assert!(sessions.may_use("0", &scope("one")) && sessions.may_use("other", &scope("two")));
    }
}
