//! Opening the connection to an address that was checked, directly or through the operator's proxy.

use crate::rules::{Route, RouteError};
use crate::{AddressRange, Reason};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;

/// Tries the route's addresses in turn; each has an equal share of `timeout`, so that a dead one does not
/// use up the time of the next. The last failure counts.
pub(crate) async fn connect(route: &Route, timeout: Duration) -> Result<(TcpStream, SocketAddr), RouteError> {
    let count = u32::try_from(route.addresses().len()).unwrap_or(u32::MAX).max(1);
    let mut last = RouteError::from(Reason::HostNotFound);
    for address in route.addresses() {
        let attempt = tokio::time::timeout(timeout / count, dial(route, *address)).await;
        match attempt.unwrap_or(Err(Reason::ConnectTimeout)) {
            Ok(stream) => return Ok((stream, *address)),
            Err(reason) => last = RouteError { reason, address: Some(*address) },
        }
    }
    Err(last)
}

async fn dial(route: &Route, address: SocketAddr) -> Result<TcpStream, Reason> {
    match route.upstream() {
        Some(upstream) => upstream.dial(address).await,
        None => {
            let stream = TcpStream::connect(address).await.map_err(|error| reason_of(&error))?;
            usable(stream, address, route.is_mapped())
        }
    }
}

/// A public address can be this machine's own. Then both ends of the connection have it, and a firewall
/// that guards the machine from outside was not in the way.
fn usable(stream: TcpStream, address: SocketAddr, is_mapped: bool) -> Result<TcpStream, Reason> {
    let local = stream.local_addr().map_err(|error| reason_of(&error))?;
    if !is_mapped && local.ip() == address.ip() {
        return Err(Reason::Address(AddressRange::OwnMachine));
    }
    stream.set_nodelay(true).map_err(|error| reason_of(&error))?;
    Ok(stream)
}

fn reason_of(error: &io::Error) -> Reason {
    match error.kind() {
        ErrorKind::ConnectionRefused => Reason::ConnectionRefused,
        ErrorKind::TimedOut => Reason::ConnectTimeout,
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::NotConnected => {
            Reason::ConnectionLost
        }
        _ => Reason::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn an_address_of_this_machine_is_refused_unless_the_operator_mapped_it() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr().unwrap();
        let stream = TcpStream::connect(address).await.unwrap();
        assert_eq!(usable(stream, address, false).unwrap_err(), Reason::Address(AddressRange::OwnMachine));
        let stream = TcpStream::connect(address).await.unwrap();
        assert!(usable(stream, address, true).is_ok());
    }
}
