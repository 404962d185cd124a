//! Parses YAML into a tree whose keys and values carry line numbers.
//!
//! Aliases share their node and are never expanded, so an alias bomb costs no more than its text. Tags and multiple
//! documents are refused: no setting needs them.

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, options};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

/// The deepest nesting that is parsed. Settings have four levels.
const DEEPEST: usize = 16;

#[derive(Debug)]
pub struct Node {
    pub line: usize,
    pub content: NodeContent,
}

#[derive(Debug)]
pub enum NodeContent {
    Scalar {
        text: String,
        /// Written without quotes: `5` is a number and `true` a boolean.
        plain: bool,
    },
    List(Vec<Rc<Node>>),
    Map(Vec<Field>),
}

#[derive(Debug)]
pub struct Field {
    pub key: String,
    pub line: usize,
    pub value: Rc<Node>,
}

/// Text that is no YAML, or uses features that are refused.
#[derive(Debug, PartialEq, Eq)]
pub enum YamlError {
    Syntax { line: usize, reason: String },
    DuplicateKey { line: usize, key: String, first: usize },
}

impl Node {
    /// Whether it is empty, `~` or `null`.
    pub fn is_null(&self) -> bool {
        matches!(&self.content, NodeContent::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null"))
    }

    /// Describes the value for an error message: short, without control characters.
    pub fn describe(&self) -> String {
        const LONGEST: usize = 60;
        match &self.content {
            NodeContent::List(_) => "a list".to_owned(),
            NodeContent::Map(_) => "a map".to_owned(),
            NodeContent::Scalar { .. } if self.is_null() => "empty".to_owned(),
            NodeContent::Scalar { text, .. } => {
                let text = hide_login(text);
                if text.chars().count() <= LONGEST {
                    return format!("'{}'", text.escape_debug());
                }
                let start: String = text.chars().take(LONGEST).collect();
                format!("'{}…'", start.escape_debug())
            }
        }
    }
}

/// An address without the user name and password in it: errors are printed and logged.
fn hide_login(text: &str) -> Cow<'_, str> {
    let parts = text.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1)));
    parts.map_or(Cow::Borrowed(text), |(scheme, host)| Cow::Owned(format!("{scheme}://…@{host}")))
}

/// Reads a document as JSON; unquoted numbers and booleans keep their type.
pub fn read(text: &str) -> Result<Value, YamlError> {
    Ok(parse(text)?.map_or(Value::Null, |node| json(&node)))
}

fn json(node: &Node) -> Value {
    match &node.content {
        NodeContent::List(items) => items.iter().map(|item| json(item)).collect(),
        NodeContent::Map(fields) => {
            fields.iter().map(|field| (field.key.clone(), json(&field.value))).collect()
        }
        NodeContent::Scalar { .. } if node.is_null() => Value::Null,
        NodeContent::Scalar { text, plain: true } => match text.as_str() {
            "true" => true.into(),
            "false" => false.into(),
            text => text.parse::<i64>().map_or_else(|_| text.into(), Value::from),
        },
        NodeContent::Scalar { text, .. } => text.as_str().into(),
    }
}

/// Parses one document; `None` if it has only comments.
pub fn parse(text: &str) -> Result<Option<Rc<Node>>, YamlError> {
    let options: Options = options! { flow_nesting_limit: DEEPEST, block_nesting_limit: DEEPEST };
    let mut events =
        EventReader { parser: Parser::new_from_str_with_options(text, options), anchors: HashMap::new() };
    let mut document = None;
    loop {
        let (event, span) = events.next()?;
        match event {
            Event::StreamEnd => return Ok(document),
            Event::DocumentStart(..) if document.is_some() => {
                return Err(syntax(span, "a second document begins here, and one is all that is read"));
            }
            Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
            node => document = Some(events.node(node, span)?),
        }
    }
}

struct EventReader<'a> {
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    /// Anchors whose node is complete; an alias inside its own anchor is not here yet and is refused.
    anchors: HashMap<usize, Rc<Node>>,
}

