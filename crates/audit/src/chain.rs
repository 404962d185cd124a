//! Chains on disk: `<audit>/chain-1/000000000001.jsonl` and so on, one chain a control plane that runs at a time.
//!
//! A chain outlives the process that writes it: the next one goes on with the first chain that nobody holds.

use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Control planes that can write at once from one state folder.
const MOST_CHAINS: usize = 64;
const PREFIX: &str = "chain-";

/// A chain's folder, held for as long as this lives; the kernel lets go of it however the process ends.
pub struct Held {
    pub folder: PathBuf,
    _lock: File,
}

/// Takes the first chain that nobody holds, making its folder if there is none.
pub fn take(audit: &Path) -> io::Result<Held> {
    for number in 1..=MOST_CHAINS {
        let folder = audit.join(format!("{PREFIX}{number}"));
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join("lock"))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Held { folder, _lock: lock }),
            Err(rustix::io::Errno::WOULDBLOCK) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(io::Error::other(format!("{MOST_CHAINS} control planes write here already")))
}

/// The folders of all chains, in the order of their numbers.
pub fn chain_folders(audit: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found: Vec<(usize, PathBuf)> = Vec::new();
    let entries = match std::fs::read_dir(audit) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let number = entry.file_name().to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse().ok());
        if let Some(number) = number {
            found.push((number, entry.path()));
        }
    }
    found.sort_by_key(|(number, _)| *number);
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// One file of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The number of its first line, which is also its name.
    pub first: u64,
    pub path: PathBuf,
    pub bytes: u64,
}

impl Segment {
    pub fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

pub fn segment_path(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("{first:012}.jsonl"))
}

/// The segments of a chain, oldest first.
pub fn segments(folder: &Path) -> io::Result<Vec<Segment>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let first = entry.file_name().to_str().and_then(|name| name.strip_suffix(".jsonl")?.parse().ok());
        if let Some(first) = first {
            found.push(Segment { first, path: entry.path(), bytes: entry.metadata()?.len() });
        }
    }
    found.sort_by_key(|segment| segment.first);
    Ok(found)
}

/// Makes new or removed names in a folder durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_writer_has_a_chain_and_the_next_goes_on_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = take(folder.path()).unwrap();
        let second = take(folder.path()).unwrap();
        assert!(first.folder.ends_with("chain-1") && second.folder.ends_with("chain-2"));
        drop(first);
        assert!(take(folder.path()).unwrap().folder.ends_with("chain-1"));
        assert_eq!(chain_folders(folder.path()).unwrap().len(), 2);
        assert!(chain_folders(&folder.path().join("none")).unwrap().is_empty());
    }
}
