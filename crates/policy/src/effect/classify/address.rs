//! Judges the path of an address.

use super::name::{self, Verdict};
use super::path::{Path, Segment, is_admin};
use super::terms::*;
use crate::EffectClass;

/// Judges a path that is not requested by GET.
pub(super) fn judge(path: &Path, method: &str) -> Option<(Verdict, String)> {
    let mut named = path.named();
    let (last, is_followed) = named.next()?;
    let before = named.next().map(|(segment, _)| segment);
    let word =
        |segment: &Segment| segment.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let context = path.context();
    if method == "DELETE" {
        return Some((deleted(path, last, before), word(last)));
    }
    if path.has_word(&["checkout"]) && matches!(&last.words[..], [word] if word.is(LOGIN | STEP)) {
        return Some((Verdict::Ordinary, word(last)));
    }
    if let Some(verdict) = sign_in(path, last) {
        return Some((verdict, word(last)));
    }
    if let Some(verdict) = name::judge(&last.words, &context)
        && !(last.words.len() == 1 && last.any(LEAD) && verdict == Verdict::Read)
    {
        let is_step = path.any(PAY_NOUN) && last.any(STEP) && verdict != Verdict::Read;
        let verdict = if is_step && !last.any(PAY) { Verdict::Ordinary } else { verdict };
        let verdict = in_admin(path, verdict);
        return Some((telemetry(path, verdict), word(last)));
    }
    // `/send/m.room.message/17`, `/delete/now`: a verb alone, one segment before the last.
    if let Some(before) = before
        && before.is_only(DESTROY | SEND | PAY | POWER)
        && !last.any(ORDINARY | ORDINARY_VERB)
        && (before.is_only(DESTROY | SEND | POWER) || !last.any(STEP | READ | CANCEL))
        && let Some(verdict @ Verdict::Consequential(_)) = name::judge(&before.words, &[])
    {
        return Some((verdict, word(before)));
    }
    if is_telemetry(path) {
        return Some((Verdict::Telemetry, word(last)));
    }
    let after_thing = path.segments.len() >= 2 && path.segments[path.segments.len() - 2].is_id;
    if let [verb] = &last.words[..]
        && let Some(class) = name::led_class(verb)
        && !is_followed
        && (after_thing || verb.is(LEAD_PAY) && !verb.is(PAY_NOUN) && before.is_some() && !is_admin(path))
    {
        return Some((Verdict::Consequential(class), word(last)));
    }
    if last.any(ORDINARY) || before.is_some_and(|segment| segment.any(ORDINARY)) {
        return Some((Verdict::Ordinary, word(last)));
    }
    let is_step = last.any(STEP) && path.any(PAY_NOUN);
    if is_step {
        return Some((Verdict::Ordinary, word(last)));
    }
    let account = path.is_own_account();
    if last.words.len() <= 2 && last.any(LOGIN | GUARD | PASSWORD) && (account || last.any(GUARD | PASSWORD))
    {
        return Some((Verdict::Consequential(EffectClass::Power), word(last)));
    }
    let applies = last.words.last().is_some_and(|word| word.text == "apply");
    if applies
        && path.has_word(&[
            "job",
            "jobs",
            "career",
            "careers",
            "position",
            "positions",
            "vacancies",
            "loan",
            "loans",
        ])
    {
        return Some((Verdict::Consequential(EffectClass::Send), word(last)));
    }
    let last_is = |list: &[&str]| last.words.last().is_some_and(|word| list.contains(&word.text.as_str()));
    let pairs = last_is(&["pair", "trust", "link", "enroll"]) && path.has_word(&["device", "devices"]);
    let consents = last_is(&["consent", "accept", "approve", "allow", "decision"])
        && path.has_word(&["oauth", "oauth2", "oidc", "sso", "authorize", "authorization"]);
    if pairs || consents {
        return Some((Verdict::Consequential(EffectClass::Power), word(last)));
    }
    // `friend-requests`, `leave-requests`: somebody else answers them.
    let is_request = last.words.len() >= 2
        && last.words.last().is_some_and(|word| matches!(word.text.as_str(), "request" | "requests"));
    if is_request && method == "POST" && !is_followed && !last.any(READ | ORDINARY) {
        return Some((Verdict::Consequential(EffectClass::Send), word(last)));
    }
    let is_plan = last.words.last().is_some_and(|word| matches!(word.text.as_str(), "plan" | "tier"));
    if is_plan && !is_followed && (path.any(PAY_NOUN | ACCOUNT) || account) {
        return Some((Verdict::Consequential(EffectClass::Pay), word(last)));
    }
    let is_billing = before.is_some_and(|it| it.words.iter().any(|word| word.text == "billing"));
    if is_billing && !is_followed && !last.any(STEP | READ | UI_NOUN | KNOWN) {
        return Some((Verdict::Consequential(EffectClass::Pay), word(last)));
    }
    let is_security = path.any(GUARD) || path.has_word(&["sso", "iam", "acl"]);
    if is_security && last.any(UI_NOUN | KNOWN | CHANGE) {
        return Some((Verdict::Consequential(EffectClass::Power), word(last)));
    }
    let is_own =
        is_followed && path.segments.last().is_some_and(|it| it.words.iter().all(|word| word.text == "me"));
    if is_own {
        return Some((Verdict::Ordinary, word(last)));
    }
    let class = name::created(&last.words)?;
    // `/donations/recurring` is a kind of donation, no id.
    let is_kind = || {
        let last = path.segments.last();
        last.is_some_and(|it| it.words.len() == 1 && it.words[0].text.chars().all(char::is_alphabetic))
    };
    let may_follow = class == EffectClass::Destroy || class == EffectClass::Pay && is_kind();
    let creates = matches!(method, "POST" | "PUT") && (!is_followed || may_follow);
    let is_shared = class == EffectClass::Power;
    if !creates && !is_shared {
        return None;
    }
    let is_push =
        path.has_word(&["push", "newsletter", "notification", "notifications", "device", "devices", "fcm"]);
    if is_push {
        return Some((Verdict::Ordinary, word(last)));
    }
    Some((in_admin(path, Verdict::Consequential(class)), word(last)))
}

