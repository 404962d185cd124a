//! Going to an address: the same domain, a new one, a sensitive one, or one that is not allowed.

use crate::domains::listed;
use crate::rules::catalog::*;
use crate::rules::{Findings, Refusal, address, form};
use crate::{DomainPattern, Facts, Settings};
use url::Url;

/// First labels of hosts that are somebody's mail, settings or back office, in S1's own rule.
const NAMED: [&str; 3] = ["mail", "admin", "settings"];
/// Labels of hosts where money or mail is, whatever the rest of the name.
const SENSITIVE_LABELS: [&str; 12] = [
    "bank",
    "banking",
    "ebanking",
    "netbanking",
    "onlinebanking",
    "internetbanking",
    "webmail",
    "ebank",
    "wp-admin",
    "phpmyadmin",
    "cpanel",
    "paypal",
];
/// Beginnings of paths that are a back office.
const ADMIN_PATHS: [&str; 6] = ["admin", "wp-admin", "administrator", "phpmyadmin", "cpanel", "webmail"];

pub(super) fn to(findings: &mut Findings, address: &str, facts: &Facts, settings: &Settings) {
    let Ok(url) = Url::parse(address) else { return };
    let Some(host) = url.host_str() else { return };
    if let Some((fact, value)) = sensitive(&url, host, settings) {
        findings.found(&NAVIGATE_SENSITIVE, &[(fact, &value)]);
    }
    if is_blocked(host, settings) {
        findings.refused(&BLOCKED, Refusal::BlockedDomain, &[("domain", host)]);
    }
    form::destroying(findings, "url", address);
    let first = host.split('.').next().unwrap_or_default();
    if url.scheme() == "https" && NAMED.contains(&first) && host.len() > first.len() {
        findings.found(&NAVIGATE_NAME, &[("url", address)]);
    }
    match host_of(&facts.page_url) {
        // What a session was opened for is no new domain to it.
        _ if is_home(host, settings) => findings.found(&NAVIGATE_SAME, &[("domain", host)]),
        Some(page) if is_same_site(&page, host) => findings.found(&NAVIGATE_SAME, &[("domain", host)]),
        Some(page) => findings.found(&NAVIGATE_NEW, &[("domain", host), ("page domain", &page)]),
        None => findings.found(&NAVIGATE_NEW, &[("domain", host)]),
    }
}

/// A link, as the navigation that it is.
pub(super) fn link(findings: &mut Findings, href: &str, facts: &Facts, settings: &Settings) {
    let Ok(url) = Url::parse(href) else { return };
    let Some(host) = url.host_str() else { return };
    if let Some((fact, value)) = sensitive(&url, host, settings) {
        let stays = host_of(&facts.page_url).is_some_and(|page| is_same_site(&page, host));
        // Who is there already goes nowhere new.
        if !stays {
            findings.found(&CLICK_LINK_SENSITIVE, &[("href", href), (fact, &value)]);
        }
    }
    if is_blocked(host, settings) {
        findings.refused(&BLOCKED, Refusal::BlockedDomain, &[("domain", host)]);
    }
    match host_of(&facts.page_url) {
        Some(page) if is_same_site(&page, host) => findings.found(&CLICK_LINK, &[("href", href)]),
        _ => findings.found(&CLICK_LINK_NEW, &[("href", href)]),
    }
}

pub(super) fn is_blocked(host: &str, settings: &Settings) -> bool {
    let leaves =
        |list: &Option<Vec<DomainPattern>>| list.as_ref().is_some_and(|list| listed(list, host).is_none());
    leaves(&settings.allowlist) || leaves(&settings.home)
}

fn is_home(host: &str, settings: &Settings) -> bool {
    settings.home.as_ref().is_some_and(|home| listed(home, host).is_some())
}

fn sensitive(url: &Url, host: &str, settings: &Settings) -> Option<(&'static str, String)> {
    if let Some(pattern) = listed(&settings.sensitive, host) {
        return Some(("sensitive domain", pattern.to_string()));
    }
    if let Some(label) = host.split('.').find(|label| SENSITIVE_LABELS.contains(label)) {
        return Some(("domain label", label.to_owned()));
    }
    let first = address::first_part(url);
    ADMIN_PATHS.contains(&first.as_str()).then(|| ("path", url.path().to_owned()))
}

pub(crate) fn host_of(address: &str) -> Option<String> {
    Url::parse(address).ok()?.host_str().map(str::to_owned)
}

/// The same host, with or without `www.` in front.
pub(crate) fn is_same_site(a: &str, b: &str) -> bool {
    let bare = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
    bare(a) == bare(b)
}
