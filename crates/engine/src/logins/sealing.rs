//! Sealing: placeholders for the browser, and the secrets behind them for the egress proxy.
//!
//! A sealed credential never enters the browser. Its cookies and storage are injected as placeholders, which the proxy
//! replaces on the way to the credential's own origin; its headers are added there. A credential with `sealed: false`
//! is injected as it is.

use super::redeem::Login;
use egress::{Seal, SealScope, SealedCookie, SealedCredential, SealedHeader, SealedValue, WebScheme};
use jiff::Timestamp;
use redact::{Placeholder, SameSite, Secret};
use std::collections::HashMap;
use std::sync::Arc;
use url::Url;
use vault::{Cookie, Credential, GrantedHost, Host, NamedValue, Value};

/// What the browser gets for each login, and what the proxy knows of it.
pub struct SealedLogins {
    pub seal: Arc<Seal>,
    /// In the order of the logins; none for a login that is not sealed.
    placeholders: Vec<Option<LoginPlaceholders>>,
    /// Whether the proxy reads the traffic of any granted origin.
    pub is_intercepting: bool,
}

/// Placeholders in the order of the credential's own lists; none for a value that is no secret.
pub struct LoginPlaceholders {
    cookies: Vec<Option<Placeholder>>,
    local_storage: Vec<Option<Placeholder>>,
    session_storage: Vec<Option<Placeholder>>,
}

/// One placeholder for each value: a token that is in a cookie and in storage stays one token.
#[derive(Default)]
struct PlaceholderTable(HashMap<String, Placeholder>);

impl SealedLogins {
    pub fn new(logins: &[Login], granted: &[GrantedHost], now: Timestamp) -> SealedLogins {
        let mut table = PlaceholderTable::default();
        let mut sealed = Vec::new();
        let mut placeholders = Vec::new();
        let mut intercepted = Vec::new();
        for login in logins {
            if !login.credential.is_sealed {
                if login.credential.is_intercepted {
                    intercepted.push(scope(&login.credential, granted));
                }
                placeholders.push(None);
                continue;
            }
            let of_login = table.login(&login.credential);
            sealed.push(sealed_credential(login, &of_login, granted, now));
            placeholders.push(Some(of_login));
        }
        table.wipe();
        let is_intercepting = !sealed.is_empty() || !intercepted.is_empty();
        SealedLogins { seal: Seal::with_intercepted(sealed, intercepted), placeholders, is_intercepting }
    }

    pub fn of_login(&self, number: usize) -> Option<&LoginPlaceholders> {
        self.placeholders.get(number)?.as_ref()
    }

    /// Whether the browser holds a placeholder, so that it is of no use without the proxy.
    pub fn is_needed(&self) -> bool {
        self.placeholders.iter().any(Option::is_some)
    }
}

impl LoginPlaceholders {
    pub fn cookie(&self, number: usize) -> Option<&Placeholder> {
        self.cookies.get(number)?.as_ref()
    }

    pub fn local_storage(&self) -> &[Option<Placeholder>] {
        &self.local_storage
    }

    pub fn session_storage(&self) -> &[Option<Placeholder>] {
        &self.session_storage
    }
}

impl PlaceholderTable {
    fn login(&mut self, credential: &Credential) -> LoginPlaceholders {
        let mut entries =
            |entries: &[NamedValue]| entries.iter().map(|entry| self.value(&entry.value)).collect();
        let (local_storage, session_storage) =
            (entries(&credential.local_storage), entries(&credential.session_storage));
        let cookies = credential.cookies.iter().map(|cookie| self.value(&cookie.value)).collect();
        LoginPlaceholders { cookies, local_storage, session_storage }
    }

    fn value(&mut self, value: &Value) -> Option<Placeholder> {
        let text = value.text.expose_secret();
        if !value.is_secret || text.is_empty() {
            return None;
        }
        if let Some(known) = self.0.get(text) {
            return Some(known.clone());
        }
        let placeholder = Placeholder::for_secret(&value.text);
        self.0.insert(text.to_owned(), placeholder.clone());
        Some(placeholder)
    }

