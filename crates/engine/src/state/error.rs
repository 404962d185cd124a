//! Errors of the state folder.

use crate::error::Fault;
use error_code::ErrorCode;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("there is no state folder: --state, $STOCKADE_STATE, $XDG_DATA_HOME and $HOME are all unset")]
    NoFolder,
    #[error("there is no folder for templates: $STOCKADE_TEMPLATES, $XDG_DATA_HOME and $HOME are all unset")]
    NoTemplatesFolder,
    #[error("cannot find the path of this program")]
    NoProgram { source: io::Error },
    #[error("{doing} the state folder {}", folder.display())]
    Unusable { doing: &'static str, folder: PathBuf, source: io::Error },
    #[error("the state folder {} belongs to another user (uid {owner})", folder.display())]
    NotOurs { folder: PathBuf, owner: u32 },
    #[error("another control plane{} serves from the state folder {}", holder(*pid), folder.display())]
    Locked { folder: PathBuf, pid: Option<u32> },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

impl StateError {
    pub fn code(&self) -> ErrorCode {
        match self {
            StateError::NoFolder | StateError::NoTemplatesFolder => ErrorCode::StateNoFolder,
            StateError::NoProgram { .. } => ErrorCode::BridgeMissing,
            StateError::Unusable { .. } => ErrorCode::StateUnusable,
            StateError::NotOurs { .. } => ErrorCode::StateNotOurs,
            StateError::Locked { .. } => ErrorCode::StateLocked,
        }
    }
}

impl From<StateError> for Fault {
    fn from(error: StateError) -> Fault {
        if let StateError::Unusable { source, .. } = &error {
            return Fault::io(error.code(), &error, source)
                .hint_if_none("Check the path and its permissions, or name another folder with --state.");
        }
        let fault = Fault::caused(error.code(), &error);
        match error {
            StateError::NoFolder => fault.hint("Name one with --state FOLDER."),
            StateError::NoTemplatesFolder => fault.hint("Set $HOME or $STOCKADE_TEMPLATES."),
            StateError::NoProgram { .. } => fault.hint("Name the bridge with --bridge or $STOCKADE_BRIDGE."),
            StateError::NotOurs { .. } => {
                fault.hint("Run as that user, or name a folder of your own with --state.")
            }
            StateError::Locked { .. } => {
                fault.hint("Use the running one, stop it, or give this one its own folder with --state.")
            }
            StateError::Unusable { .. } => fault,
        }
    }
}
