//! GET and HEAD: harmless, except for those that are consequential by their address or by the link that was clicked.

use super::fields;
use super::name::{self, Verdict};
use super::path::{self, Path, Segment};
use super::terms::*;
use super::{dispatch, get_cause};
use crate::EffectClass;
use crate::effect::decode::pairs;
use crate::effect::{CausingAction, RequestHead};
use crate::percent::decode;

/// More words than a control has: the title of an article.
const MOST_WORDS: usize = 4;

/// The class of a GET, or `None` for the common case. Most addresses have no word that matters and are done after one
/// pass over their bytes.
pub(super) fn judge(head: &RequestHead<'_>, cause: Option<&CausingAction>) -> Option<(EffectClass, String)> {
    let (path, query) = path::split(head.url);
    if is_static(head, path, query) {
        return None;
    }
    let may_trigger = may_trigger(path) || may_trigger(query);
    let by_address = if may_trigger { by_address(head, query) } else { None };
    by_address.or_else(|| get_cause::judge(head, path, query, may_trigger, cause?))
}

/// Parts of a page are fetched by the hundred. A part is what its address says, not what the page uses it for: a script
/// can be JSONP, `<script src="/items/3/delete?callback=f">`.
fn is_static(head: &RequestHead<'_>, path: &str, query: &str) -> bool {
    const PARTS: [&str; 9] =
        ["style", "script", "font", "audio", "video", "track", "manifest", "worker", "serviceworker"];
    const FILES: [&str; 24] = [
        "js", "css", "svg", "png", "jpg", "jpeg", "gif", "webp", "avif", "ico", "woff", "woff2", "ttf",
        "map", "mjs", "mp4", "webm", "mp3", "wasm", "otf", "eot", "pdf", "txt", "wav",
    ];
    let last = path.rsplit('/').next().unwrap_or_default();
    let extension = last.rsplit_once('.').map_or("", |(_, extension)| extension);
    FILES.iter().any(|known| extension.eq_ignore_ascii_case(known))
        || PARTS.contains(&head.destination) && !may_trigger(path) && !may_trigger(query)
}

/// Whether a text has a word that can be consequential, or one that has to be decoded first. Allocates nothing.
fn may_trigger(text: &str) -> bool {
    let mut buffer = [0_u8; 24];
    let mut length = 0;
    let mut before = 0_u8;
    for &byte in text.as_bytes().iter().chain(b"/") {
        if byte == b'%' || !byte.is_ascii() {
            return true;
        }
        let rises = byte.is_ascii_uppercase() && before.is_ascii_lowercase();
        let ends = !byte.is_ascii_alphabetic();
        if (ends || rises) && length > 0 {
            if is_trigger(&buffer[..length.min(buffer.len())]) {
                return true;
            }
            length = 0;
        }
        if !ends {
            if let Some(slot) = buffer.get_mut(length) {
                *slot = byte.to_ascii_lowercase();
            }
            length += 1;
        }
        before = byte;
    }
    false
}

fn is_trigger(word: &[u8]) -> bool {
    let Ok(word) = std::str::from_utf8(word) else { return true };
    word.len() > 1
        && (uses_of(word) & TRIGGERS != 0
            || ["delete", "remove", "destroy", "erase", "purge", "revoke"].iter().any(|verb| word.contains(verb))
            // Parts of words that are joined: `opt-out`, `ta-bort`, `two-factor`, and the kind of a GraphQL operation.
            || matches!(word, "mutation" | "bort" | "download" | "authorize" | "authorise" | "sql"))
}

fn by_address(head: &RequestHead<'_>, query: &str) -> Option<(EffectClass, String)> {
    let path = Path::of(head.url);
    if is_documentation(&path) || is_django_question(&path, head.url) {
        return None;
    }
    if !path.operations.is_empty()
        || path
            .segments
            .last()
            .is_some_and(|last| last.words.iter().any(|word| word.text == "graphql" || word.text == "gql"))
    {
        return by_graphql(query);
    }
    by_query(&path, query).or_else(|| by_dispatch(&path, query)).or_else(|| by_path(&path, query))
}

/// The page on which the administration of Django asks before it deletes: `/admin/shop/order/4/delete/`.
pub(super) fn is_django_question(path: &Path, url: &str) -> bool {
    let is = |at: usize, name: &str| matches!(&path.segments[at].words[..], [word] if word.text == name);
    url.ends_with("/delete/")
        && path.segments.len() == 5
        && is(0, "admin")
        && path.segments[3].is_id
        && is(4, "delete")
}

