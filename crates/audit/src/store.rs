//! The open chain: appends to the last segment, with disk space reserved for outcomes that are still to come.

use crate::chain::{self, ChainLock, ChainPosition, Segment, segment_path, sync_folder};
use crate::head::{Head, HeadFile};
use crate::key::Key;
use crate::line::{Link, parse, seal};
use crate::recover;
use crate::verify::LineReader;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Space is set aside in steps of this: small, so that a full disk is met by the next intents and not by a later one.
const STEP: u64 = 8 * 1024;
/// Space that is kept in addition to that for outcomes: for events that a page causes, and for a full disk.
const SLACK: u64 = 64 * 1024;

pub struct Store {
    pub chain: String,
    pub key: Key,
    pub last: Link,
    /// The line before the first that is kept.
    begins: Link,
    held: ChainLock,
    head: HeadFile,
    file: File,
    first: u64,
    length: u64,
    /// Up to here the last segment has its blocks, written or not.
    set_aside: u64,
    /// The file system cannot set room aside; what does not fit is then held in memory by the writer.
    cannot_set_aside: bool,
    segment_bytes: u64,
    most_bytes: u64,
    older_bytes: u64,
}

impl Store {
    pub fn open(
        held: ChainLock,
        head: HeadFile,
        key: Key,
        position: ChainPosition,
        (segment_bytes, most_bytes): (u64, u64),
    ) -> io::Result<Store> {
        let ChainPosition { chain, last, begins, segment } = position;
        let (first, length) = segment.unwrap_or((last.seq + 1, 0));
        let file = open_segment(&held.folder, first)?;
        // Half a line, and room that was set aside and not used.
        recover::keep_torn(&held.folder, &segment_path(&held.folder, first), length)?;
        file.set_len(length)?;
        file.sync_all()?;
        sync_folder(&held.folder)?;
        let mut store = Store {
            chain,
            key,
            last,
            begins,
            held,
            head,
            file,
            first,
            length,
            set_aside: length,
            cannot_set_aside: false,
            segment_bytes,
            most_bytes,
            older_bytes: 0,
        };
        store.finish_trimming()?;
        store.older_bytes = store.older()?.iter().map(|segment| segment.bytes).sum();
        Ok(store)
    }

