//! What makes a browser a person's own: put into it before the first action, and after that only carried to its place.
//!
//! Cookies and stores are set once. Headers are added to requests one by one, and only where no other site can have
//! asked for the request: see `family.rs`.

mod blank;
mod carry;
mod check;
mod cookies;
mod family;
mod handed;
mod probe;
mod replies;
mod storage;

pub use blank::Blank;
pub(crate) use carry::{Carried, Injected};
pub(crate) use family::Family;
pub use handed::{HandedCookie, HandedEntry, HandedOut, HandedValue};
pub use probe::{ProbePage, Probed};
pub(crate) use replies::Replies;
pub use replies::{HandedReply, ReplyKind};

use policy::Origin;
use redact::{CookiePriority, SameSite, Secret};

/// All that is put into a browser. It has no `Debug`, `Clone` or `Serialize`: it holds secrets.
#[derive(Default)]
pub struct Injection {
    pub cookies: Vec<InjectedCookie>,
    pub storage: Vec<InjectedStorage>,
    pub headers: Vec<InjectedHeaders>,
}

pub struct InjectedCookie {
    pub name: String,
    pub value: Secret,
    /// The host that it is sent to, and no other unless there is a domain.
    pub host: String,
    /// Without a dot in front. The cookie is sent to it and to everything under it.
    pub domain: Option<String>,
    pub path: String,
    /// In seconds since 1970; `None` until the browser ends.
    pub expires: Option<i64>,
    pub http_only: bool,
    pub secure: bool,
    /// `Lax` when not given: Chromium's own default lets a cookie ride on cross-site forms for its first two minutes.
    pub same_site: Option<SameSite>,
    pub priority: Option<CookiePriority>,
    /// The site at the top that a partitioned cookie belongs to, such as `https://example.org`.
    pub partition_key: Option<String>,
}

/// What stands in an origin's stores when its first page comes.
pub struct InjectedStorage {
    pub origin: Origin,
    pub local: Vec<InjectedEntry>,
    /// In the session's first tab, and in every tab that the driver opens later.
    pub session: Vec<InjectedEntry>,
}

/// What is added to requests to one exact origin.
pub struct InjectedHeaders {
    pub origin: Origin,
    pub lines: Vec<InjectedEntry>,
    /// The operator's word that an `http:` origin is meant.
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

    /// HTTP basic auth is a header like any other.
    pub fn basic_auth(username: &str, password: &Secret) -> InjectedEntry {
        InjectedEntry::new("Authorization", Secret::basic_auth(username, password))
    }
}
