//! Canaries: worthless secrets, one of each kind of credential and new in each run, that must not leak.

use engine::random::token;
use serde_json::{Value, json};

/// Long enough that each half counts as a leak.
const LENGTH: usize = 48;

/// The kind of credential that a canary is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    CookieHttpOnly,
    CookieReadable,
    LocalStorage,
    SessionStorage,
    Header,
    BasicPassword,
    TotpSeed,
    /// The site issues the next three during the session.
    RotatedCookie,
    StoredByPage,
    TokenInReply,
    /// The grant that released all of these. Only the agent may have it.
    Grant,
}

impl Kind {
    /// Kinds in the credential or issued by the site.
    pub const ALL: [Kind; 10] = [
        Kind::CookieHttpOnly,
        Kind::CookieReadable,
        Kind::LocalStorage,
        Kind::SessionStorage,
        Kind::Header,
        Kind::BasicPassword,
        Kind::TotpSeed,
        Kind::RotatedCookie,
        Kind::StoredByPage,
        Kind::TokenInReply,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Kind::CookieHttpOnly => "cookie (httpOnly)",
            Kind::CookieReadable => "cookie",
            Kind::LocalStorage => "localStorage",
            Kind::SessionStorage => "sessionStorage",
            Kind::Header => "header",
            Kind::BasicPassword => "basic auth password",
            Kind::TotpSeed => "TOTP seed",
            Kind::RotatedCookie => "cookie that the site rotated",
            Kind::StoredByPage => "token that the page stored",
            Kind::TokenInReply => "token in a reply of the site",
            Kind::Grant => "grant",
        }
    }
}

#[derive(Clone)]
pub struct Canary {
    pub kind: Kind,
    pub value: String,
}

/// One canary of each kind.
#[derive(Clone)]
pub struct Canaries(Vec<Canary>);

/// The user name of the basic auth credential; not a secret.
pub const USER: &str = "canary";
/// The control: a value marked `secret: false` is not redacted.
pub const THEME: &str = "dark";

impl Canaries {
    pub fn plant() -> Canaries {
        let value = |kind| match kind {
            // Base32 has no 8 and no 9.
            Kind::TotpSeed => token(LENGTH).to_ascii_uppercase().replace('8', "B").replace('9', "C"),
            _ => token(LENGTH),
        };
        Canaries(Kind::ALL.iter().map(|&kind| Canary { kind, value: value(kind) }).collect())
    }

    pub fn all(&self) -> &[Canary] {
        &self.0
    }

    pub fn of(&self, kind: Kind) -> &str {
        self.0.iter().find(|canary| canary.kind == kind).map_or("", |canary| &canary.value)
    }

    /// The credential document for the vault.
    pub fn credential(&self, host: &str) -> Value {
        let cookie = |name: &str, kind, http_only: bool| {
            json!({"name": name, "value": self.of(kind), "domain": host, "path": "/", "httpOnly": http_only,
                   "secure": false, "sameSite": "Lax"})
        };
        json!({
            "domain": host,
            "origin": format!("http://{host}"),
            "cookies": [cookie("sid", Kind::CookieHttpOnly, true), cookie("pref", Kind::CookieReadable, false)],
            "localStorage": {"token": self.of(Kind::LocalStorage), "theme": {"value": THEME, "secret": false}},
            "sessionStorage": {"tab": self.of(Kind::SessionStorage)},
            "headers": {"X-Api-Key": self.of(Kind::Header)},
            "basic": {"username": USER, "password": self.of(Kind::BasicPassword)},
            "totp": self.of(Kind::TotpSeed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_canary_of_its_own_and_the_vault_takes_them() {
        let canaries = Canaries::plant();
        let mut values: Vec<&str> = canaries.all().iter().map(|canary| canary.value.as_str()).collect();
        assert!(values.iter().all(|value| value.len() >= LENGTH));
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), Kind::ALL.len());
        let document = canaries.credential("echo.test").to_string();
        vault::Credential::from_json(document.as_bytes()).unwrap();
    }
}
