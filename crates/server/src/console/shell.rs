//! What is around every page, and the pages on the way in.

use axum::response::Html;
use engine::error::{Fault, in_quotes};
use engine::html::Text;

/// Four stakes of a palisade, drawn by the style sheet's colour.
const SIGN: &str = r#"<svg class="sign" viewBox="0 0 28 24" aria-hidden="true"><path d="M2 22V6l3-4 3 4v16zM8.600 22V6l3-4 3 4v16zM15.200 22V6l3-4 3 4v16zM21.800 22V6l2.100-4 2.100 4v16z"/></svg>"#;

/// A whole page. `bar` stands at the right of the top line; both are HTML.
pub fn shell(title: &str, bar: &str, main: &str) -> Html<String> {
    Html(format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="/console/console.css">
<script src="/console/console.js" defer></script>
</head>
<body>
<header class="top"><a class="home" href="/console">{SIGN}Stockade</a>{bar}</header>
{main}
</body>
</html>
"#
    ))
}

pub fn login(next: &str, fault: Option<&Fault>) -> Html<String> {
    let wrong = fault.map(wrong).unwrap_or_default();
    let next = Text(next);
    shell(
        "Log in · Stockade",
        "",
        &format!(
            r#"<main class="narrow">
<h1>Log in</h1>
<p class="soft">Here a person decides what an agent may do.</p>
{wrong}<form class="sheet" method="post" action="/operator/login">
<input type="hidden" name="next" value="{next}">
<label>Operator<input name="operator" value="operator" autocomplete="username" autocapitalize="none" spellcheck="false" required></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required autofocus></label>
<button class="main">Log in</button>
</form>
<p class="soft">No password yet? In a terminal, <code>stockade operator password</code> sets one, and
<code>stockade operator link</code> shows a link that lets you in once.</p>
</main>"#
        ),
    )
}

pub fn link(fault: Option<&Fault>) -> Html<String> {
    let wrong = fault.map(wrong).unwrap_or_default();
    shell(
        "Log in by link · Stockade",
        "",
        &format!(
            r#"<main class="narrow">
<h1>Log in by link</h1>
<p class="soft">This link works once. Afterwards, set a password: <code>stockade operator password</code>.</p>
{wrong}<form class="sheet" method="post" action="/operator/link" data-link>
<input type="hidden" name="link" value="">
<button class="main" autofocus>Log in</button>
</form>
<noscript><p class="wrong">The link needs scripts of this page. Log in with a password instead.</p></noscript>
</main>"#
        ),
    )
}

/// Sends the browser to the same page once more, as our own page this time.
pub fn again(path: &str) -> Html<String> {
    let path = Text(path);
    Html(format!(
        r#"<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={path}"><title>Stockade</title><a href="{path}">Go on to the console</a>"#
    ))
}

pub fn refused(fault: &Fault) -> Html<String> {
    let main = format!(
        r#"<main class="narrow"><h1>Not so</h1>
{}<p><a href="/console">Back to the console</a></p></main>"#,
        wrong(fault)
    );
    shell("Not so · Stockade", "", &main)
}

/// A fault, as people read it. What a page said in it is in quotes.
pub fn wrong(fault: &Fault) -> String {
    let (message, hint) = (in_quotes(&fault.message), in_quotes(&fault.hint));
    format!(
        "<p class=\"wrong\" role=\"alert\"><b>{}</b> <span class=\"soft\">{}</span></p>\n",
        Text(&sentence(&message)),
        Text(&hint)
    )
}

/// Faults are written to stand behind a code; alone they are a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    let rest = letters.as_str();
    let end = if rest.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{rest}{end}")
}
