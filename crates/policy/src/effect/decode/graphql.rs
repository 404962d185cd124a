//! GraphQL documents: kind, name and root fields of each operation.

use super::form;
use super::sink::FieldSink;
use std::collections::BTreeMap;

/// Of a longer document only the beginning is read.
const LONGEST_DOCUMENT: usize = 256 * 1024;
const MOST_ROOT_FIELDS: usize = 100;
const DEEPEST_SPREAD: usize = 4;
const DEEPEST_ARGUMENT: usize = 12;

/// Whether a text is a GraphQL document rather than a search term.
pub(super) fn is_document(text: &str) -> bool {
    let mut tokens = Lexer { rest: text, keeps_strings: false };
    match tokens.next() {
        Some("{") => text.contains('}'),
        Some("query" | "mutation" | "subscription" | "fragment") => text.contains('{') && text.contains('}'),
        _ => false,
    }
}

/// Operations in the query string of a GET: `?query=…`.
pub(super) fn operations_of_query(url: &str) -> Vec<String> {
    let Some((_, query)) = url.split_once('?') else { return Vec::new() };
    if !query.contains("query=") && !query.contains("operationName=") {
        return Vec::new();
    }
    let mut sink = FieldSink::default();
    let mut persisted = None;
    for (name, value) in form::pairs(query.split('#').next().unwrap_or_default()) {
        if name == "query" && is_document(&value) {
            read_document(&value, &mut sink);
        } else if name == "operationName" {
            persisted = Some(value.into_owned());
        }
    }
    let operations = sink.finish().2;
    if operations.is_empty() { persisted.into_iter().collect() } else { operations }
}

/// Adds `kind root_field` for each root field of each operation, and `kind Name` for the operation itself.
pub(super) fn read_document(text: &str, sink: &mut FieldSink) {
    let end = (0..=text.len().min(LONGEST_DOCUMENT)).rev().find(|at| text.is_char_boundary(*at));
    let text = &text[..end.unwrap_or_default()];
    let mut lexer = Lexer { rest: text, keeps_strings: false };
    let mut fragments: BTreeMap<&str, Selection<'_>> = BTreeMap::new();
    let mut operations = Vec::new();
    while let Some(token) = lexer.next() {
        match token {
            "{" => operations.push(("query", None, lexer.selection())),
            "query" | "mutation" | "subscription" => {
                let name = lexer.skip_to_selection();
                operations.push((token, name, lexer.selection()));
            }
            "fragment" => {
                if let Some(name) = lexer.skip_to_selection() {
                    fragments.insert(name, lexer.selection());
                }
            }
            _ => {}
        }
    }
    if operations.iter().any(|(kind, ..)| *kind == "mutation") {
        read_arguments(text, sink);
    }
    for (kind, name, selection) in &operations {
        if let Some(name) = name {
            sink.operation(format!("{kind} {name}"));
        }
        add_fields(kind, selection, &fragments, 0, sink);
    }
}

fn add_fields(
    kind: &str,
    selection: &Selection<'_>,
    fragments: &BTreeMap<&str, Selection<'_>>,
    depth: usize,
    sink: &mut FieldSink,
) {
    for field in &selection.fields {
        sink.operation(format!("{kind} {field}"));
    }
    for spread in selection.spreads.iter().filter(|_| depth < DEEPEST_SPREAD) {
        if let Some(fragment) = fragments.get(spread) {
            add_fields(kind, fragment, fragments, depth + 1, sink);
        }
    }
}

/// Adds the arguments that a document of mutations has inline: `updatePost(id: 4, input: {status: PUBLISHED})`.
fn read_arguments(text: &str, sink: &mut FieldSink) {
    let mut lexer = Lexer { rest: text, keeps_strings: true };
    let mut before = "";
    while let Some(token) = lexer.next() {
        if token == "(" && is_name(before) {
            let mut path = String::new();
            lexer.arguments(&mut path, 0, sink);
        }
        before = token;
    }
}

/// The first level of a selection set.
#[derive(Default)]
struct Selection<'a> {
    fields: Vec<&'a str>,
    spreads: Vec<&'a str>,
}

/// Splits a document into names and punctuation. Comments are left out, and strings unless they are asked for.
struct Lexer<'a> {
    rest: &'a str,
    keeps_strings: bool,
}

