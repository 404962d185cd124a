//! Calls every tool on the leak site and searches every reply.

mod api;
mod forms;
mod operator;
mod tools;

pub use operator::PASSWORD;

use super::findings::{LeakCategory, LeakFindings};
use super::memory::MemorySearcher;
use super::program::{AgentProcess, ServerProcess, TestInstance, incomplete_run};
use engine::error::Fault;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use testkit::leak_site::canary::{Canaries, Kind, THEME};
use testkit::leak_site::forms::FORMS;
use testkit::leak_site::{HOST, Site};

/// The largest token budget of a reply.
const MOST_TOKENS: u32 = 50_000;

pub struct LeakScenario<'r> {
    pub instance: &'r TestInstance,
    pub server: &'r ServerProcess,
    pub findings: &'r mut LeakFindings,
    pub canaries: &'r Canaries,
    pub site: &'r Site,
    /// The grant for the credential; without one the session is clean, and nothing is redacted.
    pub grant: Option<String>,
    pub progress: &'r mut dyn FnMut(&str),
    agent: AgentProcess,
    session: String,
    tools: CallResults,
}

/// What came of the calls of each tool or action.
#[derive(Default)]
struct CallResults {
    /// At least one call succeeded.
    worked: BTreeSet<String>,
    /// The last error code of each that failed.
    failed: BTreeMap<String, String>,
}

impl CallResults {
    fn note(&mut self, name: &str, worked: bool, fields: &Value) {
        if worked {
            self.worked.insert(name.to_owned());
        } else {
            let code = fields["error"]["code"].as_str().unwrap_or("no error code");
            self.failed.insert(name.to_owned(), code.to_owned());
        }
    }

    /// Those on offer that never succeeded, with their error codes.
    fn missing(&self, offered: &[String]) -> Vec<String> {
        let missing = offered.iter().filter(|name| !self.worked.contains(*name));
        let described = missing.map(|name| match self.failed.get(name) {
            Some(code) => format!("{name} ({code})"),
            None => name.clone(),
        });
        described.collect()
    }
}

