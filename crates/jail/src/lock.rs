//! Advisory locks on folders and files, which the kernel lets go of when their holder dies.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// A holder clears or makes a few folders. One that takes longer is stuck, and waiting for it an error.
const FOLDER_WAIT: Duration = Duration::from_secs(30);

/// Held until every descriptor that shares it is closed.
#[derive(Debug)]
pub(crate) struct Lock(OwnedFd);

impl Lock {
    /// Waits for whoever holds the folder.
    pub fn folder(path: &Path) -> io::Result<Lock> {
        let lock = Lock(open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?);
        let deadline = Instant::now() + FOLDER_WAIT;
        while !lock.try_alone()? {
            if Instant::now() >= deadline {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(lock)
    }

    /// Takes a folder's lock together with all others who only use it; `None` when someone has it alone.
    pub fn use_folder(path: &Path) -> io::Result<Option<Lock>> {
        let lock = Lock(open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?);
        let taken = lock.try_lock(FlockOperation::NonBlockingLockShared)?;
        Ok(taken.then_some(lock))
    }

    /// Makes a lock that may be shared with others one's own; `false`, and perhaps none, if it is shared.
    pub fn try_alone(&self) -> io::Result<bool> {
        self.try_lock(FlockOperation::NonBlockingLockExclusive)
    }

    fn try_lock(&self, operation: FlockOperation) -> io::Result<bool> {
        match flock(&self.0, operation) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a new file and takes its lock.
    pub fn new_file(path: &Path) -> io::Result<Lock> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let lock = Lock(open(path, flags, Mode::RUSR | Mode::WUSR)?);
        flock(&lock.0, FlockOperation::NonBlockingLockExclusive)?;
        Ok(lock)
    }

    /// `None` when someone else holds it.
    pub fn try_existing(path: &Path) -> io::Result<Option<Lock>> {
        let lock = Lock(open(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?);
        Ok(lock.try_alone()?.then_some(lock))
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
    fn a_folder_is_used_by_many_or_had_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let one = Lock::use_folder(folder.path()).unwrap().unwrap();
        let two = Lock::use_folder(folder.path()).unwrap().unwrap();
        assert!(!one.try_alone().unwrap());
        drop(one);
        assert!(two.try_alone().unwrap());
        assert!(Lock::use_folder(folder.path()).unwrap().is_none());
    }
}