/// Rows of an administration page are kept, not sent: a new `Order` there is a record.
fn in_admin(path: &Path, verdict: Verdict) -> Verdict {
    match verdict {
        // Fields say what a member of a library or the owner of a car may do here.
        Verdict::Consequential(EffectClass::Power)
            if path.is_admin_row()
                && path.has_word(&["member", "membership", "owner", "delegate", "scope"]) =>
        {
            Verdict::Ordinary
        }
        Verdict::Consequential(EffectClass::Send | EffectClass::Pay) if path.is_admin_row() => {
            Verdict::Ordinary
        }
        other => other,
    }
}

fn telemetry(path: &Path, verdict: Verdict) -> Verdict {
    let is_change = matches!(verdict, Verdict::Consequential(_));
    if is_telemetry(path) && !is_change { Verdict::Telemetry } else { verdict }
}

/// Whether a whole segment says telemetry, and none says anything else that counts: `/pay/beacon` is a payment.
fn is_telemetry(path: &Path) -> bool {
    // `/habits/4/log` is a list of one thing.
    let is_nested = |at: usize, it: &Segment| {
        at > 0
            && path.segments[at - 1].is_id
            && matches!(&it.words[..], [word] if matches!(word.text.as_str(), "log" | "track"))
    };
    path.segments
        .iter()
        .enumerate()
        .any(|(at, segment)| segment.is_only(TELEMETRY) && !is_nested(at, segment))
        && !path.any(DESTROY | SEND | PAY | PAY_NOUN | POWER)
}

/// Signing in and out, and tokens that the page fetches for itself.
fn sign_in(path: &Path, last: &Segment) -> Option<Verdict> {
    let word = match &last.words[..] {
        [word] => word.text.as_str(),
        _ if last.words.iter().any(|word| matches!(word.text.as_str(), "csrf" | "xsrf")) => {
            return Some(Verdict::Read);
        }
        _ => return None,
    };
    let refreshes = path.has_word(&["refresh", "csrf", "xsrf"]);
    match word {
        "token" | "tokens" | "refresh" if refreshes => Some(Verdict::Read),
        "token" => Some(Verdict::Ordinary),
        "login" | "signin" | "logout" | "signout" | "session" | "signup" | "register"
            if !path.any(POWER_NOUN | GUARD) =>
        {
            Some(Verdict::Ordinary)
        }
        _ => None,
    }
}

fn deleted(path: &Path, last: &Segment, before: Option<&Segment>) -> Verdict {
    let ends_session = last
        .words
        .iter()
        .any(|word| matches!(word.text.as_str(), "session" | "sessions" | "logout" | "current"));
    let is_nested =
        last.any(NESTED) && path.segments.iter().take_while(|it| !std::ptr::eq(*it, last)).any(|it| it.is_id);
    if last.any(ORDINARY) || before.is_some_and(|segment| segment.any(ORDINARY)) || ends_session || is_nested
    {
        return Verdict::Ordinary;
    }
    if last.any(ORDINARY_VERB) && !last.any(MAKE) && last.words.len() == 1 && last.words[0].text != "draft" {
        return Verdict::Ordinary;
    }
    let is_own = last.words.len() == 1 && last.words[0].text == "me";
    let class = if last.any(GUARD) {
        EffectClass::Power
    } else if last.any(ACCOUNT) || is_own {
        EffectClass::Account
    } else if before.is_some_and(|it| it.is_only(ACCOUNT))
        && last.words.len() == 1
        && !last.is_id
        && last.words[0].uses == 0
        && !last.words[0].text.ends_with('s')
    {
        // `DELETE /orgs/acme`.
        EffectClass::Account
    } else {
        EffectClass::Destroy
    };
    Verdict::Consequential(class)
}
