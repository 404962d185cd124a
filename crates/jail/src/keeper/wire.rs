//! The protocol between the control plane and its keeper: a closed set of requests, one packet each.

use super::ProcessInfo;
use crate::launch::Launcher;
use crate::{JailError, JailId, JailSpec, JailState, JailStats};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

/// The size limit of a packet on both sides. The longest is a log tail in which every byte is escaped.
pub(super) const MAX_PACKET: usize = 160 * 1024;

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Must be the first request, and only the first.
    Setup(Launcher),
    Start {
        spec: JailSpec,
        root: PathBuf,
    },
    State(JailId),
    Stats(JailId),
    LogTail(JailId),
    Destroy(JailId),
    /// End all jails and exit. Closing the socket means the same.
    Shutdown,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Done,
    Started(ProcessInfo),
    State(Option<JailState>),
    Stats(Option<JailStats>),
    Log(String),
    Failed(WireError),
}

/// A [`JailError`] in its serialized form.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum WireError {
    StartFailed { log: String },
    UnknownJail,
    JailExists,
    StillAlive,
    Other { what: String, errno: Option<i32> },
}

/// A packet. The number keeps a late reply to an abandoned request from being taken for the next one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Packet<T> {
    pub number: u64,
    pub body: T,
}

impl From<JailError> for WireError {
    fn from(error: JailError) -> WireError {
        let what = error.to_string();
        match error {
            JailError::StartFailed { log, .. } => WireError::StartFailed { log },
            JailError::UnknownJail { .. } => WireError::UnknownJail,
            JailError::JailExists { .. } => WireError::JailExists,
            JailError::StillAlive { .. } => WireError::StillAlive,
            JailError::File { source, .. }
            | JailError::System { source, .. }
            | JailError::InKeeper { source, .. } => WireError::Other { what, errno: source.raw_os_error() },
            _ => WireError::Other { what, errno: None },
        }
    }
}

impl WireError {
    pub fn into_error(self, id: &JailId) -> JailError {
        let id = id.clone();
        match self {
            WireError::StartFailed { log } => JailError::StartFailed { id, log },
            WireError::UnknownJail => JailError::UnknownJail { id },
            WireError::JailExists => JailError::JailExists { id },
            WireError::StillAlive => JailError::StillAlive { id },
            WireError::Other { what, errno } => {
                let source =
                    errno.map_or_else(|| io::Error::other("no error number"), io::Error::from_raw_os_error);
                JailError::InKeeper { what, source }
            }
        }
    }
}

pub(super) fn send_packet<T: Serialize>(socket: impl AsFd, packet: &Packet<T>) -> io::Result<()> {
    let bytes = serde_json::to_vec(packet)?;
    if bytes.len() > MAX_PACKET {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    rustix::io::retry_on_intr(|| send(&socket, &bytes, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// `None` if the other side has closed the socket.
pub(super) fn receive_packet<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<Option<Packet<T>>> {
    let mut bytes = vec![0; MAX_PACKET];
    let (_, length) = match rustix::io::retry_on_intr(|| recv(&socket, &mut bytes, RecvFlags::TRUNC)) {
        Err(Errno::CONNRESET) => return Ok(None),
        other => other?,
    };
    match bytes.get(..length) {
        Some([]) => Ok(None),
        Some(packet) => Ok(Some(serde_json::from_slice(packet)?)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}
