//! Errors of opening and writing the log.

use crate::key::KeyError;
use crate::verify::Defect;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error("cannot open the audit log {path}")]
    Open { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("cannot write the audit log")]
    Write { source: Arc<io::Error> },
    /// The log was altered. Nothing is added to it.
    #[error("the audit log {path} is damaged: {defect}")]
    Corrupt { path: Arc<PathBuf>, defect: Arc<Defect> },
    #[error("the audit log's writer has stopped")]
    Gone,
    #[error("the audit log cannot keep up with writing")]
    Busy,
    #[error("cannot serialize an event")]
    Encode { source: serde_json::Error },
    #[error("an event has {bytes} bytes, which is more than one line of the log can hold")]
    TooLong { bytes: usize },
}

impl AuditError {
    /// The cause from the operating system, if any, such as a full disk.
    pub fn io(&self) -> Option<&io::Error> {
        match self {
            AuditError::Open { source, .. } | AuditError::Key(KeyError::File { source, .. }) => Some(source),
            AuditError::Write { source } => Some(source),
            AuditError::Key(_)
            | AuditError::Corrupt { .. }
            | AuditError::Gone
            | AuditError::Busy
            | AuditError::Encode { .. }
            | AuditError::TooLong { .. } => None,
        }
    }
}
