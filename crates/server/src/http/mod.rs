//! `stockade serve`: MCP over HTTP for agents, a status page, and a socket for the command line.

mod actions;
mod control_socket;
mod guard;
mod listen;
mod mcp_sessions;
mod operator;
mod places;
mod routes;
mod status;

pub use operator::{Needs as OperatorNeeds, ROUTES as OPERATOR_ROUTES};

use crate::operator::webhook::Secret;
use crate::operator::{Desk, Teller};
use engine::control::Control;
use engine::error::Fault;
use engine::settings::Config;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;

/// How long open connections may finish after a stop was asked for.
const GRACE: Duration = Duration::from_secs(1);

/// Both listeners, bound; nothing is served yet.
pub struct Bound {
    http: TcpListener,
    socket: UnixListener,
    pub address: SocketAddr,
}

/// `socket` is the control socket of the state folder, whose lock the caller holds.
pub async fn bind(address: SocketAddr, socket: std::os::unix::net::UnixListener) -> Result<Bound, Fault> {
    let http = TcpListener::bind(address).await.map_err(|e| cannot_listen(address, &e))?;
    let address = http.local_addr().map_err(|e| cannot_listen(address, &e))?;
    let socket = socket
        .set_nonblocking(true)
        .and_then(|()| UnixListener::from_std(socket))
        .map_err(|e| Fault::io("internal", "cannot use the control socket", &e))?;
    Ok(Bound { http, socket, address })
}

/// Serves until `stop`, then lets connections finish for a moment.
pub async fn serve(
    bound: Bound,
    control: Arc<Control>,
    desk: Desk,
    config: &Config,
    webhook: Option<WebhookEnd>,
    stop: CancellationToken,
) -> Result<(), Fault> {
    let outside = config.server.console_url.as_ref().and_then(|url| url.parse().ok());
    let place = guard::Place { address: bound.address, outside };
    let console = place.console();
    if let Ok(console) = url::Url::parse(&format!("{console}/")) {
        control.approvals.console_is_at(console);
    }
    let secret = webhook.map(|webhook| webhook.start(&control, &console, &stop));
    let doors = operator::Doors::new(control.clone(), desk.clone(), &place, secret, stop.child_token());
    let public = routes::public(doors, place, config.server.open);
    let private = control_socket::router(operator::SocketState { control, desk }, console);
    let http = async {
        listen::accept(bound.http, public, stop.clone()).await;
        // Connections that are still open finish by themselves, or are cut with the process.
        Ok(())
    };
    let socket = axum::serve(bound.socket, private).with_graceful_shutdown(stop.clone().cancelled_owned());
    let late = async {
        stop.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    let served = tokio::select! {
        served = async { tokio::try_join!(http, socket) } => served.map(|_| ()),
        () = late => Ok(()),
    };
    served.map_err(|e| Fault::io("internal", "the server stopped", &e))
}

/// The webhook of the settings: where it is, and the secret that it shares with us.
pub struct WebhookEnd {
    url: url::Url,
    secret: Arc<Secret>,
}

impl WebhookEnd {
    /// `None` if there is none; a secret that others could read stops the start.
    pub fn read(config: &Config) -> Result<Option<WebhookEnd>, Fault> {
        let webhook = &config.hitl.webhook;
        let (Some(url), Some(file)) = (&webhook.url, &webhook.secret_file) else { return Ok(None) };
        let secret = Arc::new(Secret::read(Path::new(file))?);
        let url = url.parse().map_err(|error| Fault::caused("config_value", &error))?;
        Ok(Some(WebhookEnd { url, secret }))
    }

    /// Begins to tell it of questions; its answers are checked with the secret.
    fn start(self, control: &Control, console: &str, stop: &CancellationToken) -> Arc<Secret> {
        let teller = Teller {
            book: control.approvals.clone(),
            log: control.log.clone(),
            url: self.url,
            secret: self.secret.clone(),
            console: console.to_owned(),
        };
        tokio::spawn(teller.run(stop.child_token()));
        self.secret
    }
}

pub fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Fault {
    let hint = format!(
        "Stop what is listening there (`ss -ltnp 'sport = :{}'`), or choose another port: stockade serve --listen 127.0.0.1:0",
        address.port()
    );
    match error.kind() {
        std::io::ErrorKind::AddrInUse => Fault::new("port_in_use", format!("{address} is taken")).hint(hint),
        _ => Fault::io("cannot_listen", format!("cannot listen on {address}"), error).hint(hint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn an_address_that_is_taken_is_told_from_one_that_is_not_to_be_had() {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        for (kind, code) in
            [(ErrorKind::AddrInUse, "port_in_use"), (ErrorKind::PermissionDenied, "cannot_listen")]
        {
            let fault = cannot_listen(address, &Error::from(kind));
            assert_eq!(fault.code, code);
            assert!(fault.hint.contains("--listen"), "{fault}");
        }
    }
}
