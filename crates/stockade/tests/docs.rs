//! The documentation: links resolve, commands run, and every named thing exists.
//!
//! `sh` blocks are run as they stand. Of `console` blocks each line after `$ ` is run, and the lines below it are
//! compared with its output. `UPDATE_DOCS=1` rewrites the generated part of docs/cli.md.

mod markdown;
mod output;
mod program;
mod shell;

use super::common::{Home, PROGRAM};
use markdown::{Page, files, pages, resolve, root};
use program::{Help, Program, run_help, settings};
use serde_json::json;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::process::Command;

/// Where readers begin.
const ENTRIES: [&str; 2] = ["README.md", "docs/README.md"];

fn report(faults: Vec<String>) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let pages = pages();
    let anchors: HashMap<&str, HashSet<String>> =
        pages.iter().map(|page| (page.path.as_str(), page.anchors())).collect();
    let mut faults = Vec::new();
    for page in &pages {
        for link in page.links() {
            let Some((path, fragment)) = resolve(page, &link.text) else { continue };
            let at = format!("{}:{}: {}", page.path, link.line, link.text);
            if !root().join(&path).exists() {
                faults.push(format!("{at}: there is no {path}"));
            } else if !fragment.is_empty()
                && !anchors.get(path.as_str()).is_some_and(|known| known.contains(&fragment))
            {
                faults.push(format!("{at}: {path} has no heading #{fragment}"));
            }
        }
    }
    report(faults);
}

#[test]
fn every_file_of_the_docs_is_reachable_from_the_readme() {
    let pages = pages();
    let by_path: HashMap<&str, &Page> = pages.iter().map(|page| (page.path.as_str(), page)).collect();
    let mut seen: BTreeSet<String> = ENTRIES.map(str::to_owned).into();
    let mut open: Vec<String> = seen.iter().cloned().collect();
    while let Some(path) = open.pop() {
        let Some(page) = by_path.get(path.as_str()) else { continue };
        for (target, _) in page.links().iter().filter_map(|link| resolve(page, &link.text)) {
            if seen.insert(target.clone()) {
                open.push(target);
            }
        }
    }
    let docs = files(&root().join("docs"));
    report(
        docs.into_iter()
            .filter(|path| !seen.contains(path))
            .map(|path| format!("nothing links {path}"))
            .collect(),
    );
}

#[test]
fn every_shell_block_runs_and_prints_what_is_shown() {
    let (mut faults, mut not_run, mut run) = (Vec::new(), BTreeSet::new(), 0);
    for page in pages() {
        let runs = |language: &str| matches!(language, "sh" | "console");
        let blocks = page.blocks().iter().filter(|block| runs(&block.language)).count();
        if blocks == 0 {
            continue;
        }
        let machine = shell::DocumentedServer::start();
        faults.extend(machine.run_page(&page));
        not_run.extend(machine.not_run());
        run += blocks;
    }
    assert!(run >= 20, "only {run} blocks are marked as sh or console");
    faults.extend(shell::unused(&not_run).into_iter().map(|start| format!("NOT_RUN: no page has {start:?}")));
    report(faults);
}

#[test]
fn every_block_has_a_language_and_those_with_commands_are_run() {
    /// Pages whose commands another test runs, with that test's name.
    const RUN_ELSEWHERE: [(&str, &str); 2] = [
        ("docs/transcripts/", "tests/transcript.rs makes them"),
        ("docs/cli.md", "printed by the program, below"),
    ];
    let is_command = |line: &str| {
        let line = line.trim_start().trim_start_matches("$ ").trim_start_matches("sudo ");
        ["stockade ", "make ", "script/", "cargo ", "claude "].iter().any(|start| line.starts_with(start))
    };
    let mut faults = Vec::new();
    for page in pages() {
        let is_elsewhere = RUN_ELSEWHERE.iter().any(|(start, _)| page.path.starts_with(start));
        for block in page.blocks() {
            let at = format!("{}:{}", page.path, block.line);
            match block.language.as_str() {
                "" => faults.push(format!("{at}: a block without a language")),
                "sh" | "console" => {}
                _ if is_elsewhere => {}
                language => {
                    let found = block.text.lines().find(|line| is_command(line));
                    faults.extend(found.map(|line| format!("{at}: a command in a {language} block: {line}")));
                }
            }
        }
    }
    report(faults);
}

