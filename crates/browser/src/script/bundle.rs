//! A bundler for the script's ES modules: resolves imports, orders the modules, and joins them into one function.
//!
//! All modules share the scope of that function, so an imported name is the exported one without any indirection, and a
//! name that two modules declare is an error. It reads lines, not tokens, and therefore accepts only this syntax, and
//! fails with file and line on anything else:
//!
//! - `import { a, b } from './x.js';` at the start of a line, over one or more lines, without `as`;
//! - `export` before `const`, `let`, `function`, `async function` or `class`, at the start of a line;
//! - one name per declaration at the top level;
//! - comments that begin a line (`//`, `/**`), and `/** @type … */` within one;
//! - template literals that end on the line they begin on.
//!
//! `tsc` and ESLint check everything else. Compiled twice: into the build script, and into the unit tests.

use std::{collections::BTreeMap, fmt, io};

/// The global that holds the script's functions, in the isolated world.
const GLOBAL: &str = "stockade";

pub struct Bundle {
    /// Without comments, indentation and blank lines: Chromium parses it for every document.
    pub source: String,
    /// In the order in which they run.
    pub modules: Vec<String>,
    /// The keys of the entry module's `FUNCTIONS`.
    pub functions: Vec<String>,
}

pub struct BundleError {
    file: String,
    line: usize,
    reason: String,
}

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BundleError { file, line, reason } = self;
        write!(f, "{file}:{line}: {reason}")
    }
}

impl fmt::Debug for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BundleError {}

struct Import {
    line: usize,
    from: String,
    names: Vec<String>,
}

struct Declaration {
    line: usize,
    name: String,
    exported: bool,
}

struct Module {
    imports: Vec<Import>,
    declarations: Vec<Declaration>,
    /// Code lines, without `import` and `export`.
    lines: Vec<String>,
}

pub fn bundle(entry: &str, read: &dyn Fn(&str) -> io::Result<String>) -> Result<Bundle, BundleError> {
    let mut linker = Linker { read, modules: BTreeMap::new(), order: Vec::new(), path: Vec::new() };
    linker.visit(entry, entry, 1)?;
    linker.refuse_name_clashes()?;
    let mut source =
        format!("(() => {{\n'use strict';\nif (Object.hasOwn(globalThis, '{GLOBAL}')) return;\n");
    for line in linker.order.iter().flat_map(|name| &linker.modules[name].lines) {
        source.push_str(line);
        source.push('\n');
    }
    source.push_str("})();");
    let functions = listed_functions(entry, &linker.modules[entry])?;
    Ok(Bundle { source, modules: linker.order, functions })
}

struct Linker<'a> {
    read: &'a dyn Fn(&str) -> io::Result<String>,
    modules: BTreeMap<String, Module>,
    order: Vec<String>,
    /// The modules whose imports are being visited.
    path: Vec<String>,
}

impl Linker<'_> {
    /// Loads a module after all that it imports.
    fn visit(&mut self, name: &str, importer: &str, line: usize) -> Result<(), BundleError> {
        let fail = |reason: String| BundleError { file: importer.to_owned(), line, reason };
        if let Some(start) = self.path.iter().position(|open| open == name) {
            let cycle = self.path[start..].join(" imports ");
            return Err(fail(format!("an import cycle: {cycle} imports {name}")));
        }
        if self.modules.contains_key(name) {
            return Ok(());
        }
        let text = (self.read)(name).map_err(|error| fail(format!("cannot read {name}: {error}")))?;
        let module = parse(name, &text)?;
        self.path.push(name.to_owned());
        for import in &module.imports {
            self.visit(&import.from, name, import.line)?;
            let exporter = &self.modules[&import.from];
            for wanted in &import.names {
                if !exporter.declarations.iter().any(|known| known.exported && known.name == *wanted) {
                    let reason = format!("{} does not export {wanted}", import.from);
                    return Err(BundleError { file: name.to_owned(), line: import.line, reason });
                }
            }
        }
        self.path.pop();
        self.modules.insert(name.to_owned(), module);
        self.order.push(name.to_owned());
        Ok(())
    }

    fn refuse_name_clashes(&self) -> Result<(), BundleError> {
        let mut known: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
        for file in &self.order {
            for Declaration { line, name, .. } in &self.modules[file].declarations {
                if let Some((other, at)) = known.insert(name, (file, *line)) {
                    let reason = format!("{name} is already declared in {other}:{at}");
                    return Err(BundleError { file: file.clone(), line: *line, reason });
                }
            }
        }
        Ok(())
    }
}

