//! `stockade serve`: MCP over HTTP for agents, a status page, and a socket for the command line.

mod actions;
mod control_socket;
mod guard;
mod listen;
mod mcp_sessions;
mod routes;
mod status;

pub use control_socket::{ACTIONS_PATH, PIPE_PATH, SCOPE_HEADER};

use crate::control::Control;
use crate::error::Fault;
use std::net::SocketAddr;
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
    open: bool,
    stop: CancellationToken,
) -> Result<(), Fault> {
    if let Ok(console) = url::Url::parse(&format!("http://{}/console/", bound.address)) {
        control.approvals.console_is_at(console);
    }
    let public = routes::public(control.clone(), bound.address, open, stop.child_token());
    let private = control_socket::router(control);
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
