//! Cases of effects as data: a page, what the agent does on it, and what its server would receive.
//!
//! ```text
//! @ name | class | means | language
//! <the page, on any number of lines>
//! = /path <a further page>
//! ~ 302 /from /to
//! > click #go
//! < POST /path text in the body
//! ```
//! Steps are those of [`Step::parse`]. A line that begins with `# ` is a comment.

use super::effect_site::{EffectSite, Received};
use serde_json::{Value, json};

/// The table of consequential effects.
pub fn consequential_cases() -> Vec<Case> {
    Case::parse_all(&[
        include_str!("../effects/consequential_destroy_pay.cases"),
        include_str!("../effects/consequential_send_power.cases"),
    ])
}

#[derive(Clone, Debug)]
pub struct Case {
    /// Its place in the table. The page's address has it in place of the name, so that opening it is ordinary.
    pub number: usize,
    pub name: String,
    pub class: String,
    pub means: String,
    pub language: String,
    pub page: String,
    pub further_pages: Vec<(String, String)>,
    pub redirects: Vec<(u16, String, String)>,
    pub steps: Vec<Step>,
    pub arrival: Expected,
}

/// A request that a server can recognise.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    pub method: String,
    pub target: String,
    pub body: String,
}

impl Expected {
    /// `METHOD /target text in the body`
    pub fn parse(line: &str) -> Expected {
        let mut parts = line.splitn(3, ' ').map(str::to_owned);
        let (method, target) = (parts.next().unwrap(), parts.next().unwrap_or_else(|| panic!("{line}")));
        Expected { method, target, body: parts.next().unwrap_or_default() }
    }

    pub fn is(&self, received: &Received) -> bool {
        received.method == self.method
            && received.target.starts_with(&self.target)
            && received.text().contains(&self.body)
    }
}

impl Case {
    pub fn path(&self) -> String {
        format!("/case/{}", self.number)
    }

    pub fn publish(&self, site: &EffectSite) {
        let head = "<!doctype html><meta charset=utf-8><script src=/lib.js></script>";
        site.page(&self.path(), &format!("{head}<title>Case</title>{}", self.page));
        for (path, text) in &self.further_pages {
            site.page(path, text);
        }
        for (status, from, to) in &self.redirects {
            site.redirect(*status, from, to);
        }
    }

    /// Reads tables of cases.
    pub fn parse_all(tables: &[&str]) -> Vec<Case> {
        let blocks = tables.iter().flat_map(|table| table.split("\n@ ").skip(1));
        blocks.enumerate().map(|(number, block)| Case::parse(number, block)).collect()
    }

    fn parse(number: usize, block: &str) -> Case {
        let (head, rest) = block.split_once('\n').unwrap_or_else(|| panic!("{block}"));
        let mut head = head.split('|').map(|part| part.trim().to_owned());
        let mut next = || head.next().unwrap_or_else(|| panic!("{block}"));
        let mut case = Case {
            number,
            name: next(),
            class: next(),
            means: next(),
            language: next(),
            page: String::new(),
            further_pages: Vec::new(),
            redirects: Vec::new(),
            steps: Vec::new(),
            arrival: Expected::default(),
        };
        for line in rest.lines() {
            match line.split_once(' ') {
                Some((">", step)) => case.steps.push(Step::parse(step)),
                Some(("<", arrival)) => case.arrival = Expected::parse(arrival),
                Some(("~", redirect)) => {
                    let parts: Vec<&str> = redirect.split(' ').collect();
                    case.redirects.push((parts[0].parse().unwrap(), parts[1].into(), parts[2].into()));
                }
                Some(("=", page)) => {
                    let (path, text) = page.split_once(' ').unwrap();
                    case.further_pages.push((path.to_owned(), text.to_owned()));
                }
                Some(("#", _)) => {}
                _ => case.page.extend([line, "\n"]),
            }
        }
        assert!(!case.steps.is_empty() && !case.arrival.method.is_empty(), "{block}");
        case
    }
}

/// One tool call.
#[derive(Clone, Debug)]
pub struct Step {
    pub text: String,
    pub tool: &'static str,
    pub arguments: Value,
}

impl Step {
    /// One of
    /// `click T`, `double T`, `type T = text`, `fill T = text` (empties the field first), `enter T = text` (then Enter),
    /// `select T = option`, `check T`, `uncheck T`, `press T = key`, `hover T`, `drag T -> T`, `dialog accept [= text]`,
    /// `dialog dismiss`, `goto /path` or `goto https://…`, `wait text`, `back`, `forward`, `reload`, `read`, `tabs`, `newtab`, `tab t2`, `closetab t2`, `close` (the session);
    /// T is a CSS selector that begins with `#` or `.`, or `role "name"`, or `role "name" N` for the one at place N.
    /// `\n` in a text is a line break.
    pub fn parse(text: &str) -> Step {
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        let (target_text, value) = rest.split_once(" = ").unwrap_or((rest, ""));
        let value = value.replace("\\n", "\n");
        let with = |more: Value| {
            let mut all = target(target_text);
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        let (tool, arguments) = match verb {
            "click" => ("browser_click", with(json!({}))),
            "double" => ("browser_click", with(json!({"count": 2}))),
            "type" => ("browser_type", with(json!({"text": value}))),
            "fill" => ("browser_type", with(json!({"text": value, "clear_first": true}))),
            "enter" => ("browser_type", with(json!({"text": value, "submit": true}))),
            "select" => ("browser_select", with(json!({"option": value}))),
            "check" => ("browser_check", with(json!({}))),
            "uncheck" => ("browser_check", with(json!({"checked": false}))),
            "press" => ("browser_press_key", with(json!({"key": value}))),
            "hover" => ("browser_hover", with(json!({}))),
            "drag" => {
                let (from, to) = rest.split_once(" -> ").unwrap_or_else(|| panic!("{text}"));
                let mut all = target(from);
                all["to"] = target(to);
                ("browser_drag", all)
            }
            "dialog" if value.is_empty() => ("browser_dialog", json!({"accept": rest == "accept"})),
            "dialog" => ("browser_dialog", json!({"accept": true, "text": value})),
            "goto" => ("browser_navigate", json!({"url": rest})),
            "wait" => ("browser_wait_for", json!({"text": rest, "timeout_seconds": 20})),
            "back" => ("browser_back", json!({})),
            "forward" => ("browser_forward", json!({})),
            "reload" => ("browser_reload", json!({})),
            "read" => ("browser_read", json!({})),
            "tabs" => ("browser_tabs", json!({"action": "list"})),
            "newtab" => ("browser_tabs", json!({"action": "new"})),
            "closetab" => ("browser_tabs", json!({"action": "close", "tab": rest})),
            "close" => ("browser_close_session", json!({})),
            "tab" => ("browser_tabs", json!({"action": "switch", "tab": rest})),
            _ => panic!("no step: {text}"),
        };
        Step { text: text.to_owned(), tool, arguments }
    }
}

fn target(text: &str) -> Value {
    if text.starts_with(['#', '.']) {
        return json!({"selector": text});
    }
    let (role, rest) = text.split_once(" \"").unwrap_or_else(|| panic!("no target: {text}"));
    let (name, index) = rest.rsplit_once('"').unwrap_or_else(|| panic!("no target: {text}"));
    match index.trim().parse::<usize>() {
        Ok(index) => json!({"role": role, "name": name, "index": index}),
        Err(_) => json!({"role": role, "name": name}),
    }
}
