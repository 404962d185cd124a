//! When each artifact was first seen, in seconds of uptime.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The machine's uptime and its boot id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uptime {
    pub boot: String,
    pub seconds: u64,
}

impl Uptime {
    /// Includes time asleep. Cannot be changed by setting the clock.
    pub fn now() -> io::Result<Uptime> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
        Ok(Uptime { boot, seconds: u64::try_from(rustix::system::sysinfo().uptime).unwrap_or(0) })
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FirstSeenIndex {
    boot: String,
    uptime: u64,
    /// Total seconds of uptime counted so far.
    counted: u64,
    #[serde(rename = "seen")]
    first_seen: BTreeMap<String, u64>,
}

impl FirstSeenIndex {
    /// Reads the index. A missing or damaged one starts empty, which only keeps artifacts longer.
    pub fn read(path: &Path) -> FirstSeenIndex {
        let read = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return FirstSeenIndex::default(),
            read => read.and_then(|text| Ok(serde_json::from_slice(&text)?)),
        };
        read.unwrap_or_else(|error| {
            tracing::warn!(%error, path = %path.display(), "cannot read the ages of recordings; they count from now");
            FirstSeenIndex::default()
        })
    }

    /// Advances the count. Time while the machine was off is unknown and not counted.
    pub fn tick(&mut self, now: &Uptime) -> u64 {
        let first = self.boot.is_empty();
        let passed =
            if self.boot == now.boot { now.seconds.saturating_sub(self.uptime) } else { now.seconds };
        if !first {
            self.counted += passed;
        }
        (self.boot, self.uptime) = (now.boot.clone(), now.seconds);
        self.counted
    }

    /// Removes missing artifacts and adds new ones.
    pub fn update(&mut self, names: Vec<String>, present: u64) {
        let old = std::mem::take(&mut self.first_seen);
        self.first_seen = names
            .into_iter()
            .map(|name| {
                let first_seen = old.get(&name).copied().unwrap_or(present).min(present);
                (name, first_seen)
            })
            .collect();
    }

    pub fn first_seen(&self, name: &str, present: u64) -> u64 {
        self.first_seen.get(name).copied().unwrap_or(present)
    }

    pub fn write(&self, path: &Path) -> io::Result<()> {
        let partial = path.with_extension("partial");
        let mut file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        std::fs::rename(&partial, path)
    }
}
