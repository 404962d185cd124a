//! Judges fields: those that name an operation, and those that pay, publish or hand out power. The value of any other
//! field is what somebody typed, and says nothing.

use super::name::{self, Verdict};
use super::path::Path;
use super::payment;
use super::terms::*;
use super::{access, code, people, state};
use crate::EffectClass;
use crate::effect::{BodyKind, Effect, EffectField};
use crate::percent::decode;

/// Names of fields whose value names an operation in any request.
const STRICT: [&str; 23] = [
    "action",
    "op",
    "cmd",
    "do",
    "method",
    "_method",
    "task",
    "operation",
    "command",
    "act",
    "func",
    "function",
    "verb",
    "__eventtarget",
    "__eventargument",
    "javax.faces.source",
    "wc-ajax",
    "action2",
    "bulk_action",
    "httpmethod",
    "x-http-method-override",
    "faces.source",
    "rpc",
];
/// Names whose value names an operation if it begins with a verb.
const LOOSE: [&str; 12] = [
    "mode",
    "intent",
    "event",
    "type",
    "kind",
    "submit",
    "commit",
    "button",
    "btn",
    "eventname",
    "request",
    "_action",
];
const LONGEST_OPERATION: usize = 60;

pub(super) fn is_operation_name(name: &str) -> bool {
    let last = last_part(name);
    LOOSE.iter().any(|known| last.eq_ignore_ascii_case(known)) || is_strict_name(name)
}

pub(super) fn is_strict_name(name: &str) -> bool {
    let last = last_part(name);
    // A question whether somebody may do something has the verb inside: `spec.resource.verb`.
    if last == "verb" && name.len() > last.len() {
        return false;
    }
    STRICT.iter().any(|known| last.eq_ignore_ascii_case(known)) || is_operation_compound(last)
}

/// `bulk_action`, `_hx_action`, `action_mode`, `commandName`.
fn is_operation_compound(name: &str) -> bool {
    const LONGEST: usize = 24;
    const AFTER: [&str; 8] = ["mode", "type", "name", "script", "id", "code", "key", "value"];
    if name.len() > LONGEST || name.len() < 4 {
        return false;
    }
    let found = words(name);
    let is = |word: &Word| word.is(OPERATION_FIELD);
    found.last().is_some_and(is)
        || found.len() == 2 && is(&found[0]) && AFTER.contains(&found[1].text.as_str())
}

/// The last part of a path without indices: `action` of `user[action]`, `[0].action` and `x.action[1]`.
pub(super) fn last_part(name: &str) -> &str {
    if name.contains("faces.") || name.starts_with("__") {
        return name;
    }
    let name = name.trim_end_matches("[]");
    let name = match name.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((front, inner)) if inner.bytes().all(|byte| byte.is_ascii_digit()) => front,
        Some((_, inner)) => inner,
        None => name,
    };
    name.rsplit(['.', '$', ':']).next().unwrap_or_default()
}

/// What a field's value names, where the field names an operation.
pub(super) fn judge_operation(name: &str, value: &str) -> Option<Verdict> {
    let value = decode(value);
    if value.is_empty() || value.len() > LONGEST_OPERATION {
        return None;
    }
    let last = last_part(name);
    let is = |known: &&str| last.eq_ignore_ascii_case(known);
    let is_strict = is_strict_name(name);
    if !is_strict && !LOOSE.iter().any(is) {
        return None;
    }
    if let Some(verdict) = of_http_method(last, &value) {
        return verdict;
    }
    // The task of a to-do list is what somebody typed; the task of a controller is one word.
    let is_label = matches!(last.to_ascii_lowercase().as_str(), "submit" | "commit" | "button" | "btn");
    if value.contains(' ') && !is_label && !last.eq_ignore_ascii_case("action") {
        return None;
    }
    // `ctl00$Main$btnDelete`, `form:table:deleteButton`: only the last part names the control. `Delete$0` is its command.
    let is_argument = last.eq_ignore_ascii_case("__eventargument");
    let mut parts = value.split(['$', ':']);
    let value = if is_argument { parts.next() } else { parts.next_back() }.unwrap_or_default();
    let found = words(value);
    let verdict = match name::judge(&found, &[]) {
        None if is_strict && !found.first().is_some_and(|word| word.is(CHANGE)) => {
            name::created(&found).map(Verdict::Consequential)
        }
        other => other,
    };
    let begins = found
        .iter()
        .find(|word| !word.is(FILLER))
        .is_some_and(|word| word.is(DESTROY | SEND | PAY | POWER | WEAK | READ));
    match verdict {
        Some(Verdict::Consequential(_)) if is_strict || begins || is_label => verdict,
        Some(Verdict::Read) if is_strict && !is_label && name::is_certain_read(&found) => verdict,
        Some(Verdict::Telemetry) => None,
        Some(Verdict::Ordinary) if is_strict => verdict,
        _ if is_strict && found.iter().any(|word| word.is(TELEMETRY)) => Some(Verdict::Read),
        _ => None,
    }
}

