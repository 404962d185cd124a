//! The layout of every console page, and the pages for logging in.

use engine::error::{Fault, quote_page_text};
use maud::{DOCTYPE, Markup, html};

/// A whole page. `bar` stands at the right of the top line.
pub fn layout(title: &str, bar: &Markup, main: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="stylesheet" href="/console/console.css";
                script src="/console/console.js" defer {}
            }
            body {
                header.top { a.home href="/console" { (logo()) "Stockade" } (bar) }
                (main)
            }
        }
    }
}

/// Four stakes of a palisade, in the style sheet's colour.
fn logo() -> Markup {
    const STAKES: &str =
        "M2 22V6l3-4 3 4v16zM8.600 22V6l3-4 3 4v16zM15.200 22V6l3-4 3 4v16zM21.800 22V6l2.100-4 2.100 4v16z";
    html! { svg.sign viewBox="0 0 28 24" aria-hidden="true" { path d=(STAKES) {} } }
}

pub fn login_page(next: &str, fault: Option<&Fault>) -> Markup {
    let main = html! {
        main.narrow {
            h1 { "Log in" }
            p.soft { "Approve or deny what agents ask for." }
            @if let Some(fault) = fault { (fault_message(fault)) }
            form.sheet method="post" action="/operator/login" {
                input type="hidden" name="next" value=(next);
                label {
                    "Operator"
                    input name="operator" value="operator" autocomplete="username" autocapitalize="none" spellcheck="false" required;
                }
                label {
                    "Password"
                    input name="password" type="password" autocomplete="current-password" required autofocus;
                }
                button.main { "Log in" }
            }
            p.soft {
                "No password yet? In a terminal, " code { "stockade operator password" } " sets one, and "
                code { "stockade operator link" } " shows a link that lets you in once."
            }
        }
    };
    layout("Log in · Stockade", &html! {}, &main)
}

pub fn link_login_page(fault: Option<&Fault>) -> Markup {
    let main = html! {
        main.narrow {
            h1 { "Log in by link" }
            p.soft {
                "This link works once. On the next page you set a password, to log in with later."
            }
            @if let Some(fault) = fault { (fault_message(fault)) }
            form.sheet method="post" action="/operator/link" data-link {
                input type="hidden" name="link" value="";
                button.main autofocus { "Log in" }
            }
            noscript {
                p.wrong { "This link needs JavaScript. Turn it on for this page, or log in with a password." }
            }
        }
    };
    layout("Log in by link · Stockade", &html! {}, &main)
}

/// Reloads the same address from our own page, so that the browser sends the same-site cookie.
pub fn same_site_reload(path: &str) -> Markup {
    html! {
        (DOCTYPE)
        meta charset="utf-8";
        meta http-equiv="refresh" content={ "0;url=" (path) };
        title { "Stockade" }
        a href=(path) { "Continue to the console" }
    }
}

pub fn fault_page(fault: &Fault) -> Markup {
    let main = html! {
        main.narrow {
            h1 { "That did not work" }
            (fault_message(fault))
            p { a href="/console" { "Back to the console" } }
        }
    };
    layout("Error · Stockade", &html! {}, &main)
}

/// A fault for people. Page text in it is put in quotes.
fn fault_message(fault: &Fault) -> Markup {
    html! {
        p.wrong role="alert" {
            b { (sentence(&quote_page_text(&fault.message))) } " " span.soft { (with_commands(&quote_page_text(&fault.hint))) }
        }
    }
}

/// A hint, with what is between backticks shown as code.
fn with_commands(hint: &str) -> Markup {
    html! {
        @for (index, part) in hint.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Makes a sentence of a fault's message, which is written to stand behind a code.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    let rest = letters.as_str();
    let end = if rest.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{rest}{end}")
}
