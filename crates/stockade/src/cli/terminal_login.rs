//! The login that `stockade approvals` keeps for one terminal session: a file with a token that lists questions and does
//! nothing else. The server checks the terminal session and the time; this file only finds the token again.

use engine::error::Fault;
use engine::state::State;
use error_code::ErrorCode;
use jiff::Timestamp;
use redact::Secret;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const FOLDER: &str = "terminal-logins";
/// Longer than any file that this program wrote.
const MAX_BYTES: u64 = 512;

/// The kept token of this terminal session, if there is one that has not expired.
pub fn read(state: &State, operator: &str) -> Option<Secret> {
    let path = path(state, operator)?;
    if fs::metadata(&path).ok()?.len() > MAX_BYTES {
        return None;
    }
    let text = zeroize::Zeroizing::new(fs::read_to_string(&path).ok()?);
    let (expires, token) = text.trim_end().split_once('\n')?;
    let is_fresh = expires.parse::<i64>().is_ok_and(|at| at > Timestamp::now().as_second());
    is_fresh.then(|| Secret::new(token.to_owned()))
}

/// Keeps a token for this many seconds. Files of other sessions that have expired are removed on the way.
pub fn write(state: &State, operator: &str, token: &Secret, seconds: i64) -> Result<(), Fault> {
    let Some(path) = path(state, operator) else { return Ok(()) };
    let folder = state.folder().join(FOLDER);
    let failed = |error: io::Error| Fault::unwritable(folder.display(), &error);
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => remove_expired(&folder),
    }
    // A new file, so that no mode and no open handle of an older one applies.
    remove_file(&path).map_err(failed)?;
    let mut file =
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
    let expires = Timestamp::now().as_second() + seconds;
    writeln!(file, "{expires}\n{}", token.expose_secret()).map_err(failed)
}

/// Removes the kept token of this terminal session. Returns whether there was one.
pub fn remove(state: &State, operator: &str) -> Result<bool, Fault> {
    let Some(path) = path(state, operator) else { return Ok(false) };
    remove_file(&path).map_err(|error| Fault::io(ErrorCode::Internal, "cannot remove the kept login", &error))
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

/// By terminal session (`getsid`) and operator. An operator's name is a plain file name.
fn path(state: &State, operator: &str) -> Option<PathBuf> {
    let session = rustix::process::getsid(None).ok()?.as_raw_nonzero();
    Some(state.folder().join(FOLDER).join(format!("{session}-{operator}")))
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
        let kept = |operator: &str| read(&state, operator).map(|token| token.expose_secret().to_owned());
        assert_eq!(kept("ada"), None);
        write(&state, "ada", &token, 60).unwrap();
        write(&state, "ada", &token, 60).unwrap();
        assert_eq!((kept("ada").as_deref(), kept("bob")), (Some("list_stockade_x"), None));
        let file = path(&state, "ada").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(remove(&state, "ada").unwrap() && !remove(&state, "ada").unwrap());
        write(&state, "ada", &token, 0).unwrap();
        assert_eq!(kept("ada"), None, "it has expired");
        write(&state, "bob", &token, 60).unwrap();
        assert!(!file.exists(), "what has expired is removed");
    }
}
