//! The hosts that a grant names.

use crate::credential::Host;
use crate::error::VaultError;
use std::fmt;

/// `github.com` is that host alone; `site:github.com` is it and every host under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantedHost {
    Host(Host),
    Site(Host),
}

impl GrantedHost {
    pub fn parse(text: &str) -> Result<GrantedHost, VaultError> {
        let bad = |error: crate::BadHost| VaultError::GrantRequest { reason: error.to_string() };
        match text.strip_prefix("site:") {
            None => Host::parse(text).map(GrantedHost::Host).map_err(bad),
            Some(site) => {
                let site = Host::parse(site).map_err(bad)?;
                // One label is a whole top-level domain.
                if site.is_address() || !site.as_str().contains('.') {
                    return Err(VaultError::GrantRequest {
                        reason: format!("{site} is no site with hosts under it"),
                    });
                }
                Ok(GrantedHost::Site(site))
            }
        }
    }

    pub fn covers(&self, host: &Host) -> bool {
        match self {
            GrantedHost::Host(granted) => granted == host,
            GrantedHost::Site(site) => host.is_within(site),
        }
    }
}

impl fmt::Display for GrantedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GrantedHost::Host(host) => write!(f, "{host}"),
            GrantedHost::Site(site) => write!(f, "site:{site}"),
        }
    }
}
