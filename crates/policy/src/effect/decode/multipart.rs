//! Multipart bodies: forms with files, and batches of requests.

use super::sink::FieldSink;
use super::{charset, form, json};
use crate::effect::BodyKind;

const MOST_PARTS: usize = 2_000;

pub(super) fn decode(content_type: &str, body: &[u8], sink: &mut FieldSink) -> BodyKind {
    let Some(boundary) = boundary(content_type).or_else(|| first_line(body)) else {
        return BodyKind::Binary;
    };
    let mut parts = 0;
    for part in split(body, boundary.as_bytes()).take(MOST_PARTS) {
        parts += usize::from(read_part(part, sink));
    }
    json::name_operations(sink);
    if parts == 0 { BodyKind::Binary } else { BodyKind::Multipart }
}

fn boundary(content_type: &str) -> Option<String> {
    let at = content_type.to_ascii_lowercase().find("boundary=")?;
    let rest = content_type.get(at + "boundary=".len()..)?;
    let name = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => rest.split([';', ' ']).next()?,
    };
    (!name.is_empty()).then(|| format!("--{name}"))
}

fn first_line(body: &[u8]) -> Option<String> {
    let line = body.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.trim_end();
    (line.starts_with("--") && line.len() > 2 && line.len() < 200).then(|| line.to_owned())
}

/// The parts between boundaries, headers included.
fn split<'a>(body: &'a [u8], boundary: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut starts = find_all(body, boundary).peekable();
    std::iter::from_fn(move || {
        let start = starts.next()? + boundary.len();
        let end = starts.peek().copied().unwrap_or(body.len());
        Some(body.get(start..end).unwrap_or_default())
    })
}

fn find_all<'a>(body: &'a [u8], wanted: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < body.len() {
            let line = at;
            let next = body[at..].iter().position(|byte| *byte == b'\n').map(|end| at + end + 1);
            at = next.unwrap_or(body.len());
            if body[line..].starts_with(wanted) {
                return Some(line);
            }
        }
        None
    })
}

/// Reads one part; false for what is none, such as the end.
fn read_part(part: &[u8], sink: &mut FieldSink) -> bool {
    let Some((head, content)) = split_head(part) else { return false };
    let head = String::from_utf8_lossy(head);
    let content = content.strip_suffix(b"\n").map_or(content, |it| it.strip_suffix(b"\r").unwrap_or(it));
    let Some(name) = parameter(&head, "name") else {
        return read_request(content, sink);
    };
    if let Some(file) = parameter(&head, "filename") {
        sink.sized_field(&name, &format!("file {file}"), content.len());
        return true;
    }
    match charset::decode("", content) {
        Some(text) if text.starts_with(['{', '[']) && json::is_envelope(&name) => {
            if !json::flatten(&name, &text, sink) {
                sink.field(&name, &text);
            }
        }
        Some(text) => sink.field(&name, &text),
        None => sink.sized_field(&name, "binary", content.len()),
    }
    true
}

fn split_head(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let part = part.strip_prefix(b"\r\n").or_else(|| part.strip_prefix(b"\n"))?;
    for (separator, length) in [(&b"\r\n\r\n"[..], 4), (b"\n\n", 2)] {
        let head = &part[..part.len().min(4_096)];
        if let Some(at) = head.windows(length).position(|window| window == separator) {
            return Some((&part[..at], &part[at + length..]));
        }
    }
    None
}

/// A parameter of `Content-Disposition`.
fn parameter(head: &str, name: &str) -> Option<String> {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with("content-disposition"))?;
    let mut parts = line.split(';').map(str::trim);
    let value = parts.find_map(|part| {
        let (key, value) = part.split_once('=')?;
        let key = key.trim().trim_end_matches('*');
        key.eq_ignore_ascii_case(name).then_some(value.trim())
    })?;
    Some(value.trim_matches('"').to_owned())
}

/// A request in a batch: `DELETE Items(3) HTTP/1.1`. Nested batches have parts of their own.
fn read_request(content: &[u8], sink: &mut FieldSink) -> bool {
    let text = String::from_utf8_lossy(&content[..content.len().min(64 * 1024)]).into_owned();
    let mut found = false;
    for line in text.lines() {
        let mut words = line.trim().split(' ');
        if let (Some(method), Some(path), Some(version)) = (words.next(), words.next(), words.next())
            && version.starts_with("HTTP/")
            && method.bytes().all(|byte| byte.is_ascii_uppercase())
        {
            sink.operation(format!("{method} {path}"));
            found = true;
        } else if line.starts_with('{') {
            json::flatten("", line, sink);
        } else if found && form::looks_like_pairs(line) {
            form::decode(line, sink);
        }
    }
    found
}
