//! Converts stored credentials into the browser's injection types. The two crates do not depend on each other.

use super::redeem::{Login, ReleasedCredentials};
use crate::error::Fault;
use browser::{InjectedCookie, InjectedEntry, InjectedHeaders, InjectedStorage, Injection};
use jiff::Timestamp;
use policy::WebUrl;
use vault::{Cookie, Credential, GrantedHost, Host, NamedValue, Probe};

/// The injection of all released credentials for one browser.
pub fn injection(released: &ReleasedCredentials, now: Timestamp) -> Result<Injection, Fault> {
    let mut all = Injection::default();
    for login in &released.logins {
        check_fresh(login, now)?;
        let Credential { domain, origin, cookies, local_storage, session_storage, headers, basic, .. } =
            &login.credential;
        let fresh = cookies.iter().filter(|cookie| !is_expired(cookie, now));
        all.cookies.extend(fresh.map(|cookie| injected_cookie(cookie, domain, released.hosts())));
        if !local_storage.is_empty() || !session_storage.is_empty() {
            let (local, session) = (entries(local_storage), entries(session_storage));
            all.storage.push(InjectedStorage { origin: origin.clone(), local, session });
        }
        let mut lines = entries(headers);
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
    Err(super::expired(&login.credential.domain, "all of its cookies are past their time"))
}

fn is_expired(cookie: &Cookie, now: Timestamp) -> bool {
    cookie.expires.is_some_and(|expires| expires <= now.as_second())
}

/// For its host alone, unless the operator granted the whole site.
fn injected_cookie(cookie: &Cookie, host: &Host, granted: &[GrantedHost]) -> InjectedCookie {
    let is_granted = |domain: &&Host| {
        granted.iter().any(|granted| matches!(granted, GrantedHost::Site(site) if domain.is_within(site)))
    };
    InjectedCookie {
        name: cookie.name.clone(),
        value: cookie.value.text.duplicate(),
        host: host.to_string(),
        domain: cookie.domain.as_ref().filter(is_granted).map(ToString::to_string),
        path: cookie.path.clone(),
        expires: cookie.expires,
        http_only: cookie.http_only,
        secure: cookie.secure,
        same_site: cookie.same_site,
        priority: cookie.priority,
        partition_key: cookie.partition_key.clone(),
    }
}

fn entries(entries: &[NamedValue]) -> Vec<InjectedEntry> {
    entries.iter().map(|entry| InjectedEntry::new(entry.name.clone(), entry.value.text.duplicate())).collect()
}
