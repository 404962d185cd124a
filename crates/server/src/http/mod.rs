//! `stockade serve`: MCP over HTTP for agents, a status page, and a socket for the command line.

mod actions;
mod connection_limiter;
mod control_socket;
mod guard;
mod listen;
mod mcp_messages;
mod mcp_sessions;
mod operator;
mod routes;
mod status;
mod unfinished;

pub use operator::{ROUTES as OPERATOR_ROUTES, RouteAccess as OperatorRouteAccess};

use crate::operator::webhook::{WebhookSecret, read_address};
use crate::operator::{OperatorAuth, TerminalLogins, WebhookNotifier};
use axum::middleware;
use engine::control::Control;
use engine::error::Fault;
use engine::settings::{Config, WebhookFormat};
use error_code::ErrorCode;
use redact::Redacted;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;
use unfinished::Unfinished;

/// How long calls that are running at a stop may take to be answered. Their sessions are ended, so most are at once.
const ANSWER_GRACE: Duration = Duration::from_secs(5);
/// How long open connections may take to finish after that.
const GRACE: Duration = Duration::from_secs(1);

/// Both listeners, bound but not yet serving.
pub struct Listeners {
    http: TcpListener,
    socket: UnixListener,
    pub address: SocketAddr,
}

/// `socket` is the control socket of the state folder, whose lock the caller holds.
pub async fn bind(address: SocketAddr, socket: std::os::unix::net::UnixListener) -> Result<Listeners, Fault> {
    let http = TcpListener::bind(address).await.map_err(|e| cannot_listen(address, &e))?;
    let address = http.local_addr().map_err(|e| cannot_listen(address, &e))?;
    let socket = socket
        .set_nonblocking(true)
        .and_then(|()| UnixListener::from_std(socket))
        .map_err(|e| Fault::io(ErrorCode::Internal, "cannot use the control socket", &e))?;
    Ok(Listeners { http, socket, address })
}

/// Serves until `stop`, then ends all sessions, which answers the calls that are running, and gives connections a moment
/// to finish.
pub async fn serve(
    listeners: Listeners,
    control: Arc<Control>,
    auth: OperatorAuth,
    config: &Config,
    webhook: Option<WebhookEndpoint>,
    stop: CancellationToken,
) -> Result<(), Fault> {
    let external_url = config.server.console_url.as_ref().and_then(|url| url.parse().ok());
    let address = guard::ServerAddress { address: listeners.address, external_url };
    let console = address.console_url();
    if let Ok(console) = url::Url::parse(&format!("{console}/")) {
        control.approvals.set_console_url(console);
    }
    let secret = webhook.and_then(|webhook| webhook.start(&control, &console, &stop));
    let state =
        operator::OperatorState::new(control.clone(), auth.clone(), &address, secret, stop.child_token());
    let traffic = routes::AgentTraffic { requests: Unfinished::default(), streams: CancellationToken::new() };
    let public = routes::public_router(state, address, config.server.open, traffic.clone());
    let socket_state =
        operator::SocketState { control: control.clone(), auth, terminal_logins: TerminalLogins::default() };
    let private = control_socket::router(socket_state, console)
        .layer(middleware::from_fn_with_state(traffic.requests.clone(), unfinished::count_request));
    let connections = Unfinished::default();
    let http = listen::accept(listeners.http, public, stop.clone(), connections.clone());
    let socket =
        axum::serve(listeners.socket, private.into_make_service_with_connect_info::<operator::SocketPeer>())
            .with_graceful_shutdown(stop.clone().cancelled_owned());
    let stopped = async {
        stop.cancelled().await;
        // Its calls return with the reason.
        control.gate.sessions.shut_down().await;
        let unanswered = traffic.requests.wait(ANSWER_GRACE).await;
        traffic.streams.cancel();
        let open = connections.wait(GRACE).await;
        if unanswered + open > 0 {
            tracing::warn!(unanswered, open, "connections are cut");
        }
    };
    let socket = async {
        match socket.await {
            Ok(()) => {
                // It ends at the stop only.
                std::future::pending::<()>().await;
                Ok(())
            }
            Err(error) => Err(error),
        }
    };
    let served = tokio::select! {
        served = async { tokio::join!(http, socket).1 } => served,
        () = stopped => Ok(()),
    };
    served.map_err(|e| Fault::io(ErrorCode::Internal, "the server stopped", &e))
}

/// The configured webhook: its address, what it takes and the shared secret.
pub struct WebhookEndpoint {
    url: url::Url,
    format: WebhookFormat,
    secret: Option<Arc<WebhookSecret>>,
}

impl WebhookEndpoint {
    /// `None` if no webhook is configured. A secret that others can read is an error.
    pub fn read(config: &Config) -> Result<Option<WebhookEndpoint>, Fault> {
        let webhook = &config.hitl.webhook;
        let url = match (&webhook.url, &webhook.url_file) {
            (Some(url), _) => {
                url::Url::parse(url).map_err(|error| Fault::caused(ErrorCode::ConfigValue, &error))?
            }
            (None, Some(file)) => read_address(Path::new(file))?,
            (None, None) => return Ok(None),
        };
        if webhook.format == WebhookFormat::Telegram && !url.query_pairs().any(|(name, _)| name == "chat_id")
        {
            let message = "hitl.webhook: Telegram's address names no chat";
            return Err(Fault::new(ErrorCode::ConfigValue, message)
                .hint("https://api.telegram.org/botTOKEN/sendMessage?chat_id=ID"));
        }
        let read = |file: &String| WebhookSecret::read(Path::new(file)).map(Arc::new);
        let secret = webhook.secret_file.as_ref().map(read).transpose()?;
        Ok(Some(WebhookEndpoint { url, format: webhook.format, secret }))
    }

    /// Starts the notifier, and returns the secret that verifies verdicts. Without one, none are accepted.
    fn start(self, control: &Control, console: &str, stop: &CancellationToken) -> Option<Arc<WebhookSecret>> {
        let notifier = WebhookNotifier {
            approvals: control.approvals.clone(),
            log: control.log.clone(),
            url: self.url,
            format: self.format,
            secret: self.secret.clone(),
            console: console.to_owned(),
        };
        tokio::spawn(notifier.run(stop.child_token()));
        self.secret
    }
}

pub fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Fault {
    let hint = Redacted::outside_sessions(format!(
        "Stop what is listening there (`ss -ltnp 'sport = :{}'`), or choose another port: stockade serve --listen 127.0.0.1:0",
        address.port()
    ));
    match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            Fault::outside_sessions(ErrorCode::PortInUse, format!("{address} is taken")).hint(hint)
        }
        _ => Fault::io(ErrorCode::CannotListen, format!("cannot listen on {address}"), error).hint(hint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn an_address_in_use_has_its_own_code() {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        for (kind, code) in
            [(ErrorKind::AddrInUse, "port_in_use"), (ErrorKind::PermissionDenied, "cannot_listen")]
        {
            let fault = cannot_listen(address, &Error::from(kind));
            assert_eq!(fault.code.to_string(), code);
            assert!(fault.hint.contains("--listen"), "{fault}");
        }
    }
}
