//! The host's end of a bridge: its dialled connections, readiness, and the way to Chromium.
//!
//! A jail can be reached by nobody, so the bridge dials a socket that we listen on, and we ask over
//! what it dialled. Each request carries a token of its own.

mod error;
mod exchange;
mod renew;
mod spares;
#[cfg(test)]
mod tests;

pub use error::TunnelError;
pub use renew::keep_renewed;

use bridge::token::{MAX_LIFETIME, Signer};
use bridge::wire::{
    BROWSER_PATH, MAX_MESSAGE, Phase, PhaseName, ProcessState, RESTART_PATH, Refused, Report, STATUS_PATH,
    StageName, VERSION_PATH, Version,
};
use bytes::Bytes;
use error_code::ErrorCode;
use exchange::{Answer, exchange};
use hyper::{Method, StatusCode};
use spares::Spares;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::{self, ClientRequestBuilder, protocol::WebSocketConfig};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// How long a bridge that is there has to dial its next connection, and to answer.
const EXCHANGE: Duration = Duration::from_secs(5);
/// A WebSocket is granted once Chromium answered a call, for which the bridge gives it 10 s.
const OPEN: Duration = Duration::from_secs(15);

/// A browser that speaks, as its bridge tells it.
#[derive(Clone, Debug)]
pub struct Readiness {
    /// Product and version, such as `HeadlessChrome/156.0.0.0`.
    pub browser: String,
    pub protocol: String,
    pub user_agent: String,
    /// Each phase of the start with its time.
    pub phases: Vec<Phase>,
    /// What [`Tunnel::open_cdp`] takes.
    pub ws_path: String,
}

/// One jail's bridge, seen from the host.
pub struct Tunnel {
    spares: Spares,
    signer: Arc<Signer>,
    scope: String,
    target: String,
    token_lifetime: Duration,
}

impl Tunnel {
    /// Listens for the bridge. Whoever dials first is taken for it, so this socket must exist before
    /// the jail does. Must be called within a runtime.
    pub fn new(listener: UnixListener, signer: Arc<Signer>, scope: String, target: String) -> Tunnel {
        let spares = Spares::listen(listener, target.clone());
        Tunnel { spares, signer, scope, target, token_lifetime: MAX_LIFETIME }
    }

    /// Tokens live this long instead of the most they may, 60 s.
    #[must_use]
    pub fn token_lifetime(mut self, lifetime: Duration) -> Tunnel {
        self.token_lifetime = lifetime.min(MAX_LIFETIME);
        self
    }

    /// A token that was never used: one for each request, and one for each renewal of a WebSocket.
    pub fn fresh_token(&self) -> Result<String, TunnelError> {
        self.signer
            .mint(&self.scope, &self.target, self.token_lifetime)
            .map_err(|source| TunnelError::Token { source })
    }

