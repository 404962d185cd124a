//! The architecture as a test: crate edges, module cycles, names, the size of files, and where a few dangerous words
//! may stand.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod edges;
mod modules;
mod names;
mod source;

use source::{SourceFile, is_test, rust_files};

/// Who may use whom. ARCHITECTURE.md has the same table, with reasons.
const EDGES: &[(&str, &[&str])] = &[
    ("error-code", &[]),
    ("redact-derive", &[]),
    ("redact", &["error-code", "redact-derive"]),
    ("policy", &["error-code", "redact"]),
    ("http-client", &[]),
    ("audit", &["error-code", "policy", "redact"]),
    ("browser", &["audit", "error-code", "policy", "redact"]),
    ("egress", &["audit", "error-code", "policy", "redact"]),
    ("jail", &["error-code"]),
    ("bridge", &[]),
    ("vault", &["error-code", "http-client", "policy", "redact"]),
    (
        "engine",
        &[
            "audit",
            "bridge",
            "browser",
            "egress",
            "error-code",
            "http-client",
            "jail",
            "policy",
            "redact",
            "vault",
        ],
    ),
    ("server", &["audit", "browser", "engine", "error-code", "http-client", "policy", "redact", "vault"]),
    ("testkit", &["engine", "error-code", "jail"]),
    (
        "stockade",
        &[
            "audit",
            "browser",
            "engine",
            "error-code",
            "jail",
            "policy",
            "redact",
            "server",
            "testkit",
            "vault",
        ],
    ),
];

/// A file longer than this asks to be split by what it does; tests may be longer.
const LONGEST_FILE: usize = 500;
const LONGEST_TEST_FILE: usize = 900;

#[test]
fn crates_use_only_what_the_table_allows() {
    assert_eq!(edges::forbidden(&edges::edges(&edges::metadata()), EDGES), [""; 0]);
}

#[test]
fn no_crate_has_an_import_cycle_between_its_top_level_modules() {
    let files = rust_files();
    let cycles: Vec<String> = EDGES
        .iter()
        .filter_map(|(name, _)| {
            let graph = modules::module_graph(&files, &format!("crates/{name}/src/"));
            let cycle = modules::find_cycle(&graph)?;
            Some(format!("{name}: {}", modules::describe(&graph, &cycle)))
        })
        .collect();
    assert!(cycles.is_empty(), "{}", cycles.join("\n"));
}

#[test]
fn no_type_name_is_used_for_two_things_in_one_crate() {
    let files = rust_files();
    let repeated: Vec<String> =
        EDGES.iter().flat_map(|(name, _)| names::repeated_types(&files, name)).collect();
    assert!(repeated.is_empty(), "{}", repeated.join("\n"));
}

