//! Judges a GET by what was acted on before it: the link or button says what the address does not, or both say the same.

use super::get::{is_django_question, is_documentation};
use super::label;
use super::name::{self, Verdict};
use super::path::Path;
use super::terms::*;
use super::tone::{self, LabelTone};
use crate::effect::decode::pairs;
use crate::effect::{CausingAction, RequestHead};
use crate::{Action, EffectClass};

/// A link or button that says "Delete" and leads to one thing, or that says what the address says, too.
pub(super) fn judge(
    head: &RequestHead<'_>,
    path: &str,
    query: &str,
    may_trigger: bool,
    cause: &CausingAction,
) -> Option<(EffectClass, String)> {
    if !cause.is_recent
        || !matches!(cause.action, Action::Click(_) | Action::Press(_) | Action::Dialog(_) | Action::Drag(_))
        || same_address(&cause.facts.page_url, head.url)
    {
        return None;
    }
    if !matches!(head.destination, "document" | "iframe" | "empty" | "image" | "") {
        return None;
    }
    let agreed = || may_trigger.then(|| by_agreement(head, query, cause)).flatten();
    if head.destination == "image" { agreed() } else { by_label(head, path, query, cause).or_else(agreed) }
}

fn by_label(
    head: &RequestHead<'_>,
    path: &str,
    query: &str,
    cause: &CausingAction,
) -> Option<(EffectClass, String)> {
    let element = cause.on_element().facts.target.as_ref();
    let href = element.and_then(|element| element.href.as_deref());
    let is_href = href.is_some_and(|href| same_address(href, head.url));
    if label::exports(cause) && (is_href || is_data_file(path)) {
        return Some((EffectClass::Power, "label".to_owned()));
    }
    if !label::is_plainly_destroying(cause) {
        return None;
    }
    let path_words = Path::of(head.url);
    let is_harmless = path_words.any(ORDINARY | TELEMETRY) || is_django_question(&path_words, head.url);
    let shows =
        pairs(query).any(|(_, value)| matches!(&*value, "view" | "show" | "edit" | "details" | "list"));
    if is_harmless || shows || is_documentation(&path_words) {
        return None;
    }
    let form = element.and_then(|element| element.form.as_ref());
    let is_form = form.is_some_and(|form| form.method == "get" && same_path(&form.action, head.url));
    let posts = form.is_some_and(|form| form.method == "post");
    let has_real_link =
        href.is_some_and(|href| href.starts_with("http") && !same_address(href, &cause.facts.page_url));
    let counts = is_href || is_form || !posts && !has_real_link && is_about_one_thing(&path_words, query);
    counts.then(|| (EffectClass::Destroy, "label".to_owned()))
}

/// `/story/9/boost` after "Boost", `/buy?sku=44` after "Buy now", `/reject/44` after "Avslå": the verb of the address is no
/// name of a page if what was clicked says so, too.
fn by_agreement(head: &RequestHead<'_>, query: &str, cause: &CausingAction) -> Option<(EffectClass, String)> {
    // Links of these open a form.
    const OPENING: [&str; 22] = [
        "reply", "replies", "forward", "compose", "contact", "comment", "message", "mail", "email",
        "checkout", "order", "orders", "new", "edit", "create", "add", "pay", "upgrade", "export",
        "download", "report", "share",
    ];
    let path = Path::of(head.url);
    let is_harmless = path.any(ORDINARY | TELEMETRY) || is_documentation(&path);
    if is_harmless || is_django_question(&path, head.url) || label::is_long(cause) {
        return None;
    }
    let (last, is_followed) = path.named().next()?;
    let [verb] = &last.words[..] else { return None };
    let names_thing = is_followed
        || path.segments.iter().any(|segment| segment.is_id)
        || pairs(query).any(|(_, value)| value.bytes().any(|byte| byte.is_ascii_digit()));
    // A script that fetches opens no form.
    let opens = head.destination != "empty" && OPENING.contains(&verb.text.as_str());
    if !names_thing || opens || verb.is(READ | UI_NOUN | STEP | ORDINARY_VERB) {
        return None;
    }
    let class = class_of(verb)?;
    let is_verb = || matches!(tone::tone(cause), Some((LabelTone::Command, _)));
    // Nobody calls a page so.
    let decides = matches!(verb.text.as_str(), "approve" | "reject" | "decline" | "deny" | "accept");
    let says_so = match label::first_word(cause) {
        _ if decides => true,
        // A script that fetches shows no page.
        None => head.destination == "empty",
        Some(word) => word == verb.text || label::judge(cause).is_some() || is_verb(),
    };
    // `/order/44` is the order after "Order 44", and `/book/4` after "Book of the month".
    let is_noun = is_followed && (verb.is(SEND_NOUN | PAY_NOUN | POWER_NOUN) || label::is_title(cause));
    (says_so && !is_noun).then(|| (class, verb.text.clone()))
}

fn class_of(verb: &Word) -> Option<EffectClass> {
    let judged = match name::judge(std::slice::from_ref(verb), &[]) {
        Some(Verdict::Consequential(class)) => Some(class),
        _ => None,
    };
    let weak = || verb.is(WEAK | CANCEL | CLOSING).then_some(EffectClass::Destroy);
    let decides =
        || matches!(verb.text.as_str(), "approve" | "accept" | "confirm").then_some(EffectClass::Power);
    judged.or_else(|| name::led_class(verb)).or_else(decides).or_else(weak)
}

fn is_data_file(path: &str) -> bool {
    const DATA: [&str; 11] = ["csv", "xlsx", "xls", "zip", "json", "vcf", "ics", "sql", "gz", "tar", "xml"];
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    DATA.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// `/i/3/x?k=1`, but neither `/items`, the list that is loaded again, nor `/items/3`, the thing that is shown.
fn is_about_one_thing(path: &Path, query: &str) -> bool {
    let last_is_id = path.segments.last().is_none_or(|segment| segment.is_id);
    let names_thing = path.segments.iter().any(|segment| segment.is_id)
        || pairs(query).any(|(name, value)| name.to_ascii_lowercase().ends_with("id") && !value.is_empty());
    let is_list = path.named().next().is_none_or(|(last, _)| {
        last.any(READ) || last.words.last().is_some_and(|word| word.text.ends_with('s'))
    });
    names_thing && !is_list && (!query.is_empty() || !last_is_id)
}

fn same_address(one: &str, other: &str) -> bool {
    let bare = |address: &str| address.split('#').next().unwrap_or_default().trim_end_matches('/').to_owned();
    !one.is_empty() && bare(one) == bare(other)
}

fn same_path(one: &str, other: &str) -> bool {
    let bare = |address: &str| address.split(['#', '?']).next().unwrap_or_default().to_owned();
    bare(one) == bare(other)
}
