//! Ways of making a secret field and of making it readable again, and a page with all of them.

/// The earliest moment at which a "show password" button can be pressed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    /// In the same task that made the field.
    AtOnce,
    /// Before the page was first read.
    Soon,
    /// Only after it was read: nothing reveals it before.
    OnceRead,
}
use Seen::{AtOnce, OnceRead, Soon};

/// A way of making a secret field `f`, named by its id, and of making it readable.
pub const WAYS: &[(&str, &str, &str, Seen)] = &[
    ("property", "<input type=password value=VALUE", "f.type = 'text'", AtOnce),
    ("attribute", "<input type=password value=VALUE", "f.setAttribute('type', 'text')", AtOnce),
    ("removed", "<input type=PassWord value=VALUE", "f.removeAttribute('type')", AtOnce),
    (
        "twice",
        "<input type=password value=VALUE",
        "f.type = 'text'; f.type = 'password'; f.type = 'tel'",
        AtOnce,
    ),
    ("spelled", "<input type=password spellcheck=true value=VALUE", "f.type = 'text'", AtOnce),
    ("unspelled", "<input type=password spellcheck=false value=VALUE", "f.type = 'text'", AtOnce),
    ("readonly", "<input type=password readonly value=VALUE", "f.type = 'text'", AtOnce),
    (
        "replaced",
        "<input type=password value=VALUE",
        "const t = document.createElement('input'); t.value = f.value; t.id = f.id; f.replaceWith(t)",
        AtOnce,
    ),
    (
        "rewritten",
        "<input type=password value=VALUE",
        "f.outerHTML = `<textarea id=rewritten>${f.value}</textarea>`",
        AtOnce,
    ),
    (
        "twin",
        "<input type=password value=VALUE",
        "const t = document.createElement('input'); f.before(t); t.value = f.value; f.hidden = true",
        AtOnce,
    ),
    ("current", "<input autocomplete=current-password value=VALUE", "f.autocomplete = ''", AtOnce),
    ("new", "<input autocomplete=NEW-PASSWORD value=VALUE", "f.autocomplete = 'off'", AtOnce),
    ("once", "<input autocomplete='one-time-code' value=VALUE", "f.removeAttribute('autocomplete')", AtOnce),
    (
        "number",
        "<input autocomplete='section-a billing cc-number' value=VALUE",
        "f.autocomplete = 'on'",
        AtOnce,
    ),
    ("csc", "<textarea autocomplete='shipping CC-CSC'>VALUE</textarea", "f.autocomplete = 'on'", AtOnce),
    ("named_otp", "<input name=loginOTP value=VALUE", "", AtOnce),
    ("hidden", "<input type=hidden role=textbox aria-label=Hidden value=VALUE", "", AtOnce),
    ("masked", "<input class=mask value=VALUE", "f.className = ''", Soon),
    ("area", "<textarea class=mask>VALUE</textarea", "f.className = ''", Soon),
    ("editor", "<div contenteditable class=mask>VALUE</div", "f.className = ''", Soon),
    ("dots", "<input class=dots value=VALUE", "f.className = ''", OnceRead),
    ("plain", "<p class=mask>VALUE</p", "f.className = ''", OnceRead),
    (
        "heading",
        "<h2 class=mask><i>VALUE</i></h2",
        "f.className = ''; f.innerHTML = `<b>${f.textContent}</b>`",
        OnceRead,
    ),
    (
        "inherited",
        "<div class=mask><div><p>VALUE</p><input value=VALUE></div></div",
        "f.className = ''",
        OnceRead,
    ),
    ("host", "<x-mask role=group>VALUE</x-mask", "", AtOnce),
    ("select", "<select class=mask><option selected>VALUE</select", "f.className = ''", OnceRead),
];

const STYLE: &str = "<style>@font-face { font-family: text-security-disc; src: local(Arial) }
  .mask { -webkit-text-security: disc } .dots { font-family: text-security-disc }</style>";

/// All ways on one page, each field labelled, referenced, and inside of an element that is named by its content.
pub fn page(value: &str, place: &str, when: &str, ways: &[&(&str, &str, &str, Seen)]) -> String {
    let fields: String = ways
        .iter()
        .enumerate()
        .map(|(at, (id, html, ..))| {
            let owner = if at % 2 == 0 { "" } else { "<span role=heading aria-owns=ID>owner</span>" };
            let owner = owner.replace("ID", id);
            let html = html.replace("VALUE", &format!("{id}-{value}"));
            let (open, rest) = html.split_once(' ').unwrap();
            format!(
                "<div role=button tabindex=0>wrap {open} id={id} {rest}></div><label for={id}>Label {id}</label>
                 <button aria-labelledby={id}>by {id}</button>{owner}"
            )
        })
        .collect();
    let toggles: String = ways
        .iter()
        .map(|(id, _, toggle, _)| format!("{{ const f = root.getElementById('{id}'); {toggle} }}\n"))
        .collect();
    let made = "const made = document.createElement('input'); made.type = 'password';
        made.type = 'text'; made.setAttribute('value', VALUE); made.value = VALUE; root.append(made);"
        .replace("VALUE", &format!("'made-{value}'"));
    let fields = fields.replace('\n', " ");
    format!(
        "<!doctype html><title>Secrets</title>{STYLE}<div id=place></div><button onclick='show()'>Show</button>
         <script>{place}
           const held = document.createElement('div'); held.innerHTML = `{STYLE}{fields}`; root.append(...held.children);
           {made}
           const mask = root.querySelector('x-mask')?.attachShadow({{mode: 'closed'}});
           if (mask) mask.innerHTML = `<p style='-webkit-text-security:disc'><slot></slot></p>`;
           const show = () => {{ {toggles} }}; {when}</script>"
    )
}

pub const PLACES: [(&str, &str); 3] = [
    ("document", "const root = document.createDocumentFragment(); root.append = (...all) => place.append(...all);
       root.querySelector = (all) => document.querySelector(all); root.getElementById = (id) => document.getElementById(id);"),
    ("open", "const root = place.attachShadow({mode: 'open'});"),
    ("closed", "const root = place.attachShadow({mode: 'closed'});"),
];
