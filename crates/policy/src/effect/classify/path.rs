//! Paths of addresses, split into words.

use super::name;
use super::terms::*;
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

    pub fn is_only(&self, uses: Uses) -> bool {
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
        segments.iter_mut().for_each(unmark_modifiers);
        for at in 1..segments.len() {
            let is_plural = || {
                let word = segments[at - 1].words.last().map_or("", |word| word.text.as_str());
                at < last && word.len() > 3 && word.ends_with('s') && !word.ends_with("ss")
            };
            let is_member = (is_collection(&segments[at - 1]) || is_plural())
                && is_unknown(&segments[at])
                && !matches!(&segments[at].words[..], [word] if word.text == "me");
            segments[at].is_id |= is_member;
        }
        // `/order/cancel/order_id/44`: the name of a parameter and its value.
        for at in 0..last {
            let is_parameter = segments[at].words.len() > 1
                && segments[at].words.last().is_some_and(|word| word.text == "id");
            segments[at].is_id |= is_parameter && segments[at + 1].is_id;
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
        let Some((last, _)) = self.named().next() else { return false };
        // `/cards/4/list` is the list that a card is on.
        let is_owned = matches!(&self.segments[..], [.., owner, end] if owner.is_id && std::ptr::eq(end, last))
            && last
                .words
                .last()
                .is_some_and(|word| matches!(word.text.as_str(), "list" | "filter" | "fields"));
        !is_owned && name::is_certain_read(&last.words)
    }

    /// All words before the last named segment.
    pub fn context(&self) -> Vec<Word> {
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
            "api"
                | "v"
                | "rest"
                | "rpc"
                | "index"
                | "php"
                | "public"
                | "json"
                | "ajax"
                | "internal"
                | "web"
                | "administrator"
        )
    };
    segment.words.iter().all(|word| ignored(word) || word.text.chars().all(|c| c.is_ascii_digit()))
}

fn segment(part: &str, is_last: bool) -> Segment {
    let part = part.split(';').next().unwrap_or_default();
    let bare = if is_last { strip_extension(part) } else { part };
    Segment { words: words(bare), is_id: is_id(bare) }
}

/// `tour-bookings` are bookings: a word before what is paid for does not make it come and go.
fn unmark_modifiers(segment: &mut Segment) {
    if let [modifiers @ .., head] = &mut segment.words[..]
        && head.is(PAY_NOUN)
        && !head.is(ORDINARY | UI_NOUN)
    {
        modifiers.iter_mut().for_each(|word| word.uses &= !ORDINARY);
    }
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

/// Whether the path is that of an administration.
pub(super) fn is_admin(path: &Path) -> bool {
    path.segments.iter().take(3).any(|segment| segment.words.iter().any(|word| word.text == "admin"))
}
