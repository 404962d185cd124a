//! `stockade page`: the page actions of the HTTP API, on a session of a running server.
//!
//! Verbs and flags are generated from the API's actions and schemas, so they cannot differ.

use crate::cli::output::{BOLD, DIM};
use crate::cli::{Context, Reply};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use engine::error::Fault;
use policy::{Actor, Scope, Tenant};
use serde_json::{Map, Value, json};
use server::api::{ACTIONS, ApiAction, parameters};
use server::client;

const EXAMPLES: &str = "\
These act through the `stockade serve` that runs from the same state folder,
as the agent that the session belongs to (--tenant, --actor).

Examples:
  stockade session start shopping
  stockade page goto shopping http://shop.test/
  stockade page click shopping --role link --name Stock
  stockade page type shopping \"blue lamp\" --role searchbox --submit
  stockade page extract shopping title";

/// The positional argument for an action's main parameter.
const MAIN: &str = "main-argument";
const SESSION: &str = "session";

#[derive(Debug)]
pub struct PageArgs {
    scope: Scope,
    request: Value,
}

/// How a parameter is written on a command line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParameterKind {
    Boolean,
    Number,
    Text,
    /// A number if it parses as one, else text.
    NumberOrText,
    List,
    /// An object, each of whose fields has a flag of its own.
    Object,
}

fn parameter_kind(schema: &Value) -> ParameterKind {
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if types.contains(&"boolean") {
        ParameterKind::Boolean
    } else if types.contains(&"array") {
        ParameterKind::List
    } else if types.contains(&"object") {
        ParameterKind::Object
    } else if types.contains(&"integer") || types.contains(&"number") {
        ParameterKind::Number
    } else if types.contains(&"string") || !schema.to_string().contains("integer") {
        ParameterKind::Text
    } else {
        ParameterKind::NumberOrText
    }
}

/// Every parameter that has a flag: its path in the request, its schema.
fn list_flags(action: &ApiAction) -> Vec<(Vec<String>, Value)> {
    let (properties, _) = parameters(action);
    let mut flags = Vec::new();
    for (name, schema) in properties {
        if parameter_kind(&schema) == ParameterKind::Object {
            for (field, inner) in schema["properties"].as_object().into_iter().flatten() {
                flags.push((vec![name.clone(), field.clone()], inner.clone()));
            }
        } else {
            flags.push((vec![name], schema));
        }
    }
    flags
}

fn flag_name(path: &[String]) -> String {
    path.join("-").replace('_', "-")
}

fn build_command(action: &'static ApiAction) -> Option<Command> {
    let verb = action.name.strip_prefix("page.")?;
    let (properties, required) = parameters(action);
    let session = Arg::new(SESSION).value_name("SESSION").required(true).help("The session's id or name");
    let mut command = Command::new(verb.replace('_', "-")).about(action.about()).arg(session);
    if verb.contains('_') {
        command = command.alias(verb);
    }
    if let Some(main) = action.main {
        let help = properties.get(main).and_then(|schema| schema["description"].as_str()).unwrap_or_default();
        let mut positional = Arg::new(MAIN).value_name(main.to_uppercase()).help(help.to_owned());
        if required.iter().any(|name| name == main) {
            positional = positional.required(true);
        }
        command = command.arg(positional);
    }
    for (path, schema) in list_flags(action) {
        let given = path.len() == 1 && action.main == Some(path[0].as_str());
        // A required main parameter is positional only; an optional one has a flag as well.
        if given && required.contains(&path[0]) {
            continue;
        }
        let name = flag_name(&path);
        let mut flag = Arg::new(name.clone())
            .long(name.clone())
            .value_name(value_name(&schema))
            .help(super::hints::name_commands(schema["description"].as_str().unwrap_or_default()))
            .required(required.contains(&path[0]) && path.len() == 1);
        if name.contains('-') {
            flag = flag.alias(name.replace('-', "_"));
        }
        if given {
            flag = flag.conflicts_with(MAIN);
        }
        flag = match parameter_kind(&schema) {
            ParameterKind::Boolean => flag
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .value_parser(["true", "false"]),
            ParameterKind::List => flag.action(ArgAction::Append),
            _ => flag,
        };
        command = command.arg(flag.allow_negative_numbers(true));
    }
    Some(command)
}

fn value_name(schema: &Value) -> &'static str {
    match parameter_kind(schema) {
        ParameterKind::Number => "NUMBER",
        ParameterKind::Boolean => "true|false",
        _ => "TEXT",
    }
}

