//! The written list of encodings and splittings in which the echo site gives a value back.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use engine::html::Text;

/// One way of writing a value.
pub struct Form {
    pub name: &'static str,
    write: Write,
}

enum Write {
    /// As text, which can stand anywhere.
    Text(fn(&str) -> String),
    /// As HTML, where a page can hold that.
    Markup(fn(&str) -> String),
}

/// The characters of one part, where a value is taken to pieces: what counts as a find.
pub const PART: usize = 20;

pub static FORMS: [Form; 28] = [
    text("as it is", str::to_owned),
    text("percent, upper case", |v| each(v, |b| format!("%{b:02X}"))),
    text("percent, lower case", |v| each(v, |b| format!("%{b:02x}"))),
    text("percent twice", |v| each(v, |b| format!("%25{b:02X}"))),
    text("base64", |v| STANDARD.encode(v)),
    text("base64 for URLs", |v| URL_SAFE_NO_PAD.encode(v)),
    text("base64, one byte in", |v| STANDARD.encode(format!("x{v}"))),
    text("base64, two bytes in", |v| STANDARD.encode(format!("xy{v}"))),
    text("base64 in lines", |v| in_parts(&STANDARD.encode(v), 24, "\n")),
    text("base64 of a pair", |v| STANDARD.encode(format!("{}:{v}", super::canary::USER))),
    text("hex", |v| each(v, |b| format!("{b:02x}"))),
    text("hex, upper case", |v| each(v, |b| format!("{b:02X}"))),
    text("hex with colons", |v| each(v, |b| format!("{b:02x}:"))),
    text("JSON escapes", |v| each(v, |b| format!("\\u{b:04x}"))),
    text("JavaScript escapes", |v| each(v, |b| format!("\\x{b:02x}"))),
    text("HTML, decimal", |v| each(v, |b| format!("&#{b};"))),
    text("HTML, hex", |v| each(v, |b| format!("&#x{b:x};"))),
    text("HTML, named between", |v| each(v, |b| format!("{}&zwnj;", char::from(b)))),
    text("UTF-16 in base64", |v| STANDARD.encode(wide(v))),
    text("UTF-16 in hex", |v| wide(v).iter().map(|b| format!("{b:02x}")).collect()),
    text("zero-width characters between", |v| each(v, |b| format!("{}\u{200b}", char::from(b)))),
    text("blanks between", |v| each(v, |b| format!("{} ", char::from(b)))),
    text("soft hyphens between", |v| each(v, |b| format!("{}\u{ad}", char::from(b)))),
    text("upper case", str::to_ascii_uppercase),
    text("in parts of 20", |v| in_parts(v, PART, " and then ")),
    markup("split over spans", |v| {
        in_parts(v, 5, "\u{1}").split('\u{1}').map(|part| format!("<span>{part}</span>")).collect()
    }),
    markup("split over two lines", |v| {
        let (first, second) = v.split_at(v.len() / 2);
        format!("<div>{first}</div><div>{second}</div>")
    }),
    markup("comments between", |v| in_parts(v, 7, "<!-- -->")),
];

const fn text(name: &'static str, write: fn(&str) -> String) -> Form {
    Form { name, write: Write::Text(write) }
}

const fn markup(name: &'static str, write: fn(&str) -> String) -> Form {
    Form { name, write: Write::Markup(write) }
}

impl Form {
    /// For an attribute, an address or a script; the value itself where only HTML can be written this way.
    pub fn text(&self, value: &str) -> String {
        match self.write {
            Write::Text(write) => write(value),
            Write::Markup(_) => value.to_owned(),
        }
    }

    /// For the body of a page.
    pub fn html(&self, value: &str) -> String {
        match self.write {
            Write::Text(write) => Text(&write(value)).to_string(),
            Write::Markup(write) => write(value),
        }
    }
}

fn each(value: &str, write: fn(u8) -> String) -> String {
    value.bytes().map(write).collect()
}

fn wide(value: &str) -> Vec<u8> {
    value.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Canaries are ASCII, so any place is between two characters.
fn in_parts(value: &str, length: usize, between: &str) -> String {
    let parts: Vec<String> =
        value.as_bytes().chunks(length).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
    parts.join(between)
}