#[test]
fn every_command_and_flag_that_a_page_names_exists() {
    let (mut program, mut faults, mut checked) = (Program::default(), Vec::new(), 0);
    for page in pages() {
        let mut named: Vec<(usize, String)> = Vec::new();
        for span in page.code_spans() {
            named.push((span.line, span.text));
        }
        for block in page.blocks() {
            if matches!(block.language.as_str(), "" | "sh" | "console" | "text" | "ini") {
                let lines = block.text.replace("\\\n", " ");
                named
                    .extend(lines.lines().map(|line| (block.line, line.trim_start_matches("$ ").to_owned())));
            }
        }
        for (line, text) in named {
            for command in stockade_commands(&text) {
                checked += 1;
                if let Err(fault) = check_command(&mut program, &command) {
                    faults.push(format!("{}:{line}: {fault}: {text}", page.path));
                }
            }
        }
    }
    assert!(checked > 100, "only {checked} commands were found");
    report(faults);
}

/// The words of each `stockade …` in a text, up to the next pipe, comment or column of an explanation.
fn stockade_commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    for part in text.split(['|', ';', '(']) {
        let part = part.trim().trim_start_matches("ExecStart=/usr/local/bin/");
        let Some(rest) = part.strip_prefix("stockade ") else { continue };
        let rest = rest.split(" #").next().unwrap_or_default().split("  ").next().unwrap_or_default();
        commands.push(rest.split_whitespace().map(str::to_owned).collect());
    }
    commands
}

fn check_command(program: &mut Program, words: &[String]) -> Result<(), String> {
    let mut path: Vec<String> = Vec::new();
    for word in words {
        let help = program.help(&path);
        if let Some(flag) = word.strip_prefix('-') {
            let flag = format!("-{}", flag.split(['=', '[']).next().unwrap_or_default());
            let known = (0..=path.len()).any(|depth| program.help(&path[..depth]).flag_names.contains(&flag));
            if !known && !flag.starts_with("-v") {
                return Err(format!("stockade {} has no {flag}", path.join(" ")));
            }
        } else if help.commands.contains(word) {
            path.push(word.clone());
        } else if path.is_empty() || (!help.commands.is_empty() && is_verb(word)) {
            return Err(format!("stockade {} has no command {word}", path.join(" ")));
        }
    }
    Ok(())
}

