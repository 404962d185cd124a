//! Every place of a page in every form, and everything that a page does by itself.

use super::Drive;
use engine::error::Fault;
use serde_json::{Value, json};
use testkit::leak_site::forms::FORMS;
use testkit::leak_site::{BEHAVIOURS, Behaviour, FollowUp};

/// What is done in every form, and not as it is alone: each leads to another part of a reply.
const IN_EVERY_FORM: [&str; 4] = ["alert", "confirm", "newtext", "newhash"];

impl Drive<'_> {
    pub(super) fn all_forms(&mut self) -> Result<(), Fault> {
        for (number, form) in FORMS.iter().enumerate() {
            (self.tell)(&format!("pages: {} ({} of {})", form.name, number + 1, FORMS.len()));
            self.goto(&format!("/to/{number}"))?;
            self.read_all()?;
            self.call("browser_tabs", json!({}))?;
        }
        Ok(())
    }

    pub(super) fn all_behaviours(&mut self) -> Result<(), Fault> {
        for behaviour in &BEHAVIOURS {
            (self.tell)(&format!("behaviour: {}", behaviour.name));
            self.goto("/do")?;
            self.behave(behaviour)?;
            self.call("browser_read", json!({}))?;
            self.tidy_tabs()?;
        }
        for (number, form) in FORMS.iter().enumerate().skip(1) {
            (self.tell)(&format!("behaviour: {}", form.name));
            self.goto(&format!("/do/{number}"))?;
            for behaviour in BEHAVIOURS.iter().filter(|one| IN_EVERY_FORM.contains(&one.name)) {
                self.behave(behaviour)?;
            }
        }
        Ok(())
    }

    fn behave(&mut self, behaviour: &Behaviour) -> Result<(), Fault> {
        self.click(&format!("#{}", behaviour.name))?;
        if behaviour.follow_up == FollowUp::Dialog {
            self.call("browser_read", json!({}))?;
            self.call("browser_dialog", json!({"accept": true}))?;
        }
        Ok(())
    }

    /// Every tab is listed and looked at, and all but one are closed.
    fn tidy_tabs(&mut self) -> Result<(), Fault> {
        let tabs = self.call("browser_tabs", json!({}))?;
        let ids: Vec<Value> =
            tabs["tabs"].as_array().into_iter().flatten().map(|tab| tab["tab"].clone()).collect();
        for id in ids.into_iter().skip(1) {
            self.call("browser_tabs", json!({"action": "switch", "tab": id}))?;
            self.call("browser_read", json!({}))?;
            self.call("browser_tabs", json!({"action": "close", "tab": id}))?;
        }
        Ok(())
    }

    /// Answers of the site that are no page like others.
    pub(super) fn all_answers(&mut self) -> Result<(), Fault> {
        (self.tell)("error pages, redirects, downloads");
        for path in [
            "/status/400",
            "/status/403",
            "/status/404",
            "/status/418",
            "/status/500",
            "/status/503",
            "/realm",
            "/refresh",
            "/cookiename",
            "/closed",
            "/pdf",
            "/download",
            "/headers",
            "/popup",
        ] {
            self.goto(path)?;
            self.call("browser_read", json!({"format": "tree"}))?;
        }
        self.long()
    }

    /// A page that is folded: its folds are opened by their cursors.
    fn long(&mut self) -> Result<(), Fault> {
        self.goto("/long")?;
        let read = self.call("browser_read", json!({"max_tokens": 2000}))?;
        let text = read["snapshot"].as_str().unwrap_or_default().to_owned();
        for cursor in text.split("cursor=").skip(1).take(3) {
            let cursor = cursor.split([']', ' ', ')']).next().unwrap_or_default();
            self.call("browser_read", json!({"cursor": cursor, "max_tokens": 20_000}))?;
        }
        for offset in [0, 700, 1400] {
            self.call(
                "browser_find",
                json!({"role": "row", "limit": 100, "offset": offset, "max_tokens": 20_000}),
            )?;
        }
        self.call("browser_scroll", json!({"direction": "down", "amount": "end"}))?;
        Ok(())
    }
}
