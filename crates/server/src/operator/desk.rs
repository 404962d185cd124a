//! Where operators log in: one password at a time, few tries, and all of it on record.

use crate::operator::Password;
use crate::operator::attempts::Attempts;
use audit::{Event, EventKind, EventSubject, Log};
use engine::error::Fault;
use engine::error::audit_fault;
use engine::storage::{OperatorToken, Storage, Visit};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// A wrong password is answered no sooner.
pub const SLOW: Duration = Duration::from_millis(700);
/// How long one waits while others' passwords are looked at; each takes a tenth of a second, and few can come.
const PATIENCE: Duration = Duration::from_secs(10);

/// By which way somebody wants in. Each has tries of its own: who cannot reach the control socket cannot use up the
/// tries of those who can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Web,
    Socket,
}

/// Cheap to clone; all clones count the same tries.
#[derive(Clone)]
pub struct Desk {
    inner: Arc<Inner>,
}

struct Inner {
    storage: Storage,
    log: Log,
    /// A hash takes 64 MiB, so there is one at a time.
    one: Semaphore,
    web: Mutex<Attempts>,
    socket: Mutex<Attempts>,
    /// Refused links that are put on record: anybody can send one, and a log must not grow by that.
    links: Mutex<Attempts>,
}

impl Desk {
    pub fn new(storage: Storage, log: Log) -> Desk {
        let attempts = || Mutex::new(Attempts::new(Instant::now()));
        let one = Semaphore::new(1);
        let inner = Inner { storage, log, one, web: attempts(), socket: attempts(), links: attempts() };
        Desk { inner: Arc::new(inner) }
    }

    /// Lets an operator in who knows the password.
    pub async fn by_password(
        &self,
        entry: Entry,
        name: &str,
        password: Password,
    ) -> Result<OperatorToken, Fault> {
        let begun = Instant::now();
        self.with_attempts(entry, |attempts| attempts.take(begun)).map_err(throttled)?;
        let stored = self.inner.storage.operator_password(name).await?;
        let known = stored.is_some();
        let stored = stored.flatten();
        if !self.fits(password, stored.clone()).await? {
            let whom = if known { name } else { "no operator of ours" };
            self.note(EventKind::OperatorRefused, whom, &format!("a wrong password at {}", entry.word()))
                .await?;
            tokio::time::sleep(SLOW.saturating_sub(begun.elapsed())).await;
            return Err(login_failed());
        }
        self.with_attempts(entry, Attempts::give_back);
        self.note(EventKind::OperatorEntered, name, &format!("by password at {}", entry.word())).await?;
        // The password may have been changed while it was looked at, which ends every log-in.
        let opened = self.inner.storage.open_visit_by(name, &stored.unwrap_or_default()).await?;
        if opened.is_none() {
            self.note(EventKind::OperatorRefused, name, "the password was changed in that moment").await?;
        }
        opened.ok_or_else(login_failed)
    }

