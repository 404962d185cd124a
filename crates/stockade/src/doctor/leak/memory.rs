//! Searches the memory and the writable files of a jail's processes for canaries.
//!
//! Redaction cannot help here: what a compromised browser can read is what its processes hold. Only the whole value counts,
//! as it is, in UTF-16, in hex, percent-encoded and in base64, because memory is full of chance.

use super::program::incomplete_run;
use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use engine::error::Fault;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use testkit::leak_site::canary::{Canaries, Kind};

/// What is read of a mapping at a time. Pieces overlap by the longest pattern.
const PIECE: usize = 4 << 20;
/// Folders of a jail that can be written to.
const WRITABLE: [&str; 3] = ["tmp", "dev/shm", "run"];
/// A larger file is searched in its first part.
const MOST_OF_A_FILE: u64 = 64 << 20;

/// Kinds that the site itself puts into its pages: a browser that shows the page holds them. The seed is among them because
/// the site was given it to show; it is never sent anywhere, so the proxy does not know it.
const SHOWN_BY_SITE: [Kind; 3] = [Kind::StoredByPage, Kind::TokenInReply, Kind::TotpSeed];

pub struct MemorySearcher {
    patterns: AhoCorasick,
    kinds: Vec<(Kind, &'static str)>,
    longest: usize,
}

/// A canary in the memory or a file of a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryMatch {
    /// The program's name and what was searched: `chrome-headless memory`, `/tmp/profile/…`.
    pub place: String,
    pub kind: Kind,
    pub writing: &'static str,
}

#[derive(Debug, Default)]
pub struct MemorySearch {
    pub processes: usize,
    pub files: usize,
    pub bytes: u64,
    pub found: BTreeSet<MemoryMatch>,
}

impl MemorySearcher {
    pub fn new(canaries: &Canaries) -> Result<MemorySearcher, Fault> {
        let (mut patterns, mut kinds) = (Vec::new(), Vec::new());
        for canary in canaries.all().iter().filter(|canary| !SHOWN_BY_SITE.contains(&canary.kind)) {
            for (writing, bytes) in writings(&canary.value) {
                patterns.push(bytes);
                kinds.push((canary.kind, writing));
            }
        }
        let longest = patterns.iter().map(Vec::len).max().unwrap_or_default();
        let patterns = AhoCorasick::new(&patterns).map_err(|error| incomplete_run(error.to_string()))?;
        Ok(MemorySearcher { patterns, kinds, longest })
    }

    /// Searches every process in a jail below a server. Fails if there is none, or if one cannot be read: then nothing
    /// is proven.
    pub fn search_jails_of(&self, server: u32) -> Result<MemorySearch, Fault> {
        let jailed = jailed_descendants(server)?;
        if jailed.is_empty() {
            return Err(incomplete_run("the server has no process in a jail"));
        }
        let mut search = MemorySearch::default();
        for process in &jailed {
            self.search_process(*process, &mut search)?;
        }
        // All processes of a jail share its files; its first process has the whole view of them.
        for process in &jailed {
            for folder in WRITABLE {
                let root = PathBuf::from(format!("/proc/{process}/root"));
                self.search_folder(&root, &root.join(folder), &mut search);
            }
        }
        Ok(search)
    }

    fn search_process(&self, process: u32, search: &mut MemorySearch) -> Result<(), Fault> {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let name = std::fs::read_to_string(folder.join("comm")).unwrap_or_default();
        let place = format!("{} memory", name.trim());
        // A process that has just ended holds nothing.
        let Ok(maps) = std::fs::read_to_string(folder.join("maps")) else { return Ok(()) };
        let memory = match File::open(folder.join("mem")) {
            Ok(memory) => memory,
            Err(_) if !folder.exists() => return Ok(()),
            Err(error) => {
                return Err(incomplete_run(format!("cannot read the memory of {}: {error}", name.trim())));
            }
        };
        search.processes += 1;
        for (start, end) in maps.lines().filter_map(readable_range) {
            self.search_range(&memory, start, end, &place, search);
        }
        Ok(())
    }

    fn search_range(&self, memory: &File, start: u64, end: u64, place: &str, search: &mut MemorySearch) {
        let mut buffer = vec![0; PIECE];
        let mut at = start;
        while at < end {
            let length = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
            // Guard pages and device memory cannot be read, and hold nothing of a page.
            let Ok(read) = memory.read_at(&mut buffer[..length], at) else { break };
            if read == 0 {
                break;
            }
            self.search_bytes(&buffer[..read], place, search);
            let step = if at + read as u64 >= end { read } else { read.saturating_sub(self.longest).max(1) };
            at += step as u64;
        }
    }

