//! Converts stored credentials into the browser's injection types. The two crates do not depend on each other.

use super::redeem::{Login, ReleasedCredentials};
use super::sealing::{LoginPlaceholders, is_expired, is_site_granted};
use crate::error::Fault;
use browser::{InjectedCookie, InjectedEntry, InjectedHeaders, InjectedStorage, Injection};
use jiff::Timestamp;
use policy::WebUrl;
use redact::{Placeholder, Secret};
use vault::{Cookie, Credential, GrantedHost, Host, NamedValue, Probe, Value};

/// The injection of all released credentials for one browser: placeholders, unless a credential is not sealed.
pub fn injection(released: &ReleasedCredentials, now: Timestamp) -> Result<Injection, Fault> {
    let mut all = Injection::default();
    for (number, login) in released.logins.iter().enumerate() {
        check_fresh(login, now)?;
        let sealed = released.sealed.of_login(number);
        let Credential { domain, origin, cookies, local_storage, session_storage, headers, basic, .. } =
            &login.credential;
        let fresh = cookies.iter().enumerate().filter(|(_, cookie)| !is_expired(cookie, now));
        all.cookies.extend(fresh.map(|(number, cookie)| {
            let placeholder = sealed.and_then(|sealed| sealed.cookie(number));
            injected_cookie(cookie, placeholder, domain, released.hosts())
        }));
        if !local_storage.is_empty() || !session_storage.is_empty() {
            let local = entries(local_storage, sealed.map(LoginPlaceholders::local_storage));
            let session = entries(session_storage, sealed.map(LoginPlaceholders::session_storage));
            all.storage.push(InjectedStorage { origin: origin.clone(), local, session });
        }
        if sealed.is_some() {
            // The proxy adds them.
            continue;
        }
        let mut lines = entries(headers, None);
        lines.extend(basic.iter().map(|basic| InjectedEntry::basic_auth(&basic.username, &basic.password)));
        if !lines.is_empty() {
            let allow_plain_http = login.credential.allows_plain_http();
            all.headers.push(InjectedHeaders { origin: origin.clone(), lines, allow_plain_http });
        }
    }
    Ok(all)
}

/// The probe page of each login, which shows whether the site accepts it.
pub fn probes(released: &ReleasedCredentials) -> Vec<(&Login, &Probe, WebUrl)> {
    let with_probe =
        released.logins.iter().filter_map(|login| Some((login, login.credential.probe.as_ref()?)));
    with_probe
        .filter_map(|(login, probe)| {
            let address = format!("{}{}", login.credential.origin, probe.path);
            Some((login, probe, WebUrl::parse(&address).ok()?))
        })
        .collect()
}

/// A login of whose cookies none is left is no login.
fn check_fresh(login: &Login, now: Timestamp) -> Result<(), Fault> {
    let cookies = &login.credential.cookies;
    if cookies.is_empty() || cookies.iter().any(|cookie| !is_expired(cookie, now)) {
        return Ok(());
    }
    Err(super::expired(&login.credential.domain, "all of its cookies have expired"))
}

/// For its host alone, unless the operator granted the whole site.
fn injected_cookie(
    cookie: &Cookie,
    placeholder: Option<&Placeholder>,
    host: &Host,
    granted: &[GrantedHost],
) -> InjectedCookie {
    let domain = cookie.domain.as_ref().filter(|domain| is_site_granted(domain, granted));
    InjectedCookie {
        name: cookie.name.clone(),
        value: browser_value(&cookie.value, placeholder),
        host: host.to_string(),
        domain: domain.map(ToString::to_string),
        path: cookie.path.clone(),
        expires: cookie.expires,
        http_only: cookie.http_only,
        secure: cookie.secure,
        same_site: cookie.same_site,
        priority: cookie.priority,
        partition_key: cookie.partition_key.clone(),
    }
}

fn entries(entries: &[NamedValue], placeholders: Option<&[Option<Placeholder>]>) -> Vec<InjectedEntry> {
    let placeholder = |number: usize| placeholders.and_then(|all| all.get(number)?.as_ref());
    let value = |(number, entry): (usize, &NamedValue)| {
        InjectedEntry::new(entry.name.clone(), browser_value(&entry.value, placeholder(number)))
    };
    entries.iter().enumerate().map(value).collect()
}

/// What the browser holds: the placeholder if there is one.
fn browser_value(value: &Value, placeholder: Option<&Placeholder>) -> Secret {
    match placeholder {
        Some(placeholder) => Secret::new(placeholder.as_str().to_owned()),
        None => value.text.duplicate(),
    }
}