impl<'r> LeakScenario<'r> {
    pub fn new(
        instance: &'r TestInstance,
        server: &'r ServerProcess,
        findings: &'r mut LeakFindings,
        site: &'r Site,
        canaries: &'r Canaries,
        grant: Option<String>,
        progress: &'r mut dyn FnMut(&str),
    ) -> Result<LeakScenario<'r>, Fault> {
        let agent = instance.agent()?;
        let (session, tools) = (String::new(), CallResults::default());
        Ok(LeakScenario {
            instance,
            server,
            findings,
            canaries,
            site,
            grant,
            progress,
            agent,
            session,
            tools,
        })
    }

    /// Runs all parts; fails if a listed tool never succeeded.
    pub fn run(&mut self) -> Result<(), Fault> {
        let listed = self.agent.request("tools/list", &json!({}))?;
        let tools = collect_names(&listed["result"]["tools"], "name");
        self.search_jail()?;
        // Page text needs no recorded images; the next session records all.
        self.open_session("transient")?;
        self.load_start_page()?;
        self.visit_all_forms()?;
        self.trigger_all_behaviours()?;
        self.visit_special_responses()?;
        self.try_guesses()?;
        self.call("browser_close_session", json!({}))?;
        self.open_session("audit")?;
        self.load_start_page()?;
        self.call_all_tools()?;
        self.take_screenshots()?;
        self.visit_operator_views()?;
        self.call_all_actions()?;
        self.call("browser_close_session", json!({}))?;
        // A tool without a successful call is untested.
        let missing = self.tools.missing(&tools);
        if tools.is_empty() || !missing.is_empty() {
            return Err(incomplete_run(format!("these tools were not driven: {}", missing.join(", "))));
        }
        Ok(())
    }

    /// Searches the memory and files of a jail whose session has used every credential, on pages that show each value as
    /// it is and in every encoding that the proxy replaces. The other pages come later: a site that takes its own secrets
    /// apart hands a browser the pieces.
    pub fn search_jail(&mut self) -> Result<(), Fault> {
        (self.progress)("the memory of the jail");
        self.open_session("off")?;
        self.load_start_page()?;
        for (number, form) in FORMS.iter().enumerate().filter(|(_, form)| form.is_replaced_by_the_proxy) {
            (self.progress)(&format!("the memory of the jail: {}", form.name));
            self.goto(&format!("/to/{number}"))?;
            self.call("browser_read", json!({}))?;
        }
        let searcher = MemorySearcher::new(self.canaries)?;
        self.findings.add_memory_search(searcher.search_jails_of(self.server.process_id())?);
        self.call("browser_close_session", json!({}))?;
        Ok(())
    }

    /// Arguments that open a session, signed in if there is a grant.
    fn open_arguments(&self, record: &str) -> Value {
        match &self.grant {
            Some(grant) => {
                json!({"credential_mode": "operator", "grant": grant, "domains": [HOST], "record": record})
            }
            None => json!({ "record": record }),
        }
    }

    fn open_session(&mut self, record: &str) -> Result<(), Fault> {
        let opened = self.call("browser_open_session", self.open_arguments(record))?;
        self.session = opened["session_id"].as_str().unwrap_or_default().to_owned();
        if self.session.is_empty() {
            let code = opened["error"]["code"].as_str().unwrap_or("nothing");
            return Err(incomplete_run(format!("no session was opened: {code}")));
        }
        Ok(())
    }

    /// Loads the start page, which reports the injected canaries to the site and receives more.
    fn load_start_page(&mut self) -> Result<(), Fault> {
        self.goto("/")?;
        self.call("browser_wait_for", json!({"text": "all is done", "timeout_seconds": 20}))?;
        let seen = self.call("browser_read", json!({"format": "markdown"}))?;
        if self.grant.is_none() {
            return Ok(());
        }
        let arrived = self.site.arrived();
        // The TOTP seed is never sent to the site.
        let lost: Vec<&str> = Kind::ALL
            .into_iter()
            .filter(|kind| *kind != Kind::TotpSeed && !arrived.contains(kind))
            .map(Kind::as_str)
            .collect();
        if !lost.is_empty() {
            return Err(incomplete_run(format!("these never arrived at the site: {}", lost.join(", "))));
        }
        let control = format!("the theme is {THEME}");
        if !seen.to_string().contains(&control) {
            return Err(incomplete_run("what is marked `secret: false` was not shown"));
        }
        Ok(())
    }

    /// Calls a tool, searches the reply, and returns its fields.
    fn call(&mut self, tool: &str, mut arguments: Value) -> Result<Value, Fault> {
        if !self.session.is_empty() && tool != "browser_pending" && tool != "browser_open_session" {
            arguments["session_id"] = json!(self.session);
        }
        let answer = self.agent.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let fields = answer["result"]["structuredContent"].clone();
        let worked = answer["error"].is_null() && answer["result"]["isError"] != true;
        self.tools.note(tool, worked, &fields);
        if let Some(ended) = fields["error"]["code"].as_str().filter(|code| code.starts_with("session_ended"))
        {
            return Err(incomplete_run(format!("the session came to its end: {ended}")));
        }
        let picture = if tool == "browser_screenshot" { format!(" {arguments}") } else { String::new() };
        self.findings.search_reply(
            LeakCategory::Replies,
            &format!("{tool}{}", picture.replace(&self.session, "")),
            answer,
        );
        Ok(fields)
    }

    fn goto(&mut self, path: &str) -> Result<Value, Fault> {
        self.call("browser_navigate", json!({"url": format!("http://{HOST}{path}"), "full": true}))
    }

    fn click(&mut self, selector: &str) -> Result<Value, Fault> {
        self.call("browser_click", json!({"selector": selector, "timeout_seconds": 5}))
    }

    /// Reads the page in every format.
    fn read_all(&mut self) -> Result<(), Fault> {
        for format in ["outline", "tree", "markdown"] {
            self.call(
                "browser_read",
                json!({"format": format, "max_tokens": MOST_TOKENS, "max_depth": 100}),
            )?;
        }
        self.call("browser_find", json!({"regex": ".", "limit": 100, "max_tokens": MOST_TOKENS}))?;
        self.call("browser_read_dom", json!({"max_tokens": MOST_TOKENS}))?;
        Ok(())
    }
}

/// Collects one field of each object in a list.
fn collect_names(list: &Value, key: &str) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|item| item[key].as_str()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_untested_tool_is_reported() {
        let offered = collect_names(&json!([{"name": "browser_read"}, {"name": "browser_new"}]), "name");
        let mut results = CallResults::default();
        results.note("browser_read", true, &json!({}));
        assert_eq!(results.missing(&offered), ["browser_new"]);
        results.note("browser_new", false, &json!({"error": {"code": "bad_arguments"}}));
        assert_eq!(results.missing(&offered), ["browser_new (bad_arguments)"]);
    }
}
