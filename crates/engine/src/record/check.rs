//! Checks a bundle on any machine, from nothing but its own bytes and, if given, the key that must have signed it.

use super::bundle::{CONTEXT, EVENTS, FORMAT, IMAGES, MANIFEST, Manifest, SIGNATURE, SUMS, Signature};
use super::bundle_archive;
use audit::{Defect, DefectKind, Location, PublicKey};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// The largest file that is read out of a bundle.
const LARGEST: u64 = 512 * 1024 * 1024;
/// The most files in one; a session's budget of actions is far smaller.
const MOST_FILES: usize = 100_000;

/// What was found.
pub struct Checked {
    pub session_id: String,
    pub files: usize,
    pub events: u64,
    pub sha256: String,
    pub key: String,
    pub bad: Option<Defect>,
}

/// The files of a bundle by name. What is no bundle is an error.
pub fn read_bundle(path: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    bundle_archive::read(BufReader::new(File::open(path)?), MOST_FILES, LARGEST)
}

pub fn check_bundle(path: &Path, key: Option<&PublicKey>) -> io::Result<Checked> {
    let files = match read_bundle(path) {
        Ok(files) => files,
        // What is in it makes no sense: that is a finding, not a failure to look.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => {
            let place = Location::new("the archive", 0, None);
            return Ok(Checked::only(Defect { location: place, kind: DefectKind::NoBundle }));
        }
        Err(error) => return Err(error),
    };
    let parts = (files.get(MANIFEST), files.get(SIGNATURE));
    let parsed = match parts {
        (Some(manifest), Some(signature)) => serde_json::from_slice::<Manifest>(manifest)
            .ok()
            .zip(serde_json::from_slice::<Signature>(signature).ok()),
        _ => None,
    };
    let (Some((manifest, signature)), Some(bytes)) = (parsed, parts.0) else {
        return Ok(Checked::only(Defect {
            location: Location::new(MANIFEST, 0, None),
            kind: DefectKind::ManifestDamaged,
        }));
    };
    let bad = signed(&manifest, &signature, bytes, key)
        .or_else(|| same_files(&manifest, &files))
        .or_else(|| sums(&manifest, &files));
    let (events, bad) = match bad {
        Some(bad) => (0, Some(bad)),
        None => lines(&files),
    };
    Ok(Checked {
        session_id: manifest.session_id,
        files: files.len(),
        events,
        sha256: audit::sha256_hex(bytes),
        key: signature.key,
        bad,
    })
}

impl Checked {
    fn only(bad: Defect) -> Checked {
        let empty = String::new;
        Checked { session_id: empty(), files: 0, events: 0, sha256: empty(), key: empty(), bad: Some(bad) }
    }
}

fn signed(
    manifest: &Manifest,
    signature: &Signature,
    bytes: &[u8],
    key: Option<&PublicKey>,
) -> Option<Defect> {
    let bad = |kind| Some(Defect { location: Location::new(MANIFEST, 0, None), kind });
    let Ok(signer) = PublicKey::parse(&signature.key) else { return bad(DefectKind::ManifestDamaged) };
    let genuine = signer.verifies(CONTEXT, bytes, &signature.signature)
        && signature.sha256 == audit::sha256_hex(bytes)
        && manifest.format == FORMAT;
    if !genuine {
        return bad(DefectKind::ManifestDamaged);
    }
    if key.is_some_and(|key| *key != signer) { bad(DefectKind::OtherKey) } else { None }
}

/// Every file of the manifest is there as it says, and no other.
fn same_files(manifest: &Manifest, files: &BTreeMap<String, Vec<u8>>) -> Option<Defect> {
    let bad =
        |name: &str| Some(Defect { location: Location::new(name, 0, None), kind: DefectKind::FileChanged });
    for member in &manifest.files {
        let same = files.get(&member.path).is_some_and(|content| {
            content.len() as u64 == member.bytes && audit::sha256_hex(content) == member.sha256
        });
        if !same {
            return bad(&member.path);
        }
    }
    let known = |name: &str| {
        [MANIFEST, SIGNATURE, SUMS].contains(&name) || manifest.files.iter().any(|member| member.path == name)
    };
    files.keys().find(|name| !known(name)).and_then(|name| bad(name))
}

/// The list for other tools says the same as the manifest.
fn sums(manifest: &Manifest, files: &BTreeMap<String, Vec<u8>>) -> Option<Defect> {
    let own = files.get(MANIFEST).map(|bytes| audit::sha256_hex(bytes)).unwrap_or_default();
    let listed = manifest.files.iter().map(|file| format!("{}  {}\n", file.sha256, file.path));
    let expected: String = listed.chain([format!("{own}  {MANIFEST}\n")]).collect();
    let same = files.get(SUMS).is_some_and(|bytes| *bytes == expected.as_bytes());
    (!same).then(|| Defect { location: Location::new(SUMS, 0, None), kind: DefectKind::FileChanged })
}

/// Each line of the log has its own hash, they are in order, and the pictures they name are the ones that are there.
fn lines(files: &BTreeMap<String, Vec<u8>>) -> (u64, Option<Defect>) {
    let mut last = 0;
    let mut count = 0;
    let text = files.get(EVENTS).map(Vec::as_slice).unwrap_or_default();
    for (at, line) in (1..).zip(text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())) {
        let bad = |kind| Some(Defect { location: Location::new(EVENTS, at, None), kind });
        let parsed = match audit::parse_line(line) {
            Ok(parsed) => parsed,
            Err(flaw) => return (count, bad(flaw.into())),
        };
        if parsed.seq <= last {
            return (count, bad(DefectKind::Again { expected: last + 1, found: parsed.seq }));
        }
        last = parsed.seq;
        count += 1;
        let Ok(event) = serde_json::from_slice::<Value>(line) else {
            return (count, bad(DefectKind::Malformed));
        };
        for (path, digest) in pictures(&event) {
            let name = format!("{IMAGES}{}", path.rsplit('/').next().unwrap_or_default());
            // A ring forgets pictures, and retention removes them; what is there is what was taken.
            if files.get(&name).is_some_and(|bytes| audit::sha256_hex(bytes) != digest) {
                return (
                    count,
                    Some(Defect { location: Location::new(&name, 0, None), kind: DefectKind::FileChanged }),
                );
            }
        }
    }
    (count, None)
}

/// The pictures that an event names, with their digests.
fn pictures(event: &Value) -> impl Iterator<Item = (&str, &str)> {
    let before = &event["screenshot_before"];
    let both = [
        (before["path"].as_str(), before["sha256"].as_str()),
        (event["screenshot_path"].as_str(), event["screenshot_sha256"].as_str()),
    ];
    both.into_iter().filter_map(|(path, digest)| path.zip(digest))
}