impl<'a> Lexer<'a> {
    /// The name of a definition; ends after the brace that opens its selection.
    fn skip_to_selection(&mut self) -> Option<&'a str> {
        let mut name = None;
        let mut parens = 0_usize;
        for (index, token) in self.by_ref().enumerate() {
            match token {
                "(" => parens += 1,
                ")" => parens = parens.saturating_sub(1),
                "{" if parens == 0 => break,
                word if index == 0 && is_name(word) => name = Some(word),
                _ => {}
            }
        }
        name
    }

    /// Reads `name: value` pairs to the bracket that closes them. Variables have no value here.
    fn arguments(&mut self, path: &mut String, depth: usize, sink: &mut FieldSink) {
        let (mut name, mut is_value, mut is_defined) = ("", false, false);
        while let Some(token) = self.next() {
            match token {
                ")" | "}" | "]" => return,
                // `$id: ID!` defines a variable.
                ":" => (is_value, is_defined) = (!is_defined, false),
                "{" | "[" if depth < DEEPEST_ARGUMENT => {
                    let before = path.len();
                    if !name.is_empty() && is_value {
                        path.push_str(if before == 0 { "" } else { "." });
                        path.push_str(name);
                    }
                    self.arguments(path, depth + 1, sink);
                    path.truncate(before);
                    is_value = false;
                }
                "$" if is_value => is_value = false,
                "$" => is_defined = true,
                word if is_value => {
                    let separator = if path.is_empty() { "" } else { "." };
                    sink.field(&format!("{path}{separator}{name}"), word.trim_matches('"'));
                    is_value = false;
                }
                word if is_name(word) => name = word,
                _ => {}
            }
        }
    }

    /// Reads on after an opening brace to the one that closes it.
    fn selection(&mut self) -> Selection<'a> {
        let mut found = Selection::default();
        let (mut braces, mut parens) = (1_usize, 0_usize);
        let (mut after_alias, mut after_dots, mut after_at) = (false, false, false);
        // Braces of inline fragments at the root do not hide their fields.
        let mut inline = Vec::new();
        let mut expects_inline = false;
        while let Some(token) = self.next() {
            match token {
                "(" => parens += 1,
                ")" => parens = parens.saturating_sub(1),
                _ if parens > 0 => {}
                "{" => {
                    braces += 1;
                    if expects_inline {
                        inline.push(braces);
                        expects_inline = false;
                    }
                }
                "}" => {
                    if inline.last() == Some(&braces) {
                        inline.pop();
                    }
                    braces -= 1;
                    if braces == 0 {
                        break;
                    }
                }
                _ if braces != inline.len() + 1 => {}
                "..." => {
                    after_dots = true;
                    expects_inline = true;
                    continue;
                }
                "@" => {
                    after_at = true;
                    continue;
                }
                ":" => {
                    after_alias = true;
                    continue;
                }
                word if is_name(word) => {
                    if after_at {
                    } else if after_dots && word == "on" {
                        self.next();
                    } else if after_dots {
                        found.spreads.push(word);
                        expects_inline = false;
                    } else {
                        if after_alias {
                            found.fields.pop();
                        }
                        if found.fields.len() < MOST_ROOT_FIELDS {
                            found.fields.push(word);
                        }
                    }
                }
                _ => {}
            }
            (after_alias, after_dots, after_at) = (false, false, false);
        }
        found
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

impl<'a> Iterator for Lexer<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.rest =
                self.rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',' || c == '\u{feff}');
            let first = self.rest.chars().next()?;
            let length = match first {
                '#' => {
                    self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
                    continue;
                }
                '"' if !self.keeps_strings => {
                    self.skip_string();
                    continue;
                }
                '"' => {
                    let before = self.rest;
                    self.skip_string();
                    return Some(&before[..before.len() - self.rest.len()]);
                }
                '.' if self.rest.starts_with("...") => 3,
                c if c.is_ascii_alphanumeric() || c == '_' => {
                    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len())
                }
                other => other.len_utf8(),
            };
            let (token, rest) = self.rest.split_at(length);
            self.rest = rest;
            return Some(token);
        }
    }
}

impl Lexer<'_> {
    fn skip_string(&mut self) {
        if let Some(block) = self.rest.strip_prefix("\"\"\"") {
            self.rest = block.find("\"\"\"").map_or("", |end| &block[end + 3..]);
            return;
        }
        let bytes = self.rest.as_bytes();
        let mut at = 1;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => break,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        self.rest = self.rest.get(at + 1..).unwrap_or_default();
    }
}
