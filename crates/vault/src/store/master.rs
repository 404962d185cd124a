//! Master keys and their sources: the OS keyring, a file of mode 0600, or an environment variable.
//!
//! A source holds a list, newest first. The first key encrypts; the others still decrypt rows from before a rotation.

use crate::error::VaultError;
use crate::secret_key::SecretKey;
use crate::store::keyring;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use redact::Secret;
use rustix::fs::FlockOperation;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

pub enum MasterKeySource {
    File(PathBuf),
    /// The variable's name, and its value at the start.
    Variable {
        name: String,
        value: Secret,
    },
    /// The desktop's secret service, under this name.
    Keyring {
        service: String,
    },
}

/// The prefix lets secret scanners find leaked keys.
const PREFIX: &str = "smk1_";
const MOST_KEYS: usize = 16;
/// Far more than sixteen keys and their comments.
const LARGEST_FILE: u64 = 64 * 1024;

pub(crate) struct MasterKeys(Vec<(String, Arc<SecretKey>)>);

impl MasterKeys {
    /// The source was not read yet. No key is used in this state.
    pub(super) fn none() -> MasterKeys {
        MasterKeys(Vec::new())
    }

    fn parse(text: &str, place: &str) -> Result<MasterKeys, VaultError> {
        let bad = |reason: &'static str| VaultError::MasterKeyMalformed { place: place.to_owned(), reason };
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let words =
            lines.flat_map(|line| line.split([' ', '\t', ','])).filter(|word| !word.trim().is_empty());
        let mut keys: Vec<(String, Arc<SecretKey>)> = Vec::new();
        for word in words {
            let encoded = word.trim().strip_prefix(PREFIX).ok_or_else(|| bad("a key begins with smk1_"))?;
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(encoded).map(Zeroizing::new).ok();
            let key = bytes.and_then(|bytes| SecretKey::from_slice(&bytes));
            let key = key.ok_or_else(|| bad("a key has 43 letters, digits, '-' and '_' after smk1_"))?;
            keys.push((identify(&key), Arc::new(key)));
        }
        match keys.len() {
            0 => Err(VaultError::NoMasterKey { place: place.to_owned(), reason: "it is empty".to_owned() }),
            1..=MOST_KEYS => Ok(MasterKeys(keys)),
            _ => Err(bad("more than 16 keys")),
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<&SecretKey> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, key)| &**key)
    }

    /// The number of the encrypting key. A list that was read has one.
    pub(super) fn current_id(&self) -> &str {
        self.0.first().map_or("", |(id, _)| id)
    }

    pub(super) fn ids(&self) -> Vec<&str> {
        self.0.iter().map(|(id, _)| id.as_str()).collect()
    }

    pub(super) fn with_older(mut self, older: &MasterKeys) -> MasterKeys {
        for (id, key) in &older.0 {
            if self.get(id).is_none() && self.0.len() < MOST_KEYS {
                self.0.push((id.clone(), Arc::clone(key)));
            }
        }
        self
    }

    fn text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(self.0.len() * 64 + 64));
        for (_, key) in &self.0 {
            text.push_str(&encode(key));
            text.push('\n');
        }
        text
    }
}

/// The number of a key: a hash, which reveals nothing about 256 random bits.
fn identify(key: &SecretKey) -> String {
    let hash =
        Sha256::new().chain_update(b"stockade master key 1").chain_update(key.expose_secret()).finalize();
    hex::encode(&hash[..8])
}

fn encode(key: &SecretKey) -> Zeroizing<String> {
    let encoded = Zeroizing::new(BASE64_URL_SAFE_NO_PAD.encode(key.expose_secret()));
    let mut text = Zeroizing::new(String::with_capacity(PREFIX.len() + encoded.len()));
    text.push_str(PREFIX);
    text.push_str(&encoded);
    text
}

impl MasterKeySource {
    /// A new key, for a variable that the operator sets.
    pub fn generate() -> Result<Secret, VaultError> {
        let key = SecretKey::random().map_err(|source| VaultError::NoRandomness { source })?;
        Ok(Secret::new(encode(&key)))
    }

    pub(crate) fn place(&self) -> String {
        match self {
            MasterKeySource::File(file) => file.display().to_string(),
            MasterKeySource::Variable { name, .. } => format!("the variable {name}"),
            MasterKeySource::Keyring { service } => format!("the OS keyring ({service})"),
        }
    }

    pub(super) fn can_be_written(&self) -> bool {
        !matches!(self, MasterKeySource::Variable { .. })
    }

    pub(super) async fn load(&self) -> Result<MasterKeys, VaultError> {
        let text = match self {
            MasterKeySource::File(file) => read(file)?,
            MasterKeySource::Variable { value, .. } => Zeroizing::new(value.expose_secret().to_owned()),
            MasterKeySource::Keyring { service } => keyring::load(service).await?,
        };
        MasterKeys::parse(&text, &self.place())
    }

