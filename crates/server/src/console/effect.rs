//! A held request: what will be sent if the operator approves.

use super::page_text::{quote_block, quote_inline, quote_value};
use engine::approvals::{EffectCard, EffectFieldCard};
use maud::{Markup, html};
use url::Url;

/// The request in the order in which a person decides: where it goes, what it names, what it carries.
pub fn held_request(effect: &EffectCard) -> Markup {
    let address = Url::parse(effect.address.as_str());
    html! {
        @match &address {
            Ok(url) => {
                p.request { b.method { (effect.method) } " to " b { (destination(url)) } }
                (quote_block("Path, from the request", path(url)))
            }
            Err(_) => {
                p.request { b.method { (effect.method) } }
                (quote_block("Address, from the request", effect.address.as_str()))
            }
        }
        @if !effect.operations.is_empty() {
            p.operations {
                @for (index, operation) in effect.operations.iter().enumerate() {
                    @if index > 0 { ", " }
                    (operation.name) " " (quote_inline(operation.value.as_str()))
                }
            }
        }
        @if !effect.fields.is_empty() {
            table.fields {
                caption { "What it sends" }
                @for field in &effect.fields { (row(field)) }
            }
        }
        p.soft { (size(effect)) }
    }
}

/// One line for the history: method, host and path.
pub fn request_line(effect: &EffectCard) -> Markup {
    html! {
        (effect.method) " "
        @match Url::parse(effect.address.as_str()) {
            Ok(url) => { (destination(&url)) (quote_inline(path(&url))) }
            Err(_) => { (quote_inline(effect.address.as_str())) }
        }
    }
}

/// Host and port in ASCII; the scheme only where the network can read along.
fn destination(url: &Url) -> String {
    let scheme = if matches!(url.scheme(), "http" | "ws") { "http://" } else { "" };
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{scheme}{host}:{port}"),
        None => format!("{scheme}{host}"),
    }
}

/// Path and query, as they are in the request.
fn path(url: &Url) -> &str {
    &url[url::Position::BeforePath..url::Position::AfterQuery]
}

fn row(field: &EffectFieldCard) -> Markup {
    let name = field.name.as_str();
    html! {
        tr {
            th scope="row" { (quote_inline(if name.is_empty() { "(no name)" } else { name })) }
            td { (quote_value(field.value.as_str(), field.length, field.is_cut)) }
        }
    }
}

/// How much is sent and how it was read, so that nothing seems complete that is not.
fn size(effect: &EffectCard) -> String {
    let bytes = format_bytes(effect.body_bytes);
    let read = match effect.body_bytes {
        0 => "No body.".to_owned(),
        _ if effect.fields.is_empty() => {
            format!("Body: {}, {bytes}. Its content cannot be shown.", effect.body)
        }
        _ => format!("Body: {}, {bytes}.", effect.body),
    };
    match effect.omitted_fields {
        0 => read,
        1 => format!("{read} 1 more field is not listed."),
        more => format!("{read} {more} more fields are not listed."),
    }
}

/// `1,204 bytes`.
pub fn format_bytes(bytes: u64) -> String {
    let digits = bytes.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let unit = if bytes == 1 { "byte" } else { "bytes" };
    format!("{grouped} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_grouped_by_thousands() {
        for (bytes, expected) in [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1204, "1,204 bytes")] {
            assert_eq!(format_bytes(bytes), expected);
        }
        assert_eq!(format_bytes(12_345_678), "12,345,678 bytes");
    }
}
