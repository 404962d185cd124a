//! Stored credentials, their backends, and the grants that release them.
//!
//! [`Vault::open_for_grant`] opens a [`Credential`] for a [`ConsumedGrant`], and only [`Grants::consume`] makes one: an
//! opening without a grant does not compile. Secrets are [`redact::Secret`]s.

mod backend;
mod credential;
mod error;
mod grant;
mod import;
mod secret_key;
mod secret_tree;
mod store;

pub use backend::{EnvBackend, KvAuth, KvBackend, KvSecret, KvSettings, SopsBackend, SopsKeys, Vault};
pub use credential::{
    BadCredentialId, BadHost, BasicAuth, Cookie, CookieOutline, Credential, CredentialId, CredentialOutline,
    GrantScope, Host, NamedValue, PageCondition, Probe, SignInState, Summary, TenantPath, Totp,
    TotpAlgorithm, Value,
};
pub use error::{Malformed, VaultError};
pub use grant::{ConsumedGrant, Grant, GrantRequest, GrantToken, GrantedHost, Grants, Issuer};
pub use import::{ImportFormat, Imported, import};
pub use store::{Database, MasterKeySource, NotedPlace, PendingRotation, Rotation, Store, with_timeout};
