//! Pictures of a session: a ring on disk, outside the jail, gone when the session closes.

use crate::error::Fault;
use jiff::Timestamp;
use policy::ImageFormat;
use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// All pictures of one session together; the oldest go first.
const MOST_BYTES: u64 = 128 * 1024 * 1024;

#[derive(Clone, Debug)]
pub struct Stored {
    pub id: String,
    pub path: PathBuf,
    pub format: ImageFormat,
    pub captured_at: Timestamp,
    pub bytes: u64,
}

pub struct Images {
    folder: PathBuf,
    most: usize,
    ring: Mutex<VecDeque<Stored>>,
}

impl Images {
    /// Keeps at most `most` pictures in `folder`, which is made with the first one.
    pub fn new(folder: PathBuf, most: usize) -> Images {
        Images { folder, most: most.max(1), ring: Mutex::default() }
    }

    pub fn put(&self, bytes: &[u8], format: ImageFormat) -> Result<Stored, Fault> {
        let id = format!("img-{}", crate::random::token(16));
        let path = self.folder.join(format!("{id}.{}", format.extension()));
        write(&self.folder, &path, bytes).map_err(|e| Fault::unwritable("cannot keep a screenshot", &e))?;
        let stored = Stored { id, path, format, captured_at: Timestamp::now(), bytes: bytes.len() as u64 };
        let mut ring = self.lock();
        ring.push_back(stored.clone());
        while ring.len() > self.most
            || (ring.len() > 1 && ring.iter().map(|s| s.bytes).sum::<u64>() > MOST_BYTES)
        {
            if let Some(oldest) = ring.pop_front() {
                remove(&oldest.path);
            }
        }
        Ok(stored)
    }

    pub fn find(&self, id: &str) -> Option<Stored> {
        self.lock().iter().find(|stored| stored.id == id).cloned()
    }

    pub fn all(&self) -> Vec<Stored> {
        self.lock().iter().cloned().collect()
    }

    pub fn clear(&self) {
        self.lock().clear();
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, folder = %self.folder.display(), "cannot remove a session's screenshots");
            }
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Stored>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(folder: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(bytes));
    if written.is_err() {
        remove(path);
    }
    written
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        tracing::warn!(%error, path = %path.display(), "cannot remove a screenshot");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_keeps_the_newest_and_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let images = Images::new(folder.path().join("s"), 3);
        let stored: Vec<_> = (0..5).map(|n| images.put(&[n], ImageFormat::Png).unwrap()).collect();
        assert_eq!(images.all().len(), 3);
        assert!(images.find(&stored[0].id).is_none());
        assert!(!stored[1].path.exists());
        assert_eq!(std::fs::read(&images.find(&stored[4].id).unwrap().path).unwrap(), [4]);
    }

    #[test]
    fn nothing_is_left_after_clearing() {
        let folder = tempfile::tempdir().unwrap();
        let images = Images::new(folder.path().join("s"), 3);
        images.clear();
        images.put(b"x", ImageFormat::Webp).unwrap();
        images.clear();
        assert!(!folder.path().join("s").exists());
        assert!(images.all().is_empty());
    }
}
