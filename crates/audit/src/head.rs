//! The signed head of a chain: its last line and its first, in a file beside it.
//!
//! The file has two slots that are written in turn, each by one write of its own block: a crash damages one at most, and
//! the other is only one group older. The log is synced before its head is written, so after a crash a log may be ahead
//! of its head, and is behind it only if it was truncated.

use crate::digest::{self, Digest};
use crate::key::{Key, PublicKey};
use crate::line::Link;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

const CONTEXT: &str = "stockade audit head";
const NAME: &str = "head";
const BLOCK: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The chain's own name, made with it.
    pub chain: String,
    /// The last line, by number; 0 before the first.
    pub seq: u64,
    pub hash: String,
    /// The first kept line. Retention dropped those before it, and the log records that.
    pub begins: u64,
    /// The hash of the line before that.
    pub begins_after: String,
    /// The highest number of a chain beside this one, or its own: a folder that is missing below it was removed. 0 in heads
    /// of the first release.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub chains: u64,
    pub signed_at: String,
    /// The public half of the key.
    pub key: String,
    pub signature: String,
}

impl Head {
    pub fn sign(key: &Key, chain: &str, last: Link, begins: Link, chains: u64) -> Head {
        let mut head = Head {
            chain: chain.to_owned(),
            seq: last.seq,
            hash: hex::encode(last.hash),
            begins: begins.seq + 1,
            begins_after: hex::encode(begins.hash),
            chains,
            signed_at: jiff::Timestamp::now().to_string(),
            key: key.public().to_string(),
            signature: String::new(),
        };
        head.signature = key.sign(CONTEXT, head.message().as_bytes());
        head
    }

    /// Whether the signature is that of the key it names.
    pub fn is_genuine(&self) -> bool {
        PublicKey::parse(&self.key)
            .is_ok_and(|key| key.verifies(CONTEXT, self.message().as_bytes(), &self.signature))
    }

    pub fn last(&self) -> Option<Link> {
        Some(Link { seq: self.seq, hash: decode(&self.hash)? })
    }

    /// The line before the first that is kept.
    pub fn before_first(&self) -> Option<Link> {
        Some(Link { seq: self.begins.checked_sub(1)?, hash: decode(&self.begins_after)? })
    }

    fn message(&self) -> String {
        let Head { chain, seq, hash, begins, begins_after, chains, signed_at, .. } = self;
        let chains = if *chains == 0 { String::new() } else { format!("\0{chains}") };
        format!("{chain}\0{seq}\0{hash}\0{begins}\0{begins_after}\0{signed_at}{chains}")
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn decode(text: &str) -> Option<Digest> {
    digest::decode(text.as_bytes())
}

/// What a head file holds.
#[derive(Debug, Default)]
pub struct Heads {
    pub newest: Option<Head>,
    /// Which of the two slots the newest is in.
    slot: usize,
    /// How many slots hold something that is no head.
    pub damaged: usize,
}

/// The newest genuine head of a chain's folder, if there is one.
pub fn read_head(folder: &Path) -> io::Result<Option<Head>> {
    Ok(read(folder)?.newest)
}

pub fn read(folder: &Path) -> io::Result<Heads> {
    let mut heads = Heads::default();
    let file = match File::open(folder.join(NAME)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(heads),
        Err(error) => return Err(error),
    };
    for slot in 0..2 {
        let mut block = [0; BLOCK];
        let length = read_block(&file, slot, &mut block)?;
        let text = block[..length].trim_ascii();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Head>(text).ok().filter(Head::is_genuine) {
            Some(head) if heads.newest.as_ref().is_none_or(|newest| is_newer(&head, newest)) => {
                (heads.newest, heads.slot) = (Some(head), slot);
            }
            Some(_) => {}
            None => heads.damaged += 1,
        }
    }
    Ok(heads)
}

fn is_newer(head: &Head, than: &Head) -> bool {
    (head.seq, head.begins) > (than.seq, than.begins)
}

fn read_block(file: &File, slot: usize, block: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < BLOCK {
        match file.read_at(&mut block[length..], (slot * BLOCK + length) as u64)? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}

/// The file while a log is open.
pub struct HeadFile {
    file: File,
    next: usize,
}

impl HeadFile {
    /// Opens or makes it; both slots have their room on the disk from then on.
    pub fn open(folder: &Path, heads: &Heads) -> io::Result<HeadFile> {
        let path = folder.join(NAME);
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        if file.metadata()?.len() < (2 * BLOCK) as u64 {
            file.write_all_at(&[b' '; 2 * BLOCK], 0)?;
            file.sync_all()?;
        }
        let next = if heads.newest.is_some() { 1 - heads.slot } else { 0 };
        Ok(HeadFile { file, next })
    }

    /// Writes over the older of the two. Not synced: an older head after a power cut is still a true one.
    pub fn write(&mut self, head: &Head) -> io::Result<()> {
        let mut block = serde_json::to_vec(head)?;
        if block.len() >= BLOCK {
            return Err(io::Error::other("a head does not fit its slot"));
        }
        block.resize(BLOCK - 1, b' ');
        block.push(b'\n');
        self.file.write_all_at(&block, (self.next * BLOCK) as u64)?;
        self.next = 1 - self.next;
        Ok(())
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_slot_leaves_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::load_or_create(&folder.path().join("key")).unwrap();
        let mut file = HeadFile::open(folder.path(), &Heads::default()).unwrap();
        for seq in 1..=3 {
            file.write(&Head::sign(&key, "c", Link { seq, hash: [1; 32] }, Link::START, 1)).unwrap();
        }
        let heads = read(folder.path()).unwrap();
        assert_eq!((heads.newest.as_ref().unwrap().seq, heads.damaged, heads.slot), (3, 0, 0));
        file.file.write_all_at(b"x", 10).unwrap();
        let heads = read(folder.path()).unwrap();
        assert_eq!((heads.newest.unwrap().seq, heads.damaged), (2, 1));
    }

    #[test]
    fn a_head_that_was_changed_is_not_genuine() {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::load_or_create(&folder.path().join("key")).unwrap();
        let head = Head::sign(&key, "c", Link { seq: 9, hash: [1; 32] }, Link::START, 2);
        assert!(head.is_genuine());
        assert!(!Head { seq: 8, ..head.clone() }.is_genuine());
        assert!(!Head { begins: 2, ..head.clone() }.is_genuine());
        assert!(!Head { chains: 1, ..head.clone() }.is_genuine());
        assert!(!Head { chains: 0, ..head }.is_genuine());
    }
}