/// The method of a request inside of a batch, or `_method`: `POST` is no noun there.
fn of_http_method(name: &str, value: &str) -> Option<Option<Verdict>> {
    let names_method = name.to_ascii_lowercase().contains("method") || name.eq_ignore_ascii_case("verb");
    let verdict = match value.to_ascii_uppercase().as_str() {
        _ if !names_method => return None,
        "POST" | "PUT" | "PATCH" => None,
        "GET" | "HEAD" => Some(Verdict::Read),
        "DELETE" => Some(Verdict::Consequential(EffectClass::Destroy)),
        _ => return None,
    };
    Some(verdict)
}

/// What the button of a form says by its name: `ctl00$Main$btnPlaceOrder`, `form:payButton`, `publish=Publish`.
fn judge_button(effect: &Effect, field: &EffectField) -> Option<EffectClass> {
    const BUTTONS: [&str; 9] = ["btn", "button", "lnk", "link", "lb", "cmd", "submit", "bt", "but"];
    const LONGEST: usize = 40;
    if !matches!(effect.body, BodyKind::Form | BodyKind::Multipart) || field.length > LONGEST {
        return None;
    }
    let part = last_part(&field.name);
    let found = words(part.trim_end_matches(".x").trim_end_matches(".y"));
    let is_named = |word: Option<&Word>| word.is_some_and(|word| BUTTONS.contains(&word.text.as_str()));
    let is_button = found.len() > 1 && (is_named(found.first()) || is_named(found.last()));
    let core: Vec<Word> = found.into_iter().filter(|word| !BUTTONS.contains(&word.text.as_str())).collect();
    let consequence = |words: &[Word]| match name::judge(words, &[]) {
        Some(Verdict::Consequential(class)) => Some(class),
        _ => None,
    };
    let class = consequence(&core).filter(|_| part.len() <= LONGEST)?;
    // A button without such a name has its label as its value.
    (is_button || consequence(&words(&field.value)).is_some()).then_some(class)
}

/// `api=Files.Delete&method=start`, `X-Amz-Target`: a service that is named beside its method.
fn judge_service(effect: &Effect, field: &EffectField) -> Option<EffectClass> {
    let found = words(last_part(&field.name));
    let is_service = found.len() <= 3 && found.last().is_some_and(|word| word.is(SERVICE_FIELD));
    if !is_service || field.length > LONGEST_OPERATION || field.value.contains([' ', '/', '@']) {
        return None;
    }
    let is_method = |it: &&EffectField| {
        (last_part(&it.name).eq_ignore_ascii_case("method")
            || field.name == "domain" && last_part(&it.name) == "service")
            && !matches!(it.value.as_str(), "call" | "execute" | "invoke")
    };
    let method = effect.fields.iter().find(is_method);
    // `api=Core.User&method=create`: somebody gets a login.
    let is_login =
        words(&field.value).iter().any(|word| matches!(word.text.as_str(), "user" | "users" | "login"));
    if is_login && method.is_some_and(|method| words(&method.value).iter().any(|word| word.is(MAKE))) {
        return Some(EffectClass::Power);
    }
    let whole = method.map(|method| format!("{}.{}", field.value, method.value));
    [Some(field.value.clone()), whole].into_iter().flatten().find_map(|name| {
        match super::judge_dotted(&name) {
            Some(Verdict::Consequential(class)) => Some(class),
            _ => None,
        }
    })
}

