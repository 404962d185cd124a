//! Reads the lines of a file of any size, each of bounded length.

use crate::line::LONGEST_LINE;
use std::io::{self, BufRead, Read as _};

/// One line as it is in the file.
#[derive(Debug)]
pub struct RawLine {
    /// Counted from 1.
    pub number: u64,
    /// The offset of its first byte.
    pub offset: u64,
    /// Without its line end; truncated if it is longer than a line may be.
    pub bytes: Vec<u8>,
    /// False if the file ends before the line does.
    pub ended: bool,
}

pub struct LineReader<R> {
    input: R,
    number: u64,
    offset: u64,
}

impl<R: BufRead> LineReader<R> {
    pub fn new(input: R) -> LineReader<R> {
        LineReader { input, number: 0, offset: 0 }
    }

    pub fn read(&mut self) -> io::Result<Option<RawLine>> {
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let offset = self.offset;
        self.offset += read as u64;
        // Longer than any valid line: it ends here, and will not parse.
        let ended = bytes.last() == Some(&b'\n') || bytes.len() > LONGEST_LINE;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        Ok(Some(RawLine { number: self.number, offset, bytes, ended }))
    }
}
