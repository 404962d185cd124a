//! Credentials as data: what is injected into a browser, and the secrets that sites issue in it.
//!
//! Cookies and storage are set once. Headers are added request by request, and only in a browsing context group that no
//! other site can drive: see `context_group.rs`.

mod context_group;
mod injection_state;
mod issued;
mod response_log;
mod validation;

pub(crate) use context_group::BrowsingContextGroup;
#[cfg(test)]
pub(crate) use injection_state::MAX_INJECTED_REQUESTS;
pub(crate) use injection_state::{BYPASS_SERVICE_WORKERS, InjectedRequests, InjectionState};
pub(crate) use issued::IssuedValueLog;
pub use issued::{
    IssuedCookie, IssuedResponse, IssuedStorageEntry, IssuedValue, ResponseKind, SiteIssuedSecrets,
};
pub(crate) use response_log::{LoggedResponse, ResponseLog};

use crate::effects::EffectInterception;
use policy::Origin;
use redact::{CookiePriority, SameSite, Secret};

/// All credentials for one browser. It has no `Debug`, `Clone` or `Serialize`: it holds secrets.
#[derive(Default)]
pub struct Injection {
    pub cookies: Vec<InjectedCookie>,
    pub storage: Vec<InjectedStorage>,
    pub headers: Vec<InjectedHeaders>,
    /// Sites whose requests are decided on in the browser.
    pub effects: Option<EffectInterception>,
}

pub struct InjectedCookie {
    pub name: String,
    pub value: Secret,
    /// The only host it is sent to, unless there is a domain.
    pub host: String,
    /// Without a leading dot. The cookie is sent to it and to its subdomains.
    pub domain: Option<String>,
    pub path: String,
    /// In seconds since 1970; `None` for a session cookie.
    pub expires: Option<i64>,
    pub http_only: bool,
    pub secure: bool,
    /// `Lax` by default: Chromium's own default sends a new cookie with cross-site forms for two minutes.
    pub same_site: Option<SameSite>,
    pub priority: Option<CookiePriority>,
    /// The top-level site of a partitioned cookie, such as `https://example.org`.
    pub partition_key: Option<String>,
}

/// Web storage of an origin, filled before its first page loads.
pub struct InjectedStorage {
    pub origin: Origin,
    pub local: Vec<InjectedEntry>,
    /// `sessionStorage` of the first tab, and of every tab that the driver opens later.
    pub session: Vec<InjectedEntry>,
}

/// Headers that are added to requests to one exact origin.
pub struct InjectedHeaders {
    pub origin: Origin,
    pub lines: Vec<InjectedEntry>,
    /// The operator allows an `http:` origin.
    pub allow_plain_http: bool,
}

pub struct InjectedEntry {
    pub name: String,
    pub value: Secret,
}

impl InjectedEntry {
    pub fn new(name: impl Into<String>, value: Secret) -> InjectedEntry {
        InjectedEntry { name: name.into(), value }
    }

    /// HTTP basic authentication, as a header.
    pub fn basic_auth(username: &str, password: &Secret) -> InjectedEntry {
        InjectedEntry::new("Authorization", Secret::basic_auth(username, password))
    }
}
