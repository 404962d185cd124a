//! Operator login: passwords and one-time links, rate limited and recorded in the audit log.

use crate::operator::Password;
use crate::operator::login_rate_limit::LoginRateLimit;
use audit::{Event, EventKind, EventSubject, Log};
use engine::error::Fault;
use engine::error::audit_fault;
use engine::storage::{OperatorSession, OperatorToken, Storage};
use error_code::ErrorCode;
use redact::Redacted;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// The least time that a failed login takes.
pub const FAILED_LOGIN_DELAY: Duration = Duration::from_millis(700);
/// How long a login waits for other password checks; each takes about a tenth of a second.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a login comes from. Each channel has its own rate limit, so that callers on the web cannot use up the attempts
/// of callers on the control socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginChannel {
    Web,
    Socket,
}

/// Cheap to clone; all clones share the rate limits.
#[derive(Clone)]
pub struct OperatorAuth {
    inner: Arc<Inner>,
}

struct Inner {
    storage: Storage,
    log: Log,
    /// A password check takes 64 MiB, so they run one at a time.
    check_permit: Semaphore,
    web: Mutex<LoginRateLimit>,
    socket: Mutex<LoginRateLimit>,
    /// Limits the recorded link refusals: anybody can send a link, and must not be able to fill the log.
    links: Mutex<LoginRateLimit>,
}

impl OperatorAuth {
    pub fn new(storage: Storage, log: Log) -> OperatorAuth {
        let attempts = || Mutex::new(LoginRateLimit::new(Instant::now()));
        let check_permit = Semaphore::new(1);
        let inner =
            Inner { storage, log, check_permit, web: attempts(), socket: attempts(), links: attempts() };
        OperatorAuth { inner: Arc::new(inner) }
    }

    /// Logs an operator in by password.
    pub async fn log_in_with_password(
        &self,
        channel: LoginChannel,
        name: &str,
        password: Password,
    ) -> Result<OperatorToken, Fault> {
        let begun = Instant::now();
        self.with_rate_limit(channel, |attempts| attempts.take(begun)).map_err(throttled)?;
        let stored = self.inner.storage.operator_password(name).await?;
        let known = stored.is_some();
        let stored = stored.flatten();
        if !self.verify_password(password, stored.clone()).await? {
            let whom = if known { name } else { "unknown operator" };
            self.record(
                EventKind::OperatorRefused,
                whom,
                &format!("a wrong password at {}", channel.as_str()),
            )
            .await?;
            tokio::time::sleep(FAILED_LOGIN_DELAY.saturating_sub(begun.elapsed())).await;
            return Err(login_failed());
        }
        self.with_rate_limit(channel, LoginRateLimit::give_back);
        self.record(EventKind::OperatorEntered, name, &format!("by password at {}", channel.as_str()))
            .await?;
        // A password change during the check invalidates this login.
        let opened =
            self.inner.storage.open_operator_session_by_password(name, &stored.unwrap_or_default()).await?;
        if opened.is_none() {
            self.record(EventKind::OperatorRefused, name, "the password was changed during the login")
                .await?;
        }
        opened.ok_or_else(login_failed)
    }