/// Placeholders and values of flags are not commands.
fn is_verb(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

#[test]
fn every_setting_that_a_page_names_exists() {
    /// Names of other things that look like a setting.
    const OTHERS: [&str; 1] = ["credentials.cookies"];
    /// What a name of a file ends with.
    const FILES: [&str; 6] = ["rs", "js", "json", "css", "md", "key"];
    let known = settings(&[]);
    let sections: BTreeSet<&str> = known.keys().filter_map(|key| Some(key.split_once('.')?.0)).collect();
    let (mut faults, mut checked) = (Vec::new(), 0);
    for page in pages() {
        for span in page.code_spans() {
            let key = span.text.split([':', '=', ' ']).next().unwrap_or_default();
            let key = key.trim_start_matches("security.browser.").trim_end_matches(".*");
            let is_name =
                |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            let Some((section, rest)) = key.split_once('.') else { continue };
            let is_key = sections.contains(section) && rest.split('.').all(is_name);
            if !is_key || FILES.iter().any(|end| rest.ends_with(end)) || OTHERS.contains(&key) {
                continue;
            }
            checked += 1;
            let below = format!("{key}.");
            if !known.keys().any(|name| name == key || name.starts_with(&below)) {
                faults.push(format!("{}:{}: there is no setting {key}", page.path, span.line));
            }
        }
    }
    assert!(checked > 30, "only {checked} settings were found");
    report(faults);
}

#[test]
fn every_yaml_block_is_a_configuration_or_a_list_of_policy_cases() {
    let (folder, mut faults) = (tempfile::tempdir().unwrap(), Vec::new());
    for page in pages() {
        for block in page.blocks().iter().filter(|block| block.language == "yaml") {
            let file = folder.path().join("block.yaml");
            std::fs::write(&file, &block.text).unwrap();
            let arguments = match block.text.split(':').next() {
                Some("security") => ["config", "check"],
                Some("cases") => ["policy", "test"],
                _ => panic!("{}:{}: neither", page.path, block.line),
            };
            let mut command = Command::new(PROGRAM);
            command.args(arguments).arg(&file).env("HOME", folder.path()).env_remove("STOCKADE_CONFIG");
            let done = command.current_dir(folder.path()).output().unwrap();
            if !done.status.success() {
                faults.push(format!(
                    "{}:{}: {}",
                    page.path,
                    block.line,
                    String::from_utf8_lossy(&done.stderr)
                ));
            }
        }
        for block in page.blocks().iter().filter(|block| block.language == "json") {
            if let Err(error) = serde_json::from_str::<serde_json::Value>(&block.text) {
                faults.push(format!("{}:{}: {error}", page.path, block.line));
            }
        }
    }
    report(faults);
}

#[test]
fn the_configuration_page_has_every_setting_with_its_default() {
    /// Described elsewhere, or without an effect.
    const ELSEWHERE: [&str; 7] = [
        "credentials.vault.",
        "credentials.sops.",
        "credentials.store.",
        "runtime_required",
        "runtime_warmup_on_start",
        "container_image",
        "container_name_prefix",
    ];
    let pages = pages();
    let page = pages.iter().find(|page| page.path == "docs/configure.md").unwrap();
    let longest = page.blocks().into_iter().max_by_key(|block| block.text.len()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stockade.yaml");
    std::fs::write(&file, longest.text).unwrap();
    let (defaults, shown) = (settings(&[]), settings(&["--config", file.to_str().unwrap()]));
    let mut faults = Vec::new();
    for (key, (value, _)) in &defaults {
        let (shown, origin) = &shown[key];
        if origin == "default" && !ELSEWHERE.iter().any(|start| key.starts_with(start)) {
            faults.push(format!("docs/configure.md lacks {key}"));
        } else if shown != value {
            faults.push(format!("docs/configure.md: {key} is {value} by default, not {shown}"));
        }
    }
    report(faults);
}

#[test]
fn the_tools_that_the_docs_list_are_those_that_a_client_gets() {
    let pages = pages();
    let page = pages.iter().find(|page| page.path == "docs/connect.md").unwrap();
    let named = page.code_spans().into_iter().map(|span| span.text);
    let named: BTreeSet<String> = named.filter(|text| text.starts_with("browser_")).collect();
    let home = Home::new("    read_dom: true\n");
    let reply = home.mcp().request("tools/list", json!({}));
    let offered = reply["result"]["tools"].as_array().unwrap_or_else(|| panic!("{reply}"));
    let offered: BTreeSet<String> =
        offered.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(named, offered);
    let text = std::fs::read_to_string(root().join(&page.path)).unwrap();
    assert!(text.contains(&format!("There are {} tools.", offered.len())), "there are {}", offered.len());
}

#[test]
fn the_picture_of_the_help_was_made_from_the_help_of_today() {
    let made_from = std::fs::read_to_string(root().join("docs/images/help.txt")).unwrap();
    assert_eq!(
        run_help(&[]),
        made_from,
        "the help has changed: run script/screenshots help, and look at the picture"
    );
}

#[test]
fn the_command_line_page_is_current() {
    const MARK: &str = "<!-- generated from here -->\n";
    let file = root().join("docs/cli.md");
    let old = std::fs::read_to_string(&file).unwrap();
    let head = &old[..old.find(MARK).expect("docs/cli.md lacks its mark") + MARK.len()];
    let new = format!("{head}\n```text\n{}```\n{}", run_help(&[]), command_tables());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &new).unwrap();
    }
    let now = std::fs::read_to_string(&file).unwrap();
    assert_eq!(now, new, "docs/cli.md is old; UPDATE_DOCS=1 writes it anew");
}

/// One table of the commands without verbs, then one for each with verbs.
fn command_tables() -> String {
    const HEAD: &str = "\n| command | does | flags |\n|---|---|---|\n";
    let mut program = Program::default();
    let (mut alone, mut groups) = (String::new(), String::new());
    for command in program.help(&[]).commands {
        let help = program.help(std::slice::from_ref(&command));
        if help.commands.is_empty() {
            alone.push_str(&table_row(&help));
            continue;
        }
        groups.push_str(&format!("\n## stockade {command}\n{}.\n{HEAD}", escape(&help.about)));
        for verb in help.commands {
            groups.push_str(&table_row(&program.help(&[command.clone(), verb])));
        }
    }
    format!("\n## Commands without verbs\n{HEAD}{alone}{groups}")
}

fn table_row(help: &Help) -> String {
    let usage = help.usage.replace(" [OPTIONS]", "");
    let flags: Vec<String> = help.flags.iter().map(|flag| format!("`{flag}`")).collect();
    format!("| `{}` | {} | {} |\n", escape(&usage), escape(&help.about), flags.join(" "))
}

/// Text for a cell of a table.
fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}
