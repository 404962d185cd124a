//! Chains on disk: `<audit>/chain-1/000000000001.jsonl` and so on, one chain for each running control plane.
//!
//! A chain outlives the process that writes it: the next process continues the first chain that is not locked.

use crate::line::Link;
use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The number of control planes that can share one state folder.
const MAX_CHAINS: usize = 64;
const PREFIX: &str = "chain-";

/// A locked chain. The kernel releases the lock however the process ends.
pub struct ChainLock {
    pub folder: PathBuf,
    _lock: File,
}

/// Locks the first chain that is not locked, creating its folder if needed.
pub fn lock_first_free(audit: &Path) -> io::Result<ChainLock> {
    for number in 1..=MAX_CHAINS {
        let folder = audit.join(format!("{PREFIX}{number}"));
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join("lock"))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(ChainLock { folder, _lock: lock }),
            Err(rustix::io::Errno::WOULDBLOCK) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(io::Error::other(format!("{MAX_CHAINS} control planes write here already")))
}

/// The folders of all chains, in the order of their numbers.
pub fn chain_folders(audit: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(numbered_folders(audit)?.into_iter().map(|(_, path)| path).collect())
}

/// The highest number of the chains beside `folder`, its own included; 0 if there are none.
pub fn highest_number(folder: &Path) -> io::Result<u64> {
    let beside = folder.parent().map_or_else(|| Ok(Vec::new()), numbered_folders)?;
    Ok(beside.last().map_or(0, |(number, _)| *number as u64))
}

/// The names of chains that the signed heads of others count and that are not here: they were removed.
pub fn missing_chains(audit: &Path) -> io::Result<Vec<String>> {
    let found = numbered_folders(audit)?;
    let mut counted = found.last().map_or(0, |(number, _)| *number as u64);
    for (_, folder) in &found {
        if let Some(head) = crate::head::read_head(folder)? {
            counted = counted.max(head.chains);
        }
    }
    let is_missing = |number: &u64| !found.iter().any(|(known, _)| *known as u64 == *number);
    Ok((1..=counted.min(MAX_CHAINS as u64))
        .filter(is_missing)
        .map(|number| format!("{PREFIX}{number}"))
        .collect())
}

fn numbered_folders(audit: &Path) -> io::Result<Vec<(usize, PathBuf)>> {
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
    Ok(found)
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

/// The end of a chain.
pub struct ChainPosition {
    pub chain: String,
    pub last: Link,
    pub begins: Link,
    /// The segment to continue, and its length in whole lines; `None` for a new chain.
    pub segment: Option<(u64, u64)>,
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
    fn each_writer_has_its_own_chain_and_the_next_continues_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = lock_first_free(folder.path()).unwrap();
        let second = lock_first_free(folder.path()).unwrap();
        assert!(first.folder.ends_with("chain-1") && second.folder.ends_with("chain-2"));
        drop(first);
        assert!(lock_first_free(folder.path()).unwrap().folder.ends_with("chain-1"));
        assert_eq!(chain_folders(folder.path()).unwrap().len(), 2);
        assert!(chain_folders(&folder.path().join("none")).unwrap().is_empty());
    }
}