pub(super) fn is_documentation(path: &Path) -> bool {
    let is_title = |segment: &Segment| segment.words.len() > MOST_WORDS;
    let last = path.segments.iter().rev().find(|segment| !segment.is_id);
    let is_docs = path.segments.iter().take(3).any(|segment| segment.words.len() <= 2 && segment.any(DOCS));
    is_docs || last.is_some_and(is_title) || path.any(ORDINARY) || path.any(TELEMETRY)
}

fn by_graphql(query: &str) -> Option<(EffectClass, String)> {
    pairs(query).find_map(|(name, value)| match &*name {
        "query" if value.trim_start().starts_with("mutation") => {
            Some((EffectClass::Destroy, "mutation by GET".to_owned()))
        }
        "operationName" if !value.ends_with("Query") => match name::judge(&words(&value), &[]) {
            Some(Verdict::Consequential(class)) => Some((class, value.into_owned())),
            _ => None,
        },
        _ => None,
    })
}

fn by_query(path: &Path, query: &str) -> Option<(EffectClass, String)> {
    const TERMS: [&str; 10] =
        ["q", "query", "search", "s", "k", "term", "keyword", "keywords", "text", "filter"];
    let mut found = None;
    for (name, value) in pairs(query).take(60) {
        let name = decode(&name).into_owned();
        if TERMS.contains(&name.as_str()) {
            continue;
        }
        if fields::is_strict_name(&name) || name == "mode" {
            if let Some(Verdict::Consequential(class)) = fields::judge_operation(&name, &value) {
                found = found.or(Some((class, name)));
                continue;
            }
            continue;
        }
        let past = name.ends_with("ed") || name.ends_with("eted");
        if fields::is_destroying_name(&name) && fields::is_truthy(&value) && !past {
            found = found.or(Some((EffectClass::Destroy, name)));
        } else if name == "export" && fields::is_truthy(&value) && !value.is_empty() {
            found = found.or(Some((EffectClass::Power, name)));
        }
    }
    let names_client = || pairs(query).any(|(name, _)| name == "client_id");
    let authorizes = path
        .segments
        .iter()
        .flat_map(|segment| &segment.words)
        .any(|word| matches!(word.text.as_str(), "authorize" | "authorise" | "authorization" | "oauth"));
    if found.is_none() && authorizes && names_client() {
        found = Some((EffectClass::Power, "client_id".to_owned()));
    }
    found
}

fn by_dispatch(path: &Path, query: &str) -> Option<(EffectClass, String)> {
    let parameters: Vec<_> = pairs(query).take(60).collect();
    dispatch::judge(path, parameters.iter().map(|(name, value)| (&**name, &**value)))
}

