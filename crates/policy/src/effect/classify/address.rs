//! Judges the path of an address.

use super::name::{self, Verdict};
use super::terms::*;
use crate::EffectClass;
use crate::percent::decode;

const MOST_SEGMENTS: usize = 40;

/// One segment of a path.
pub(super) struct Segment {
    pub words: Vec<Word>,
    /// It names one thing among many.
    pub is_id: bool,
}

impl Segment {
    pub fn any(&self, uses: Uses) -> bool {
        self.words.iter().any(|word| word.is(uses))
    }

    fn is_only(&self, uses: Uses) -> bool {
        !self.words.is_empty() && self.words.iter().all(|word| word.is(uses | FILLER)) && self.any(uses)
    }
}

pub(super) struct Path {
    pub segments: Vec<Segment>,
    /// The operations that the path names: tRPC procedures, gRPC and Twirp methods.
    pub operations: Vec<String>,
}

/// Path and query of an address.
pub(super) fn split(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or_default();
    let path = rest.find(['/', '?']).map_or("", |at| &rest[at..]);
    path.split_once('?').unwrap_or((path, ""))
}

impl Path {
    pub fn of(url: &str) -> Path {
        let (path, _) = split(url);
        let decoded = decode(path);
        let raw: Vec<&str> = decoded
            .split(['/', '\\', ':'])
            .filter(|part| !matches!(*part, "" | "." | ".."))
            .take(MOST_SEGMENTS)
            .collect();
        let mut operations = Vec::new();
        if let Some(at) = raw.iter().position(|part| part.eq_ignore_ascii_case("trpc")) {
            operations.extend(raw.iter().skip(at + 1).flat_map(|part| part.split(',')).map(str::to_owned));
        } else if let [.., service, method] = raw[..]
            && is_service(service)
            && method.starts_with(|c: char| c.is_ascii_uppercase())
        {
            operations.push(format!("{service}/{method}"));
        }
        let last = raw.len().saturating_sub(1);
        let mut segments: Vec<Segment> =
            raw.iter().enumerate().map(|(at, part)| segment(part, at == last)).collect();
        for at in 1..segments.len() {
            let is_member = is_collection(&segments[at - 1]) && is_unknown(&segments[at]);
            segments[at].is_id |= is_member;
        }
        Path { segments, operations }
    }

    /// The segments that are no ids, versions or prefixes, from the last to the first; with whether an id follows.
    pub fn named(&self) -> impl Iterator<Item = (&Segment, bool)> {
        let segments = self.segments.iter().enumerate().rev();
        segments.filter(|(_, segment)| !segment.is_id && !is_prefix(segment)).map(|(at, segment)| {
            let is_followed = self.segments.get(at + 1).is_some_and(|next| next.is_id);
            (segment, is_followed)
        })
    }

    pub fn any(&self, uses: Uses) -> bool {
        self.segments.iter().any(|segment| segment.any(uses))
    }

    pub fn has_word(&self, wanted: &[&str]) -> bool {
        self.segments
            .iter()
            .flat_map(|segment| &segment.words)
            .any(|word| wanted.contains(&word.text.as_str()))
    }

    /// Whether the last named segment reads for certain.
    pub fn is_certain_read(&self) -> bool {
        self.named().next().is_some_and(|(last, _)| name::is_certain_read(&last.words))
    }

    /// All words before the last named segment.
    fn context(&self) -> Vec<Word> {
        let named: Vec<&Segment> = self.named().skip(1).map(|(segment, _)| segment).collect();
        named.into_iter().rev().flat_map(|segment| segment.words.iter().cloned()).collect()
    }

    /// Whether the address is about the person's own account or its settings.
    pub fn is_own_account(&self) -> bool {
        self.has_word(&[
            "settings",
            "account",
            "accounts",
            "profile",
            "me",
            "user",
            "users",
            "security",
            "einstellungen",
            "konto",
            "perfil",
            "compte",
            "profil",
            "profiel",
            "profilo",
            "cuenta",
            "conta",
            "hesap",
            "ucet",
            "akun",
            "ajustes",
            "parametres",
            "ustawienia",
            "uzytkownik",
            "nutzer",
            "benutzer",
            "utilisateur",
            "usuario",
        ])
    }

