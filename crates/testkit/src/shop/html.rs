//! The layout of every page of the shop.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::fmt;

/// A price in cents, as a person reads it.
pub(super) struct Price(pub(super) u32);

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "€{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

/// A whole page.
pub(super) fn page(title: &str, main: &Markup) -> Markup {
    search_page(title, "", main)
}

/// A page whose search field holds the query.
pub(super) fn search_page(title: &str, query: &str, main: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · Juniper & Holm" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href="/shop.css";
                script src="/shop.js" defer {}
            }
            body {
                header.top {
                    a.brand href="/" { (PreEscaped(include_str!("pictures/brand.svg"))) span { "Juniper & Holm" } }
                    " "
                    form.search role="search" action="/search" {
                        input type="search" name="q" aria-label="Search the shop" placeholder="Search the shop" value=(query);
                        button { "Search" }
                    }
                    " "
                    nav aria-label="Main" {
                        a href="/" { "Shop" }
                        a href="/stock" { "Stock" }
                        a href="/dialogs" { "Dialogs" }
                        a href="/account" { "Account" }
                    }
                }
                main { (main) }
                footer {
                    p {
                        "Juniper & Holm is the demonstration shop of Stockade. Nothing here is real, and nothing is sent."
                    }
                }
            }
        }
    }
}

/// What is wrong with a form, above the form.
pub(super) fn form_error(message: Option<&str>) -> Markup {
    html! { @if let Some(message) = message { p.fault role="alert" { (message) } } }
}