/// A value that no person types: `SendAndSaveCopy`, `CLOSE_ACCOUNT`. Names of products have one known word: `PayPal`.
fn judge_identifier(field: &EffectField) -> Option<EffectClass> {
    const SHORTEST: usize = 8;
    let value = field.value.as_str();
    let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_capital = value.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let is_camel = !value.contains('_') && value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    if field.length < SHORTEST || field.length > LONGEST_OPERATION || !is_plain || !(is_capital || is_camel) {
        return None;
    }
    let found = words(value);
    let is_known = found.len() > 1 && found.iter().all(|word| word.uses != 0 || found.len() > 2);
    // The name of a server action is the first of a list.
    let lead = if field.name == "[0]" { LEAD } else { 0 };
    let acts = DESTROY | SEND | PAY | POWER | CANCEL | CLOSING | lead;
    let leads = found.first().is_some_and(|word| word.is(acts));
    match name::judge(&found, &[]) {
        Some(Verdict::Consequential(class)) if is_known && leads => Some(class),
        _ => None,
    }
}

/// A verb as the whole value of a field that nobody types into: `what=wipe`, `job: "drop-index"`.
fn judge_choice(effect: &Effect, field: &EffectField) -> Option<EffectClass> {
    const MOST_FIELDS: usize = 6;
    const LONGEST: usize = 30;
    let value = field.value.as_str();
    let is_part = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-');
    let is_choice = field.length <= LONGEST && value.len() >= 3 && value.bytes().all(is_part);
    if !is_choice || effect.fields.len() > MOST_FIELDS {
        return None;
    }
    if last_part(&field.name) == "verb" {
        return None;
    }
    let is_typed = words(last_part(&field.name)).iter().any(|word| word.is(TYPED | QUERIED | SEND_NOUN));
    let found = words(value);
    let leads = found.first().is_some_and(|word| word.is(DESTROY) && !word.is(ORDINARY_VERB));
    match name::judge(&found, &[]) {
        Some(Verdict::Consequential(class)) if leads && !is_typed => Some(class),
        _ => None,
    }
}

/// Whether a field is named by nothing but a verb that destroys: `_delete`, `btn_delete`, `delete_selected`.
pub(super) fn is_destroying_name(name: &str) -> bool {
    let part = last_part(name);
    if part.len() > 40 {
        return false;
    }
    // Rows of a formset: `author-0-DELETE`.
    let part = match part.rsplit_once('-') {
        Some((front, verb)) if front.ends_with(|c: char| c.is_ascii_digit()) => verb,
        _ => part,
    };
    let part = part.trim_end_matches(".x").trim_end_matches(".y");
    let found = words(part);
    let is_verb =
        |word: &Word| word.is(DESTROY) || matches!(word.text.as_str(), "deleted" | "destroyed" | "trashed");
    let fits =
        |word: &Word| is_verb(word) || word.is(FILLER) || word.text.chars().all(|c| c.is_ascii_digit());
    // Saving over an older version is no loss that was asked for.
    let is_saving = part.eq_ignore_ascii_case("overwrite");
    !is_saving && found.iter().any(is_verb) && found.iter().all(fits)
}

pub(super) fn is_truthy(value: &str) -> bool {
    !matches!(
        value.trim().to_ascii_lowercase().as_str(),
        "0" | "false" | "null" | "no" | "off" | "n" | "[]" | "none"
    )
}

