//! The frame that every page of the shop shares.

use axum::response::Html;
pub(super) use engine::html::Text;
use std::fmt;

/// A price in cents, as a person reads it.
pub(super) struct Price(pub(super) u32);

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "€{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

/// A whole page. `title` is text; `main` is HTML that is safe already.
pub(super) fn page(title: &str, main: &str) -> Html<String> {
    search_page(title, "", main)
}

/// A page whose search field holds what was searched for.
pub(super) fn search_page(title: &str, query: &str, main: &str) -> Html<String> {
    let (title, query, brand) = (Text(title), Text(query), include_str!("pictures/brand.svg"));
    Html(format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Juniper &amp; Holm</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/shop.css">
<script src="/shop.js" defer></script>
</head>
<body>
<header class="top">
<a class="brand" href="/">{brand}<span>Juniper &amp; Holm</span></a>
<form class="search" role="search" action="/search"><input type="search" name="q" aria-label="Search the shop" placeholder="Search the shop" value="{query}"><button>Search</button></form>
<nav aria-label="Main"><a href="/">Shop</a><a href="/stock">Stock</a><a href="/dialogs">Dialogs</a><a href="/account">Account</a></nav>
</header>
<main>
{main}
</main>
<footer><p>Juniper &amp; Holm is the demonstration shop of Stockade. Nothing here is real, and nothing is sent.</p></footer>
</body>
</html>
"#
    ))
}
