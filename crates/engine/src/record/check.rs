//! Verifies a bundle offline, optionally against a known public key.

use super::bundle::{CONTEXT, EVENTS, FORMAT, IMAGES, MANIFEST, Manifest, SIGNATURE, SUMS, Signature};
use super::bundle_archive;
use audit::{Defect, DefectKind, Location, PublicKey};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// Maximum size of a file in a bundle.
const LARGEST: u64 = 512 * 1024 * 1024;
/// Maximum number of files in a bundle. A session's action budget is far smaller.
const MOST_FILES: usize = 100_000;

/// The result of a verification.
pub struct BundleReport {
    pub session_id: String,
    pub files: usize,
    pub events: u64,
    pub sha256: String,
    pub key: String,
    pub bad: Option<Defect>,
}

/// Reads the files of a bundle by name. Fails if it is not a bundle.
pub fn read_bundle(path: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    bundle_archive::read(BufReader::new(File::open(path)?), MOST_FILES, LARGEST)
}

pub fn check_bundle(path: &Path, key: Option<&PublicKey>) -> io::Result<BundleReport> {
    let files = match read_bundle(path) {
        Ok(files) => files,
        // Malformed content is a defect of the bundle, not a failure to read it.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => {
            let place = Location::new("the archive", 0, None);
            return Ok(BundleReport::defective(Defect { location: place, kind: DefectKind::NoBundle }));
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
        return Ok(BundleReport::defective(Defect {
            location: Location::new(MANIFEST, 0, None),
            kind: DefectKind::ManifestDamaged,
        }));
    };
    let bad = check_signature(&manifest, &signature, bytes, key)
        .or_else(|| check_files(&manifest, &files))
        .or_else(|| check_sums(&manifest, &files));
    let (events, bad) = match bad {
        Some(bad) => (0, Some(bad)),
        None => check_events(&files),
    };
    Ok(BundleReport {
        session_id: manifest.session_id,
        files: files.len(),
        events,
        sha256: audit::sha256_hex(bytes),
        key: signature.key,
        bad,
    })
}

impl BundleReport {
    fn defective(bad: Defect) -> BundleReport {
        let empty = String::new;
        BundleReport {
            session_id: empty(),
            files: 0,
            events: 0,
            sha256: empty(),
            key: empty(),
            bad: Some(bad),
        }
    }
}

fn check_signature(
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

/// Checks that the files are exactly those of the manifest.
fn check_files(manifest: &Manifest, files: &BTreeMap<String, Vec<u8>>) -> Option<Defect> {
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

/// Checks that SHA256SUMS matches the manifest.
fn check_sums(manifest: &Manifest, files: &BTreeMap<String, Vec<u8>>) -> Option<Defect> {
    let own = files.get(MANIFEST).map(|bytes| audit::sha256_hex(bytes)).unwrap_or_default();
    let listed = manifest.files.iter().map(|file| format!("{}  {}\n", file.sha256, file.path));
    let expected: String = listed.chain([format!("{own}  {MANIFEST}\n")]).collect();
    let same = files.get(SUMS).is_some_and(|bytes| *bytes == expected.as_bytes());
    (!same).then(|| Defect { location: Location::new(SUMS, 0, None), kind: DefectKind::FileChanged })
}

/// Checks the hash and order of the log lines, and the digests of the images that they name.
fn check_events(files: &BTreeMap<String, Vec<u8>>) -> (u64, Option<Defect>) {
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
        for (path, digest) in image_digests(&event) {
            let name = format!("{IMAGES}{}", path.rsplit('/').next().unwrap_or_default());
            // An image may be missing, because rings and retention remove images.
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

/// The images that an event names, with their digests.
fn image_digests(event: &Value) -> impl Iterator<Item = (&str, &str)> {
    let before = &event["screenshot_before"];
    let both = [
        (before["path"].as_str(), before["sha256"].as_str()),
        (event["screenshot_path"].as_str(), event["screenshot_sha256"].as_str()),
    ];
    both.into_iter().filter_map(|(path, digest)| path.zip(digest))
}
