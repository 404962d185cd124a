//! What a form will really do: where it goes, how, and what is paid with it. Names lie; this does not.

use crate::rules::catalog::*;
use crate::rules::navigate::{host_of, is_blocked, is_same_site};
use crate::rules::{Findings, Refusal, address, say};
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
    if form.payment {
        findings.found(&FORM_PAYS, &[("form", "has a payment field"), ("form.action", &form.action)]);
    }
    changed(findings, element, settings);
    sent(findings, element, form);
    let looks_up = element.role == "searchbox" || senses.has(Sense::Search);
    if form.method == "get" && looks_up {
        findings.found(&CLICK_SEARCH, &[("form.method", "get")]);
    } else {
        findings.found(&FORM_SUBMIT, &[("form.method", &form.method), ("form.action", &form.action)]);
    }
}

/// The form of this element, in which something is chosen. A page that sends it upon that could as well without, and who
/// chooses a country at a checkout has not paid yet; only where the agent may not go at all, it does not go that way either.
pub(super) fn changed(findings: &mut Findings, element: &ElementFacts, settings: &Settings) {
    let target = element.form.as_ref().and_then(|form| host_of(&form.action));
    if let Some(host) = target.as_deref().filter(|host| is_blocked(host, settings)) {
        findings.refused(&BLOCKED, Refusal::BlockedDomain, &[("domain", host)]);
    }
}

/// Where a form goes that is sent.
fn sent(findings: &mut Findings, element: &ElementFacts, form: &FormFacts) {
    let target = host_of(&form.action);
    if form.method == "post" {
        posted(findings, form);
    } else {
        destroying(findings, "form.action", &form.action);
    }
    let own = host_of(element.origin.as_str());
    if let (Some(target), Some(own)) = (&target, &own)
        && !is_same_site(target, own)
    {
        findings.found(&FORM_ELSEWHERE, &[("form.action", &form.action), ("origin", own)]);
    }
}

/// An address that takes something away by being gone to; `fact` is where it stands.
pub(super) fn destroying(findings: &mut Findings, fact: &'static str, address: &str) {
    if let Some(part) = part_of(address, &DESTROYS) {
        findings.found(&FORM_DESTROYS, &[(fact, address), ("word", part)]);
    }
}

fn posted(findings: &mut Findings, form: &FormFacts) {
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

/// Names of what is only said along, such as `?order=asc` and `?token=…`, though a path of that name does something.
const SAID_ALONG: [&str; 6] = ["order", "orders", "token", "tokens", "keys", "bid"];

/// The first of these words that is a part of the address's path, a value in its query or a name there, whatever the
/// value: `?delete=0` is for the page to make sense of.
fn part_of(address: &str, words: &[&'static str]) -> Option<&'static str> {
    let url = Url::parse(address).ok()?;
    let is = |part: &str| {
        let part = part.trim();
        words.iter().find(|word| part.eq_ignore_ascii_case(word)).copied()
    };
    let in_path = address::path(&url).split(['/', '\\', '.', ';']).find_map(is);
    in_path.or_else(|| address::pairs(&url).find_map(|(name, value)| in_query(name, value, is)))
}

fn in_query<'a>(name: &str, value: &str, is: impl Fn(&str) -> Option<&'a str>) -> Option<&'a str> {
    let plain = |text: &str| address::decoded(text).replace('+', " ");
    let named = plain(name).split(['[', ']']).find_map(&is).filter(|word| !SAID_ALONG.contains(word));
    named.or_else(|| if ASKED_FOR.contains(&name) { None } else { is(&plain(value)) })
}
