//! The shape of the house, as a test: crate edges, the size of files, a purpose on each, and where a few
//! dangerous words may stand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Who may use whom. ARCHITECTURE.md has the same table, with reasons.
const EDGES: &[(&str, &[&str])] = &[
    ("policy", &[]),
    ("audit", &["policy"]),
    ("browser", &["policy"]),
    ("egress", &[]),
    ("jail", &[]),
    ("bridge", &[]),
    ("vault", &["policy"]),
    ("engine", &["audit", "bridge", "browser", "egress", "jail", "policy", "vault"]),
    ("server", &["audit", "browser", "engine", "policy", "vault"]),
    ("testkit", &["engine"]),
    ("stockade", &["audit", "browser", "engine", "jail", "policy", "server", "testkit", "vault"]),
];

/// A file longer than this asks to be split by what it does; tests may be longer.
const LONGEST_FILE: usize = 500;
const LONGEST_TEST_FILE: usize = 900;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files_under(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_under(&path, extensions, found);
        } else if path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x)) {
            found.push(path);
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut paths = Vec::new();
    files_under(&root().join("crates"), &["rs"], &mut paths);
    assert!(paths.len() > 50, "the walk found only {} files", paths.len());
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

fn is_test(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.contains("/tests/")
        || text.ends_with("tests.rs")
        || text.contains("/benches/")
        || text.contains("/examples/")
}

#[test]
fn crates_use_only_what_the_table_allows() {
    let known: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    let mut seen = BTreeMap::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let uses: BTreeSet<String> = manifest
            .lines()
            .skip_while(|line| *line != "[dependencies]")
            .skip(1)
            .take_while(|line| !line.starts_with('['))
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .filter(|dependency| known.contains(dependency))
            .map(str::to_owned)
            .collect();
        seen.insert(name, uses);
    }
    let allowed: BTreeMap<String, BTreeSet<String>> = EDGES
        .iter()
        .map(|(name, uses)| (name.to_string(), uses.iter().map(ToString::to_string).collect()))
        .collect();
    assert_eq!(seen, allowed);
}

#[test]
fn every_file_says_what_it_is_for_and_stays_small() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        if !text.starts_with("//! ") {
            faults.push(format!("{}: the first line is not a //! purpose", path.display()));
        }
        let longest = if is_test(&path) { LONGEST_TEST_FILE } else { LONGEST_FILE };
        let lines = text.lines().count();
        if lines > longest {
            faults.push(format!("{}: {lines} lines, at most {longest}", path.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Where a word may stand, outside of tests.
fn only_in(word: &str, allowed: &[&str]) {
    let strays: Vec<String> = sources()
        .into_iter()
        .filter(|(path, text)| !is_test(path) && text.contains(word))
        .map(|(path, _)| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned())
        .filter(|path| !allowed.iter().any(|prefix| path.starts_with(prefix)))
        .collect();
    assert!(strays.is_empty(), "{word:?} may not stand in {strays:?}");
}

#[test]
fn only_the_audit_log_turns_a_permit_into_something_performable() {
    only_in(".recorded()", &["crates/audit/"]);
}

#[test]
fn only_the_jail_is_unsafe() {
    only_in("allow(unsafe_code)", &["crates/jail/"]);
}

#[test]
fn only_the_gate_performs_and_only_the_gate_decides() {
    only_in(".perform(", &["crates/engine/src/gate/", "crates/browser/"]);
    only_in(".perform_within(", &["crates/engine/src/gate/", "crates/browser/"]);
    only_in(".decide(", &["crates/engine/src/gate/", "crates/policy/", "crates/audit/src/log.rs"]);
}

#[test]
fn only_the_book_turns_a_question_into_a_yes_and_only_the_gate_uses_it() {
    only_in(".approved_by(", &["crates/engine/src/approvals/", "crates/policy/"]);
    only_in(".still_holds(", &["crates/engine/src/gate/", "crates/policy/"]);
    only_in("Bound::new(", &["crates/engine/src/gate/"]);
}

#[test]
fn no_door_of_an_agents_knows_how_to_answer_for_a_person() {
    let agents = ["crates/server/src/mcp/", "crates/server/src/api/", "crates/engine/src/gate/"];
    for (path, text) in sources() {
        let place = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        if agents.iter().any(|agents| place.starts_with(agents)) {
            assert!(!text.contains("Verdict") && !text.contains("Decider"), "{place}");
        }
    }
}

#[test]
fn chromiums_sandbox_is_never_turned_off() {
    // Spelled in two parts, so that this file does not trip over itself.
    let word = concat!("--no-", "sandbox");
    for (path, text) in sources() {
        for line in text.lines().filter(|line| line.contains(word)) {
            let says_no = line.contains("assert") || line.trim_start().starts_with("//");
            assert!(says_no, "{}: {line}", path.display());
        }
    }
}

#[test]
fn no_test_is_ignored_and_nothing_is_left_to_do() {
    for (path, text) in sources() {
        for word in [concat!("#[", "ignore"), concat!("todo", "!("), concat!("unimplemented", "!(")] {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
    }
}
