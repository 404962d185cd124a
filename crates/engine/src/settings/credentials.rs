//! Settings of credentials: where they rest, and standing grants.
//!
//! Only names and places stand here. Secrets come from files and variables, never from the configuration, which people
//! copy, show and check in.

use super::values::{KvLogin, MasterKeyPlace, Seconds, VaultBackend};
use policy::{Actor, DomainPattern, Tenant};
use vault::GrantedHost;

#[derive(Clone, Debug)]
pub struct Credentials {
    pub vault_backend: VaultBackend,
    /// The mount and path in a vault, or the folder of sops files.
    pub vault_path: String,
    pub vault: KvServer,
    pub sops: Sops,
    pub store: StoreSettings,
    /// Whether `standing` counts.
    pub auto_inject: bool,
    /// Grants that exist without anybody issuing them.
    pub standing: Vec<StandingGrant>,
    /// Where a signed-in session may go without asking, beside the sites it is signed in to.
    pub egress: Vec<DomainPattern>,
    /// How long a grant lives if nobody says otherwise.
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

/// An operator's word that an agent may be signed in to these hosts whenever it asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingGrant {
    pub tenant: Tenant,
    pub actor: Actor,
    pub hosts: Vec<GrantedHost>,
}
