//! Every action name of the HTTP API, in a session of its own.

use super::super::ledger::Category;
use super::super::program::unfinished;
use super::operator::json_of;
use super::{Drive, names, not_driven};
use engine::error::Fault;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testkit::leak_site::HOST;

impl Drive<'_> {
    pub(super) fn api(&mut self) -> Result<(), Fault> {
        (self.tell)("the HTTP API");
        let listed = json_of(&self.server.api("GET", "/v1/actions", &Value::Null)?);
        let offered = names(&listed["actions"], "action");
        let mut worked = BTreeSet::new();
        let opened = self.act(&mut worked, "session.start", "", self.opening("audit"))?;
        let session = opened["session_id"].as_str().unwrap_or_default().to_owned();
        let url = |path: &str| json!({"url": format!("http://{HOST}{path}")});
        let to = |selector: &str| json!({"selector": selector, "timeout_seconds": 5});
        for (action, arguments) in [
            ("page.goto", url("/")),
            ("page.wait_for", json!({"text": "all is done"})),
            ("page.goto", url("/to/0")),
            ("page.extract", json!({})),
            ("page.extract", json!({"mode": "title"})),
            ("page.read", json!({"format": "tree", "max_tokens": 50_000})),
            ("page.find", json!({"regex": "."})),
            ("page.search_text", json!({"text": "e"})),
            ("page.read_dom", json!({})),
            ("page.tabs", json!({})),
            ("page.goto", url("/do")),
            ("page.click", to("#confirm")),
            ("page.dialog", json!({"accept": false})),
            ("page.goto", url("/tools")),
            ("page.hover", to("#hover")),
            ("page.type", json!({"selector": "#type", "text": "x"})),
            ("page.select", json!({"selector": "#select", "option_index": 1})),
            ("page.check", to("#check")),
            ("page.press", json!({"selector": "#press", "key": "a"})),
            ("page.drag", json!({"selector": "#drag", "to": {"selector": "#drop"}})),
            ("page.scroll", json!({"direction": "down"})),
            ("page.wait_for", json!({"text": "late"})),
            ("page.reload", json!({})),
            ("page.back", json!({})),
            ("page.forward", json!({})),
            ("page.goto", url("/pictures")),
            ("page.screenshot", json!({"include_base64": true})),
            ("page.new_tab", json!({})),
            ("session.list", json!({})),
            ("session.show", json!({})),
            ("session.pending", json!({})),
        ] {
            self.act(&mut worked, action, &session, arguments)?;
        }
        let tabs = self.act(&mut worked, "page.tabs", &session, json!({}))?;
        let tab = json!({ "tab": tabs["data"]["tabs"][1]["tab"] });
        self.act(&mut worked, "page.switch_tab", &session, tab.clone())?;
        self.act(&mut worked, "page.close_tab", &session, tab)?;
        self.act(&mut worked, "session.archive", &session, json!({}))?;
        self.act(&mut worked, "session.close", &session, json!({}))?;
        let missing = not_driven(&offered, &worked);
        if offered.is_empty() || !missing.is_empty() {
            return Err(unfinished(format!("these actions were not driven: {}", missing.join(", "))));
        }
        Ok(())
    }

    fn act(
        &mut self,
        worked: &mut BTreeSet<String>,
        action: &str,
        session: &str,
        arguments: Value,
    ) -> Result<Value, Fault> {
        let mut request = json!({"action": action});
        if let (Value::Object(request), Value::Object(arguments)) = (&mut request, arguments) {
            request.extend(arguments);
        }
        if !session.is_empty() && !matches!(action, "session.list" | "session.pending") {
            request["session_id"] = json!(session);
        }
        let answer = self.server.api("POST", "/v1/actions", &request)?;
        let fields = json_of(&answer);
        if fields["success"] == true {
            worked.insert(action.to_owned());
        }
        self.ledger.reply(Category::Api, action, fields.clone());
        Ok(fields)
    }
}