    /// Logs in by an unused one-time link.
    pub async fn log_in_with_link(&self, token: &str) -> Result<OperatorToken, Fault> {
        match self.inner.storage.use_link(token).await? {
            Some(operator) => self.open_session(&operator, "by one-time link").await,
            None => {
                let noted =
                    self.inner.links.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now());
                if noted.is_ok() {
                    self.record(EventKind::OperatorRefused, "unknown operator", "an invalid login link")
                        .await?;
                }
                let what = "this link was used before, is older than ten minutes, or is invalid";
                Err(Fault::new(ErrorCode::LinkSpent, what)
                    .hint("Make another in a terminal: stockade operator link"))
            }
        }
    }

    /// Creates a one-time link for the terminal that started the control plane.
    pub async fn create_startup_link(&self, operator: &str) -> Result<OperatorToken, Fault> {
        self.record(EventKind::OperatorChanged, operator, "a one-time link was shown at the start").await?;
        Ok(self.inner.storage.make_link(operator).await?)
    }

    /// Whether any operator can log in by password.
    pub async fn any_password(&self) -> Result<bool, Fault> {
        Ok(self.inner.storage.any_operator_password().await?)
    }

    /// Whether this operator can log in by password.
    pub async fn has_password(&self, operator: &str) -> Result<bool, Fault> {
        Ok(self.stored_password(operator).await?.is_some())
    }

    /// The hash of an operator's password; `None` without one.
    pub(super) async fn stored_password(&self, operator: &str) -> Result<Option<String>, Fault> {
        Ok(self.inner.storage.operator_password(operator).await?.flatten())
    }

    /// Sets the first password of an operator who is logged in by a link. That ends the link and every session of the
    /// operator, so it returns a new one. Whoever has a password changes it on the command line, which asks for it.
    pub async fn set_first_password(
        &self,
        operator: &str,
        password: Password,
    ) -> Result<OperatorToken, Fault> {
        let taken = || {
            Fault::new(ErrorCode::FormRefused, "this operator has a password already")
                .hint("Change it in a terminal: stockade operator password")
        };
        password.check()?;
        if self.has_password(operator).await? {
            return Err(taken());
        }
        let permit = tokio::time::timeout(CHECK_TIMEOUT, self.inner.check_permit.acquire()).await;
        let Ok(Ok(_permit)) = permit else { return Err(throttled(CHECK_TIMEOUT)) };
        let hash = tokio::task::spawn_blocking(move || password.hash())
            .await
            .map_err(|error| Fault::caused(ErrorCode::Internal, &error))??;
        self.record(EventKind::OperatorChanged, operator, "a first password is set in the console").await?;
        if !self.inner.storage.set_operator_password(operator, None, &hash).await? {
            return Err(taken());
        }
        self.open_session(operator, "by the password just set").await
    }

    /// Finds the login session of a token. `busy` extends its idle timeout.
    pub async fn find(&self, token: &str, busy: bool) -> Result<Option<OperatorSession>, Fault> {
        Ok(self.inner.storage.find_operator_session(token, busy).await?)
    }

    pub async fn log_out(&self, token: &str) -> Result<(), Fault> {
        if let Some(session) = self.find(token, false).await? {
            self.inner.storage.end_operator_session(token).await?;
            self.record(EventKind::OperatorLeft, &session.operator, "logged out").await?;
        }
        Ok(())
    }

    async fn verify_password(&self, password: Password, stored: Option<String>) -> Result<bool, Fault> {
        let permit = tokio::time::timeout(CHECK_TIMEOUT, self.inner.check_permit.acquire()).await;
        // The semaphore is never closed, so this is the timeout.
        let Ok(Ok(_permit)) = permit else { return Err(throttled(CHECK_TIMEOUT)) };
        tokio::task::spawn_blocking(move || password.fits(stored.as_deref()))
            .await
            .map_err(|error| Fault::caused(ErrorCode::Internal, &error))?
    }

    /// Records the login before issuing the token.
    async fn open_session(&self, operator: &str, how: &str) -> Result<OperatorToken, Fault> {
        self.record(EventKind::OperatorEntered, operator, how).await?;
        Ok(self.inner.storage.open_operator_session(operator).await?)
    }

    async fn record(&self, kind: EventKind, operator: &str, detail: &str) -> Result<(), Fault> {
        record_operator_event(&self.inner.log, kind, operator, detail).await
    }

    fn with_rate_limit<T>(
        &self,
        channel: LoginChannel,
        use_them: impl FnOnce(&mut LoginRateLimit) -> T,
    ) -> T {
        let attempts = match channel {
            LoginChannel::Web => &self.inner.web,
            LoginChannel::Socket => &self.inner.socket,
        };
        use_them(&mut attempts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl LoginChannel {
    fn as_str(self) -> &'static str {
        match self {
            LoginChannel::Web => "the console",
            LoginChannel::Socket => "the command line",
        }
    }
}

/// Records an event about an operator in the audit log.
pub async fn record_operator_event(
    log: &Log,
    kind: EventKind,
    operator: &str,
    detail: &str,
) -> Result<(), Fault> {
    let event = Event::new(kind, EventSubject::stockade())
        .detail(Redacted::outside_sessions(detail))
        .decided_by(Some(Redacted::outside_sessions(operator)));
    log.append(&event).await.map_err(audit_fault)
}

fn login_failed() -> Fault {
    Fault::new(ErrorCode::LoginFailed, "wrong name or password")
        .hint("In a terminal, `stockade operator password` sets a password, and `stockade operator link` shows a link that logs you in once.")
}

fn throttled(wait: Duration) -> Fault {
    let seconds = wait.as_secs() + 1;
    Fault::outside_sessions(
        ErrorCode::LoginThrottled,
        format!("too many wrong passwords; try again in {seconds} s"),
    )
    .hint("Wait, or run `stockade operator link` in a terminal to log in by a link.")
    .retryable()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use audit::{Key, LogOptions};

    /// An operator with the password "correct horse battery".
    pub async fn start() -> (tempfile::TempDir, Storage, OperatorAuth) {
        let folder = tempfile::tempdir().unwrap();
        let storage = Storage::open(&folder.path().join("stockade.db")).await.unwrap();
        storage.first_start().await.unwrap();
        let hash = Password::given("correct horse battery".to_owned()).hash().unwrap();
        assert!(storage.set_operator_password("operator", None, &hash).await.unwrap());
        let key = Key::load_or_create(&folder.path().join("key")).unwrap();
        let options = LogOptions { key, segment_bytes: 1 << 20, most_bytes: 1 << 30 };
        let (log, _) = Log::open(&folder.path().join("audit"), "i1", options).unwrap();
        (folder, storage.clone(), OperatorAuth::new(storage, log))
    }

    #[tokio::test]
    async fn a_wrong_password_is_slow_limited_and_recorded_and_the_other_channel_stays_open() {
        let (folder, _storage, auth) = start().await;
        let enter = |channel, name: &'static str, word: &str| {
            let (auth, word) = (auth.clone(), Password::given(word.to_owned()));
            async move {
                auth.log_in_with_password(channel, name, word).await.map_err(|fault| fault.code.to_string())
            }
        };
        let begun = Instant::now();
        let wrong: Vec<_> = futures_util::future::join_all((0..8).map(|n| {
            enter(LoginChannel::Web, if n % 2 == 0 { "operator" } else { "nobody" }, "hunter2 hunter2")
        }))
        .await
        .into_iter()
        .map(|done| done.err().unwrap())
        .collect();
        assert!(begun.elapsed() >= FAILED_LOGIN_DELAY, "{:?}", begun.elapsed());
        assert_eq!(wrong.iter().filter(|code| *code == "login_failed").count(), 5, "{wrong:?}");
        assert_eq!(wrong.iter().filter(|code| *code == "login_throttled").count(), 3);
        assert_eq!(
            enter(LoginChannel::Web, "operator", "correct horse battery").await.err().unwrap(),
            "login_throttled"
        );
        let token = enter(LoginChannel::Socket, "operator", "correct horse battery").await.ok().unwrap();
        assert_eq!(auth.find(token.expose(), true).await.unwrap().unwrap().operator, "operator");
        auth.log_out(token.expose()).await.unwrap();
        assert!(auth.find(token.expose(), true).await.unwrap().is_none());
        let count = |kind: &str| {
            let filter = audit::EventFilter { action: Some(kind.into()), ..Default::default() };
            audit::read_last(&folder.path().join("audit"), &filter, 100).unwrap().len()
        };
        assert_eq!((count("operator_refused"), count("operator_entered"), count("operator_left")), (5, 1, 1));
        // Refused links are recorded too, within a bound.
        for _ in 0..20 {
            assert_eq!(auth.log_in_with_link("none").await.err().unwrap().code, ErrorCode::LinkSpent);
        }
        assert_eq!(count("operator_refused"), 10);
    }

    #[tokio::test]
    async fn a_password_that_changes_during_its_check_opens_no_session() {
        let (_folder, storage, _auth) = start().await;
        let old = storage.operator_password("operator").await.unwrap().flatten().unwrap();
        assert!(storage.open_operator_session_by_password("operator", &old).await.unwrap().is_some());
        assert!(storage.set_operator_password("operator", Some(&old), "another").await.unwrap());
        assert!(storage.open_operator_session_by_password("operator", &old).await.unwrap().is_none());
        assert!(storage.open_operator_session_by_password("operator", "").await.unwrap().is_none());
    }
}
