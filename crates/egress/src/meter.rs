//! Byte counters of a connection, and its idle timeout.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Bytes that went to a site and came from it, while they do.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    up: AtomicU64,
    down: AtomicU64,
}

impl Meter {
    pub(crate) fn up(&self) -> u64 {
        self.up.load(Ordering::Relaxed)
    }

    pub(crate) fn down(&self) -> u64 {
        self.down.load(Ordering::Relaxed)
    }

    /// Ends when nothing has moved for `limit`, noticed within twice that.
    pub(crate) async fn idle(&self, limit: Duration) {
        loop {
            let before = (self.up(), self.down());
            tokio::time::sleep(limit).await;
            if before == (self.up(), self.down()) {
                return;
            }
        }
    }
}

/// The connection to a site, counted.
#[derive(Debug)]
pub(crate) struct MeteredStream {
    stream: TcpStream,
    meter: Arc<Meter>,
}

impl MeteredStream {
    pub(crate) fn new(stream: TcpStream, meter: Arc<Meter>) -> MeteredStream {
        MeteredStream { stream, meter }
    }

    fn count_up(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            self.meter.up.fetch_add(*bytes as u64, Ordering::Relaxed);
        }
        written
    }
}

impl AsyncRead for MeteredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.meter.down.fetch_add((buf.filled().len() - before) as u64, Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.count_up(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.count_up(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
