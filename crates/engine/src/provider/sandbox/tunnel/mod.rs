//! The host side of a bridge: dialled connections, readiness, and the CDP connection to Chromium.
//!
//! A jail accepts no connections, so the bridge dials a socket that we listen on, and we send requests over the dialled
//! connections. Each request carries its own token.

mod error;
mod exchange;
mod idle_connections;
mod renew;
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
use exchange::{BridgeResponse, exchange};
use hyper::{Method, StatusCode};
use idle_connections::IdleConnections;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::{self, ClientRequestBuilder, protocol::WebSocketConfig};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// Time limit for a running bridge to dial its next connection and to respond.
const EXCHANGE: Duration = Duration::from_secs(5);
/// A WebSocket is granted once Chromium answered a call, for which the bridge gives it 10 s.
const OPEN: Duration = Duration::from_secs(15);

/// A ready browser, as its bridge reports it.
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

/// The host side of one jail's bridge.
pub struct Tunnel {
    idle_connections: IdleConnections,
    signer: Arc<Signer>,
    scope: String,
    target: String,
    token_lifetime: Duration,
}

impl Tunnel {
    /// Listens for the bridge. The first process to dial counts as the bridge, so this socket must exist before the jail.
    /// Must be called within a Tokio runtime.
    pub fn new(listener: UnixListener, signer: Arc<Signer>, scope: String, target: String) -> Tunnel {
        let idle_connections = IdleConnections::listen(listener, target.clone());
        Tunnel { idle_connections, signer, scope, target, token_lifetime: MAX_LIFETIME }
    }

    /// Sets the lifetime of tokens; the default is the maximum, 60 s.
    #[must_use]
    pub fn token_lifetime(mut self, lifetime: Duration) -> Tunnel {
        self.token_lifetime = lifetime.min(MAX_LIFETIME);
        self
    }

    /// Mints a token: one for each request and each renewal of a WebSocket.
    pub fn fresh_token(&self) -> Result<String, TunnelError> {
        self.signer
            .mint(&self.scope, &self.target, self.token_lifetime)
            .map_err(|source| TunnelError::Token { source })
    }

    /// The first phase of readiness: waits until Chromium answers, at most `wait_limit`.
    pub async fn version(&self, wait_limit: Duration) -> Result<Readiness, TunnelError> {
        let deadline = Instant::now() + wait_limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let stream = match self.idle_connections.take(left).await {
                Ok(stream) => stream,
                Err(_) if !self.idle_connections.seen() => return Err(TunnelError::no_bridge(wait_limit)),
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
                        return Err(TunnelError::not_ready(report, wait_limit));
                    }
                }
                _ => return Err(answer.refused(doing)),
            }
        }
    }

    /// The second phase: opens a WebSocket that carries CDP. It replaces an earlier one.
    ///
    /// Binary frames renew its token ([`keep_renewed`]); without them the bridge closes it with 4401.
    pub async fn open_cdp(&self, ws_path: &str) -> Result<WebSocketStream<UnixStream>, TunnelError> {
        let doing = "opening the connection to the browser";
        let stream = self.idle_connection(doing).await?;
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
                Err(BridgeResponse { status, body }.refused(doing))
            }
            Ok(Err(error)) => Err(TunnelError::Lost { doing, source: io::Error::other(error) }),
            Err(_) => Err(TunnelError::Lost { doing, source: io::ErrorKind::TimedOut.into() }),
        }
    }

    /// The status of the jail.
    pub async fn status(&self) -> Result<Report, TunnelError> {
        let doing = "asking for the jail's status";
        let stream = self.idle_connection(doing).await?;
        let answer = self.ask(stream, Method::GET, STATUS_PATH, None, doing).await?;
        match answer.status {
            StatusCode::OK => answer.parse(doing),
            _ => Err(answer.refused(doing)),
        }
    }

    /// Restarts a dead browser; [`Tunnel::version`] then waits for it.
    pub async fn restart(&self) -> Result<Report, TunnelError> {
        let doing = "starting the browser again";
        let stream = self.idle_connection(doing).await?;
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

    async fn idle_connection(&self, doing: &'static str) -> Result<UnixStream, TunnelError> {
        self.idle_connections.take(EXCHANGE).await.map_err(|source| TunnelError::Lost { doing, source })
    }

    async fn ask(
        &self,
        stream: UnixStream,
        method: Method,
        path: &'static str,
        wait: Option<Duration>,
        doing: &'static str,
    ) -> Result<BridgeResponse, TunnelError> {
        let token = self.fresh_token()?;
        let exchange = exchange(stream, method, path, &token, wait);
        match timeout(EXCHANGE + wait.unwrap_or_default(), exchange).await {
            Ok(result) => result.map_err(|source| TunnelError::Lost { doing, source }),
            Err(_) => Err(TunnelError::Lost { doing, source: io::ErrorKind::TimedOut.into() }),
        }
    }
}

/// Parses the version. The address comes from inside the jail, so only the expected form is accepted.
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
