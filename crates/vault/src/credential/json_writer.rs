//! Writes a credential as JSON, straight into memory that is wiped.

use crate::credential::{Cookie, NamedValue, PageCondition};
use redact::SendIn;
use zeroize::Zeroizing;

/// JSON that is written straight into wiped memory.
pub(super) struct Json(pub(super) Zeroizing<String>);

impl Json {
    fn separate(&mut self) {
        if !self.0.ends_with(['{', '[', ':']) && !self.0.is_empty() {
            self.0.push(',');
        }
    }

    pub(super) fn open(&mut self, bracket: char) {
        self.separate();
        self.0.push(bracket);
    }

    pub(super) fn close(&mut self, bracket: char) {
        self.0.push(bracket);
    }

    pub(super) fn name(&mut self, name: &str) {
        self.separate();
        self.quoted(name);
        self.0.push(':');
    }

    pub(super) fn raw(&mut self, name: &str, value: &str) {
        self.name(name);
        self.0.push_str(value);
    }

    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        self.quoted(value);
    }

    fn quoted(&mut self, text: &str) {
        self.0.push('"');
        for c in text.chars() {
            match c {
                '"' => self.0.push_str("\\\""),
                '\\' => self.0.push_str("\\\\"),
                c if u32::from(c) < 0x20 => self.0.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => self.0.push(c),
            }
        }
        self.0.push('"');
    }

    pub(super) fn entries(&mut self, name: &str, entries: &[NamedValue]) {
        self.name(name);
        self.open('{');
        for entry in entries {
            if entry.value.is_secret {
                self.text(&entry.name, entry.value.text.expose_secret());
            } else {
                self.name(&entry.name);
                self.open('{');
                self.text("value", entry.value.text.expose_secret());
                self.raw("secret", "false");
                self.close('}');
            }
        }
        self.close('}');
    }

    pub(super) fn send_in(&mut self, places: &[SendIn]) {
        if places.is_empty() {
            return;
        }
        self.name("send_in");
        self.open('{');
        for kind in SendIn::KINDS {
            let of_kind: Vec<&str> =
                places.iter().filter(|place| place.kind() == kind).map(SendIn::place).collect();
            if of_kind.is_empty() {
                continue;
            }
            self.name(kind);
            self.open('[');
            for place in of_kind {
                self.separate();
                self.quoted(place);
            }
            self.close(']');
        }
        self.close('}');
    }

    pub(super) fn cookie(&mut self, cookie: &Cookie) {
        self.open('{');
        self.text("name", &cookie.name);
        self.text("value", cookie.value.text.expose_secret());
        if let Some(domain) = &cookie.domain {
            self.text("domain", &format!(".{domain}"));
        }
        self.text("path", &cookie.path);
        if let Some(expires) = cookie.expires {
            self.raw("expires", &expires.to_string());
        }
        self.raw("httpOnly", if cookie.http_only { "true" } else { "false" });
        self.raw("secure", if cookie.secure { "true" } else { "false" });
        if let Some(same_site) = cookie.same_site {
            self.text("sameSite", same_site.as_str());
        }
        if let Some(priority) = cookie.priority {
            self.text("priority", priority.as_str());
        }
        if let Some(key) = &cookie.partition_key {
            self.text("partitionKey", key);
        }
        if !cookie.value.is_secret {
            self.raw("secret", "false");
        }
        self.close('}');
    }

    pub(super) fn condition(&mut self, name: &str, condition: Option<&PageCondition>) {
        let Some(condition) = condition else { return };
        self.name(name);
        self.open('{');
        for (name, value) in [("text", &condition.text), ("path", &condition.path)] {
            if let Some(value) = value {
                self.text(name, value);
            }
        }
        self.close('}');
    }
}
