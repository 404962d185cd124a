//! Navigation: to the same domain, a new one, a sensitive one, or a blocked one.

use crate::domains::first_match;
use crate::rules::catalog::*;
use crate::rules::{Findings, Refusal, RuleContext, address, form};
use crate::url::host_of;
use crate::well_known::find_well_known;
use crate::{Endpoint, Facts};
use url::Url;

/// First labels of hosts that S1's rule treats as sensitive.
const SENSITIVE_FIRST_LABELS: [&str; 3] = ["mail", "admin", "settings"];
/// Labels of hosts for banking, mail and administration, wherever in the name.
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
/// First path segments of administration pages.
const ADMIN_PATHS: [&str; 6] = ["admin", "wp-admin", "administrator", "phpmyadmin", "cpanel", "webmail"];

pub(super) fn to(findings: &mut Findings, address: &str, facts: &Facts, context: &RuleContext<'_>) {
    let Ok(url) = Url::parse(address) else { return };
    let Some(host) = url.host_str() else { return };
    if let Some((fact, value)) = find_sensitive(&url, host, context) {
        findings.add(&NAVIGATE_SENSITIVE, &[(fact, &value)]);
    }
    check_blocked(findings, address, context);
    form::check_destroying(findings, "url", address);
    let first = host.split('.').next().unwrap_or_default();
    if url.scheme() == "https" && SENSITIVE_FIRST_LABELS.contains(&first) && host.len() > first.len() {
        findings.add(&NAVIGATE_NAME, &[("url", address)]);
    }
    match host_of(&facts.page_url) {
        // The sites of a signed-in session are not new to it.
        _ if Endpoint::of(address).is_some_and(|endpoint| context.domains.is_home(&endpoint)) => {
            findings.add(&NAVIGATE_SAME, &[("domain", host)]);
        }
        Some(page) if is_same_site(&page, host) => findings.add(&NAVIGATE_SAME, &[("domain", host)]),
        Some(page) => findings.add(&NAVIGATE_NEW, &[("domain", host), ("page domain", &page)]),
        None => findings.add(&NAVIGATE_NEW, &[("domain", host)]),
    }
}

/// Adds the findings for following a link.
pub(super) fn link(findings: &mut Findings, href: &str, facts: &Facts, context: &RuleContext<'_>) {
    let Ok(url) = Url::parse(href) else { return };
    let Some(host) = url.host_str() else { return };
    if let Some((fact, value)) = find_sensitive(&url, host, context) {
        let stays = host_of(&facts.page_url).is_some_and(|page| is_same_site(&page, host));
        // Staying on a sensitive domain is not going to one.
        if !stays {
            findings.add(&CLICK_LINK_SENSITIVE, &[("href", href), (fact, &value)]);
        }
    }
    check_blocked(findings, href, context);
    match host_of(&facts.page_url) {
        Some(page) if is_same_site(&page, host) => findings.add(&CLICK_LINK, &[("href", href)]),
        _ => findings.add(&CLICK_LINK_NEW, &[("href", href)]),
    }
}

/// Refuses an address that the session's lists do not have. The evidence names host, and scheme and port unless they are
/// the usual ones: that is what an operator is asked to add.
pub(super) fn check_blocked(findings: &mut Findings, address: &str, context: &RuleContext<'_>) {
    if let Some(endpoint) = Endpoint::of(address).filter(|endpoint| context.domains.block(endpoint)) {
        findings.refuse(&BLOCKED, Refusal::BlockedDomain, &[("domain", &endpoint.to_string())]);
    }
}

fn find_sensitive(url: &Url, host: &str, context: &RuleContext<'_>) -> Option<(&'static str, String)> {
    if let Some(pattern) = first_match(&context.settings.sensitive, host) {
        return Some(("sensitive domain", pattern.to_string()));
    }
    let is_home = || Endpoint::of(url.as_str()).is_some_and(|endpoint| context.domains.is_home(&endpoint));
    if context.settings.well_known_sensitive
        && let Some(entry) = find_well_known(host).filter(|_| !is_home())
    {
        return Some(("well-known sensitive host", entry.to_owned()));
    }
    if let Some(label) = host.split('.').find(|label| SENSITIVE_LABELS.contains(label)) {
        return Some(("domain label", label.to_owned()));
    }
    let first = address::first_segment(url);
    ADMIN_PATHS.contains(&first.as_str()).then(|| ("path", url.path().to_owned()))
}

/// Whether a link leads to a text about something: a question, or a page of documentation.
pub(super) fn is_documentation(label: &str, href: Option<&str>) -> bool {
    const ASKING: [&str; 24] = [
        "how", "what", "why", "when", "where", "learn", "about", "guide", "read", "wie", "was", "warum",
        "comment", "pourquoi", "cómo", "como", "qué", "come", "perché", "hoe", "jak", "как", "hur", "πώς",
    ];
    const PAGES: [&str; 14] = [
        "docs", "doc", "help", "wiki", "blog", "support", "faq", "guide", "guides", "kb", "articles",
        "learn", "hilfe", "ayuda",
    ];
    const LONG_TITLE: usize = 5;
    // Titles of instructions, in languages without spaces as well.
    const INSTRUCTING: [&str; 8] =
        ["step by step", "step-by-step", "方法", "如何", "怎么", "やり方", "하는 법", "방법"];
    let lower = label.to_lowercase();
    if INSTRUCTING.iter().any(|part| lower.contains(part)) {
        return true;
    }
    let words: Vec<&str> = label.split_whitespace().collect();
    if words.len() < 3 && !label.ends_with(['?', '？']) {
        return false;
    }
    let first = words.first().map(|word| word.to_lowercase()).unwrap_or_default();
    let asks = ASKING.contains(&first.as_str()) || label.trim_end().ends_with(['?', '？', ';']);
    let path = href
        .and_then(|href| Url::parse(href).ok())
        .map(|url| address::path(&url).into_owned())
        .unwrap_or_default();
    let is_page = path.split('/').any(|part| PAGES.contains(&part.to_ascii_lowercase().as_str()));
    let is_title = path.split('/').any(|part| part.split(['-', '_']).count() >= LONG_TITLE);
    asks || is_page || is_title
}

/// The same host, with or without `www.` in front.
pub(crate) fn is_same_site(a: &str, b: &str) -> bool {
    let bare = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
    bare(a) == bare(b)
}
