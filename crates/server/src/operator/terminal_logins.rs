//! Logins of the command line that last for a while in one terminal session, and list questions only.
//!
//! A program in the same terminal may be the agent that asks. So such a login never answers: answers take the password.

use super::OperatorAuth;
use crate::operator::login_required;
use engine::error::Fault;
use redact::{ALPHANUMERIC, Secret, random_text};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long one lasts, whether it is used or not.
pub const TERMINAL_LOGIN_LIFETIME: Duration = Duration::from_secs(15 * 60);
/// Kept logins; the oldest gives way.
const MAX_LOGINS: usize = 64;
/// Tells such a token from that of a whole login.
const PREFIX: &str = "list_stockade_";
const RANDOM_CHARS: usize = 43;

/// The id of a terminal session (`getsid`), as the kernel says it of the process at the other end of the socket.
pub type TerminalSession = i32;

/// The terminal session of a process, or of this one. `None` for a session whose leader is outside this PID namespace
/// (a process that `docker exec` or `nsenter` brought in): the kernel calls all of those 0, so it cannot be distinguished
/// from another.
pub fn terminal_session(pid: Option<i32>) -> Option<TerminalSession> {
    let session = nix::unistd::getsid(pid.map(nix::unistd::Pid::from_raw)).ok()?.as_raw();
    (session > 0).then_some(session)
}

/// Cheap to clone; all clones share the logins. They end with the server.
#[derive(Clone, Default)]
pub struct TerminalLogins(Arc<Mutex<HashMap<[u8; 32], TerminalLogin>>>);

struct TerminalLogin {
    operator: String,
    session: TerminalSession,
    since: Instant,
    /// The hash of the password at the login: a changed one ends it.
    password: Option<String>,
}

impl TerminalLogins {
    /// Issues a token for an operator whose password was just checked.
    pub async fn issue(
        &self,
        auth: &OperatorAuth,
        operator: &str,
        session: TerminalSession,
        now: Instant,
    ) -> Result<Secret, Fault> {
        let random = random_text(ALPHANUMERIC, RANDOM_CHARS)
            .map_err(|error| Fault::caused(error_code::ErrorCode::Internal, &error))?;
        let token = Secret::concat(&[PREFIX, &random]);
        let password = auth.stored_password(operator).await?;
        let login = TerminalLogin { operator: operator.to_owned(), session, since: now, password };
        let mut logins = self.lock();
        logins.retain(|_, login| login.is_fresh(now));
        if logins.len() >= MAX_LOGINS
            && let Some(oldest) = logins.iter().min_by_key(|(_, login)| login.since).map(|(hash, _)| *hash)
        {
            logins.remove(&oldest);
        }
        logins.insert(hash(token.expose_secret()), login);
        Ok(token)
    }

    /// Checks that a token is one of this terminal session, not too old, and that its operator has the same password.
    pub async fn check(
        &self,
        auth: &OperatorAuth,
        token: &str,
        session: Option<TerminalSession>,
        now: Instant,
    ) -> Result<(), Fault> {
        let found = {
            let logins = self.lock();
            let login = logins.get(&hash(token)).filter(|login| login.is_fresh(now));
            let login = login.filter(|login| session == Some(login.session));
            login.map(|login| (login.operator.clone(), login.password.clone()))
        };
        let Some((operator, password)) = found else { return Err(login_required()) };
        if password.is_none() || auth.stored_password(&operator).await? != password {
            self.forget(token);
            return Err(login_required());
        }
        Ok(())
    }

    pub fn forget(&self, token: &str) {
        self.lock().remove(&hash(token));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], TerminalLogin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_terminal_token(token: &str) -> bool {
        token.starts_with(PREFIX)
    }
}

impl TerminalLogin {
    fn is_fresh(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) < TERMINAL_LOGIN_LIFETIME
    }
}

/// A token has 256 random bits, so a plain hash is as good as a slow one.
fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::operator_auth;

    #[tokio::test]
    async fn a_terminal_login_is_of_one_session_ends_in_time_and_with_the_password() {
        let (_folder, storage, auth) = operator_auth::tests::start().await;
        let hash = storage.operator_password("operator").await.unwrap().flatten().unwrap();
        let (logins, now) = (TerminalLogins::default(), Instant::now());
        let token = logins.issue(&auth, "operator", 7, now).await.unwrap();
        let token = token.expose_secret();
        assert!(TerminalLogins::is_terminal_token(token));
        let last = now + TERMINAL_LOGIN_LIFETIME - Duration::from_secs(1);
        for (what, token, session, at, is_good) in [
            ("its own session", token, Some(7), last, true),
            ("another session", token, Some(8), now, false),
            ("a caller without one", token, None, now, false),
            ("too old", token, Some(7), now + TERMINAL_LOGIN_LIFETIME, false),
            ("another token", "list_stockade_x", Some(7), now, false),
        ] {
            assert_eq!(logins.check(&auth, token, session, at).await.is_ok(), is_good, "{what}");
        }
        // It is no operator's session: nothing else accepts it.
        assert!(auth.find(token, false).await.unwrap().is_none());

        assert!(storage.set_operator_password("operator", Some(&hash), "another").await.unwrap());
        assert!(logins.check(&auth, token, Some(7), now).await.is_err(), "the password changed");
        let token = logins.issue(&auth, "operator", 7, now).await.unwrap();
        logins.forget(token.expose_secret());
        assert!(logins.check(&auth, token.expose_secret(), Some(7), now).await.is_err());
    }
}
