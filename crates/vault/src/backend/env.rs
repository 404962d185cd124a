//! Credentials from the environment: a JSON document in a variable, or the name of a file that contains it.
//!
//! `STOCKADE_CREDENTIAL_GITHUB_COM` is credential `github.com`; `STOCKADE_CREDENTIAL_GITHUB_COM_FILE` names a file with
//! it. One underscore stands for a dot, two for a dash. Variables are read once, at the start, because nothing can
//! change them afterwards. Files are read each time a credential is opened. Everything belongs to tenant `default`: a
//! variable name made of a tenant and a credential would be ambiguous.

use crate::backend::unknown;
use crate::credential::{Credential, CredentialId};
use crate::error::VaultError;
use crate::secret_tree::LARGEST_DOCUMENT;
use policy::Tenant;
use redact::Secret;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use zeroize::Zeroizing;

pub struct EnvBackend {
    prefix: String,
    variables: BTreeMap<String, Secret>,
}

const FILE: &str = "_FILE";

/// Time limit for reading a file: the disk may hang, or the file may be a pipe without a writer.
const READING: Duration = Duration::from_secs(10);

impl EnvBackend {
    /// Takes what begins with the prefix out of `variables`: `std::env::vars_os()`.
    pub fn new(prefix: &str, variables: impl Iterator<Item = (OsString, OsString)>) -> EnvBackend {
        let variables = variables
            .filter_map(|(name, value)| {
                let name = name.into_string().ok().filter(|name| name.starts_with(prefix))?;
                let Ok(value) = value.into_string() else {
                    tracing::warn!(name, "a credential in the environment is not UTF-8, and is ignored");
                    return None;
                };
                Some((name, Secret::new(value)))
            })
            .collect();
        EnvBackend { prefix: prefix.to_owned(), variables }
    }

    pub(super) fn list(&self, tenant: &Tenant) -> Vec<CredentialId> {
        if !serves(tenant) {
            return Vec::new();
        }
        let names = self.variables.keys().filter_map(|name| name.strip_prefix(&self.prefix));
        names.filter_map(|name| id_of(name.strip_suffix(FILE).unwrap_or(name))).collect()
    }

    pub(super) async fn open(&self, tenant: &Tenant, id: &CredentialId) -> Result<Credential, VaultError> {
        let name = name_of(id).filter(|_| serves(tenant)).ok_or_else(|| unknown(id))?;
        let name = format!("{}{name}", self.prefix);
        if let Some(value) = self.variables.get(&name) {
            return Ok(Credential::from_json(value.expose_secret().as_bytes())?);
        }
        let variable = format!("{name}{FILE}");
        let file = self.variables.get(&variable).ok_or_else(|| unknown(id))?;
        let file = PathBuf::from(file.expose_secret());
        let text = read_file(&file).await.map_err(|source| VaultError::EnvFile { variable, file, source })?;
        Ok(Credential::from_json(&text)?)
    }
}

fn serves(tenant: &Tenant) -> bool {
    tenant.as_str() == "default"
}

/// Reads a file into memory that is wiped: up to one byte more than the largest document, so that a longer one is
/// noticed.
pub(super) async fn read_file(file: &Path) -> std::io::Result<Zeroizing<Vec<u8>>> {
    read_within(file, READING).await
}

async fn read_within(file: &Path, patience: Duration) -> std::io::Result<Zeroizing<Vec<u8>>> {
    let late = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
    tokio::time::timeout(patience, read_unbounded(file)).await.map_err(late)?
}

async fn read_unbounded(file: &Path) -> std::io::Result<Zeroizing<Vec<u8>>> {
    let handle = tokio::fs::File::open(file).await?;
    let size = usize::try_from(handle.metadata().await?.len()).unwrap_or(usize::MAX);
    // Reserved in one piece, so that growing leaves no copy behind.
    let mut text = Zeroizing::new(Vec::with_capacity(size.min(LARGEST_DOCUMENT) + 1024));
    handle.take(LARGEST_DOCUMENT as u64 + 1).read_to_end(&mut text).await?;
    Ok(text)
}

/// The variable of an id; `None` for an id with an underscore, which no variable can name.
fn name_of(id: &CredentialId) -> Option<String> {
    (!id.as_str().contains('_'))
        .then(|| id.as_str().replace('-', "__").replace('.', "_").to_ascii_uppercase())
}

fn id_of(name: &str) -> Option<CredentialId> {
    let id = CredentialId::parse(&name.to_ascii_lowercase().replace("__", "-").replace('_', ".")).ok()?;
    (name_of(&id).as_deref() == Some(name)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, OFlags};

    #[tokio::test]
    async fn a_file_that_nobody_ever_writes_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let error = read_within(&pipe, Duration::from_millis(200)).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        // Ends the background thread that waits for the file.
        rustix::fs::open(&pipe, OFlags::RDWR | OFlags::NONBLOCK, Mode::empty()).unwrap();
    }
}
