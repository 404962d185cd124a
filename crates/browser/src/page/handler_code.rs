//! What the code of an event handler looks for: the selectors by which a delegated handler recognizes its elements.
//!
//! Reads the common ways to write that, as text. Code is not evaluated, and what is not recognized is left out.

use crate::text::cut_at;
use regex::Regex;
use std::{collections::BTreeSet, sync::LazyLock};

/// Bytes of one handler that are searched.
const MAX_CODE: usize = 20_000;
const MAX_SELECTOR: usize = 200;

/// What one handler looks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HandlerCode {
    pub selectors: BTreeSet<String>,
    /// Variables that hold selectors.
    pub variables: BTreeSet<String>,
    /// Whether frameworks keep the handlers of elements somewhere else.
    pub is_dispatcher: bool,
}

/// How the text of a pattern becomes a selector.
#[derive(Clone, Copy)]
enum Kind {
    Selector,
    Class,
    ClassName,
    Id,
    Tag,
    Attribute,
    Dataset,
}

/// A string literal, or the name of a variable.
const OPERAND: &str = r#"(?:'((?:[^'\\\n]|\\.)+)'|"((?:[^"\\\n]|\\.)+)"|`([^`$\\]+)`|([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)?))"#;

static PATTERNS: LazyLock<Vec<(Regex, Kind)>> = LazyLock::new(|| {
    // What a handler leaves out is no target: `if (!event.target.closest(…))`.
    let called = |names: &str| format!(r"(!\s*[\w$.?]*)?\.(?:{names})\(\s*{OPERAND}\s*[,)]");
    let compared = |names: &str| format!(r"()(?:\.(?:{names})\s*===?|\b(?:{names})\s*===)\s*{OPERAND}");
    let patterns = [
        (called("closest|matches|webkitMatchesSelector|is|querySelectorAll"), Kind::Selector),
        (called(r"classList\.contains|hasClass|className\.(?:includes|indexOf)"), Kind::Class),
        (called("getAttribute|hasAttribute"), Kind::Attribute),
        (compared("className"), Kind::ClassName),
        (compared("id"), Kind::Id),
        (compared("tagName|nodeName|localName"), Kind::Tag),
        (format!(r"(!\s*[\w$.?]*)?\.dataset(?:\[\s*{OPERAND}\s*\]|\??\.([A-Za-z]\w*))"), Kind::Dataset),
    ];
    patterns.map(|(pattern, kind)| (compile(&pattern), kind)).into()
});

static SWITCH: LazyLock<Regex> =
    LazyLock::new(|| compile(r"\bswitch\s*\([^(){}]*\.(id|className|tagName|nodeName)\s*\)\s*\{"));
static CASE: LazyLock<Regex> = LazyLock::new(|| compile(&format!(r"\bcase\s*{OPERAND}\s*:")));

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles all of them")]
fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

/// The dispatchers of jQuery, React, Svelte, Solid and the like.
const DISPATCHER_MARKS: [&str; 6] = ["[native code]", ".dispatch", "composedPath", "$$", "__", "$EV"];

/// Reads the source of a function.
pub(super) fn read_handler(source: &str) -> HandlerCode {
    let source = &source[..cut_at(source, MAX_CODE)];
    let mut code = HandlerCode {
        is_dispatcher: DISPATCHER_MARKS.iter().any(|mark| source.contains(mark)),
        ..HandlerCode::default()
    };
    for (pattern, kind) in PATTERNS.iter() {
        for found in pattern.captures_iter(source) {
            if found.get(1).is_some_and(|negated| negated.as_str().starts_with('!')) {
                continue;
            }
            let property = found.get(6).map(|property| property.as_str());
            code.add(*kind, literal(&found).as_deref().or(property), found.get(5).map(|name| name.as_str()));
        }
    }
    for found in SWITCH.captures_iter(source) {
        let kind = match &found[1] {
            "id" => Kind::Id,
            "className" => Kind::ClassName,
            _ => Kind::Tag,
        };
        let body = &source[found.get(0).map_or(0, |whole| whole.end())..];
        for case in CASE.captures_iter(body) {
            // The group of a negation is missing here.
            let text = (1..=3).find_map(|group| case.get(group)).map(|text| text.as_str());
            code.add(kind, text, None);
        }
    }
    code
}

