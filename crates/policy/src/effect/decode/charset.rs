//! Bytes to text: UTF-8, UTF-16 and Latin-1.

/// At most one character in this many may be unreadable in what still counts as text.
const READABLE: usize = 20;

/// The text, or `None` for bytes that are none. `content_type` is in lower case.
pub(super) fn decode(content_type: &str, bytes: &[u8]) -> Option<String> {
    let charset = content_type.split_once("charset=").map_or("", |(_, rest)| rest);
    let charset = charset.trim_start_matches('"').split(['"', ';', ' ']).next().unwrap_or_default();
    match (bytes, charset) {
        ([0xff, 0xfe, rest @ ..], _) => utf16(rest, u16::from_le_bytes),
        ([0xfe, 0xff, rest @ ..], _) => utf16(rest, u16::from_be_bytes),
        (_, "utf-16" | "utf-16le") => utf16(bytes, u16::from_le_bytes),
        (_, "utf-16be") => utf16(bytes, u16::from_be_bytes),
        (_, "iso-8859-1" | "latin1" | "windows-1252" | "us-ascii") => {
            readable(bytes.iter().map(|byte| char::from(*byte)).collect())
        }
        _ => readable(String::from_utf8_lossy(bytes).into_owned()),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    readable(char::decode_utf16(units).map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

fn readable(text: String) -> Option<String> {
    let (mut bad, mut all) = (0, 0);
    for letter in text.chars() {
        all += 1;
        let is_odd = letter.is_control() && !matches!(letter, '\n' | '\r' | '\t' | '\0' | '\u{1e}');
        bad += usize::from(is_odd || letter == char::REPLACEMENT_CHARACTER);
    }
    let nuls = text.bytes().filter(|byte| *byte == 0).count();
    (bad * READABLE <= all && nuls <= 2).then_some(text)
}
