//! Searches output for canaries and collects the findings, by category. Findings never hold values.

use super::memory::{MemoryMatch, MemorySearch};
use super::search::{CanaryMatch, CanarySearcher};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use testkit::leak_site::canary::{Canaries, Kind};

/// The kind of output that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LeakCategory {
    /// Tool replies over MCP.
    Replies,
    /// Responses of the HTTP API.
    Api,
    /// Pages of the operator console.
    Console,
    /// Output and files of CLI commands.
    Commands,
    Pictures,
    Audit,
    Recordings,
    Bundles,
    Databases,
    Logs,
    /// Other files of the state folder.
    Files,
    /// The memory and the writable files of the jail's processes.
    Jail,
}

impl LeakCategory {
    pub const ALL: [LeakCategory; 12] = [
        LeakCategory::Replies,
        LeakCategory::Api,
        LeakCategory::Console,
        LeakCategory::Commands,
        LeakCategory::Pictures,
        LeakCategory::Audit,
        LeakCategory::Recordings,
        LeakCategory::Bundles,
        LeakCategory::Databases,
        LeakCategory::Logs,
        LeakCategory::Files,
        LeakCategory::Jail,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            LeakCategory::Replies => "replies",
            LeakCategory::Api => "api",
            LeakCategory::Console => "console",
            LeakCategory::Commands => "commands",
            LeakCategory::Pictures => "pictures",
            LeakCategory::Audit => "audit",
            LeakCategory::Recordings => "recordings",
            LeakCategory::Bundles => "bundles",
            LeakCategory::Databases => "databases",
            LeakCategory::Logs => "logs",
            LeakCategory::Files => "files",
            LeakCategory::Jail => "jail",
        }
    }
}

/// One canary found in one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LeakFinding {
    pub category: LeakCategory,
    /// The tool, command or file.
    pub place: String,
    /// The canary's kind.
    pub canary: &'static str,
    pub writing: &'static str,
    /// Where the site echoed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub echoed: Option<String>,
}

pub struct LeakFindings {
    searcher: CanarySearcher,
    searched: BTreeMap<LeakCategory, usize>,
    bytes: u64,
    finds: BTreeSet<LeakFinding>,
    /// Hashes of searched images.
    pictures: BTreeSet<(LeakCategory, u64)>,
    /// By tool: confirmed guesses, and all guesses.
    guesses: BTreeMap<String, (usize, usize)>,
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

impl LeakFindings {
    pub fn new(canaries: &Canaries) -> LeakFindings {
        let searched = LeakCategory::ALL.iter().map(|&category| (category, 0)).collect();
        LeakFindings {
            searcher: CanarySearcher::new(canaries),
            searched,
            bytes: 0,
            finds: BTreeSet::new(),
            pictures: BTreeSet::new(),
            guesses: BTreeMap::new(),
        }
    }

    /// Adds a value to search for.
    pub fn add_value(&mut self, kind: Kind, value: &str) {
        self.searcher.add_value(kind, value);
    }

