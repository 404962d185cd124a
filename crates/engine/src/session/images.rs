//! Images of a session on disk: a ring that is removed when the session closes, or all of them for the audit.

use crate::error::Fault;
use jiff::Timestamp;
use policy::ImageFormat;
use redact::Redacted;
use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum total size of a ring. The oldest images are removed first.
const MOST_BYTES: u64 = 128 * 1024 * 1024;

#[derive(Clone, Debug)]
pub struct StoredImage {
    pub id: Redacted,
    pub path: PathBuf,
    /// The path below the state folder, for the audit log.
    pub recorded_path: Redacted,
    pub format: ImageFormat,
    pub captured_at: Timestamp,
    pub bytes: u64,
    pub sha256: Redacted,
}

pub struct Images {
    folder: PathBuf,
    /// Capacity of the ring; `None` keeps all images.
    most: Option<usize>,
    kept: Mutex<VecDeque<StoredImage>>,
}

impl Images {
    /// Keeps at most `most` images in `folder`, which is created with the first one.
    pub fn ring(folder: PathBuf, most: usize) -> Images {
        Images { folder, most: Some(most.max(1)), kept: Mutex::default() }
    }

    /// Keeps every image beyond the session; retention removes them.
    pub fn unlimited(folder: PathBuf) -> Images {
        Images { folder, most: None, kept: Mutex::default() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn put(&self, bytes: &[u8], format: ImageFormat) -> Result<StoredImage, Fault> {
        let sha256 = Redacted::outside_sessions(audit::sha256_hex(bytes));
        let mut kept = self.lock();
        // The page after one action is often identical to the page before the next one; store it once.
        if self.most.is_none()
            && let Some(same) = kept.iter().rev().find(|stored| stored.sha256 == sha256)
        {
            return Ok(same.clone());
        }
        let id = Redacted::outside_sessions(format!("img-{}", crate::random::token(16)));
        let file = format!("{id}.{}", format.extension());
        let path = self.folder.join(&file);
        let folders: Vec<_> = self.folder.iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
        let below = folders.iter().rev().map(AsRef::as_ref).chain([file.as_str()]).collect::<Vec<&str>>();
        let recorded_path = Redacted::outside_sessions(below.join("/"));
        write(&self.folder, &path, bytes, self.most.is_none())
            .map_err(|e| Fault::unwritable("cannot keep a screenshot", &e))?;
        let captured_at = Timestamp::now();
        let stored =
            StoredImage { id, path, recorded_path, format, captured_at, bytes: bytes.len() as u64, sha256 };
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

    pub fn find(&self, id: &str) -> Option<StoredImage> {
        self.lock().iter().find(|stored| stored.id == id).cloned()
    }

    pub fn all(&self) -> Vec<StoredImage> {
        self.lock().iter().cloned().collect()
    }

    /// Removes a ring at the end of the session.
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

    fn lock(&self) -> MutexGuard<'_, VecDeque<StoredImage>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes an image. A lasting one is synced, because the log contains its digest.
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
    fn a_ring_keeps_the_newest_images() {
        let folder = tempfile::tempdir().unwrap();
        let images = Images::ring(folder.path().join("s"), 3);
        let stored: Vec<_> = (0..5).map(|n| images.put(&[n], ImageFormat::Png).unwrap()).collect();
        assert_eq!(images.all().len(), 3);
        assert!(images.find(&stored[0].id).is_none());
        assert!(!stored[1].path.exists());
        assert_eq!(std::fs::read(&images.find(&stored[4].id).unwrap().path).unwrap(), [4]);
    }

    #[test]
    fn closing_removes_a_ring_and_keeps_audit_images() {
        let folder = tempfile::tempdir().unwrap();
        let images = Images::ring(folder.path().join("s"), 3);
        images.close();
        images.put(b"x", ImageFormat::Webp).unwrap();
        images.close();
        assert!(!folder.path().join("s").exists());
        assert!(images.all().is_empty());

        let images = Images::unlimited(folder.path().join("a"));
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
