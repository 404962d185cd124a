//! What was searched and what was found, by the kind of place. Values are never told.

use super::canary::{Canaries, Kind};
use super::search::{Hit, Searcher};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A kind of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// What tools say over MCP.
    Replies,
    /// What the HTTP API says.
    Api,
    /// What an operator is shown.
    Console,
    /// What commands print and write.
    Commands,
    Pictures,
    Audit,
    Recordings,
    Bundles,
    Databases,
    Logs,
    /// Other files of the state folder.
    Files,
    /// Answers that depend on whether a guess is right.
    Guesses,
}

impl Category {
    pub const ALL: [Category; 12] = [
        Category::Replies,
        Category::Api,
        Category::Console,
        Category::Commands,
        Category::Pictures,
        Category::Audit,
        Category::Recordings,
        Category::Bundles,
        Category::Databases,
        Category::Logs,
        Category::Files,
        Category::Guesses,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Category::Replies => "replies",
            Category::Api => "api",
            Category::Console => "console",
            Category::Commands => "commands",
            Category::Pictures => "pictures",
            Category::Audit => "audit",
            Category::Recordings => "recordings",
            Category::Bundles => "bundles",
            Category::Databases => "databases",
            Category::Logs => "logs",
            Category::Files => "files",
            Category::Guesses => "guesses",
        }
    }
}

/// One canary in one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Find {
    pub category: Category,
    /// The tool, command or file.
    pub place: String,
    /// What it was planted as.
    pub canary: &'static str,
    pub writing: &'static str,
    /// Where the site had put it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub echoed: Option<String>,
}

pub struct Ledger {
    searcher: Searcher,
    searched: BTreeMap<Category, usize>,
    bytes: u64,
    finds: BTreeSet<Find>,
}

impl Ledger {
    pub fn new(canaries: &Canaries) -> Ledger {
        let searched = Category::ALL.iter().map(|&category| (category, 0)).collect();
        Ledger { searcher: Searcher::new(canaries), searched, bytes: 0, finds: BTreeSet::new() }
    }

    /// One more thing to look for.
    pub fn also(&mut self, kind: Kind, value: &str) {
        self.searcher.also(kind, value);
    }

    pub fn searched(&self) -> &BTreeMap<Category, usize> {
        &self.searched
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn finds(&self) -> &BTreeSet<Find> {
        &self.finds
    }

    fn count(&mut self, category: Category, bytes: usize) {
        *self.searched.entry(category).or_default() += 1;
        self.bytes += bytes as u64;
    }

    pub fn text(&mut self, category: Category, place: &str, bytes: &[u8]) {
        self.count(category, bytes.len());
        for Hit { kind, writing, echoed } in self.searcher.search(bytes) {
            let place = place.to_owned();
            self.finds.insert(Find { category, place, canary: kind.as_str(), writing, echoed });
        }
    }

    /// A find that no search of text can make.
    pub fn found(&mut self, category: Category, place: &str, canary: &'static str, writing: &'static str) {
        let place = place.to_owned();
        self.finds.insert(Find { category, place, canary, writing, echoed: None });
    }

    pub fn guessed(&mut self) {
        self.count(Category::Guesses, 0);
    }

    /// A whole reply: its pictures are looked at, the rest is read.
    pub fn reply(&mut self, category: Category, place: &str, mut reply: Value) {
        let mut pictures = Vec::new();
        take_pictures(&mut reply, &mut pictures);
        for picture in pictures {
            self.picture(place, &picture);
        }
        // Words and fields say the same twice, each in its own way.
        match reply.pointer_mut("/result/structuredContent").map(Value::take) {
            Some(fields) => {
                self.text(category, &format!("{place}, fields"), fields.to_string().as_bytes());
                self.text(category, &format!("{place}, text"), reply.to_string().as_bytes());
            }
            None => self.text(category, place, reply.to_string().as_bytes()),
        }
    }

    /// A picture of a page on which the site draws in one colour what nobody may see.
    pub fn picture(&mut self, place: &str, bytes: &[u8]) {
        self.text(Category::Pictures, place, bytes);
        match super::pixels::drawn(bytes) {
            Some(0) => {}
            Some(_) => self.found(Category::Pictures, place, "any", "drawn"),
            None => self.found(Category::Pictures, place, "unknown", "a picture that cannot be read"),
        }
    }

    /// A file, by what it is.
    pub fn file(&mut self, folder: &Path, path: &Path, bytes: &[u8]) {
        let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
        let category = match name.split('/').next().unwrap_or_default() {
            "audit" => Category::Audit,
            "recordings" | "transient" => Category::Recordings,
            "archive" => Category::Bundles,
            _ if name.contains(".db") => Category::Databases,
            _ => Category::Files,
        };
        let place = without_ids(&name);
        if super::pixels::is_picture(bytes) {
            self.count(category, bytes.len());
            self.picture(&place, bytes);
        } else {
            self.text(category, &place, bytes);
            // A database keeps large things in pieces; it holds no pictures.
            let whole = if category == Category::Databases { Vec::new() } else { super::pixels::inside(bytes) };
            for picture in whole {
                self.picture(&place, picture);
            }
        }
    }
}

/// The same place whichever session it was.
fn without_ids(name: &str) -> String {
    let parts = name.split('/').map(|part| if part.starts_with("s-") { "SESSION" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// Long base64 that is a picture is taken out to be looked at.
fn take_pictures(value: &mut Value, pictures: &mut Vec<Vec<u8>>) {
    match value {
        Value::String(text) if text.len() > 1000 => {
            let decoded = STANDARD.decode(text.as_bytes()).unwrap_or_default();
            if super::pixels::is_picture(&decoded) {
                pictures.push(decoded);
                text.clear();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| take_pictures(item, pictures)),
        Value::Object(fields) => fields.values_mut().for_each(|field| take_pictures(field, pictures)),
        _ => {}
    }
}
