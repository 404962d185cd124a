//! What an operator may see of a credential: names, origins and expiry, never a value.

use super::{Credential, NamedValue};
use policy::Origin;
use redact::SendIn;

/// A credential without its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialOutline {
    pub origin: Origin,
    pub is_sealed: bool,
    pub is_intercepted: bool,
    pub send_in: Vec<SendIn>,
    pub cookies: Vec<CookieOutline>,
    pub local_storage: Vec<String>,
    pub session_storage: Vec<String>,
    pub headers: Vec<String>,
    /// The user name of basic authentication.
    pub username: Option<String>,
    pub has_totp: bool,
    /// The path of the page that shows whether the login works.
    pub probe: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieOutline {
    pub name: String,
    /// The host that the cookie is sent to, with a leading dot if its subdomains are meant too.
    pub domain: String,
    pub path: String,
    /// In seconds since 1970; `None` for a session cookie.
    pub expires: Option<i64>,
    pub http_only: bool,
    pub is_secret: bool,
}

impl Credential {
    pub fn outline(&self) -> CredentialOutline {
        let names = |entries: &[NamedValue]| entries.iter().map(|entry| entry.name.clone()).collect();
        let cookies = self.cookies.iter().map(|cookie| CookieOutline {
            name: cookie.name.clone(),
            domain: cookie.domain.as_ref().map_or(self.domain.to_string(), |domain| format!(".{domain}")),
            path: cookie.path.clone(),
            expires: cookie.expires,
            http_only: cookie.http_only,
            is_secret: cookie.value.is_secret,
        });
        CredentialOutline {
            origin: self.origin.clone(),
            is_sealed: self.is_sealed,
            is_intercepted: self.is_intercepted,
            send_in: self.send_in.clone(),
            cookies: cookies.collect(),
            local_storage: names(&self.local_storage),
            session_storage: names(&self.session_storage),
            headers: names(&self.headers),
            username: self.basic.as_ref().map(|basic| basic.username.clone()),
            has_totp: self.totp.is_some(),
            probe: self.probe.as_ref().map(|probe| probe.path.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_names_everything_and_holds_no_value() {
        let text = r#"{"domain": "a.test", "cookies": [{"name": "sid", "value": "S3CRET-cookie", "domain": ".a.test",
            "expires": 4000000000, "httpOnly": true}, {"name": "theme", "value": "S3CRET-theme", "secret": false}],
            "localStorage": {"token": "S3CRET-local"}, "sessionStorage": {"tab": "S3CRET-tab"},
            "headers": {"X-Key": "S3CRET-header"}, "basic": {"username": "ada", "password": "S3CRET-pass"},
            "probe": {"path": "/me", "signed_in": {"text": "Hello"}}, "send_in": {"body": "/token"}}"#;
        let outline = Credential::from_json(text.as_bytes()).unwrap().outline();
        let shown = format!("{outline:?}");
        assert!(!shown.contains("S3CRET"), "{shown}");
        for name in ["sid", ".a.test", "4000000000", "theme", "token", "tab", "X-Key", "ada", "/me", "/token"]
        {
            assert!(shown.contains(name), "{name}: {shown}");
        }
        assert!(outline.is_sealed && outline.cookies[0].is_secret && !outline.cookies[1].is_secret);
    }
}