#[test]
fn every_file_says_what_it_is_for_and_stays_small() {
    let mut faults = Vec::new();
    for SourceFile { path, text } in rust_files() {
        if !text.starts_with("//! ") {
            faults.push(format!("{path}: the first line is not a //! purpose"));
        }
        let longest = if is_test(&path) { LONGEST_TEST_FILE } else { LONGEST_FILE };
        let lines = text.lines().count();
        if lines > longest {
            faults.push(format!("{path}: {lines} lines, at most {longest}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Where a word may stand, outside of tests.
fn only_in(word: &str, allowed: &[&str]) {
    let strays: Vec<String> = rust_files()
        .into_iter()
        .filter(|file| !is_test(&file.path) && file.text.contains(word))
        .map(|file| file.path)
        .filter(|path| !allowed.iter().any(|prefix| path.starts_with(prefix)))
        .collect();
    assert!(strays.is_empty(), "{word:?} may not stand in {strays:?}");
}

/// Marker traits that promise a type without text of a page or an agent: such types go into replies unredacted.
#[test]
fn only_these_files_promise_that_a_type_needs_no_redaction() {
    let promises = ["SafeText for", "RedactedFields for", "declare_safe_text!"];
    let files = [
        "crates/redact/",
        "crates/redact-derive/",
        // Ids, names of tenants, actors, sessions and tabs, names of rules.
        "crates/policy/src/ids.rs",
        "crates/policy/src/action.rs",
        "crates/policy/src/permit.rs",
        // Digests of effects.
        "crates/policy/src/effect/request.rs",
        // Hosts and names of credentials.
        "crates/vault/src/credential/host.rs",
        "crates/engine/src/approvals/approval.rs",
        "crates/engine/src/provider/mod.rs",
        // Made of redacted text.
        "crates/browser/src/text/page_text.rs",
        "crates/server/src/mcp/tool_reply.rs",
        // Pictures, which are masked when they are taken.
        "crates/browser/src/screenshot/capture.rs",
        "crates/server/src/mcp/tools/screenshot.rs",
    ];
    for promise in promises {
        only_in(promise, &files);
    }
}

/// Text of pages and sites passes the gate, so nothing there may say that a text is none of a session's.
#[test]
fn the_gate_and_the_driver_redact_every_text() {
    for SourceFile { path, text } in rust_files().iter().filter(|file| !is_test(&file.path)) {
        if ["crates/engine/src/gate/", "crates/browser/src/"].iter().any(|folder| path.starts_with(folder)) {
            let program = text.split("#[cfg(test)]").next().unwrap();
            for word in ["outside_sessions(", "Fault::caused(", "previously_redacted"] {
                assert!(!program.contains(word), "{path}: {word}");
            }
        }
    }
}

#[test]
fn only_stored_cards_and_errors_count_as_redacted_before() {
    only_in(
        "previously_redacted",
        &["crates/redact/", "crates/engine/src/approvals/approval.rs", "crates/engine/src/error/mod.rs"],
    );
}

#[test]
fn only_the_jail_is_unsafe() {
    only_in("allow(unsafe_code)", &["crates/jail/"]);
}

#[test]
fn only_the_gate_performs_and_only_the_gate_decides() {
    only_in(".perform(", &["crates/engine/src/gate/", "crates/browser/"]);
    only_in(".perform_within(", &["crates/engine/src/gate/", "crates/browser/"]);
    // Effects are decided on for the proxy and the driver, by the session's part of the gate; CPU credit decides on cores.
    let deciders = [
        "crates/engine/src/gate/",
        "crates/engine/src/session/effects.rs",
        "crates/engine/src/provider/sandbox/cpu/",
        "crates/egress/src/intercept/",
        "crates/browser/src/effects/",
        "crates/policy/",
        "crates/audit/src/",
    ];
    only_in(".decide(", &deciders);
}

#[test]
fn only_the_gate_binds_a_question_to_what_people_are_shown() {
    only_in("PendingApproval::new(", &["crates/engine/src/gate/"]);
}

#[test]
fn no_interface_for_agents_can_answer_an_approval() {
    let agents = ["crates/server/src/mcp/", "crates/server/src/api/", "crates/engine/src/gate/"];
    for SourceFile { path, text } in rust_files() {
        if agents.iter().any(|agents| path.starts_with(agents)) {
            assert!(!text.contains("Verdict") && !text.contains("Decider"), "{path}");
        }
    }
}

#[test]
fn chromiums_sandbox_is_never_turned_off() {
    // Spelled in two parts, so that this file does not trip over itself.
    let word = concat!("--no-", "sandbox");
    for SourceFile { path, text } in rust_files() {
        for line in text.lines().filter(|line| line.contains(word)) {
            let says_no = line.contains("assert") || line.trim_start().starts_with("//");
            assert!(says_no, "{}: {line}", path);
        }
    }
}

#[test]
fn no_test_is_ignored_and_nothing_is_left_to_do() {
    for SourceFile { path, text } in rust_files() {
        for word in [concat!("#[", "ignore"), concat!("todo", "!("), concat!("unimplemented", "!(")] {
            assert!(!text.contains(word), "{}: {word}", path);
        }
    }
}
