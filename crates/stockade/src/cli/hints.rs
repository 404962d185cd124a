//! Hints for people at the command line: they name commands, where an agent's hints name MCP tools.

use engine::error::Fault;
use error_code::ErrorCode;
use redact::{Redacted, redacted};
use server::api::ACTIONS;

/// The fault as a person reads it. Only the hint can differ.
pub fn for_person(fault: &Fault) -> Fault {
    let mut fault = fault.clone();
    if !names_tool(&fault.hint) {
        return fault;
    }
    fault.hint = match &fault.code {
        ErrorCode::ApprovalPending { approval } => redacted!(
            "Answer it with `stockade approve {}` or `stockade deny {}`; `stockade approvals` shows it.",
            Redacted::outside_sessions(approval.as_str()),
            Redacted::outside_sessions(approval.as_str())
        ),
        ErrorCode::SessionPaused { .. } => {
            "Reading still works. `stockade watch` shows the request and takes your answer.".into()
        }
        ErrorCode::QuestionOpen => {
            "Another request of this session waits. `stockade approvals` shows it and the command that answers it.".into()
        }
        ErrorCode::TooManyTabs => "Close one first, with `stockade page close-tab`.".into(),
        ErrorCode::DialogOpen => {
            "Answer it with `stockade page dialog`; nothing else works on this page until then.".into()
        }
        _ => fault.hint.transform(name_commands),
    };
    fault
}

/// The command that does what a tool does.
fn command_for(tool: &str) -> Option<String> {
    // The answer belongs to the agent; a person sees the question itself.
    if tool == "browser_pending" {
        return Some("stockade approvals".to_owned());
    }
    let action = ACTIONS.iter().find(|action| action.tool() == Some(tool))?;
    let (group, verb) = action.name.split_once('.')?;
    Some(format!("stockade {group} {}", verb.replace('_', "-")))
}

fn names_tool(text: &str) -> bool {
    words(text).any(|(word, _)| command_for(word).is_some())
}

/// Replaces the names of tools by commands, in code quotes.
pub fn name_commands(text: &str) -> String {
    let mut out = String::new();
    for (word, separator) in words(text) {
        match command_for(word) {
            Some(command) if out.ends_with('`') => out.push_str(&command),
            Some(command) => out.push_str(&format!("`{command}`")),
            None => out.push_str(word),
        }
        out.push_str(separator);
    }
    out
}

/// Words of letters and underscores, each with what follows up to the next one.
fn words(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let next = rest[word..].find(is_word).map_or(rest.len(), |at| word + at);
        let (this, after) = rest.split_at(next);
        rest = after;
        Some(this.split_at(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;

    /// Every code, with parameters where it takes some.
    fn codes() -> Vec<ErrorCode> {
        let filled =
            |code: &str| code.replace("<id>", "ap-1").replace("<action>", "click").replace("<seconds>", "5");
        let rows = error_code::table::SECTIONS.iter().flat_map(|section| section.rows);
        let names = rows.flat_map(|row| row.codes);
        names.map(|code| ErrorCode::parse(&filled(code)).unwrap_or_else(|| panic!("{code}"))).collect()
    }

    fn tools() -> Vec<&'static str> {
        ACTIONS.iter().filter_map(|action| action.tool()).collect()
    }

    /// Whether a text names a command that does not exist.
    fn unknown_command(text: &str, root: &Command) -> Option<String> {
        text.split("`stockade ").skip(1).find_map(|rest| {
            let line = rest.split('`').next().unwrap_or_default();
            let names = line.split(' ').take_while(|word| !word.starts_with("ap-"));
            let mut at = root;
            for name in names {
                match at.find_subcommand(name) {
                    Some(found) => at = found,
                    None => return Some(line.to_owned()),
                }
            }
            None
        })
    }

    #[test]
    fn no_hint_for_a_person_names_a_tool_whatever_the_code() {
        let (codes, tools) = (codes(), tools());
        assert!(codes.len() > 150 && tools.len() > 20, "{} {}", codes.len(), tools.len());
        let mut root = crate::cli::command();
        root.build();
        for code in codes {
            for tool in &tools {
                for hint in [format!("Use {tool} first."), format!("Call `{tool}`, then {tool}.")] {
                    let fault = Fault::new(code.clone(), "m").hint(Redacted::outside_sessions(hint));
                    let shown = for_person(&fault).hint;
                    assert!(!shown.contains("browser_"), "{code} {tool}: {shown}");
                    assert!(shown.contains("`stockade "), "{code} {tool}: {shown}");
                    assert_eq!(unknown_command(&shown, &root), None, "{code} {tool}: {shown}");
                    assert!(!shown.contains("``"), "{shown}");
                }
            }
        }
    }

    #[test]
    fn a_hint_without_a_tool_stays_as_it_is() {
        for hint in ["Run: stockade doctor", "See browser_action_timeout.", "", "Öffne `x_y`, dann 3."] {
            let fault = Fault::new(ErrorCode::TooManyTabs, "m").hint(Redacted::outside_sessions(hint));
            assert_eq!(for_person(&fault).hint.as_str(), hint);
            assert_eq!(name_commands(hint), hint);
        }
    }
}
