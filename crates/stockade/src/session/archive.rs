//! A first, plain archive of a session: a folder with what it did and the pictures it took.

use super::{EndReason, History, Registry, Session, Summary};
use crate::error::Fault;
use jiff::Timestamp;
use serde::Serialize;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug, Serialize)]
pub struct Archived {
    pub session_id: policy::SessionId,
    pub path: PathBuf,
    pub files: usize,
    pub closed_at: Timestamp,
}

/// What `session.json` in the folder holds.
#[derive(Serialize)]
struct Record<'a> {
    session: Summary,
    history: History,
    egress: &'a [egress::Entry],
    egress_forgotten: u64,
    images: Vec<String>,
}

impl Registry {
    /// Writes `<archives>/<session>/` and closes the session if it is open.
    pub async fn archive(self: &Arc<Self>, session: &Arc<Session>) -> Result<Archived, Fault> {
        let folder = self.settings.archives.join(session.id.as_str());
        // The ledger lives as long as the runtime; an ended session's is gone.
        let ledger = session.runtime.lock().await.as_ref().map(|runtime| runtime.egress.ledger());
        let images = session.images.all();
        let record = Record {
            session: session.summary(),
            history: session.history(),
            egress: ledger.as_ref().map_or(&[], |ledger| &ledger.entries),
            egress_forgotten: ledger.as_ref().map_or(0, |ledger| ledger.dropped),
            images: images
                .iter()
                .filter_map(|i| i.path.file_name())
                .map(|n| n.to_string_lossy().into_owned())
                .collect(),
        };
        let text = serde_json::to_vec_pretty(&record).map_err(|e| Fault::caused("internal", &e))?;
        let sources: Vec<PathBuf> = images.into_iter().map(|image| image.path).collect();
        let files = sources.len() + 1;
        let target = folder.clone();
        tokio::task::spawn_blocking(move || write(&target, &text, &sources))
            .await
            .map_err(|e| Fault::caused("internal", &e))?
            .map_err(|e| Fault::unwritable("cannot write the archive", &e))?;
        self.end(session, EndReason::Closed).await;
        let closed_at = session.ended().map_or_else(Timestamp::now, |ended| ended.at);
        Ok(Archived { session_id: session.id.clone(), path: folder, files, closed_at })
    }
}

/// Written beside its place and moved there whole, so that a crash leaves no half archive under the name.
fn write(folder: &Path, record: &[u8], images: &[PathBuf]) -> std::io::Result<()> {
    let partial = folder.with_extension("partial");
    match std::fs::remove_dir_all(&partial) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&partial)?;
    let filled = fill(&partial, record, images);
    if let Err(error) = filled.and_then(|()| replace(&partial, folder)) {
        // What was written so far only takes up room; the first error is the one that matters.
        std::fs::remove_dir_all(&partial).unwrap_or_else(|cleanup| {
            tracing::warn!(error = %cleanup, path = %partial.display(), "cannot remove a half archive");
        });
        return Err(error);
    }
    Ok(())
}

fn fill(folder: &Path, record: &[u8], images: &[PathBuf]) -> std::io::Result<()> {
    let path = folder.join("session.json");
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(record)?;
    file.sync_all()?;
    for image in images {
        if let Some(name) = image.file_name() {
            std::fs::copy(image, folder.join(name))?;
        }
    }
    Ok(())
}

fn replace(partial: &Path, folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::rename(partial, folder)
}
