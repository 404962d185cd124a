//! JSON, flattened to paths. Duplicate keys are all kept: which of them a server reads is not known.

use super::sink::FieldSink;
use crate::effect::BodyKind;
use std::borrow::Cow;

/// What is nested deeper is kept as one value, as written.
const DEEPEST: usize = 24;
/// JSON in a string of JSON, as socket frames have it.
const DEEPEST_ENVELOPE: usize = 2;
const LONGEST_PATH: usize = 400;

/// Decodes a body. Newline-delimited values are numbered like those of an array. `None` if it is not JSON; what was
/// read until then stays in the sink.
pub(super) fn decode(text: &str, sink: &mut FieldSink) -> Option<BodyKind> {
    let mut parser = JsonParser { text, at: 0, envelopes: 0 };
    let mut path = String::new();
    parser.value(&mut path, 0, sink)?;
    parser.space();
    let mut index = 0;
    while parser.at < text.len() {
        index += 1;
        path.clear();
        path.push_str(&format!("[{index}]"));
        let before = parser.at;
        if parser.value(&mut path, 0, sink).is_none() || parser.at == before {
            break;
        }
        parser.space();
    }
    name_operations(sink);
    Some(kind(sink))
}

/// Flattens JSON that is the value of a field. False if it is not JSON.
pub(super) fn flatten(name: &str, text: &str, sink: &mut FieldSink) -> bool {
    is_complete(text)
        && JsonParser { text, at: 0, envelopes: 1 }.value(&mut name.to_owned(), 0, sink).is_some()
}

/// Fields whose text is a structure of the site and not what somebody typed.
pub(super) fn is_envelope(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let last = last.split('[').next().unwrap_or_default();
    const NAMES: [&str; 14] = [
        "",
        "data",
        "payload",
        "json",
        "params",
        "request",
        "variables",
        "batch",
        "requests",
        "identifier",
        "operations",
        "rpc",
        "args",
        "events",
    ];
    NAMES.contains(&last)
}

fn kind(sink: &FieldSink) -> BodyKind {
    if sink.is_graphql {
        return BodyKind::GraphQl;
    }
    let named = |name: &str| {
        sink.fields().iter().take(40).any(|field| field.name == name || field.name == format!("[0].{name}"))
    };
    if named("operationName") {
        BodyKind::GraphQl
    } else if named("jsonrpc") {
        BodyKind::JsonRpc
    } else {
        BodyKind::Json
    }
}

/// Adds the operations that fields name: JSON-RPC methods and persisted GraphQL operations.
pub(super) fn name_operations(sink: &mut FieldSink) {
    let is_rpc = sink.fields().iter().any(|field| last(&field.name) == "jsonrpc" || field.name == "msg");
    let has_documents = sink.is_graphql;
    let named: Vec<String> = sink
        .fields()
        .iter()
        .filter(|field| match last(&field.name) {
            "method" => is_rpc,
            "operationName" | "fb_api_req_friendly_name" | "opname" => !has_documents,
            _ => false,
        })
        .filter(|field| field.value != "null" && !(is_rpc && field.value == "call"))
        .map(|field| field.value.clone())
        .collect();
    let batched = batched_requests(sink);
    named.into_iter().chain(batched).for_each(|operation| sink.operation(operation));
}

/// `METHOD path` of each request inside of a batch: `{"requests": [{"method": "DELETE", "url": "/items/3"}]}`.
fn batched_requests(sink: &FieldSink) -> Vec<String> {
    const METHODS: [&str; 3] = ["method", "httpMethod", "verb"];
    const ADDRESSES: [&str; 5] = ["url", "path", "relative_url", "uri", "relativeUrl"];
    const MOST: usize = 100;
    let fields = sink.fields();
    let parent = |name: &str| name.rsplit_once('.').map(|(parent, _)| parent.to_owned());
    let is_method = |value: &str| matches!(value, "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD");
    let methods = fields
        .iter()
        .filter(|it| METHODS.contains(&last(&it.name)) && is_method(&it.value) && it.name.contains('['));
    methods
        .take(MOST)
        .filter_map(|method| {
            let owner = parent(&method.name)?;
            let address = fields.iter().find(|it| {
                ADDRESSES.contains(&last(&it.name))
                    && it.name.strip_suffix(last(&it.name)) == Some(&format!("{owner}."))
            })?;
            Some(format!("{} {}", method.value, address.value))
        })
        .collect()
}

fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or_default()
}

/// Whether the brackets of the text close at its end.
fn is_complete(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('{') && text.ends_with('}') || text.starts_with('[') && text.ends_with(']')
}

struct JsonParser<'a> {
    text: &'a str,
    at: usize,
    envelopes: usize,
}

impl<'a> JsonParser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, 0 | 0x1e)) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, path: &mut String, depth: usize, sink: &mut FieldSink) -> Option<()> {
        self.space();
        let start = self.at;
        match self.peek()? {
            b'{' | b'[' if depth >= DEEPEST || path.len() > LONGEST_PATH => {
                self.skip_nested();
                sink.field(path, &self.text[start..self.at]);
            }
            b'{' => self.object(path, depth, sink)?,
            b'[' => self.array(path, depth, sink)?,
            b'"' => {
                let text = self.string()?;
                let nests = self.envelopes < DEEPEST_ENVELOPE && text.starts_with(['{', '[']);
                let nested = nests && is_envelope(path) && is_complete(&text) && {
                    let mut inner = JsonParser { text: &text, at: 0, envelopes: self.envelopes + 1 };
                    inner.value(path, depth + 1, sink).is_some()
                };
                if !nested {
                    sink.json_string(path, &text);
                }
            }
            _ => {
                let ends =
                    |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'}' | b']' | 0 | 0x1e);
                while self.peek().is_some_and(|byte| !ends(byte)) {
                    self.at += 1;
                }
                let word = &self.text[start..self.at];
                let is_number = word.starts_with(|c: char| c.is_ascii_digit() || c == '-');
                if !is_number && !matches!(word, "true" | "false" | "null") {
                    return None;
                }
                sink.field(path, word);
            }
        }
        Some(())
    }

    fn object(&mut self, path: &mut String, depth: usize, sink: &mut FieldSink) -> Option<()> {
        self.at += 1;
        if self.take(b'}') {
            return Some(());
        }
        loop {
            self.space();
            let key = if self.peek()? == b'"' { self.string()? } else { return None };
            if !self.take(b':') {
                return None;
            }
            let before = path.len();
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&key);
            self.value(path, depth + 1, sink)?;
            path.truncate(before);
            if !self.take(b',') {
                return self.take(b'}').then_some(());
            }
        }
    }

    fn array(&mut self, path: &mut String, depth: usize, sink: &mut FieldSink) -> Option<()> {
        self.at += 1;
        if self.take(b']') {
            return Some(());
        }
        for index in 0.. {
            let before = path.len();
            path.push_str(&format!("[{index}]"));
            self.value(path, depth + 1, sink)?;
            path.truncate(before);
            if !self.take(b',') {
                break;
            }
        }
        self.take(b']').then_some(())
    }

    /// A string with its escapes resolved; half a surrogate pair becomes a replacement character.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => {
                    let raw = &self.text[start..self.at];
                    self.at += 1;
                    return Some(unescape(raw));
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn skip_nested(&mut self) {
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' if self.string().is_none() => break,
                b'"' => continue,
                b'{' | b'[' => open += 1,
                b'}' | b']' => open -= 1,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return;
            }
        }
        self.at = self.text.len();
    }
}

fn unescape(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len());
    let mut letters = raw.chars();
    let mut high: Option<u32> = None;
    while let Some(letter) = letters.next() {
        let unit = match letter {
            '\\' => match letters.next() {
                Some('u') => {
                    let digits: String = letters.by_ref().take(4).collect();
                    u32::from_str_radix(&digits, 16).unwrap_or(0xfffd)
                }
                Some('n') => 10,
                Some('r') => 13,
                Some('t') => 9,
                Some('b') => 8,
                Some('f') => 12,
                Some(other) => u32::from(other),
                None => break,
            },
            other => u32::from(other),
        };
        match (high.take(), unit) {
            (Some(first), 0xdc00..=0xdfff) => {
                let joined: u32 = 0x10000_u32 + ((first - 0xd800) << 10) + (unit - 0xdc00);
                text.push(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            (_, 0xd800..=0xdbff) => high = Some(unit),
            (_, unit) => text.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }
    Cow::Owned(text)
}
