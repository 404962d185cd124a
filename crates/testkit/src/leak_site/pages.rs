//! Pages that show every canary in every place of a page, one page for each form of writing.

use super::forms::{FORMS, Form};
use super::{HOST, Site};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{Html, IntoResponse, Response};
use engine::html::Text;

/// A place of a page, and how it is made: `TEXT` is the values as text in an attribute or a field, `HTML` the values as
/// the body of an element, `SCRIPT` the values in a script's string.
pub struct Place {
    pub name: &'static str,
    html: &'static str,
    /// Whether anything of it is ever told to an agent, redactor or not.
    pub told: bool,
}

const fn told(name: &'static str, html: &'static str) -> Place {
    Place { name, html, told: true }
}

/// What no tool tells: the site tries all the same.
const fn untold(name: &'static str, html: &'static str) -> Place {
    Place { name, html, told: false }
}

pub static PLACES: [Place; 44] = [
    told("text", "<p>HTML</p>"),
    told("heading", "<h2>HTML</h2>"),
    told("list", "<ul><li>HTML</ul>"),
    told("table", "<table><caption>Table</caption><tr><th>Key<td>HTML</table>"),
    told("caption", "<table><caption>TEXT</caption><tr><td>x</table>"),
    told("linktext", "<a href=/>HTML</a>"),
    told("linkaddress", "<a href='/x?key=TEXT#TEXT'>a link</a>"),
    told("button", "<button type=button>TEXT</button>"),
    told("field", "<input aria-label=field value='TEXT'>"),
    told("area", "<textarea aria-label=area>TEXT</textarea>"),
    told("option", "<select aria-label=choice><option selected>TEXT<option value='TEXT'>other</select>"),
    told("placeholder", "<input placeholder='TEXT'>"),
    untold(
        "datalist",
        "<input list=known aria-label=known><datalist id=known><option value='TEXT'></datalist>",
    ),
    told("alt", "<img alt='TEXT' src=/none.png width=300 height=20>"),
    told("titleattribute", "<button type=button title='TEXT'></button>"),
    told("arialabel", "<button type=button aria-label='TEXT'>x</button>"),
    told("ariadescription", "<button type=button aria-description='TEXT'>described</button>"),
    told("labelledby", "<b id=lb hidden>TEXT</b><button type=button aria-labelledby=lb>x</button>"),
    told(
        "valuetext",
        "<div role=slider tabindex=0 aria-label=amount aria-valuenow=1 aria-valuetext='TEXT'></div>",
    ),
    told("label", "<label>HTML<input type=checkbox></label>"),
    told("legend", "<fieldset><legend>TEXT</legend><input aria-label=in></fieldset>"),
    told("summary", "<details open><summary>TEXT</summary>HTML</details>"),
    told("preformatted", "<pre><code>HTML</code></pre>"),
    told("editable", "<div contenteditable role=textbox aria-label=editor>HTML</div>"),
    told("live", "<div role=status aria-live=polite>HTML</div>"),
    told("svgtext", "<svg width=300 height=30><text y=20>TEXT</text></svg>"),
    told("svgtitle", "<svg role=img width=30 height=30><title>TEXT</title></svg>"),
    told(
        "canvas",
        "<canvas id=c width=400 height=30>TEXT</canvas><script>c.getContext('2d').fillText(SCRIPT, 5, 20)</script>",
    ),
    told(
        "before",
        "<style>.b::before { content: attr(data-v) }</style><button type=button class=b data-v='TEXT'></button>",
    ),
    told("frame", "<iframe title=frame src=/frame/FORM></iframe>"),
    told("framedocument", "<iframe title=srcdoc srcdoc='TEXT'></iframe>"),
    told("dataframe", "<iframe title=data src='data:text/html;charset=utf-8,TEXT'></iframe>"),
    told("sandbox", "<iframe title=sandbox sandbox src=/frame/FORM?place=sandbox></iframe>"),
    told("frametitle", "<iframe title='TEXT' src=/frame/FORM?place=none></iframe>"),
    told(
        "openroot",
        "<i-o></i-o><script>document.querySelector('i-o').attachShadow({mode:'open'}).textContent = SCRIPT</script>",
    ),
    told(
        "closedroot",
        "<i-c></i-c><script>document.querySelector('i-c').attachShadow({mode:'closed'}).textContent = SCRIPT</script>",
    ),
    told("written", "<script>document.write('<p>' + SCRIPT.replace(/</g, '&lt;') + '</p>')</script>"),
    untold("hiddenfield", "<input type=hidden value='TEXT'>"),
    untold("passwordfield", "<input type=password aria-label=password value='TEXT'>"),
    untold("template", "<template>TEXT</template>"),
    untold("dataattribute", "<p data-key='TEXT'>data</p>"),
    untold("meta", "<meta name=description content='TEXT'>"),
    untold("scriptdata", "<script type=application/json>SCRIPT</script>"),
    untold("windowname", "<script>window.name = SCRIPT; history.replaceState(SCRIPT, '')</script>"),
];

