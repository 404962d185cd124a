//! Bundles: one session's events, images and egress in one file under one signed hash.

use super::bundle_archive::{Member, Writer};
use super::replay;
use audit::{EventFilter, Key, LogEntry};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub const FORMAT: &str = "stockade bundle 1";
pub const CONTEXT: &str = "stockade bundle";
pub const MANIFEST: &str = "manifest.json";
pub const SIGNATURE: &str = "manifest.sig";
pub const SUMS: &str = "SHA256SUMS";
pub const EVENTS: &str = "events.jsonl";
pub const IMAGES: &str = "images/";

const README: &str = "\
One session of Stockade, a jailed browser for AI agents.

index.html     what happened, to be opened in a browser beside the images
events.jsonl   the lines of the audit log that are about this session, as they stand in it
session.json   the session, and what it did in short
egress.json    what left through the proxy
egress.har     the same from the audit log, as an HTTP Archive 1.2
images/        what its pages showed
manifest.json  every file above with its size and SHA-256
SHA256SUMS     the same for `sha256sum --check SHA256SUMS`
manifest.sig   the manifest's own SHA-256 and an ed25519 signature over \"stockade bundle\", a zero byte
               and the manifest's bytes

With Stockade, on any machine: stockade audit verify BUNDLE --key KEY
";

/// The contents of a bundle.
pub struct BundleContents {
    pub session_id: String,
    pub session: Value,
    pub egress: Value,
    /// Paths of the images.
    pub images: Vec<PathBuf>,
}

#[derive(Serialize, Deserialize)]
pub struct Manifest {
    pub format: String,
    pub session_id: String,
    pub made_at: String,
    pub files: Vec<Member>,
}

/// The content of `manifest.sig`.
#[derive(Serialize, Deserialize)]
pub struct Signature {
    pub sha256: String,
    pub key: String,
    pub signature: String,
}

/// A written bundle.
#[derive(Clone, Debug)]
pub struct WrittenBundle {
    pub path: PathBuf,
    pub files: usize,
    /// Hash of the manifest, which covers all files.
    pub sha256: String,
}

/// The log entries of a session, oldest first.
pub fn events_of(audit: &Path, session: &str) -> io::Result<Vec<LogEntry>> {
    let filter = EventFilter { session: Some(session.to_owned()), ..EventFilter::default() };
    let mut events = Vec::new();
    audit::read_all(audit, &filter, |entry| {
        events.push(entry);
        Ok(())
    })?;
    Ok(events)
}

/// Writes the bundle to a partial file and renames it, so that a crash leaves no incomplete bundle at `path`.
pub fn write(path: &Path, audit: &Path, contents: &BundleContents, key: &Key) -> io::Result<WrittenBundle> {
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let partial = path.with_extension("partial");
    let written = write_contents(&partial, audit, contents, key)
        .and_then(|(files, sha256)| std::fs::rename(&partial, path).map(|()| (files, sha256)));
    match written {
        Ok((files, sha256)) => Ok(WrittenBundle { path: path.to_owned(), files, sha256 }),
        Err(error) => {
            // A leftover partial file is harmless; report the first error.
            if let Err(cleanup) = std::fs::remove_file(&partial) {
                tracing::debug!(error = %cleanup, path = %partial.display(), "a half bundle stays behind");
            }
            Err(error)
        }
    }
}

fn write_contents(
    path: &Path,
    audit: &Path,
    contents: &BundleContents,
    key: &Key,
) -> io::Result<(usize, String)> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let mut tar = Writer::new(BufWriter::new(file));
    let events = events_of(audit, &contents.session_id)?;
    let lines: String = events.iter().map(|entry| format!("{}\n", entry.text)).collect();
    tar.add("README.txt", README.as_bytes())?;
    tar.add(EVENTS, lines.as_bytes())?;
    tar.add("session.json", &serde_json::to_vec_pretty(&contents.session)?)?;
    tar.add("egress.json", &serde_json::to_vec_pretty(&contents.egress)?)?;
    let archive = super::har(&contents.session_id, &super::egress_of(&events));
    tar.add("egress.har", &serde_json::to_vec_pretty(&archive)?)?;
    for image in &contents.images {
        let Some(name) = image.file_name().and_then(|name| name.to_str()) else { continue };
        let file = File::open(image)?;
        tar.add_from(&format!("{IMAGES}{name}"), file.metadata()?.len(), file)?;
    }
    let source = |name: &str| Some(format!("{IMAGES}{name}"));
    let page = replay::page(&contents.session_id, &events, &contents.egress, &source);
    tar.add("index.html", page.as_bytes())?;
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        session_id: contents.session_id.clone(),
        made_at: jiff::Timestamp::now().to_string(),
        files: tar.members.clone(),
    };
    let manifest = serde_json::to_vec_pretty(&manifest)?;
    tar.add(MANIFEST, &manifest)?;
    let sums: String = tar.members.iter().map(|file| format!("{}  {}\n", file.sha256, file.path)).collect();
    tar.add(SUMS, sums.as_bytes())?;
    let sha256 = audit::sha256_hex(&manifest);
    let signature = Signature {
        sha256: sha256.clone(),
        key: key.public().to_string(),
        signature: key.sign(CONTEXT, &manifest),
    };
    tar.add(SIGNATURE, &serde_json::to_vec_pretty(&signature)?)?;
    let files = tar.members.len();
    tar.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok((files, sha256))
}
