//! Reads the Markdown pages of the repository: links, anchors, code blocks, code spans.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Folders that hold no documentation of ours.
const SKIPPED: [&str; 4] = ["target", "node_modules", ".git", ".cargo"];

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// One Markdown file, by its path in the repository.
pub struct Page {
    pub path: String,
    text: String,
}

/// A fenced code block.
pub struct Block {
    pub line: usize,
    pub language: String,
    pub text: String,
}

/// A piece of text and the line it is on.
pub struct NumberedText {
    pub line: usize,
    pub text: String,
}

/// Every Markdown file of the repository.
pub fn pages() -> Vec<Page> {
    let mut pages: Vec<Page> = files(&root())
        .into_iter()
        .filter(|path| path.ends_with(".md"))
        .map(|path| Page { text: std::fs::read_to_string(root().join(&path)).unwrap(), path })
        .collect();
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(pages.len() > 20, "the pages were not found");
    pages
}

/// Every file below a folder, by its path in the repository.
pub fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_symlink() || SKIPPED.contains(&name.as_str()) {
            continue;
        }
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path.strip_prefix(root()).unwrap().to_string_lossy().into_owned()),
        }
    }
    found
}

impl Page {
    /// Lines outside of code blocks, numbered from 1.
    fn prose(&self) -> Vec<NumberedText> {
        let mut inside = false;
        let mut lines = Vec::new();
        for (index, line) in self.text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                inside = !inside;
            } else if !inside {
                lines.push(NumberedText { line: index + 1, text: line.to_owned() });
            }
        }
        lines
    }

    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut open: Option<(usize, Block)> = None;
        for (index, line) in self.text.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            match (&mut open, line.trim_start().strip_prefix("```")) {
                (None, Some(language)) => {
                    let (line, language) = (index + 1, language.trim().to_owned());
                    open = Some((indent, Block { line, language, text: String::new() }));
                }
                (Some(_), Some(_)) => blocks.extend(open.take().map(|(_, block)| block)),
                (Some((indent, block)), None) => {
                    block.text.push_str(line.get(*indent..).unwrap_or_default());
                    block.text.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a code block is not closed", self.path);
        blocks
    }

    /// Inline code, without the backticks.
    pub fn code_spans(&self) -> Vec<NumberedText> {
        let mut spans = Vec::new();
        for NumberedText { line, text } in self.prose() {
            // Odd parts are between two backticks.
            let parts: Vec<&str> = text.split('`').collect();
            let inside = parts.iter().enumerate().filter(|(index, _)| index % 2 == 1);
            spans.extend(inside.map(|(_, part)| NumberedText { line, text: (*part).to_owned() }));
        }
        spans
    }

    /// Targets of links and images.
    pub fn links(&self) -> Vec<NumberedText> {
        let mut links = Vec::new();
        for NumberedText { line, text } in self.prose() {
            let plain: String = text.split('`').step_by(2).collect::<Vec<_>>().join("code");
            let mut rest = plain.as_str();
            while let Some(at) = rest.find("](") {
                rest = &rest[at + 2..];
                let end = rest.find(')').unwrap_or_else(|| panic!("{}:{line}: {text}", self.path));
                links.push(NumberedText { line, text: rest[..end].to_owned() });
            }
        }
        links
    }

    /// Fragments that a link may name: headings as GitHub spells them, and explicit ids.
    pub fn anchors(&self) -> HashSet<String> {
        let mut anchors = HashSet::new();
        for NumberedText { text, .. } in self.prose() {
            if let Some(id) = text.strip_prefix("<a id=\"").and_then(|rest| rest.split('"').next()) {
                anchors.insert(id.to_owned());
            }
            let title = text.trim_start_matches('#');
            if title.len() < text.len() && title.starts_with(' ') {
                anchors.insert(slug(title.trim()));
            }
        }
        anchors
    }
}

/// The fragment of a heading on GitHub.
fn slug(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

/// Where a link of a page leads: a path in the repository and a fragment. `None` for other sites.
pub fn resolve(page: &Page, link: &str) -> Option<(String, String)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
    if path.is_empty() {
        return Some((page.path.clone(), fragment.to_owned()));
    }
    let mut parts: Vec<&str> = page.path.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    let mut target = parts.join("/");
    if root().join(&target).join("README.md").is_file() {
        target.push_str("/README.md");
    }
    Some((target, fragment.to_owned()))
}

#[test]
fn headings_have_the_fragments_that_github_gives_them() {
    for (title, expected) in [
        ("What an agent can do", "what-an-agent-can-do"),
        ("Test it: doctor --leak", "test-it-doctor---leak"),
        ("`config show`, in full", "config-show-in-full"),
    ] {
        assert_eq!(slug(title), expected);
    }
}