    /// Locks a file source until the returned value is dropped: one rotation at a time.
    pub(super) fn lock(&self) -> Result<Option<fs::File>, VaultError> {
        let MasterKeySource::File(file) = self else { return Ok(None) };
        let beside = file.with_extension("lock");
        let failed = |reason: String| self.unreadable(format!("{}: {reason}", beside.display()));
        let lock = fs::OpenOptions::new().append(true).create(true).mode(0o600).open(&beside);
        let lock = lock.map_err(|error| failed(error.to_string()))?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| failed("a rotation is under way".to_owned()))?;
        Ok(Some(lock))
    }

    /// Makes the first key, unless another process has just made one.
    pub(super) async fn first(&self) -> Result<(), VaultError> {
        let fresh = MasterKeySource::generate()?;
        match self {
            MasterKeySource::File(file) => {
                let made = write(file, fresh.expose_secret(), Placing::IfMissing);
                match made {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    made => made.map_err(|error| self.unreadable(error.to_string())),
                }
            }
            MasterKeySource::Keyring { service } => keyring::store(service, fresh.expose_secret()).await,
            MasterKeySource::Variable { .. } => Err(VaultError::RotationNeedsKey { place: self.place() }),
        }
    }

    /// Puts a new key before the current one.
    pub(super) async fn add(&self, keys: &MasterKeys) -> Result<MasterKeys, VaultError> {
        let fresh = SecretKey::random().map_err(|source| VaultError::NoRandomness { source })?;
        let mut all = vec![(identify(&fresh), Arc::new(fresh))];
        all.extend(keys.0.iter().map(|(id, key)| (id.clone(), Arc::clone(key))));
        let all = MasterKeys(all);
        self.replace(&all).await?;
        Ok(all)
    }

    /// Removes all keys but the current one; false if the operator has to do it.
    pub(super) async fn keep_current(&self, keys: &MasterKeys) -> Result<bool, VaultError> {
        if !self.can_be_written() {
            return Ok(false);
        }
        let current = keys.0.first().map(|(id, key)| (id.clone(), Arc::clone(key)));
        self.replace(&MasterKeys(current.into_iter().collect())).await?;
        Ok(true)
    }

    async fn replace(&self, keys: &MasterKeys) -> Result<(), VaultError> {
        match self {
            MasterKeySource::File(file) => write(file, &keys.text(), Placing::Replace)
                .map_err(|error| self.unreadable(error.to_string())),
            MasterKeySource::Keyring { service } => keyring::store(service, &keys.text()).await,
            MasterKeySource::Variable { .. } => Err(VaultError::RotationNeedsKey { place: self.place() }),
        }
    }

    fn unreadable(&self, reason: String) -> VaultError {
        VaultError::NoMasterKey { place: self.place(), reason }
    }
}

fn read(file: &Path) -> Result<Zeroizing<String>, VaultError> {
    let failed = |error: io::Error| VaultError::NoMasterKey {
        place: file.display().to_string(),
        reason: error.to_string(),
    };
    let handle = fs::File::open(file).map_err(failed)?;
    let about = handle.metadata().map_err(failed)?;
    let ours = about.uid() == rustix::process::geteuid().as_raw() || about.uid() == 0;
    if about.mode() & 0o077 != 0 || !ours || !about.is_file() {
        return Err(VaultError::MasterKeyUnsafe { file: file.to_owned() });
    }
    let mut text = Zeroizing::new(String::with_capacity(about.len().min(LARGEST_FILE) as usize + 1));
    io::Read::read_to_string(&mut io::Read::take(handle, LARGEST_FILE), &mut text).map_err(failed)?;
    Ok(text)
}

enum Placing {
    IfMissing,
    Replace,
}

/// Writes a temporary file, syncs it, and moves it into place: there is never a partial key.
fn write(file: &Path, text: &str, how: Placing) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let suffix = redact::random_text(redact::ALPHANUMERIC, 8).map_err(io::Error::other)?;
    let beside = folder.join(format!(".master-key-{}", suffix.as_str()));
    let mut handle = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let placed =
        handle.write_all(text.as_bytes()).and_then(|()| handle.sync_all()).and_then(|()| match how {
            Placing::Replace => fs::rename(&beside, file),
            // A link, unlike a rename, does not replace a file that another process has made meanwhile.
            Placing::IfMissing => fs::hard_link(&beside, file),
        });
    if placed.is_err() || matches!(how, Placing::IfMissing) {
        fs::remove_file(&beside)?;
    }
    placed?;
    fs::File::open(folder)?.sync_all()
}
