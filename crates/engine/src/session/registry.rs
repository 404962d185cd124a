//! The table of sessions: who may see which, how many at once, and what became of the ended ones.

use super::session_browser::SessionBrowser;
use super::{
    EffectSettings, EndReason, Ended, RecordMode, Session, SessionSummary, SiteList, StoredImage, lock,
};
use crate::error::Fault;
use crate::logins::Logins;
use crate::provider::Provider;
use audit::{Event, EventKind};
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::{ImageFormat, Name, Scope, SessionId};
use redact::redacted;
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Maximum number of remembered ended sessions. A late call gets the reason of the end.
const MAX_ENDED: usize = 500;

/// Settings of new sessions.
pub struct SessionSettings {
    pub lifetime: Duration,
    pub most_actions: u32,
    pub most_sessions: usize,
    pub restarts: u32,
    pub action_timeout: Duration,
    /// How long the same is refused without asking, after an operator denied it.
    pub denial_stands: Duration,
    /// Interval of the health check of an idle browser.
    pub health_interval: Duration,
    pub egress: Arc<egress::Rules>,
    /// The list that clean sessions are kept to, if the operator set one.
    pub sites: Option<SiteList>,
    /// Sites that pages may load from in a session with a list.
    pub resources: Vec<policy::DomainPattern>,
    /// Extra sites that signed-in sessions may reach.
    pub also_home: Vec<policy::DomainPattern>,
    pub browser: browser::BrowserOptions,
    pub record: RecordMode,
    pub record_floor: RecordMode,
    /// Folder of audit recordings.
    pub recordings: PathBuf,
    /// Folder of transient screenshots, removed when their session ends.
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
    pub(super) effect_settings: EffectSettings,
    table: Mutex<SessionTable>,
}

#[derive(Default)]
struct SessionTable {
    /// Sessions that are being opened. They count against the limit and hold their names.
    opening: Vec<(u64, Scope, Option<Name>)>,
    next_slot: u64,
    open: HashMap<SessionId, Arc<Session>>,
    ended: VecDeque<Arc<Session>>,
    is_shut_down: bool,
}

/// A session that is declared ended and not yet torn down.
#[must_use]
pub(crate) struct DeclaredEnd {
    session: Arc<Session>,
    reason: EndReason,
}

/// A place for a session that is being opened; given back unless the session takes it.
pub(super) struct SessionReservation<'a> {
    registry: &'a Registry,
    number: u64,
}

impl Registry {
    pub fn new(
        settings: SessionSettings,
        provider: Arc<Provider>,
        logins: Arc<Logins>,
        effect_settings: EffectSettings,
    ) -> Registry {
        let log = effect_settings.log.clone();
        Registry { settings, provider, log, logins, effect_settings, table: Mutex::default() }
    }

    /// An image of one of the scope's open sessions.
    pub fn image(&self, scope: &Scope, id: &str) -> Option<StoredImage> {
        let table = lock(&self.table);
        table.open.values().filter(|session| session.scope == *scope).find_map(|session| session.image(id))
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

    /// Finds a session of this scope by id or name. Sessions of other scopes are reported as unknown.
    pub fn find(&self, scope: &Scope, id_or_name: &str) -> Result<Arc<Session>, Fault> {
        self.find_visible(id_or_name, |session| session.scope == *scope)
    }

    /// Finds a session of any scope, for the operator.
    pub fn find_any(&self, id_or_name: &str) -> Result<Arc<Session>, Fault> {
        self.find_visible(id_or_name, |_| true)
    }

    fn find_visible(
        &self,
        id_or_name: &str,
        visible: impl Fn(&Session) -> bool,
    ) -> Result<Arc<Session>, Fault> {
        let table = lock(&self.table);
        let candidates =
            || table.open.values().chain(table.ended.iter().rev()).filter(|session| visible(session));
        // Ids first: agents cannot choose them.
        if let Some(session) = candidates().find(|session| session.id.as_str() == id_or_name) {
            return Ok(session.clone());
        }
        let named =
            |session: &&Arc<Session>| session.name.as_ref().is_some_and(|name| name.as_str() == id_or_name);
        let mut open = table.open.values().filter(|session| visible(session)).filter(named);
        match (open.next(), open.next()) {
            (Some(session), None) => Ok(session.clone()),
            // Names are unique per scope; only the operator sees several scopes.
            (Some(_), Some(_)) => Err(ambiguous(id_or_name)),
            (None, _) => candidates().find(named).cloned().ok_or_else(|| unknown(id_or_name)),
        }
    }

    /// Sessions of one scope, or of all for the operator; open ones first, then the ended, newest first.
    pub fn list(&self, scope: Option<&Scope>) -> Vec<SessionSummary> {
        let table = lock(&self.table);
        let mut open: Vec<_> = table.open.values().collect();
        open.sort_by_key(|session| session.started_at);
        open.into_iter()
            .chain(table.ended.iter().rev())
            .filter(|session| scope.is_none_or(|scope| session.scope == *scope))
            .map(|session| session.summary())
            .collect()
    }

    pub fn open_ids(&self) -> Vec<String> {
        lock(&self.table).open.keys().map(ToString::to_string).collect()
    }

    pub fn open_count(&self) -> usize {
        lock(&self.table).open.len()
    }

    /// Ends a session. The first reason stands; ending twice is fine.
    pub async fn end(self: &Arc<Self>, session: &Arc<Session>, reason: EndReason) {
        if let Some(ending) = self.declare_end(session, reason) {
            self.finish(ending).await;
        }
    }

    /// Marks a session as ended. A holder of the turn calls this before releasing the turn, so that no other task
    /// restarts the dead browser.
    pub(crate) fn declare_end(&self, session: &Arc<Session>, reason: EndReason) -> Option<DeclaredEnd> {
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
        let mut table = lock(&self.table);
        table.open.remove(&session.id);
        table.ended.push_back(session.clone());
        if table.ended.len() > MAX_ENDED {
            table.ended.pop_front();
        }
        Some(DeclaredEnd { session: session.clone(), reason })
    }

    /// Tears an ended session down. The caller must have released the turn.
    ///
    /// Runs in a task of its own, so that a disconnecting caller does not leave a jail behind.
    pub(crate) async fn finish(self: &Arc<Self>, ending: DeclaredEnd) {
        let registry = self.clone();
        if let Err(error) = tokio::spawn(async move { registry.tear_down(ending).await }).await {
            tracing::error!(%error, "taking down a session failed");
        }
    }

    async fn tear_down(&self, DeclaredEnd { session, reason }: DeclaredEnd) {
        let session = &session;
        // The holder of the turn notices the end and releases it.
        let active = session.active.lock().await.take();
        if let Some(SessionBrowser { link, provided, .. }) = active {
            if let Some(egress) = provided.egress().filter(|_| session.record == RecordMode::Audit) {
                self.keep_ledger(session, &session.ledger(egress));
            }
            drop(link);
            if let Err(error) = provided.destroy().await {
                tracing::error!(%error, session = %session.id, "cannot destroy a jail");
            }
        }
        self.keep_places(session).await;
        session.images.close();
        super::egress_record::record_rest(session, &self.log).await;
        let about = session.event_subject();
        let event = Event::new(EventKind::SessionEnded, about).result(reason.as_str());
        if let Err(error) = self.log.append(&event).await {
            tracing::error!(%error, session = %session.id, "the end of a session is not on record");
        }
        tracing::info!(session = %session.id, reason = reason.as_str(), "session ended");
    }

    /// Ends every session and refuses new ones.
    pub async fn shut_down(self: &Arc<Self>) {
        let open: Vec<_> = {
            let mut table = lock(&self.table);
            table.is_shut_down = true;
            table.open.values().cloned().collect()
        };
        futures_util::future::join_all(open.iter().map(|session| self.end(session, EndReason::Shutdown)))
            .await;
    }

    pub(super) fn reserve(
        &self,
        scope: &Scope,
        name: Option<&Name>,
    ) -> Result<SessionReservation<'_>, Fault> {
        let number = lock(&self.table).reserve(scope, name, self.settings.most_sessions)?;
        Ok(SessionReservation { registry: self, number })
    }
}

