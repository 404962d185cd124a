//! The ways in which the echoing site shows a value.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

/// What stands between the site and the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The proxy: the browser sees placeholders, so every reply is an ordinary one.
    AtTheProxy,
    /// The redactor: the site takes the value apart, the browser has the parts, and the reply is withheld.
    AtTheReply,
}
use Stopped::{AtTheProxy, AtTheReply};

pub struct Way {
    pub name: &'static str,
    pub stopped: Stopped,
    /// One value as HTML. Script pages get all values as text in `VALUES`.
    show: Show,
}

enum Show {
    Html(fn(&str) -> String),
    /// A script with `values`, a list, and `show(text)`.
    Script(&'static str),
    /// The whole document.
    Document(fn(&[String]) -> String),
}
use Show::{Document, Html, Script};

const fn swapped(name: &'static str, show: Show) -> Way {
    Way { name, stopped: AtTheProxy, show }
}

const fn taken_apart(name: &'static str, show: fn(&str) -> String) -> Way {
    Way { name, stopped: AtTheReply, show: Html(show) }
}

/// Values stand in magenta, and nothing else does.
pub fn page(way: &Way, values: &[String]) -> String {
    let body = match way.show {
        Document(document) => return document(values),
        Html(show) => values.iter().map(|value| show(value)).collect::<Vec<_>>().join("\n<hr>\n"),
        Script(script) => {
            let list = serde_json::to_string(values).unwrap();
            format!(
                "<pre id=out class=v></pre><script>const values = {list};\
                 const show = text => out.append(text + '\\n'); {script}</script>"
            )
        }
    };
    format!(
        "<!doctype html><meta charset=utf-8><title>Way</title><style>.v, .v * {{ color: #f0f; background: #fff; font: 20px monospace }}</style>\
         <h1>{}</h1><button id=press>Press</button><input id=note aria-label=Note><select id=list aria-label=List>\
         <option>One<option>Two</select>\n<div>{body}</div>",
        way.name
    )
}

fn each(value: &str, show: impl Fn(char) -> String) -> String {
    value.chars().map(show).collect()
}

/// The value in pieces of so many characters, each between two texts.
fn pieces(value: &str, size: usize, before: &str, after: &str) -> String {
    let chars: Vec<char> = value.chars().collect();
    chars.chunks(size).map(|piece| format!("{before}{}{after}", piece.iter().collect::<String>())).collect()
}

fn between(value: &str, separator: &str) -> String {
    let parts: Vec<String> = value.chars().map(String::from).collect();
    format!("<p class=v>{}", parts.join(separator))
}

fn percent(value: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    each(value, |c| if kept(c) { c.to_string() } else { format!("%{:02X}", c as u32) })
}

fn codes(value: &str, write: fn(u32) -> String) -> String {
    value.chars().map(|c| write(c as u32)).collect::<Vec<_>>().join(",")
}

/// Pieces of three characters, each with its number before it.
fn numbered(value: &str, before: &str, after: &str) -> String {
    let chars: Vec<char> = value.chars().collect();
    let pieces = chars.chunks(3).enumerate();
    pieces
        .map(|(at, piece)| {
            let before = before.replace("{}", &(at + 1).to_string());
            format!("{before}{}{after}", piece.iter().collect::<String>())
        })
        .collect()
}

fn cells(value: &str, size: usize) -> String {
    format!("<table class=v><tr>{}</table>", pieces(value, size, "<td>", "</td>"))
}

pub static WAYS: &[Way] = &[
    swapped("text", Html(|v| format!("<p class=v>{v}"))),
    swapped("heading", Html(|v| format!("<h2 class=v>Yours is {v} and no other</h2>"))),
    swapped("title", Document(|all| format!("<title>{}</title><p>see the title", all.join(" ")))),
    swapped("title attribute", Html(|v| format!("<p title='{v}' tabindex=0>hover"))),
    swapped("aria-label", Html(|v| format!("<button aria-label='{v}'>x</button>"))),
    swapped("image alt", Html(|v| format!("<img src=data:, alt='{v}'>"))),
    swapped("placeholder attribute", Html(|v| format!("<input placeholder='{v}'>"))),
    swapped("input value", Html(|v| format!("<input class=v value='{v}' aria-label=Field>"))),
    swapped("textarea", Html(|v| format!("<textarea class=v aria-label=Area>{v}</textarea>"))),
    swapped("option", Html(|v| format!("<select class=v aria-label=Choice><option>{v}</select>"))),
    swapped("preformatted", Html(|v| format!("<pre class=v>{{\"value\": \"{v}\"}}</pre>"))),
    swapped("link address", Html(|v| format!("<a href='/landed?x={v}#{v}'>a link</a>"))),
    swapped("data attribute", Html(|v| format!("<p data-x='{v}'>nothing"))),
    swapped("comment", Html(|v| format!("<!-- {v} --><p>nothing"))),
    swapped("table cell", Html(|v| format!("<table class=v><tr><td>{v}<td>x</table>"))),
    swapped("list item", Html(|v| format!("<ul class=v><li>{v}<li>x</ul>"))),
    swapped("svg text", Html(|v| format!("<svg width=600 height=40><text y=20>{v}</text></svg>"))),
    swapped(
        "generated content",
        Html(|v| format!("<style>#x{v}::after {{ content: '{v}' }}</style><p id=x{v}>")),
    ),
    swapped("percent", Html(|v| format!("<p class=v>{}", each(v, |c| format!("%{:02X}", c as u32))))),
    swapped("hex", Html(|v| format!("<p class=v>{}", hex::encode(v)))),
    swapped("upper hex", Html(|v| format!("<p class=v>{}", hex::encode_upper(v)))),
    swapped("base64", Html(|v| format!("<p class=v>{}", STANDARD.encode(v)))),
    swapped("base64, shifted by one", Html(|v| format!("<p class=v>{}", STANDARD.encode(format!("x{v}yz"))))),
    swapped(
        "base64, shifted by two",
        Html(|v| format!("<p class=v>{}", URL_SAFE_NO_PAD.encode(format!("ab{v}")))),
    ),
    swapped("decimal entities", Html(|v| format!("<p class=v>{}", each(v, |c| format!("&#{};", c as u32))))),
    swapped("percent twice", Html(|v| format!("<p class=v>{}", percent(v).replace('%', "%25")))),
    swapped("reversed", Html(|v| format!("<p class=v>{}", v.chars().rev().collect::<String>()))),
    swapped("character codes", Html(|v| format!("<p class=v>[{}]", codes(v, |c| c.to_string())))),
    swapped("hex codes", Html(|v| format!("<p class=v>{}", codes(v, |c| format!("0x{c:02x}"))))),
    swapped("hex entities", Html(|v| format!("<p class=v>{}", each(v, |c| format!("&#x{:x};", c as u32))))),
    swapped("iframe document", Html(|v| format!("<iframe srcdoc='<p>{v}'></iframe>"))),
    swapped("json document", Document(|all| serde_json::json!({ "values": all }).to_string())),
    swapped("plain document", Document(|all| all.join("\n"))),
    swapped(
        "svg document",
        Document(|all| {
            let text = all.join(" ");
            format!("<svg xmlns='http://www.w3.org/2000/svg'><text y='20'>{text}</text></svg>")
        }),
    ),
    swapped("error page", Html(|v| format!("<p class=v>Internal error near {v}"))),
    swapped("not found", Html(|v| format!("<p class=v>There is no {v}"))),
    swapped("redirect", Document(|all| all.join(" "))),
    swapped("script string", Script("values.forEach(show)")),
    swapped("document.write", Script("document.write(values.map(v => '<p>' + v).join(''))")),
    swapped(
        "shadow root",
        Script(
            "for (const v of values) { const host = document.body.appendChild(document.createElement('div')); host.attachShadow({mode: 'closed'}).innerHTML = '<p>' + v }",
        ),
    ),
    swapped(
        "canvas",
        Script(
            "const c = document.body.appendChild(document.createElement('canvas')).getContext('2d'); values.forEach((v, i) => c.fillText(v, 0, 20 + 20 * i))",
        ),
    ),
    swapped(
        "console",
        Script(
            "values.forEach(v => { console.log(v); console.error(v) }); throw new Error(values.join(' '))",
        ),
    ),
    swapped("alert", Script("press.onclick = () => alert(values.join(' '))")),
    swapped("confirm", Script("press.onclick = () => show(confirm(values.join(' ')))")),
    swapped("prompt", Script("press.onclick = () => show(prompt(values.join(' '), values[0]))")),
    swapped(
        "beforehand in the page's own storage",
        Script("localStorage.copy = values.join(' '); show(localStorage.copy + document.cookie)"),
    ),
    swapped(
        "blob frame",
        Script(
            "const f = document.body.appendChild(document.createElement('iframe')); f.src = URL.createObjectURL(new Blob(['<p>' + values.join('<p>')], {type: 'text/html'}))",
        ),
    ),
    swapped(
        "data frame",
        Script(
            "const f = document.body.appendChild(document.createElement('iframe')); f.src = 'data:text/html,<p>' + values.join('<p>')",
        ),
    ),
    swapped("new window", Script("press.onclick = () => open('/landed?w=' + values.join('.'))")),
    swapped(
        "pushed address",
        Script("history.pushState(null, '', '?at=' + values.join('.') + '#' + values[0])"),
    ),
    swapped("reply header", Script("fetch('/part/headers').then(r => show(r.headers.get('x-echo')))")),
    swapped("gzip body", Script("fetch('/part/gzip').then(r => r.text()).then(show)")),
    swapped("brotli body", Script("fetch('/part/brotli').then(r => r.text()).then(show)")),
    swapped("body in small pieces", Script("fetch('/part/pieces').then(r => r.text()).then(show)")),
    swapped("json reply", Script("fetch('/part/json').then(r => r.json()).then(j => show(j.values))")),
    swapped(
        "external script",
        Script("document.head.appendChild(document.createElement('script')).src = '/part/script'"),
    ),
    swapped(
        "server-sent events",
        Script("const s = new EventSource('/part/events'); s.onmessage = e => { show(e.data); s.close() }"),
    ),
    swapped(
        "websocket",
        Script(
            "const s = new WebSocket('wss://' + location.host + '/part/socket'); s.onmessage = async e => show(e.data.text ? await e.data.text() : e.data)",
        ),
    ),
    swapped("cookie", Script("fetch('/part/set cookie').then(() => show(document.cookie))")),
    swapped("selection", Script("show(values[0]); getSelection().selectAllChildren(out)")),
    swapped(
        "script escapes",
        Html(|v| {
            format!(
                "<p class=v><script>document.currentScript.parentNode.append('{}')</script>",
                each(v, |c| format!("\\u{:04x}", c as u32))
            )
        }),
    ),
    swapped("utf-16 document", Document(|all| format!("<title>Wide</title><p>{}", all.join("<p>")))),
    swapped(
        "utf-16 document, big end first",
        Document(|all| format!("<title>Wide</title><p>{}", all.join("<p>"))),
    ),
    swapped("zstd body", Script("fetch('/part/zstd').then(r => r.text()).then(show)")),
    swapped("deflate body", Script("fetch('/part/deflate').then(r => r.text()).then(show)")),
    swapped("raw deflate body", Script("fetch('/part/raw deflate').then(r => r.text()).then(show)")),
    swapped(
        "body in ranges",
        Script(
            "const part = async range => { const r = await fetch('/part/range', {headers: {Range: range}}); return [r.status, await r.text()] }; Promise.all(['bytes=0-19', 'bytes=20-'].map(part)).then(all => show(all[0][0] === 206 ? all[0][1] + all[1][1] : all[0][1]))",
        ),
    ),
    taken_apart("rows with numbers", |v| {
        format!("<table class=v>{}</table>", numbered(v, "<tr><td>{}</td><td>", "</td></tr>"))
    }),
    taken_apart("lines with numbers", |v| format!("<div class=v>{}</div>", numbered(v, "<p>{}. ", "</p>"))),
    taken_apart("field with dots", |v| {
        let dotted = between(v, ".");
        format!(
            "<input class=v size=90 aria-label=Dotted value='{}'>",
            dotted.trim_start_matches("<p class=v>")
        )
    }),
    taken_apart("cells of one", |v| cells(v, 1)),
    taken_apart("cells of three", |v| cells(v, 3)),
    taken_apart("cells of eleven", |v| cells(v, 11)),
    taken_apart("items of three", |v| format!("<ul class=v>{}</ul>", pieces(v, 3, "<li>", ""))),
    taken_apart("lines of three", |v| format!("<p class=v>{}", pieces(v, 3, "", "<br>"))),
    taken_apart("paragraphs of eleven", |v| pieces(v, 11, "<p class=v>", "</p>")),
    taken_apart("spans of one", |v| format!("<p class=v>{}", pieces(v, 1, "<span>", "</span>"))),
    taken_apart("inputs of three", |v| pieces(v, 3, "<input class=v size=3 aria-label=Piece value='", "'>")),
    taken_apart("options of eleven", |v| {
        format!("<select multiple class=v aria-label=Pieces>{}</select>", pieces(v, 11, "<option>", ""))
    }),
    swapped("spaces", Html(|v| between(v, " "))),
    taken_apart("dots", |v| between(v, ".")),
    taken_apart("dashes", |v| between(v, "-")),
    taken_apart("middle dots", |v| between(v, "·")),
    swapped("zero-width spaces", Html(|v| between(v, "\u{200b}"))),
    taken_apart("soft hyphens", |v| between(v, "&shy;")),
    swapped("upper case", Html(|v| format!("<p class=v>{}", v.to_uppercase()))),
    taken_apart("button name with dots", |v| {
        format!("<button class=v>{}</button>", between(v, ".").trim_start_matches("<p class=v>"))
    }),
    taken_apart("frames of eleven", |v| {
        pieces(v, 11, "<iframe height=50 srcdoc='<p style=color:#f0f>", "'></iframe>")
    }),
];
