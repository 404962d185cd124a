//! The catalog of action names, and what runs each.

use super::extract;
use crate::mcp::tools;
use engine::error::Fault;
use error_code::ErrorCode;
use redact::{Redacted, redacted};
use rmcp::model::JsonObject;
use serde_json::Value;

pub struct ApiAction {
    pub name: &'static str,
    /// The positional parameter on the command line.
    pub main: Option<&'static str>,
    pub(super) target: ActionTarget,
}

/// What runs an action.
#[derive(Clone, Copy)]
pub(super) enum ActionTarget {
    /// A tool, with one argument preset.
    Tool {
        name: &'static str,
        preset: Option<(&'static str, &'static str)>,
    },
    Extract,
    ListSessions,
    ShowSession,
    ArchiveSession,
}

const fn tool(name: &'static str, tool: &'static str, main: Option<&'static str>) -> ApiAction {
    ApiAction { name, main, target: ActionTarget::Tool { name: tool, preset: None } }
}

const fn tabs(name: &'static str, verb: &'static str, main: Option<&'static str>) -> ApiAction {
    ApiAction {
        name,
        main,
        target: ActionTarget::Tool { name: "browser_tabs", preset: Some(("action", verb)) },
    }
}

const fn direct(name: &'static str, main: Option<&'static str>, target: ActionTarget) -> ApiAction {
    ApiAction { name, main, target }
}

pub static ACTIONS: [ApiAction; 30] = [
    tool("session.start", "browser_open_session", Some("session_name")),
    direct("session.list", None, ActionTarget::ListSessions),
    direct("session.show", None, ActionTarget::ShowSession),
    tool("session.close", "browser_close_session", None),
    direct("session.archive", None, ActionTarget::ArchiveSession),
    tool("page.goto", "browser_navigate", Some("url")),
    direct("page.extract", Some("mode"), ActionTarget::Extract),
    tool("page.read", "browser_read", Some("format")),
    tool("page.find", "browser_find", Some("text")),
    tool("page.search_text", "browser_find", Some("text")),
    tool("page.click", "browser_click", Some("ref")),
    tool("page.type", "browser_type", Some("text")),
    tool("page.select", "browser_select", Some("option")),
    tool("page.check", "browser_check", Some("ref")),
    tool("page.press", "browser_press_key", Some("key")),
    tool("page.hover", "browser_hover", Some("ref")),
    tool("page.drag", "browser_drag", Some("ref")),
    tool("page.scroll", "browser_scroll", Some("direction")),
    tool("page.wait_for", "browser_wait_for", Some("text")),
    tool("page.back", "browser_back", None),
    tool("page.forward", "browser_forward", None),
    tool("page.reload", "browser_reload", None),
    tabs("page.tabs", "list", None),
    tabs("page.new_tab", "new", None),
    tabs("page.switch_tab", "switch", Some("tab")),
    tabs("page.close_tab", "close", Some("tab")),
    tool("page.dialog", "browser_dialog", None),
    tool("page.screenshot", "browser_screenshot", None),
    tool("page.read_dom", "browser_read_dom", None),
    tool("session.pending", "browser_pending", Some("pending_id")),
];

impl ApiAction {
    /// Its name without the `page.` or `session.` before it.
    pub fn verb(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, verb)| verb)
    }

    /// The tool that runs it, if one does.
    pub fn tool(&self) -> Option<&'static str> {
        match self.target {
            ActionTarget::Tool { name, .. } => Some(name),
            _ => None,
        }
    }

    pub fn takes_session(&self) -> bool {
        !matches!(self.name, "session.start" | "session.list" | "session.pending")
    }

    /// Whether a session narrows the action but is not needed.
    pub fn may_take_session(&self) -> bool {
        self.name == "session.pending"
    }

    /// A short description for people.
    pub fn about(&self) -> &'static str {
        match self.target {
            ActionTarget::Tool { preset: Some((_, verb)), .. } => match verb {
                "new" => "Open an empty tab and bring it to the front",
                "switch" => "Bring a tab to the front",
                "close" => "Close a tab",
                _ => "List the tabs of the session",
            },
            ActionTarget::Tool { name, preset: None } => tools::find_tool(name)
                .ok()
                .and_then(|registered| registered.tool.annotations.as_ref())
                .and_then(|annotations| annotations.title.as_deref())
                .unwrap_or_default(),
            ActionTarget::Extract => "Return the text or the title of the page",
            ActionTarget::ListSessions => "List your sessions",
            ActionTarget::ShowSession => "Show one session: where it is, what it did",
            ActionTarget::ArchiveSession => "Write what a session did to the state folder, and end it",
        }
    }
}

