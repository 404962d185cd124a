//! What was searched and what was found, by the kind of place. Values are never told.

use super::search::{Hit, Searcher};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use testkit::leak_site::canary::{Canaries, Kind};

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
}

impl Category {
    pub const ALL: [Category; 11] = [
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
    /// Those that were looked at.
    pictures: BTreeSet<(Category, u64)>,
    /// By tool: guesses that were told to be right, of how many.
    guesses: BTreeMap<String, (usize, usize)>,
}

fn hashed(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

impl Ledger {
    pub fn new(canaries: &Canaries) -> Ledger {
        let searched = Category::ALL.iter().map(|&category| (category, 0)).collect();
        Ledger {
            searcher: Searcher::new(canaries),
            searched,
            bytes: 0,
            finds: BTreeSet::new(),
            pictures: BTreeSet::new(),
            guesses: BTreeMap::new(),
        }
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
        let hits = self.searcher.search(bytes);
        self.note(category, place, hits);
    }

    fn note(&mut self, category: Category, place: &str, hits: BTreeSet<Hit>) {
        for Hit { kind, writing, echoed } in hits {
            let place = place.to_owned();
            self.finds.insert(Find { category, place, canary: kind.as_str(), writing, echoed });
        }
    }

    /// A find that no search of text can make.
    fn found(&mut self, category: Category, place: &str, canary: &'static str, writing: &'static str) {
        let place = place.to_owned();
        self.finds.insert(Find { category, place, canary, writing, echoed: None });
    }

    /// A tool was asked with the beginning of a canary, and told whether it is there.
    pub fn guessed(&mut self, tool: &str, told: bool) {
        let (told_right, asked) = self.guesses.entry(tool.to_owned()).or_default();
        *asked += 1;
        *told_right += usize::from(told);
    }

    pub fn guesses(&self) -> &BTreeMap<String, (usize, usize)> {
        &self.guesses
    }

    /// A whole reply: its pictures are looked at, the rest is read.
    pub fn reply(&mut self, category: Category, place: &str, mut reply: Value) {
        let mut pictures = Vec::new();
        take_pictures(&mut reply, &mut pictures);
        for picture in pictures {
            self.picture(Category::Pictures, place, &picture);
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
    pub fn picture(&mut self, category: Category, place: &str, bytes: &[u8]) {
        self.count(category, bytes.len());
        // The same picture is kept under several names; it is looked at once.
        if !self.pictures.insert((category, hashed(bytes))) {
            return;
        }
        let hits = self.searcher.search_packed(bytes);
        self.note(category, place, hits);
        match super::pixels::drawn(bytes) {
            Some(0) => {}
            Some(_) => self.found(category, place, "any", "drawn"),
            None => self.found(category, place, "unknown", "a picture that cannot be read"),
        }
    }

    /// A page with its pictures in it.
    pub fn page(&mut self, category: Category, place: &str, page: &str) {
        const BEFORE: &str = "data:image/png;base64,";
        let mut text = String::new();
        for (number, piece) in page.split(BEFORE).enumerate() {
            let end = if number == 0 { 0 } else { piece.find(['"', '\'']).unwrap_or(piece.len()) };
            if let Ok(picture) = STANDARD.decode(&piece[..end])
                && !picture.is_empty()
            {
                self.picture(category, place, &picture);
                text.push_str(&piece[end..]);
            } else {
                text.push_str(piece);
            }
        }
        self.text(category, place, text.as_bytes());
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
            self.picture(category, &place, bytes);
        } else {
            // A bundle is pictures with text between them. A database keeps large things in pieces, and no pictures.
            let (between, pictures) = match category {
                Category::Bundles => super::pixels::apart(bytes),
                _ => (bytes.to_vec(), Vec::new()),
            };
            self.text(category, &place, &between);
            for picture in pictures {
                self.picture(category, &place, picture);
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
