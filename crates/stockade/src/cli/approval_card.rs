//! One approval request for a terminal of 80 columns: what is asked, then where and why. Text from a page or a request
//! is quoted.

use crate::cli::output::{BAD, BOLD, DIM, GOOD, HINT};
use anstyle::Style;
use engine::approvals::{DOMAIN_APPROVAL_EFFECT, is_other_site};
use jiff::Timestamp;
use serde_json::Value;
use url::Url;

/// The most of one text from a page or a request.
const LONGEST_QUOTE: usize = 200;

pub fn seconds_left(approval: &Value) -> i64 {
    let expires = approval["expires_at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
    expires.map_or(0, |at| at.duration_since(Timestamp::now()).as_secs().max(0))
}

/// Renders a request in lines of at most 80 columns: the held request first, then the action before it, then the rest.
pub fn render_card(approval: &Value) -> String {
    let (style, pill) = risk_pill(approval);
    let mut card = Rows(format!("{style}{pill}{style:#}  {DIM}{}{DIM:#}\n", text_field(approval, "id")));
    let effect = &approval["effect"];
    let is_held = effect.is_object();
    if is_held {
        card.add("does", &text_field(approval, "description"));
        card.add_effect(effect);
    }
    card.add(if is_held { "after" } else { "action" }, &text_field(approval, "action"));
    card.add_element(approval);
    card.add("enters", &quote_page_text(approval, "input"));
    card.add("domain", &text_field(approval, "domain"));
    card.add(if is_held { "page" } else { "address" }, &quote_page_text(approval, "url"));
    let (why, rule) = (text_field(approval, "description"), text_field(approval, "rule"));
    card.add("why", &if is_held { format!("rule {rule}") } else { format!("{why} ({rule})") });
    card.add("because", &render_facts(&approval["because"]));
    card.add("agent", &format!("{}, session {}", scope(approval), text_field(approval, "session")));
    if approval["irreversible"] == true {
        card.0.push_str(&format!("  {BAD}This cannot be undone.{BAD:#}\n"));
    }
    if approval["kind"] == "domain" {
        card.add("if approved", DOMAIN_APPROVAL_EFFECT);
    }
    let session = render_facts(&approval["for_session"]);
    if !session.is_empty() && is_held {
        let domain = text_field(approval, "domain");
        card.add(
            "s means",
            &format!("no more questions for requests to {domain} with {session}, whatever their values"),
        );
    } else if !session.is_empty() {
        card.add("s means", &format!("no more questions for exactly {session}"));
    }
    if matches!(approval["state"].as_str(), None | Some("waiting")) {
        card.0.push_str(&format!("  {GOOD}Denied by itself in {} s.{GOOD:#}\n", seconds_left(approval)));
    }
    card.0
}

/// One decided request in two lines: the answer, then what was asked and where.
pub fn render_decided(approval: &Value) -> String {
    let by = text_field(approval, "decided_by");
    let by = if by.is_empty() { by } else { format!(" by {by}") };
    let line = format!(
        "{}{by}, {} risk, {}",
        text_field(approval, "state"),
        text_field(approval, "risk"),
        scope(approval)
    );
    let acted = match quote_page_text(&approval["element"], "name") {
        name if name.is_empty() => text_field(approval, "action"),
        name => {
            let role = quote_page_text(&approval["element"], "role");
            format!("{} on {role} {name}", text_field(approval, "action"))
        }
    };
    let effect = &approval["effect"];
    let what = if effect.is_object() {
        let (method, address) = (text_field(effect, "method"), place(effect, "address"));
        format!("{}: {method} {address}, after {acted}", text_field(approval, "description"))
    } else {
        format!("{acted} at {}", place(approval, "url"))
    };
    let id = text_field(approval, "id");
    let mut out = format!("{id}  {line}\n");
    for line in wrap(&what, 78) {
        out.push_str(&format!("  {DIM}{line}{DIM:#}\n"));
    }
    out
}

fn risk_pill(approval: &Value) -> (Style, String) {
    let style = match approval["risk"].as_str() {
        Some("critical") => BAD,
        Some("high") => HINT,
        _ => BOLD,
    };
    let pill = match approval["kind"].as_str() {
        Some("guidance") => "PAUSED".to_owned(),
        Some("effect") => format!("{} RISK, WAITS TO BE SENT", text_field(approval, "risk").to_uppercase()),
        _ => format!("{} RISK", text_field(approval, "risk").to_uppercase()),
    };
    (style, pill)
}

/// Lines of names and values.
struct Rows(String);

impl Rows {
    fn add(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.0.push_str(&render_row(name, value));
        }
    }

    /// What will be sent: method and address, operations, and each field with its value.
    fn add_effect(&mut self, effect: &Value) {
        self.add(
            "sends",
            &format!("{} {}", text_field(effect, "method"), quote_page_text(effect, "address")),
        );
        self.add("names", &render_facts(&effect["operations"]));
        for field in effect["fields"].as_array().into_iter().flatten() {
            let value = match field["value"].as_str() {
                Some(value) if !value.is_empty() => quote(value),
                _ => "(empty)".to_owned(),
            };
            let shown = field["value"].as_str().map_or(0, str::len);
            let cut = match field["length"].as_u64() {
                Some(length) if field["is_cut"] == true || shown > LONGEST_QUOTE => {
                    format!(" (cut; {length} bytes in all)")
                }
                _ => String::new(),
            };
            self.add("with", &format!("{} = {value}{cut}", quote_page_text(field, "name")));
        }
        let omitted = effect["omitted_fields"].as_u64().unwrap_or_default();
        if omitted > 0 {
            self.add("", &format!("and {omitted} more fields"));
        }
        let (body, bytes) = (text_field(effect, "body"), effect["body_bytes"].as_u64().unwrap_or_default());
        if bytes > 0 {
            self.add("body", &format!("{body}, {bytes} bytes"));
        }
    }

    fn add_element(&mut self, approval: &Value) {
        let (element, url) = (&approval["element"], approval["url"].as_str().unwrap_or_default());
        if !element.is_object() {
            return;
        }
        self.add("on", &format!("{} {}", quote_page_text(element, "role"), quote_page_text(element, "name")));
        let shows = element["text"].as_str().filter(|shows| Some(*shows) != element["name"].as_str());
        let frame = element["origin"].as_str().filter(|it| is_other_site(url, it));
        self.add("in frame of", &frame.map(quote).unwrap_or_default());
        self.add("shows", &shows.map(quote).unwrap_or_default());
        self.add("sends form", &quote_page_text(element, "form_target"));
        self.add("by button", &quote_page_text(element, "form_button"));
        self.add("leads to", &quote_page_text(element, "href"));
    }
}

