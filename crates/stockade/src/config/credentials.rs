//! Credential settings: the vault backend, and standing grants.
//!
//! They hold names and paths only. Secrets come from a file or an environment variable, never from the configuration,
//! which people copy, show and check in.

use crate::config::reader::{ReadSection, Section};
use crate::config::schema::absolute_path;
use crate::config::values::{DisplayValue, boolean, choice, domains, optional, scalar, seconds, text};
use crate::config::yaml::{Field, Node, NodeContent};
use engine::settings::{
    Credentials, KvLogin, KvServer, Seconds, Sops, StandingGrant, StoreSettings, VaultBackend,
};
use policy::{Access, Actor, Tenant};
use serde_json::{Value, json};
use vault::GrantedHost;

const DAY: u32 = 24 * 60 * 60;
const MOST_STANDING: usize = 200;
/// The most hosts of one grant.
const MOST_HOSTS: usize = 32;
const STANDING: &str = "a list of standing grants, each with 'actor', 'hosts' and, unless they are default and write, 'tenant' and 'access',";

impl ReadSection for Credentials {
    fn read(s: &mut Section) -> Credentials {
        Credentials {
            // S1's example says `vault`, which needs an address. The default must work without one.
            vault_backend: s.get("vault_backend", VaultBackend::Store, choice),
            vault_path: s.get(
                "vault_path",
                "secrets/browser/".to_owned(),
                text(512, |c| c.is_ascii_graphic(), "a path"),
            ),
            vault: s.section("vault", KvServer::read),
            sops: s.section("sops", |s| Sops {
                folder: s.get("folder", None, optional(absolute_path)),
                age_key_file: s.get("age_key_file", None, optional(absolute_path)),
            }),
            store: s.section("store", |s| StoreSettings {
                database_url_file: s.get("database_url_file", None, optional(absolute_path)),
                key: s.get("key", None, optional(choice)),
                key_file: s.get("key_file", None, optional(absolute_path)),
            }),
            auto_inject: s.get("auto_inject", true, boolean),
            standing: s.get("standing", Vec::new(), standing),
            egress: s.get("egress", Vec::new(), domains),
            grant_lifetime: s.get("grant_lifetime", Seconds(15 * 60), seconds(1..=DAY)),
        }
    }
}

impl ReadSection for KvServer {
    fn read(s: &mut Section) -> KvServer {
        let plain = || text(512, |c| c.is_ascii_graphic(), "a name without blanks");
        KvServer {
            address: s.get("address", None, optional(address)),
            namespace: s.get("namespace", None, optional(plain())),
            ca_file: s.get("ca_file", None, optional(absolute_path)),
            mount: s.get("mount", None, optional(plain())),
            auth: s.get("auth", KvLogin::Token, choice),
            auth_mount: s.get("auth_mount", None, optional(plain())),
            token_file: s.get("token_file", None, optional(absolute_path)),
            role_id: s.get("role_id", None, optional(plain())),
            secret_id_file: s.get("secret_id_file", None, optional(absolute_path)),
            wrapped: s.get("wrapped", false, boolean),
            role: s.get("role", None, optional(plain())),
            jwt_file: s.get("jwt_file", None, optional(absolute_path)),
        }
    }
}

/// An http or https URL. The backend allows plain http to this machine only.
fn address(node: &Node) -> Result<String, String> {
    let url = scalar(node).and_then(|text| url::Url::parse(text).ok()).filter(|url| {
        matches!(url.scheme(), "https" | "http")
            && url.host().is_some()
            && url.username().is_empty()
            && url.password().is_none()
    });
    url.map(|url| url.as_str().trim_end_matches('/').to_owned())
        .filter(|text| text.len() <= 2048)
        .ok_or_else(|| "an address such as https://vault.example.org:8200, without a user name,".to_owned())
}

fn standing(node: &Node) -> Result<Vec<StandingGrant>, String> {
    match &node.content {
        _ if node.is_null() => Ok(Vec::new()),
        NodeContent::List(items) if items.len() <= MOST_STANDING => {
            items.iter().map(|item| one(item)).collect()
        }
        _ => Err(format!("{STANDING} at most {MOST_STANDING}")),
    }
}

fn one(node: &Node) -> Result<StandingGrant, String> {
    let NodeContent::Map(fields) = &node.content else { return Err(STANDING.to_owned()) };
    if let Some(field) =
        fields.iter().find(|field| !["tenant", "actor", "hosts", "access"].contains(&field.key.as_str()))
    {
        return Err(format!("{STANDING} and not '{}',", field.key.escape_debug()));
    }
    let named = |key: &str| field(fields, key).map(|node| scalar(node).unwrap_or_default());
    let name =
        |key: &str, error: policy::InvalidName| format!("a standing grant's '{key}' to be a name: {error};");
    let tenant =
        Tenant::parse(named("tenant").unwrap_or("default")).map_err(|error| name("tenant", error))?;
    let actor = Actor::parse(named("actor").ok_or(STANDING)?).map_err(|error| name("actor", error))?;
    let access = match named("access") {
        None => Access::default(),
        Some(text) => {
            Access::parse(text).ok_or("a standing grant's 'access' to be 'read', 'write' or 'full';")?
        }
    };
    let hosts = hosts(field(fields, "hosts").ok_or(STANDING)?)?;
    Ok(StandingGrant { tenant, actor, hosts, access })
}

fn hosts(node: &Node) -> Result<Vec<GrantedHost>, String> {
    let expected = || {
        format!(
            "a standing grant's 'hosts' to be 1 to {MOST_HOSTS} of github.com, or site:github.com with all under it;"
        )
    };
    let NodeContent::List(items) = &node.content else { return Err(expected()) };
    if items.is_empty() || items.len() > MOST_HOSTS {
        return Err(expected());
    }
    let host = |item: &Node| scalar(item).and_then(|text| GrantedHost::parse(text).ok()).ok_or_else(expected);
    items.iter().map(|item| host(item)).collect()
}

fn field<'n>(fields: &'n [Field], key: &str) -> Option<&'n Node> {
    fields.iter().find(|field| field.key == key).map(|field| &*field.value)
}

impl DisplayValue for StandingGrant {
    fn display_value(&self) -> Value {
        let hosts: Vec<String> = self.hosts.iter().map(ToString::to_string).collect();
        json!({
            "tenant": self.tenant.as_str(), "actor": self.actor.as_str(), "hosts": hosts,
            "access": self.access.as_str(),
        })
    }
}
