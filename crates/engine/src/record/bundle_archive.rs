//! The tar archive of a bundle: written with each file's digest, and read back without unpacking.
//!
//! Headers hold no time, owner or name of a user, so the same content makes the same archive. Reading relies on that:
//! an archive is accepted only if its files, written again, give the same bytes. Links, devices, extended headers,
//! changed padding and trailing data are refused with it.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use tar::{Archive, Builder, EntryType, Header};

/// Names are ours; a header has room for so many bytes.
const LONGEST_NAME: usize = 100;

/// One file that was written.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Member {
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}

pub struct Writer<W: Write> {
    archive: Builder<W>,
    pub members: Vec<Member>,
}

impl<W: Write> Writer<W> {
    pub fn new(out: W) -> Writer<W> {
        Writer { archive: Builder::new(out), members: Vec::new() }
    }

    pub fn add(&mut self, path: &str, content: &[u8]) -> io::Result<()> {
        self.add_from(path, content.len() as u64, content)
    }

    /// Adds exactly `bytes` of `content`; less is an error.
    pub fn add_from(&mut self, path: &str, bytes: u64, content: impl Read) -> io::Result<()> {
        let mut content = Hashing::new(content.take(bytes));
        self.archive.append(&header(path, bytes)?, &mut content)?;
        if content.bytes != bytes {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        self.members.push(Member { path: path.to_owned(), bytes, sha256: content.sha256() });
        Ok(())
    }

    pub fn finish(self) -> io::Result<W> {
        let mut out = self.archive.into_inner()?;
        out.flush()?;
        Ok(out)
    }
}

fn header(path: &str, bytes: u64) -> io::Result<Header> {
    if path.len() > LONGEST_NAME {
        return Err(io::Error::other("a name that is too long for an archive"));
    }
    let mut header = Header::new_ustar();
    header.set_path(path)?;
    header.set_mode(0o600);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(bytes);
    header.set_mtime(0);
    header.set_entry_type(EntryType::Regular);
    header.set_cksum();
    // Six digits, a zero byte and a blank, as POSIX tools and bundles of earlier releases have it.
    let sum = header.cksum()?;
    header.as_old_mut().cksum.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

/// Reads an archive that [`Writer`] made: its files by name, at most `most_files` of at most `most_bytes` each.
pub fn read(input: impl Read, most_files: usize, most_bytes: u64) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut archive = Archive::new(Hashing::new(input));
    let mut again = Writer::new(Hashing::new(io::sink()));
    let mut files = BTreeMap::new();
    // Raw: no entry describes another, and none is skipped.
    for entry in archive.entries().map_err(invalid)?.raw(true) {
        let mut entry = entry.map_err(invalid)?;
        if entry.header().entry_type() != EntryType::Regular {
            return Err(bad("an entry that is not a plain file"));
        }
        let bytes = entry.size();
        if bytes > most_bytes {
            return Err(bad("a file that is too large"));
        }
        let name = String::from_utf8(entry.path_bytes().into_owned());
        let name = name.map_err(|_| bad("a name that is not text"))?;
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(invalid)?;
        if content.len() as u64 != bytes {
            return Err(bad("a file that was cut off"));
        }
        again.add(&name, &content).map_err(invalid)?;
        if files.len() == most_files || files.insert(name, content).is_some() {
            return Err(bad("a file that is in it twice, or too many"));
        }
    }
    let mut read = archive.into_inner();
    let again = again.finish()?;
    // The end is two empty blocks, of which the first was read, and nothing after them.
    let left = again.bytes.saturating_sub(read.bytes);
    io::copy(&mut (&mut read).take(left + 1), &mut io::sink())?;
    if read.bytes != again.bytes || read.sha256() != again.sha256() {
        return Err(bad("not an archive that Stockade wrote, or one that was changed"));
    }
    Ok(files)
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// What `tar` finds wrong with an archive is an error of no kind; errors of the file itself have theirs.
fn invalid(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::Other {
        return io::Error::new(io::ErrorKind::InvalidData, error);
    }
    error
}

/// Counts and digests the bytes that pass.
struct Hashing<T> {
    inner: T,
    hasher: Sha256,
    bytes: u64,
}

impl<T> Hashing<T> {
    fn new(inner: T) -> Hashing<T> {
        Hashing { inner, hasher: Sha256::new(), bytes: 0 }
    }

    fn count(&mut self, passed: &[u8]) {
        self.hasher.update(passed);
        self.bytes += passed.len() as u64;
    }

    fn sha256(self) -> String {
        hex::encode(self.hasher.finalize())
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count(&buffer[..read]);
        Ok(read)
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buffer)?;
        self.count(&buffer[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn archive() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        writer.add("a.txt", b"hello").unwrap();
        writer.add("images/b", &[7; 1024]).unwrap();
        writer.add("empty", b"").unwrap();
        assert_eq!(writer.members[0].sha256, audit::sha256_hex(b"hello"));
        writer.finish().unwrap()
    }

    #[test]
    fn what_is_written_is_read_back_and_tar_reads_it_too() {
        let bytes = archive();
        let files = read(bytes.as_slice(), 3, 1024).unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["a.txt", "empty", "images/b"]);
        assert_eq!(files["a.txt"], b"hello");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x.tar"), bytes).unwrap();
        let done = Command::new("tar")
            .arg("-C")
            .arg(folder.path())
            .args(["-xf"])
            .arg(folder.path().join("x.tar"))
            .status();
        assert!(done.unwrap().success());
        assert_eq!(std::fs::read(folder.path().join("images/b")).unwrap(), [7; 1024]);
    }

    /// Bundles of earlier releases stay readable, and the same content makes the same archive.
    #[test]
    fn an_archive_has_the_bytes_that_the_first_release_wrote() {
        assert_eq!(
            audit::sha256_hex(&archive()),
            "4410f02f3b5d99bf41d809ccde220eeb41b575f98685d650a67c16fb0413dad0"
        );
    }

    #[test]
    fn files_beyond_the_limits_are_refused() {
        let bytes = archive();
        for (most_files, most_bytes) in [(2, 1024), (3, 1023)] {
            let error = read(bytes.as_slice(), most_files, most_bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{most_files} {most_bytes}");
        }
        let mut writer = Writer::new(Vec::new());
        assert!(writer.add(&"x".repeat(LONGEST_NAME + 1), b"").is_err());
        assert!(writer.add_from("short", 2, &b"1"[..]).is_err());
    }

    #[test]
    fn any_changed_missing_or_added_byte_is_found() {
        let bytes = archive();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            // Content is covered by the manifest's digests.
            if let Ok(files) = read(changed.as_slice(), 3, 1024) {
                assert_ne!(files, read(bytes.as_slice(), 3, 1024).unwrap(), "byte {at}");
            }
        }
        for kept in [0, 1, 512, 600, bytes.len() - 1024, bytes.len() - 512, bytes.len() - 1] {
            assert!(read(&bytes[..kept], 3, 1024).is_err(), "{kept} bytes");
        }
        for added in [1, 512] {
            let longer = [bytes.clone(), vec![0; added]].concat();
            assert!(read(longer.as_slice(), 3, 1024).is_err(), "{added} bytes more");
        }
    }

    #[test]
    fn entries_that_are_no_plain_files_are_refused() {
        for kind in [
            EntryType::Symlink,
            EntryType::Link,
            EntryType::Directory,
            EntryType::Fifo,
            EntryType::Char,
            EntryType::XHeader,
            EntryType::GNULongName,
            EntryType::GNUSparse,
            EntryType::Continuous,
        ] {
            let mut odd = header("a.txt", 0).unwrap();
            odd.set_entry_type(kind);
            odd.set_cksum();
            let mut builder = Builder::new(Vec::new());
            builder.append(&odd, io::empty()).unwrap();
            let error = read(builder.into_inner().unwrap().as_slice(), 3, 1024).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{kind:?}");
        }
    }

    #[test]
    fn a_file_that_is_in_it_twice_is_refused() {
        let mut writer = Writer::new(Vec::new());
        writer.add("a", b"1").unwrap();
        writer.add("a", b"1").unwrap();
        assert!(read(writer.finish().unwrap().as_slice(), 3, 1024).is_err());
    }
}
