//! What the control plane and its keeper say to each other: one closed set of requests, a packet each.

use super::{JailInfo, JailSpec, JailState};
use crate::cgroup::Cgroups;
use crate::{Id, JailError, Stats};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

/// A larger packet is an error on either side. The longest is a log tail whose every byte was escaped.
pub(super) const MAX_PACKET: usize = 160 * 1024;

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// The first one, and only that.
    Setup(Setup),
    Create(JailSpec),
    State(Id),
    Stats(Id),
    SetCpu(Id, Option<f64>),
    LogTail(Id),
    Destroy(Id),
    /// End all jails and exit. Closing the socket says the same.
    Shutdown,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    pub dir: PathBuf,
    pub cgroups: Option<Cgroups>,
    pub bwrap: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Done,
    Created(JailInfo),
    State(Option<JailState>),
    Stats(Option<Stats>),
    Log(String),
    Failed(Fault),
}

/// A [`JailError`] on its way through the socket.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Fault {
    StartFailed { log: String },
    UnknownJail,
    JailExists,
    StillAlive,
    Other { what: String, errno: Option<i32> },
}

/// A packet, numbered so that the answer to a question that was given up is not taken for the next one's.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Packet<T> {
    pub number: u64,
    pub body: T,
}

impl From<JailError> for Fault {
    fn from(error: JailError) -> Fault {
        let what = error.to_string();
        match error {
            JailError::StartFailed { log, .. } => Fault::StartFailed { log },
            JailError::UnknownJail { .. } => Fault::UnknownJail,
            JailError::JailExists { .. } => Fault::JailExists,
            JailError::StillAlive { .. } => Fault::StillAlive,
            JailError::File { source, .. }
            | JailError::System { source, .. }
            | JailError::InKeeper { source, .. } => Fault::Other { what, errno: source.raw_os_error() },
            _ => Fault::Other { what, errno: None },
        }
    }
}

impl Fault {
    pub fn about(self, id: &Id) -> JailError {
        let id = id.clone();
        match self {
            Fault::StartFailed { log } => JailError::StartFailed { id, log },
            Fault::UnknownJail => JailError::UnknownJail { id },
            Fault::JailExists => JailError::JailExists { id },
            Fault::StillAlive => JailError::StillAlive { id },
            Fault::Other { what, errno } => {
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

/// `None` when the other side is gone.
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