/// Finds an action by name.
pub(super) fn find(name: &str) -> Result<&'static ApiAction, Fault> {
    if let Some(action) = ACTIONS.iter().find(|action| action.name == name) {
        return Ok(action);
    }
    let likeness = |action: &ApiAction| strsim::jaro_winkler(action.name, name);
    let nearest = ACTIONS.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let hint =
        nearest.map_or_else(Redacted::default, |action| redacted!("The nearest action is {}.", action.name));
    Err(Fault::outside_sessions(
        ErrorCode::UnknownAction,
        format!("there is no action {:?}", audit::sanitize(name)),
    )
    .hint(hint))
}

/// The parameters of an action besides its session, as JSON Schema properties, and the required ones.
pub fn parameters(action: &ApiAction) -> (JsonObject, Vec<String>) {
    let (schema, given) = match action.target {
        ActionTarget::Tool { name, preset } => {
            let schema = tools::find_tool(name)
                .map(|registered| Value::Object((*registered.tool.input_schema).clone()));
            (schema.unwrap_or_default(), preset.map(|(key, _)| key))
        }
        ActionTarget::Extract => (extract::schema(), None),
        ActionTarget::ListSessions | ActionTarget::ShowSession | ActionTarget::ArchiveSession => {
            (Value::Null, None)
        }
    };
    let mut properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let definitions = schema.get("$defs").cloned().unwrap_or_default();
    properties.values_mut().for_each(|property| inline(property, &definitions, 0));
    properties.remove("session_id");
    if let Some(given) = given {
        properties.remove(given);
    }
    let required = schema.get("required").and_then(Value::as_array);
    let required =
        required.into_iter().flatten().filter_map(Value::as_str).filter(|name| *name != "session_id");
    (properties, required.map(str::to_owned).collect())
}

/// Parameter schemas are flat; a deeper one is recursive.
const MAX_DEPTH: usize = 8;

/// Replaces references by their definitions, so that each parameter is self-contained. Its own description wins.
fn inline(schema: &mut Value, definitions: &Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let referred = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    if let Some(Value::Object(definition)) = referred.and_then(|name| definitions.get(name)).cloned()
        && let Value::Object(fields) = schema
    {
        fields.remove("$ref");
        for (key, value) in definition {
            fields.entry(key).or_insert(value);
        }
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(|value| inline(value, definitions, depth + 1)),
        Value::Array(items) => items.iter_mut().for_each(|value| inline(value, definitions, depth + 1)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_tool_has_an_action_and_every_action_has_a_target() {
        let led_to: BTreeSet<_> = ACTIONS
            .iter()
            .filter_map(|action| match action.target {
                ActionTarget::Tool { name, .. } => Some(name),
                _ => None,
            })
            .collect();
        let tools: BTreeSet<_> =
            tools::all().iter().map(|registered| registered.tool.name.as_ref()).collect();
        assert_eq!(led_to, tools);
        let names: BTreeSet<_> = ACTIONS.iter().map(|action| action.name).collect();
        assert_eq!(names.len(), ACTIONS.len());
        for action in &ACTIONS {
            let (properties, required) = parameters(action);
            assert!(!action.about().is_empty(), "{}", action.name);
            for key in action.main.into_iter().chain(required.iter().map(String::as_str)) {
                assert!(properties.contains_key(key), "{}: {key}", action.name);
            }
        }
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        for (wrong, nearest) in
            [("page.clik", "page.click"), ("page.go", "page.goto"), ("session.lst", "session.list")]
        {
            let fault = find(wrong).err().unwrap();
            assert_eq!(fault.code, ErrorCode::UnknownAction);
            assert!(fault.hint.contains(nearest), "{wrong}: {}", fault.hint);
        }
    }
}
