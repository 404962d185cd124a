//! Connections that a bridge dialled and that are not in use yet.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::unix::UCred;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// A bridge keeps one connection ready. A second one is tolerated; more are rejected.
const QUEUE: usize = 2;
const RETRY: Duration = Duration::from_millis(50);
/// Number of rejected connections between two pauses of [`RETRY`]. A flood costs a few hundredths of a CPU. The bridge,
/// which queues behind it, waits less than a second for the 4,096 connections that the kernel queues.
const BURST: u64 = 256;

pub struct IdleConnections {
    queue: Mutex<mpsc::Receiver<UnixStream>>,
    seen: Arc<AtomicBool>,
    accepting: JoinHandle<()>,
}

impl IdleConnections {
    pub fn listen(listener: UnixListener, jail: String) -> IdleConnections {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let seen = Arc::new(AtomicBool::new(false));
        let rejected = RejectedConnections { jail, strangers: 0, surplus: 0 };
        let accepting = tokio::spawn(accept(listener, sender, seen.clone(), rejected));
        IdleConnections { queue: Mutex::new(receiver), seen, accepting }
    }

    /// Whether a bridge has ever dialled.
    pub fn seen(&self) -> bool {
        self.seen.load(Ordering::Relaxed)
    }

    /// Takes the oldest connection; waits for one at most `timeout`. Callers are served in order.
    pub async fn take(&self, timeout_after: Duration) -> io::Result<UnixStream> {
        let taken = timeout(timeout_after, async { self.queue.lock().await.recv().await }).await;
        match taken {
            Ok(Some(stream)) => Ok(stream),
            Ok(None) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Closes the listener, by which the bridge learns that its host is gone.
impl Drop for IdleConnections {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    listener: UnixListener,
    queue: mpsc::Sender<UnixStream>,
    seen: Arc<AtomicBool>,
    mut rejected: RejectedConnections,
) {
    let mut bridge = None;
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Most likely out of file descriptors; retry later.
            Err(error) => {
                tracing::warn!(jail = rejected.jail, %error, "cannot accept a bridge's connection");
                sleep(RETRY).await;
                continue;
            }
        };
        if !is_bridge(&stream, &mut bridge) {
            rejected.stranger().await;
            continue;
        }
        seen.store(true, Ordering::Relaxed);
        if queue.try_send(stream).is_err() {
            rejected.surplus().await;
        }
    }
}

/// Counts rejected connections. Processes in a jail can dial without limit and must not flood the log or keep the control
/// plane busy, so only the first of each kind and the final sum are logged.
struct RejectedConnections {
    jail: String,
    strangers: u64,
    surplus: u64,
}

impl RejectedConnections {
    async fn stranger(&mut self) {
        self.strangers += 1;
        if self.strangers == 1 {
            tracing::warn!(jail = self.jail, "a process that is not the bridge dialled the control socket");
        }
        self.throttle().await;
    }

    async fn surplus(&mut self) {
        self.surplus += 1;
        if self.surplus == 1 {
            tracing::warn!(jail = self.jail, "a bridge dialled more connections than it should");
        }
        self.throttle().await;
    }

    async fn throttle(&self) {
        if (self.strangers + self.surplus).is_multiple_of(BURST) {
            sleep(RETRY).await;
        }
    }
}

impl Drop for RejectedConnections {
    fn drop(&mut self) {
        let RejectedConnections { jail, strangers, surplus } = self;
        if *strangers + *surplus > 0 {
            tracing::warn!(%jail, strangers, surplus, "connections of a jail were turned away");
        }
    }
}

/// Whether the peer is the bridge. The bridge dials before it starts Chromium, so the first process to dial is the
/// bridge. A compromised browser can reach the socket too, but it has another process id and gets no token.
fn is_bridge(stream: &UnixStream, bridge: &mut Option<UCred>) -> bool {
    let Ok(peer) = stream.peer_cred() else { return false };
    *bridge.get_or_insert(peer) == peer
}
