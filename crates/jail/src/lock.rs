//! Advisory locks on folders and files, which the kernel releases when their holder dies.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// Timeout: a holder makes or removes a few folders. One that takes longer is stuck.
const FOLDER_WAIT: Duration = Duration::from_secs(30);

/// Held until every descriptor that shares it is closed.
#[derive(Debug)]
pub(crate) struct Lock(OwnedFd);

impl Lock {
    /// Locks a folder exclusively, waiting for its holder.
    pub fn folder(path: &Path) -> io::Result<Lock> {
        let lock = Lock(open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?);
        let deadline = Instant::now() + FOLDER_WAIT;
        while !lock.try_exclusive()? {
            if Instant::now() >= deadline {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(lock)
    }

    /// Locks a folder in shared mode; `None` if another process holds it exclusively.
    pub fn share_folder(path: &Path) -> io::Result<Option<Lock>> {
        let lock = Lock(open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?);
        let taken = lock.try_lock(FlockOperation::NonBlockingLockShared)?;
        Ok(taken.then_some(lock))
    }

    /// Turns a shared lock into an exclusive one; `false`, and perhaps no lock at all, if others share it.
    pub fn try_exclusive(&self) -> io::Result<bool> {
        self.try_lock(FlockOperation::NonBlockingLockExclusive)
    }

    fn try_lock(&self, operation: FlockOperation) -> io::Result<bool> {
        match flock(&self.0, operation) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a new file and locks it.
    pub fn new_file(path: &Path) -> io::Result<Lock> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let lock = Lock(open(path, flags, Mode::RUSR | Mode::WUSR)?);
        flock(&lock.0, FlockOperation::NonBlockingLockExclusive)?;
        Ok(lock)
    }

    /// `None` if another process holds it.
    pub fn try_existing(path: &Path) -> io::Result<Option<Lock>> {
        let lock = Lock(open(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?);
        Ok(lock.try_exclusive()?.then_some(lock))
    }

    /// Another descriptor of the same lock, for a child to hold it too.
    pub fn share(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }
}

impl AsFd for Lock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_free_only_when_all_who_share_it_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = Lock::new_file(&path).unwrap();
        let shared = lock.share().unwrap();
        assert!(Lock::try_existing(&path).unwrap().is_none());
        drop(lock);
        assert!(Lock::try_existing(&path).unwrap().is_none());
        drop(shared);
        assert!(Lock::try_existing(&path).unwrap().is_some());
    }

    #[test]
    fn a_folder_is_shared_by_many_or_held_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let one = Lock::share_folder(folder.path()).unwrap().unwrap();
        let two = Lock::share_folder(folder.path()).unwrap().unwrap();
        assert!(!one.try_exclusive().unwrap());
        drop(one);
        assert!(two.try_exclusive().unwrap());
        assert!(Lock::share_folder(folder.path()).unwrap().is_none());
    }
}
