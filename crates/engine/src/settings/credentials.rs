//! Settings of credentials: backends and standing grants.
//!
//! The configuration has names and paths only. Secrets come from files and variables, because people copy, share and
//! commit configurations.

use super::values::{KvLogin, MasterKeyPlace, Seconds, VaultBackend};
use policy::{Access, Actor, DomainPattern, Tenant};
use vault::GrantedHost;

#[derive(Clone, Debug)]
pub struct Credentials {
    pub vault_backend: VaultBackend,
    /// The mount and path in a vault, or the folder of sops files.
    pub vault_path: String,
    pub vault: KvServer,
    pub sops: Sops,
    pub store: StoreSettings,
    /// Whether `standing` is in effect.
    pub auto_inject: bool,
    /// Standing grants.
    pub standing: Vec<StandingGrant>,
    /// Extra sites that a signed-in session may reach without an approval.
    pub egress: Vec<DomainPattern>,
    /// Default lifetime of a grant.
    pub grant_lifetime: Seconds,
}

/// A server of HashiCorp Vault or OpenBao.
#[derive(Clone, Debug)]
pub struct KvServer {
    pub address: Option<String>,
    pub namespace: Option<String>,
    pub ca_file: Option<String>,
    /// The mount of the secrets, where its name has more than one part.
    pub mount: Option<String>,
    pub auth: KvLogin,
    /// The mount of the login.
    pub auth_mount: Option<String>,
    pub token_file: Option<String>,
    pub role_id: Option<String>,
    pub secret_id_file: Option<String>,
    /// The token or secret id is a wrapping token that holds it.
    pub wrapped: bool,
    pub role: Option<String>,
    /// Where Kubernetes puts it if absent.
    pub jwt_file: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Sops {
    /// `vault_path` if absent.
    pub folder: Option<String>,
    pub age_key_file: Option<String>,
}

/// Our own table. Grants, and cookies that wait to be accepted, are in the same database whatever the backend.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// A file with the address of a PostgreSQL database, which has a password in it.
    pub database_url_file: Option<String>,
    /// The variable if it is set, else the file.
    pub key: Option<MasterKeyPlace>,
    pub key_file: Option<String>,
}

/// Lets an agent sign in to these hosts at any time, without an issued grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingGrant {
    pub tenant: Tenant,
    pub actor: Actor,
    pub hosts: Vec<GrantedHost>,
    pub access: Access,
}
