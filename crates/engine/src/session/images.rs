//! Pictures of a session, on disk and outside the jail: a ring that is gone when it closes, or all of them for the audit.

use crate::error::Fault;
use jiff::Timestamp;
use policy::ImageFormat;
use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// All pictures of one ring together; the oldest go first.
const MOST_BYTES: u64 = 128 * 1024 * 1024;

#[derive(Clone, Debug)]
pub struct Stored {
    pub id: String,
    pub path: PathBuf,
    pub format: ImageFormat,
    pub captured_at: Timestamp,
    pub bytes: u64,
    pub sha256: String,
}

pub struct Images {
    folder: PathBuf,
    /// How many a ring keeps; all are kept without.
    most: Option<usize>,
    kept: Mutex<VecDeque<Stored>>,
}

impl Images {
    /// Keeps at most `most` pictures in `folder`, which is made with the first one.
    pub fn ring(folder: PathBuf, most: usize) -> Images {
        Images { folder, most: Some(most.max(1)), kept: Mutex::default() }
    }

    /// Keeps every picture, after the session too; retention removes them.
    pub fn all_of_them(folder: PathBuf) -> Images {
        Images { folder, most: None, kept: Mutex::default() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn put(&self, bytes: &[u8], format: ImageFormat) -> Result<Stored, Fault> {
        let sha256 = audit::sha256_hex(bytes);
        let mut kept = self.lock();
        // What a page still shows after an action is what it shows before the next one.
        if self.most.is_none()
            && let Some(same) = kept.iter().rev().find(|stored| stored.sha256 == sha256)
        {
            return Ok(same.clone());
        }
        let id = format!("img-{}", crate::random::token(16));
        let path = self.folder.join(format!("{id}.{}", format.extension()));
        write(&self.folder, &path, bytes, self.most.is_none())
            .map_err(|e| Fault::unwritable("cannot keep a screenshot", &e))?;
        let captured_at = Timestamp::now();
        let stored = Stored { id, path, format, captured_at, bytes: bytes.len() as u64, sha256 };
        kept.push_back(stored.clone());
        if let Some(most) = self.most {
            while kept.len() > most
                || (kept.len() > 1 && kept.iter().map(|s| s.bytes).sum::<u64>() > MOST_BYTES)
            {
                if let Some(oldest) = kept.pop_front() {
                    remove(&oldest.path);
                }
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

    /// The session is over: a ring goes with it.
    pub fn close(&self) {
        self.lock().clear();
        if self.most.is_none() {
            return;
        }
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, folder = %self.folder.display(), "cannot remove a session's screenshots");
            }
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Stored>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A picture whose digest is in the log has to be there after a crash.
fn write(folder: &Path, path: &Path, bytes: &[u8], lasting: bool) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let written = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).and_then(
        |mut file| {
            file.write_all(bytes)?;
            if lasting { file.sync_data() } else { Ok(()) }
        },
    );
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
        let images = Images::ring(folder.path().join("s"), 3);
        let stored: Vec<_> = (0..5).map(|n| images.put(&[n], ImageFormat::Png).unwrap()).collect();
        assert_eq!(images.all().len(), 3);
        assert!(images.find(&stored[0].id).is_none());
        assert!(!stored[1].path.exists());
        assert_eq!(std::fs::read(&images.find(&stored[4].id).unwrap().path).unwrap(), [4]);
    }

    #[test]
    fn nothing_of_a_ring_is_left_after_closing_and_all_for_the_audit() {
        let folder = tempfile::tempdir().unwrap();
        let images = Images::ring(folder.path().join("s"), 3);
        images.close();
        images.put(b"x", ImageFormat::Webp).unwrap();
        images.close();
        assert!(!folder.path().join("s").exists());
        assert!(images.all().is_empty());

        let images = Images::all_of_them(folder.path().join("a"));
        let first = images.put(b"x", ImageFormat::Webp).unwrap();
        assert_eq!(images.put(b"x", ImageFormat::Webp).unwrap().path, first.path, "the same is kept once");
        for n in 0..100 {
            images.put(&[n], ImageFormat::Webp).unwrap();
        }
        images.close();
        assert_eq!(std::fs::read_dir(folder.path().join("a")).unwrap().count(), 101);
        assert_eq!(first.sha256, audit::sha256_hex(b"x"));
    }
}
