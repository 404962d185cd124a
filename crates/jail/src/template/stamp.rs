//! The record that a template was verified, so that the next start compares file attributes instead of 300 MB of bytes.
//!
//! The kernel sets a new change time whenever a file changes. Whoever could write the record could write the template:
//! both are in the store, which belongs to us or to root.

use super::{Template, TemplateError};
use crate::folder;
use sha2::{Digest, Sha256};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A change right after the files were read may have the same change time as one before. So a tree that was changed
/// just now is not recorded as verified.
const SETTLED: Duration = Duration::from_secs(2);

impl Template {
    /// Like [`verify`](Template::verify), and skipped if no file was changed since it last succeeded.
    pub fn verify_if_changed(&self) -> Result<(), TemplateError> {
        let failed = TemplateError::file("looking at", &self.dir);
        let attributes = Attributes::of(&self.dir).map_err(failed)?;
        if self.is_recorded(&attributes) {
            return Ok(());
        }
        let began = SystemTime::now();
        self.verify()?;
        let newest = SystemTime::UNIX_EPOCH + Duration::from_secs(attributes.newest);
        if began.duration_since(newest).is_ok_and(|age| age >= SETTLED)
            && let Err(error) = self.record(&attributes)
        {
            // The store belongs to root: the next start reads every byte again.
            tracing::debug!(%error, "cannot record that the template was verified");
        }
        Ok(())
    }

    fn stamp(&self) -> PathBuf {
        self.dir.with_file_name(format!(".{}.verified", self.id))
    }

    fn is_recorded(&self, attributes: &Attributes) -> bool {
        let path = self.stamp();
        let is_safe = fs::symlink_metadata(&path).is_ok_and(|metadata| {
            metadata.is_file() && folder::is_own_or_root(metadata.uid()) && metadata.mode() & 0o022 == 0
        });
        is_safe && fs::read_to_string(&path).is_ok_and(|recorded| recorded == attributes.digest)
    }

    fn record(&self, attributes: &Attributes) -> io::Result<()> {
        let path = self.stamp();
        let new = path.with_extension(format!("verified.{}", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&new)
            .and_then(|mut file| file.write_all(attributes.digest.as_bytes()))
            .and_then(|()| fs::rename(&new, &path));
        if written.is_err() {
            // Otherwise the remaining file would block the next process with the same id.
            drop(fs::remove_file(&new));
        }
        written
    }

    /// Removes the record of a template that is removed.
    pub(super) fn forget_verified(&self) {
        drop(fs::remove_file(self.stamp()));
    }
}

/// Attributes of every file of a template: they change whenever a file does.
struct Attributes {
    digest: String,
    /// The latest change, in seconds of the system's clock.
    newest: u64,
}

impl Attributes {
    fn of(dir: &Path) -> io::Result<Attributes> {
        let (mut lines, mut newest, mut waiting) = (Vec::new(), 0, vec![dir.to_owned()]);
        while let Some(path) = waiting.pop() {
            let it = fs::symlink_metadata(&path)?;
            if it.is_dir() {
                for entry in fs::read_dir(&path)? {
                    waiting.push(entry?.path());
                }
            }
            newest = newest.max(u64::try_from(it.ctime()).unwrap_or_default());
            let numbers = [it.dev(), it.ino(), it.mode().into(), it.uid().into(), it.gid().into(), it.size()];
            let times = [it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec()];
            lines.push(format!("{path:?} {numbers:?} {times:?}\n"));
        }
        lines.sort_unstable();
        Ok(Attributes { digest: hex::encode(Sha256::digest(lines.concat())), newest })
    }
}