    /// Reserves space for `bytes` and for `reserve` after them, whatever else fills the disk.
    pub fn make_room(&mut self, bytes: u64, reserve: u64) -> io::Result<()> {
        let needed = self.length + bytes + reserve + SLACK;
        if self.cannot_set_aside || needed <= self.set_aside {
            return Ok(());
        }
        let generous = needed.next_multiple_of(STEP);
        let tried = self.set_aside_up_to(generous).or_else(|_| self.set_aside_up_to(needed));
        match tried {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                self.cannot_set_aside = true;
                Ok(())
            }
            other => other.map_err(io::Error::from),
        }
    }

    /// Whether lines of this size fit what was set aside already.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.cannot_set_aside || self.length + bytes <= self.set_aside
    }

    fn set_aside_up_to(&mut self, end: u64) -> Result<(), Errno> {
        let from = self.set_aside.max(self.length);
        fallocate(&self.file, FallocateFlags::KEEP_SIZE, from, end - from)?;
        self.set_aside = end;
        Ok(())
    }

    /// Writes the events as one group and syncs it: all of them are durable, or none is there.
    pub fn write(&mut self, events: &[&str]) -> io::Result<()> {
        let mut text = String::new();
        let mut last = self.last;
        for (at, event) in events.iter().enumerate() {
            let sign = (at + 1 == events.len()).then_some((&self.key, self.chain.as_str()));
            let (line, link) = seal(last, event, sign);
            text.push_str(&line);
            text.push('\n');
            last = link;
        }
        if let Err(failed) = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data()) {
            return Err(self.take_back(failed));
        }
        self.length += text.len() as u64;
        self.last = last;
        Ok(())
    }

    /// Removes a partial line, which would corrupt the next one.
    fn take_back(&mut self, failed: io::Error) -> io::Error {
        self.set_aside = self.length;
        match self.file.set_len(self.length) {
            Ok(()) => failed,
            Err(cut) => io::Error::new(failed.kind(), format!("{failed}; taking the half line back: {cut}")),
        }
    }

    pub fn sign_head(&mut self) -> io::Result<Head> {
        let chains = chain::highest_number(&self.held.folder)?;
        let head = Head::sign(&self.key, &self.chain, self.last, self.begins, chains);
        self.head.write(&head)?;
        Ok(head)
    }

    /// Starts a new segment if this one is long enough, with `reserve` set aside in it first. If that fails, this one
    /// grows on.
    pub fn rotate_if_long(&mut self, reserve: u64) -> io::Result<bool> {
        if self.length < self.segment_bytes {
            return Ok(false);
        }
        let first = self.last.seq + 1;
        let next = open_segment(&self.held.folder, first)?;
        let set_aside = if self.cannot_set_aside { 0 } else { reserve + SLACK };
        if set_aside > 0
            && let Err(errno) = fallocate(&next, FallocateFlags::KEEP_SIZE, 0, set_aside)
        {
            std::fs::remove_file(segment_path(&self.held.folder, first))?;
            return Err(errno.into());
        }
        sync_folder(&self.held.folder)?;
        self.file.set_len(self.length)?;
        self.older_bytes += self.length;
        (self.file, self.first, self.length, self.set_aside) = (next, first, 0, set_aside);
        Ok(true)
    }

    fn older(&self) -> io::Result<Vec<Segment>> {
        let mut all = chain::segments(&self.held.folder)?;
        all.retain(|segment| segment.first < self.first);
        Ok(all)
    }

    /// The segments to drop so that the log fits its size; never the one that is written.
    pub fn over_size(&self) -> io::Result<Vec<Segment>> {
        let mut excess = (self.older_bytes + self.length).saturating_sub(self.most_bytes);
        let mut dropped = Vec::new();
        if excess > 0 {
            for segment in self.older()? {
                if excess == 0 {
                    break;
                }
                excess = excess.saturating_sub(segment.bytes);
                dropped.push(segment);
            }
        }
        Ok(dropped)
    }

    /// The whole segments that begin before `first` and are not the one that is written.
    pub fn before(&self, first: u64) -> io::Result<Vec<Segment>> {
        Ok(self.older()?.into_iter().take_while(|segment| segment.first < first).collect())
    }

    /// Drops everything up to the end of `dropped`, after the log has recorded it: the head first, then the files.
    pub fn drop_segments(&mut self, dropped: &[Segment]) -> io::Result<Option<Head>> {
        let Some(newest) = dropped.last() else { return Ok(None) };
        let next = chain::segments(&self.held.folder)?.into_iter().find(|it| it.first > newest.first);
        let next = next.ok_or_else(|| io::Error::other("the last segment cannot be dropped"))?;
        self.begins = before_first_line(&next)?.unwrap_or(self.last);
        let head = self.sign_head()?;
        self.head.sync()?;
        self.finish_trimming()?;
        self.older_bytes = self.older()?.iter().map(|segment| segment.bytes).sum();
        Ok(Some(head))
    }

    /// Removes segments whose last line is before the beginning, oldest first.
    fn finish_trimming(&mut self) -> io::Result<()> {
        let all = chain::segments(&self.held.folder)?;
        for pair in all.windows(2) {
            if pair[1].first > self.begins.seq + 1 {
                break;
            }
            std::fs::remove_file(&pair[0].path)?;
        }
        sync_folder(&self.held.folder)
    }

    /// Forgets an incomplete line after it was recorded.
    pub fn forget_torn(&self) -> io::Result<()> {
        recover::forget_torn(&self.held.folder)
    }

    pub fn close(&mut self) -> io::Result<()> {
        self.file.set_len(self.length)?;
        self.head.sync()
    }
}

fn open_segment(folder: &Path, first: u64) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(segment_path(folder, first))
}

/// What the first line of a segment says it follows; `None` while it has none.
fn before_first_line(segment: &Segment) -> io::Result<Option<Link>> {
    let mut lines = LineReader::new(BufReader::new(File::open(&segment.path)?));
    let Some(first) = lines.read()? else { return Ok(None) };
    let line = parse(&first.bytes).map_err(|_| io::Error::other("a segment does not begin with a line"))?;
    Ok(Some(Link { seq: line.seq - 1, hash: line.prev }))
}
