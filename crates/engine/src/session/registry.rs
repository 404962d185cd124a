//! The book of sessions: who may see which, how many at once, and what became of the ended ones.

use super::runtime::Runtime;
use super::{EndReason, Ended, RecordMode, Session, Stored, Summary, lock};
use crate::error::Fault;
use crate::logins::Logins;
use crate::provider::Provider;
use audit::{Event, EventKind, EventSubject};
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::{ImageFormat, Name, Scope, SessionId};
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Ended sessions remembered, so that a late call learns why; the oldest are forgotten first.
const REMEMBERED: usize = 500;

/// What every new session of this instance is made with.
pub struct SessionSettings {
    pub lifetime: Duration,
    pub most_actions: u32,
    pub most_sessions: usize,
    pub restarts: u32,
    pub action_timeout: Duration,
    /// How often an idle browser is asked for a sign of life.
    pub health_interval: Duration,
    pub egress: Arc<egress::Rules>,
    /// What signed-in sessions may reach beside their own sites.
    pub also_home: Vec<policy::DomainPattern>,
    pub browser: browser::BrowserOptions,
    pub record: RecordMode,
    pub record_floor: RecordMode,
    /// Pictures that are kept.
    pub recordings: PathBuf,
    /// Pictures that go with their session.
    pub transient: PathBuf,
    pub archives: PathBuf,
    pub most_images: usize,
    pub picture_format: ImageFormat,
    /// Signs bundles.
    pub key: Arc<audit::Key>,
    /// The folder of the audit log.
    pub audit: PathBuf,
}

pub struct Registry {
    pub(super) settings: SessionSettings,
    pub(super) provider: Arc<Provider>,
    pub(super) log: audit::Log,
    pub(super) logins: Arc<Logins>,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    /// Sessions that are being opened count against the limit, and hold their names, before they exist.
    opening: Vec<(u64, Scope, Option<Name>)>,
    next_slot: u64,
    open: HashMap<SessionId, Arc<Session>>,
    ended: VecDeque<Arc<Session>>,
    closed_for_good: bool,
}

/// A session that was declared ended and still has to be taken down.
#[must_use]
pub(crate) struct Ending {
    session: Arc<Session>,
    reason: EndReason,
}

/// A place for a session that is being opened; given back unless the session takes it.
pub(super) struct Slot<'a> {
    registry: &'a Registry,
    number: u64,
}

impl Registry {
    pub fn new(
        settings: SessionSettings,
        provider: Arc<Provider>,
        log: audit::Log,
        logins: Arc<Logins>,
    ) -> Registry {
        Registry { settings, provider, log, logins, book: Mutex::default() }
    }

    /// A picture of one of the scope's open sessions.
    pub fn image(&self, scope: &Scope, id: &str) -> Option<Stored> {
        let book = lock(&self.book);
        book.open.values().filter(|session| session.scope == *scope).find_map(|session| session.image(id))
    }

    pub fn logins(&self) -> &Logins {
        &self.logins
    }

    pub fn picture_format(&self) -> ImageFormat {
        self.settings.picture_format
    }

    pub fn action_timeout(&self) -> Duration {
        self.settings.action_timeout
    }

    /// A session of this scope by id or name. One of another scope is as unknown as one that never was.
    pub fn find(&self, scope: &Scope, wanted: &str) -> Result<Arc<Session>, Fault> {
        self.find_where(wanted, |session| session.scope == *scope)
    }

    /// A session of any scope, for the operator.
    pub fn find_any(&self, wanted: &str) -> Result<Arc<Session>, Fault> {
        self.find_where(wanted, |_| true)
    }

    fn find_where(&self, wanted: &str, visible: impl Fn(&Session) -> bool) -> Result<Arc<Session>, Fault> {
        let book = lock(&self.book);
        let known = || book.open.values().chain(book.ended.iter().rev()).filter(|session| visible(session));
        // Ids first: they are nobody's to choose.
        if let Some(session) = known().find(|session| session.id.as_str() == wanted) {
            return Ok(session.clone());
        }
        let named =
            |session: &&Arc<Session>| session.name.as_ref().is_some_and(|name| name.as_str() == wanted);
        let mut open = book.open.values().filter(|session| visible(session)).filter(named);
        match (open.next(), open.next()) {
            (Some(session), None) => Ok(session.clone()),
            // Only the operator can see two: names are each scope's own.
            (Some(_), Some(_)) => Err(ambiguous(wanted)),
            (None, _) => known().find(named).cloned().ok_or_else(|| unknown(wanted)),
        }
    }

    /// Sessions of one scope, or of all for the operator; open ones first, then the ended, newest first.
    pub fn list(&self, scope: Option<&Scope>) -> Vec<Summary> {
        let book = lock(&self.book);
        let mut open: Vec<_> = book.open.values().collect();
        open.sort_by_key(|session| session.started_at);
        open.into_iter()
            .chain(book.ended.iter().rev())
            .filter(|session| scope.is_none_or(|scope| session.scope == *scope))
            .map(|session| session.summary())
            .collect()
    }

    pub fn open_ids(&self) -> Vec<String> {
        lock(&self.book).open.keys().map(ToString::to_string).collect()
    }

    pub fn open_count(&self) -> usize {
        lock(&self.book).open.len()
    }

    /// Ends a session. The first reason stands; ending twice is fine.
    pub async fn end(self: &Arc<Self>, session: &Arc<Session>, reason: EndReason) {
        if let Some(ending) = self.declare_end(session, reason) {
            self.finish(ending).await;
        }
    }

