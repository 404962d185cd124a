//! The control connections, which the bridge dials and on which the host sends requests.
//!
//! Nothing in a jail can be dialled, so the bridge keeps one idle connection to the host's socket at
//! all times. The host takes it by sending a request; then the next is dialled. One request each.

use crate::args::Args;
use crate::http::{HeadError, Reply, Request, Status};
use crate::log::Log;
use crate::state::{RestartRefusal, Run, Stage, State};
use crate::supervisor::Supervisor;
use crate::verifier::SharedVerifier;
use crate::websocket::{relay, remaining};
use bridge::token::Claims;
use bridge::wire::{
    BROWSER_PATH, MAX_HEAD, RESTART_PATH, Report, STATUS_PATH, StageName, VERSION_PATH, Version,
};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// Connections at once, the spare one included. When all are in use no spare is dialled, and the host waits.
const MAX_CONNECTIONS: usize = 8;
/// A head must be complete, and a reply taken, within this.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long `/json/version` waits when the host does not say.
const DEFAULT_WAIT: Duration = Duration::from_secs(30);
/// How long Chromium has to answer when a client is attached.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(10);
/// Without the host's socket for this long, the host is gone.
const HOST_TIMEOUT: Duration = Duration::from_secs(5);
const REDIAL_DELAY: Duration = Duration::from_millis(50);

pub struct Control {
    pub args: Arc<Args>,
    pub tokens: SharedVerifier,
    pub state: watch::Sender<State>,
    pub log: Log,
}

#[derive(Debug, thiserror::Error)]
#[error("the host's socket has been gone for {} s", HOST_TIMEOUT.as_secs())]
pub struct HostGone {
    source: io::Error,
}

/// Dials the host, for as long as it takes to be sure that it is gone.
pub async fn dial(path: &Path) -> Result<UnixStream, HostGone> {
    let deadline = Instant::now() + HOST_TIMEOUT;
    loop {
        match UnixStream::connect(path).await {
            Ok(stream) => return Ok(stream),
            Err(source) if Instant::now() >= deadline => return Err(HostGone { source }),
            Err(_) => sleep(REDIAL_DELAY).await,
        }
    }
}

impl Control {
    /// Serves the host until it is gone. `spare` is the first connection.
    pub async fn serve(self: Arc<Control>, mut spare: UnixStream) -> HostGone {
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut permit = connections.clone().acquire_owned().await;
        loop {
            let mut buffer = Vec::with_capacity(1024);
            // The first bytes are what takes the spare.
            let taken = matches!(spare.read_buf(&mut buffer).await, Ok(1..));
            if taken {
                let control = self.clone();
                tokio::spawn(async move {
                    control.answer(spare, buffer).await;
                    drop(permit);
                });
                permit = connections.clone().acquire_owned().await;
            } else {
                // Closed unused. A host that is going closes its listener as well, which dialling finds out.
                sleep(REDIAL_DELAY).await;
            }
            spare = match dial(&self.args.cdp).await {
                Ok(stream) => stream,
                Err(gone) => return gone,
            };
        }
    }

    /// One request, one reply. Whatever fails here fails for this connection only.
    async fn answer(&self, mut stream: UnixStream, mut buffer: Vec<u8>) {
        let Ok(head) = timeout(EXCHANGE_TIMEOUT, Request::read(&mut stream, &mut buffer)).await else {
            return;
        };
        let answer = match head {
            Ok(request) => tokio::select! {
                answer = self.route(request) => answer,
                () = wait_for_hang_up(&mut stream, &mut buffer) => return,
            },
            Err(HeadError::Read { .. }) => return,
            Err(error @ HeadError::TooLarge) => {
                Err(Reply::refused(Status::HeadTooLarge, "head_too_large", error))
            }
            Err(error @ HeadError::Malformed) => {
                Err(Reply::refused(Status::BadRequest, "bad_request", error))
            }
        };
        match answer {
            Ok(upgrade) => self.upgrade(stream, buffer, upgrade).await,
            Err(reply) => {
                // The host may have disconnected, and nobody else needs the reply.
                timeout(EXCHANGE_TIMEOUT, reply.write(&mut stream)).await.ok();
            }
        }
    }

