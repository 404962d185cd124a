//! Visits pages with canaries in every place and encoding, and triggers page behaviours.

use super::LeakScenario;
use engine::error::Fault;
use serde_json::{Value, json};
use testkit::leak_site::forms::FORMS;
use testkit::leak_site::{BEHAVIOURS, Behaviour, FollowUp};

/// Behaviours that are triggered with every encoding: each affects another part of a reply.
const IN_EVERY_FORM: [&str; 4] = ["alert", "confirm", "newtext", "newhash"];

impl LeakScenario<'_> {
    pub(super) fn visit_all_forms(&mut self) -> Result<(), Fault> {
        for (number, form) in FORMS.iter().enumerate() {
            (self.progress)(&format!("pages: {} ({} of {})", form.name, number + 1, FORMS.len()));
            self.goto(&format!("/to/{number}"))?;
            self.read_all()?;
            self.call("browser_tabs", json!({}))?;
        }
        Ok(())
    }

    pub(super) fn trigger_all_behaviours(&mut self) -> Result<(), Fault> {
        for behaviour in &BEHAVIOURS {
            (self.progress)(&format!("behaviour: {}", behaviour.name));
            self.goto("/do")?;
            self.trigger(behaviour)?;
            self.call("browser_read", json!({}))?;
            self.close_extra_tabs()?;
        }
        for (number, form) in FORMS.iter().enumerate().skip(1) {
            (self.progress)(&format!("behaviour: {}", form.name));
            self.goto(&format!("/do/{number}"))?;
            for behaviour in BEHAVIOURS.iter().filter(|one| IN_EVERY_FORM.contains(&one.name)) {
                self.trigger(behaviour)?;
            }
        }
        Ok(())
    }

    fn trigger(&mut self, behaviour: &Behaviour) -> Result<(), Fault> {
        self.click(&format!("#{}", behaviour.name))?;
        if behaviour.follow_up == FollowUp::Dialog {
            self.call("browser_read", json!({}))?;
            self.call("browser_dialog", json!({"accept": true}))?;
        }
        Ok(())
    }

    /// Reads every tab, then closes all but the first.
    fn close_extra_tabs(&mut self) -> Result<(), Fault> {
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

    /// Visits error pages, redirects and downloads.
    pub(super) fn visit_special_responses(&mut self) -> Result<(), Fault> {
        (self.progress)("error pages, redirects, downloads");
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
        self.read_folded_page()
    }

    /// Reads a folded page and opens its folds by cursor.
    fn read_folded_page(&mut self) -> Result<(), Fault> {
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
