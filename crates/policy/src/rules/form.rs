//! What a form will really do: where it goes, how, and what is paid with it. Names lie; this does not.

use crate::rules::catalog::*;
use crate::rules::navigate::{host_of, is_blocked, is_same_site};
use crate::rules::{Findings, Refusal, say};
use crate::words::{Sense, Senses};
use crate::{ElementFacts, FormFacts, Settings};
use url::Url;

/// Parts of addresses that take something away, pay, or give power away. Whole parts only: a page about how to delete a
/// file deletes nothing.
const DESTROYS: [&str; 14] = [
    "delete",
    "remove",
    "destroy",
    "revoke",
    "purge",
    "erase",
    "trash",
    "wipe",
    "terminate",
    "deactivate",
    "drop",
    "uninstall",
    "unpublish",
    "cancel-subscription",
];
const PAYS: [&str; 17] = [
    "pay",
    "payment",
    "payments",
    "checkout",
    "purchase",
    "buy",
    "order",
    "orders",
    "place-order",
    "transfer",
    "transfers",
    "donate",
    "withdraw",
    "charge",
    "charges",
    "bid",
    "subscribe-paid",
];
const POWER: [&str; 24] = [
    "authorize",
    "authorise",
    "oauth",
    "consent",
    "tokens",
    "token",
    "personal-access-tokens",
    "api-keys",
    "api_keys",
    "apikeys",
    "keys",
    "ssh-keys",
    "ssh_keys",
    "deploy-keys",
    "invite",
    "invitations",
    "admins",
    "owners",
    "change-password",
    "password",
    "change-email",
    "two-factor",
    "2fa",
    "export",
];

/// Whether pressing this element sends its form. A `<button>` in a form does unless it says otherwise, and the facts do
/// not tell whether it does.
pub(super) fn submits(element: &ElementFacts) -> bool {
    element.form.is_some()
        && (element.tag == "button" || matches!(element.input_type.as_deref(), Some("submit" | "image")))
}

/// Whether Enter on this element sends its form, by the form's own button: boxes and sliders do as text fields do.
pub(super) fn is_sent_by_enter(element: &ElementFacts) -> bool {
    element.form.is_some()
        && !submits(element)
        && element.tag != "textarea"
        && !matches!(element.input_type.as_deref(), Some("button" | "reset"))
}

/// The form of this element, submitted. `senses` are those of what it is submitted by.
pub(super) fn submit(findings: &mut Findings, element: &ElementFacts, senses: &Senses, settings: &Settings) {
    let Some(form) = &element.form else { return };
    if let Some(button) = &form.button {
        say::words(findings, "form.button", &button.name);
        if button.text != button.name {
            say::words(findings, "form.button", &button.text);
        }
    }
    let target = host_of(&form.action);
    if form.payment {
        findings.found(&FORM_PAYS, &[("form", "has a payment field"), ("form.action", &form.action)]);
    }
    if let Some(host) = target.as_deref().filter(|host| is_blocked(host, settings)) {
        findings.refused(&BLOCKED, Refusal::BlockedDomain, &[("domain", host)]);
    }
    let posts = form.method == "post";
    if posts {
        address(findings, form);
    } else {
        destroying(findings, "form.action", &form.action);
    }
    let own = host_of(element.origin.as_str());
    if let (Some(target), Some(own)) = (&target, &own)
        && !is_same_site(target, own)
    {
        findings.found(&FORM_ELSEWHERE, &[("form.action", &form.action), ("origin", own)]);
    }
    let looks_up = element.role == "searchbox" || senses.has(Sense::Search);
    if form.method == "get" && looks_up {
        findings.found(&CLICK_SEARCH, &[("form.method", "get")]);
    } else {
        findings.found(&FORM_SUBMIT, &[("form.method", &form.method), ("form.action", &form.action)]);
    }
}

/// An address that takes something away by being gone to; `fact` is where it stands.
pub(super) fn destroying(findings: &mut Findings, fact: &'static str, address: &str) {
    if let Some(part) = part_of(address, &DESTROYS) {
        findings.found(&FORM_DESTROYS, &[(fact, address), ("word", part)]);
    }
}

fn address(findings: &mut Findings, form: &FormFacts) {
    let action = form.action.as_str();
    for (parts, rule) in [(&PAYS[..], &FORM_PAYS), (&POWER[..], &FORM_POWER), (&DESTROYS[..], &FORM_DESTROYS)]
    {
        if let Some(part) = part_of(action, parts) {
            findings.found(rule, &[("form.method", "post"), ("form.action", action), ("word", part)]);
        }
    }
}

/// What is looked for under such a name is not done.
const ASKED_FOR: [&str; 9] = ["q", "query", "search", "s", "k", "term", "keyword", "keywords", "text"];

/// The first of these words that is a part of the address's path, or a value in its query.
fn part_of(address: &str, words: &[&'static str]) -> Option<&'static str> {
    let url = Url::parse(address).ok()?;
    let is = |part: &str| words.iter().find(|word| part.eq_ignore_ascii_case(word)).copied();
    let in_path = url.path().split(['/', '.', ';']).find_map(is);
    in_path.or_else(|| {
        let pairs = url.query()?.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| !ASKED_FOR.contains(name)).find_map(|(_, value)| is(value))
    })
}