/// The strictest finding of all fields, with the name of the field.
pub(super) fn judge(effect: &Effect, path: &Path, base: Option<Verdict>) -> Option<(EffectClass, String)> {
    let reads = base == Some(Verdict::Read);
    let is_patch = effect.request.content_type.contains("json-patch")
        || effect.fields.iter().any(|field| last_part(&field.name) == "op")
            && effect.fields.iter().any(|field| {
                last_part(&field.name) == "path"
                    && field.value.starts_with('/')
                    && !effect.fields.iter().any(|other| last_part(&other.name) == "method")
            });
    let is_delta = effect.fields.iter().any(|field| matches!(last_part(&field.name), "retain" | "insert"));
    let mut best: Option<(EffectClass, String)> = None;
    let mut keep = |class: EffectClass, name: &str| {
        if best.as_ref().is_none_or(|(other, _)| class.severity() > other.severity()) {
            best = Some((class, name.to_owned()));
        }
    };
    if let Some((class, name)) = code::judge(effect, path) {
        keep(class, name);
    }
    for field in &effect.fields {
        // The envelope of a message on a Rails socket.
        if field.name == "command" && field.value == "message" {
            continue;
        }
        let strict = is_strict_name(&field.name);
        if strict && !is_patch || !reads && !is_patch && is_operation_name(&field.name) {
            if let Some(Verdict::Consequential(class)) = judge_operation(&field.name, &field.value) {
                keep(class, &field.name);
            }
            if strict && effect.body != BodyKind::JsonRpc && field.value.eq_ignore_ascii_case("delete") {
                keep(EffectClass::Destroy, &field.name);
            }
        }
        if reads || is_delta || field.length > 200 {
            continue;
        }
        // A button may have an empty value, an unchecked row of a formset too.
        let is_row = field
            .name
            .split('-')
            .any(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
        let is_pressed = !field.value.is_empty() || effect.body == BodyKind::Form && !is_row;
        let is_set = is_truthy(&field.value) && is_pressed;
        // `autoRenew: true`
        let is_flag = is_set && matches!(field.value.as_str(), "true" | "1" | "on");
        if is_flag
            && let Some(Verdict::Consequential(EffectClass::Pay)) =
                name::judge(&words(last_part(&field.name)), &[])
        {
            keep(EffectClass::Pay, &field.name);
        }
        let said = judge_button(effect, field)
            .or_else(|| judge_service(effect, field))
            .or_else(|| judge_identifier(field))
            .or_else(|| judge_choice(effect, field));
        if let Some(class) = said.filter(|_| !is_patch && !state::is_queried(&field.name)) {
            keep(class, &field.name);
        }
        let is_command = path.is_command() && last_part(&field.name).eq_ignore_ascii_case("type");
        if is_command && let Some(Verdict::Consequential(class)) = judge_operation("action", &field.value) {
            keep(class, &field.name);
        }
        // A bulk request has the operation as a key: `{"delete": {"_id": 1}}`.
        let first = field.name.split(['.', '[']).next().unwrap_or_default();
        let is_parent = || field.name.rsplit_once('.').is_some_and(|(front, _)| last_part(front) == "delete");
        let is_key = first == "delete" && first.len() < field.name.len() || is_parent();
        if is_set && (is_destroying_name(&field.name) || is_key) && !path.any(ORDINARY) {
            keep(EffectClass::Destroy, &field.name);
        }
    }
    if reads {
        return best;
    }
    let found = [
        people::judge(effect, path, base),
        removes(effect, path),
        state::judge(effect, path).filter(|_| !is_query(effect) && !is_query_path(path)),
        payment::pays(effect)
            .filter(|_| !path.has_word(&["budget", "budgets", "expense", "expenses", "ledger"])),
        access::empowers(effect, path),
    ];
    for (class, name) in found.into_iter().flatten() {
        keep(class, name);
    }
    best
}

/// Whether a body says in so many words what is to be done: `{"op": "delete", "id": 3}`. Reports have actions and events.
pub(super) fn commands(effect: &Effect) -> bool {
    const NAMES: [&str; 7] = ["op", "cmd", "do", "command", "_method", "verb", "rpc"];
    let is_command = |field: &EffectField| {
        NAMES.contains(&field.name.to_ascii_lowercase().as_str())
            && matches!(judge_operation(&field.name, &field.value), Some(Verdict::Consequential(_)))
    };
    effect.fields.iter().any(is_command)
}

/// Whether the body is a report on what somebody did: events with their time and properties, whatever the address is called.
pub(super) fn is_beacon(effect: &Effect) -> bool {
    const EVENTS: [&str; 5] = ["event", "eventname", "eventtype", "eventaction", "metric"];
    const TIMES: [&str; 8] = [
        "timestamp",
        "sentat",
        "clienttimestamp",
        "eventtime",
        "clienttime",
        "originaltimestamp",
        "ts",
        "time",
    ];
    const CONTEXTS: [&str; 8] =
        ["anonymousid", "distinctid", "deviceid", "sessionid", "writekey", "clientid", "userid", "visitorid"];
    let plain = |name: &str| last_part(name).to_ascii_lowercase().replace(['_', '-'], "");
    let has = |list: &[&str]| effect.fields.iter().any(|field| list.contains(&plain(&field.name).as_str()));
    let has_properties = effect.fields.iter().any(|field| {
        field.name.split(['.', '[']).any(|part| matches!(part, "properties" | "context" | "params"))
    });
    matches!(effect.body, BodyKind::Json) && has(&EVENTS) && has(&TIMES) && has(&CONTEXTS) && has_properties
}

/// Whether the button of a form that shows a preview was pressed: nothing is sent yet.
pub(super) fn previews(effect: &Effect) -> bool {
    effect.fields.iter().any(|field| {
        let found = words(last_part(&field.name));
        let names = found.iter().any(|word| matches!(word.text.as_str(), "preview" | "vorschau" | "apercu"));
        names
            && found.len() <= 2
            && matches!(effect.body, BodyKind::Form | BodyKind::Multipart)
            && !field.value.is_empty()
            && is_truthy(&field.value)
    })
}

/// Whether there are fields, and all of them are numbers.
pub(super) fn is_numeric(effect: &Effect) -> bool {
    let is_number = |field: &EffectField| field.value.bytes().all(|byte| byte.is_ascii_digit());
    !effect.fields.is_empty() && effect.fields.iter().all(is_number)
}

/// Whether the operations are about what is looked for: `updateFilters(status: CANCELLED)`.
fn is_query(effect: &Effect) -> bool {
    effect.operations.iter().flat_map(|name| words(name)).any(|word| word.is(QUERIED))
}

/// `POST /ordini/filtra`
fn is_query_path(path: &Path) -> bool {
    path.named()
        .next()
        .is_some_and(|(last, is_followed)| !is_followed && last.is_only(QUERIED | READ) && last.any(QUERIED))
}

/// Whether the fields say where in a list something goes: `before`, `index`, a list of ids.
pub(super) fn sorts(effect: &Effect) -> bool {
    const PLACES: [&str; 10] =
        ["before", "after", "index", "position", "pos", "ids", "rank", "from", "direction", "order"];
    effect.fields.iter().any(|field| {
        let front = field.name.split(['.', '[']).next().unwrap_or_default();
        PLACES.iter().any(|place| {
            front.eq_ignore_ascii_case(place) || last_part(&field.name).eq_ignore_ascii_case(place)
        })
    })
}

/// Whether the fields say that this is kept for later.
pub(super) fn is_draft(effect: &Effect) -> bool {
    let is_state = |field: &EffectField| {
        let name = last_part(&field.name).to_ascii_lowercase();
        matches!(name.as_str(), "status" | "state" | "post_status")
            && field.value.eq_ignore_ascii_case("draft")
            || matches!(name.as_str(), "draft" | "is_draft" | "isdraft" | "save_draft")
                && is_truthy(&field.value)
            || matches!(name.as_str(), "published" | "is_published") && field.value == "false"
    };
    effect.fields.iter().any(is_state)
}

/// Marks that leave nothing to restore.
fn removes<'a>(effect: &'a Effect, path: &Path) -> Option<(EffectClass, &'a str)> {
    effect.fields.iter().find_map(|field| {
        let name = last_part(&field.name).to_ascii_lowercase().replace(['_', '-'], "");
        let set = is_truthy(&field.value) && !field.value.is_empty();
        let removes = match name.as_str() {
            "purge" | "permanently" | "forever" | "harddelete" | "permanentdelete" => set,
            "permanent" => set && path.any(WEAK | CLOSING | CANCEL),
            _ => false,
        };
        removes.then_some((EffectClass::Destroy, field.name.as_str()))
    })
}
