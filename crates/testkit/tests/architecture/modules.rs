//! Import cycles between the top-level modules of a crate.

use crate::source::{SourceFile, is_test, tokens};
use std::collections::{BTreeMap, BTreeSet};

/// For each top-level module, the modules that it names, each with one file that does.
pub type ModuleGraph = BTreeMap<String, BTreeMap<String, String>>;

/// The graph of one crate's files; `prefix` is `crates/NAME/src/`.
pub fn module_graph(files: &[SourceFile], prefix: &str) -> ModuleGraph {
    let files: Vec<(&SourceFile, Vec<String>)> = files
        .iter()
        .filter(|file| file.path.starts_with(prefix) && !is_test(&file.path))
        .map(|file| (file, module_path(&file.path[prefix.len()..])))
        .collect();
    let modules: BTreeSet<String> = files.iter().filter_map(|(_, path)| path.first().cloned()).collect();
    let mut reexports = BTreeMap::new();
    for (file, _) in files.iter().filter(|(_, path)| path.is_empty()) {
        for path in used_paths(&tokens(&file.text)) {
            // `pub use module::Type` at the root: `crate::Type` is a use of `module`.
            if path.len() > 1 && modules.contains(&path[0]) {
                reexports.insert(path[path.len() - 1].clone(), path[0].clone());
            }
        }
    }
    let mut graph: ModuleGraph = modules.iter().map(|module| (module.clone(), BTreeMap::new())).collect();
    for (file, own) in files.iter().filter(|(_, path)| !path.is_empty()) {
        for named in named_at_root(&tokens(&file.text), own.len()) {
            let target = if modules.contains(&named) { Some(&named) } else { reexports.get(&named) };
            if let (Some(target), Some(uses)) = (target, graph.get_mut(&own[0]))
                && *target != own[0]
            {
                uses.entry(target.clone()).or_insert_with(|| file.path.clone());
            }
        }
    }
    graph
}

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`; the root files are no module.
fn module_path(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod") || matches!(path, "lib.rs" | "main.rs") {
        parts.pop();
    }
    parts
}

/// First names behind `crate::`, or behind as many `super::` as lead out of a module of this depth.
fn named_at_root(tokens: &[String], depth: usize) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut at = 0;
    while at < tokens.len() {
        let from_path = at > 1 && tokens[at - 1] == ":" && tokens[at - 2] == ":";
        let supers = if tokens[at] == "super" && !from_path { count_supers(tokens, at) } else { 0 };
        let start = match tokens[at].as_str() {
            "crate" => at + 1,
            "super" if supers == depth && !from_path => at + supers * 3 - 2,
            _ => {
                at += 1;
                continue;
            }
        };
        if tokens.get(start).is_some_and(|t| t == ":") && tokens.get(start + 1).is_some_and(|t| t == ":") {
            found.extend(first_names(tokens, start + 2));
        }
        at += 1;
    }
    found
}

fn count_supers(tokens: &[String], start: usize) -> usize {
    let mut count = 0;
    while tokens.get(start + count * 3).is_some_and(|token| token == "super") {
        count += 1;
    }
    count
}

/// The name that follows, or the first name of each path in a group.
fn first_names(tokens: &[String], at: usize) -> Vec<String> {
    match tokens.get(at).map(String::as_str) {
        Some("{") => {}
        Some(name) => return vec![name.to_owned()],
        None => return Vec::new(),
    }
    let mut names = Vec::new();
    let (mut depth, mut is_first) = (0, false);
    for token in &tokens[at..] {
        match token.as_str() {
            "{" => (depth, is_first) = (depth + 1, depth == 0),
            "}" => depth -= 1,
            "," => is_first = depth == 1,
            name if is_first => {
                names.push(name.to_owned());
                is_first = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// Every path of the `use` items, whole, with groups written out.
fn used_paths(tokens: &[String]) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] == "use" {
            let end = tokens[at..].iter().position(|token| token == ";").map_or(tokens.len(), |n| at + n);
            write_out(&tokens[at + 1..end], &mut Vec::new(), &mut paths);
            at = end;
        }
        at += 1;
    }
    paths
}

fn write_out(tokens: &[String], prefix: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let (mut depth, mut start) = (0, 0);
    let mut parts = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 0 => {
                parts.push(&tokens[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[start..]);
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        let group = part.iter().position(|token| token == "{").unwrap_or(part.len());
        let names = part[..group].iter().filter(|token| *token != ":").cloned();
        let before = prefix.len();
        prefix.extend(names.take_while(|name| name != "as"));
        if group < part.len() {
            write_out(&part[group + 1..part.len() - 1], prefix, paths);
        } else {
            paths.push(prefix.clone());
        }
        prefix.truncate(before);
    }
}

/// One cycle, as its modules in order, if there is any.
pub fn find_cycle(graph: &ModuleGraph) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    graph.keys().find_map(|module| visit(graph, module, &mut Vec::new(), &mut done))
}

fn visit(
    graph: &ModuleGraph,
    module: &str,
    trail: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(start) = trail.iter().position(|visited| visited == module) {
        return Some(trail[start..].to_vec());
    }
    if !done.insert(module.to_owned()) {
        return None;
    }
    trail.push(module.to_owned());
    let cycle = graph[module].keys().find_map(|next| {
        let is_open = trail.contains(next);
        if is_open || !done.contains(next) { visit(graph, next, trail, done) } else { None }
    });
    trail.pop();
    cycle
}

/// The cycle with the files that make it, for the failure's message.
pub fn describe(graph: &ModuleGraph, cycle: &[String]) -> String {
    let next = cycle.iter().cycle().skip(1);
    let steps = cycle.iter().zip(next).map(|(from, to)| format!("{from} -> {to} ({})", graph[from][to]));
    steps.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: format!("crates/x/src/{path}"), text: text.to_owned() }
    }

    #[test]
    fn a_cycle_is_found_however_it_is_spelled() {
        let root = file("lib.rs", "mod a; mod b; mod c; pub use b::{Deep, inner::Type}; pub use c::Third;");
        for (a, b) in [
            ("use crate::b::Deep;", "use crate::a;"),
            ("use crate::{c, b::{Deep, inner}};", "fn f() -> crate::a::X {}"),
            ("use crate::Type;", "use super::super::a::X;"),
            ("fn f() { println!(\"{}\", crate::b::g()) }", "use crate::c;"),
        ] {
            let files = [
                file("lib.rs", &root.text),
                file("a.rs", a),
                file("b/inner.rs", b),
                file("c/mod.rs", "use super::a;"),
            ];
            let graph = module_graph(&files, "crates/x/src/");
            let cycle = find_cycle(&graph);
            assert!(cycle.is_some(), "{a} {b}: {graph:?}");
            assert!(describe(&graph, &cycle.unwrap()).contains("->"));
        }
    }

    #[test]
    fn layers_have_no_cycle_and_tests_do_not_count() {
        let files = [
            file("lib.rs", "mod a; mod b; mod c;"),
            file("a.rs", "use crate::b; use crate::c;"),
            file("b.rs", "use crate::c; // crate::a\n#[cfg(test)] mod tests { use crate::a; }"),
            file("c/mod.rs", "mod d; use self::d;"),
            file("c/d.rs", "use super::x; const A: &str = \"crate::a\";"),
            file("c/tests.rs", "use crate::a;"),
        ];
        assert_eq!(find_cycle(&module_graph(&files, "crates/x/src/")), None);
    }
}
