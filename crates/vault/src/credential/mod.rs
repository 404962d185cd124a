//! Credentials: cookies, storage values, headers and passwords that sign a browser in on one host.

mod cookie;
mod document;
mod host;
mod json_writer;
mod outline;
mod probe;
mod summary;
mod totp;

#[cfg(test)]
mod tests;

pub use cookie::Cookie;
pub use host::{BadCredentialId, BadHost, CredentialId, Host, TenantPath};
pub use outline::{CookieOutline, CredentialOutline};
pub use probe::{PageCondition, Probe, SignInState};
pub use summary::Summary;
pub use totp::{Totp, TotpAlgorithm};

pub(crate) use cookie::MOST_COOKIES;
pub(crate) use document::{MOST_ENTRIES, check_origin};

use jiff::Timestamp;
use policy::Origin;
use redact::{SHORTEST_COMPARED, Secret, SendIn};

/// A stored login on one host, parsed and validated. It holds secrets, so it has no `Debug`, `Clone` or `Serialize`.
pub struct Credential {
    pub domain: Host,
    /// The origin of storage, headers and basic auth. `https` unless the operator chose `http`, which allows them to be
    /// sent unencrypted.
    pub origin: Origin,
    pub cookies: Vec<Cookie>,
    pub local_storage: Vec<NamedValue>,
    pub session_storage: Vec<NamedValue>,
    pub headers: Vec<NamedValue>,
    pub basic: Option<BasicAuth>,
    pub totp: Option<Totp>,
    pub probe: Option<Probe>,
    pub grant_scope: GrantScope,
    /// The browser gets placeholders, and the egress proxy holds the secrets. False for a site that computes with its
    /// token: then the secrets themselves are injected.
    pub is_sealed: bool,
    /// The egress proxy terminates TLS for the origin, which sealing and the decisions on effects need. False for a
    /// site that refuses our TLS client.
    pub is_intercepted: bool,
    /// Further places where placeholders are replaced.
    pub send_in: Vec<SendIn>,
    pub last_refreshed_at: Option<Timestamp>,
    pub last_injected_at: Option<Timestamp>,
}

/// A value, and whether it must be redacted.
pub struct Value {
    pub text: Secret,
    /// False for values such as `theme: dark`, which are no secret.
    pub is_secret: bool,
}

/// A named storage value or header.
pub struct NamedValue {
    pub name: String,
    pub value: Value,
}

pub struct BasicAuth {
    pub username: String,
    pub password: Secret,
}

impl BasicAuth {
    /// `name:password` in base64, which is what is sent.
    pub fn pair(&self) -> Secret {
        Secret::concat(&[&self.username, ":", self.password.expose_secret()])
    }
}

/// Which grants release a credential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrantScope {
    /// Only those that an operator issued.
    #[default]
    Operator,
    /// Those of a standing policy as well.
    Standing,
}

impl GrantScope {
    pub fn as_str(self) -> &'static str {
        match self {
            GrantScope::Operator => "operator",
            GrantScope::Standing => "standing",
        }
    }

    pub fn parse(text: &str) -> Option<GrantScope> {
        [GrantScope::Operator, GrantScope::Standing].into_iter().find(|scope| scope.as_str() == text)
    }
}

impl Credential {
    /// An empty credential.
    pub fn empty(domain: Host) -> Credential {
        let origin = Origin::of(&format!("https://{domain}/"));
        Credential {
            domain,
            origin,
            cookies: Vec::new(),
            local_storage: Vec::new(),
            session_storage: Vec::new(),
            headers: Vec::new(),
            basic: None,
            totp: None,
            probe: None,
            grant_scope: GrantScope::default(),
            is_sealed: true,
            is_intercepted: true,
            send_in: Vec::new(),
            last_refreshed_at: None,
            last_injected_at: None,
        }
    }

    /// Whether the operator allowed headers and basic auth to be sent unencrypted.
    pub fn allows_plain_http(&self) -> bool {
        self.origin.as_str().starts_with("http://")
    }

    /// Every secret with the name of its field: the values to redact.
    pub fn secrets(&self) -> Vec<(String, &Secret)> {
        let mut found = Vec::new();
        for cookie in self.cookies.iter().filter(|cookie| cookie.value.is_secret) {
            found.push((format!("cookies.{}", cookie.name), &cookie.value.text));
        }
        for (field, entries) in [
            ("localStorage", &self.local_storage),
            ("sessionStorage", &self.session_storage),
            ("headers", &self.headers),
        ] {
            for entry in entries.iter().filter(|entry| entry.value.is_secret) {
                found.push((format!("{field}.{}", entry.name), &entry.value.text));
            }
        }
        found.extend(self.basic.iter().map(|basic| ("basic.password".to_owned(), &basic.password)));
        found.extend(self.totp.iter().map(|totp| ("totp.seed".to_owned(), &totp.seed)));
        found
    }

    /// Values that the operator marked as not secret.
    pub fn open_values(&self) -> Vec<&Secret> {
        let cookies = self.cookies.iter().map(|cookie| &cookie.value);
        let entries = [&self.local_storage, &self.session_storage, &self.headers].into_iter().flatten();
        let all = cookies.chain(entries.map(|entry| &entry.value));
        all.filter(|value| !value.is_secret).map(|value| &value.text).collect()
    }

    /// Warnings for the operator: secrets that are too short to be redacted.
    pub fn cautions(&self) -> Vec<String> {
        let short = self.secrets().into_iter().filter(|(_, secret)| {
            let length = secret.expose_secret().chars().filter(|c| c.is_alphanumeric()).count();
            !secret.expose_secret().is_empty() && length < SHORTEST_COMPARED
        });
        short
            .map(|(field, _)| {
                format!(
                    "{field} has fewer than {SHORTEST_COMPARED} letters and digits and will not be redacted; \
                     say `secret: false` if it is not a secret"
                )
            })
            .collect()
    }
}