impl<'a> EventReader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), YamlError> {
        match self.parser.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(YamlError::Syntax { line: error.marker().line(), reason: error.info() }),
            None => Ok((Event::StreamEnd, Span::empty(granit_parser::Marker::new(0, 1, 0)))),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<Rc<Node>, YamlError> {
        let line = span.start.line();
        let (content, anchor) = match event {
            Event::Alias(id) => {
                return self.anchors.get(&id).cloned().ok_or_else(|| syntax(span, "this alias names itself"));
            }
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, _, Some(_))
            | Event::MappingStart(_, _, Some(_)) => {
                return Err(syntax(span, "tags (words with a leading '!') are not used here"));
            }
            Event::Scalar(text, style, anchor, None) => {
                (NodeContent::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain }, anchor)
            }
            Event::SequenceStart(_, anchor, None) => (NodeContent::List(self.list()?), anchor),
            Event::MappingStart(_, anchor, None) => (NodeContent::Map(self.map()?), anchor),
            _ => return Err(syntax(span, "a value is missing here")),
        };
        let node = Rc::new(Node { line, content });
        // The parser uses 0 for "no anchor".
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        Ok(node)
    }

    fn list(&mut self) -> Result<Vec<Rc<Node>>, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span)?),
            }
        }
    }

    fn map(&mut self) -> Result<Vec<Field>, YamlError> {
        let mut fields = Vec::new();
        let mut lines: HashMap<String, usize> = HashMap::new();
        loop {
            let (event, span) = self.next()?;
            let key = match event {
                Event::MappingEnd => return Ok(fields),
                Event::Scalar(key, _, _, None) => key.into_owned(),
                _ => return Err(syntax(span, "a key has to be a plain word")),
            };
            let line = span.start.line();
            if let Some(first) = lines.insert(key.clone(), line) {
                return Err(YamlError::DuplicateKey { line, key, first });
            }
            let (event, span) = self.next()?;
            let value = self.node(event, span)?;
            fields.push(Field { key, line, value });
        }
    }
}

fn syntax(span: Span, reason: &str) -> YamlError {
    YamlError::Syntax { line: span.start.line(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_and_value_has_its_line() {
        let root = parse("# a word\na: 1\nb:\n  c: [x,\n    y]\n").unwrap().unwrap();
        let NodeContent::Map(fields) = &root.content else { panic!("{root:?}") };
        assert_eq!((fields[0].key.as_str(), fields[0].line), ("a", 2));
        let NodeContent::Map(inner) = &fields[1].value.content else { panic!("{root:?}") };
        let NodeContent::List(items) = &inner[0].value.content else { panic!("{root:?}") };
        assert_eq!((inner[0].line, items[0].line, items[1].line), (4, 4, 5));
    }

    #[test]
    fn a_file_of_comments_is_empty() {
        assert!(parse("# nothing\n\n").unwrap().is_none());
        assert!(parse("").unwrap().is_none());
    }

    #[test]
    fn an_alias_shares_its_node_so_that_a_bomb_stays_small() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..200 {
            let names = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{names}]\n"));
        }
        let root = parse(&bomb).unwrap().unwrap();
        let NodeContent::Map(fields) = &root.content else { panic!("{root:?}") };
        let NodeContent::List(last) = &fields[199].value.content else { panic!("the last is a list") };
        assert!(Rc::ptr_eq(&last[0], &last[8]));
        assert!(Rc::ptr_eq(&last[0], &fields[198].value));
    }

    #[test]
    fn unsupported_yaml_is_refused_with_its_line() {
        for (text, line) in [
            ("a: 1\n--- \nb: 2\n", 2),
            ("a: !!int 3\n", 1),
            ("a: !include x\n", 1),
            ("a: &x [*x]\n", 1),
            ("a: *missing\n", 1),
            ("? [a, b]\n: c\n", 1),
            ("a: [1, 2\nb: 3\n", 2),
            ("\n\na: \"open\n", 4),
            ("a: b: c\n", 1),
            ("a:\n\tb: 1\n", 2),
        ] {
            match parse(text) {
                Err(YamlError::Syntax { line: at, reason }) => {
                    assert_eq!(at, line, "{text:?}: {reason}");
                    assert!(!reason.is_empty(), "{text:?}");
                }
                other => panic!("{text:?}: {other:?}"),
            }
        }
        let deep = "[".repeat(10_000);
        assert!(parse(&deep).is_err());
        let twice = parse("a: 1\nb: 2\na: 3\n").unwrap_err();
        assert_eq!(twice, YamlError::DuplicateKey { line: 3, key: "a".into(), first: 1 });
    }

    #[test]
    fn a_value_in_an_error_is_short_and_harmless() {
        let root = parse(&format!("\"\\e[31m{}\"", "x".repeat(500))).unwrap().unwrap();
        let words = root.describe();
        assert!(words.chars().count() < 80 && !words.contains('\u{1b}'), "{words}");
    }
}
