//! Credentials at rest and their backends; grants that release them.
//!
//! A [`Credential`] comes out of a [`Vault`] against a [`Leave`], and only [`Grants::consume`] makes a `Leave`: what
//! has no grant does not compile. Secrets are wiped when dropped and opened by `expose_secret` alone.

mod backend;
mod credential;
mod error;
mod grant;
mod import;
mod node;
mod redact;
mod secret;
mod store;

pub use backend::{
    EnvBackend, KvAuth, KvBackend, KvSecret, KvSettings, SopsBackend, SopsKeys, Summary, Vault,
};
pub use credential::{
    BadCredentialId, BadHost, BasicAuth, Cookie, Credential, CredentialId, Entry, GrantScope, Host, Priority,
    Probe, SHORTEST_SECRET, SameSite, Sign, TenantPath, Totp, TotpAlgorithm, Value, Verdict,
};
pub use error::{Malformed, VaultError};
pub use grant::{Grant, GrantRequest, GrantToken, GrantedHost, Grants, Issuer, Leave};
pub use import::{ImportFormat, Imported, import};
pub use redact::{MASK, Redactor, Stream};
pub use secret::Secret;
pub use store::{Database, MasterKeySource, Rotation, Store, Waiting, answered};
