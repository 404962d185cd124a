//! Secret fields over MCP: no reply shows their values or lengths, whatever is requested.

use crate::common;
#[path = "../../browser/tests/driver/secret_fields.rs"]
mod ways;

use common::site::Site;
use common::{Home, Mcp};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use ways::{PLACES, Seen, WAYS, page};

/// The prefix of every secret.
const SECRET: &str = "hunter2";
/// Two lengths between which no reply may differ by a byte.
const LENGTHS: [usize; 2] = [137, 1373];
/// A budget that folds most of the page.
const FEW_TOKENS: u32 = 400;

/// A session on one page, and the bytes of every reply.
struct Reader {
    mcp: Mcp,
    session: String,
    replies: Vec<(String, String)>,
}

impl Reader {
    /// The bytes and fields of a reply that must succeed.
    fn ask(&mut self, tool: &str, mut arguments: Value) -> Value {
        let asked = format!("{tool} {arguments}");
        arguments["session_id"] = json!(self.session);
        let answer = self.mcp.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let fields = answer["result"]["structuredContent"].clone();
        assert_eq!(fields["success"], true, "{asked}: {answer}");
        let bytes = answer["result"].to_string().replace(&self.session, "SESSION");
        self.replies.push((asked, unmarked(&bytes)));
        fields
    }

    /// Every way to read the page.
    fn ask_everything(&mut self) {
        for format in ["outline", "tree", "markdown"] {
            self.ask("browser_read", json!({"format": format}));
            self.follow_cursors(format);
        }
        for find in [
            json!({"text": SECRET}),
            json!({"regex": "hunter."}),
            json!({"regex": "^.{100,}$"}),
            json!({"role": "textbox"}),
            json!({"name": SECRET}),
            json!({"name": "by", "max_tokens": FEW_TOKENS}),
        ] {
            self.ask("browser_find", find);
        }
        self.ask("browser_read_dom", json!({}));
        let whole = self.ask("browser_read", json!({}));
        let refs: Vec<_> = whole["snapshot"].as_str().unwrap().split("[ref=").skip(1).take(6).collect();
        for reference in refs {
            self.ask("browser_read", json!({"root": reference.split(']').next()}));
        }
    }

    /// Opens every fold, and every fold in it, in the same format.
    fn follow_cursors(&mut self, format: &str) {
        let read = |more: Value| {
            let mut all = json!({"format": format, "max_tokens": FEW_TOKENS});
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        let first = self.ask("browser_read", read(json!({})));
        let mut waiting = cursors(&first);
        let mut opened = BTreeSet::new();
        assert!(!waiting.is_empty(), "{format}: nothing was folded: {first}");
        while let Some(cursor) = waiting.pop() {
            if opened.insert(cursor.clone()) {
                waiting.extend(cursors(&self.ask("browser_read", read(json!({"cursor": cursor})))));
            }
        }
    }
}

/// Cursors in a reply, such as `c3.120-480`.
fn cursors(fields: &Value) -> Vec<String> {
    let text = fields.to_string();
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-'));
    let is_cursor = |word: &&str| {
        word.strip_prefix('c').and_then(|rest| rest.split_once('.')).is_some_and(|(serial, range)| {
            let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            number(serial) && range.split_once('-').is_some_and(|(from, to)| number(from) && number(to))
        })
    };
    words.filter(is_cursor).map(str::to_owned).collect()
}

/// Removes the ids of delimiters, which are new in each reply.
fn unmarked(bytes: &str) -> String {
    let mut plain = bytes.to_owned();
    for fence in ["<page:", "</page:"] {
        let parts: Vec<_> = plain.split(fence).map(str::to_owned).collect();
        plain = parts[0].clone();
        for part in &parts[1..] {
            let (_, rest) = part.split_once('>').unwrap();
            plain.push_str(&format!("{fence}>{rest}"));
        }
    }
    plain
}

/// The replies to a reader of the page at `place` with secrets of this length, before and after they are shown.
fn replies(place: &str, script: &str, length: usize) -> Vec<(String, String)> {
    let ways: Vec<_> = WAYS.iter().collect();
    let value = format!("{SECRET}-{}", "x".repeat(length - SECRET.len() - 1));
    let site = Site::serve(&[("/", &page(&value, script, "", &ways))]);
    let settings = "    max_actions_per_session: 1000\n    read_dom: true\n    session_timeout: 600\n";
    let home = Home::new(&format!("{settings}{}", site.setting(&["secrets.test"])));
    let mut mcp = home.mcp();
    let session = mcp.open();
    let mut reader = Reader { mcp, session, replies: Vec::new() };
    let first = reader.ask("browser_navigate", json!({"url": "http://secrets.test/"}));
    assert!(first["snapshot"].as_str().unwrap().contains("[secret]"), "{place}: {first}");
    reader.ask_everything();
    let delta = reader.ask("browser_click", json!({"role": "button", "name": "Show"}));
    assert_eq!(delta["delta"], true, "{place}: {delta}");
    reader.ask("browser_click", json!({"role": "button", "name": "Show", "full": true}));
    reader.ask_everything();
    reader.replies
}

#[test]
fn no_reply_reveals_a_secret_or_its_length() {
    assert!(WAYS.iter().any(|(.., seen)| *seen == Seen::OnceRead));
    for (place, script) in PLACES.into_iter().filter(|(place, _)| *place != "open") {
        let [short, long] = LENGTHS.map(|length| replies(place, script, length));
        for (asked, bytes) in short.iter().chain(&long) {
            for word in [SECRET, "xxxxx", "•", "137"] {
                assert!(!bytes.contains(word), "{place}, {asked}: {word:?} in {bytes}");
            }
        }
        for (one, other) in short.iter().zip(&long) {
            assert_eq!(one, other, "{place}: the length is a secret too");
        }
        assert_eq!(short.len(), long.len(), "{place}");
        // Every field was reached, page by page: its label is shown.
        let paged =
            short.iter().filter(|(asked, _)| asked.contains("browser_read") && asked.contains("max_tokens"));
        let paged: String = paged.map(|(_, bytes)| bytes.as_str()).collect();
        for (id, ..) in WAYS.iter().filter(|(id, ..)| *id != "hidden") {
            assert!(paged.contains(&format!("Label {id}")), "{place}: {id}");
        }
    }
}