    pub fn searched(&self) -> &BTreeMap<LeakCategory, usize> {
        &self.searched
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn finds(&self) -> &BTreeSet<LeakFinding> {
        &self.finds
    }

    fn count(&mut self, category: LeakCategory, bytes: usize) {
        *self.searched.entry(category).or_default() += 1;
        self.bytes += bytes as u64;
    }

    pub fn search_text(&mut self, category: LeakCategory, place: &str, bytes: &[u8]) {
        self.count(category, bytes.len());
        let hits = self.searcher.search(bytes);
        self.add_matches(category, place, hits);
    }

    fn add_matches(&mut self, category: LeakCategory, place: &str, hits: BTreeSet<CanaryMatch>) {
        for CanaryMatch { kind, writing, echoed } in hits {
            let place = place.to_owned();
            self.finds.insert(LeakFinding { category, place, canary: kind.as_str(), writing, echoed });
        }
    }

    /// Adds a finding that is not from a text search.
    fn add_finding(
        &mut self,
        category: LeakCategory,
        place: &str,
        canary: &'static str,
        writing: &'static str,
    ) {
        let place = place.to_owned();
        self.finds.insert(LeakFinding { category, place, canary, writing, echoed: None });
    }

    /// Adds the result of a search of a jail's memory and files.
    pub fn add_memory_search(&mut self, search: MemorySearch) {
        *self.searched.entry(LeakCategory::Jail).or_default() += search.processes + search.files;
        self.bytes += search.bytes;
        for MemoryMatch { place, kind, writing } in search.found {
            self.add_finding(LeakCategory::Jail, &place, kind.as_str(), writing);
        }
    }

    /// Records a call with the prefix of a canary, and whether the reply confirmed it.
    pub fn record_guess(&mut self, tool: &str, confirmed: bool) {
        let (confirmed_guesses, asked) = self.guesses.entry(tool.to_owned()).or_default();
        *asked += 1;
        *confirmed_guesses += usize::from(confirmed);
    }

    pub fn guesses(&self) -> &BTreeMap<String, (usize, usize)> {
        &self.guesses
    }

    /// Searches a whole reply: images by pixels, the rest as text.
    pub fn search_reply(&mut self, category: LeakCategory, place: &str, mut reply: Value) {
        let mut pictures = Vec::new();
        take_images(&mut reply, &mut pictures);
        for picture in pictures {
            self.search_image(LeakCategory::Pictures, place, &picture);
        }
        // Text and structured content are two renderings; each is searched.
        match reply.pointer_mut("/result/structuredContent").map(Value::take) {
            Some(fields) => {
                self.search_text(category, &format!("{place}, fields"), fields.to_string().as_bytes());
                self.search_text(category, &format!("{place}, text"), reply.to_string().as_bytes());
            }
            None => self.search_text(category, place, reply.to_string().as_bytes()),
        }
    }

    /// Searches an image for the colour in which the site draws canaries.
    pub fn search_image(&mut self, category: LeakCategory, place: &str, bytes: &[u8]) {
        self.count(category, bytes.len());
        // The same image is stored under several names; it is searched once.
        if !self.pictures.insert((category, hash_bytes(bytes))) {
            return;
        }
        let hits = self.searcher.search_packed(bytes);
        self.add_matches(category, place, hits);
        match super::images::count_canary_pixels(bytes) {
            Some(0) => {}
            Some(_) => self.add_finding(category, place, "any", "drawn"),
            None => self.add_finding(category, place, "unknown", "a picture that cannot be read"),
        }
    }

    /// Searches an HTML page and its inline images.
    pub fn search_html(&mut self, category: LeakCategory, place: &str, page: &str) {
        const BEFORE: &str = "data:image/png;base64,";
        let mut text = String::new();
        for (number, piece) in page.split(BEFORE).enumerate() {
            let end = if number == 0 { 0 } else { piece.find(['"', '\'']).unwrap_or(piece.len()) };
            if let Ok(picture) = STANDARD.decode(&piece[..end])
                && !picture.is_empty()
            {
                self.search_image(category, place, &picture);
                text.push_str(&piece[end..]);
            } else {
                text.push_str(piece);
            }
        }
        self.search_text(category, place, text.as_bytes());
    }

    /// Searches a file of the state folder.
    pub fn search_file(&mut self, folder: &Path, path: &Path, bytes: &[u8]) {
        let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
        let category = match name.split('/').next().unwrap_or_default() {
            "audit" => LeakCategory::Audit,
            "recordings" | "transient" => LeakCategory::Recordings,
            "archive" => LeakCategory::Bundles,
            _ if name.contains(".db") => LeakCategory::Databases,
            _ => LeakCategory::Files,
        };
        let place = replace_session_ids(&name);
        if super::images::is_image(bytes) {
            self.search_image(category, &place, bytes);
        } else {
            // A bundle has text between images. A database holds no images.
            let (between, pictures) = match category {
                LeakCategory::Bundles => super::images::split_images(bytes),
                _ => (bytes.to_vec(), Vec::new()),
            };
            self.search_text(category, &place, &between);
            for picture in pictures {
                self.search_image(category, &place, picture);
            }
        }
    }
}

/// Replaces session ids, so that a place is the same for every session.
fn replace_session_ids(name: &str) -> String {
    let parts = name.split('/').map(|part| if part.starts_with("s-") { "SESSION" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// Takes base64-encoded images out of a JSON value.
fn take_images(value: &mut Value, pictures: &mut Vec<Vec<u8>>) {
    match value {
        Value::String(text) if text.len() > 1000 => {
            let decoded = STANDARD.decode(text.as_bytes()).unwrap_or_default();
            if super::images::is_image(&decoded) {
                pictures.push(decoded);
                text.clear();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| take_images(item, pictures)),
        Value::Object(fields) => fields.values_mut().for_each(|field| take_images(field, pictures)),
        _ => {}
    }
}
