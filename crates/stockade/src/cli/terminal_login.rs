//! The login that `stockade approvals` keeps for one terminal session: a file with a token that lists questions and does
//! nothing else. The server checks the terminal session and the time; this file only finds the token again.

use engine::error::Fault;
use engine::state::State;
use error_code::ErrorCode;
use jiff::Timestamp;
use redact::Secret;
use server::operator::{TerminalSession, terminal_session};
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const FOLDER: &str = "terminal-logins";
/// Longer than any file that this program wrote.
const MAX_BYTES: u64 = 512;

/// The file of one operator's login in one terminal session.
pub struct LoginFile {
    folder: PathBuf,
    /// `None` where the terminal session is unknown: nothing is kept then.
    path: Option<PathBuf>,
}

impl LoginFile {
    /// That of the terminal session this process belongs to.
    pub fn of_this_terminal(state: &State, operator: &str) -> LoginFile {
        LoginFile::of_session(state, terminal_session(None), operator)
    }

    /// An operator's name is a plain file name.
    fn of_session(state: &State, session: Option<TerminalSession>, operator: &str) -> LoginFile {
        let folder = state.folder().join(FOLDER);
        let path = session.map(|session| folder.join(format!("{session}-{operator}")));
        LoginFile { folder, path }
    }

    /// The kept token, if there is one that has not expired.
    pub fn read(&self) -> Option<Secret> {
        let path = self.path.as_ref()?;
        if fs::metadata(path).ok()?.len() > MAX_BYTES {
            return None;
        }
        let text = zeroize::Zeroizing::new(fs::read_to_string(path).ok()?);
        let (expires, token) = text.trim_end().split_once('\n')?;
        let is_fresh = expires.parse::<i64>().is_ok_and(|at| at > Timestamp::now().as_second());
        is_fresh.then(|| Secret::new(token.to_owned()))
    }

    /// Keeps a token for this many seconds. Files of other sessions that have expired are removed on the way.
    pub fn write(&self, token: &Secret, seconds: i64) -> Result<(), Fault> {
        let Some(path) = &self.path else { return Ok(()) };
        let failed = |error: io::Error| Fault::unwritable(self.folder.display(), &error);
        match fs::DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed(error)),
            _ => remove_expired(&self.folder),
        }
        // A new file, so that no mode and no open handle of an older one applies.
        remove_file(path).map_err(failed)?;
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
        let expires = Timestamp::now().as_second() + seconds;
        writeln!(file, "{expires}\n{}", token.expose_secret()).map_err(failed)
    }

    /// Removes the kept token. Returns whether there was one.
    pub fn remove(&self) -> Result<bool, Fault> {
        let Some(path) = &self.path else { return Ok(false) };
        remove_file(path)
            .map_err(|error| Fault::io(ErrorCode::Internal, "cannot remove the kept login", &error))
    }
}

fn remove_file(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn remove_expired(folder: &Path) {
    let now = Timestamp::now().as_second();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let expires = text.lines().next().and_then(|line| line.parse::<i64>().ok());
        if expires.is_none_or(|at| at <= now)
            && let Err(error) = fs::remove_file(entry.path())
        {
            tracing::debug!(%error, "an expired login could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_login_is_kept_closed_to_others_until_it_expires_or_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path()).unwrap();
        let token = Secret::new("list_stockade_x".to_owned());
        let file = |operator: &str| LoginFile::of_session(&state, Some(7), operator);
        let kept = |operator: &str| file(operator).read().map(|token| token.expose_secret().to_owned());
        assert_eq!(kept("ada"), None);
        file("ada").write(&token, 60).unwrap();
        file("ada").write(&token, 60).unwrap();
        assert_eq!((kept("ada").as_deref(), kept("bob")), (Some("list_stockade_x"), None));
        let path = file("ada").path.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(file("ada").remove().unwrap() && !file("ada").remove().unwrap());
        file("ada").write(&token, 0).unwrap();
        assert_eq!(kept("ada"), None, "it has expired");
        file("bob").write(&token, 60).unwrap();
        assert!(!path.exists(), "what has expired is removed");
    }

    #[test]
    fn nothing_is_kept_where_the_terminal_session_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path()).unwrap();
        let file = LoginFile::of_session(&state, None, "ada");
        file.write(&Secret::new("list_stockade_x".to_owned()), 60).unwrap();
        assert!(file.read().is_none() && !file.remove().unwrap());
        assert!(!folder.path().join(FOLDER).exists());
    }
}
