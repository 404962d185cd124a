//! When each thing was first seen, by a count of the seconds that the machine has been up.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How long the machine has been up, and since which start of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uptime {
    pub boot: String,
    pub seconds: u64,
}

impl Uptime {
    /// Time asleep counts; nobody can set it.
    pub fn now() -> io::Result<Uptime> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
        Ok(Uptime { boot, seconds: u64::try_from(rustix::system::sysinfo().uptime).unwrap_or(0) })
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Book {
    boot: String,
    uptime: u64,
    /// Seconds in all.
    counted: u64,
    seen: BTreeMap<String, u64>,
}

impl Book {
    /// One that is missing or cannot be read is begun anew: everything is new then, and kept for longer.
    pub fn read(path: &Path) -> Book {
        let read = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Book::default(),
            read => read.and_then(|text| Ok(serde_json::from_slice(&text)?)),
        };
        read.unwrap_or_else(|error| {
            tracing::warn!(%error, path = %path.display(), "cannot read the ages of recordings; they count from now");
            Book::default()
        })
    }

    /// Counts on; time between two starts of the machine is not known, and not counted.
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

    /// Forgets what is gone and notes what is new.
    pub fn see(&mut self, names: Vec<String>, present: u64) {
        let old = std::mem::take(&mut self.seen);
        self.seen = names
            .into_iter()
            .map(|name| {
                let seen = old.get(&name).copied().unwrap_or(present).min(present);
                (name, seen)
            })
            .collect();
    }

    pub fn seen(&self, name: &str, present: u64) -> u64 {
        self.seen.get(name).copied().unwrap_or(present)
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
