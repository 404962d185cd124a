//! Archives a session into one bundle in the state folder.

use super::{EndReason, RecordMode, Registry, Session};
use crate::error::Fault;
use crate::record::{BundleContents, WrittenBundle, write_bundle};
use audit::{Event, EventKind};
use egress::Egress;
use error_code::ErrorCode;
use jiff::Timestamp;
use redact::{Redacted, RedactedFields, redacted};
use serde::Serialize;
use serde_json::{Value, json};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug, Serialize, RedactedFields)]
pub struct Archived {
    pub session_id: policy::SessionId,
    pub path: Redacted,
    pub files: usize,
    /// Hash of the manifest, which covers the whole bundle.
    pub sha256: Redacted,
    pub closed_at: Timestamp,
}

const EGRESS: &str = "egress.json";

impl Session {
    /// The egress ledger with secrets redacted from hosts and paths, because a page can put a secret into one.
    pub(super) fn ledger(&self, egress: &Egress) -> egress::LedgerSnapshot {
        let mut ledger = egress.ledger();
        for entry in &mut ledger.entries {
            entry.host = self.redact(&entry.host).into_string();
            entry.path = entry.path.take().map(|path| self.redact(&path).into_string());
        }
        ledger
    }
}

impl Registry {
    /// Closes the session if it is open and writes `<archives>/<session>.tar`.
    pub async fn archive(self: &Arc<Self>, session: &Arc<Session>) -> Result<Archived, Fault> {
        let ledger = match session.active.lock().await.as_ref() {
            Some(active) => {
                active.provided.egress().map_or(Value::Null, |egress| json!(session.ledger(egress)))
            }
            None => Value::Null,
        };
        let unwritable = |e: io::Error| Fault::unwritable("cannot write the archive", &e);
        let images = session.images.all();
        // Transient images are removed with the session, so they are linked into a scratch folder first.
        let scratch = self.settings.archives.join(format!("{}.images", session.id));
        let paths = images.into_iter().map(|image| image.path).collect();
        let linked = link(&scratch, paths).map_err(unwritable)?;
        self.end(session, EndReason::Closed).await;
        let path = self.settings.archives.join(format!("{}.tar", session.id));
        let made = self.bundle(session, path, linked, ledger).await;
        remove(&scratch);
        let WrittenBundle { path, files, sha256 } = made?;
        let (path, sha256) =
            (Redacted::outside_sessions(path.display().to_string()), Redacted::outside_sessions(sha256));
        let about = session.event_subject();
        let event =
            Event::new(EventKind::SessionArchived, about).result("ok").detail(redacted!("sha256 {}", sha256));
        self.log.append(&event).await.map_err(crate::error::audit_fault)?;
        let closed_at = session.ended().map_or_else(Timestamp::now, |ended| ended.at);
        Ok(Archived { session_id: session.id.clone(), path, files, sha256, closed_at })
    }

    async fn bundle(
        &self,
        session: &Session,
        path: PathBuf,
        linked: Vec<PathBuf>,
        ledger: Value,
    ) -> Result<WrittenBundle, Fault> {
        let summary = json!({"session": session.summary(), "history": session.history()});
        let (audit, key) = (self.settings.audit.clone(), self.settings.key.clone());
        let (id, folder) = (session.id.to_string(), session.images.folder().to_owned());
        let lasting = session.record == RecordMode::Audit;
        let work = move || {
            let images = if linked.is_empty() && lasting { pictures(&folder)? } else { linked };
            let egress = if ledger.is_null() { read_ledger(&folder)? } else { ledger };
            let parts = BundleContents { session_id: id, session: summary, egress, images };
            write_bundle(&path, &audit, &parts, &key)
        };
        let made =
            tokio::task::spawn_blocking(work).await.map_err(|e| Fault::caused(ErrorCode::Internal, &e))?;
        made.map_err(|e| Fault::unwritable("cannot write the archive", &e))
    }

    /// Stores the egress ledger next to the images of an audited session.
    pub(super) fn keep_ledger(&self, session: &Session, ledger: &impl Serialize) {
        let path = session.images.folder().join(EGRESS);
        let kept = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(session.images.folder())
            .and_then(|()| std::fs::write(&path, serde_json::to_vec(ledger)?));
        if let Err(error) = kept {
            tracing::warn!(%error, session = %session.id, "the egress ledger of a session is not kept");
        }
    }
}

/// The egress ledger beside the pictures; empty if none was kept. One that cannot be read is an error: an archive must
/// not claim that nothing was sent.
fn read_ledger(folder: &Path) -> io::Result<Value> {
    match std::fs::read(folder.join(EGRESS)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(json!({"entries": [], "dropped": 0})),
        text => Ok(serde_json::from_slice(&text?)?),
    }
}

/// All images in a folder, oldest first.
fn pictures(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with("img-")) {
            found.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Hard-links each file into `scratch`.
fn link(scratch: &Path, files: Vec<PathBuf>) -> io::Result<Vec<PathBuf>> {
    if files.is_empty() {
        return Ok(files);
    }
    remove(scratch);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(scratch)?;
    let mut linked = Vec::new();
    for file in files {
        if let Some(name) = file.file_name() {
            let path = scratch.join(name);
            std::fs::hard_link(&file, &path)?;
            linked.push(path);
        }
    }
    Ok(linked)
}

fn remove(folder: &Path) {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, folder = %folder.display(), "cannot remove a folder of links");
        }
        _ => {}
    }
}
