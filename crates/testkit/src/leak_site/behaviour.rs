//! Behaviour of the site beyond showing the canaries: dialogs, errors, downloads, new tabs, lines in the console.

use super::canary::Kind;
use super::forms::{FORMS, Form};
use super::mark;
use super::pages::segment;
use super::{HOST, Site};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

/// A button that does one thing. `SCRIPT` stands for the values as a string.
pub struct Behaviour {
    pub name: &'static str,
    script: &'static str,
    pub follow_up: FollowUp,
}

/// What the visitor has to do after the click.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FollowUp {
    Nothing,
    /// Answer the dialog that is open.
    Dialog,
}

const fn does(name: &'static str, script: &'static str) -> Behaviour {
    Behaviour { name, script, follow_up: FollowUp::Nothing }
}

const fn asks(name: &'static str, script: &'static str) -> Behaviour {
    Behaviour { name, script, follow_up: FollowUp::Dialog }
}

pub static BEHAVIOURS: [Behaviour; 19] = [
    does("alert", "alert(SCRIPT)"),
    asks("confirm", "confirm(SCRIPT)"),
    asks("prompt", "prompt(SCRIPT, SCRIPT)"),
    does("leaving", "onbeforeunload = () => SCRIPT; location.href = '/'"),
    does("console", "console.log(SCRIPT); console.error(SCRIPT); console.table([SCRIPT])"),
    does("exception", "setTimeout(() => { throw new Error(SCRIPT) })"),
    does("rejection", "Promise.reject(new Error(SCRIPT))"),
    does("newhash", "location.hash = SCRIPT"),
    does("pushed", "history.pushState({}, '', '/form/x?v=' + encodeURIComponent(SCRIPT))"),
    does("newtitle", "document.title = SCRIPT"),
    does("newtext", "document.getElementById('live').textContent = SCRIPT"),
    does("newfield", "document.getElementById('field').value = SCRIPT"),
    does("popup", "open('/popup?v=' + encodeURIComponent(SCRIPT), '_blank')"),
    does("download", "location.href = '/download?v=' + encodeURIComponent(SCRIPT)"),
    does(
        "blob",
        "Object.assign(document.createElement('a'), {href: URL.createObjectURL(new Blob([SCRIPT])), download: SCRIPT}).click()",
    ),
    does("dataaddress", "location.href = 'data:text/html,' + encodeURIComponent(SCRIPT)"),
    does("strangescheme", "location.href = 'canary:' + encodeURIComponent(SCRIPT)"),
    does("otherhost", "location.href = HOSTS[0]"),
    does("otherhosthex", "location.href = HOSTS[1]"),
];

pub(super) fn routes(router: Router<Site>) -> Router<Site> {
    router
        .route("/do", get(page))
        .route("/do/{form}", get(page_of_form))
        .route("/tools", get(tools))
        .route("/list", get(list))
        .route("/long", get(long))
        .route("/popup", get(popup))
        .route("/token", get(token))
        .route("/download", get(download))
        .route("/pdf", get(pdf))
        .route("/status/{code}", get(status))
        .route("/realm", get(realm))
        .route("/refresh", get(refresh))
        .route("/cookiename", get(cookie_name))
        .route("/closed", get(closed))
        .route("/headers", get(headers))
}

async fn page(State(site): State<Site>) -> Markup {
    site.behaviours(0, &FORMS[0])
}

async fn page_of_form(State(site): State<Site>, Path(form): Path<usize>) -> Markup {
    site.behaviours(form, FORMS.get(form).unwrap_or(&FORMS[0]))
}

/// A document with this title.
fn document(title: &str, body: &Markup) -> Markup {
    html! { (DOCTYPE) meta charset="utf-8"; title { (title) } (body) }
}

impl Site {
    fn behaviours(&self, number: usize, form: &Form) -> Markup {
        let script_of = |behaviour: &Behaviour| {
            let string = Value::String(self.text_for(behaviour.name, number, form)).to_string();
            behaviour.script.replace("SCRIPT", &string)
        };
        let value = self.value(Kind::Header);
        // A label of a host name has 63 characters at most.
        let (first, second) = value.split_at(value.len() / 2);
        let hex = format!("{}.{}", hex::encode(first), hex::encode(second));
        let body = html! {
            h1 { "Do" }
            @for one in &BEHAVIOURS {
                button type="button" id=(one.name) onclick=(script_of(one)) { (one.name) } " "
            }
            div id="live" role="status" { "nothing yet" }
            input id="field" aria-label="field";
            script { (PreEscaped(format!("const HOSTS = ['http://{value}.test/', 'http://{hex}.test/']"))) }
        };
        document("Do", &body)
    }
}