impl Args for PageArgs {
    fn augment_args(command_line: Command) -> Command {
        command_line
            .after_help(EXAMPLES)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .defer(add_action_commands)
    }

    fn augment_args_for_update(command_line: Command) -> Command {
        Self::augment_args(command_line)
    }
}

/// Deferred until `page` is parsed: generating the schemas takes a while.
fn add_action_commands(command_line: Command) -> Command {
    let scope = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(name.to_uppercase())
            .global(true)
            .default_value(default)
            .help(help)
    };
    command_line
        .arg(scope("tenant", "default", "The tenant that the session belongs to").value_parser(Tenant::parse))
        .arg(scope("actor", "agent", "The agent that the session belongs to").value_parser(Actor::parse))
        .subcommands(ACTIONS.iter().filter_map(build_command))
}

impl FromArgMatches for PageArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<PageArgs, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (verb, given) = matches.subcommand().ok_or_else(missing)?;
        let name = format!("page.{}", verb.replace('-', "_"));
        let action = ACTIONS.iter().find(|action| action.name == name).ok_or_else(missing)?;
        let tenant = given.get_one::<Tenant>("tenant").cloned().ok_or_else(missing)?;
        let actor = given.get_one::<Actor>("actor").cloned().ok_or_else(missing)?;
        Ok(PageArgs { scope: Scope { tenant, actor }, request: build_request(action, given)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn build_request(action: &ApiAction, given: &ArgMatches) -> Result<Value, clap::Error> {
    let session: Option<&String> = given.get_one(SESSION);
    let mut request = json!({ "action": action.name, "session": session });
    for (path, schema) in list_flags(action) {
        let main = path.len() == 1 && action.main == Some(path[0].as_str());
        let texts: Vec<&String> = [Some(flag_name(&path)), main.then(|| MAIN.to_owned())]
            .into_iter()
            .flatten()
            .find_map(|id| given.try_get_many::<String>(&id).ok().flatten())
            .into_iter()
            .flatten()
            .collect();
        let Some(first) = texts.first() else { continue };
        let value = match parameter_kind(&schema) {
            ParameterKind::List => json!(texts),
            kind => parse_value(kind, first).ok_or_else(|| not_a_number(&path, first))?,
        };
        insert_at(&mut request, &path, value);
    }
    Ok(request)
}

fn parse_value(kind: ParameterKind, text: &str) -> Option<Value> {
    let number = || serde_json::from_str::<serde_json::Number>(text).ok().map(Value::Number);
    match kind {
        ParameterKind::Boolean => Some(Value::Bool(text == "true")),
        ParameterKind::Number => number(),
        ParameterKind::NumberOrText => number().or_else(|| Some(text.into())),
        ParameterKind::Text | ParameterKind::List | ParameterKind::Object => Some(text.into()),
    }
}

fn insert_at(request: &mut Value, path: &[String], value: Value) {
    match path {
        [name] => request[name] = value,
        [name, field, ..] => {
            if !request[name].is_object() {
                request[name] = Value::Object(Map::new());
            }
            request[name][field] = value;
        }
        [] => {}
    }
}

fn not_a_number(path: &[String], text: &str) -> clap::Error {
    let message = format!("--{} is a number, not {text:?}\n", flag_name(path));
    clap::Error::raw(clap::error::ErrorKind::ValueValidation, message)
}

pub(super) fn run(context: &Context, args: PageArgs) -> Result<Reply, Fault> {
    let state = context.open_state()?;
    let result = context.block_on(client::act(&state, &args.scope, &args.request))?;
    Ok(result_reply(result))
}

/// The reply of an action of the HTTP API. Its session goes into the data.
pub(super) fn result_reply(mut result: Value) -> Reply {
    let human = render_result(&result);
    let mut data = result["data"].take();
    if !data.is_object() {
        data = json!({});
    }
    if result["session_id"].is_string() {
        data["session_id"] = result["session_id"].take();
    }
    Reply::new(human, data)
}

/// Renders an action's result: short fields first, one per line; then page text.
pub(super) fn render_result(result: &Value) -> String {
    let mut out = String::new();
    let mut blocks = String::new();
    if let Some(session) = result["session_id"].as_str() {
        out.push_str(&format!("{BOLD}{session}{BOLD:#}\n"));
    }
    for (key, value) in result["data"].as_object().into_iter().flatten() {
        match value {
            // `final_url` repeats `url`; an image cannot be printed.
            Value::String(_) if matches!(key.as_str(), "final_url" | "image_base64") => {}
            Value::String(text) if text.contains('\n') || matches!(key.as_str(), "html" | "text") => {
                blocks.push_str(&render_lines(text));
            }
            Value::String(text) => out.push_str(&render_field(key, text)),
            Value::Array(items) => {
                items.iter().for_each(|item| out.push_str(&render_field(key, &flatten_value(item))))
            }
            Value::Null => {}
            other => out.push_str(&render_field(key, &flatten_value(other))),
        }
    }
    out + &blocks
}

fn render_field(key: &str, value: &str) -> String {
    format!("  {DIM}{key:<16}{DIM:#} {}\n", audit::sanitize(value))
}

fn flatten_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| format!("{key}={}", flatten_value(value)))
            .collect::<Vec<_>>()
            .join(" "),
        other => other.to_string(),
    }
}