    /// The first gate of readiness: waits until Chromium answers, for at most `patience`.
    pub async fn version(&self, patience: Duration) -> Result<Readiness, TunnelError> {
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let stream = match self.spares.take(left).await {
                Ok(stream) => stream,
                Err(_) if !self.spares.seen() => return Err(TunnelError::no_bridge(patience)),
                Err(source) => return Err(TunnelError::Lost { doing: "waiting for the browser", source }),
            };
            let left = deadline.saturating_duration_since(Instant::now());
            let doing = "asking for the browser's version";
            let answer = self.ask(stream, Method::GET, VERSION_PATH, Some(left), doing).await?;
            match answer.status {
                StatusCode::OK => return readiness(answer.parse(doing)?),
                StatusCode::SERVICE_UNAVAILABLE => {
                    let report: Report = answer.parse(doing)?;
                    if report.stage == StageName::Down {
                        return Err(TunnelError::start_failed(report));
                    }
                    // The bridge waits no longer than a token lives; with time left, ask again.
                    if Instant::now() >= deadline {
                        return Err(TunnelError::not_ready(report, patience));
                    }
                }
                _ => return Err(answer.refused(doing)),
            }
        }
    }

    /// The second gate: a WebSocket that carries CDP. It takes the place of an earlier one.
    ///
    /// Binary frames renew its token ([`keep_renewed`]); without them the bridge closes it with 4401.
    pub async fn open_cdp(&self, ws_path: &str) -> Result<WebSocketStream<UnixStream>, TunnelError> {
        let doing = "opening the connection to the browser";
        let stream = self.spare(doing).await?;
        let uri = format!("ws://bridge{ws_path}").parse();
        let uri = uri.map_err(|_| TunnelError::Garbled { doing })?;
        let request = ClientRequestBuilder::new(uri)
            .with_header("authorization", format!("Bearer {}", self.fresh_token()?));
        let config =
            WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
        match timeout(OPEN, client_async_with_config(request, stream, Some(config))).await {
            Ok(Ok((socket, _))) => Ok(socket),
            Ok(Err(tungstenite::Error::Http(response))) => {
                let status = response.status();
                let body = Bytes::from(response.into_body().unwrap_or_default());
                Err(Answer { status, body }.refused(doing))
            }
            Ok(Err(error)) => Err(TunnelError::Lost { doing, source: io::Error::other(error) }),
            Err(_) => Err(TunnelError::Lost { doing, source: io::ErrorKind::TimedOut.into() }),
        }
    }

    /// How things stand in the jail.
    pub async fn status(&self) -> Result<Report, TunnelError> {
        let doing = "asking for the jail's status";
        let stream = self.spare(doing).await?;
        let answer = self.ask(stream, Method::GET, STATUS_PATH, None, doing).await?;
        match answer.status {
            StatusCode::OK => answer.parse(doing),
            _ => Err(answer.refused(doing)),
        }
    }

    /// Starts a browser that died once more; [`Tunnel::version`] then waits for it.
    pub async fn restart(&self) -> Result<Report, TunnelError> {
        let doing = "starting the browser again";
        let stream = self.spare(doing).await?;
        let answer = self.ask(stream, Method::POST, RESTART_PATH, None, doing).await?;
        match answer.status {
            StatusCode::OK => answer.parse(doing),
            StatusCode::CONFLICT
                if ErrorCode::parse(&answer.parse::<Refused>(doing)?.code)
                    == Some(ErrorCode::RestartsUsedUp) =>
            {
                Err(TunnelError::RestartsUsedUp)
            }
            _ => Err(answer.refused(doing)),
        }
    }

    async fn spare(&self, doing: &'static str) -> Result<UnixStream, TunnelError> {
        self.spares.take(EXCHANGE).await.map_err(|source| TunnelError::Lost { doing, source })
    }

    async fn ask(
        &self,
        stream: UnixStream,
        method: Method,
        path: &'static str,
        wait: Option<Duration>,
        doing: &'static str,
    ) -> Result<Answer, TunnelError> {
        let token = self.fresh_token()?;
        let exchange = exchange(stream, method, path, &token, wait);
        match timeout(EXCHANGE + wait.unwrap_or_default(), exchange).await {
            Ok(result) => result.map_err(|source| TunnelError::Lost { doing, source }),
            Err(_) => Err(TunnelError::Lost { doing, source: io::ErrorKind::TimedOut.into() }),
        }
    }
}

/// The address comes from inside the jail: only the one form it may have is taken.
fn readiness(version: Version) -> Result<Readiness, TunnelError> {
    let path = version.web_socket_debugger_url.strip_prefix("ws://bridge");
    let id = path.and_then(|path| path.strip_prefix(BROWSER_PATH));
    let is_id = |id: &str| (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = id.filter(|id| is_id(id));
    let id = id.ok_or(TunnelError::Garbled { doing: "reading the browser's address" })?;
    Ok(Readiness {
        ws_path: format!("{BROWSER_PATH}{id}"),
        browser: version.browser,
        protocol: version.protocol,
        user_agent: version.user_agent,
        phases: version.phases,
    })
}
