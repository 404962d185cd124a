//! Opens the audit log from the settings.

use crate::error::Fault;
use crate::error::audit_fault;
use crate::settings::Audit;
use crate::state::State;
use audit::{ApprovalAuthority, Event, EventKind, EventSubject, Key, Log, LogOptions, UnfinishedSession};
use error_code::ErrorCode;
use policy::{Actor, Scope, SessionId, Tenant};
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

/// Records the end of sessions that were open when this chain's last writer stopped without ending them.
pub async fn close_interrupted_sessions(log: &Log) -> Result<(), Fault> {
    if log.check().is_err() {
        return Ok(());
    }
    let folder = log.folder().to_owned();
    let found = tokio::task::spawn_blocking(move || audit::unfinished_sessions(&folder)).await;
    let found = found.map_err(|error| Fault::caused(ErrorCode::Internal, &error))?;
    let found =
        found.map_err(|error| Fault::io(ErrorCode::AuditUnreadable, "cannot read the audit log", &error))?;
    for UnfinishedSession { tenant, actor, session_id } in found {
        let (Ok(tenant), Ok(actor)) = (Tenant::parse(&tenant), Actor::parse(&actor)) else { continue };
        let Ok(session) = SessionId::parse(&session_id) else { continue };
        let subject = EventSubject::session(&Scope { tenant, actor }, &session, None);
        let event = Event::new(EventKind::SessionEnded, subject)
            .result("interrupted")
            .detail("the control plane stopped without ending it; its browser ended with it");
        log.append(&event).await.map_err(audit_fault)?;
    }
    Ok(())
}
