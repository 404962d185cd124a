//! Names of credentials and grants: hosts, credential ids, paths of tenants.

use policy::{Tenant, WebUrl};
use std::fmt;

/// A host name as a browser writes it: lower case, punycode, no port, no wildcard.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Host(String);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("'{text}' is not a host name: give one such as github.com, without scheme, port, path or wildcard")]
pub struct BadHost {
    text: String,
}

impl Host {
    pub fn parse(text: &str) -> Result<Host, BadHost> {
        let bad = || BadHost { text: crate::secret_tree::printable_excerpt(text) };
        let plain = !text.is_empty()
            && text.len() <= 253
            && !text.ends_with('.')
            && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '[' | ']' | ':'));
        if !plain {
            return Err(bad());
        }
        let url = WebUrl::parse(&format!("https://{text}/")).map_err(|_| bad())?;
        // A port is not part of a host name.
        let ported = url.origin().as_str().strip_prefix("https://") != Some(url.host());
        if ported || (text.contains(':') && !text.starts_with('[')) {
            return Err(bad());
        }
        Ok(Host(url.host().to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is `site` or one of its subdomains. An IP address has none.
    pub fn is_within(&self, site: &Host) -> bool {
        self == site
            || (!self.is_address() && self.0.strip_suffix(&site.0).is_some_and(|rest| rest.ends_with('.')))
    }

    pub fn is_address(&self) -> bool {
        self.0.starts_with('[') || self.0.parse::<std::net::Ipv4Addr>().is_ok()
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a credential within its tenant: its domain, unless another name was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CredentialId(String);

// Operators choose these ids, and documents contain them.
redact::declare_safe_text!(Host, CredentialId);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a credential's id has 1 to 253 of a-z, 0-9, '-', '_' and '.', and starts with a letter or digit")]
pub struct BadCredentialId;

impl CredentialId {
    pub fn parse(text: &str) -> Result<CredentialId, BadCredentialId> {
        let starts_well = text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        let fits = text.len() <= 253
            && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.'));
        if starts_well && fits { Ok(CredentialId(text.to_owned())) } else { Err(BadCredentialId) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The path of a tenant's credentials in a read-only backend. `{tenant}` stands for the tenant's name. A path without
/// it belongs to tenant `default` alone, so that leaving it out never shares credentials between tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantPath(String);

const PLACE: &str = "{tenant}";

impl TenantPath {
    pub fn new(text: &str) -> TenantPath {
        TenantPath(text.to_owned())
    }

    /// The path for a tenant; `None` if this path belongs to another one.
    pub fn of(&self, tenant: &Tenant) -> Option<String> {
        if self.0.contains(PLACE) {
            Some(self.0.replace(PLACE, tenant.as_str()))
        } else {
            (tenant.as_str() == "default").then(|| self.0.clone())
        }
    }
}
