//! The host's side of a jail's folder and its two sockets.

use crate::jail_user::random_user;
use crate::{JailError, JailId, PreparedJail};
use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown, lchown};
use std::os::unix::net::UnixListener;
use std::path::Path;

/// Makes a jail's folder, with both sockets listening, that only the jail's user and the control plane can enter.
pub(super) fn prepare(instance_dir: &Path, jail: &JailId) -> Result<PreparedJail, JailError> {
    let dir = instance_dir.join(jail.as_str());
    match DirBuilder::new().mode(0o700).create(&dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(JailError::JailExists { id: jail.clone() });
        }
        other => other.map_err(JailError::file("making", &dir))?,
    }
    fill(jail, &dir).inspect_err(|_| {
        // The caller gets the first error; destroying the jail removes the rest.
        if let Err(error) = fs::remove_dir_all(&dir) {
            tracing::warn!(%error, %jail, "cannot remove the folder of a jail that was not prepared");
        }
    })
}

fn fill(jail: &JailId, dir: &Path) -> Result<PreparedJail, JailError> {
    let user = if geteuid().is_root() { Some(random_user()?) } else { None };
    let cdp = listen(dir, "cdp.sock", user)?;
    let egress = listen(dir, "egress.sock", user)?;
    // Last, because from here on the jail's user can enter.
    if user.is_some() {
        chown(dir, user, user).map_err(JailError::file("giving away", dir))?;
    }
    Ok(PreparedJail { id: jail.clone(), cdp, egress })
}

fn listen(dir: &Path, name: &str, user: Option<u32>) -> Result<UnixListener, JailError> {
    let path = dir.join(name);
    let fail = |source| JailError::File { what: "listening on", path: path.clone(), source };
    // Through a descriptor: the path of a Unix socket has at most 107 bytes, and folders may be deep.
    let folder = rustix::fs::open(dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| fail(error.into()))?;
    let short = format!("/proc/self/fd/{}/{name}", folder.as_raw_fd());
    let listener = UnixListener::bind(short).map_err(fail)?;
    listener.set_nonblocking(true).map_err(fail)?;
    fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(fail)?;
    if user.is_some() {
        lchown(&path, user, user).map_err(fail)?;
    }
    Ok(listener)
}
