//! KV version 2 of HashiCorp Vault or OpenBao: one secret per credential, with the document as its data.

mod http;
mod login;

pub use login::{KvAuth, KvSecret};

use crate::backend::unknown;
use crate::credential::{Credential, CredentialId, TenantPath};
use crate::error::VaultError;
use crate::secret_tree::SecretNode;
use http::{KvClient, KvResponse};
use login::TokenManager;
use policy::Tenant;
use std::path::PathBuf;
use std::sync::Arc;

pub struct KvSettings {
    /// `https://vault.example.org:8200`; plain `http` to this machine only.
    pub address: String,
    /// `secrets/browser/`: the mount, and the path in it. `{tenant}` stands for the tenant's name.
    pub path: String,
    /// Where the mount's name has more than one part.
    pub mount: Option<String>,
    pub namespace: Option<String>,
    /// The authority that signed the server's certificate. If set, no other is trusted.
    pub ca_file: Option<PathBuf>,
    pub auth: KvAuth,
}

pub struct KvBackend {
    tokens: Arc<TokenManager>,
    mount: String,
    path: TenantPath,
}

/// A longer list of keys is an error.
const MOST_KEYS: usize = 10_000;

impl KvBackend {
    /// Does not connect: the server may be down at the start.
    pub fn new(settings: KvSettings) -> Result<KvBackend, VaultError> {
        let path = settings.path.trim_matches('/');
        let fits = path.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./{}".contains(&b));
        if path.is_empty() || !fits || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            let reason =
                "a path such as secrets/browser/, of letters, digits, '-', '_', '.' and '/'".to_owned();
            return Err(VaultError::Settings { what: "vault_path", reason });
        }
        let mount = match &settings.mount {
            Some(mount) => mount.trim_matches('/').to_owned(),
            None => path.split('/').next().unwrap_or_default().to_owned(),
        };
        let rest = path.strip_prefix(&mount).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let Some(rest) = rest.map(|rest| rest.trim_matches('/')) else {
            return Err(VaultError::Settings {
                what: "vault_path",
                reason: format!("it begins with the mount, {mount}"),
            });
        };
        let client =
            KvClient::new(&settings.address, settings.namespace.as_deref(), settings.ca_file.as_deref())?;
        let path = TenantPath::new(rest);
        Ok(KvBackend { tokens: TokenManager::new(client, settings.auth), mount, path })
    }

    pub(super) async fn list(&self, tenant: &Tenant) -> Result<Vec<CredentialId>, VaultError> {
        let Some(path) = self.path.of(tenant) else { return Ok(Vec::new()) };
        let slash = if path.is_empty() { "" } else { "/" };
        let response = self.get(&format!("{}/metadata{slash}{path}?list=true", self.mount)).await?;
        if response.status == 404 {
            return self.nothing_there(response).map(|()| Vec::new());
        }
        let odd = |bad: crate::Malformed| self.odd(bad.to_string());
        let mut fields = response.body.fields("").map_err(odd)?;
        let mut data = fields.need("data").and_then(|node| node.fields("data")).map_err(odd)?;
        let keys = data.need("keys").and_then(|node| node.list("data.keys", MOST_KEYS)).map_err(odd)?;
        let names = keys.into_iter().filter_map(|key| key.plain("").ok());
        Ok(names.filter_map(|name| CredentialId::parse(&name).ok()).collect())
    }

    pub(super) async fn open(&self, tenant: &Tenant, id: &CredentialId) -> Result<Credential, VaultError> {
        let path = self.path.of(tenant).ok_or_else(|| unknown(id))?;
        let slash = if path.is_empty() { "" } else { "/" };
        let response = self.get(&format!("{}/data{slash}{path}/{id}", self.mount)).await?;
        if response.status == 404 {
            self.nothing_there(response)?;
            return Err(unknown(id));
        }
        let odd = |bad: crate::Malformed| self.odd(bad.to_string());
        let mut fields = response.body.fields("").map_err(odd)?;
        let mut data = fields.need("data").and_then(|node| node.fields("data")).map_err(odd)?;
        let document =
            data.need("data").map_err(|_| self.odd("no KV mount of version 2 is there".to_owned()))?;
        Ok(Credential::read(document)?)
    }

    /// Sends a GET. A token that the server refuses is replaced once by a new login.
    async fn get(&self, path: &str) -> Result<KvResponse, VaultError> {
        let token = self.tokens.token().await?;
        let response = self.tokens.client().call("GET", path, Some(&token), None).await?;
        let response = match response.status {
            403 => match self.tokens.replace(&token).await? {
                Some(token) => self.tokens.client().call("GET", path, Some(&token), None).await?,
                None => response,
            },
            _ => response,
        };
        match response.status {
            200 | 404 => Ok(response),
            403 => Err(VaultError::Denied { address: self.address(), reason: response.reason() }),
            status => Err(self.odd(format!("status {status}, {}", response.reason()))),
        }
    }

    /// The server answers 404 without errors for an empty path, and with errors where there is no such mount.
    fn nothing_there(&self, response: KvResponse) -> Result<(), VaultError> {
        if response.has_errors() { Err(self.odd(response.reason())) } else { Ok(()) }
    }

    fn odd(&self, reason: String) -> VaultError {
        VaultError::Answer { address: self.address(), reason }
    }

    fn address(&self) -> String {
        self.tokens.client().address().to_owned()
    }
}

/// Reads one text out of a response: `auth.client_token`, for example.
fn text_at(node: SecretNode, outer: &str, inner: &str) -> Option<redact::Secret> {
    let mut fields = node.fields("").ok()?.take(outer)?.fields(outer).ok()?;
    fields.take(inner)?.text(inner).ok().map(redact::Secret::new)
}
