//! Forms: where they are sent, by which method, and whether they pay. Unlike labels, these cannot lie.

use crate::lexicon::{Meaning, Meanings};
use crate::percent::decode;
use crate::rules::catalog::*;
use crate::rules::navigate::{check_blocked, is_same_site};
use crate::rules::{Findings, RuleContext, address, wording};
use crate::url::host_of;
use crate::{ElementFacts, FormFacts};
use url::Url;

/// Whole segments of a URL that destroy, pay, or grant access. `/how-to-delete-a-file` is not one.
const DESTROYING: [&str; 14] = [
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
const PAYING: [&str; 17] = [
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
const GRANTING: [&str; 24] = [
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

/// Whether clicking this element submits its form. A `<button>` in a form counts: its `type` is not in the facts.
pub(super) fn submits(element: &ElementFacts) -> bool {
    element.form.is_some()
        && (element.tag == "button" || matches!(element.input_type.as_deref(), Some("submit" | "image")))
}

/// Whether Enter on this element submits its form implicitly. Checkboxes and sliders do as text fields do.
pub(super) fn submits_on_enter(element: &ElementFacts) -> bool {
    element.form.is_some()
        && !submits(element)
        && element.tag != "textarea"
        && !matches!(element.input_type.as_deref(), Some("button" | "reset"))
}

/// Adds the findings for submitting the element's form. `meanings` are those of the submitting element.
pub(super) fn submit(
    findings: &mut Findings,
    element: &ElementFacts,
    meanings: &Meanings,
    context: &RuleContext<'_>,
) {
    let Some(form) = &element.form else { return };
    if let Some(button) = &form.button {
        wording::classify(findings, "form.button", &button.name);
        if button.text != button.name {
            wording::classify(findings, "form.button", &button.text);
        }
    }
    if form.payment {
        findings.add(&FORM_PAYS, &[("form", "has a payment field"), ("form.action", &form.action)]);
    }
    check_target(findings, element, context);
    check_action(findings, element, form);
    let is_search = element.role == "searchbox" || meanings.has(Meaning::Search);
    if form.method == "get" && is_search {
        findings.add(&CLICK_SEARCH, &[("form.method", "get")]);
    } else {
        findings.add(&FORM_SUBMIT, &[("form.method", &form.method), ("form.action", &form.action)]);
    }
}

/// Adds the findings for a control in a form that does not submit it by itself: the form's address and payment.
pub(super) fn inherit(findings: &mut Findings, element: &ElementFacts) {
    let Some(form) = &element.form else { return };
    if form.payment {
        findings.add(&FORM_PAYS, &[("form", "has a payment field"), ("form.action", &form.action)]);
    }
    check_action(findings, element, form);
}

/// Adds the findings for changing a choice in the element's form. A page may submit the form upon that, so a blocked
/// domain is refused. It counts as no more: choosing a country at a checkout is not paying.
pub(super) fn check_target(findings: &mut Findings, element: &ElementFacts, context: &RuleContext<'_>) {
    if let Some(form) = &element.form {
        check_blocked(findings, &form.action, context);
    }
}

/// Adds the findings for the address of a submitted form.
fn check_action(findings: &mut Findings, element: &ElementFacts, form: &FormFacts) {
    let target = host_of(&form.action);
    if form.method == "post" {
        check_post(findings, form);
    } else {
        check_destroying(findings, "form.action", &form.action);
    }
    let own = host_of(element.origin.as_str());
    if let (Some(target), Some(own)) = (&target, &own)
        && !is_same_site(target, own)
    {
        findings.add(&FORM_ELSEWHERE, &[("form.action", &form.action), ("origin", own)]);
    }
}

/// Adds the finding for an address that destroys something when it is requested; `fact` names where it comes from.
pub(super) fn check_destroying(findings: &mut Findings, fact: &'static str, address: &str) {
    if let Some(part) = find_word(address, &DESTROYING) {
        findings.add(&FORM_DESTROYS, &[(fact, address), ("word", part)]);
    }
}

fn check_post(findings: &mut Findings, form: &FormFacts) {
    let action = form.action.as_str();
    for (parts, rule) in
        [(&PAYING[..], &FORM_PAYS), (&GRANTING[..], &FORM_POWER), (&DESTROYING[..], &FORM_DESTROYS)]
    {
        if let Some(part) = find_word(action, parts) {
            findings.add(rule, &[("form.method", "post"), ("form.action", action), ("word", part)]);
        }
    }
}

/// Query parameters that hold search terms.
const SEARCH_PARAMS: [&str; 9] = ["q", "query", "search", "s", "k", "term", "keyword", "keywords", "text"];

/// Query parameters that are harmless, such as `?order=asc` and `?token=…`, though a path segment of that name is not.
const HARMLESS_PARAMS: [&str; 6] = ["order", "orders", "token", "tokens", "keys", "bid"];

/// The first of these words that is a segment of the path, or a name or a value in the query. A value does not excuse
/// its name: what `?delete=0` does is up to the server.
fn find_word(address: &str, words: &[&'static str]) -> Option<&'static str> {
    let url = Url::parse(address).ok()?;
    let is = |part: &str| {
        let part = part.trim();
        words.iter().find(|word| part.eq_ignore_ascii_case(word)).copied()
    };
    let in_path = address::path(&url).split(['/', '\\', '.', ';']).find_map(is);
    in_path.or_else(|| address::query_pairs(&url).find_map(|(name, value)| in_query(name, value, is)))
}

fn in_query<'a>(name: &str, value: &str, is: impl Fn(&str) -> Option<&'a str>) -> Option<&'a str> {
    let plain = |text: &str| decode(text).replace('+', " ");
    let named = plain(name).split(['[', ']']).find_map(&is).filter(|word| !HARMLESS_PARAMS.contains(word));
    named.or_else(|| if SEARCH_PARAMS.contains(&name) { None } else { is(&plain(value)) })
}
