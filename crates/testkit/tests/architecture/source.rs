//! Rust source as tokens: enough to see which modules a file names and which types it defines.

use std::fs;
use std::path::{Path, PathBuf};

/// One source file of a crate.
pub struct SourceFile {
    /// Relative to the workspace, with `/`.
    pub path: String,
    pub text: String,
}

/// The workspace's root folder.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every `.rs` file under `crates/`.
pub fn rust_files() -> Vec<SourceFile> {
    let root = workspace();
    let mut paths = Vec::new();
    collect(&root.join("crates"), &mut paths);
    assert!(paths.len() > 50, "the walk found only {} files", paths.len());
    paths
        .into_iter()
        .map(|path| SourceFile {
            text: fs::read_to_string(&path).unwrap(),
            path: path.strip_prefix(&root).unwrap().to_string_lossy().into_owned(),
        })
        .collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Tests, benches, examples and their helpers.
pub fn is_test(path: &str) -> bool {
    ["/tests/", "/benches/", "/examples/"].iter().any(|folder| path.contains(folder))
        || path.ends_with("tests.rs")
}

/// Identifiers and single punctuation characters. Comments, literals, lifetimes and items behind `#[cfg(test)]` are
/// left out.
pub fn tokens(text: &str) -> Vec<String> {
    without_test_items(lex(text))
}

fn lex(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        let next = chars.get(at + 1).copied();
        if c == '/' && next == Some('/') {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
        } else if c == '/' && next == Some('*') {
            at = after_block_comment(&chars, at);
        } else if let Some(end) = raw_string_end(&chars, at) {
            at = end;
        } else if c == '"' || (c == 'b' && next == Some('"')) {
            at = after_quoted(&chars, at + usize::from(c == 'b') + 1, '"');
        } else if c == '\'' {
            at = after_quote(&chars, at);
        } else if c.is_alphabetic() || c == '_' {
            let start = at;
            while at < chars.len() && (chars[at].is_alphanumeric() || chars[at] == '_') {
                at += 1;
            }
            tokens.push(chars[start..at].iter().collect());
        } else {
            if !c.is_whitespace() {
                tokens.push(c.to_string());
            }
            at += 1;
        }
    }
    tokens
}

/// Block comments nest.
fn after_block_comment(chars: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start + 2, 1);
    while at < chars.len() && depth > 0 {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (at, depth) = (at + 2, depth + 1),
            ('*', Some('/')) => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    at
}

fn raw_string_end(chars: &[char], start: usize) -> Option<usize> {
    let mut at = start + usize::from(chars[start] == 'b');
    if chars.get(at) != Some(&'r') {
        return None;
    }
    at += 1;
    let hashes = chars[at..].iter().take_while(|c| **c == '#').count();
    at += hashes;
    if chars.get(at) != Some(&'"') {
        return None;
    }
    at += 1;
    while at < chars.len() {
        if chars[at] == '"' && chars[at + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes {
            return Some(at + 1 + hashes);
        }
        at += 1;
    }
    Some(at)
}

fn after_quoted(chars: &[char], mut at: usize, quote: char) -> usize {
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// A character literal, or a lifetime.
fn after_quote(chars: &[char], start: usize) -> usize {
    let is_literal = chars.get(start + 1) == Some(&'\\') || chars.get(start + 2) == Some(&'\'');
    if is_literal { after_quoted(chars, start + 1, '\'') } else { start + 1 }
}

fn without_test_items(tokens: Vec<String>) -> Vec<String> {
    const CFG_TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_test_item =
            tokens.len() >= at + CFG_TEST.len() && tokens[at..].iter().zip(CFG_TEST).all(|(a, b)| a == b);
        if is_test_item {
            at = after_item(&tokens, at + CFG_TEST.len());
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// An item ends with its outermost `}`, or with a `;` outside of brackets.
fn after_item(tokens: &[String], mut at: usize) -> usize {
    let mut depth = 0;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" if depth == 1 => return at + 1,
            "}" | ")" | "]" => depth -= 1,
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at
}

#[test]
fn tokens_skip_comments_literals_and_test_items() {
    let text = r##"
        // crate::comment
        /* crate::a /* nested */ crate::b */
        use crate::kept; const A: &str = "crate::text"; const B: &str = r#"crate::"raw"#; const C: char = '"';
        fn f<'a>(x: &'a str) {}
        #[cfg(test)]
        mod tests { use crate::hidden; fn g() { { } } }
        use crate::last;
    "##;
    let tokens = tokens(text).join("");
    assert!(tokens.contains("crate::kept") && tokens.contains("crate::last"), "{tokens}");
    for hidden in ["comment", "nested", "text", "raw", "hidden"] {
        assert!(!tokens.contains(hidden), "{tokens}");
    }
}