impl SessionTable {
    /// The number of a place for one more session.
    fn reserve(&mut self, scope: &Scope, name: Option<&Name>, most: usize) -> Result<u64, Fault> {
        if self.is_shut_down {
            return Err(Fault::new(ErrorCode::ShuttingDown, "Stockade is shutting down")
                .hint("Wait until the server runs again, then repeat the call."));
        }
        let is_taken = |name: &Name| {
            let open = self.open.values().map(|open| (&open.scope, open.name.as_ref()));
            let opening = self.opening.iter().map(|(_, scope, name)| (scope, name.as_ref()));
            open.chain(opening).any(|(owner, taken)| owner == scope && taken == Some(name))
        };
        if let Some(name) = name
            && is_taken(name)
        {
            let message = redacted!("there is an open session named {} already", name);
            return Err(Fault::new(ErrorCode::SessionNameTaken, message)
                .hint("Use that session, close it, or choose another name."));
        }
        if self.open.len() + self.opening.len() >= most {
            let message = redacted!("{} sessions are open, and that is the limit", most);
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

impl SessionReservation<'_> {
    /// Puts the session in the table in place of this reservation.
    pub(super) fn fill(self, session: Arc<Session>) {
        lock(&self.registry.table).open.insert(session.id.clone(), session);
    }
}

impl Drop for SessionReservation<'_> {
    fn drop(&mut self) {
        lock(&self.registry.table).opening.retain(|(number, ..)| *number != self.number);
    }
}

fn ambiguous(id_or_name: &str) -> Fault {
    Fault::outside_sessions(
        ErrorCode::SessionAmbiguous,
        format!("several agents have a session named {id_or_name}"),
    )
    .hint("Name it by its id; `stockade session list` shows them.")
}

fn unknown(id_or_name: &str) -> Fault {
    let shown = audit::sanitize(id_or_name);
    Fault::outside_sessions(ErrorCode::UnknownSession, format!("there is no session {shown:?}"))
        .hint("Open one with browser_open_session and use the session_id from its reply. A restart of the server ends all sessions.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::seen;

    #[test]
    fn a_reservation_needs_capacity_and_a_free_name() {
        let scope = crate::storage::default_scope().unwrap();
        let name = Name::parse("shop").unwrap();
        let mut table = SessionTable::default();
        let code = |table: &mut SessionTable, name: Option<&Name>| {
            table.reserve(&scope, name, 2).map(|_| ()).map_err(|fault| seen(fault.code.to_string()))
        };
        assert_eq!(code(&mut table, Some(&name)), Ok(()));
        assert_eq!(code(&mut table, Some(&name)), Err("session_name_taken".into()));
        assert_eq!(code(&mut table, None), Ok(()));
        assert_eq!(code(&mut table, None), Err("too_many_sessions".into()));
        table.is_shut_down = true;
        assert_eq!(code(&mut table, None), Err("shutting_down".into()));
    }
}