/// One element for every tool that acts on one: its name holds no canary, what it shows does.
async fn tools(State(site): State<Site>) -> Markup {
    let line = |place: &str| site.line(place);
    let script = |place: &str| Value::String(site.line(place)).to_string();
    let later = format!(
        "setTimeout(() => document.getElementById('later').textContent = 'late ' + {}, 600)",
        script("later")
    );
    let body = html! {
        h1 { "Tools" }
        button type="button" id="hover" onmouseover={ "this.textContent=" (script("hover")) } { "hover" }
        " "
        form method="post" action="/account/delete" style="display:inline" {
            button id="delete" aria-label={ "Delete account " (line("asked")) } {
                "Delete account " (line("asked"))
            }
        }
        " "
        input id="type" aria-label={ "Name " (line("typedlabel")) }
            oninput={ "this.nextElementSibling.textContent=" (script("typed")) };
        p role="status" {}
        select id="select" aria-label={ "Size " (line("select")) } {
            option { "none" }
            option { (line("select")) }
        }
        " "
        label { input type="checkbox" id="check"; "Agree " (line("check")) }
        " "
        input id="press" aria-label="press" onkeydown={ "document.title=" (script("press")) };
        div id="drag" draggable="true" role="button" tabindex="0" ondragend={ "this.textContent=" (script("drag")) } {
            "drag me"
        }
        div id="drop" role="listitem" ondragover="event.preventDefault()" ondrop="event.preventDefault()" {
            "drop " (line("drop"))
        }
        button type="button" id="covered" { "covered" }
        div style="position:relative;top:-3em;height:5em;background:#eee" id="above" { (line("covering")) }
        button type="button" id="twin" { (line("twin")) }
        button type="button" class="twin" { (line("twin")) }
        p id="later" {}
        script { (PreEscaped(later)) }
        p style="margin-top:2000px" id="far" { "far " (line("far")) }
    };
    document("Tools", &body)
}

/// A list with an option for each value.
async fn list(State(site): State<Site>) -> Markup {
    let body = html! {
        select id="list" aria-label="list" {
            option { "none" }
            @for canary in site.canaries.all() { option { (canary.value) } }
        }
    };
    document("List", &body)
}

/// More than a reply holds, with a value in each row.
async fn long(State(site): State<Site>) -> Markup {
    let body = html! {
        table {
            @for (row, canary) in (0..1500).zip(site.canaries.all().iter().cycle()) {
                tr {
                    td { "row " (row) }
                    td { (mark("row")) " " (canary.value) }
                    td { a href={ "/x?" (canary.value) } { "open" } }
                }
            }
        }
    };
    document("Long", &body)
}

async fn popup(State(site): State<Site>) -> Markup {
    document(&site.line("popuptitle"), &html! { p { "popup" } })
}

/// The token request of an application at its start.
async fn token(State(site): State<Site>) -> Response {
    let body = serde_json::json!({"access_token": site.value(Kind::TokenInReply), "token_type": "Bearer"});
    ([("content-type", "application/json")], body.to_string()).into_response()
}

fn attachment(name: &str) -> (HeaderName, HeaderValue) {
    let value = HeaderValue::from_str(&format!("attachment; filename=\"{name}.txt\""))
        .unwrap_or(HeaderValue::from_static("attachment"));
    (HeaderName::from_static("content-disposition"), value)
}

async fn download(State(site): State<Site>) -> Response {
    ([attachment(&segment(&site.line("filename")))], site.line("file")).into_response()
}

async fn pdf(State(site): State<Site>) -> Response {
    let drawn = format!("BT /F1 12 Tf 20 700 Td ({}) Tj ET", site.line("pdf"));
    let body = format!("%PDF-1.4\n1 0 obj<</Length {}>>stream\n{drawn}\nendstream endobj\n", drawn.len());
    ([("content-type", "application/pdf")], body).into_response()
}

/// An error page, with the values in its title, its text and a header.
async fn status(State(site): State<Site>, Path(code): Path<u16>) -> Response {
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST);
    let line = site.line("errorpage");
    let page = document(&line, &html! { h1 { "Error" } p { (line) } });
    (code, [("x-why", site.value(Kind::Header).to_owned())], page).into_response()
}

async fn realm(State(site): State<Site>) -> Response {
    let ask = format!("Basic realm=\"{}\"", site.line("realm"));
    (StatusCode::UNAUTHORIZED, [("www-authenticate", ask)], "who are you?").into_response()
}

async fn refresh(State(site): State<Site>) -> Markup {
    let to = format!("/popup?v={}", segment(&site.line("refresh")));
    html! {
        (DOCTYPE)
        title { "Wait" }
        meta http-equiv="refresh" content={ "0;url=" (to) };
        p { "wait" }
    }
}

async fn cookie_name(State(site): State<Site>) -> Response {
    let cookie = format!("{}=1; Path=/", site.value(Kind::Header));
    ([("set-cookie", cookie)], document("Cookie", &html! { p { "set" } })).into_response()
}

/// Redirects to a port where nothing listens, with the values in the address.
async fn closed(State(site): State<Site>) -> Response {
    let to = format!("http://{HOST}:1/{}", segment(&site.line("closed")));
    (StatusCode::FOUND, [("location", to)]).into_response()
}

/// The request headers as received.
async fn headers(State(site): State<Site>, request: axum::extract::Request) -> Markup {
    let lines: String = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    let body = html! {
        h1 { "Headers" }
        pre { (mark("sentheaders")) " " (lines) "\n" (site.line("sentheaders")) }
    };
    document("Headers", &body)
}
