//! Judges fields that hand out power: roles, rights, logins, and who may see something.

use super::fields::{is_truthy, last_part};
use super::path::Path;
use super::terms::*;
use crate::EffectClass;
use crate::effect::{Effect, EffectField};

/// Roles, rights, e-mail addresses and passwords.
pub(super) fn empowers<'a>(effect: &'a Effect, path: &Path) -> Option<(EffectClass, &'a str)> {
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
                let is_step = path.any(STEP | ORDINARY);
                set && !has(&["content", "parts"])
                    && (visible.len() <= 4 && !is_step || is_high_role(&field.value))
            }
            "permission" | "permissions" | "perm" | "perms" | "accessrights" | "privileges"
            | "userpermissions" | "acl" | "bindings" | "grants" | "droits" | "rechte" | "permisos"
            | "permissoes" | "permessi" | "uprawnienia" | "prava" | "opravneni" | "rettigheter"
            | "behorighet" | "yetkiler" | "scopes" => set && visible.len() <= 12,
            "sharedwith" | "sharewith" | "shareto" | "invitees" | "collaborators" | "viewers" | "editors"
            | "grantees" | "delegates" => set,
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
            // Who is signed in does not register: this is a login for somebody else.
            "password" | "passwd" | "pass"
                if !signs_in
                    && effect.request.method == "POST"
                    && path.has_word(&["users", "user", "ftp", "mailbox", "mailboxes"])
                    && makes
                    && has(&["name", "username", "user", "login", "email"]) =>
            {
                set
            }
            // Who registers does not choose the groups.
            "password" if has(&["groups", "group", "role", "roles", "roleid", "isadmin"]) => set,
            // A login is made for somebody else: the row of a user in an administration.
            "password" | "password1" if path.is_admin_row() && path.has_people() => set,
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
            "rank" => set && path.has_people() && field.value.bytes().any(|byte| byte.is_ascii_alphabetic()),
            other if other.ends_with("role") && is_high_role(&field.value) => set,
            "suspended" | "blocked" | "banned" | "isbanned" | "locked" => set && path.has_people(),
            _ if set && !signs_in && !makes && field.length <= 100 => {
                let found = words(last_part(&field.name));
                let is = |uses: Uses| found.iter().any(|word| word.is(uses));
                found.len() > 1 && is(PASSWORD) && is(RENEWED)
            }
            _ => false,
        };
        let forwards = matches!(field.value.as_str(), "redirect" | "forward")
            && visible.iter().any(|(other, _)| other.value.contains('@'));
        // Mail that is passed on: `forward_to`, `p_sx_fwd`.
        let passes_on = (name.contains("forward") || name.ends_with("fwd")) && field.value.contains('@');
        if changes || forwards || passes_on {
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
pub(super) fn is_technical(name: &str) -> bool {
    const PARTS: [&str; 7] = ["csrf", "token", "nonce", "viewstate", "utf8", "eventvalidation", "method"];
    PARTS.iter().any(|part| name.contains(part))
        || matches!(name, "id" | "next" | "commit" | "submit" | "save" | "action" | "redirect" | "locale")
}
