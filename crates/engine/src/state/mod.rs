//! The state folder: its location, its permissions and its lock.

mod error;
mod folders;
mod lock;

#[cfg(test)]
mod tests;

pub use error::StateError;
pub use folders::{bridge_program, runtime_dir, state_dir, templates_dir};
pub use lock::ServeLock;

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open state folder: mode 0700, and owned by the user who runs this.
#[derive(Clone, Debug)]
pub struct State {
    folder: PathBuf,
    /// Handle of the checked folder, for steps that must not follow a swapped path.
    handle: Arc<OwnedFd>,
}

impl State {
    /// Opens or creates the folder and restricts its mode to 0700. Refuses a folder of another user, who could replace
    /// its contents.
    pub fn open(folder: &Path) -> Result<State, StateError> {
        let unusable =
            |doing| move |source| StateError::Unusable { doing, folder: folder.to_owned(), source };
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(unusable("cannot make"))?;
        let folder = std::path::absolute(folder).map_err(unusable("cannot find"))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&folder, flags, Mode::empty())
            .map_err(|errno| unusable("cannot open")(io::Error::from(errno)))?;
        let open = File::from(handle);
        let metadata = open.metadata().map_err(unusable("cannot look at"))?;
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(StateError::NotOurs { folder, owner: metadata.uid() });
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            open.set_permissions(std::fs::Permissions::from_mode(0o700)).map_err(unusable("cannot close"))?;
        }
        Ok(State { folder, handle: Arc::new(open.into()) })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the audit log.
    pub fn audit(&self) -> PathBuf {
        self.folder().join("audit")
    }

    pub fn database(&self) -> PathBuf {
        self.folder.join("stockade.db")
    }

    /// Credentials and grants, and the key that seals them.
    pub fn vault_database(&self) -> PathBuf {
        self.folder.join("vault.db")
    }

    pub fn master_key(&self) -> PathBuf {
        self.folder.join("master.key")
    }

    /// Locks the folder for one control plane until the lock is dropped.
    pub fn lock(&self) -> Result<ServeLock, StateError> {
        ServeLock::take(self.clone())
    }

    /// Connects to the control plane that serves from this folder; `None` if there is none.
    pub fn join(&self) -> Result<Option<UnixStream>, StateError> {
        match UnixStream::connect(self.control_socket()) {
            Ok(stream) => Ok(Some(stream)),
            // No file, or one that a killed control plane left behind.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) =>
            {
                Ok(None)
            }
            Err(source) => Err(StateError::Unusable {
                doing: "cannot reach the control plane of",
                folder: self.folder.clone(),
                source,
            }),
        }
    }

    /// `control.sock` in the state folder, by way of our open handle: the address of a Unix socket has at
    /// most 107 bytes, and a state folder can be deeper than that. Good for this process only.
    fn control_socket(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/control.sock", self.handle.as_raw_fd()))
    }
}
