//! Judges fields: those that name an operation, and those that pay, publish or hand out power. The value of any other
//! field is what somebody typed, and says nothing.

use super::address::Path;
use super::name::{self, Verdict};
use super::payment;
use super::terms::*;
use crate::EffectClass;
use crate::effect::{BodyKind, Effect, EffectField};
use crate::rules::address::decode;

/// Names of fields whose value names an operation in any request.
const STRICT: [&str; 22] = [
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
    STRICT.iter().chain(&LOOSE).any(|known| last.eq_ignore_ascii_case(known))
}

pub(super) fn is_strict_name(name: &str) -> bool {
    let last = last_part(name);
    STRICT.iter().any(|known| last.eq_ignore_ascii_case(known))
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
    let is_strict = STRICT.iter().any(is);
    if !is_strict && !LOOSE.iter().any(is) {
        return None;
    }
    // The task of a to-do list is what somebody typed; the task of a controller is one word.
    let is_label = matches!(last.to_ascii_lowercase().as_str(), "submit" | "commit" | "button" | "btn");
    if value.contains(' ') && !is_label && !last.eq_ignore_ascii_case("action") {
        return None;
    }
    // `ctl00$Main$btnDelete`, `form:table:deleteButton`: only the last part names the control.
    let value = value.rsplit(['$', ':']).next().unwrap_or_default();
    let found = words(value);
    let verdict = match name::judge(&found, &[]) {
        None if is_strict => name::created(&found).map(Verdict::Consequential),
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
        _ if is_strict && found.iter().any(|word| word.is(TELEMETRY)) => Some(Verdict::Read),
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
    found.iter().any(is_verb) && found.iter().all(fits)
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
        || effect.fields.iter().any(|field| {
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
    for field in &effect.fields {
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
        // A bulk request has the operation as a key: `{"delete": {"_id": 1}}`.
        let first = field.name.split(['.', '[']).next().unwrap_or_default();
        let is_key = first == "delete" && first.len() < field.name.len();
        if is_set && (is_destroying_name(&field.name) || is_key) && !path.any(ORDINARY) {
            keep(EffectClass::Destroy, &field.name);
        }
    }
    if reads {
        return best;
    }
    let found = [
        addresses(effect),
        removes(effect, path),
        publishes(effect),
        payment::pays(effect),
        empowers(effect, path),
    ];
    for (class, name) in found.into_iter().flatten() {
        keep(class, name);
    }
    best
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

/// Somebody to write to together with something to read: a message, whatever the address is called.
fn addresses(effect: &Effect) -> Option<(EffectClass, &str)> {
    const TO: [&str; 14] = [
        "to",
        "recipient",
        "recipients",
        "cc",
        "bcc",
        "an",
        "para",
        "destinataire",
        "destinatario",
        "empfaenger",
        "till",
        "naar",
        "komu",
        "kime",
    ];
    const TEXT: [&str; 16] = [
        "subject",
        "body",
        "text",
        "message",
        "content",
        "html",
        "betreff",
        "asunto",
        "objet",
        "oggetto",
        "nachricht",
        "mensaje",
        "mensagem",
        "messaggio",
        "texte",
        "texto",
    ];
    let named = |list: &[&str], field: &EffectField| {
        let name = last_part(&field.name).to_ascii_lowercase();
        list.contains(&name.as_str()) && !field.value.is_empty()
    };
    let is_person = |value: &str| {
        let digits = value.bytes().filter(u8::is_ascii_digit).count();
        value.contains('@') || value.starts_with('+') && digits >= 4
    };
    let to = effect.fields.iter().find(|field| named(&TO, field) && is_person(&field.value))?;
    let has_text = effect.fields.iter().any(|field| named(&TEXT, field));
    (has_text && !is_draft(effect)).then_some((EffectClass::Send, to.name.as_str()))
}

/// Marks that take something away: `deletedAt`, `permanent`, a status.
fn removes<'a>(effect: &'a Effect, path: &Path) -> Option<(EffectClass, &'a str)> {
    effect.fields.iter().find_map(|field| {
        let name = last_part(&field.name).to_ascii_lowercase().replace(['_', '-'], "");
        let value = field.value.to_ascii_lowercase();
        let set = is_truthy(&value) && !value.is_empty();
        let class = match name.as_str() {
            "deletedat" | "deletedon" | "removedat" | "trashedat" | "destroyedat" | "purge" => set,
            "permanently" | "forever" | "harddelete" | "permanentdelete" => set,
            "permanent" => set && path.any(WEAK | CLOSING | CANCEL),
            "status" | "state" => match value.as_str() {
                "deleted" | "trashed" | "removed" | "trash" | "terminated" => true,
                "cancelled" | "canceled" | "void" | "voided" => path.any(PAY_NOUN | CANCELLED),
                _ => false,
            },
            _ => false,
        };
        let ends = matches!(name.as_str(), "status" | "state")
            && matches!(value.as_str(), "banned" | "suspended" | "deactivated" | "disabled")
            && path.has_people();
        if class {
            Some((EffectClass::Destroy, field.name.as_str()))
        } else {
            ends.then_some((EffectClass::Power, field.name.as_str()))
        }
    })
}

fn publishes(effect: &Effect) -> Option<(EffectClass, &str)> {
    effect.fields.iter().find_map(|field| {
        let name = last_part(&field.name).to_ascii_lowercase().replace(['_', '-'], "");
        let value = field.value.to_ascii_lowercase();
        match (name.as_str(), value.as_str()) {
            ("status" | "state" | "poststatus", "published" | "publish" | "live" | "public") => {
                Some((EffectClass::Send, field.name.as_str()))
            }
            ("published" | "ispublished" | "publish", "true" | "1" | "on" | "yes") => {
                Some((EffectClass::Send, field.name.as_str()))
            }
            (
                "visibility" | "privacy" | "access" | "sharing",
                "public"
                | "everyone"
                | "world"
                | "anyone"
                | "open"
                | "anyonewithlink"
                | "anyone_with_link"
                | "anyone_with_the_link"
                | "link"
                | "publicread"
                | "public-read",
            ) => Some((EffectClass::Power, field.name.as_str())),
            ("ispublic" | "public" | "anyonecanview", "true" | "1" | "on") => {
                Some((EffectClass::Power, field.name.as_str()))
            }
            ("private" | "isprivate", "false" | "0") if effect.request.method != "POST" => {
                Some((EffectClass::Power, field.name.as_str()))
            }
            _ => None,
        }
    })
}

/// Roles, rights, e-mail addresses and passwords.
fn empowers<'a>(effect: &'a Effect, path: &Path) -> Option<(EffectClass, &'a str)> {
    let visible: Vec<(&EffectField, String)> = effect
        .fields
        .iter()
        .map(|field| (field, last_part(&field.name).to_ascii_lowercase().replace(['_', '-'], "")))
        .filter(|(_, name)| !is_technical(name))
        .collect();
    let has = |wanted: &[&str]| visible.iter().any(|(_, name)| wanted.contains(&name.as_str()));
    let (signs_in, own) = (path.is_sign_in(), path.is_own_account());
    let makes = path.named().next().is_some_and(|(last, _)| last.any(MAKE));
    for (field, name) in &visible {
        let set = is_truthy(&field.value) && !field.value.is_empty();
        let changes = match name.as_str() {
            "isadmin" | "isstaff" | "issuperuser" | "admin" | "superuser" | "makeadmin" | "isowner" => set,
            "role" | "roles" | "roleid" | "accesslevel" | "permissionlevel" | "usertype" | "userrole"
            | "rolle" | "rol" | "rola" | "ruolo" | "papel" | "rooli" | "szerep" | "roll" | "role_id"
            | "newrole" => {
                set && !has(&["content", "parts"]) && (visible.len() <= 4 || is_high_role(&field.value))
            }
            "permission" | "permissions" | "privileges" | "userpermissions" | "acl" | "bindings"
            | "grants" | "droits" | "rechte" | "permisos" | "permissoes" | "permessi" | "uprawnienia"
            | "prava" | "opravneni" | "rettigheter" | "behorighet" | "yetkiler" | "scopes" => {
                set && visible.len() <= 12
            }
            "newemail" | "emailnew" | "newemailaddress" => set,
            "newpassword"
            | "passwordnew"
            | "newpass"
            | "newpwd"
            | "passwordconfirmation"
            | "confirmpassword"
            | "currentpassword"
            | "oldpassword"
            | "password2"
            | "newpassword1" => set && !signs_in && !makes,
            "password" | "passwd" => set && !signs_in && !makes && own && visible.len() <= 3,
            "email" | "emailaddress" | "mail" | "primaryemail" | "correo" => {
                let is_address = field.value.contains('@');
                is_address
                    && own
                    && !signs_in
                    && effect.request.method != "DELETE"
                    && visible.len() <= 3
                    && !has(&["message", "subject", "name", "firstname"])
            }
            "active" | "isactive" | "enabled" | "isenabled" => {
                !is_truthy(&field.value) && path.has_people() && !path.is_settings() && visible.len() <= 3
            }
            other if other.ends_with("role") && is_high_role(&field.value) => set,
            "suspended" | "blocked" | "banned" | "isbanned" | "locked" => set && path.has_people(),
            _ if set && !signs_in && !makes && field.length <= 100 => {
                let found = words(last_part(&field.name));
                let is = |uses: u32| found.iter().any(|word| word.is(uses));
                found.len() > 1 && is(PASSWORD) && is(RENEWED)
            }
            _ => false,
        };
        if changes {
            return Some((EffectClass::Power, &field.name));
        }
    }
    (!signs_in && !makes).then(|| repeats(&visible)).flatten()
}

/// A value that is given twice, once to confirm it, is a new password.
fn repeats<'a>(visible: &[(&'a EffectField, String)]) -> Option<(EffectClass, &'a str)> {
    const AGAIN: [&str; 14] = [
        "confirm",
        "repeat",
        "again",
        "retype",
        "wiederhol",
        "bestatig",
        "bestaetig",
        "conferma",
        "ripeti",
        "powtorz",
        "potwierdz",
        "tekrar",
        "ponovi",
        "znovu",
    ];
    let (field, _) = visible.iter().find(|(field, name)| {
        let value = &field.value;
        let is_secret = !value.is_empty() && field.length <= 100 && !value.contains('@') && !is_flag(value);
        let is_again = AGAIN.iter().any(|part| name.contains(part)) || name.ends_with('2');
        let twin = |(other, other_name): &(&EffectField, String)| {
            other.value == *value
                && !std::ptr::eq(*other, *field)
                && (!name.ends_with('2') || name.starts_with(other_name.trim_end_matches('1')))
        };
        is_secret && is_again && visible.len() <= 6 && visible.iter().any(twin)
    })?;
    Some((EffectClass::Power, &field.name))
}

fn is_flag(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
        || matches!(
            value.to_ascii_lowercase().as_str(),
            "true" | "false" | "yes" | "no" | "on" | "off" | "null"
        )
}

fn is_high_role(value: &str) -> bool {
    const HIGH: [&str; 8] =
        ["admin", "administrator", "owner", "superuser", "root", "superadmin", "maintainer", "manager"];
    HIGH.contains(&value.to_ascii_lowercase().as_str())
}

/// Fields that a form has besides what a person sees.
fn is_technical(name: &str) -> bool {
    const PARTS: [&str; 7] = ["csrf", "token", "nonce", "viewstate", "utf8", "eventvalidation", "method"];
    PARTS.iter().any(|part| name.contains(part))
        || matches!(name, "id" | "next" | "commit" | "submit" | "save" | "action" | "redirect" | "locale")
}