    /// Lets in whoever brings a link that was not used.
    pub async fn by_link(&self, token: &str) -> Result<OperatorToken, Fault> {
        match self.inner.storage.use_link(token).await? {
            Some(operator) => self.enter(&operator, "by one-time link").await,
            None => {
                let noted =
                    self.inner.links.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now());
                if noted.is_ok() {
                    self.note(
                        EventKind::OperatorRefused,
                        "no operator of ours",
                        "a link that lets nobody in",
                    )
                    .await?;
                }
                let what = "this link was used before, is older than ten minutes, or is none";
                Err(Fault::new("link_spent", what).hint("Make another in a terminal: stockade operator link"))
            }
        }
    }

    /// A link for the terminal that the control plane was started in.
    pub async fn link_at_start(&self, operator: &str) -> Result<OperatorToken, Fault> {
        self.note(EventKind::OperatorChanged, operator, "a one-time link was shown at the start").await?;
        Ok(self.inner.storage.make_link(operator).await?)
    }

    /// Who is in by this token.
    pub async fn find(&self, token: &str, busy: bool) -> Result<Option<Visit>, Fault> {
        Ok(self.inner.storage.find_visit(token, busy).await?)
    }

    pub async fn leave(&self, token: &str) -> Result<(), Fault> {
        if let Some(visit) = self.find(token, false).await? {
            self.inner.storage.end_visit(token).await?;
            self.note(EventKind::OperatorLeft, &visit.operator, "logged out").await?;
        }
        Ok(())
    }

    async fn fits(&self, password: Password, stored: Option<String>) -> Result<bool, Fault> {
        let place = tokio::time::timeout(PATIENCE, self.inner.one.acquire()).await;
        // The semaphore is never closed; a wait that is too long is.
        let Ok(Ok(_place)) = place else { return Err(throttled(PATIENCE)) };
        tokio::task::spawn_blocking(move || password.fits(stored.as_deref()))
            .await
            .map_err(|error| Fault::caused("internal", &error))?
    }

    /// Nobody is in who is not on record as having come in.
    async fn enter(&self, operator: &str, how: &str) -> Result<OperatorToken, Fault> {
        self.note(EventKind::OperatorEntered, operator, how).await?;
        Ok(self.inner.storage.open_visit(operator).await?)
    }

    async fn note(&self, kind: EventKind, operator: &str, detail: &str) -> Result<(), Fault> {
        changed(&self.inner.log, kind, operator, detail).await
    }

    fn with_attempts<T>(&self, entry: Entry, use_them: impl FnOnce(&mut Attempts) -> T) -> T {
        let attempts = match entry {
            Entry::Web => &self.inner.web,
            Entry::Socket => &self.inner.socket,
        };
        use_them(&mut attempts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Entry {
    fn word(self) -> &'static str {
        match self {
            Entry::Web => "the console",
            Entry::Socket => "the command line",
        }
    }
}

/// Puts on record what an operator did, or what was done to one.
pub async fn changed(log: &Log, kind: EventKind, operator: &str, detail: &str) -> Result<(), Fault> {
    let mut event = Event::new(kind, EventSubject::stockade()).detail(detail);
    event.decided_by = Some(audit::sanitize(operator));
    log.append(&event).await.map_err(audit_fault)
}

fn login_failed() -> Fault {
    Fault::new("login_failed", "that is not an operator's name and password")
        .hint("`stockade operator password` sets one, `stockade operator link` lets you in without.")
}

fn throttled(wait: Duration) -> Fault {
    let seconds = wait.as_secs() + 1;
    Fault::new(
        "login_throttled",
        format!("too many passwords were tried; the next can be tried in {seconds} s"),
    )
    .hint("Wait, or log in by a link: stockade operator link")
    .retryable()
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit::{Key, LogOptions};

    async fn desk() -> (tempfile::TempDir, Desk) {
        let folder = tempfile::tempdir().unwrap();
        let storage = Storage::open(&folder.path().join("stockade.db")).await.unwrap();
        storage.first_start().await.unwrap();
        let hash = Password::given("correct horse battery".to_owned()).hash().unwrap();
        assert!(storage.set_operator_password("operator", None, &hash).await.unwrap());
        let key = Key::load_or_create(&folder.path().join("key")).unwrap();
        let options = LogOptions { key, segment_bytes: 1 << 20, most_bytes: 1 << 30 };
        let (log, _) = Log::open(&folder.path().join("audit"), "i1", options).unwrap();
        (folder, Desk::new(storage, log))
    }

    #[tokio::test]
    async fn a_wrong_password_is_slow_counted_and_on_record_and_the_other_door_stays_open() {
        let (folder, desk) = desk().await;
        let enter = |entry, name: &'static str, word: &str| {
            let (desk, word) = (desk.clone(), Password::given(word.to_owned()));
            async move { desk.by_password(entry, name, word).await.map_err(|fault| fault.code.into_owned()) }
        };
        let begun = Instant::now();
        let wrong: Vec<_> =
            futures_util::future::join_all((0..8).map(|n| {
                enter(Entry::Web, if n % 2 == 0 { "operator" } else { "nobody" }, "hunter2 hunter2")
            }))
            .await
            .into_iter()
            .map(|done| done.err().unwrap())
            .collect();
        assert!(begun.elapsed() >= SLOW, "{:?}", begun.elapsed());
        assert_eq!(wrong.iter().filter(|code| *code == "login_failed").count(), 5, "{wrong:?}");
        assert_eq!(wrong.iter().filter(|code| *code == "login_throttled").count(), 3);
        assert_eq!(
            enter(Entry::Web, "operator", "correct horse battery").await.err().unwrap(),
            "login_throttled"
        );
        let token = enter(Entry::Socket, "operator", "correct horse battery").await.ok().unwrap();
        assert_eq!(desk.find(token.expose(), true).await.unwrap().unwrap().operator, "operator");
        desk.leave(token.expose()).await.unwrap();
        assert!(desk.find(token.expose(), true).await.unwrap().is_none());
        let count = |kind: &str| {
            let filter = audit::EventFilter { action: Some(kind.into()), ..Default::default() };
            audit::read_last(&folder.path().join("audit"), &filter, 100).unwrap().len()
        };
        assert_eq!((count("operator_refused"), count("operator_entered"), count("operator_left")), (5, 1, 1));
        // Links that let nobody in are on record too, and not without a bound.
        for _ in 0..20 {
            assert_eq!(desk.by_link("none").await.err().unwrap().code, "link_spent");
        }
        assert_eq!(count("operator_refused"), 10);
    }

    #[tokio::test]
    async fn a_password_that_is_changed_while_it_is_looked_at_lets_nobody_in() {
        let (_folder, desk) = desk().await;
        let storage = &desk.inner.storage;
        let old = storage.operator_password("operator").await.unwrap().flatten().unwrap();
        assert!(storage.open_visit_by("operator", &old).await.unwrap().is_some());
        assert!(storage.set_operator_password("operator", Some(&old), "another").await.unwrap());
        assert!(storage.open_visit_by("operator", &old).await.unwrap().is_none());
        assert!(storage.open_visit_by("operator", "").await.unwrap().is_none());
    }
}
