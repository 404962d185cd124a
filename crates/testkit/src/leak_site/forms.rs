//! The encodings and splittings in which the echo site returns a value.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use maud::{Markup, PreEscaped, html};

/// One encoding of a value.
pub struct Form {
    pub name: &'static str,
    /// Of a sealed value, the browser gets the placeholder in this encoding.
    pub is_replaced_by_the_proxy: bool,
    encode: Encode,
}

enum Encode {
    /// As text, for any place.
    Text(fn(&str) -> String),
    /// As HTML, for the body of an element.
    Markup(fn(&str) -> String),
}

/// Of a value that the site shows as a whole, as many characters in a row count as a leak.
pub const PART: usize = 20;

pub static FORMS: [Form; 29] = [
    replaced("as it is", str::to_owned),
    replaced("percent, upper case", |v| each(v, |b| format!("%{b:02X}"))),
    replaced("percent, lower case", |v| each(v, |b| format!("%{b:02x}"))),
    replaced("percent twice", |v| each(v, |b| format!("%25{b:02X}"))),
    replaced("base64", |v| STANDARD.encode(v)),
    replaced("base64 for URLs", |v| URL_SAFE_NO_PAD.encode(v)),
    replaced("base64, one byte in", |v| STANDARD.encode(format!("x{v}"))),
    replaced("base64, two bytes in", |v| STANDARD.encode(format!("xy{v}"))),
    text("base64 in lines", |v| in_parts(&STANDARD.encode(v), 24, "\n")),
    replaced("base64 of a pair", |v| STANDARD.encode(format!("{}:{v}", super::canary::USER))),
    replaced("hex", |v| hex::encode(v)),
    replaced("hex, upper case", |v| hex::encode_upper(v)),
    replaced("hex with colons", |v| each(v, |b| format!("{b:02x}:"))),
    replaced("JSON escapes", |v| each(v, |b| format!("\\u{b:04x}"))),
    replaced("JavaScript escapes", |v| each(v, |b| format!("\\x{b:02x}"))),
    replaced("HTML, decimal", |v| each(v, |b| format!("&#{b};"))),
    replaced("HTML, hex", |v| each(v, |b| format!("&#x{b:x};"))),
    text("HTML, named between", |v| each(v, |b| format!("{}&zwnj;", char::from(b)))),
    text("UTF-16 in base64", |v| STANDARD.encode(wide(v))),
    text("UTF-16 in hex", |v| hex::encode(wide(v))),
    text("zero-width characters between", |v| each(v, |b| format!("{}\u{200b}", char::from(b)))),
    text("blanks between", |v| each(v, |b| format!("{} ", char::from(b)))),
    text("soft hyphens between", |v| each(v, |b| format!("{}\u{ad}", char::from(b)))),
    text("upper case", str::to_ascii_uppercase),
    text("bars between", |v| each(v, |b| format!("{}|", char::from(b)))),
    markup("split over spans", |v| {
        in_parts(v, 5, "\u{1}").split('\u{1}').map(|part| format!("<span>{part}</span>")).collect()
    }),
    markup("split over two lines", |v| {
        let (first, second) = v.split_at(v.len() / 2);
        format!("<div>{first}</div><div>{second}</div>")
    }),
    markup("split over cells", |v| {
        let cells = in_parts(v, 9, "</td><td>");
        format!("<table><tr><td>{cells}</td></tr></table>")
    }),
    markup("comments between", |v| in_parts(v, 7, "<!-- -->")),
];

const fn replaced(name: &'static str, encode: fn(&str) -> String) -> Form {
    Form { name, is_replaced_by_the_proxy: true, encode: Encode::Text(encode) }
}

const fn text(name: &'static str, encode: fn(&str) -> String) -> Form {
    Form { name, is_replaced_by_the_proxy: false, encode: Encode::Text(encode) }
}

const fn markup(name: &'static str, encode: fn(&str) -> String) -> Form {
    Form { name, is_replaced_by_the_proxy: false, encode: Encode::Markup(encode) }
}

impl Form {
    /// For an attribute, an address or a script; the plain value where the encoding is HTML only.
    pub fn text(&self, value: &str) -> String {
        match self.encode {
            Encode::Text(encode) => encode(value),
            Encode::Markup(_) => value.to_owned(),
        }
    }

    /// For the body of a page.
    pub fn html(&self, value: &str) -> Markup {
        match self.encode {
            Encode::Text(encode) => html! { (encode(value)) },
            Encode::Markup(encode) => PreEscaped(encode(value)),
        }
    }
}

fn each(value: &str, encode: fn(u8) -> String) -> String {
    value.bytes().map(encode).collect()
}

fn wide(value: &str) -> Vec<u8> {
    value.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Canaries are ASCII, so any byte offset is a character boundary.
fn in_parts(value: &str, length: usize, between: &str) -> String {
    let parts: Vec<String> =
        value.as_bytes().chunks(length).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
    parts.join(between)
}