fn numbered(number: &str) -> Option<(usize, &'static Form)> {
    let number: usize = number.parse().ok()?;
    Some((number, FORMS.get(number)?))
}

fn missing() -> Response {
    (StatusCode::NOT_FOUND, "there is no such form").into_response()
}

/// An address may hold anything that is written like this.
pub(super) fn segment(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

fn moved(to: &str) -> Response {
    (StatusCode::FOUND, [(LOCATION, to.to_owned())]).into_response()
}

/// Two redirects, with the values in their addresses.
pub(super) async fn to(State(site): State<Site>, Path(form): Path<String>) -> Response {
    let Some((number, form)) = numbered(&form) else { return missing() };
    let values = segment(&site.text_for("redirect", number, form));
    moved(&format!("http://{HOST}/hop/{number}?v={values}"))
}

pub(super) async fn hop(State(site): State<Site>, Path(form): Path<String>) -> Response {
    let Some((number, form)) = numbered(&form) else { return missing() };
    let values = segment(&site.text_for("address", number, form));
    let hash = segment(&site.text_for("hash", number, form));
    moved(&format!("http://{HOST}/form/{number}?v={values}#{hash}"))
}

pub(super) async fn form(State(site): State<Site>, Path(form): Path<String>) -> Response {
    let Some((number, form)) = numbered(&form) else { return missing() };
    let title = site.text_for("title", number, form);
    let places: String =
        PLACES.iter().enumerate().map(|(at, place)| site.place(number + at, number, form, place)).collect();
    Html(format!("<!doctype html><meta charset=utf-8><title>{}</title><h1>Echo</h1>{places}", Text(&title)))
        .into_response()
}

impl Site {
    fn place(&self, turn: usize, number: usize, form: &Form, place: &Place) -> String {
        let text = self.text_for(place.name, turn, form);
        let script = serde_json::Value::String(text.clone()).to_string().replace("</", "<\\/");
        place
            .html
            .replace("FORM", &number.to_string())
            .replace("SCRIPT", &script)
            .replace("TEXT", &Text(&text).to_string())
            .replace("HTML", &self.html_for(place.name, turn, form))
    }
}

/// What is shown in frames; `?place=` says whose it is.
pub(super) async fn frame(
    State(site): State<Site>,
    Path(form): Path<String>,
    request: axum::extract::Request,
) -> Response {
    let Some((number, form)) = numbered(&form) else { return missing() };
    let place = match request.uri().query() {
        Some("place=sandbox") => "sandbox",
        Some("place=none") => return Html("<!doctype html>").into_response(),
        _ => "frame",
    };
    let shown = site.html_for(place, number, form);
    Html(format!("<!doctype html><meta charset=utf-8><title>frame</title><p>{shown}</p>")).into_response()
}

/// Ways to draw a value, in a colour that is nowhere else.
const DRAWN: &[&str] = &[
    "<p>TEXT</p>",
    "<input value='TEXT' size=60>",
    "<textarea cols=60>TEXT</textarea>",
    "<button>TEXT</button>",
    "<input placeholder='TEXT' size=60>",
    "<select><option>TEXT</option></select>",
    "<svg width=900 height=40><text x=5 y=30 fill=#f0f>TEXT</text></svg>",
    "<p class=g data-x='TEXT'></p>",
    "<p style='text-transform:uppercase'>TEXT</p>",
    "<p style='width:9em;overflow-wrap:anywhere'>TEXT</p>",
    "<div contenteditable>TEXT</div>",
    "<iframe srcdoc=\"<p style='color:#f0f;font:bold 18px serif'>TEXT</p>\" width=900 height=70></iframe>",
    "<i-c data-x='TEXT'></i-c>",
    "<canvas width=900 height=40 data-x='TEXT'></canvas>",
];

/// Every value in every one of them, and nothing else of that colour.
pub(super) async fn pictures(State(site): State<Site>) -> Html<String> {
    let mut body = String::new();
    // One of each way is seen without scrolling; the whole page has them all.
    for (way, canary) in DRAWN.iter().zip(site.canaries.all().iter().cycle()) {
        body.push_str(&way.replace("TEXT", &canary.value));
    }
    for canary in site.canaries.all() {
        body.push_str(&format!("<p>{}</p>", canary.value));
    }
    Html(format!(
        "<!doctype html><meta charset=utf-8><title>Pictures</title>
<style>* {{ color: #f0f; font: bold 18px serif }} ::placeholder {{ color: #f0f; opacity: 1 }}
.g::before {{ content: attr(data-x) }}</style>{body}
<script>
for (const e of document.querySelectorAll('i-c')) e.attachShadow({{mode: 'closed'}}).innerHTML = '<p>' + e.dataset.x + '</p>';
for (const e of document.querySelectorAll('canvas')) {{
  const x = e.getContext('2d'); x.fillStyle = '#f0f'; x.font = 'bold 18px serif'; x.fillText(e.dataset.x, 5, 25);
}}
</script>"
    ))
}
