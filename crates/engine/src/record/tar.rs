//! Plain ustar archives: written file by file with each one's digest, and read back without unpacking.

use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};

const BLOCK: usize = 512;
/// Names are ours; the form has room for so many bytes.
const LONGEST_NAME: usize = 100;

/// One file that was written.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Member {
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}

pub struct Writer<W> {
    out: W,
    pub members: Vec<Member>,
}

impl<W: Write> Writer<W> {
    pub fn new(out: W) -> Writer<W> {
        Writer { out, members: Vec::new() }
    }

    pub fn add(&mut self, path: &str, content: &[u8]) -> io::Result<()> {
        self.add_from(path, content.len() as u64, content)
    }

    /// Adds exactly `bytes` of `content`; less is an error.
    pub fn add_from(&mut self, path: &str, bytes: u64, content: impl Read) -> io::Result<()> {
        self.out.write_all(&header(path, bytes)?)?;
        let mut hasher = Sha256::new();
        let mut content = content.take(bytes);
        let mut buffer = vec![0; 64 * 1024];
        let mut written = 0;
        loop {
            let read = content.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            self.out.write_all(&buffer[..read])?;
            written += read as u64;
        }
        if written != bytes {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        self.out.write_all(&vec![0; padding(bytes)])?;
        let sha256 = hex::encode(hasher.finalize());
        self.members.push(Member { path: path.to_owned(), bytes, sha256 });
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&[0; 2 * BLOCK])?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn padding(bytes: u64) -> usize {
    (BLOCK - (bytes % BLOCK as u64) as usize) % BLOCK
}

/// Owned by nobody and of no time: the same content makes the same archive.
fn header(path: &str, bytes: u64) -> io::Result<[u8; BLOCK]> {
    if path.len() > LONGEST_NAME {
        return Err(io::Error::other("a name that is too long for an archive"));
    }
    let mut block = [0; BLOCK];
    block[..path.len()].copy_from_slice(path.as_bytes());
    let mut field = |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
    field(100, "0000600");
    field(108, "0000000");
    field(116, "0000000");
    field(124, &format!("{bytes:011o}"));
    field(136, "00000000000");
    field(148, "        ");
    field(156, "0");
    field(257, "ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(block)
}

/// Reads an archive of ours, one file after the other.
pub struct Reader<R> {
    input: R,
}

impl<R: Read> Reader<R> {
    pub fn new(input: R) -> Reader<R> {
        Reader { input }
    }

    /// The next file's name and content, of at most `most` bytes; none at the end.
    pub fn next_file(&mut self, most: u64) -> io::Result<Option<(String, Vec<u8>)>> {
        let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let mut block = [0; BLOCK];
        self.input.read_exact(&mut block)?;
        if block.iter().all(|byte| *byte == 0) {
            let mut rest = Vec::new();
            (&mut self.input).take(BLOCK as u64 + 1).read_to_end(&mut rest)?;
            let ends = rest.len() == BLOCK && rest.iter().all(|byte| *byte == 0);
            return if ends { Ok(None) } else { Err(bad("something after its end")) };
        }
        let name = text(&block[..LONGEST_NAME]).ok_or_else(|| bad("a name that is no text"))?;
        let octal = |field: &[u8]| u64::from_str_radix(text(field)?.trim(), 8).ok();
        let bytes = octal(&block[124..136]).ok_or_else(|| bad("a file without a size"))?;
        if octal(&block[148..156]).is_none() || header(&name, bytes).ok() != Some(block) {
            return Err(bad("not an archive that Stockade wrote, or one that was changed"));
        }
        if bytes > most {
            return Err(bad("a file that is too large"));
        }
        let mut content = Vec::new();
        (&mut self.input).take(bytes).read_to_end(&mut content)?;
        let mut rest = vec![0; padding(bytes)];
        self.input.read_exact(&mut rest)?;
        if content.len() as u64 != bytes || rest.iter().any(|byte| *byte != 0) {
            return Err(bad("a file that was cut off"));
        }
        Ok(Some((name, content)))
    }
}

fn text(field: &[u8]) -> Option<String> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8(field[..end].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn what_is_written_is_read_back_and_tar_reads_it_too() {
        let mut writer = Writer::new(Vec::new());
        writer.add("a.txt", b"hello").unwrap();
        writer.add("images/b", &[7; 1024]).unwrap();
        writer.add("empty", b"").unwrap();
        assert_eq!(writer.members[0].sha256, audit::sha256_hex(b"hello"));
        let bytes = writer.finish().unwrap();
        let mut reader = Reader::new(bytes.as_slice());
        assert_eq!(reader.next_file(10).unwrap(), Some(("a.txt".into(), b"hello".to_vec())));
        assert!(reader.next_file(10).is_err(), "too large");
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
}
