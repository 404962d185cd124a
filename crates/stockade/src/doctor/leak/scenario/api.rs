//! Calls every action of the HTTP API, in a separate session.

use super::super::findings::LeakCategory;
use super::super::program::incomplete_run;
use super::operator::parse_json_body;
use super::{CallResults, LeakScenario, collect_names};
use engine::error::Fault;
use serde_json::{Value, json};
use testkit::leak_site::HOST;

impl LeakScenario<'_> {
    pub(super) fn call_all_actions(&mut self) -> Result<(), Fault> {
        (self.progress)("the HTTP API");
        let listed = parse_json_body(&self.server.api("GET", "/v1/actions", &Value::Null)?);
        let offered = collect_names(&listed["actions"], "action");
        let mut called = CallResults::default();
        let opened = self.call_action(&mut called, "session.start", "", self.open_arguments("audit"))?;
        let session = opened["session_id"].as_str().unwrap_or_default().to_owned();
        let url = |path: &str| json!({"url": format!("http://{HOST}{path}")});
        let to = |selector: &str| json!({"selector": selector, "timeout_seconds": 5});
        for (action, arguments) in [
            ("page.goto", url("/")),
            ("page.wait_for", json!({"text": "all is done"})),
            ("page.screenshot", json!({})),
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
            // Of the page before nothing is shown in a signed-in session: it spells sealed secrets out.
            ("page.goto", url("/tools")),
            ("page.new_tab", json!({})),
            ("session.list", json!({})),
            ("session.show", json!({})),
            ("session.pending", json!({})),
        ] {
            self.call_action(&mut called, action, &session, arguments)?;
        }
        let tabs = self.call_action(&mut called, "page.tabs", &session, json!({}))?;
        let tab = json!({ "tab": tabs["data"]["tabs"][1]["tab"] });
        self.call_action(&mut called, "page.switch_tab", &session, tab.clone())?;
        self.call_action(&mut called, "page.close_tab", &session, tab)?;
        self.call_action(&mut called, "session.archive", &session, json!({}))?;
        self.call_action(&mut called, "session.close", &session, json!({}))?;
        let missing = called.missing(&offered);
        if offered.is_empty() || !missing.is_empty() {
            return Err(incomplete_run(format!("these actions were not driven: {}", missing.join(", "))));
        }
        Ok(())
    }

    fn call_action(
        &mut self,
        called: &mut CallResults,
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
        let fields = parse_json_body(&answer);
        called.note(action, fields["success"] == true, &fields);
        self.findings.search_reply(LeakCategory::Api, action, fields.clone());
        Ok(fields)
    }
}
