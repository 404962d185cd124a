//! What the program accepts, read from its own help and `config show`: commands, flags, settings.

use super::super::common::PROGRAM;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::process::Command;

/// The help of one command.
#[derive(Clone, Debug, Default)]
pub struct Help {
    pub about: String,
    pub usage: String,
    /// Commands below it, in order.
    pub commands: Vec<String>,
    /// Its own flags, in order, without the global ones.
    pub flags: Vec<String>,
    /// Every flag that its help lists, short forms included.
    pub flag_names: BTreeSet<String>,
}

/// Reads help, each command's once.
#[derive(Default)]
pub struct Program {
    known: HashMap<Vec<String>, Help>,
}

impl Program {
    pub fn help(&mut self, path: &[String]) -> Help {
        self.known.entry(path.to_vec()).or_insert_with(|| parse(&run_help(path))).clone()
    }
}

/// The help text in 80 columns.
pub fn run_help(path: &[String]) -> String {
    let done = Command::new(PROGRAM).args(path).arg("--help").env("COLUMNS", "80").output().unwrap();
    assert!(done.status.success(), "stockade {} --help: {done:?}", path.join(" "));
    String::from_utf8(done.stdout).unwrap()
}

fn parse(text: &str) -> Help {
    // Its first paragraph, which may be wrapped.
    let about = text.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let mut help = Help { about, ..Help::default() };
    // Commands may stand in groups, each with a heading; all of them come before the first options.
    let (mut section, mut options) = ("", false);
    for line in text.lines().take_while(|line| !line.starts_with("Examples")) {
        let trimmed = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some(usage) = line.strip_prefix("Usage: ") {
            help.usage = usage.to_owned();
        } else if indent == 0 && line.ends_with(':') {
            section = line.trim_end_matches(':');
            options |= section.ends_with("ptions");
        } else if trimmed.starts_with('-') && indent <= 6 {
            let names = trimmed.split("  ").next().unwrap_or_default();
            let words = names.split([' ', ',', '[', '=']).filter(|word| word.starts_with('-'));
            let words: Vec<String> = words.map(|word| word.trim_end_matches("...").to_owned()).collect();
            if section != "Global options"
                && !words.iter().any(|word| word == "--help" || word == "--version")
            {
                help.flags.extend(words.last().cloned());
            }
            help.flag_names.extend(words);
        } else if indent == 2 && !options && help.usage.contains("<COMMAND>") {
            help.commands.extend(trimmed.split_whitespace().next().map(str::to_owned));
        }
    }
    help.commands.retain(|name| name != "help");
    help
}

/// Every setting with its value, by its name below `security.browser`.
pub fn settings(arguments: &[&str]) -> BTreeMap<String, (Value, String)> {
    let home = tempfile::tempdir().unwrap();
    let done = Command::new(PROGRAM)
        .args(["config", "show", "--json"])
        .args(arguments)
        .env("HOME", home.path())
        .env_remove("STOCKADE_CONFIG")
        .current_dir(home.path())
        .output()
        .unwrap();
    let shown: Value = serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{done:?}"));
    let list = data(&shown)["settings"].as_array().unwrap_or_else(|| panic!("{shown}"));
    let entry = |entry: &Value| {
        let key = entry["key"].as_str().unwrap().trim_start_matches("security.browser.").to_owned();
        (key, (entry["value"].clone(), entry["origin"].as_str().unwrap_or_default().to_owned()))
    };
    list.iter().map(entry).collect()
}

/// What a command printed with `--json`.
pub fn data(printed: &Value) -> &Value {
    if printed["success"] == true { &printed["data"] } else { printed }
}