    /// Whether the address is that of a row in an administration: `/admin/shop/order/4/change/`.
    pub fn is_admin_row(&self) -> bool {
        is_admin(self) && self.named().next().is_some_and(|(last, _)| last.any(MAKE | CHANGE))
    }

    /// Whether the address takes commands: `/droplets/4/actions`.
    pub fn is_command(&self) -> bool {
        const COMMANDS: [&str; 6] = ["action", "actions", "command", "commands", "operation", "operations"];
        let last = self.named().next().and_then(|(last, _)| last.words.last());
        last.is_some_and(|word| COMMANDS.contains(&word.text.as_str()))
    }

    pub fn is_settings(&self) -> bool {
        self.has_word(&[
            "me",
            "settings",
            "preferences",
            "preference",
            "notifications",
            "notification",
            "options",
        ])
    }

    /// Whether the address is about people who use the site.
    pub fn has_people(&self) -> bool {
        self.has_word(&[
            "user",
            "users",
            "member",
            "members",
            "account",
            "accounts",
            "employee",
            "employees",
            "staff",
            "people",
            "person",
            "customer",
            "customers",
            "nutzer",
            "benutzer",
            "usuarios",
            "utilisateurs",
            "utenti",
            "gebruikers",
            "uzytkownicy",
            "kullanicilar",
        ])
    }

    pub fn is_sign_in(&self) -> bool {
        self.has_word(&[
            "login",
            "signin",
            "signup",
            "register",
            "session",
            "sessions",
            "oauth",
            "sso",
            "auth",
            "registration",
            "join",
            "logout",
        ])
    }
}

/// `members`, `labels`, `orgs`: what follows is the name of one of them.
fn is_collection(segment: &Segment) -> bool {
    let nouns = SEND_NOUN | PAY_NOUN | POWER_NOUN | ORDINARY | NESTED | ACCOUNT;
    segment
        .words
        .last()
        .is_some_and(|word| word.is(nouns) && (word.text.ends_with('s') || word.text == "starred"))
}

fn is_unknown(segment: &Segment) -> bool {
    !segment.words.is_empty()
        && segment.words.iter().all(|word| word.uses & !FILLER == 0 && !word.text.ends_with('s'))
}

fn is_service(segment: &str) -> bool {
    let name = segment.rsplit('.').next().unwrap_or_default();
    segment.contains('.') && name.starts_with(|c: char| c.is_ascii_uppercase())
}

fn is_prefix(segment: &Segment) -> bool {
    let ignored = |word: &Word| {
        matches!(
            word.text.as_str(),
            "api" | "v" | "rest" | "rpc" | "index" | "php" | "public" | "json" | "ajax" | "internal" | "web"
        )
    };
    segment.words.iter().all(|word| ignored(word) || word.text.chars().all(|c| c.is_ascii_digit()))
}

fn segment(part: &str, is_last: bool) -> Segment {
    let part = part.split(';').next().unwrap_or_default();
    let bare = if is_last { strip_extension(part) } else { part };
    Segment { words: words(bare), is_id: is_id(bare) }
}

fn strip_extension(part: &str) -> &str {
    const PAGES: [&str; 16] = [
        "php", "aspx", "asp", "jsp", "do", "action", "html", "htm", "json", "cgi", "xhtml", "jsf", "ashx",
        "xml", "pl", "py",
    ];
    match part.rsplit_once('.') {
        Some((bare, extension))
            if !bare.is_empty() && PAGES.contains(&extension.to_ascii_lowercase().as_str()) =>
        {
            bare
        }
        _ => part,
    }
}

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

fn is_admin(path: &Path) -> bool {
    path.segments.iter().take(3).any(|segment| segment.words.iter().any(|word| word.text == "admin"))
}

/// Rows of an administration page are kept, not sent: a new `Order` there is a record.
fn in_admin(path: &Path, verdict: Verdict) -> Verdict {
    match verdict {
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
    path.segments.iter().any(|segment| segment.is_only(TELEMETRY))
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
