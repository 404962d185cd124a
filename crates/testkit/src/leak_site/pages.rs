//! Pages that show every canary in every place of a page, one page for each encoding.

use super::canary::{Canary, Kind};
use super::forms::{FORMS, Form};
use super::{HOST, Site};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// A place of a page that holds values, as a template: `TEXT` stands for the values as text in an element or in a
/// double-quoted attribute, `HTML` for the values as the body of an element, `SCRIPT` for the values as a string in a
/// script.
pub struct Placement {
    pub name: &'static str,
    template: &'static str,
    /// Whether a reply to an agent includes this place when nothing is redacted.
    pub in_replies: bool,
}

const fn visible(name: &'static str, template: &'static str) -> Placement {
    Placement { name, template, in_replies: true }
}

/// A place that no tool reads. The site tries all the same.
const fn hidden(name: &'static str, template: &'static str) -> Placement {
    Placement { name, template, in_replies: false }
}

pub static PLACEMENTS: [Placement; 44] = [
    visible("text", "<p>HTML</p>"),
    visible("heading", "<h2>HTML</h2>"),
    visible("list", "<ul><li>HTML</ul>"),
    visible("table", "<table><caption>Table</caption><tr><th>Key<td>HTML</table>"),
    visible("caption", "<table><caption>TEXT</caption><tr><td>x</table>"),
    visible("linktext", "<a href=/>HTML</a>"),
    visible("linkaddress", "<a href=\"/x?key=TEXT#TEXT\">a link</a>"),
    visible("button", "<button type=button>TEXT</button>"),
    visible("field", "<input aria-label=field value=\"TEXT\">"),
    visible("area", "<textarea aria-label=area>TEXT</textarea>"),
    visible("option", "<select aria-label=choice><option selected>TEXT<option value=\"TEXT\">other</select>"),
    visible("placeholder", "<input placeholder=\"TEXT\">"),
    hidden(
        "datalist",
        "<input list=known aria-label=known><datalist id=known><option value=\"TEXT\"></datalist>",
    ),
    visible("alt", "<img alt=\"TEXT\" src=/none.png width=300 height=20>"),
    visible("titleattribute", "<button type=button title=\"TEXT\"></button>"),
    visible("arialabel", "<button type=button aria-label=\"TEXT\">x</button>"),
    visible("ariadescription", "<button type=button aria-description=\"TEXT\">described</button>"),
    visible("labelledby", "<b id=lb hidden>TEXT</b><button type=button aria-labelledby=lb>x</button>"),
    visible(
        "valuetext",
        "<div role=slider tabindex=0 aria-label=amount aria-valuenow=1 aria-valuetext=\"TEXT\"></div>",
    ),
    visible("label", "<label>HTML<input type=checkbox></label>"),
    visible("legend", "<fieldset><legend>TEXT</legend><input aria-label=in></fieldset>"),
    visible("summary", "<details open><summary>TEXT</summary>HTML</details>"),
    visible("preformatted", "<pre><code>HTML</code></pre>"),
    visible("editable", "<div contenteditable role=textbox aria-label=editor>HTML</div>"),
    visible("live", "<div role=status aria-live=polite>HTML</div>"),
    visible("svgtext", "<svg width=300 height=30><text y=20>TEXT</text></svg>"),
    visible("svgtitle", "<svg role=img width=30 height=30><title>TEXT</title></svg>"),
    visible(
        "canvas",
        "<canvas id=c width=400 height=30>TEXT</canvas><script>c.getContext('2d').fillText(SCRIPT, 5, 20)</script>",
    ),
    visible(
        "before",
        "<style>.b::before { content: attr(data-v) }</style><button type=button class=b data-v=\"TEXT\"></button>",
    ),
    visible("frame", "<iframe title=frame src=/frame/FORM></iframe>"),
    visible("framedocument", "<iframe title=srcdoc srcdoc=\"TEXT\"></iframe>"),
    visible("dataframe", "<iframe title=data src=\"data:text/html;charset=utf-8,TEXT\"></iframe>"),
    visible("sandbox", "<iframe title=sandbox sandbox src=/frame/FORM?place=sandbox></iframe>"),
    visible("frametitle", "<iframe title=\"TEXT\" src=/frame/FORM?place=none></iframe>"),
    visible(
        "openroot",
        "<i-o></i-o><script>document.querySelector('i-o').attachShadow({mode:'open'}).textContent = SCRIPT</script>",
    ),
    visible(
        "closedroot",
        "<i-c></i-c><script>document.querySelector('i-c').attachShadow({mode:'closed'}).textContent = SCRIPT</script>",
    ),
    visible("written", "<script>document.write('<p>' + SCRIPT.replace(/</g, '&lt;') + '</p>')</script>"),
    hidden("hiddenfield", "<input type=hidden value=\"TEXT\">"),
    hidden("passwordfield", "<input type=password aria-label=password value=\"TEXT\">"),
    hidden("template", "<template>TEXT</template>"),
    hidden("dataattribute", "<p data-key=\"TEXT\">data</p>"),
    hidden("meta", "<meta name=description content=\"TEXT\">"),
    hidden("scriptdata", "<script type=application/json>SCRIPT</script>"),
    hidden("windowname", "<script>window.name = SCRIPT; history.replaceState(SCRIPT, '')</script>"),
];

