//! The rule by which the states of a node agree with Chromium's.

use super::{
    compare::{Report, role_of},
    reading::{AxNode, OurNode},
};

/// The states that both report; one comparison, if there are any.
pub fn compare_states(node: &AxNode, our: &OurNode, tag: &str, report: &mut Report) {
    // Editing hosts have no role in Chromium's tree, and so none of a field's states.
    if node.role() == "editable" {
        return;
    }
    let (mut their, mut our) = (their_states(node), our_states(our));
    match role_of(node) {
        // Chromium does not report that a group is disabled, only its members.
        "group" => our.retain(|state| state != "disabled"),
        // A <select> is always closed when it is read.
        "combobox" if tag.starts_with("<select ") => their.retain(|state| state != "expanded false"),
        // Inherited from the grid, which reports it.
        "gridcell" | "columnheader" | "rowheader" => their.retain(|state| state != "readonly"),
        _ => {}
    }
    if their == our {
        if !their.is_empty() {
            report.agree();
        }
    } else {
        report.disagree(format!("states of {}", role_of(node)), format!("{tag} {their:?} read as {our:?}"));
    }
}

const YES_OR_NO: &[&str] = &["disabled", "focused", "multiline", "readonly", "required", "selected"];

fn their_states(node: &AxNode) -> Vec<String> {
    let mut states = Vec::new();
    for property in &node.properties {
        let (name, value) = (property.name.as_str(), &property.value.value);
        let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match name {
            _ if YES_OR_NO.contains(&name) && word == "true" => states.push(name.to_owned()),
            "checked" | "expanded" => states.push(format!("{name} {word}")),
            "level" if node.role() == "heading" => states.push(format!("{name} {word}")),
            "pressed" | "invalid" if word != "false" => states.push(name.to_owned()),
            _ => {}
        }
    }
    states.sort();
    states
}

fn our_states(node: &OurNode) -> Vec<String> {
    let mut states = Vec::new();
    for (name, value) in &node.states {
        let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match name.as_str() {
            "checked" | "expanded" | "level" => states.push(format!("{name} {word}")),
            // Not reported by Chromium.
            "current" | "secret" | "unseen" | "hidden" => {}
            name => states.push(name.to_owned()),
        }
    }
    states.sort();
    states
}
