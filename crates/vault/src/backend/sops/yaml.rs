//! The YAML that sops writes, as a tree: one document, no tags, no aliases.

use super::SopsFileError;
use crate::error::Malformed;
use crate::secret_tree::{LARGEST_DOCUMENT, SecretNode};
use granit_parser::{Event, Options, Parser, ScalarStyle, Span, StrInput, options};
use std::collections::HashSet;
use zeroize::Zeroizing;

/// A credential is four levels deep. Deeper documents are refused while they are read.
const DEEPEST: usize = 32;

pub(super) fn parse(text: &[u8]) -> Result<SecretNode, SopsFileError> {
    if text.len() > LARGEST_DOCUMENT {
        return Err(Malformed::new("", format!("it has more than {LARGEST_DOCUMENT} bytes")).into());
    }
    let text = std::str::from_utf8(text).map_err(|_| Malformed::new("", "it is not UTF-8 text"))?;
    let options: Options = options! { flow_nesting_limit: DEEPEST, block_nesting_limit: DEEPEST };
    let mut events = Events(Parser::new_from_str_with_options(text, options));
    let mut document = None;
    loop {
        let (event, span) = events.next()?;
        match event {
            Event::StreamEnd => {
                return document.ok_or_else(|| Malformed::new("", "the file is empty").into());
            }
            Event::DocumentStart(..) if document.is_some() => {
                return Err(SopsFileError::Unsupported("several documents in one file"));
            }
            Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
            node => document = Some(events.node(node, span)?),
        }
    }
}

struct Events<'a>(Parser<'a, StrInput<'a>>);

impl<'a> Events<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), SopsFileError> {
        match self.0.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(at(error.marker().line(), "it is not YAML")),
            None => Err(at(1, "it ends too early")),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<SecretNode, SopsFileError> {
        match event {
            Event::Alias(_) => Err(SopsFileError::Unsupported("aliases")),
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, _, Some(_))
            | Event::MappingStart(_, _, Some(_)) => Err(SopsFileError::Unsupported("tags")),
            Event::Scalar(text, style, _, None) => Ok(scalar(&text, style == ScalarStyle::Plain)),
            Event::SequenceStart(..) => self.list(),
            Event::MappingStart(..) => self.map(),
            _ => Err(at(span.start.line(), "a value is missing here")),
        }
    }

    fn list(&mut self) -> Result<SecretNode, SopsFileError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(SecretNode::List(items)),
                (event, span) => items.push(self.node(event, span)?),
            }
        }
    }

    fn map(&mut self) -> Result<SecretNode, SopsFileError> {
        let mut fields = Vec::new();
        let mut names = HashSet::new();
        loop {
            let (event, span) = self.next()?;
            let name = match event {
                Event::MappingEnd => return Ok(SecretNode::Map(fields)),
                Event::Scalar(text, _, _, None) => text.into_owned(),
                _ => return Err(at(span.start.line(), "a name is a plain text")),
            };
            if !names.insert(name.clone()) {
                return Err(at(span.start.line(), "a name occurs twice"));
            }
            let (event, span) = self.next()?;
            let value = self.node(event, span)?;
            fields.push((name, value));
        }
    }
}

/// The type of a scalar. Numbers in an unusual notation stay strings. If such a value is unencrypted, the MAC that sops
/// computed over its value fails, so the file is refused and never misread.
fn scalar(text: &str, plain: bool) -> SecretNode {
    let usual_number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.starts_with(|c: char| c.is_ascii_digit())
            && !(digits.len() > 1 && digits.starts_with('0') && !digits.contains('.'))
    };
    match text {
        _ if !plain => {}
        "" | "~" | "null" | "Null" | "NULL" => return SecretNode::Null,
        "true" | "True" | "TRUE" => return SecretNode::Bool(true),
        "false" | "False" | "FALSE" => return SecretNode::Bool(false),
        number if usual_number(number) => {
            if let Ok(value) = number.parse() {
                return SecretNode::Integer(value);
            }
            if let Ok(value) = number.parse() {
                return SecretNode::Float(value);
            }
        }
        _ => {}
    }
    SecretNode::Text(Zeroizing::new(text.to_owned()))
}

fn at(line: usize, reason: &'static str) -> SopsFileError {
    Malformed::new(format!("line {line}"), reason).into()
}
