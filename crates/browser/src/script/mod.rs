//! The page script: runs in every document, in an isolated world that the page's scripts cannot see or touch.

/// The name of the isolated world; calls go only to contexts of this name.
pub(crate) const WORLD: &str = "stockade";

use crate::cdp::protocol::AddScript;
use serde_json::value::RawValue;
use std::sync::LazyLock;

/// Installs the script in the present document and in all later ones. Where it has run before, it stops by itself.
pub(crate) fn install_command() -> AddScript<'static> {
    AddScript { source: source(), world_name: WORLD, run_immediately: true }
}

/// Evaluated in every new document before the page's own scripts, and again where it was missed. So it is parsed often,
/// and is sent without what is there for readers only; no text in it runs over the end of a line. It is sent often, too,
/// and written as JSON once.
pub(crate) fn source() -> &'static RawValue {
    static SENT: LazyLock<Box<RawValue>> = LazyLock::new(|| {
        let lines =
            WRITTEN.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with("//"));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        // Text can be written as JSON, whatever it is.
        serde_json::value::to_raw_value(&text).unwrap_or_default()
    });
    &SENT
}

const WRITTEN: &str = concat!(
    "(() => {\n'use strict';\nif (Object.hasOwn(globalThis, 'stockade')) return;\n",
    include_str!("dom.js"),
    include_str!("secret.js"),
    include_str!("roots.js"),
    include_str!("roles.js"),
    include_str!("generated.js"),
    include_str!("owned.js"),
    include_str!("names.js"),
    include_str!("suspects.js"),
    include_str!("colours.js"),
    include_str!("seen.js"),
    include_str!("covers.js"),
    include_str!("shows.js"),
    include_str!("hidden.js"),
    include_str!("states.js"),
    include_str!("telling.js"),
    include_str!("snapshot.js"),
    include_str!("element.js"),
    include_str!("aim.js"),
    include_str!("find.js"),
    include_str!("field.js"),
    include_str!("guard.js"),
    include_str!("settle.js"),
    include_str!("choose.js"),
    include_str!("scroll.js"),
    include_str!("source.js"),
    include_str!("page_text.js"),
    include_str!("stores.js"),
    include_str!("cover.js"),
    "watchForPasswords(document);\nsweepForPasswords();\n",
    "Object.defineProperty(globalThis, 'stockade', { value: Object.freeze({ ",
    "snapshot, find, whatBecame, aim, at, focused, struck, through, adoptFrame, enterField, focusField, editorOf, partsOf, momentIn, arm, rest, ",
    "choose, optionLabels, optionsMeant, isChosen, putBack, isChecked, scrollState, scrolled, source, pageText, storedHere, coverText, coverBoxes, coverHeld, coverPassed, ",
    "shadowRoot, adoptRoot, countNodes, setOutTrees, treeAt, rootsLooked }) });\n})();",
);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_name_is_declared_twice_because_the_files_are_one_script() {
        let mut names = BTreeSet::new();
        let given = WRITTEN.lines().filter_map(|line| {
            ["const ", "let ", "function "].iter().find_map(|kind| line.strip_prefix(kind))
        });
        for rest in given {
            let name = rest.split(|c: char| !(c.is_alphanumeric() || "_$".contains(c))).next().unwrap();
            assert!(
                name.is_empty() || names.insert(name),
                "{name} is given twice, and then nothing of it runs"
            );
        }
        assert!(names.len() > 100, "{}", names.len());
    }
}
