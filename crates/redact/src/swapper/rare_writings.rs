//! Writings that few programs make of a value: as a careless page may show one.

use super::*;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

type Writing = (&'static str, fn(&str) -> Vec<u8>);

fn each(text: &str, write: fn(u32) -> String) -> Vec<u8> {
    text.chars().map(|c| write(u32::from(c))).collect::<String>().into()
}

fn between(text: &str, separator: &str) -> Vec<u8> {
    text.chars().map(String::from).collect::<Vec<_>>().join(separator).into()
}

fn numbers(text: &str, separator: &str, write: fn(u8) -> String) -> Vec<u8> {
    text.bytes().map(write).collect::<Vec<_>>().join(separator).into()
}

fn utf16(text: &str, encode: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(encode).collect()
}

const WRITINGS: &[Writing] = &[
    ("capitals", |text| text.to_ascii_uppercase().into()),
    ("small letters", |text| text.to_ascii_lowercase().into()),
    ("style sheet", |text| each(text, |c| format!("\\{c:x} "))),
    ("style sheet, six digits", |text| each(text, |c| format!("\\{c:06x}"))),
    ("style sheet, six digits, upper", |text| each(text, |c| format!("\\{c:06X}"))),
    ("octal", |text| each(text, |c| format!("\\{c:03o}"))),
    ("code point in braces", |text| each(text, |c| format!("\\u{{{c:x}}}"))),
    ("old escape", |text| each(text, |c| format!("%u{c:04X}"))),
    ("old escape, lower", |text| each(text, |c| format!("%u{c:04x}"))),
    ("JSON in JSON", |text| each(text, |c| format!("\\\\u{c:04x}"))),
    ("reference without semicolon", |text| each(text, |c| format!("&#x{c:x}"))),
    ("reference with zeros", |text| each(text, |c| format!("&#x{c:04x};"))),
    ("decimal reference with zeros", |text| each(text, |c| format!("&#{c:03};"))),
    ("quoted-printable", |text| text.replace('=', "=3D").into()),
    ("hex of UTF-16, little end", |text| hex::encode(utf16(text, u16::to_le_bytes)).into()),
    ("hex of UTF-16, big end", |text| hex::encode(utf16(text, u16::to_be_bytes)).into()),
    ("base64 of UTF-16, little end", |text| BASE64_STANDARD.encode(utf16(text, u16::to_le_bytes)).into()),
    ("base64 of UTF-16, big end", |text| BASE64_STANDARD.encode(utf16(text, u16::to_be_bytes)).into()),
    ("hex, list", |text| numbers(text, ",", |c| format!("{c:02x}"))),
    ("hex, lines", |text| numbers(text, "\n", |c| format!("{c:02X}"))),
    ("list of characters", |text| between(text, "\",\"")),
    ("list of characters, spaced", |text| between(text, "\", \"")),
    ("list of characters, Python", |text| between(text, "', '")),
    ("wide", |text| between(text, " ")),
    ("lines", |text| between(text, "\n")),
    ("zero-width spaces", |text| between(text, "\u{200b}")),
];

#[test]
fn a_short_value_is_found_in_writings_that_few_programs_make() {
    for text in ["tok_5f8GhJ2kLm9PqRs4TvWx==/+", "0123456789abcdef0123456789abcdef", "kJ8s-Q2mZ71xv9TfLw0bYd"]
    {
        let secret = Secret::new(text.to_owned());
        let placeholder = Placeholder::for_secret(&secret);
        let sealing = Swapper::sealing([(&secret, &placeholder)]);
        for (name, write) in WRITINGS {
            let around = |text: &str| [b"(", &write(text)[..], b")"].concat();
            let swapped = sealing.swap(&around(text)).into_owned();
            let expected = around(placeholder.as_str());
            assert_eq!(
                String::from_utf8_lossy(&swapped),
                String::from_utf8_lossy(&expected),
                "{name} of {text}"
            );
        }
        for separator in ["\n", ",\n  ", ",\n    "] {
            let open = numbers(text, separator, |c| c.to_string());
            assert!(sealing.finds_any(&open), "{separator:?}");
            assert_eq!(sealing.swap(&open).len(), open.len());
        }
    }
}