fn by_path(path: &Path, query: &str) -> Option<(EffectClass, String)> {
    let mut named = path.named();
    let (last, _) = named.next()?;
    let before = named.next().map(|(segment, _)| segment);
    let has_id = path.segments.iter().any(|segment| segment.is_id) || query.contains('=');
    for (at, segment) in [Some(last), before].into_iter().flatten().enumerate() {
        let core: Vec<&Word> =
            segment.words.iter().filter(|word| !word.is(FILLER) || word.is(DESTROY | EXECUTE)).collect();
        let (Some(first), Some(end)) = (core.first(), core.last()) else { continue };
        let said = || segment.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        // Without anything to do it to, it is the title of an article or product.
        if segment.words.len() >= 3 && !has_id {
            continue;
        }
        // A verb one segment before the last has its object there: `/delete/draft-3`.
        if at == 1 && !(segment.words.len() == 1 && first.is(DESTROY) && last.words.len() <= 2) {
            continue;
        }
        if (first.is(DESTROY) || end.is(DESTROY)) && !segment.any(ORDINARY | NESTED) {
            let owner = before.filter(|_| at == 0).map(|it| it.words.clone()).unwrap_or_default();
            let class = match name::judge(&segment.words, &owner) {
                Some(Verdict::Consequential(class)) => class,
                Some(Verdict::Read | Verdict::Ordinary | Verdict::Telemetry) => continue,
                None => EffectClass::Destroy,
            };
            return Some((class, said()));
        }
        if at == 0
            && end.is(EXECUTE)
            && (has_id
                || !path.any(STEP)
                    && !path.segments.iter().any(|it| {
                        it.words
                            .iter()
                            .any(|word| matches!(word.text.as_str(), "checkout" | "order" | "orders"))
                    }))
        {
            let noun = |uses: Uses| segment.any(uses) || before.is_some_and(|it| it.any(uses));
            let class = if noun(PAY | PAY_NOUN) {
                Some(EffectClass::Pay)
            } else if noun(POWER_NOUN | POWER) {
                Some(EffectClass::Power)
            } else if noun(SEND) {
                Some(EffectClass::Send)
            } else {
                None
            };
            if let Some(class) = class {
                return Some((class, said()));
            }
        }
        if at > 0 {
            continue;
        }
        // `/order?item=4&confirmed=1`
        if is_confirmed(query)
            && let Some(Verdict::Consequential(class)) =
                name::judge(&segment.words, &before.map(|it| it.words.clone()).unwrap_or_default())
        {
            return Some((class, said()));
        }
        // `/mail/forward?msg=5&to=ada@example.org`
        if segment.any(SEND) && super::super::decode::pairs(query).any(|(_, value)| value.contains('@')) {
            return Some((EffectClass::Send, said()));
        }
        if (first.is(WEAK | CANCEL | CLOSING) || end.is(WEAK | CANCEL | CLOSING))
            && let Some(Verdict::Consequential(class)) =
                name::judge(&segment.words, &before.map(|it| it.words.clone()).unwrap_or_default())
        {
            return Some((class, said()));
        }
        let is_sent =
            matches!(end.text.as_str(), "send" | "sendnow" | "publish" | "deploy" | "broadcast" | "sendmail");
        if is_sent && has_id && before.is_some() {
            return Some((EffectClass::Send, said()));
        }
        if exports(&segment.words, &core) {
            return Some((EffectClass::Power, said()));
        }
        let promotes = matches!(end.text.as_str(), "promote" | "impersonate" | "makeadmin")
            || first.text == "impersonate";
        if promotes && has_id || end.text == "admin" && first.text == "make" {
            return Some((EffectClass::Power, said()));
        }
    }
    None
}

/// Whether a query says that a person agreed: `confirm=yes`, `bestaetigt=1`.
fn is_confirmed(query: &str) -> bool {
    pairs(query).any(|(name, value)| {
        let is_agreed =
            words(&name).iter().any(|word| word.is(EXECUTE) || CONFIRMED.contains(&word.text.as_str()));
        is_agreed && fields::is_truthy(&value) && !value.is_empty()
    })
}

const CONFIRMED: [&str; 10] = [
    "confirmed",
    "sure",
    "bestaetigt",
    "bestatigt",
    "confirme",
    "confirmado",
    "confermato",
    "bevestigd",
    "potwierdzone",
    "onaylandi",
];

fn exports(all: &[Word], core: &[&Word]) -> bool {
    const DATA: [&str; 16] = [
        "data",
        "archive",
        "backup",
        "contacts",
        "csv",
        "all",
        "database",
        "records",
        "users",
        "customers",
        "everything",
        "takeout",
        "mailbox",
        "history",
        "xlsx",
        "account",
    ];
    let is_export = |word: &&Word| {
        matches!(
            word.text.as_str(),
            "export" | "takeout" | "dump" | "exportar" | "exporter" | "exportieren" | "esporta" | "eksport"
        )
    };
    let ends = core.first().is_some_and(is_export)
        || core.last().is_some_and(is_export)
        || all.first().is_some_and(|word| is_export(&word));
    let downloads = all.iter().any(|word| word.text == "download")
        && all.iter().any(|word| DATA.contains(&word.text.as_str()));
    ends || downloads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EffectTransport;

    #[test]
    fn a_part_of_a_page_is_judged_by_its_address() {
        for (destination, url, expected) in [
            ("script", "https://own.test/items/3/delete?callback=f", true),
            ("script", "https://own.test/api?action=delete&id=3&callback=f", true),
            ("style", "https://own.test/items/3/delete", true),
            ("audio", "https://own.test/items/3/delete", true),
            ("serviceworker", "https://own.test/account/delete", true),
            ("script", "https://own.test/static/delete.js", false),
            ("style", "https://own.test/assets/remove-dialog.css?v=3", false),
            ("script", "https://own.test/assets/main", false),
            ("font", "https://own.test/fonts/inter", false),
            ("worker", "https://own.test/assets/index", false),
        ] {
            let head = RequestHead {
                transport: EffectTransport::Http,
                method: "GET",
                url,
                content_type: "",
                destination,
            };
            assert_eq!(judge(&head, None).is_some(), expected, "{destination} {url}");
        }
    }
}
