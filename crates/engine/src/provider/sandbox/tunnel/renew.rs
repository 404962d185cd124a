//! Renews the token of a long-lived connection.

use super::{Tunnel, TunnelError};
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::sleep;

/// Sends a fresh token every half lifetime until the connection closes.
///
/// `renewals` is the connection's way to send binary frames.
pub async fn keep_renewed(tunnel: Arc<Tunnel>, renewals: mpsc::Sender<Bytes>) -> Result<(), TunnelError> {
    loop {
        tokio::select! {
            () = sleep(tunnel.token_lifetime / 2) => {}
            () = renewals.closed() => return Ok(()),
        }
        let token = tunnel.fresh_token()?;
        if renewals.send(token.into()).await.is_err() {
            return Ok(());
        }
    }
}
