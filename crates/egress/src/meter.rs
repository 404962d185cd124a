//! Byte counters of a connection, its idle timeout, and the caps that it is held to.

use crate::limiter::{Direction, TrafficLimiter};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// Bytes that went to a site and came from it, while they do.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    up: AtomicU64,
    down: AtomicU64,
    is_cut: AtomicBool,
    activity: Arc<Activity>,
    /// `None`: counted, and not limited.
    limiter: Option<Arc<TrafficLimiter>>,
}

/// Whether a connection of the browser is in use. Shared by the connections to sites that serve it.
#[derive(Debug, Default)]
struct Activity {
    moves: AtomicU64,
    held: AtomicUsize,
}

/// Keeps a connection from being idle while a request of it is held.
#[derive(Debug)]
pub(crate) struct HoldGuard(Arc<Activity>);

impl Drop for HoldGuard {
    fn drop(&mut self) {
        self.0.moves.fetch_add(1, Ordering::Relaxed);
        self.0.held.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Meter {
    pub(crate) fn limited_by(limiter: Arc<TrafficLimiter>) -> Meter {
        Meter { limiter: Some(limiter), ..Meter::default() }
    }

    /// Counts another connection to a site for the same connection of the browser.
    pub(crate) fn sibling(&self) -> Meter {
        Meter { activity: Arc::clone(&self.activity), limiter: self.limiter.clone(), ..Meter::default() }
    }

    /// Until the guard is dropped the connection is not idle, whatever moves.
    pub(crate) fn hold(&self) -> HoldGuard {
        self.activity.held.fetch_add(1, Ordering::Relaxed);
        HoldGuard(Arc::clone(&self.activity))
    }

    pub(crate) fn up(&self) -> u64 {
        self.up.load(Ordering::Relaxed)
    }

    pub(crate) fn down(&self) -> u64 {
        self.down.load(Ordering::Relaxed)
    }

    /// Whether the connection was cut because the session has moved as many bytes as it may.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    /// Ends when nothing has moved or was held for `limit`, noticed within twice that.
    pub(crate) async fn idle(&self, limit: Duration) {
        let Activity { moves, held } = &*self.activity;
        loop {
            let before = moves.load(Ordering::Relaxed);
            tokio::time::sleep(limit).await;
            if before == moves.load(Ordering::Relaxed) && held.load(Ordering::Relaxed) == 0 {
                return;
            }
        }
    }

    fn count(
        &self,
        bytes: usize,
        counter: &AtomicU64,
        direction: fn(&TrafficLimiter) -> &Direction,
    ) -> io::Result<Option<Pin<Box<Sleep>>>> {
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
        self.activity.moves.fetch_add(1, Ordering::Relaxed);
        let Some(limiter) = &self.limiter else { return Ok(None) };
        match direction(limiter).count(bytes as u64) {
            Ok(Duration::ZERO) => Ok(None),
            Ok(wait) => Ok(Some(Box::pin(tokio::time::sleep(wait)))),
            Err(_) => {
                self.is_cut.store(true, Ordering::Relaxed);
                Err(io::ErrorKind::QuotaExceeded.into())
            }
        }
    }
}

/// The connection to a site, counted and held to the session's caps.
#[derive(Debug)]
pub(crate) struct MeteredStream {
    stream: TcpStream,
    meter: Arc<Meter>,
    /// The bandwidth is used up: nothing moves before these end.
    read_pause: Option<Pin<Box<Sleep>>>,
    write_pause: Option<Pin<Box<Sleep>>>,
}

impl MeteredStream {
    pub(crate) fn new(stream: TcpStream, meter: Arc<Meter>) -> MeteredStream {
        MeteredStream { stream, meter, read_pause: None, write_pause: None }
    }

    fn count_up(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            self.write_pause = self.meter.count(*bytes, &self.meter.up, TrafficLimiter::up)?;
        }
        written
    }
}

/// Waits until a pause is over, if there is one.
fn poll_pause(pause: &mut Option<Pin<Box<Sleep>>>, cx: &mut Context<'_>) -> Poll<()> {
    if let Some(sleep) = pause {
        ready!(sleep.as_mut().poll(cx));
        *pause = None;
    }
    Poll::Ready(())
}

impl AsyncRead for MeteredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(poll_pause(&mut self.read_pause, cx));
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        let bytes = buf.filled().len() - before;
        if bytes > 0 {
            self.read_pause = self.meter.count(bytes, &self.meter.down, TrafficLimiter::down)?;
        }
        read
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(poll_pause(&mut self.write_pause, cx));
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.count_up(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(poll_pause(&mut self.write_pause, cx));
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