fn scope(approval: &Value) -> String {
    format!("{}/{}", text_field(approval, "tenant"), text_field(approval, "actor"))
}

/// Host and path of an address, or all of it.
fn place(value: &Value, key: &str) -> String {
    let text = value[key].as_str().unwrap_or_default();
    match Url::parse(text) {
        Ok(url) => {
            let host = url.host_str().unwrap_or_default();
            audit::sanitize_within(&format!("{host}{}", url.path().trim_end_matches('/')), LONGEST_QUOTE)
        }
        Err(_) => quote(text),
    }
}

fn render_facts(list: &Value) -> String {
    let parts = list.as_array().into_iter().flatten();
    let parts: Vec<String> = parts
        .map(|said| format!("{} {}", text_field(said, "what"), quote_page_text(said, "words")))
        .collect();
    parts.join(", ")
}

/// Quotes text from a page; empty text stays empty.
fn quote_page_text(value: &Value, key: &str) -> String {
    value[key].as_str().filter(|words| !words.is_empty()).map(quote).unwrap_or_default()
}

/// Sanitized, truncated, without quotes of its own.
fn quote(words: &str) -> String {
    format!("\"{}\"", audit::sanitize_within(words, LONGEST_QUOTE).replace('"', "'"))
}

pub fn text_field(value: &Value, key: &str) -> String {
    value[key].as_str().map(audit::sanitize).unwrap_or_default()
}

/// A name and its value, in lines of at most 80 columns.
pub fn render_row(name: &str, value: &str) -> String {
    const ROOM: usize = 80 - 15;
    let mut out = String::new();
    for (index, line) in wrap(value, ROOM).iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        out.push_str(&format!("  {DIM}{name:<12}{DIM:#} {line}\n"));
    }
    out
}

