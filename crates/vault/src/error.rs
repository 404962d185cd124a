//! Errors of credentials, their backends and grants. No message contains a secret.

use error_code::ErrorCode;
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A defect of a document: the field and the reason. Never the value.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed {
    pub field: String,
    pub reason: Cow<'static, str>,
}

impl Malformed {
    pub(crate) fn new(field: impl Into<String>, reason: impl Into<Cow<'static, str>>) -> Malformed {
        Malformed { field: field.into(), reason: reason.into() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            f.write_str(&self.reason)
        } else {
            write!(f, "{}: {}", self.field, self.reason)
        }
    }
}

impl std::error::Error for Malformed {}

#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("the credential is malformed: {0}")]
    Credential(#[from] Malformed),
    #[error("the file cannot be imported: {0}")]
    Import(Malformed),
    #[error("there is no credential '{id}'")]
    UnknownCredential { id: String },
    #[error("Stockade does not write credentials to the {backend} backend")]
    ReadOnly { backend: &'static str },
    #[error("credential '{id}' cannot be decrypted: its row was altered or moved")]
    Altered { id: String },
    #[error("no rotated cookies wait for credential '{id}'")]
    NothingRotated { id: String },
    #[error("credential '{id}' has no TOTP seed")]
    NoTotp { id: String },
    #[error("'{what}' in the settings of credentials: {reason}")]
    Settings { what: &'static str, reason: String },

    #[error("the vault at {address} cannot be reached: {reason}")]
    Unreachable { address: String, reason: String },
    #[error("the certificate of the vault at {address} is not trusted: {reason}")]
    Untrusted { address: String, reason: String },
    #[error("the vault at {address} is sealed")]
    Sealed { address: String },
    #[error("the vault at {address} denied access: {reason}")]
    Denied { address: String, reason: String },
    #[error("the vault at {address} does not accept the {method} login: {reason}")]
    LoginFailed { address: String, method: &'static str, reason: String },
    #[error("the wrapping token was used already or is too old")]
    WrappingSpent,
    #[error("the vault at {address} sent an unexpected answer: {reason}")]
    Answer { address: String, reason: String },

    #[error("cannot read {}", file.display())]
    SopsFile { file: PathBuf, source: io::Error },
    #[error("{} is not a sops file: {bad}", file.display())]
    SopsMalformed { file: PathBuf, bad: Malformed },
    #[error("none of the age keys can decrypt {}", file.display())]
    SopsNoKey { file: PathBuf },
    #[error("{} was altered: {bad}", file.display())]
    SopsAltered { file: PathBuf, bad: Malformed },
    #[error("{} uses a feature that Stockade does not support: {what}", file.display())]
    SopsUnsupported { file: PathBuf, what: &'static str },
    #[error("{field} in {} is not encrypted; every value has to be", file.display())]
    SopsOpen { file: PathBuf, field: String },

    #[error("cannot read {}, which {variable} names", file.display())]
    EnvFile { variable: String, file: PathBuf, source: io::Error },

    #[error("{doing}")]
    Store { doing: &'static str, source: sqlx::Error },
    #[error("the database of credentials and grants has not answered for {seconds} s")]
    StoreSilent { seconds: u64 },
    #[error("cannot create the database file {}", file.display())]
    StoreFile { file: PathBuf, source: io::Error },
    #[error("the database has version {found}, but this program supports versions up to {known}")]
    StoreNewer { found: i64, known: i64 },
    #[error("the database holds invalid data: {what}")]
    StoreDamaged { what: &'static str },

    #[error("cannot read the master key from {place}: {reason}")]
    NoMasterKey { place: String, reason: String },
    #[error("other users can read or write the master key {}", file.display())]
    MasterKeyUnsafe { file: PathBuf },
    #[error("the master key from {place} is malformed: {reason}")]
    MasterKeyMalformed { place: String, reason: &'static str },
    #[error("credentials are encrypted with master key {wanted}, but {place} has {found}")]
    WrongMasterKey { place: String, wanted: String, found: String },
    #[error("the OS keyring cannot be used: {reason}")]
    Keyring { reason: String },
    #[error("{place} holds one master key, and Stockade cannot write a second one there")]
    RotationNeedsKey { place: String },

    #[error("there is no such grant")]
    UnknownGrant,
    #[error("more than one grant begins with '{start}'")]
    AmbiguousGrant { start: String },
    #[error("grant {jti} has expired")]
    GrantExpired { jti: String },
    #[error("grant {jti} was used")]
    GrantConsumed { jti: String },
    #[error("grant {jti} was revoked")]
    GrantRevoked { jti: String },
    #[error("grant {jti} is not for {host}")]
    GrantHost { jti: String, host: String },
    #[error("the grant cannot be issued: {reason}")]
    GrantRequest { reason: String },
    #[error("credential '{id}' needs a grant from an operator")]
    GrantScope { id: String },

    #[error("the system returned no random numbers")]
    NoRandomness { source: getrandom::Error },
}

impl VaultError {
    pub(crate) fn store(doing: &'static str) -> impl Fn(sqlx::Error) -> VaultError {
        move |source| VaultError::Store { doing, source }
    }

    /// The stable name of the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            VaultError::Credential(_) => ErrorCode::CredentialMalformed,
            VaultError::Import(_) => ErrorCode::ImportMalformed,
            VaultError::UnknownCredential { .. } => ErrorCode::UnknownCredential,
            VaultError::ReadOnly { .. } => ErrorCode::CredentialReadOnly,
            VaultError::Altered { .. } => ErrorCode::CredentialAltered,
            VaultError::NothingRotated { .. } => ErrorCode::NothingRotated,
            VaultError::NoTotp { .. } => ErrorCode::NoTotpSeed,
            VaultError::Settings { .. } => ErrorCode::CredentialSettings,
            VaultError::Unreachable { .. } => ErrorCode::VaultUnreachable,
            VaultError::Untrusted { .. } => ErrorCode::VaultUntrusted,
            VaultError::Sealed { .. } => ErrorCode::VaultSealed,
            VaultError::Denied { .. } => ErrorCode::VaultDenied,
            VaultError::LoginFailed { .. } => ErrorCode::VaultLoginFailed,
            VaultError::WrappingSpent => ErrorCode::VaultWrappingSpent,
            VaultError::Answer { .. } => ErrorCode::VaultAnswer,
            VaultError::SopsFile { .. } => ErrorCode::SopsUnreadable,
            VaultError::SopsMalformed { .. } => ErrorCode::SopsMalformed,
            VaultError::SopsNoKey { .. } => ErrorCode::SopsNoKey,
            VaultError::SopsAltered { .. } => ErrorCode::SopsAltered,
            VaultError::SopsUnsupported { .. } => ErrorCode::SopsUnsupported,
            VaultError::SopsOpen { .. } => ErrorCode::SopsNotSealed,
            VaultError::EnvFile { .. } => ErrorCode::EnvUnreadable,
            VaultError::Store { source, .. } => store_code(source),
            VaultError::StoreFile { .. } | VaultError::StoreSilent { .. } => {
                ErrorCode::CredentialStoreUnreachable
            }
            VaultError::StoreNewer { .. } => ErrorCode::CredentialStoreNewer,
            VaultError::StoreDamaged { .. } => ErrorCode::CredentialStoreDamaged,
            VaultError::NoMasterKey { .. } => ErrorCode::MasterKeyMissing,
            VaultError::MasterKeyUnsafe { .. } => ErrorCode::MasterKeyUnsafe,
            VaultError::MasterKeyMalformed { .. } => ErrorCode::MasterKeyMalformed,
            VaultError::WrongMasterKey { .. } => ErrorCode::MasterKeyWrong,
            VaultError::Keyring { .. } => ErrorCode::KeyringUnavailable,
            VaultError::RotationNeedsKey { .. } => ErrorCode::RotationNeedsKey,
            VaultError::UnknownGrant => ErrorCode::UnknownGrant,
            VaultError::AmbiguousGrant { .. } => ErrorCode::AmbiguousGrant,
            VaultError::GrantExpired { .. } => ErrorCode::GrantExpired,
            VaultError::GrantConsumed { .. } => ErrorCode::GrantConsumed,
            VaultError::GrantRevoked { .. } => ErrorCode::GrantRevoked,
            VaultError::GrantHost { .. } => ErrorCode::GrantWrongHost,
            VaultError::GrantRequest { .. } => ErrorCode::BadGrant,
            VaultError::GrantScope { .. } => ErrorCode::GrantWrongScope,
            VaultError::NoRandomness { .. } => ErrorCode::Internal,
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self.code() {
            ErrorCode::CredentialMalformed => {
                "Correct the named field; docs/credentials.md describes the document."
            }
            ErrorCode::ImportMalformed => {
                "Export it again, as a storage state, a cookies.txt or an extension's JSON."
            }
            ErrorCode::UnknownCredential => "`stockade credential list` shows those of this tenant.",
            ErrorCode::CredentialReadOnly => {
                "Write it with the tools of that backend: `vault kv put`, `sops edit`."
            }
            ErrorCode::CredentialAltered => {
                "The database was changed. Find out by whom, then store the credential again."
            }
            ErrorCode::CredentialSettings => {
                "Correct it under `credentials` in the configuration; docs/credentials.md lists the settings."
            }
            ErrorCode::NoTotpSeed => {
                "Store the credential again, with `totp`; the site shows the seed beside the QR code."
            }
            ErrorCode::NothingRotated => "`stockade credential show ID` says whether cookies wait.",
            ErrorCode::VaultUnreachable => "Check its address and that it runs. Stockade needs no restart.",
            ErrorCode::VaultUntrusted => "Name the authority that signed its certificate by `ca_file`.",
            ErrorCode::VaultSealed => "Unseal it. Stockade needs no restart.",
            ErrorCode::VaultDenied => {
                "Give the role `read` on the data path, and `list` on the metadata path."
            }
            ErrorCode::VaultLoginFailed => "Check the role, the secret and the mount of the login.",
            ErrorCode::VaultWrappingSpent => {
                "Make a new one. If you did not use this one, somebody else did: revoke what it wrapped."
            }
            ErrorCode::VaultAnswer => "Check that the path belongs to a KV mount of version 2.",
            ErrorCode::SopsUnreadable => {
                "Check that the file and the age key file are there and can be read."
            }
            ErrorCode::SopsMalformed => "Encrypt it again with sops.",
            ErrorCode::SopsNoKey => "Add the key with `sops updatekeys`, or name another age key file.",
            ErrorCode::SopsAltered => {
                "Somebody changed the file without sops: find out who, then restore it."
            }
            ErrorCode::SopsUnsupported => "Encrypt it with age keys alone, one document to a file.",
            ErrorCode::SopsNotSealed => {
                "Encrypt it again without a rule (`_unencrypted`, `encrypted_regex`) that leaves values in clear text."
            }
            ErrorCode::EnvUnreadable => "Put the file back. Stockade needs no restart.",
            ErrorCode::CredentialStoreBusy => "Another process is writing: try again in a moment.",
            ErrorCode::CredentialStoreUnreachable => {
                "Check that the database runs and is reachable. Stockade needs no restart."
            }
            ErrorCode::CredentialStoreNewer => "Use the newer version of Stockade that wrote it.",
            ErrorCode::CredentialStoreDamaged => "Restore a copy of the database.",
            ErrorCode::CredentialStoreFailed => "Look at the database's own log.",
            ErrorCode::MasterKeyMissing => "Put the key back: without it these credentials are lost.",
            ErrorCode::MasterKeyUnsafe => "`chmod 600` the file; if others could read it, rotate the key.",
            ErrorCode::MasterKeyMalformed => "Restore the key from its copy.",
            ErrorCode::MasterKeyWrong => {
                "Restore the key with that number: without it these credentials are lost."
            }
            ErrorCode::KeyringUnavailable => {
                "Unlock the keyring and install libsecret-tools, or use a key file."
            }
            ErrorCode::RotationNeedsKey => "Put a new key in front of the old one there, then rotate again.",
            ErrorCode::UnknownGrant
            | ErrorCode::GrantExpired
            | ErrorCode::GrantConsumed
            | ErrorCode::GrantRevoked => "Ask the operator for a new grant.",
            ErrorCode::AmbiguousGrant => "Give more of its id; `stockade grant list --json` shows whole ids.",
            ErrorCode::GrantWrongHost => "Ask the operator for a grant that names this host.",
            ErrorCode::GrantWrongScope => "Ask the operator for a grant of their own.",
            ErrorCode::BadGrant => "Correct what the message names and issue the grant again.",
            _ => "Try again. If it fails again, report it with the end of the log.",
        }
    }

    /// Whether the same call may work later.
    pub fn retryable(&self) -> bool {
        matches!(
            self.code(),
            ErrorCode::VaultUnreachable
                | ErrorCode::VaultSealed
                | ErrorCode::SopsUnreadable
                | ErrorCode::EnvUnreadable
                | ErrorCode::CredentialStoreBusy
                | ErrorCode::CredentialStoreUnreachable
        )
    }
}

/// Maps a database error: SQLite by number, PostgreSQL by class.
fn store_code(error: &sqlx::Error) -> ErrorCode {
    match error {
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) | sqlx::Error::Tls(_) => {
            ErrorCode::CredentialStoreUnreachable
        }
        sqlx::Error::Database(database) => {
            let code = database.code().unwrap_or_default();
            match code.parse::<i32>().map(|number| number & 0xff) {
                // PostgreSQL's codes have five characters; SQLite's primary ones are small.
                Ok(number) if code.len() < 5 => match number {
                    5 | 6 => ErrorCode::CredentialStoreBusy,
                    10 | 13 | 14 | 8 => ErrorCode::CredentialStoreUnreachable,
                    11 | 26 => ErrorCode::CredentialStoreDamaged,
                    _ => ErrorCode::CredentialStoreFailed,
                },
                _ if code.starts_with("08") || code.starts_with("57P") || code.starts_with("53") => {
                    ErrorCode::CredentialStoreUnreachable
                }
                _ if code.starts_with("40") || code.starts_with("55P") => ErrorCode::CredentialStoreBusy,
                _ => ErrorCode::CredentialStoreFailed,
            }
        }
        _ => ErrorCode::CredentialStoreFailed,
    }
}
