//! Reads lines of bounded length.

use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest message of a client.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// The longest message of our own server: pictures are in it.
pub const MAX_REPLY_BYTES: usize = 256 * 1024 * 1024;

/// One line without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Whole(Vec<u8>),
    /// It was longer than the limit, and is dropped.
    TooLong,
}

/// Reads one line after another. A read that is cancelled goes on where it was.
pub struct LineReader<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    limit: usize,
    is_too_long: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(read: R, limit: usize) -> LineReader<R> {
        LineReader { read: BufReader::new(read), line: Vec::new(), limit, is_too_long: false }
    }

    /// The next line that is not empty; `None` at the end. A last line without an end is not a message.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            self.is_too_long |= self.line.len() + part.len() > self.limit;
            if self.is_too_long {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let consumed = part.len() + usize::from(end.is_some());
            self.read.consume(consumed);
            if end.is_none() {
                continue;
            }
            if std::mem::take(&mut self.is_too_long) {
                return Ok(Some(Line::TooLong));
            }
            let mut line = std::mem::take(&mut self.line);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if !line.is_empty() {
                return Ok(Some(Line::Whole(line)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_have_a_limit_and_the_next_one_is_read_all_the_same() {
        let mut lines = LineReader::new(&b"one\r\n\ntoo long\n12345\nunfinished"[..], 5);
        let whole = |text: &str| Some(Line::Whole(text.as_bytes().to_vec()));
        for expected in [whole("one"), Some(Line::TooLong), whole("12345"), None] {
            assert_eq!(lines.next().await.unwrap(), expected);
        }
    }
}
