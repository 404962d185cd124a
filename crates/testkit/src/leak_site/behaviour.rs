//! What the site does with the canaries beyond showing them: dialogs, errors, downloads, new tabs, lines in the console.

use super::canary::Kind;
use super::forms::{FORMS, Form};
use super::mark;
use super::pages::segment;
use super::{HOST, Site};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use engine::html::Text;
use serde_json::Value;

/// Buttons of one page, each of which does one thing: `SCRIPT` is the values in a string.
pub struct Behaviour {
    pub name: &'static str,
    script: &'static str,
    pub answer: Answer,
}

/// What has to be done about it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Nothing,
    /// A dialog waits.
    Dialog,
}

const fn does(name: &'static str, script: &'static str) -> Behaviour {
    Behaviour { name, script, answer: Answer::Nothing }
}

const fn asks(name: &'static str, script: &'static str) -> Behaviour {
    Behaviour { name, script, answer: Answer::Dialog }
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

async fn page(State(site): State<Site>) -> Html<String> {
    site.behaviours(0, &FORMS[0])
}

async fn page_of_form(State(site): State<Site>, Path(form): Path<usize>) -> Html<String> {
    site.behaviours(form, FORMS.get(form).unwrap_or(&FORMS[0]))
}

impl Site {
    fn behaviours(&self, number: usize, form: &Form) -> Html<String> {
        let buttons: String = BEHAVIOURS
            .iter()
            .map(|one| {
                let string = Value::String(self.text_for(one.name, number, form)).to_string();
                let script = one.script.replace("SCRIPT", &string);
                format!("<button type=button id={0} onclick=\"{1}\">{0}</button> ", one.name, Text(&script))
            })
            .collect();
        let value = self.value(Kind::Header);
        let hex = hex::encode(&value.as_bytes()[..value.len().min(30)]);
        Html(format!(
            "<!doctype html><meta charset=utf-8><title>Do</title><h1>Do</h1>{buttons}
<div id=live role=status>nothing yet</div><input id=field aria-label=field>
<script>const HOSTS = ['http://{value}.test/', 'http://{hex}.test/']</script>"
        ))
    }
}

/// One thing for every tool that acts on an element, named without a canary and showing one.
async fn tools(State(site): State<Site>) -> Html<String> {
    let shown = |place: &str| Text(&site.line(place)).to_string();
    let script = |place: &str| Text(&Value::String(site.line(place)).to_string()).to_string();
    Html(format!(
        "<!doctype html><meta charset=utf-8><title>Tools</title><h1>Tools</h1>
<button type=button id=hover onmouseover=\"this.textContent={hover}\">hover</button>
<button type=button id=delete aria-label='Delete account {delete}'>Delete account {delete}</button>
<input id=type aria-label='Name {typed}' oninput=\"this.nextElementSibling.textContent={typed_script}\"><p role=status></p>
<select id=select aria-label='Size {select}'><option>none<option>{select}</select>
<label><input type=checkbox id=check>Agree {check}</label>
<input id=press aria-label=press onkeydown=\"document.title={press}\">
<div id=drag draggable=true role=button tabindex=0 ondragend=\"this.textContent={drag}\">drag me</div>
<div id=drop role=listitem ondragover='event.preventDefault()' ondrop='event.preventDefault()'>drop {drop}</div>
<button type=button id=covered>covered</button>
<div style='position:relative;top:-3em;height:5em;background:#eee' id=above>{above}</div>
<button type=button id=twin>{twin}</button><button type=button class=twin>{twin}</button>
<p id=later></p><script>setTimeout(() => document.getElementById('later').textContent = 'late ' + {later}, 600)</script>
<p style='margin-top:2000px' id=far>far {far}</p>",
        hover = script("hover"),
        delete = shown("asked"),
        typed = shown("typedlabel"),
        typed_script = script("typed"),
        select = shown("select"),
        check = shown("check"),
        press = script("press"),
        drag = script("drag"),
        drop = shown("drop"),
        above = shown("covering"),
        twin = shown("twin"),
        later = Value::String(site.line("later")),
        far = shown("far"),
    ))
}

/// A list with an option for each value.
async fn list(State(site): State<Site>) -> Html<String> {
    let options: String = site.canaries.all().iter().map(|one| format!("<option>{}", one.value)).collect();
    Html(format!(
        "<!doctype html><meta charset=utf-8><title>List</title><select id=list aria-label=list><option>none{options}</select>"
    ))
}

/// More than a reply holds, with a value in each row.
async fn long(State(site): State<Site>) -> Html<String> {
    let canaries = site.canaries.all();
    let rows: String = (0..1500)
        .map(|row| {
            let value = &canaries[row % canaries.len()].value;
            format!("<tr><td>row {row}<td>{} {value}<td><a href='/x?{value}'>open</a>", mark("row"))
        })
        .collect();
    Html(format!("<!doctype html><meta charset=utf-8><title>Long</title><table>{rows}</table>"))
}

async fn popup(State(site): State<Site>) -> Html<String> {
    let title = site.line("popuptitle");
    Html(format!("<!doctype html><meta charset=utf-8><title>{}</title><p>popup</p>", Text(&title)))
}

/// What an application asks for at its start.
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
    let page =
        format!("<!doctype html><meta charset=utf-8><title>{0}</title><h1>Error</h1><p>{0}</p>", Text(&line));
    (code, [("x-why", site.value(Kind::Header).to_owned())], Html(page)).into_response()
}

async fn realm(State(site): State<Site>) -> Response {
    let ask = format!("Basic realm=\"{}\"", site.line("realm"));
    (StatusCode::UNAUTHORIZED, [("www-authenticate", ask)], "who are you?").into_response()
}

async fn refresh(State(site): State<Site>) -> Html<String> {
    let to = format!("/popup?v={}", segment(&site.line("refresh")));
    Html(format!(
        "<!doctype html><title>Wait</title><meta http-equiv=refresh content='0;url={to}'><p>wait</p>"
    ))
}

async fn cookie_name(State(site): State<Site>) -> Response {
    let cookie = format!("{}=1; Path=/", site.value(Kind::Header));
    ([("set-cookie", cookie)], Html("<!doctype html><title>Cookie</title><p>set</p>")).into_response()
}

/// Leads to an address where nothing listens, with the values in it.
async fn closed(State(site): State<Site>) -> Response {
    let to = format!("http://{HOST}:1/{}", segment(&site.line("closed")));
    (StatusCode::FOUND, [("location", to)]).into_response()
}

/// What it was sent, as it was sent, base64 and all.
async fn headers(State(site): State<Site>, request: axum::extract::Request) -> Html<String> {
    let lines: String = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    let mark = mark("sentheaders");
    Html(format!(
        "<!doctype html><meta charset=utf-8><title>Headers</title><h1>Headers</h1><pre>{mark} {}\n{}</pre>",
        Text(&lines),
        Text(&site.line("sentheaders")),
    ))
}
