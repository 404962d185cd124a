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
    if reports(path) {
        return Some((Verdict::Telemetry, word(last)));
    }
    if let Some(class) = reveals_key(last, before).or_else(|| of_key(path, last, method)) {
        return Some((Verdict::Consequential(class), word(last)));
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
    if is_telemetry(path) && method == "POST" {
        return Some((Verdict::Telemetry, word(last)));
    }
    // A thread is subscribed to like a bookmark; a plan is not.
    const FOLLOWED: [&str; 21] = [
        "topic",
        "topics",
        "thread",
        "threads",
        "issue",
        "issues",
        "discussion",
        "discussions",
        "forum",
        "feed",
        "feeds",
        "post",
        "posts",
        "question",
        "podcast",
        "podcasts",
        "channel",
        "channels",
        "show",
        "shows",
        "playlist",
    ];
    if path.has_word(FOLLOWED.as_slice()) && last_is_word(last, "subscribe") {
        return Some((Verdict::Ordinary, word(last)));
    }
    let after_thing = path.segments.len() >= 2 && path.segments[path.segments.len() - 2].is_id;
    if let [verb] = &last.words[..]
        && let Some(class) = name::led_class(verb)
        && !is_followed
        // `/tickets/4/file` is what is attached.
        && verb.text != "file"
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
    // A class of messages is called so too: `SaveDraftRequest`.
    let is_request = last.words.len() == 2
        && !last.words[0].is(MAKE | CHANGE | ORDINARY_VERB | LIGHT | SEND_NOUN | AUTH)
        && last.words.last().is_some_and(|word| matches!(word.text.as_str(), "request" | "requests"));
    if is_request && method == "POST" && !is_followed && !last.any(READ | ORDINARY) {
        return Some((Verdict::Consequential(EffectClass::Send), word(last)));
    }
    // `/listings/4/offer`: an offer binds who makes it.
    let is_offer = last_is(&["offer", "offers", "counteroffer", "proposal", "proposals"]);
    if is_offer && after_thing && method == "POST" && !is_followed {
        return Some((Verdict::Consequential(EffectClass::Send), word(last)));
    }
    // `/dashboards/4/public-links`
    let shows_all = last.words.len() > 1 && last.words[0].text == "public" && !last.any(READ | ORDINARY);
    if shows_all && method == "POST" {
        return Some((Verdict::Consequential(EffectClass::Power), word(last)));
    }
    let guards = last.words.iter().any(|word| word.text == "security") && !last.any(READ | ORDINARY);
    let opens_store = path.has_word(&["variables", "secrets"])
        && path.has_word(&[
            "project",
            "projects",
            "pipeline",
            "pipelines",
            "ci",
            "repos",
            "repositories",
            "environments",
        ]);
    let makes_login = is_admin(path)
        && matches!(&last.words[..], [word] if matches!(word.text.as_str(), "users" | "user" | "logins"));
    if (guards && !is_followed) || opens_store || makes_login && method == "POST" && !is_followed {
        return Some((Verdict::Consequential(EffectClass::Power), word(last)));
    }
    // Moderators silence people.
    if last_is(&["silence", "quarantine", "shadowban", "gag"]) && path.has_people() {
        return Some((Verdict::Consequential(EffectClass::Destroy), word(last)));
    }
    let names_plan =
        |it: &Segment| it.words.last().is_some_and(|word| matches!(word.text.as_str(), "plan" | "tier"));
    let is_plan = names_plan(last) && (path.any(PAY_NOUN | ACCOUNT) || account)
        || last.is_only(CHANGE) && before.is_some_and(names_plan);
    let signs =
        path.has_word(&["signing", "esign", "esignature"]) && last_is(&["finish", "complete", "submit"]);
    if signs {
        return Some((Verdict::Consequential(EffectClass::Power), word(last)));
    }
    if is_plan && !is_followed {
        return Some((Verdict::Consequential(EffectClass::Pay), word(last)));
    }
    let is_billing = before.is_some_and(|it| it.words.iter().any(|word| word.text == "billing"));
    if is_billing && !is_followed && !last.any(STEP | READ | UI_NOUN | KNOWN) {
        return Some((Verdict::Consequential(EffectClass::Pay), word(last)));
    }
    let is_security = path.any(GUARD) || path.has_word(&["sso", "iam", "acl", "dns", "ldap", "scim", "vpn"]);
    let is_configured = last.any(UI_NOUN | KNOWN | CHANGE)
        || last_is(&[
            "connection",
            "connections",
            "provider",
            "providers",
            "record",
            "records",
            "zone",
            "zones",
            "rule",
            "rules",
            "domain",
            "domains",
            "nameservers",
        ]);
    if is_security && is_configured && !last.any(READ) {
        return Some((Verdict::Consequential(EffectClass::Power), word(last)));
    }
    let is_own =
        is_followed && path.segments.last().is_some_and(|it| it.words.iter().all(|word| word.text == "me"));
    if is_own {
        return Some((Verdict::Ordinary, word(last)));
    }
    // `/validate/email`
    if before.is_some_and(|it| it.is_only(READ) && name::is_certain_read(&it.words)) {
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

/// `POST …/listKeys` shows what opens the door.
fn reveals_key(last: &Segment, before: Option<&Segment>) -> Option<EffectClass> {
    const SECRETS: [&str; 7] = ["pin", "cvv", "secret", "key", "token", "password", "number"];
    let is_secret = |it: &Segment| it.words.last().is_some_and(|word| SECRETS.contains(&word.text.as_str()));
    if let [verb] = &last.words[..] {
        let reveals = matches!(verb.text.as_str(), "reveal" | "unmask" | "decrypt" | "show");
        return (reveals && before.is_some_and(is_secret)).then_some(EffectClass::Power);
    }
    let [first, .., end] = &last.words[..] else { return None };
    let is_key = matches!(end.text.as_str(), "keys" | "secret" | "secrets" | "credentials" | "pin" | "cvv");
    let shows = matches!(first.text.as_str(), "list" | "get" | "show" | "reveal" | "view" | "fetch");
    (shows && is_key).then_some(EffectClass::Power)
}

/// `/api_keys/4/roll`: whatever is done to a key.
fn of_key(path: &Path, last: &Segment, method: &str) -> Option<EffectClass> {
    let [.., owner, id, end] = &path.segments[..] else { return None };
    let is_own = std::ptr::eq(end, last) && id.is_id && method == "POST";
    let [verb] = &last.words[..] else { return None };
    let key = owner.words.last()?.text.trim_end_matches('s');
    let is_key = ["key", "token", "secret", "credential", "certificate", "password"]
        .iter()
        .any(|it| key.ends_with(it));
    let is_noun =
        verb.text.ends_with('s') || verb.is(READ | ORDINARY | ORDINARY_VERB | TELEMETRY | DESTROY | WEAK);
    let is_copied = matches!(verb.text.as_str(), "duplicate" | "clone" | "copy");
    let is_noun = is_noun && !is_copied;
    (is_own && is_key && !is_noun).then_some(EffectClass::Power)
}

fn before_is_id(path: &Path, last: &Segment) -> bool {
    matches!(&path.segments[..], [.., id, end] if id.is_id && std::ptr::eq(end, last))
}

fn last_is_word(segment: &Segment, text: &str) -> bool {
    matches!(&segment.words[..], [word] if word.text == text)
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

/// `/Api/ClientTelemetry`, `/analytics/1.0/publish/bulk`: the page reports what somebody did.
fn reports(path: &Path) -> bool {
    const REPORTS: [&str; 7] =
        ["telemetry", "analytics", "clickstream", "beacon", "vitals", "tracking", "logging"];
    const HOW: [&str; 8] = ["publish", "send", "submit", "bulk", "batch", "events", "event", "log"];
    let is_report = |segment: &Segment| {
        segment.words.last().is_some_and(|word| REPORTS.contains(&word.text.as_str()))
            && segment.words.len() <= 3
            && !segment.any(DESTROY | SEND | PAY | POWER | MAKE | CHANGE | PAY_NOUN)
    };
    let Some(at) = path.segments.iter().position(is_report) else { return false };
    let says_how = |segment: &Segment| {
        segment.words.iter().all(|word| {
            HOW.contains(&word.text.as_str())
                || word.text.chars().all(|c| c.is_ascii_digit())
                || word.text == "v"
        })
    };
    path.segments[at + 1..].iter().all(says_how)
        && path.segments[..at].iter().all(|it| !it.any(DESTROY | PAY))
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
    let is_own_token = || {
        const TOKENS: [&str; 4] = ["token", "accesstoken", "refreshtoken", "apitoken"];
        let fetches = path.has_word(&["oauth", "oauth2", "oidc", "jwt", "authentication"]);
        fetches && last.words.iter().any(|word| TOKENS.contains(&word.text.as_str()))
    };
    let word = match &last.words[..] {
        _ if is_own_token() && !path.any(DESTROY) => return Some(Verdict::Ordinary),
        [word] => word.text.as_str(),
        _ if last.words.iter().any(|word| matches!(word.text.as_str(), "csrf" | "xsrf")) => {
            return Some(Verdict::Read);
        }
        _ => return None,
    };
    let refreshes = path.has_word(&["refresh", "csrf", "xsrf"]);
    match word {
        "token" | "tokens" | "refresh" if refreshes => Some(Verdict::Read),
        // `/users/4/token` makes one for somebody; `/oauth/token` is fetched by the page for itself.
        "token"
            if path.has_people() && !path.has_word(&["auth", "login", "identity", "session", "sessions"]) =>
        {
            None
        }
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
    // A coupon is taken off a cart; without one, the coupon itself is deleted.
    let is_coupon = path.has_word(&[
        "coupon",
        "coupons",
        "discount",
        "discounts",
        "voucher",
        "vouchers",
        "promo",
        "promos",
    ]) && path.segments.last().is_some_and(|it| it.is_id)
        && !path.any(CART | PAY_NOUN)
        && !path.has_word(&["checkout", "session"]);
    if is_coupon {
        return Verdict::Consequential(EffectClass::Destroy);
    }
    // `/stars/dashboard/uid/4`: what follows says which.
    let is_listed = || {
        let after: Vec<&Segment> = path.segments.iter().skip_while(|it| !it.any(ORDINARY)).skip(1).collect();
        let says_which = |it: &&Segment| it.is_id || it.words.iter().all(|word| word.uses & !FILLER == 0);
        !after.is_empty()
            && after.len() <= 3
            && after.iter().all(says_which)
            && after.iter().all(|it| it.is_id || !it.words.iter().any(|word| word.text.ends_with('s')))
    };
    if last.any(ORDINARY)
        || before.is_some_and(|segment| segment.any(ORDINARY))
        || ends_session
        || is_nested
        || is_listed()
    {
        return Verdict::Ordinary;
    }
    // A mark is taken back: `DELETE /episodes/4/played`.
    let is_mark = matches!(&last.words[..], [word] if word.text.ends_with("ed") && word.text.len() > 4)
        && before_is_id(path, last)
        && !last.any(PUBLIC | GRANTED | PAID | GONE | POWER_NOUN | DESTROY | CANCEL);
    if is_mark {
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
