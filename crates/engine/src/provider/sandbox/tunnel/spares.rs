//! The connections that a bridge dialled and nobody has used yet.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::unix::UCred;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// A bridge keeps one connection ready, so a second is already a surprise; more are turned away.
const QUEUE: usize = 2;
const RETRY: Duration = Duration::from_millis(50);
/// So many are turned away before the next is looked at [`RETRY`] later. That costs a flood's victim a few
/// hundredths of a processor; the bridge, which stands in the same line, waits less than a second for the
/// 4,096 that the kernel lets queue.
const BURST: u64 = 256;

pub struct Spares {
    queue: Mutex<mpsc::Receiver<UnixStream>>,
    seen: Arc<AtomicBool>,
    accepting: JoinHandle<()>,
}

impl Spares {
    pub fn listen(listener: UnixListener, jail: String) -> Spares {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let seen = Arc::new(AtomicBool::new(false));
        let turned_away = TurnedAway { jail, strangers: 0, surplus: 0 };
        let accepting = tokio::spawn(accept(listener, sender, seen.clone(), turned_away));
        Spares { queue: Mutex::new(receiver), seen, accepting }
    }

    /// Whether a bridge has ever dialled.
    pub fn seen(&self) -> bool {
        self.seen.load(Ordering::Relaxed)
    }

    /// The oldest one, once there is one. Each taker waits its turn, none longer than `patience`.
    pub async fn take(&self, patience: Duration) -> io::Result<UnixStream> {
        let taken = timeout(patience, async { self.queue.lock().await.recv().await }).await;
        match taken {
            Ok(Some(stream)) => Ok(stream),
            Ok(None) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// The listener closes with it, which is how a bridge learns that its host is gone.
impl Drop for Spares {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    listener: UnixListener,
    queue: mpsc::Sender<UnixStream>,
    seen: Arc<AtomicBool>,
    mut turned_away: TurnedAway,
) {
    let mut bridge = None;
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Out of descriptors, most likely. Others have to end first.
            Err(error) => {
                tracing::warn!(jail = turned_away.jail, %error, "cannot accept a bridge's connection");
                sleep(RETRY).await;
                continue;
            }
        };
        if !is_the_bridge(&stream, &mut bridge) {
            turned_away.stranger().await;
            continue;
        }
        seen.store(true, Ordering::Relaxed);
        if queue.try_send(stream).is_err() {
            turned_away.surplus().await;
        }
    }
}

/// Counts instead of complaining: what runs in a jail can dial as often as it likes, and must not fill the
/// log or keep the control plane busy that way. The first of each kind is told, and the sum at the end.
struct TurnedAway {
    jail: String,
    strangers: u64,
    surplus: u64,
}

impl TurnedAway {
    async fn stranger(&mut self) {
        self.strangers += 1;
        if self.strangers == 1 {
            tracing::warn!(jail = self.jail, "a process that is not the bridge dialled the control socket");
        }
        self.rest().await;
    }

    async fn surplus(&mut self) {
        self.surplus += 1;
        if self.surplus == 1 {
            tracing::warn!(jail = self.jail, "a bridge dialled more connections than it should");
        }
        self.rest().await;
    }

    async fn rest(&self) {
        if (self.strangers + self.surplus).is_multiple_of(BURST) {
            sleep(RETRY).await;
        }
    }
}

impl Drop for TurnedAway {
    fn drop(&mut self) {
        let TurnedAway { jail, strangers, surplus } = self;
        if *strangers + *surplus > 0 {
            tracing::warn!(%jail, strangers, surplus, "connections of a jail were turned away");
        }
    }
}

/// The bridge dials before it starts Chromium, so the first process to dial is the bridge. A browser
/// that was taken over can reach the socket too; it has another process id, and gets no token to see.
fn is_the_bridge(stream: &UnixStream, bridge: &mut Option<UCred>) -> bool {
    let Ok(peer) = stream.peer_cred() else { return false };
    *bridge.get_or_insert(peer) == peer
}