fn parse(file: &str, text: &str) -> Result<Module, BundleError> {
    let mut module = Module { imports: Vec::new(), declarations: Vec::new(), lines: Vec::new() };
    let mut in_comment = false;
    let mut import: Option<(usize, String)> = None;
    for (index, written) in text.lines().enumerate() {
        let line = index + 1;
        let fail = |reason: &str| Err(BundleError { file: file.to_owned(), line, reason: reason.to_owned() });
        let Some(code) = without_comments(written, &mut in_comment) else {
            return fail("a /** comment must begin its line, or end on it");
        };
        if let Some((_, statement)) = &mut import {
            statement.push_str(code.trim());
        } else if code.starts_with("import") {
            import = Some((line, code.trim().to_owned()));
        }
        if let Some((start, statement)) = import.take_if(|(_, statement)| statement.ends_with(';')) {
            let Some((from, names)) = parse_import(&statement) else {
                return fail("write import { a, b } from './x.js';");
            };
            module.imports.push(Import { line: start, from, names });
            continue;
        }
        if import.is_some() || code.trim().is_empty() {
            continue;
        }
        if code.matches('`').count() % 2 == 1 {
            return fail("a template literal must end on the line it begins on");
        }
        let exported = code.starts_with("export");
        let statement = code.strip_prefix("export ").unwrap_or(&code);
        match declared_name(statement) {
            Some(name) if !name.is_empty() => {
                module.declarations.push(Declaration { line, name: name.to_owned(), exported });
            }
            Some(_) => return fail("declare one name at a time, without a pattern"),
            None if exported => return fail("export a const, let, function or class where it is declared"),
            None => {}
        }
        module.lines.push(statement.trim().to_owned());
    }
    Ok(module)
}

/// The line's code; empty if it has none. `None`: a comment that is not understood.
fn without_comments(line: &str, in_comment: &mut bool) -> Option<String> {
    let mut rest = line;
    if *in_comment {
        let Some((_, after)) = rest.split_once("*/") else { return Some(String::new()) };
        *in_comment = false;
        rest = after;
    }
    let start = rest.trim_start();
    if start.starts_with("//") {
        return Some(String::new());
    }
    if start.starts_with("/**") && !start.contains("*/") {
        *in_comment = true;
        return Some(String::new());
    }
    let mut code = String::new();
    while let Some((before, comment)) = rest.split_once("/**") {
        let (_, after) = comment.split_once("*/")?;
        code.push_str(before);
        rest = after;
    }
    code.push_str(rest);
    Some(code)
}

fn parse_import(statement: &str) -> Option<(String, Vec<String>)> {
    let (names, from) = statement.strip_prefix("import {")?.split_once("} from './")?;
    let from = from.strip_suffix("';")?;
    let names: Vec<String> =
        names.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    let is_plain = !names.is_empty() && names.iter().all(|name| identifier(name) == name);
    (is_plain && from.ends_with(".js") && !from.contains('/')).then(|| (from.to_owned(), names))
}

/// The name that a line declares at the top level; empty for a pattern. `None`: it declares nothing.
fn declared_name(code: &str) -> Option<&str> {
    let keywords = ["const ", "let ", "function ", "async function ", "class ", "var "];
    keywords.iter().find_map(|keyword| code.strip_prefix(keyword)).map(identifier)
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    &text[..end.unwrap_or(text.len())]
}

/// The entry module lists what Rust calls as `const FUNCTIONS = {`, one name a line, `};`.
fn listed_functions(entry: &str, module: &Module) -> Result<Vec<String>, BundleError> {
    let fail = |reason: &str| BundleError { file: entry.to_owned(), line: 1, reason: reason.to_owned() };
    let mut lines = module.lines.iter().skip_while(|line| *line != "const FUNCTIONS = {");
    lines.next().ok_or_else(|| fail("no const FUNCTIONS = {"))?;
    lines
        .take_while(|line| *line != "};")
        .map(|line| {
            let name = line.strip_suffix(',').filter(|name| identifier(name) == *name);
            name.map(str::to_owned).ok_or_else(|| fail("list one name a line in FUNCTIONS"))
        })
        .collect()
}

/// The Rust enum of the functions. A variant that is never used, and one that does not exist, do not compile.
pub fn declare_functions(functions: &[String]) -> String {
    let variants: Vec<(String, &str)> =
        functions.iter().map(|name| (name[..1].to_uppercase() + &name[1..], name.as_str())).collect();
    let list = |line: &dyn Fn(&str, &str) -> String| -> String {
        variants.iter().map(|(variant, name)| line(variant, name)).collect()
    };
    format!(
        "/// A function of the script, as `src/script/main.js` lists them.\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq)]\n#[deny(dead_code)]\n\
         pub(crate) enum ScriptFunction {{\n{}}}\n\
         impl ScriptFunction {{\n\
         pub(crate) fn name(self) -> &'static str {{ match self {{\n{}}} }}\n\
         /// For `Runtime.callFunctionOn`, in the script's world.\n\
         pub(crate) fn declaration(self) -> &'static str {{ match self {{\n{}}} }}\n}}\n",
        list(&|variant, _| format!("{variant},\n")),
        list(&|variant, name| format!("Self::{variant} => \"{name}\",\n")),
        list(&|variant, name| format!(
            "Self::{variant} => \"function(...a) {{ return {GLOBAL}.{name}(...a); }}\",\n"
        )),
    )
}
