//! Calls the tools that act on elements, takes screenshots, and guesses values.

use super::super::findings::LeakCategory;
use super::LeakScenario;
use engine::error::Fault;
use serde_json::{Value, json};

/// The length of a guessed prefix: too short to be a finding.
const GUESS: usize = 10;

impl LeakScenario<'_> {
    pub(super) fn call_all_tools(&mut self) -> Result<(), Fault> {
        (self.progress)("every tool that acts");
        let to = |selector: &str| json!({"selector": selector, "timeout_seconds": 5});
        let with = |selector: &str, more: Value| {
            let mut arguments = to(selector);
            if let (Value::Object(arguments), Value::Object(more)) = (&mut arguments, more) {
                arguments.extend(more);
            }
            arguments
        };
        let calls = [
            ("browser_hover", to("#hover")),
            ("browser_type", with("#type", json!({"text": "anything"}))),
            ("browser_select", with("#select", json!({"option_index": 1}))),
            ("browser_select", with("#select", json!({"option": "there is no such option"}))),
            ("browser_check", to("#check")),
            ("browser_press_key", with("#press", json!({"key": "a"}))),
            ("browser_drag", with("#drag", json!({"to": {"selector": "#drop"}}))),
            ("browser_scroll", to("#far")),
            ("browser_scroll", json!({"direction": "up", "amount": "end"})),
            ("browser_wait_for", json!({"text": "late"})),
            ("browser_wait_for", json!({"text": "never there", "timeout_seconds": 1})),
            ("browser_wait_for", json!({"url": "*never*", "timeout_seconds": 1})),
            ("browser_click", to("#covered")),
            ("browser_click", json!({"role": "button", "name": "there is none", "timeout_seconds": 1})),
            ("browser_click", json!({"role": "button", "index": 99, "timeout_seconds": 1})),
            ("browser_click", with("#hover", json!({"count": 2, "after_screenshot": true}))),
            ("browser_click", json!({"x": 20, "y": 40})),
            ("browser_type", with("#drop", json!({"text": "not a field"}))),
            ("browser_check", to("#type")),
            ("browser_dialog", json!({"accept": true})),
            ("browser_read", json!({"root": "e99999"})),
            ("browser_read", json!({"cursor": "c9.1-2"})),
            ("browser_tabs", json!({"action": "switch", "tab": "t99"})),
        ];
        for (tool, arguments) in calls {
            self.goto("/tools")?;
            self.call(tool, arguments)?;
            self.call("browser_read", json!({}))?;
        }
        // Of a page that spells secrets out no reply is given.
        for path in ["/tools", "/tools?again", "/tools"] {
            self.goto(path)?;
        }
        for tool in ["browser_back", "browser_back", "browser_forward", "browser_reload"] {
            self.call(tool, json!({"full": true}))?;
        }
        self.call("browser_tabs", json!({"action": "new"}))?;
        Ok(())
    }

    /// Requests approval for an element whose name holds canaries.
    pub(super) fn request_approval(&mut self) -> Result<(), Fault> {
        self.goto("/tools")?;
        self.call("browser_click", json!({"selector": "#delete", "wait": false}))?;
        self.call("browser_pending", json!({}))?;
        Ok(())
    }

    pub(super) fn take_screenshots(&mut self) -> Result<(), Fault> {
        (self.progress)("pictures");
        // Of the next page none is given in a signed-in session: it spells sealed secrets out.
        self.load_start_page()?;
        self.call("browser_screenshot", json!({}))?;
        self.goto("/pictures")?;
        let shots = [
            json!({}),
            json!({"full_page": true, "include_base64": true}),
            json!({"selector": "body"}),
            json!({"selector": "p"}),
        ];
        for shot in shots {
            let taken = self.call("browser_screenshot", shot)?;
            if let Some(id) = taken["screenshot_id"].as_str() {
                self.fetch_screenshot(id)?;
            }
        }
        self.call("browser_scroll", json!({"direction": "down", "amount": 300, "after_screenshot": true}))?;
        Ok(())
    }

    /// Fetches a screenshot as an MCP resource and over HTTP.
    fn fetch_screenshot(&mut self, id: &str) -> Result<(), Fault> {
        let listed = self.agent.request("resources/templates/list", &json!({}))?;
        let template = listed["result"]["resourceTemplates"][0]["uriTemplate"].as_str().unwrap_or_default();
        let open = template.find('{').unwrap_or(template.len());
        let uri = format!("{}{id}", &template[..open]);
        let read = self.agent.request("resources/read", &json!({ "uri": uri }))?;
        self.findings.search_reply(LeakCategory::Replies, "resource", read);
        let answer = self.server.api("GET", &format!("/v1/screenshots/{id}"), &Value::Null)?;
        let body = answer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .map_or(&answer[..], |at| &answer[at + 4..]);
        if body.starts_with(b"\x89PNG") {
            self.findings.search_image(LeakCategory::Pictures, "GET /v1/screenshots", body);
        } else {
            self.findings.search_text(LeakCategory::Api, "GET /v1/screenshots", &answer);
        }
        Ok(())
    }

    /// Calls tools with canary prefixes. A reply must not confirm a guess: letter by letter, that reveals the value.
    pub(super) fn try_guesses(&mut self) -> Result<(), Fault> {
        (self.progress)("guesses");
        self.goto("/form/0")?;
        let begins: Vec<String> =
            self.canaries.all().iter().map(|canary| canary.value[..GUESS].to_owned()).collect();
        for begin in &begins {
            self.try_guess("browser_find", json!({ "text": begin }))?;
            self.try_guess("browser_find", json!({ "regex": format!("{begin}.") }))?;
            self.try_guess("browser_wait_for", json!({ "text": begin, "timeout_seconds": 0.3 }))?;
            self.try_guess("browser_hover", json!({ "visible_text": begin, "timeout_seconds": 0.3 }))?;
            self.try_guess(
                "browser_hover",
                json!({ "role": "button", "name": begin, "timeout_seconds": 0.3 }),
            )?;
        }
        self.goto("/list")?;
        for begin in &begins {
            self.try_guess("browser_select", json!({ "selector": "#list", "option": begin }))?;
        }
        Ok(())
    }

    fn try_guess(&mut self, tool: &'static str, arguments: Value) -> Result<(), Fault> {
        let answer = self.call(tool, arguments)?;
        let right = match tool {
            "browser_find" => answer["total"].as_u64() != Some(0),
            _ => answer["success"] == true,
        };
        self.findings.record_guess(tool, right);
        Ok(())
    }
}