    /// A caller without a valid token learns nothing, not even whether a path exists.
    async fn route(&self, request: Request) -> Result<Upgrade, Reply> {
        let claims = self.tokens.accept(&request.token)?;
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", VERSION_PATH) => Err(self.version(request.wait, &claims).await),
            ("GET", STATUS_PATH) => Err(Reply::json(Status::Ok, &self.report())),
            ("POST", RESTART_PATH) => Err(self.restart()),
            ("GET", path) => match path.strip_prefix(BROWSER_PATH) {
                Some(id) => self.browser(id, request.websocket_key, claims),
                None => Err(not_found()),
            },
            _ => Err(not_found()),
        }
    }

    async fn version(&self, wait: Option<Duration>, claims: &Claims) -> Reply {
        let wait = wait.unwrap_or(DEFAULT_WAIT).min(remaining(claims));
        let mut states = self.state.subscribe();
        let run = timeout(wait, states.wait_for(|state| !state.is_starting())).await;
        let ready = match run {
            Ok(Ok(state)) => match &state.stage {
                Stage::Ready(run) => Some((run.clone(), state.phases.clone())),
                _ => None,
            },
            _ => None,
        };
        let Some((run, phases)) = ready else { return Reply::json(Status::Unavailable, &self.report()) };
        let version = run.version.clone();
        let body = Version {
            browser: version.product,
            protocol: version.protocol_version,
            user_agent: version.user_agent,
            v8: version.js_version,
            web_socket_debugger_url: format!("ws://bridge{BROWSER_PATH}{}", run.id),
            phases,
        };
        Reply::json(Status::Ok, &body)
    }

    fn browser(&self, id: &str, key: Option<String>, claims: Claims) -> Result<Upgrade, Reply> {
        let stage = self.state.borrow().stage.clone();
        match (stage, key) {
            (Stage::Ready(run), Some(key)) if run.id == id => Ok(Upgrade { run, key, claims }),
            (Stage::Ready(run), None) if run.id == id => {
                Err(Reply::refused(Status::BadRequest, "websocket_only", "this path is a WebSocket"))
            }
            (Stage::Ready(_), _) => Err(not_found()),
            (Stage::Starting | Stage::Down, _) => Err(Reply::json(Status::Unavailable, &self.report())),
        }
    }

    fn restart(&self) -> Reply {
        let mut result = Ok(());
        self.state.send_if_modified(|state| {
            result = state.begin_restart(Supervisor::first_phase(&self.args));
            result.is_ok()
        });
        match result {
            Ok(()) => Reply::json(Status::Ok, &self.report()),
            Err(RestartRefusal::StillRunning) => {
                Reply::refused(Status::Conflict, "still_running", "chromium has not ended")
            }
            Err(RestartRefusal::UsedUp) => {
                Reply::refused(Status::Conflict, "restarts_used_up", "chromium may not be started again")
            }
        }
    }

    fn report(&self) -> Report {
        let state = self.state.borrow();
        Report {
            stage: match state.stage {
                Stage::Starting => StageName::Starting,
                Stage::Ready(_) => StageName::Ready,
                Stage::Down => StageName::Down,
            },
            phase: state.phase,
            process: state.process,
            phases: state.phases.clone(),
            restarts_left: state.restarts_left,
            log_tail: self.log.text(),
        }
    }

    async fn upgrade(&self, mut stream: UnixStream, leftover: Vec<u8>, upgrade: Upgrade) {
        let Upgrade { run, key, claims } = upgrade;
        let Ok(Some(attachment)) = timeout(ATTACH_TIMEOUT, run.pipe.attach()).await else {
            let reply = Reply::json(Status::Unavailable, &self.report());
            // As above: the host may have hung up.
            timeout(EXCHANGE_TIMEOUT, reply.write(&mut stream)).await.ok();
            return;
        };
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
             sec-websocket-accept: {}\r\n\r\n",
            derive_accept_key(key.as_bytes())
        );
        if let Ok(Ok(())) = timeout(EXCHANGE_TIMEOUT, stream.write_all(head.as_bytes())).await {
            relay(stream, leftover, attachment, &claims, &self.tokens).await;
        }
    }
}

/// Returns when the host has stopped waiting for its answer, so that a request nobody waits for does not
/// hold a connection. What it sends meanwhile is kept, up to the size of a head.
async fn wait_for_hang_up(stream: &mut UnixStream, buffer: &mut Vec<u8>) {
    while buffer.len() < MAX_HEAD {
        if !matches!(stream.read_buf(buffer).await, Ok(1..)) {
            return;
        }
    }
    std::future::pending().await
}

/// A WebSocket that was granted.
struct Upgrade {
    run: Arc<Run>,
    key: String,
    claims: Claims,
}

fn not_found() -> Reply {
    Reply::refused(Status::NotFound, "not_found", "there is nothing here")
}
