//! Builds the vault from the settings: backend, database and master key. Secrets come from files and variables.

use crate::error::Fault;
use crate::settings::{Credentials, KvLogin, KvServer, MasterKeyPlace, VaultBackend};
use crate::state::State;
use redact::Secret;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use vault::{
    Database, EnvBackend, KvAuth, KvBackend, KvSecret, KvSettings, MasterKeySource, SopsBackend, SopsKeys,
    Store, Vault, VaultError,
};
use zeroize::Zeroizing;

/// Environment variable with the master keys, for deployments without a key file.
const KEY_VARIABLE: &str = "STOCKADE_MASTER_KEY";
const DATABASE_VARIABLE: &str = "STOCKADE_DATABASE_URL";
const KEYRING_SERVICE: &str = "stockade";
const CREDENTIAL_VARIABLES: &str = "STOCKADE_CREDENTIAL_";

/// Where Kubernetes puts the token of a pod's account.
const POD_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Maximum length of a secret file.
const LONGEST_SECRET: u64 = 16 * 1024;

/// The process that opens the vault. A wrapping token can be used once, and the server uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VaultUser {
    ControlPlane,
    Command,
}

/// Opens the configured backend. Missing settings are an error here and not when the configuration is read, because a
/// server with clean sessions only does not need them.
pub fn vault(
    credentials: &Credentials,
    state: &State,
    database: &Database,
    user: VaultUser,
) -> Result<Vault, Fault> {
    Ok(match credentials.vault_backend {
        VaultBackend::Store => Vault::Store(store(credentials, state, database)),
        VaultBackend::Env => Vault::Env(EnvBackend::new(CREDENTIAL_VARIABLES, std::env::vars_os())),
        VaultBackend::Sops => {
            let folder = credentials.sops.folder.as_ref().unwrap_or(&credentials.vault_path);
            if !folder.starts_with('/') {
                return Err(missing("sops.folder", "the folder of sops files, an absolute path"));
            }
            Vault::Sops(SopsBackend::new(folder, age_keys(credentials.sops.age_key_file.as_deref())?))
        }
        VaultBackend::Vault => {
            let server = &credentials.vault;
            let address = server.address.clone().or_else(|| variable("VAULT_ADDR"));
            let settings = KvSettings {
                address: address.ok_or_else(|| {
                    missing("vault.address", "the vault's address (or the variable VAULT_ADDR)")
                })?,
                path: credentials.vault_path.clone(),
                mount: server.mount.clone(),
                namespace: server.namespace.clone().or_else(|| variable("VAULT_NAMESPACE")),
                ca_file: server.ca_file.clone().or_else(|| variable("VAULT_CACERT")).map(PathBuf::from),
                auth: login(server, user)?,
            };
            Vault::Kv(KvBackend::new(settings)?)
        }
    })
}

/// Opens our own credential table with its master key.
pub fn store(credentials: &Credentials, state: &State, database: &Database) -> Store {
    let settings = &credentials.store;
    let value = std::env::var(KEY_VARIABLE).ok();
    let place = match settings.key {
        Some(place) => place,
        None if value.is_some() => MasterKeyPlace::Env,
        None => MasterKeyPlace::File,
    };
    let source = match place {
        MasterKeyPlace::Keyring => MasterKeySource::Keyring { service: KEYRING_SERVICE.to_owned() },
        // An unset variable is reported when a key is needed.
        MasterKeyPlace::Env => MasterKeySource::Variable {
            name: KEY_VARIABLE.to_owned(),
            value: Secret::new(value.unwrap_or_default()),
        },
        MasterKeyPlace::File => MasterKeySource::File(
            settings.key_file.as_ref().map_or_else(|| state.master_key(), PathBuf::from),
        ),
    };
    Store::new(database.clone(), source)
}

/// Opens the database of grants, for every backend, and of our own credential table.
pub fn database(credentials: &Credentials, state: &State) -> Result<Database, Fault> {
    let address = match &credentials.store.database_url_file {
        Some(file) => Some(read_secret(Path::new(file), "store.database_url_file")?),
        None => variable(DATABASE_VARIABLE).map(Secret::new),
    };
    Ok(match address {
        Some(address) => Database::postgres(address.expose_secret())?,
        None => Database::sqlite(&state.vault_database())?,
    })
}

