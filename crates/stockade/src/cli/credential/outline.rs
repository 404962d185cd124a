//! One credential for people: what it holds by name, where it may go, and where it was sent in vain. Never a value.

use crate::cli::output::{BOLD, DIM, HINT};
use jiff::Timestamp;
use serde_json::{Value, json};
use vault::{CookieOutline, CredentialId, CredentialOutline, NotedPlace};

/// Names of one list that are printed; `--json` has all.
const MOST_NAMES: usize = 12;

pub fn outline_json(outline: &CredentialOutline, places: &[NotedPlace]) -> Value {
    let cookie = |cookie: &CookieOutline| {
        json!({
            "name": cookie.name, "domain": cookie.domain, "path": cookie.path, "expires": cookie.expires.map(time),
            "http_only": cookie.http_only, "secret": cookie.is_secret,
        })
    };
    let place = |noted: &NotedPlace| json!({"kind": noted.place.kind(), "place": noted.place.place(), "seen_at": noted.seen_at});
    json!({
        "origin": outline.origin.as_str(),
        "sealed": outline.is_sealed,
        "intercept": outline.is_intercepted,
        "cookies": outline.cookies.iter().map(cookie).collect::<Vec<_>>(),
        "local_storage": outline.local_storage,
        "session_storage": outline.session_storage,
        "headers": outline.headers,
        "username": outline.username,
        "totp": outline.has_totp,
        "probe": outline.probe,
        "send_in": outline.send_in.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "unreplaced": places.iter().map(place).collect::<Vec<_>>(),
    })
}

pub fn render(id: &CredentialId, outline: &CredentialOutline, places: &[NotedPlace]) -> String {
    let mut out = String::new();
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("{DIM}{name:<18}{DIM:#} {value}\n"));
        }
    };
    row("origin", outline.origin.as_str());
    row("sealed", if outline.is_sealed { "yes: the browser gets placeholders" } else { "" });
    for cookie in outline.cookies.iter().take(MOST_NAMES) {
        row("cookie", &describe_cookie(cookie));
    }
    let more = outline.cookies.len().saturating_sub(MOST_NAMES);
    row("", &if more > 0 { format!("{more} more cookies; --json lists all") } else { String::new() });
    row("local storage", &names(&outline.local_storage));
    row("session storage", &names(&outline.session_storage));
    row("headers", &names(&outline.headers));
    row("user name", outline.username.as_deref().unwrap_or_default());
    row("one-time codes", if outline.has_totp { "yes" } else { "" });
    row("probe", outline.probe.as_deref().unwrap_or_default());
    for place in &outline.send_in {
        row("also sent in", &place.to_string());
    }
    if !outline.is_sealed {
        out.push_str(&format!(
            "{HINT}Not sealed:{HINT:#} the browser holds these secrets. A page that takes over the\n\
             browser can read them. Store it without `sealed: false` if the site allows.\n"
        ));
    }
    if !outline.is_intercepted {
        out.push_str(&format!(
            "{HINT}Not intercepted:{HINT:#} effects of this site are decided in the browser; a\n\
             compromised renderer could evade that. Store it without `intercept: false`\n\
             if the site allows.\n"
        ));
    }
    if !places.is_empty() {
        out.push_str(&format!("\n{HINT}Sent as a placeholder{HINT:#}, not as the secret, in\n"));
        for noted in places.iter().take(MOST_NAMES) {
            let seen = noted.seen_at.strftime("%Y-%m-%d");
            out.push_str(&format!("  {:<44} {DIM}{seen}{DIM:#}\n", noted.place.to_string()));
        }
        let first = places[0].place.clone();
        out.push_str(&format!(
            "If the site needs the secret there, allow it:\n  {BOLD}stockade credential allow {id} --{} {}{BOLD:#}\n",
            first.kind(),
            first.place()
        ));
    }
    out
}

fn describe_cookie(cookie: &CookieOutline) -> String {
    let expires = match cookie.expires.map(time) {
        Some(Some(time)) => format!("until {}", time.strftime("%Y-%m-%d")),
        _ => "for the session".to_owned(),
    };
    let secret = if cookie.is_secret { "" } else { ", not secret" };
    format!("{} for {}{}, {expires}{secret}", cookie.name, cookie.domain, cookie.path)
}

fn names(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MOST_NAMES).map(String::as_str).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

fn time(seconds: i64) -> Option<Timestamp> {
    Timestamp::from_second(seconds).ok()
}
