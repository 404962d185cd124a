//! What can go wrong with credentials, their backends and grants. No message carries a value.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A document that is not what it should be: which field, and why. Never the value.
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
    #[error("credentials in the {backend} backend are not written by Stockade")]
    ReadOnly { backend: &'static str },
    #[error("credential '{id}' does not open: its row was altered or moved")]
    Altered { id: String },
    #[error("no rotated cookies wait for credential '{id}'")]
    NothingRotated { id: String },
    #[error("credential '{id}' has no TOTP seed")]
    NoTotp { id: String },
    #[error("'{what}' in the settings of credentials: {reason}")]
    Settings { what: &'static str, reason: String },

    #[error("the vault at {address} cannot be reached: {reason}")]
    Unreachable { address: String, reason: String },
    #[error("the vault at {address} is not who it should be: {reason}")]
    Untrusted { address: String, reason: String },
    #[error("the vault at {address} is sealed")]
    Sealed { address: String },
    #[error("the vault at {address} refuses: {reason}")]
    Denied { address: String, reason: String },
    #[error("the vault at {address} does not accept the {method} login: {reason}")]
    LoginFailed { address: String, method: &'static str, reason: String },
    #[error("the wrapping token was used already or is too old")]
    WrappingSpent,
    #[error("the vault at {address} answered what was not expected: {reason}")]
    Answer { address: String, reason: String },

    #[error("cannot read {}", file.display())]
    SopsFile { file: PathBuf, source: io::Error },
    #[error("{} is no sops file: {bad}", file.display())]
    SopsMalformed { file: PathBuf, bad: Malformed },
    #[error("none of the age keys opens {}", file.display())]
    SopsNoKey { file: PathBuf },
    #[error("{} was altered: {bad}", file.display())]
    SopsAltered { file: PathBuf, bad: Malformed },
    #[error("{} uses what is not read here: {what}", file.display())]
    SopsUnsupported { file: PathBuf, what: &'static str },
    #[error("{field} in {} is not encrypted, and every value has to be", file.display())]
    SopsOpen { file: PathBuf, field: String },

    #[error("cannot read {}, which {variable} names", file.display())]
    EnvFile { variable: String, file: PathBuf, source: io::Error },

    #[error("{doing}")]
    Store { doing: &'static str, source: sqlx::Error },
    #[error("the database of credentials and grants has not answered for {seconds} s")]
    StoreSilent { seconds: u64 },
    #[error("cannot make the database file {}", file.display())]
    StoreFile { file: PathBuf, source: io::Error },
    #[error("the database is of version {found}, and this program knows versions up to {known}")]
    StoreNewer { found: i64, known: i64 },
    #[error("the database holds what was never written there: {what}")]
    StoreDamaged { what: &'static str },

    #[error("cannot read the master key from {place}: {reason}")]
    NoMasterKey { place: String, reason: String },
    #[error("others than its owner may read or write the master key {}", file.display())]
    MasterKeyUnsafe { file: PathBuf },
    #[error("the master key from {place} is malformed: {reason}")]
    MasterKeyMalformed { place: String, reason: &'static str },
    #[error("credentials are sealed with master key {wanted}, and {place} has {found}")]
    WrongMasterKey { place: String, wanted: String, found: String },
    #[error("the OS keyring cannot be used: {reason}")]
    Keyring { reason: String },
    #[error("{place} has one master key, and this program cannot write a second one there")]
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
    #[error("a grant that cannot be issued: {reason}")]
    GrantRequest { reason: String },
    #[error("credential '{id}' is released by an operator's grant only")]
    GrantScope { id: String },

    #[error("no random numbers")]
    NoRandomness { source: getrandom::Error },
}

impl VaultError {
    pub(crate) fn store(doing: &'static str) -> impl Fn(sqlx::Error) -> VaultError {
        move |source| VaultError::Store { doing, source }
    }

    /// The stable name of the error.
    pub fn code(&self) -> &'static str {
        match self {
            VaultError::Credential(_) => "credential_malformed",
            VaultError::Import(_) => "import_malformed",
            VaultError::UnknownCredential { .. } => "unknown_credential",
            VaultError::ReadOnly { .. } => "credential_read_only",
            VaultError::Altered { .. } => "credential_altered",
            VaultError::NothingRotated { .. } => "nothing_rotated",
            VaultError::NoTotp { .. } => "no_totp_seed",
            VaultError::Settings { .. } => "credential_settings",
            VaultError::Unreachable { .. } => "vault_unreachable",
            VaultError::Untrusted { .. } => "vault_untrusted",
            VaultError::Sealed { .. } => "vault_sealed",
            VaultError::Denied { .. } => "vault_denied",
            VaultError::LoginFailed { .. } => "vault_login_failed",
            VaultError::WrappingSpent => "vault_wrapping_spent",
            VaultError::Answer { .. } => "vault_answer",
            VaultError::SopsFile { .. } => "sops_unreadable",
            VaultError::SopsMalformed { .. } => "sops_malformed",
            VaultError::SopsNoKey { .. } => "sops_no_key",
            VaultError::SopsAltered { .. } => "sops_altered",
            VaultError::SopsUnsupported { .. } => "sops_unsupported",
            VaultError::SopsOpen { .. } => "sops_not_sealed",
            VaultError::EnvFile { .. } => "env_unreadable",
            VaultError::Store { source, .. } => store_code(source),
            VaultError::StoreFile { .. } | VaultError::StoreSilent { .. } => "credential_store_unreachable",
            VaultError::StoreNewer { .. } => "credential_store_newer",
            VaultError::StoreDamaged { .. } => "credential_store_damaged",
            VaultError::NoMasterKey { .. } => "master_key_missing",
            VaultError::MasterKeyUnsafe { .. } => "master_key_unsafe",
            VaultError::MasterKeyMalformed { .. } => "master_key_malformed",
            VaultError::WrongMasterKey { .. } => "master_key_wrong",
            VaultError::Keyring { .. } => "keyring_unavailable",
            VaultError::RotationNeedsKey { .. } => "rotation_needs_key",
            VaultError::UnknownGrant => "unknown_grant",
            VaultError::AmbiguousGrant { .. } => "ambiguous_grant",
            VaultError::GrantExpired { .. } => "grant_expired",
            VaultError::GrantConsumed { .. } => "grant_consumed",
            VaultError::GrantRevoked { .. } => "grant_revoked",
            VaultError::GrantHost { .. } => "grant_wrong_host",
            VaultError::GrantRequest { .. } => "bad_grant",
            VaultError::GrantScope { .. } => "grant_wrong_scope",
            VaultError::NoRandomness { .. } => "internal",
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self.code() {
            "credential_malformed" => "Mend the field that is named; docs/credentials.md has the form.",
            "import_malformed" => {
                "Export it again, as a storage state, a cookies.txt or an extension's JSON."
            }
            "unknown_credential" => "`stockade credential list` shows those of this tenant.",
            "credential_read_only" => "Write it with the tools of that backend: `vault kv put`, `sops edit`.",
            "credential_altered" => {
                "Somebody changed the database: find out who, then put the credential anew."
            }
            "credential_settings" => {
                "Mend it under `credentials` in the configuration; docs/credentials.md has them all."
            }
            "no_totp_seed" => {
                "Put the credential anew, with `totp`; the site shows its seed beside the QR code."
            }
            "nothing_rotated" => "`stockade credential show ID` says whether cookies wait.",
            "vault_unreachable" => "Check its address and that it runs; nothing has to be restarted here.",
            "vault_untrusted" => "Name the authority that signed its certificate by `ca_file`.",
            "vault_sealed" => "Unseal it; nothing has to be restarted here.",
            "vault_denied" => "Give the role `read` on the data path, and `list` on the metadata path.",
            "vault_login_failed" => "Check the role, the secret and the mount of the login.",
            "vault_wrapping_spent" => {
                "Make a new one. If nobody here used it, somebody else did: revoke what it held."
            }
            "vault_answer" => "See that the path leads to a KV mount of version 2.",
            "sops_unreadable" => "Check that the file and the age key file are there and can be read.",
            "sops_malformed" => "Encrypt it again with sops.",
            "sops_no_key" => "Add the key with `sops updatekeys`, or name another age key file.",
            "sops_altered" => "Somebody changed the file without sops: find out who, then restore it.",
            "sops_unsupported" => "Encrypt it with age keys alone, one document to a file.",
            "sops_not_sealed" => {
                "Encrypt it again without a rule (`_unencrypted`, `encrypted_regex`) that leaves values open."
            }
            "env_unreadable" => "Put the file back; nothing has to be restarted here.",
            "credential_store_busy" => "Another process is writing: try again in a moment.",
            "credential_store_unreachable" => {
                "Check that the database runs and can be reached; nothing has to be restarted here."
            }
            "credential_store_newer" => "Use the newer program that wrote it.",
            "credential_store_damaged" => "Restore a copy of the database.",
            "credential_store_failed" => "See the database's own log.",
            "master_key_missing" => "Put the key back: without it these credentials are lost.",
            "master_key_unsafe" => "`chmod 600` the file; if others could read it, rotate the key.",
            "master_key_malformed" => "Restore the key from its copy.",
            "master_key_wrong" => {
                "Bring back the key with that number: without it these credentials are lost."
            }
            "keyring_unavailable" => "Unlock the keyring and install libsecret-tools, or use a key file.",
            "rotation_needs_key" => "Put a new key in front of the old one there, then rotate again.",
            "unknown_grant" | "grant_expired" | "grant_consumed" | "grant_revoked" => {
                "Ask the operator for a new grant."
            }
            "ambiguous_grant" => "Give more of its id; `stockade grant list --json` has it whole.",
            "grant_wrong_host" => "Ask the operator for a grant that names this host.",
            "grant_wrong_scope" => "Ask the operator for a grant of their own.",
            "bad_grant" => "Mend what is named and issue it again.",
            _ => "Try again; if it stays, please report it, with the end of the log.",
        }
    }

    /// Whether the same call may work later.
    pub fn retryable(&self) -> bool {
        matches!(
            self.code(),
            "vault_unreachable"
                | "vault_sealed"
                | "sops_unreadable"
                | "env_unreadable"
                | "credential_store_busy"
                | "credential_store_unreachable"
        )
    }
}

/// What a database's error means to us: SQLite by number, PostgreSQL by class.
fn store_code(error: &sqlx::Error) -> &'static str {
    match error {
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) | sqlx::Error::Tls(_) => {
            "credential_store_unreachable"
        }
        sqlx::Error::Database(database) => {
            let code = database.code().unwrap_or_default();
            match code.parse::<i32>().map(|number| number & 0xff) {
                // PostgreSQL's codes have five characters; SQLite's primary ones are small.
                Ok(number) if code.len() < 5 => match number {
                    5 | 6 => "credential_store_busy",
                    10 | 13 | 14 | 8 => "credential_store_unreachable",
                    11 | 26 => "credential_store_damaged",
                    _ => "credential_store_failed",
                },
                _ if code.starts_with("08") || code.starts_with("57P") || code.starts_with("53") => {
                    "credential_store_unreachable"
                }
                _ if code.starts_with("40") || code.starts_with("55P") => "credential_store_busy",
                _ => "credential_store_failed",
            }
        }
        _ => "credential_store_failed",
    }
}
