//! Drives every tool on the echo site, and searches every answer.

mod api;
mod forms;
mod operator;
mod tools;

pub use operator::PASSWORD;

use super::ledger::{Category, Ledger};
use super::program::{Agent, Home, Server, unfinished};
use engine::error::Fault;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testkit::leak_site::canary::{Canaries, Kind, THEME};
use testkit::leak_site::{HOST, Site};

/// The most that a reply may hold.
const MOST_TOKENS: u32 = 50_000;

pub struct Drive<'r> {
    pub home: &'r Home,
    pub server: &'r Server,
    pub ledger: &'r mut Ledger,
    pub canaries: &'r Canaries,
    pub site: &'r Site,
    /// The token that releases the credential; without one the session is clean, and nothing is redacted.
    pub grant: Option<String>,
    pub tell: &'r mut dyn FnMut(&str),
    agent: Agent,
    session: String,
    /// What was called and worked.
    worked: BTreeSet<String>,
}

impl<'r> Drive<'r> {
    pub fn new(
        home: &'r Home,
        server: &'r Server,
        ledger: &'r mut Ledger,
        site: &'r Site,
        canaries: &'r Canaries,
        grant: Option<String>,
        tell: &'r mut dyn FnMut(&str),
    ) -> Result<Drive<'r>, Fault> {
        let agent = home.agent()?;
        let (session, worked) = (String::new(), BTreeSet::new());
        Ok(Drive { home, server, ledger, canaries, site, grant, tell, agent, session, worked })
    }

    /// All of it; the tools and actions that were driven.
    pub fn run(&mut self) -> Result<(), Fault> {
        let listed = self.agent.request("tools/list", &json!({}))?;
        let tools = names(&listed["result"]["tools"], "name");
        // What pages say needs no pictures of each; the second session keeps all.
        self.open("transient")?;
        self.arrive()?;
        self.all_forms()?;
        self.all_behaviours()?;
        self.all_answers()?;
        self.guesses()?;
        self.call("browser_close_session", json!({}))?;
        self.open("audit")?;
        self.arrive()?;
        self.all_tools()?;
        self.pictures()?;
        self.operator()?;
        self.api()?;
        self.call("browser_close_session", json!({}))?;
        // A tool that nobody drove, or that worked at no call, may tell anything.
        let missing = not_driven(&tools, &self.worked);
        if tools.is_empty() || !missing.is_empty() {
            return Err(unfinished(format!("these tools were not driven: {}", missing.join(", "))));
        }
        Ok(())
    }

    /// What opens a session: with the login, if there is leave for it.
    fn opening(&self, record: &str) -> Value {
        match &self.grant {
            Some(grant) => {
                json!({"credential_mode": "operator", "grant": grant, "domains": [HOST], "record": record})
            }
            None => json!({ "record": record }),
        }
    }

    fn open(&mut self, record: &str) -> Result<(), Fault> {
        let opened = self.call("browser_open_session", self.opening(record))?;
        self.session = opened["session_id"].as_str().unwrap_or_default().to_owned();
        if self.session.is_empty() {
            let code = opened["error"]["code"].as_str().unwrap_or("nothing");
            return Err(unfinished(format!("no session was opened: {code}")));
        }
        Ok(())
    }

    /// The first page: it tells the site what it has, and is handed more.
    fn arrive(&mut self) -> Result<(), Fault> {
        self.goto("/")?;
        self.call("browser_wait_for", json!({"text": "all is done", "timeout_seconds": 20}))?;
        let seen = self.call("browser_read", json!({"format": "markdown"}))?;
        if self.grant.is_none() {
            return Ok(());
        }
        let arrived = self.site.arrived();
        // The seed of one-time codes stays here: the site has it already.
        let lost: Vec<&str> = Kind::ALL
            .into_iter()
            .filter(|kind| *kind != Kind::TotpSeed && !arrived.contains(kind))
            .map(Kind::as_str)
            .collect();
        if !lost.is_empty() {
            return Err(unfinished(format!("these never arrived at the site: {}", lost.join(", "))));
        }
        let control = format!("the theme is {THEME}");
        if !seen.to_string().contains(&control) {
            return Err(unfinished("what is marked `secret: false` was not shown"));
        }
        Ok(())
    }

    /// One call of a tool; its answer is searched, and its fields are given back.
    fn call(&mut self, tool: &str, mut arguments: Value) -> Result<Value, Fault> {
        if !self.session.is_empty() && tool != "browser_pending" && tool != "browser_open_session" {
            arguments["session_id"] = json!(self.session);
        }
        let answer = self.agent.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let fields = answer["result"]["structuredContent"].clone();
        if answer["error"].is_null() && answer["result"]["isError"] != true {
            self.worked.insert(tool.to_owned());
        }
        if let Some(ended) = fields["error"]["code"].as_str().filter(|code| code.starts_with("session_ended"))
        {
            return Err(unfinished(format!("the session came to its end: {ended}")));
        }
        let picture = if tool == "browser_screenshot" { format!(" {arguments}") } else { String::new() };
        self.ledger.reply(
            Category::Replies,
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

    /// Every way to read the page that is there.
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

/// The names in a list of objects.
fn names(list: &Value, key: &str) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|item| item[key].as_str()).map(str::to_owned).collect()
}

fn not_driven(offered: &[String], worked: &BTreeSet<String>) -> Vec<String> {
    offered.iter().filter(|name| !worked.contains(*name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_nobody_drives_is_noticed() {
        let offered = names(&json!([{"name": "browser_read"}, {"name": "browser_new"}]), "name");
        let worked = BTreeSet::from(["browser_read".to_owned()]);
        assert_eq!(not_driven(&offered, &worked), ["browser_new"]);
    }
}