    /// Wipes the values that the table was looked up by.
    fn wipe(self) {
        for (mut value, _) in self.0 {
            zeroize::Zeroize::zeroize(&mut value);
        }
    }
}

fn sealed_credential(
    login: &Login,
    placeholders: &LoginPlaceholders,
    granted: &[GrantedHost],
    now: Timestamp,
) -> SealedCredential {
    let credential = &login.credential;
    let cookies = credential.cookies.iter().enumerate().filter(|(_, cookie)| !is_expired(cookie, now));
    let cookies = cookies
        .filter_map(|(number, cookie)| {
            Some(sealed_cookie(cookie, placeholders.cookie(number)?, credential, granted))
        })
        .collect();
    let storage = sealed_values(&credential.local_storage, &placeholders.local_storage)
        .chain(sealed_values(&credential.session_storage, &placeholders.session_storage))
        .collect();
    let mut headers: Vec<SealedHeader> = credential
        .headers
        .iter()
        .map(|header| SealedHeader { name: header.name.clone(), value: header.value.text.duplicate() })
        .collect();
    headers.extend(credential.basic.iter().map(|basic| SealedHeader {
        name: "Authorization".to_owned(),
        value: Secret::basic_auth(&basic.username, &basic.password),
    }));
    SealedCredential {
        id: login.id.to_string(),
        scope: scope(credential, granted),
        cookies,
        storage,
        headers,
        send_in: credential.send_in.clone(),
    }
}

fn sealed_cookie(
    cookie: &Cookie,
    placeholder: &Placeholder,
    credential: &Credential,
    granted: &[GrantedHost],
) -> SealedCookie {
    let domain = cookie.domain.as_ref().filter(|domain| is_site_granted(domain, granted));
    SealedCookie {
        name: cookie.name.clone(),
        host: domain.unwrap_or(&credential.domain).to_string(),
        host_only: domain.is_none(),
        value: cookie.value.text.duplicate(),
        placeholder: placeholder.clone(),
        http_only: cookie.http_only,
        same_site: cookie.same_site.unwrap_or(SameSite::Lax),
    }
}

fn sealed_values<'a>(
    entries: &'a [NamedValue],
    placeholders: &'a [Option<Placeholder>],
) -> impl Iterator<Item = SealedValue> + 'a {
    entries.iter().zip(placeholders).filter_map(|(entry, placeholder)| {
        let placeholder = placeholder.clone()?;
        Some(SealedValue { value: entry.value.text.duplicate(), placeholder })
    })
}

/// The credential's own origin; the whole site if that is what the operator granted.
fn scope(credential: &Credential, granted: &[GrantedHost]) -> SealScope {
    let site = granted_site(&credential.domain, granted);
    let own = SealScope::Origin(credential.origin.clone());
    let Some(site) = site else { return own };
    // An origin of a credential is always a web address; one that is not stays as narrow as it is.
    let Ok(url) = Url::parse(credential.origin.as_str()) else { return own };
    let scheme = if url.scheme() == "http" { WebScheme::Http } else { WebScheme::Https };
    let port = url.port_or_known_default().unwrap_or(scheme.default_port());
    SealScope::Site { scheme, host_suffix: site.to_string(), port }
}

/// The granted site that a host is of, if a whole site was granted.
pub fn granted_site<'a>(host: &Host, granted: &'a [GrantedHost]) -> Option<&'a Host> {
    granted.iter().find_map(|granted| match granted {
        GrantedHost::Site(site) if host.is_within(site) => Some(site),
        _ => None,
    })
}

pub fn is_site_granted(domain: &Host, granted: &[GrantedHost]) -> bool {
    granted_site(domain, granted).is_some()
}

pub fn is_expired(cookie: &Cookie, now: Timestamp) -> bool {
    cookie.expires.is_some_and(|expires| expires <= now.as_second())
}
