//! How long things are kept: recordings, bundles and the log, by age and by size, each removal on record.
//!
//! Ages are counted by the time this machine has been up, never by the calendar: a clock that jumps, either way,
//! deletes nothing early. What is first seen today is new today, so a lost count keeps things longer too.

mod book;

use crate::settings::Config;
use audit::{Event, EventKind, EventSubject, Log};
use book::{Book, Uptime};
use rustix::fs::{FlockOperation, flock};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Between two sweeps.
const INTERVAL: Duration = Duration::from_secs(10 * 60);
const DAY: u64 = 24 * 60 * 60;

/// What is kept for how long.
#[derive(Clone, Debug)]
pub struct Rules {
    pub recordings_days: u64,
    pub bundles_days: u64,
    pub log_days: u64,
    /// Recordings and bundles together, in bytes.
    pub most_bytes: u64,
}

impl Rules {
    pub fn of(config: &Config) -> Rules {
        Rules {
            recordings_days: config.audit.image_retention_days.into(),
            bundles_days: config.artifacts_retention_days.into(),
            log_days: config.audit.retention_days.into(),
            most_bytes: config.artifacts_max_size.bytes(),
        }
    }
}

/// A recording or a bundle.
#[derive(Debug)]
struct Item {
    /// `recordings/<session>` or `archive/<file>`.
    name: String,
    path: PathBuf,
    bytes: u64,
    changed: SystemTime,
    days: u64,
}

/// Sweeps now and then for as long as the control plane lives.
///
/// `open_ids` lists the sessions that are open: their recordings are not touched.
pub async fn keep_sweeping(
    state: PathBuf,
    rules: Rules,
    log: Log,
    open_ids: impl Fn() -> Vec<String> + Send + 'static,
) {
    loop {
        let open = open_ids();
        let (folder, rules_now) = (state.clone(), rules.clone());
        let swept =
            tokio::task::spawn_blocking(move || sweep(&folder, &rules_now, &open, &Uptime::now()?)).await;
        match swept.map_err(io::Error::other).and_then(|swept| swept) {
            Ok(Some(swept)) => tell(&log, swept).await,
            // Another control plane is at it.
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "what is too old could not be looked for"),
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// What a sweep did, and what is the log's to do.
#[derive(Debug, Default)]
struct Swept {
    removed: Vec<String>,
    failed: Vec<String>,
    /// For each chain's folder, the line that begins the first segment to be kept.
    log_from: Vec<(PathBuf, u64)>,
}

async fn tell(log: &Log, swept: Swept) {
    for detail in &swept.removed {
        tracing::info!(removed = detail, "retention");
        if let Err(error) =
            log.append(&Event::new(EventKind::Removed, EventSubject::stockade()).detail(detail)).await
        {
            tracing::warn!(%error, "a removal is not on record");
        }
    }
    for detail in &swept.failed {
        tracing::warn!(detail, "retention could not remove something");
    }
    for (_, before) in swept.log_from.iter().filter(|(folder, _)| folder == log.folder()) {
        if let Err(error) = log.trim(*before, "their age").await {
            tracing::warn!(%error, "old segments of the log stay");
        }
    }
}

fn sweep(state: &Path, rules: &Rules, open: &[String], now: &Uptime) -> io::Result<Option<Swept>> {
    let lock = state.join("retention.lock");
    let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(lock)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        other => other?,
    }
    let path = state.join("retention.json");
    let mut book = Book::read(&path);
    let present = book.tick(now);
    let mut items = items(state, rules, open)?;
    let mut segments = segments(state)?;
    let known = items.iter().map(|item| &item.name).chain(segments.iter().map(|(name, ..)| name));
    book.see(known.cloned().collect(), present);
    // Before anything is removed: a crash must not make what is left look newer or older than it is.
    book.write(&path)?;
    let mut swept = Swept::default();
    items.retain(|item| {
        let age = present - book.seen(&item.name, present);
        let is_old = age >= item.days * DAY;
        if is_old {
            swept.remove(item, &format!("it was {} days old", age / DAY));
        }
        !is_old
    });
    items.sort_by_key(|item| (book.seen(&item.name, present), item.changed));
    let mut total: u64 = items.iter().map(|item| item.bytes).sum();
    for item in items.iter().take_while(|item| {
        let over = total > rules.most_bytes;
        total = total.saturating_sub(item.bytes);
        over
    }) {
        swept.remove(item, "everything together was too large");
    }
    segments.retain(|(name, ..)| present - book.seen(name, present) >= rules.log_days * DAY);
    for (_, folder, next) in segments {
        swept.log_from.retain(|(known, _)| *known != folder);
        swept.log_from.push((folder, next));
    }
    Ok(Some(swept))
}

impl Swept {
    fn remove(&mut self, item: &Item, why: &str) {
        let removed = if item.path.is_dir() {
            std::fs::remove_dir_all(&item.path)
        } else {
            std::fs::remove_file(&item.path)
        };
        match removed {
            Ok(()) => self.removed.push(format!("{}, {} bytes: {why}", item.name, item.bytes)),
            Err(error) => self.failed.push(format!("{}: {error}", item.name)),
        }
    }
}

/// Recordings of sessions that are over, and bundles.
fn items(state: &Path, rules: &Rules, open: &[String]) -> io::Result<Vec<Item>> {
    let mut items = Vec::new();
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
            items.push(Item { name, path, bytes, changed, days });
        }
    }
    Ok(items)
}

fn bytes_in(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// Each whole segment of the log, with its chain's folder and the line after it. It is as old as the segment that
/// follows it: that is when its last line was written.
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
