//! Opens the log as the settings say.

use crate::config::Config;
use crate::error::Fault;
use crate::gate::audit_fault;
use crate::state::State;
use audit::{ApprovalAuthority, Key, Log, LogOptions};
use std::path::PathBuf;

/// Where the key that signs heads is kept: apart from the log, and elsewhere altogether if the operator says so.
pub fn key_file(config: &Config, state: &State) -> PathBuf {
    match &config.audit.key_file {
        Some(path) => PathBuf::from(path),
        None => state.folder().join("keys").join("audit.key"),
    }
}

pub fn load_key(config: &Config, state: &State) -> Result<Key, Fault> {
    Key::load_or_create(&key_file(config, state)).map_err(|error| audit_fault(error.into()))
}

pub fn open_log(config: &Config, state: &State, instance: &str) -> Result<(Log, ApprovalAuthority), Fault> {
    let options = LogOptions {
        key: load_key(config, state)?,
        segment_bytes: config.audit.segment_size.bytes(),
        most_bytes: config.audit.max_size.bytes(),
    };
    let (log, authority) = Log::open(&state.audit(), instance, options).map_err(audit_fault)?;
    if let Err(error) = log.check() {
        tracing::error!(%error, "the audit log is damaged; every action is refused until it is moved away");
    }
    Ok((log, authority))
}
