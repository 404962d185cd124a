//! Opens the audit log from the settings.

use crate::error::Fault;
use crate::error::audit_fault;
use crate::settings::Audit;
use crate::state::State;
use audit::{ApprovalAuthority, Key, Log, LogOptions};
use std::path::PathBuf;

/// Path of the key that signs heads: the configured one, or a default outside the log's folder.
pub fn key_file(settings: &Audit, state: &State) -> PathBuf {
    match &settings.key_file {
        Some(path) => PathBuf::from(path),
        None => state.folder().join("keys").join("audit.key"),
    }
}

pub fn load_key(settings: &Audit, state: &State) -> Result<Key, Fault> {
    Key::load_or_create(&key_file(settings, state)).map_err(|error| audit_fault(error.into()))
}

pub fn open_log(settings: &Audit, state: &State, instance: &str) -> Result<(Log, ApprovalAuthority), Fault> {
    let options = LogOptions {
        key: load_key(settings, state)?,
        segment_bytes: settings.segment_size.bytes(),
        most_bytes: settings.max_size.bytes(),
    };
    let (log, authority) = Log::open(&state.audit(), instance, options).map_err(audit_fault)?;
    if let Err(error) = log.check() {
        tracing::error!(%error, "the audit log is damaged; every action is refused until it is moved away");
    }
    Ok((log, authority))
}
