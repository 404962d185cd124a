//! The end of the output of Chromium (and Xvfb), kept for failure reports.

use bridge::wire::LOG_TAIL;
use std::collections::VecDeque;
use std::error::Error;
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

/// A bounded tail: past [`LOG_TAIL`] bytes the oldest go.
#[derive(Clone, Default)]
pub struct Log {
    tail: Arc<Mutex<VecDeque<u8>>>,
}

impl Log {
    fn tail(&self) -> MutexGuard<'_, VecDeque<u8>> {
        // A half-written log line is still a log line.
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, bytes: &[u8]) {
        let mut tail = self.tail();
        tail.extend(&bytes[bytes.len().saturating_sub(LOG_TAIL)..]);
        let excess = tail.len().saturating_sub(LOG_TAIL);
        tail.drain(..excess);
    }

    /// A line of the bridge's own, which also goes to stderr for the host's jail log.
    pub fn note(&self, line: std::fmt::Arguments<'_>) {
        let line = format!("bridge: {line}\n");
        self.push(line.as_bytes());
        to_stderr(&line);
    }

    pub fn clear(&self) {
        self.tail().clear();
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.tail().make_contiguous()).into_owned()
    }

    /// Copies what a child writes, until the last holder of the pipe is gone.
    pub fn follow(&self, mut output: pipe::Receiver) -> JoinHandle<()> {
        let log = self.clone();
        tokio::spawn(async move {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut buffer).await {
                log.push(&buffer[..length]);
            }
        })
    }
}

pub fn to_stderr(line: &str) {
    // A jail works even if nothing reads its stderr.
    std::io::stderr().write_all(line.as_bytes()).ok();
}

/// An error and what it came from, on one line.
pub fn with_causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        line = format!("{line}: {cause}");
        source = cause.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_log_is_kept() {
        let log = Log::default();
        log.push(&vec![b'a'; LOG_TAIL]);
        log.push(b"the end");
        assert_eq!(log.text().len(), LOG_TAIL);
        assert!(log.text().ends_with("aathe end"));
        log.push(&[vec![b'b'; 3 * LOG_TAIL], b"again".to_vec()].concat());
        assert_eq!(log.text().len(), LOG_TAIL);
        assert!(log.text().ends_with("bagain") && !log.text().contains("the end"));
    }
}