fn numbered(number: &str) -> Option<(usize, &'static Form)> {
    let number: usize = number.parse().ok()?;
    Some((number, FORMS.get(number)?))
}

fn missing() -> Response {
    (StatusCode::NOT_FOUND, "there is no such form").into_response()
}

/// Encodes any text as one path segment.
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
    html! {
        (DOCTYPE)
        meta charset="utf-8";
        title { (title) }
        h1 { "Echo" }
        @for (index, placement) in PLACEMENTS.iter().enumerate() {
            (site.fill(number + index, number, form, placement))
        }
    }
    .into_response()
}

impl Site {
    /// Renders a placement. The templates are constants, and the values are escaped for their place.
    fn fill(&self, turn: usize, number: usize, form: &Form, placement: &Placement) -> Markup {
        let text = self.text_for(placement.name, turn, form);
        let script = serde_json::Value::String(text.clone()).to_string().replace("</", "<\\/");
        let filled = placement
            .template
            .replace("FORM", &number.to_string())
            .replace("SCRIPT", &script)
            .replace("TEXT", &html! { (text) }.into_string())
            .replace("HTML", &self.html_for(placement.name, turn, form).into_string());
        PreEscaped(filled)
    }
}

/// The document of a frame; `?place=` names the placement it belongs to.
pub(super) async fn frame(
    State(site): State<Site>,
    Path(form): Path<String>,
    request: axum::extract::Request,
) -> Response {
    let Some((number, form)) = numbered(&form) else { return missing() };
    let place = match request.uri().query() {
        Some("place=sandbox") => "sandbox",
        Some("place=none") => return html! { (DOCTYPE) }.into_response(),
        _ => "frame",
    };
    let shown = site.html_for(place, number, form);
    html! { (DOCTYPE) meta charset="utf-8"; title { "frame" } p { (shown) } }.into_response()
}

/// Ways to draw a value, in a colour that nothing else has.
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

/// A value as it is drawn. One of a credential has a separator between its characters: as it is, the egress proxy would
/// replace it, and the colour would be that of a placeholder.
fn drawn(canary: &Canary) -> String {
    match canary.kind {
        Kind::StoredByPage | Kind::TokenInReply => canary.value.clone(),
        _ => canary.value.chars().map(|c| format!("{c}-")).collect(),
    }
}

/// Every value drawn in every way, and nothing else of that colour.
pub(super) async fn pictures(State(site): State<Site>) -> Markup {
    const STYLE: &str = "* { color: #f0f; font: bold 18px serif } ::placeholder { color: #f0f; opacity: 1 }
.g::before { content: attr(data-x) }";
    const SCRIPT: &str = "
for (const e of document.querySelectorAll('i-c')) e.attachShadow({mode: 'closed'}).innerHTML = '<p>' + e.dataset.x + '</p>';
for (const e of document.querySelectorAll('canvas')) {
  const x = e.getContext('2d'); x.fillStyle = '#f0f'; x.font = 'bold 18px serif'; x.fillText(e.dataset.x, 5, 25);
}
";
    // One value of each way is visible without scrolling; the whole page has them all.
    let ways = DRAWN.iter().zip(site.canaries.all().iter().cycle());
    html! {
        (DOCTYPE)
        meta charset="utf-8";
        title { "Pictures" }
        style { (PreEscaped(STYLE)) }
        @for (way, canary) in ways { (PreEscaped(way.replace("TEXT", &drawn(canary)))) }
        @for canary in site.canaries.all() { p { (drawn(canary)) } }
        script { (PreEscaped(SCRIPT)) }
    }
}
