//! Type names that are used for two types in one crate.

use crate::source::{SourceFile, is_test, tokens};
use std::collections::BTreeMap;

/// Each name that two type definitions of a crate share, with their files.
pub fn repeated_types(files: &[SourceFile], name: &str) -> Vec<String> {
    let prefix = format!("crates/{name}/src/");
    let mut defined: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.starts_with(&prefix) && !is_test(&file.path)) {
        for defined_here in type_names(&tokens(&file.text)) {
            defined.entry(defined_here).or_default().push(&file.path);
        }
    }
    let repeated = defined.into_iter().filter(|(_, files)| files.len() > 1);
    repeated.map(|(name, files)| format!("{name} is defined in {}", files.join(" and "))).collect()
}

/// Names behind `struct`, `enum`, `union` and `trait`. Aliases and associated types are left out.
fn type_names(tokens: &[String]) -> Vec<String> {
    let keywords = ["struct", "enum", "union", "trait"];
    let pairs = tokens.windows(2).filter(|pair| keywords.contains(&pair[0].as_str()));
    pairs.filter(|pair| pair[1].starts_with(char::is_uppercase)).map(|pair| pair[1].clone()).collect()
}

#[test]
fn a_name_for_two_things_is_found() {
    let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
    let files = [
        file("crates/x/src/a.rs", "pub struct Entry; enum Kind { A } trait Other {}"),
        file("crates/x/src/b.rs", "struct Entry<T>(T); #[cfg(test)] mod tests { enum Kind {} }"),
        file("crates/y/src/b.rs", "struct Kind;"),
    ];
    let repeated = repeated_types(&files, "x");
    assert_eq!(repeated, ["Entry is defined in crates/x/src/a.rs and crates/x/src/b.rs"]);
}