/// Breaks anywhere: page text may have no blanks.
fn wrap(text: &str, room: usize) -> Vec<String> {
    use unicode_width::UnicodeWidthChar;
    let mut lines = vec![String::new()];
    let mut used = 0;
    for character in text.chars() {
        let width = character.width().unwrap_or(0);
        if used + width > room {
            lines.push(String::new());
            used = 0;
        }
        used += width;
        if let Some(line) = lines.last_mut() {
            line.push(character);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn a_card_fits_80_columns_and_page_text_stays_quoted() {
        let hostile = "Delete\u{1b}[2J\"\n  domain       bank.test\u{202e}";
        let card = render_card(&json!({
            "id": "ap-1", "kind": "action", "risk": "critical", "action": "click", "domain": "shop.test",
            "url": format!("http://shop.test/{}", "語".repeat(200)), "description": "It destroys", "rule": "words.destroy",
            "element": {"role": "button", "name": hostile, "text": "Save"},
            "because": [{"what": "name", "words": hostile}], "irreversible": true, "expires_at": "2020-01-01T00:00:00Z",
        }));
        let plain = anstream::adapter::strip_str(&card).to_string();
        for line in plain.lines() {
            assert!(line.width() <= 80, "{}: {line}", line.width());
        }
        assert!(!card.contains("\u{1b}[2J") && !plain.contains('\u{202e}'), "{card:?}");
        let domains: Vec<&str> =
            plain.lines().filter(|line| line.trim_start().starts_with("domain")).collect();
        assert_eq!(domains, ["  domain       shop.test"]);
        assert!(plain.contains("This cannot be undone.") && plain.contains("CRITICAL RISK"), "{plain}");
    }

    #[test]
    fn a_card_names_the_frames_site_if_it_is_not_the_pages() {
        for (url, origin, expected) in [
            ("http://shop.test/x", "http://shop.test", None),
            ("http://shop.test:80/x", "http://shop.test", None),
            ("http://shop.test/x", "http://bank.test", Some("bank.test")),
            ("http://shop.test.evil.test/", "http://shop.test", Some("shop.test")),
            ("http://shop.test:8080/", "http://shop.test", Some("shop.test")),
            ("http://shop.test/", "null", Some("null")),
            ("http://shop.test/", "", None),
        ] {
            let element = json!({"role": "button", "name": "Go", "text": "Go", "origin": origin});
            let card = render_card(&json!({"id": "ap-1", "risk": "high", "url": url, "element": element}));
            let plain = anstream::adapter::strip_str(&card).to_string();
            let row = plain.lines().find(|line| line.trim_start().starts_with("in frame of"));
            assert_eq!(row.is_some(), expected.is_some(), "{url} {origin}: {plain}");
            assert!(expected.is_none_or(|site| row.unwrap().contains(site)), "{plain}");
        }
    }

    #[test]
    fn a_held_request_shows_what_will_be_sent_before_all_else() {
        let effect = json!({
            "method": "POST", "address": "https://shop.test/items/3/delete?confirm=1", "body": "form", "body_bytes": 5_020,
            "operations": [], "omitted_fields": 2, "digest": "abc",
            "fields": [
                {"name": "id", "value": "3", "length": 1, "is_cut": false},
                {"name": "note", "value": "x".repeat(500), "length": 5000, "is_cut": true},
                {"name": "tag", "value": "", "length": 0, "is_cut": false},
            ],
        });
        let approval = json!({
            "id": "ap-1", "kind": "effect", "state": "waiting", "risk": "high", "action": "click", "domain": "shop.test",
            "url": "https://shop.test/items", "description": "deletes something", "rule": "effect.destroy",
            "tenant": "team", "actor": "bot", "session": "s-1", "effect": effect,
            "element": {"role": "button", "name": "Delete", "text": "Delete", "origin": "https://shop.test"},
            "for_session": [{"what": "method", "words": "POST"}, {"what": "path", "words": "/items/*/delete"}],
        });
        let plain = anstream::adapter::strip_str(&render_card(&approval)).to_string();
        for line in plain.lines() {
            assert!(line.width() <= 80, "{}: {line}", line.width());
        }
        let names: Vec<&str> = plain
            .lines()
            .filter_map(|line| line.get(2..14).map(str::trim))
            .filter(|name| !name.is_empty())
            .collect();
        assert_eq!(names[1..8], ["does", "sends", "with", "with", "with", "body", "after"], "{plain}");
        for part in [
            "POST \"https://shop.test/items/3/delete?confirm=1\"",
            "\"id\" = \"3\"\n",
            "(cut; 5000 bytes in all)",
            "\"tag\" = (empty)",
            "and 2 more fields",
            "\"button\" \"Delete\"",
            "path \"/items/*/delete\"",
        ] {
            assert!(plain.replace("\n               ", "").contains(part), "{part} in {plain}");
        }
        let decided = anstream::adapter::strip_str(&render_decided(&approval)).to_string();
        assert!(
            decided.contains("deletes something: POST shop.test/items/3/delete, after click on"),
            "{decided}"
        );
    }
}