/// The text of the literal that was captured.
fn literal(found: &regex::Captures<'_>) -> Option<String> {
    let text = (2..=4).find_map(|group| found.get(group))?.as_str();
    // The escapes that selectors have: `\\:` is a colon, and `\'` a quotation mark.
    Some(text.replace(r"\\", "\u{0}").replace('\\', "").replace('\u{0}', r"\"))
}

impl HandlerCode {
    fn add(&mut self, kind: Kind, text: Option<&str>, variable: Option<&str>) {
        match (text, variable) {
            (Some(text), _) => self.selectors.extend(selector_of(kind, text)),
            (None, Some(name)) if matches!(kind, Kind::Selector | Kind::Class) => {
                let name = name.split('.').next().unwrap_or(name);
                self.variables.insert(name.to_owned());
            }
            _ => {}
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '-' || letter == '_')
}

fn quoted(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"")
}

fn selector_of(kind: Kind, text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_SELECTOR || text.contains(['\n', '{', '}']) {
        return None;
    }
    match kind {
        // A relation to other elements may take long to decide, and everything is no target.
        Kind::Selector if text.contains(":has") || text == "*" => None,
        Kind::Selector => Some(text.to_owned()),
        Kind::Class => is_name(text).then(|| format!(".{text}")),
        Kind::ClassName => Some(format!("[class=\"{}\"]", quoted(text))),
        Kind::Id => Some(format!("[id=\"{}\"]", quoted(text))),
        Kind::Tag => is_name(text).then(|| text.to_lowercase()),
        Kind::Attribute => (is_name(text) && text.starts_with("data-")).then(|| format!("[{text}]")),
        Kind::Dataset => {
            let mut name = String::from("data-");
            for letter in text.chars() {
                if letter.is_ascii_uppercase() {
                    name.push('-');
                }
                name.push(letter.to_ascii_lowercase());
            }
            is_name(&name).then(|| format!("[{name}]"))
        }
    }
}

/// The selector in a variable of a handler's closure.
pub(super) fn selector_in_variable(value: &str) -> Option<String> {
    let selector = selector_of(Kind::Selector, value)?;
    let is_bare_word = is_name(&selector);
    // A word may name a tag or a class; only a tag is a selector.
    (!is_bare_word || matches!(&*selector, "li" | "td" | "th" | "tr" | "g" | "rect" | "circle" | "path"))
        .then_some(selector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selectors(source: &str) -> Vec<String> {
        read_handler(source).selectors.into_iter().collect()
    }

    #[test]
    fn a_handler_says_what_it_looks_for() {
        for (source, expected) in [
            ("e => e.target.closest('.btn') && go()", &[".btn"][..]),
            ("function(e){ if (e.target.matches(\"td.cell\")) go() }", &["td.cell"]),
            ("e=>{e.target.classList.contains(`tile`)&&go()}", &[".tile"]),
            ("e => { if ($(e.target).is('.a > b')) go() }", &[".a > b"]),
            ("({target}) => target.id === 'open' ? a() : b()", &["[id=\"open\"]"]),
            ("e => { if (e.target.className == 'menu item') go() }", &["[class=\"menu item\"]"]),
            ("e => { if (e.target.tagName === 'LI') go() }", &["li"]),
            ("e => run(e.target.dataset.rowAction)", &["[data-row-action]"]),
            ("e => run(e.target?.dataset?.['act'])", &[]),
            ("e => run(e.target.dataset['act'])", &["[data-act]"]),
            ("e => run(e.target.getAttribute('data-x') ?? e.target.getAttribute('href'))", &["[data-x]"]),
            (
                "e => { switch (e.target.id) { case 'a': go(); break; case \"b\": } }",
                &["[id=\"a\"]", "[id=\"b\"]"],
            ),
            (r"e => e.target.closest('[on\\:click]')", &[r"[on\:click]"]),
            ("e => e.target.closest('.card:has(a)')", &[]),
        ] {
            assert_eq!(selectors(source), expected, "{source}");
        }
    }

    #[test]
    fn what_a_handler_leaves_out_is_no_target() {
        assert!(selectors("e => { if (!e.target.closest('.menu')) close() }").is_empty());
        assert!(selectors("e => { if (! menu.classList.contains('open')) return }").is_empty());
    }

    #[test]
    fn a_selector_may_be_in_a_variable() {
        let code = read_handler("e => { const at = e.target.closest(selector); if (at) run(at) }");
        assert_eq!(Vec::from_iter(code.variables), ["selector"]);
        assert_eq!(selector_in_variable(".btn").as_deref(), Some(".btn"));
        assert_eq!(selector_in_variable("click"), None);
    }

    #[test]
    fn dispatchers_of_frameworks_are_recognized() {
        assert!(read_handler("function () { [native code] }").is_dispatcher);
        assert!(read_handler("e => { const key = `$$${e.type}`; }").is_dispatcher);
        assert!(!read_handler("e => go()").is_dispatcher);
    }
}
