//! The files of a template, and the id that is derived from them.

use super::{Difference, Flavour, TemplateError};
use crate::folder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Contains no property of the host and no time: equal inputs give equal bytes, and so the same id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub flavour: Flavour,
    /// The browser's program, as a path in the jail.
    pub browser: String,
    pub browser_version: String,
    /// By path, relative to the root and without a leading slash; the root itself is "".
    pub entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Entry {
    /// `mode` with the setuid, setgid and sticky bits.
    File {
        mode: u32,
        size: u64,
        sha256: String,
    },
    Folder {
        mode: u32,
    },
    Link {
        target: String,
    },
    /// A device, pipe or socket. Builds make none, so in a tree it is always a difference.
    Special,
    /// Owned by a user other than root and us, who could change it at any time; always a difference.
    Foreign,
}

impl Manifest {
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec_pretty(self)
    }

    pub fn files(&self) -> usize {
        self.entries.values().filter(|entry| matches!(entry, Entry::File { .. })).count()
    }

    pub fn bytes(&self) -> u64 {
        let size = |entry: &Entry| if let Entry::File { size, .. } = entry { *size } else { 0 };
        self.entries.values().map(size).sum()
    }
}

/// The name of a template's folder: 64 bits of its manifest's digest.
pub(super) fn id(flavour: Flavour, manifest: &[u8]) -> String {
    let digest = hex::encode(Sha256::digest(manifest));
    format!("{flavour}-{}", digest.get(..16).unwrap_or(&digest))
}

/// `root` and everything below it.
pub(super) fn scan(root: &Path) -> Result<BTreeMap<String, Entry>, TemplateError> {
    let mut entries = BTreeMap::new();
    let mut waiting = vec![String::new()];
    while let Some(name) = waiting.pop() {
        let path = root.join(&name);
        let entry = entry(&path)?;
        if let Entry::Folder { .. } = entry {
            for child in fs::read_dir(&path).map_err(TemplateError::file("reading", &path))? {
                let child = child.map_err(TemplateError::file("reading", &path))?.file_name();
                let child = child.to_string_lossy();
                waiting.push(if name.is_empty() { child.into_owned() } else { format!("{name}/{child}") });
            }
        }
        entries.insert(name, entry);
    }
    Ok(entries)
}

fn entry(path: &Path) -> Result<Entry, TemplateError> {
    let metadata = fs::symlink_metadata(path).map_err(TemplateError::file("looking at", path))?;
    let mode = metadata.permissions().mode() & 0o7777;
    let kind = metadata.file_type();
    Ok(if !folder::is_own_or_root(metadata.uid()) {
        Entry::Foreign
    } else if kind.is_dir() {
        Entry::Folder { mode }
    } else if kind.is_symlink() {
        let target = fs::read_link(path).map_err(TemplateError::file("reading the link", path))?;
        Entry::Link { target: target.to_string_lossy().into_owned() }
    } else if kind.is_file() {
        let sha256 = digest(path).map_err(TemplateError::file("reading", path))?;
        Entry::File { mode, size: metadata.len(), sha256 }
    } else {
        Entry::Special
    })
}

/// The differences, ordered by path.
pub(super) fn compare(
    expected: &BTreeMap<String, Entry>,
    found: &BTreeMap<String, Entry>,
) -> Vec<Difference> {
    let mut differences = Vec::new();
    for (name, entry) in expected {
        let path = format!("root/{name}");
        match found.get(name) {
            None => differences.push(Difference::Missing { path }),
            Some(other) if other != entry => differences.push(Difference::Changed { path }),
            Some(_) => {}
        }
    }
    let added = found.keys().filter(|name| !expected.contains_key(*name));
    differences.extend(added.map(|name| Difference::Added { path: format!("root/{name}") }));
    differences
}

fn digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; 256 * 1024];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(hex::encode(hasher.finalize())),
            length => hasher.update(chunk.get(..length).unwrap_or_default()),
        }
    }
}
