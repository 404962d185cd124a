//! The end of a jail's output.

use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Older output is discarded.
const KEPT: usize = 64 * 1024;

/// Read at once at most, so that a jail that floods its output does not block its supervisor.
const CHUNK: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct LogTail {
    /// `None` once every writer has closed it.
    pipe: Option<OwnedFd>,
    kept: VecDeque<u8>,
}

impl LogTail {
    /// `pipe` is the non-blocking end to read from.
    pub fn new(pipe: OwnedFd) -> LogTail {
        LogTail { pipe: Some(pipe), kept: VecDeque::new() }
    }

    pub fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads one chunk; returns whether there may be more.
    pub fn read(&mut self) -> io::Result<bool> {
        let Some(pipe) = &self.pipe else { return Ok(false) };
        let mut chunk = [0; CHUNK];
        match rustix::io::retry_on_intr(|| rustix::io::read(pipe, &mut chunk)) {
            Ok(0) => {
                self.pipe = None;
                Ok(false)
            }
            Ok(length) => {
                self.kept.extend(chunk.iter().take(length));
                let excess = self.kept.len().saturating_sub(KEPT);
                self.kept.drain(..excess);
                Ok(true)
            }
            Err(Errno::AGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the available output. Bounded: a jail that writes faster than we read is cut off.
    pub fn read_rest(&mut self) -> io::Result<()> {
        for _ in 0..=(KEPT / CHUNK) {
            if !self.read()? {
                break;
            }
        }
        Ok(())
    }

    /// The output as text that is safe to show: escape sequences and bytes that are not plain text become `?`. This
    /// also bounds its size in JSON.
    pub fn text(&self) -> String {
        let show = |&byte: &u8| match byte {
            b'\n' | b'\t' | b' '..=b'~' => char::from(byte),
            _ => '?',
        };
        self.kept.iter().map(show).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    fn pipe() -> (LogTail, File) {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::NONBLOCK).unwrap();
        (LogTail::new(read), File::from(write))
    }

    #[test]
    fn only_the_end_is_kept() {
        let (mut log, mut writer) = pipe();
        for index in 0..100u8 {
            writer.write_all(&[b'a' + index % 26; 4096]).unwrap();
            log.read().unwrap();
        }
        assert_eq!(log.text().len(), KEPT);
        assert!(log.text().ends_with(char::from(b'a' + 99 % 26)));
    }

    #[test]
    fn terminal_escapes_do_not_get_through() {
        let (mut log, mut writer) = pipe();
        writer.write_all(b"bwrap: no\n\x1b[2J\xffend\r\n").unwrap();
        drop(writer);
        log.read_rest().unwrap();
        assert_eq!(log.text(), "bwrap: no\n?[2J?end?\n");
        assert!(log.pipe().is_none());
    }
}
