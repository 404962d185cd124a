//! KV version 2 of HashiCorp Vault or OpenBao: one secret a credential, its document the secret's data.

mod http;
mod login;
mod tls;

pub use login::{KvAuth, KvSecret};

use crate::backend::unknown;
use crate::credential::{Credential, CredentialId, TenantPath};
use crate::error::VaultError;
use crate::node::Node;
use http::{Answer, Client};
use login::Keeper;
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
    /// The authority that signed the server's certificate; then no other is trusted.
    pub ca_file: Option<PathBuf>,
    pub auth: KvAuth,
}

pub struct KvBackend {
    keeper: Arc<Keeper>,
    mount: String,
    path: TenantPath,
}

/// More keys than this in one answer are not listed.
const MOST_KEYS: usize = 10_000;

impl KvBackend {
    /// Nothing is asked of the server yet: it may be down when we start.
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
            Client::new(&settings.address, settings.namespace.as_deref(), settings.ca_file.as_deref())?;
        let path = TenantPath::new(rest);
        Ok(KvBackend { keeper: Keeper::new(client, settings.auth), mount, path })
    }

    pub(super) async fn list(&self, tenant: &Tenant) -> Result<Vec<CredentialId>, VaultError> {
        let Some(path) = self.path.of(tenant) else { return Ok(Vec::new()) };
        let slash = if path.is_empty() { "" } else { "/" };
        let answer = self.get(&format!("{}/metadata{slash}{path}?list=true", self.mount)).await?;
        if answer.status == 404 {
            return self.nothing_there(answer).map(|()| Vec::new());
        }
        let odd = |bad: crate::Malformed| self.odd(bad.to_string());
        let mut fields = answer.body.fields("").map_err(odd)?;
        let mut data = fields.need("data").and_then(|node| node.fields("data")).map_err(odd)?;
        let keys = data.need("keys").and_then(|node| node.list("data.keys", MOST_KEYS)).map_err(odd)?;
        let names = keys.into_iter().filter_map(|key| key.plain("").ok());
        Ok(names.filter_map(|name| CredentialId::parse(&name).ok()).collect())
    }

    pub(super) async fn open(&self, tenant: &Tenant, id: &CredentialId) -> Result<Credential, VaultError> {
        let path = self.path.of(tenant).ok_or_else(|| unknown(id))?;
        let slash = if path.is_empty() { "" } else { "/" };
        let answer = self.get(&format!("{}/data{slash}{path}/{id}", self.mount)).await?;
        if answer.status == 404 {
            self.nothing_there(answer)?;
            return Err(unknown(id));
        }
        let odd = |bad: crate::Malformed| self.odd(bad.to_string());
        let mut fields = answer.body.fields("").map_err(odd)?;
        let mut data = fields.need("data").and_then(|node| node.fields("data")).map_err(odd)?;
        let document =
            data.need("data").map_err(|_| self.odd("no KV mount of version 2 is there".to_owned()))?;
        Ok(Credential::read(document)?)
    }

    /// Asks; a token that is no longer taken is replaced once by a new login.
    async fn get(&self, path: &str) -> Result<Answer, VaultError> {
        let token = self.keeper.token().await?;
        let answer = self.keeper.client().call("GET", path, Some(&token), None).await?;
        let answer = match answer.status {
            403 => match self.keeper.replace(&token).await? {
                Some(token) => self.keeper.client().call("GET", path, Some(&token), None).await?,
                None => answer,
            },
            _ => answer,
        };
        match answer.status {
            200 | 404 => Ok(answer),
            403 => Err(VaultError::Denied { address: self.address(), reason: answer.reason() }),
            status => Err(self.odd(format!("status {status}, {}", answer.reason()))),
        }
    }

    /// A path that holds nothing is answered without a word; words mean that the mount is not there.
    fn nothing_there(&self, answer: Answer) -> Result<(), VaultError> {
        if answer.has_errors() { Err(self.odd(answer.reason())) } else { Ok(()) }
    }

    fn odd(&self, reason: String) -> VaultError {
        VaultError::Answer { address: self.address(), reason }
    }

    fn address(&self) -> String {
        self.keeper.client().address().to_owned()
    }
}

/// Reads one text out of an answer: `auth.client_token`, say.
fn text_at(node: Node, outer: &str, inner: &str) -> Option<crate::Secret> {
    let mut fields = node.fields("").ok()?.take(outer)?.fields(outer).ok()?;
    fields.take(inner)?.text(inner).ok().map(crate::Secret::new)
}
