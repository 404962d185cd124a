//! Retention of recordings, bundles and the log, by age and by size. Each removal is recorded.
//!
//! Ages count the machine's uptime, not the calendar, so a clock that jumps deletes nothing early. An artifact's age
//! starts when it is first seen, so a lost index only keeps artifacts longer.

mod first_seen;

use crate::settings::Config;
use audit::{Event, EventKind, EventSubject, Log};
use first_seen::{FirstSeenIndex, Uptime};
use redact::Redacted;
use rustix::fs::{FlockOperation, flock};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Between two sweeps.
const INTERVAL: Duration = Duration::from_secs(10 * 60);
const DAY: u64 = 24 * 60 * 60;

/// Retention periods and limits.
#[derive(Clone, Debug)]
pub struct RetentionRules {
    pub recordings_days: u64,
    pub bundles_days: u64,
    pub log_days: u64,
    /// Recordings and bundles together, in bytes.
    pub most_bytes: u64,
}

impl RetentionRules {
    pub fn of(config: &Config) -> RetentionRules {
        RetentionRules {
            recordings_days: config.audit.image_retention_days.into(),
            bundles_days: config.artifacts_retention_days.into(),
            log_days: config.audit.retention_days.into(),
            most_bytes: config.artifacts_max_size.bytes(),
        }
    }
}

/// A recording or a bundle.
#[derive(Debug)]
struct Artifact {
    /// `recordings/<session>` or `archive/<file>`.
    name: String,
    path: PathBuf,
    bytes: u64,
    changed: SystemTime,
    days: u64,
}

/// Sweeps periodically for the lifetime of the control plane.
///
/// `open_ids` lists the sessions that are open: their recordings are not touched.
pub async fn sweep_periodically(
    state: PathBuf,
    rules: RetentionRules,
    log: Log,
    open_ids: impl Fn() -> Vec<String> + Send + 'static,
) {
    loop {
        let open = open_ids();
        let (folder, rules_now) = (state.clone(), rules.clone());
        let report =
            tokio::task::spawn_blocking(move || sweep(&folder, &rules_now, &open, &Uptime::now()?)).await;
        match report.map_err(io::Error::other).and_then(|report| report) {
            Ok(Some(report)) => record_sweep(&log, report).await,
            // Another control plane is sweeping.
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "what is too old could not be looked for"),
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// The removals of a sweep, and the log segments that can be dropped.
#[derive(Debug, Default)]
struct SweepReport {
    removed: Vec<String>,
    failed: Vec<String>,
    /// For each chain's folder, the line that begins the first segment to be kept.
    log_from: Vec<(PathBuf, u64)>,
}

async fn record_sweep(log: &Log, report: SweepReport) {
    for detail in report.removed {
        tracing::info!(removed = detail, "retention");
        if let Err(error) = log
            .append(
                &Event::new(EventKind::Removed, EventSubject::stockade())
                    .detail(Redacted::outside_sessions(detail)),
            )
            .await
        {
            tracing::warn!(%error, "a removal is not on record");
        }
    }
    for detail in &report.failed {
        tracing::warn!(detail, "retention could not remove something");
    }
    for (_, before) in report.log_from.iter().filter(|(folder, _)| folder == log.folder()) {
        if let Err(error) = log.trim(*before, &"their age".into()).await {
            tracing::warn!(%error, "old segments of the log stay");
        }
    }
}

fn sweep(
    state: &Path,
    rules: &RetentionRules,
    open: &[String],
    now: &Uptime,
) -> io::Result<Option<SweepReport>> {
    let lock = state.join("retention.lock");
    let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(lock)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        other => other?,
    }
    let path = state.join("retention.json");
    let mut first_seen = FirstSeenIndex::read(&path);
    let present = first_seen.tick(now);
    let mut artifacts = artifacts(state, rules, open)?;
    let mut segments = segments(state)?;
    let names = artifacts.iter().map(|artifact| &artifact.name).chain(segments.iter().map(|(name, ..)| name));
    first_seen.update(names.cloned().collect(), present);
    // Written before anything is removed, so that a crash does not change the recorded ages.
    first_seen.write(&path)?;
    let mut report = SweepReport::default();
    artifacts.retain(|artifact| {
        let age = present - first_seen.first_seen(&artifact.name, present);
        let is_old = age >= artifact.days * DAY;
        if is_old {
            report.remove(artifact, &format!("it was {} days old", age / DAY));
        }
        !is_old
    });
    artifacts.sort_by_key(|artifact| (first_seen.first_seen(&artifact.name, present), artifact.changed));
    let mut total: u64 = artifacts.iter().map(|artifact| artifact.bytes).sum();
    for artifact in artifacts.iter().take_while(|artifact| {
        let over = total > rules.most_bytes;
        total = total.saturating_sub(artifact.bytes);
        over
    }) {
        report.remove(artifact, "everything together was too large");
    }
    segments.retain(|(name, ..)| present - first_seen.first_seen(name, present) >= rules.log_days * DAY);
    for (_, folder, next) in segments {
        report.log_from.retain(|(known, _)| *known != folder);
        report.log_from.push((folder, next));
    }
    Ok(Some(report))
}

impl SweepReport {
    fn remove(&mut self, artifact: &Artifact, why: &str) {
        let removed = if artifact.path.is_dir() {
            std::fs::remove_dir_all(&artifact.path)
        } else {
            std::fs::remove_file(&artifact.path)
        };
        match removed {
            Ok(()) => self.removed.push(format!("{}, {} bytes: {why}", artifact.name, artifact.bytes)),
            Err(error) => self.failed.push(format!("{}: {error}", artifact.name)),
        }
    }
}

/// Recordings of ended sessions, and bundles.
fn artifacts(state: &Path, rules: &RetentionRules, open: &[String]) -> io::Result<Vec<Artifact>> {
    let mut artifacts = Vec::new();
    for (kind, days) in [("recordings", rules.recordings_days), ("archive", rules.bundles_days)] {
        let entries = match std::fs::read_dir(state.join(kind)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let metadata = entry.metadata()?;
            if open.contains(&name) {
                continue;
            }
            let bytes = if metadata.is_dir() { bytes_in(&entry.path())? } else { metadata.len() };
            let (name, path, changed) = (format!("{kind}/{name}"), entry.path(), metadata.modified()?);
            artifacts.push(Artifact { name, path, bytes, changed, days });
        }
    }
    Ok(artifacts)
}

fn bytes_in(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// Each complete segment of the log, with its chain's folder and the first line after it. A segment is as old as the
/// one that follows it, because that is when its last line was written.
fn segments(state: &Path) -> io::Result<Vec<(String, PathBuf, u64)>> {
    let mut found = Vec::new();
    for folder in audit::chain_folders(&state.join("audit"))? {
        let chain = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        for next in audit::segments(&folder)?.iter().skip(1) {
            found.push((format!("audit/{chain}/before-{}", next.first), folder.clone(), next.first));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