    /// Makes a session ended for everyone, at once. Whoever decides that while holding the turn declares
    /// it before letting go, so that nobody else finds a dead browser and brings it back.
    pub(crate) fn declare_end(&self, session: &Arc<Session>, reason: EndReason) -> Option<Ending> {
        let first = session.end.send_if_modified(|end| {
            let first = end.is_none();
            if first {
                *end = Some(Ended { at: Timestamp::now(), reason });
            }
            first
        });
        if !first {
            return None;
        }
        let mut book = lock(&self.book);
        book.open.remove(&session.id);
        book.ended.push_back(session.clone());
        if book.ended.len() > REMEMBERED {
            book.ended.pop_front();
        }
        Some(Ending { session: session.clone(), reason })
    }

    /// Takes down what a declared end leaves standing. The turn must be free by now.
    ///
    /// In a task of its own: a caller that hangs up meanwhile must not leave a jail behind.
    pub(crate) async fn finish(self: &Arc<Self>, ending: Ending) {
        let registry = self.clone();
        if let Err(error) = tokio::spawn(async move { registry.take_down(ending).await }).await {
            tracing::error!(%error, "taking down a session failed");
        }
    }

    async fn take_down(&self, Ending { session, reason }: Ending) {
        let session = &session;
        // Whoever has the turn sees the end and lets go; then the browser is nobody's.
        let runtime = session.runtime.lock().await.take();
        if let Some(Runtime { link, provided, .. }) = runtime {
            if let Some(egress) = provided.egress().filter(|_| session.record == RecordMode::Audit) {
                self.keep_ledger(session, &session.ledger(egress));
            }
            drop(link);
            if let Err(error) = provided.destroy().await {
                tracing::error!(%error, session = %session.id, "cannot destroy a jail");
            }
        }
        session.images.close();
        let about = EventSubject::session(&session.scope, &session.id, Some(session.browser_id.as_str()));
        let event = Event::new(EventKind::SessionEnded, about).result(reason.as_str());
        if let Err(error) = self.log.append(&event).await {
            tracing::error!(%error, session = %session.id, "the end of a session is not on record");
        }
        tracing::info!(session = %session.id, reason = reason.as_str(), "session ended");
    }

    /// Ends every session and opens no more.
    pub async fn shut_down(self: &Arc<Self>) {
        let open: Vec<_> = {
            let mut book = lock(&self.book);
            book.closed_for_good = true;
            book.open.values().cloned().collect()
        };
        futures_util::future::join_all(open.iter().map(|session| self.end(session, EndReason::Shutdown)))
            .await;
    }

    pub(super) fn reserve(&self, scope: &Scope, name: Option<&Name>) -> Result<Slot<'_>, Fault> {
        let number = lock(&self.book).reserve(scope, name, self.settings.most_sessions)?;
        Ok(Slot { registry: self, number })
    }
}

impl Book {
    /// The number of a place for one more session.
    fn reserve(&mut self, scope: &Scope, name: Option<&Name>, most: usize) -> Result<u64, Fault> {
        if self.closed_for_good {
            return Err(Fault::new(ErrorCode::ShuttingDown, "Stockade is shutting down")
                .hint("Try again once it runs again."));
        }
        let is_taken = |name: &Name| {
            let open = self.open.values().map(|open| (&open.scope, open.name.as_ref()));
            let opening = self.opening.iter().map(|(_, scope, name)| (scope, name.as_ref()));
            open.chain(opening).any(|(owner, taken)| owner == scope && taken == Some(name))
        };
        if let Some(name) = name
            && is_taken(name)
        {
            let message = format!("there is an open session named {name} already");
            return Err(Fault::new(ErrorCode::SessionNameTaken, message)
                .hint("Use that one, close it, or choose another name."));
        }
        if self.open.len() + self.opening.len() >= most {
            let message = format!("{most} sessions are open, and that is the limit");
            return Err(Fault::new(ErrorCode::TooManySessions, message)
                .hint("Close a session first; `max_concurrent_sessions` in the configuration sets the limit.")
                .retryable());
        }
        let number = self.next_slot;
        self.next_slot += 1;
        self.opening.push((number, scope.clone(), name.cloned()));
        Ok(number)
    }
}

impl Slot<'_> {
    /// Puts the session in the book in place of this reservation.
    pub(super) fn fill(self, session: Arc<Session>) {
        lock(&self.registry.book).open.insert(session.id.clone(), session);
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        lock(&self.registry.book).opening.retain(|(number, ..)| *number != self.number);
    }
}

fn ambiguous(wanted: &str) -> Fault {
    Fault::new(ErrorCode::SessionAmbiguous, format!("several agents have a session named {wanted}"))
        .hint("Name it by its id; `stockade session list` shows them.")
}

fn unknown(wanted: &str) -> Fault {
    let shown = audit::sanitize(wanted);
    Fault::new(ErrorCode::UnknownSession, format!("there is no session {shown:?}"))
        .hint("Open one with browser_open_session and use the session_id from its reply.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::seen;

    #[test]
    fn a_place_is_given_while_there_is_room_and_the_name_is_free() {
        let scope = crate::storage::default_scope().unwrap();
        let name = Name::parse("shop").unwrap();
        let mut book = Book::default();
        let code = |book: &mut Book, name: Option<&Name>| {
            book.reserve(&scope, name, 2).map(|_| ()).map_err(|fault| seen(fault.code.to_string()))
        };
        assert_eq!(code(&mut book, Some(&name)), Ok(()));
        assert_eq!(code(&mut book, Some(&name)), Err("session_name_taken".into()));
        assert_eq!(code(&mut book, None), Ok(()));
        assert_eq!(code(&mut book, None), Err("too_many_sessions".into()));
        book.closed_for_good = true;
        assert_eq!(code(&mut book, None), Err("shutting_down".into()));
    }
}