    fn search_folder(&self, root: &Path, folder: &Path, search: &mut MemorySearch) {
        // Processes in Chromium's own sandbox have an empty root; sockets and pipes are no files.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.search_folder(root, &path, search),
                Ok(kind) if kind.is_file() => {
                    let Ok(file) = File::open(&path) else { continue };
                    let length = file.metadata().map_or(0, |data| data.len().min(MOST_OF_A_FILE));
                    search.files += 1;
                    let place = path.strip_prefix(root).unwrap_or(&path).display().to_string();
                    self.search_range(&file, 0, length, &place, search);
                }
                _ => {}
            }
        }
    }

    fn search_bytes(&self, bytes: &[u8], place: &str, search: &mut MemorySearch) {
        search.bytes += bytes.len() as u64;
        for found in self.patterns.find_iter(bytes) {
            let (kind, writing) = self.kinds[found.pattern().as_usize()];
            search.found.insert(MemoryMatch { place: place.to_owned(), kind, writing });
        }
    }
}

/// A whole value in the forms that programs keep it in.
fn writings(value: &str) -> Vec<(&'static str, Vec<u8>)> {
    let wide: Vec<u8> = value.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut forms = vec![
        ("as it is", value.as_bytes().to_vec()),
        ("UTF-16", wide),
        ("hex", hex::encode(value).into_bytes()),
        ("percent", value.bytes().flat_map(|byte| format!("%{byte:02X}").into_bytes()).collect()),
    ];
    for before in ["", "x", "xy"] {
        let encoded = STANDARD_NO_PAD.encode(format!("{before}{value}"));
        // The first characters hold bits of what stands before, the last of what follows.
        let inner = encoded.get(4.min(before.len() * 4)..encoded.len() - 2).unwrap_or_default();
        forms.push(("base64", inner.as_bytes().to_vec()));
    }
    forms
}

/// The range of a mapping that can be read and written: code and shared files hold no secret of a session.
fn readable_range(line: &str) -> Option<(u64, u64)> {
    let mut fields = line.split_ascii_whitespace();
    let (range, mode) = (fields.next()?, fields.next()?);
    let (start, end) = range.split_once('-')?;
    mode.starts_with("rw").then_some(())?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}

/// Processes below a server that are in another process namespace than ours.
fn jailed_descendants(server: u32) -> Result<Vec<u32>, Fault> {
    let own = std::fs::read_link("/proc/self/ns/pid")
        .map_err(|error| incomplete_run(format!("cannot look at namespaces: {error}")))?;
    let processes: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .map_err(|error| incomplete_run(format!("cannot list processes: {error}")))?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|process| Some((process, parent_of(process)?)))
        .collect();
    let mut family = BTreeSet::from([server]);
    while let Some((child, _)) =
        processes.iter().find(|(child, parent)| family.contains(parent) && !family.contains(child))
    {
        family.insert(*child);
    }
    let is_jailed = |process: &u32| {
        std::fs::read_link(format!("/proc/{process}/ns/pid")).is_ok_and(|namespace| namespace != own)
    };
    Ok(family.into_iter().filter(is_jailed).collect())
}

fn parent_of(process: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_in_this_very_process_in_each_form() {
        let canaries = Canaries::plant();
        let searcher = MemorySearcher::new(&canaries).unwrap();
        for canary in canaries.all().iter().filter(|canary| !SHOWN_BY_SITE.contains(&canary.kind)) {
            for (writing, bytes) in writings(&canary.value) {
                let mut search = MemorySearch::default();
                let held = [b"before".as_slice(), &bytes, b"after".as_slice()].concat();
                searcher.search_bytes(&held, "here", &mut search);
                let found: Vec<_> = search.found.iter().map(|found| (found.kind, found.writing)).collect();
                assert_eq!(found, [(canary.kind, writing)]);
            }
        }
        let mut search = MemorySearch::default();
        searcher.search_process(std::process::id(), &mut search).unwrap();
        assert!(search.found.len() >= Kind::ALL.len() - SHOWN_BY_SITE.len(), "{search:?}");
        let mut other = MemorySearch::default();
        let other_searcher = MemorySearcher::new(&Canaries::plant()).unwrap();
        other_searcher.search_bytes(b"nothing of it is here", "here", &mut other);
        assert!(other.found.is_empty());
    }

    #[test]
    fn only_mappings_that_can_be_written_are_searched() {
        assert_eq!(readable_range("1000-2000 rw-p 00000000 00:00 0"), Some((0x1000, 0x2000)));
        assert_eq!(readable_range("1000-2000 r-xp 00000000 08:01 5 /bin/true"), None);
        assert_eq!(readable_range("not a mapping"), None);
    }
}
