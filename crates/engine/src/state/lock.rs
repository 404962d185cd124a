//! The lock of a state folder, held by its control plane, and the control socket.

use crate::state::{State, StateError};
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::net::UnixListener;

/// Held while a control plane serves. The kernel releases it when the process ends. The file stays, because removing it
/// would let two processes lock two files of the same name.
#[derive(Debug)]
pub struct ServeLock {
    state: State,
    _file: File,
}

const FILE: &str = "serve.lock";

impl ServeLock {
    pub(super) fn take(state: State) -> Result<ServeLock, StateError> {
        let folder = state.folder().to_owned();
        let unusable =
            |source: io::Error| StateError::Unusable { doing: "cannot lock", folder: folder.clone(), source };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&*state.handle, FILE, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| unusable(errno.into()))?;
        let mut file = File::from(file);
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(StateError::Locked { folder, pid: holder(&mut file) });
            }
            Err(errno) => return Err(unusable(errno.into())),
        }
        write_pid(&mut file).map_err(unusable)?;
        Ok(ServeLock { state, _file: file })
    }

    /// Listens where [`State::join`] connects. Only the lock holder does this, so an existing socket file is stale.
    pub fn listen(&self) -> Result<UnixListener, StateError> {
        let failed = |source| StateError::Unusable {
            doing: "cannot listen in",
            folder: self.state.folder().to_owned(),
            source,
        };
        let path = self.state.control_socket();
        match std::fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        UnixListener::bind(&path).map_err(failed)
    }
}

impl Drop for ServeLock {
    fn drop(&mut self) {
        // A leftover file is harmless: nobody listens on it, and the next holder removes it.
        if let Err(error) = std::fs::remove_file(self.state.control_socket())
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::debug!(%error, "the control socket's file stays behind");
        }
    }
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// The process id in the file, for messages only; the lock itself is authoritative.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
