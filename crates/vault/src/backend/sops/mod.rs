//! Credentials in files that sops encrypted with age keys: one per file, named `ID.yaml`, `ID.yml` or `ID.json`.

mod file;
mod seal;
mod yaml;

use crate::backend::env::read_file;
use crate::backend::unknown;
use crate::credential::{Credential, CredentialId, TenantPath};
use crate::error::{Malformed, VaultError};
use age::x25519::Identity;
use policy::Tenant;
use redact::Secret;
use std::io;
use std::path::{Path, PathBuf};

pub struct SopsBackend {
    folder: TenantPath,
    keys: SopsKeys,
}

/// Where the age keys are: lines of `AGE-SECRET-KEY-1…`, and comments.
pub enum SopsKeys {
    /// Read at every opening.
    File(PathBuf),
    Text(Secret),
}

/// A defect in a file's content.
enum SopsFileError {
    Malformed(Malformed),
    NoKey,
    Altered(Malformed),
    Unsupported(&'static str),
    /// An unencrypted value, named by its field.
    Open(String),
}

impl From<Malformed> for SopsFileError {
    fn from(bad: Malformed) -> SopsFileError {
        SopsFileError::Malformed(bad)
    }
}

impl SopsFileError {
    fn in_file(self, file: &Path) -> VaultError {
        let file = file.to_owned();
        match self {
            SopsFileError::Malformed(bad) => VaultError::SopsMalformed { file, bad },
            SopsFileError::NoKey => VaultError::SopsNoKey { file },
            SopsFileError::Altered(bad) => VaultError::SopsAltered { file, bad },
            SopsFileError::Unsupported(what) => VaultError::SopsUnsupported { file, what },
            SopsFileError::Open(field) => VaultError::SopsOpen { file, field },
        }
    }
}

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// A folder with more files than this does not hold credentials.
const MOST_FILES: usize = 10_000;

impl SopsBackend {
    pub fn new(folder: &str, keys: SopsKeys) -> SopsBackend {
        SopsBackend { folder: TenantPath::new(folder), keys }
    }

    pub(super) async fn list(&self, tenant: &Tenant) -> Result<Vec<CredentialId>, VaultError> {
        let Some(folder) = self.folder.of(tenant).map(PathBuf::from) else { return Ok(Vec::new()) };
        let failed = |source| VaultError::SopsFile { file: folder.clone(), source };
        let mut entries = tokio::fs::read_dir(&folder).await.map_err(failed)?;
        let mut ids = Vec::new();
        for _ in 0..MOST_FILES {
            let Some(entry) = entries.next_entry().await.map_err(failed)? else { return Ok(ids) };
            let path = entry.path();
            let known =
                path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known));
            let name = path.file_stem().and_then(|name| name.to_str()).filter(|_| known);
            ids.extend(name.and_then(|name| CredentialId::parse(name).ok()));
        }
        Err(failed(io::Error::other(format!("more than {MOST_FILES} files"))))
    }

    pub(super) async fn open(&self, tenant: &Tenant, id: &CredentialId) -> Result<Credential, VaultError> {
        let folder = self.folder.of(tenant).map(PathBuf::from).ok_or_else(|| unknown(id))?;
        for extension in EXTENSIONS {
            let file = folder.join(format!("{id}.{extension}"));
            match read_file(&file).await {
                Ok(text) => return self.decrypt(&file, &text, extension).await,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(VaultError::SopsFile { file, source }),
            }
        }
        // A missing folder, such as an unmounted disk, does not mean that the credential does not exist.
        match tokio::fs::metadata(&folder).await {
            Ok(_) => Err(unknown(id)),
            Err(source) => Err(VaultError::SopsFile { file: folder, source }),
        }
    }

    async fn decrypt(&self, file: &Path, text: &[u8], extension: &str) -> Result<Credential, VaultError> {
        let identities = self.identities().await?;
        let form = if extension == "json" { file::Form::Json } else { file::Form::Yaml };
        let node = file::decrypt(text, form, &identities).map_err(|trouble| trouble.in_file(file))?;
        Ok(Credential::read(node)?)
    }

    async fn identities(&self) -> Result<Vec<Identity>, VaultError> {
        match &self.keys {
            SopsKeys::Text(text) => identities(text.expose_secret(), "age_key"),
            SopsKeys::File(file) => {
                let failed = |source| VaultError::SopsFile { file: file.clone(), source };
                let text = read_file(file).await.map_err(failed)?;
                let text = std::str::from_utf8(&text).map_err(|error| failed(io::Error::other(error)))?;
                identities(text, "age_key_file")
            }
        }
    }
}

fn identities(text: &str, what: &'static str) -> Result<Vec<Identity>, VaultError> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let bad = |reason: &str| VaultError::Settings { what, reason: reason.to_owned() };
    let found: Vec<Identity> = lines
        .map(|line| line.parse().map_err(|_| bad("a line that is not an age key (AGE-SECRET-KEY-1…)")))
        .collect::<Result<_, _>>()?;
    if found.is_empty() { Err(bad("no age key in it")) } else { Ok(found) }
}