/// Text of several lines, without a page's control characters.
fn render_lines(text: &str) -> String {
    let harmless = |c: char| if c.is_control() && c != '\n' { '\u{fffd}' } else { c };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{}{end}", text.chars().map(harmless).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Value, String> {
        let command = PageArgs::augment_args(Command::new("page"));
        let matches = command.try_get_matches_from(line.split(' ')).map_err(|e| e.kind().to_string())?;
        PageArgs::from_arg_matches(&matches).map(|args| args.request).map_err(|e| e.kind().to_string())
    }

    #[test]
    fn a_command_line_becomes_a_request() {
        for (line, expected) in [
            (
                "page goto s http://a.test/",
                json!({"action": "page.goto", "session": "s", "url": "http://a.test/"}),
            ),
            (
                "page click s --role button --name Save --index 2",
                json!({"action": "page.click", "session": "s", "role": "button", "name": "Save", "index": 2}),
            ),
            ("page click s e12", json!({"action": "page.click", "session": "s", "ref": "e12"})),
            (
                "page click s --x 10 --y 20.5",
                json!({"action": "page.click", "session": "s", "x": 10, "y": 20.5}),
            ),
            (
                "page type s 42 --submit",
                json!({"action": "page.type", "session": "s", "text": "42", "submit": true}),
            ),
            (
                "page check s e1 --checked=false",
                json!({"action": "page.check", "session": "s", "ref": "e1", "checked": false}),
            ),
            (
                "page drag s e1 --to-ref e2",
                json!({"action": "page.drag", "session": "s", "ref": "e1", "to": {"ref": "e2"}}),
            ),
            (
                "page scroll s down --amount 300",
                json!({"action": "page.scroll", "session": "s", "direction": "down", "amount": 300}),
            ),
            (
                "page scroll s down --amount end",
                json!({"action": "page.scroll", "session": "s", "direction": "down", "amount": "end"}),
            ),
            (
                "page select s --ref e1 --options A --options B",
                json!({"action": "page.select", "session": "s", "ref": "e1", "options": ["A", "B"]}),
            ),
            (
                "page wait-for s Done --timeout-seconds 5",
                json!({"action": "page.wait_for", "session": "s", "text": "Done", "timeout_seconds": 5}),
            ),
            ("page wait_for s Done", json!({"action": "page.wait_for", "session": "s", "text": "Done"})),
            (
                "page dialog s --accept=false",
                json!({"action": "page.dialog", "session": "s", "accept": false}),
            ),
            ("page switch-tab s t2", json!({"action": "page.switch_tab", "session": "s", "tab": "t2"})),
        ] {
            assert_eq!(parsed(line), Ok(expected), "{line}");
        }
        for line in
            ["page", "page goto", "page goto s", "page fly s", "page click s --index two", "page dialog s"]
        {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_result_is_printed_in_lines_without_control_characters() {
        let result = json!({"session_id": "s-1", "data": {
            "url": "http://a.test/", "notes": ["one", "two"], "snapshot": "a\n\u{1b}[2J\n", "actions_left": 3,
            "tabs": [{"tab": "t1", "current": true}],
        }});
        let text = anstream::adapter::strip_str(&render_result(&result)).to_string();
        for line in ["s-1", "  notes            two", "  tabs             current=true tab=t1", "\u{fffd}[2J"]
        {
            assert!(text.lines().any(|shown| shown == line), "{line:?} in {text}");
        }
        assert!(!render_result(&result).contains("\u{1b}[2J"));
    }
}
