//! Which crate uses which, as cargo itself reads the manifests.

use crate::source::workspace;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

pub type Edges = BTreeMap<String, BTreeSet<String>>;

/// What `cargo metadata` says of this workspace.
pub fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Dependencies between our own crates; those of tests alone do not count.
pub fn edges(metadata: &Value) -> Edges {
    let packages = metadata["packages"].as_array().unwrap();
    let name = |package: &Value| package["name"].as_str().unwrap().to_owned();
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    let uses = |package: &Value| {
        let dependencies = package["dependencies"].as_array().unwrap();
        let kept = dependencies.iter().filter(|dependency| dependency["kind"] != "dev");
        kept.map(name).filter(|used| ours.contains(used)).collect()
    };
    packages.iter().map(|package| (name(package), uses(package))).collect()
}

/// Edges that the table does not allow, and crates that it does not know.
pub fn forbidden(edges: &Edges, allowed: &[(&str, &[&str])]) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, uses) in edges {
        match allowed.iter().find(|(known, _)| known == name) {
            None => faults.push(format!("{name} is not in the table")),
            Some((_, may_use)) => {
                faults.extend(
                    uses.iter()
                        .filter(|used| !may_use.contains(&used.as_str()))
                        .map(|used| format!("{name} may not use {used}")),
                );
            }
        }
    }
    faults
}

#[test]
fn a_forbidden_edge_is_found() {
    let mut metadata = metadata();
    let allowed: &[(&str, &[&str])] = &[];
    assert!(!forbidden(&edges(&metadata), allowed).is_empty());
    for package in metadata["packages"].as_array_mut().unwrap() {
        if package["name"] == "policy" {
            let edge = serde_json::json!({ "name": "engine", "kind": null, "target": "cfg(unix)" });
            package["dependencies"].as_array_mut().unwrap().push(edge);
        }
    }
    assert_eq!(forbidden(&edges(&metadata), crate::EDGES), ["policy may not use engine"]);
}