fn login(server: &KvServer, user: VaultUser) -> Result<KvAuth, Fault> {
    let secret = |file: &Option<String>, name: &'static str, what: &'static str, or: &str| {
        kv_secret(server, user, file.as_deref(), name).unwrap_or_else(|| Err(missing(what, or)))
    };
    let mount = |usual: &str| server.auth_mount.clone().unwrap_or_else(|| usual.to_owned());
    Ok(match server.auth {
        KvLogin::Token => KvAuth::Token(secret(
            &server.token_file,
            "VAULT_TOKEN",
            "vault.token_file",
            "a file with the token (or the variable VAULT_TOKEN)",
        )?),
        KvLogin::AppRole => KvAuth::AppRole {
            mount: mount("approle"),
            role_id: server
                .role_id
                .clone()
                .ok_or_else(|| missing("vault.role_id", "the role's id, for 'auth: approle'"))?,
            secret_id: secret(
                &server.secret_id_file,
                "VAULT_SECRET_ID",
                "vault.secret_id_file",
                "a file with the secret id (or the variable VAULT_SECRET_ID)",
            )?,
        },
        KvLogin::Kubernetes => KvAuth::Kubernetes {
            mount: mount("kubernetes"),
            role: server
                .role
                .clone()
                .ok_or_else(|| missing("vault.role", "the role's name, for 'auth: kubernetes'"))?,
            token_file: PathBuf::from(server.jwt_file.as_deref().unwrap_or(POD_TOKEN)),
        },
    })
}

/// The secret from a file, which is read at every login, or else from a variable.
fn kv_secret(
    server: &KvServer,
    user: VaultUser,
    file: Option<&str>,
    name: &str,
) -> Option<Result<KvSecret, Fault>> {
    if server.wrapped && user == VaultUser::Command {
        return Some(Err(Fault::from(VaultError::Settings {
            what: "vault.wrapped",
            reason: "a wrapping token works once, and the server uses it".to_owned(),
        })
        .hint("Ask the running server (GET /operator/credentials), or use the vault's own tools.")));
    }
    match (file, server.wrapped) {
        (Some(file), false) => Some(Ok(KvSecret::File(PathBuf::from(file)))),
        (Some(file), true) => Some(read_secret(Path::new(file), "vault.wrapped").map(KvSecret::Wrapped)),
        (None, wrapped) => {
            let value = Secret::new(variable(name)?);
            Some(Ok(if wrapped { KvSecret::Wrapped(value) } else { KvSecret::Plain(value) }))
        }
    }
}

/// The age keys from the settings, or from the variables that sops uses.
fn age_keys(file: Option<&str>) -> Result<SopsKeys, Fault> {
    let file = file.map(str::to_owned).or_else(|| variable("SOPS_AGE_KEY_FILE"));
    match (file, variable("SOPS_AGE_KEY")) {
        (Some(file), _) => Ok(SopsKeys::File(PathBuf::from(file))),
        (None, Some(text)) => Ok(SopsKeys::Text(Secret::new(text))),
        (None, None) => {
            Err(missing("sops.age_key_file", "a file with age keys (or the variable SOPS_AGE_KEY_FILE)"))
        }
    }
}

fn missing(what: &'static str, needed: &str) -> Fault {
    VaultError::Settings { what, reason: format!("this is needed here: {needed}") }.into()
}

/// The value of an environment variable; an empty one counts as unset.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Reads a secret from a file that belongs to this user or root and that nobody else can read.
pub fn read_secret(file: &Path, what: &'static str) -> Result<Secret, Fault> {
    let bad = |reason: String| VaultError::Settings { what, reason: format!("{}: {reason}", file.display()) };
    let unreadable = |error: std::io::Error| bad(error.to_string());
    let handle = std::fs::File::open(file).map_err(unreadable)?;
    let about = handle.metadata().map_err(unreadable)?;
    let ours = about.uid() == rustix::process::geteuid().as_raw() || about.uid() == 0;
    if about.mode() & 0o077 != 0 || !ours {
        return Err(bad("other users can read this secret; set its mode to 0600".to_owned()).into());
    }
    if !about.is_file() || about.len() > LONGEST_SECRET {
        return Err(bad("this is not a file with a secret".to_owned()).into());
    }
    let mut text = Zeroizing::new(String::with_capacity(LONGEST_SECRET as usize));
    handle.take(LONGEST_SECRET).read_to_string(&mut text).map_err(unreadable)?;
    Ok(Secret::new(text.trim().to_owned()))
}
