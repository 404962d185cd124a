//! Chromium's proxy: a port on the jail's loopback whose bytes go to the egress socket.
//!
//! The bridge parses none of them. The host decides where they may go, and how long a connection may idle.

use crate::log::Log;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// Connections at once. Beyond it none is accepted until one ends; Chromium waits in the backlog.
const MAX_CONNECTIONS: usize = 256;
const RETRY_DELAY: Duration = Duration::from_millis(50);

pub async fn listen(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
}

pub async fn serve(listener: TcpListener, egress: PathBuf, log: Log) {
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let egress = Arc::new(egress);
    loop {
        let permit = connections.clone().acquire_owned().await;
        match listener.accept().await {
            Ok((stream, _)) => {
                let egress = egress.clone();
                let log = log.clone();
                tokio::spawn(async move {
                    relay(stream, &egress, &log).await;
                    drop(permit);
                });
            }
            // Out of descriptors, most likely: others have to end first.
            Err(error) => {
                log.note(format_args!("cannot accept a proxy connection: {error}"));
                sleep(RETRY_DELAY).await;
            }
        }
    }
}

async fn relay(mut stream: TcpStream, egress: &PathBuf, log: &Log) {
    // Small writes of a TLS handshake must not wait for each other. If this fails, the handshake is slower.
    stream.set_nodelay(true).ok();
    match UnixStream::connect(egress).await {
        Ok(mut host) => {
            // One side closing its half is passed on; a reset ends both, which both sides see.
            copy_bidirectional(&mut stream, &mut host).await.ok();
        }
        Err(error) => log.note(format_args!("cannot reach the egress socket: {error}")),
    }
}
