//! The bundler: what it joins, and what it refuses.

use super::{
    ScriptFunction,
    bundle::{Bundle, bundle, declare_functions},
    source,
};
use std::io;

/// Bundles modules that are given by name; the first is the entry.
fn join(modules: &[(&str, &str)]) -> Result<Bundle, String> {
    let read = |name: &str| {
        let found = modules.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
        found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    bundle(modules[0].0, &read).map_err(|error| error.to_string())
}

const NO_FUNCTIONS: &str = "const FUNCTIONS = {\n};\n";

#[test]
fn a_module_runs_after_those_that_it_imports() {
    let main =
        format!("import {{ b }} from './b.js';\nimport {{\n  a,\n}} from './a.js';\na(b);\n{NO_FUNCTIONS}");
    let joined = join(&[
        ("main.js", &main),
        (
            "b.js",
            "// B.\n\nimport { a } from './a.js';\n\n/** @param {number} x */\nexport const b = (x) => a(x);\n",
        ),
        ("a.js", "/**\n * A.\n */\nexport function a(x) {\n  return /** @type {any} */ (x);\n}\n"),
    ]);
    let expected = "(() => {\n'use strict';\nif (Object.hasOwn(globalThis, 'stockade')) return;\n\
                    function a(x) {\nreturn  (x);\n}\nconst b = (x) => a(x);\na(b);\nconst FUNCTIONS = {\n};\n})();";
    let joined = joined.unwrap();
    assert_eq!(joined.source, expected);
    assert_eq!(joined.modules, ["a.js", "b.js", "main.js"]);
}

#[test]
fn what_cannot_be_bundled_is_refused_with_file_and_line() {
    let cases: &[(&str, &str, &str)] = &[
        ("import { a } from './gone.js';", "", "main.js:1: cannot read gone.js"),
        ("import { b } from './a.js';", "const b = 1;", "main.js:1: a.js does not export b"),
        ("import { b as c } from './a.js';", "export const b = 1;", "main.js:1: write import"),
        ("import b from './a.js';", "export const b = 1;", "main.js:1: write import"),
        (
            "import { b } from './a.js';\nconst b = 1;",
            "export const b = 1;",
            "main.js:2: b is already declared in a.js:1",
        ),
        (
            "import { b } from './a.js';\nconst c = 1;",
            "export const b = 1;\nlet c;",
            "main.js:2: c is already declared in a.js:2",
        ),
        (
            "import { b } from './a.js';",
            "import { c } from './main.js';",
            "a.js:1: an import cycle: main.js imports a.js imports main.js",
        ),
        ("\nconst { a, b } = c;", "", "main.js:2: declare one name at a time"),
        ("export default 1;", "", "main.js:1: export a const"),
        ("const a = `\n`;", "", "main.js:1: a template literal"),
        ("const a = 1; /** more\n*/", "", "main.js:1: a /** comment"),
        ("const a = 1;", "", "main.js:1: no const FUNCTIONS"),
        ("const FUNCTIONS = {\n  a: b,\n};", "", "main.js:1: list one name a line"),
    ];
    for (main, other, expected) in cases {
        let refused = join(&[("main.js", main), ("a.js", other)]).err().unwrap();
        assert!(refused.starts_with(expected), "{main}: {refused}");
    }
}

#[test]
fn rust_may_call_exactly_the_functions_that_the_entry_module_lists() {
    let main = "const a = 1;\nconst readText = 1;\nconst FUNCTIONS = {\n  // Reads.\n  readText,\n  a,\n};\n";
    let joined = join(&[("main.js", main)]).unwrap();
    assert_eq!(joined.functions, ["readText", "a"]);
    let declared = declare_functions(&joined.functions);
    assert!(
        declared.contains("#[deny(dead_code)]\npub(crate) enum ScriptFunction {\nReadText,\nA,\n}"),
        "{declared}"
    );
    assert!(declared.contains("Self::ReadText => \"readText\""), "{declared}");
}

#[test]
fn the_script_that_is_injected_is_the_bundle() {
    assert_eq!(ScriptFunction::TakeSnapshot.name(), "takeSnapshot");
    assert_eq!(
        ScriptFunction::TakeSnapshot.declaration(),
        "function(...a) { return stockade.takeSnapshot(...a); }"
    );
    assert!(source().get().contains("const takeSnapshot = "));
    assert!(!source().get().contains("import {"), "a module was not joined");
}
