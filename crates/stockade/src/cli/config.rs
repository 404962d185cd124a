//! `stockade config`: shows and checks the settings.

use crate::cli::output::{BAD, BOLD, DIM, GOOD};
use crate::cli::{Context, Reply};
use crate::config::{ConfigPaths, LoadedConfig, Setting, ValueOrigin};
use clap::{Args, Subcommand};
use engine::error::Fault;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use unicode_width::UnicodeWidthStr;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade config show > stockade.yaml     a file with every setting, to change
  stockade config show --set session_timeout=60
  stockade config check stockade.yaml")]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print every setting in force and where it came from
    Show,
    /// Check a file; list every problem with its line
    Check {
        /// The file [default: the one in use]
        file: Option<PathBuf>,
    },
    /// Print where the file is looked for, and which one is used
    Path,
}

pub(super) fn run(context: &Context, args: ConfigArgs) -> Result<Reply, Fault> {
    match args.command {
        ConfigCommand::Show => Ok(show(&context.load_config(Vec::new())?)),
        ConfigCommand::Check { file } => check(context, file),
        ConfigCommand::Path => Ok(show_paths(&context.config_paths())),
    }
}

/// Renders the settings as YAML that is a valid configuration file, with each value's origin as a comment.
fn show(loaded: &LoadedConfig) -> Reply {
    let file = loaded.file.as_ref().map(|file| file.display().to_string());
    let from = file.as_deref().unwrap_or("no file: every value is a default");
    let mut human = format!("{DIM}# {from}{DIM:#}\n");
    let mut open: Vec<&str> = Vec::new();
    for setting in &loaded.settings {
        let mut path: Vec<&str> = setting.key.split('.').collect();
        let Some(name) = path.pop() else { continue };
        let shared = open.iter().zip(&path).take_while(|(a, b)| a == b).count();
        for (depth, section) in path.iter().enumerate().skip(shared) {
            human.push_str(&format!("{}{BOLD}{section}:{BOLD:#}\n", "  ".repeat(depth)));
        }
        human.push_str(&render_setting(&"  ".repeat(path.len()), name, setting));
        open = path;
    }
    Reply::new(human, json!({ "file": file, "settings": loaded.settings, "notices": loaded.notices() }))
}

fn render_setting(indent: &str, name: &str, setting: &Setting) -> String {
    const COMMENT_COLUMN: usize = 52;
    // JSON is YAML: a value printed as JSON parses as the same value.
    let (first, below) = match &setting.value {
        Value::Array(items) if !items.is_empty() => {
            (String::new(), items.iter().map(|item| format!("{indent}  - {item}\n")).collect())
        }
        Value::Object(fields) if !fields.is_empty() => {
            let line = |(key, value): (&String, &Value)| {
                format!("{indent}  {}: {value}\n", Value::from(key.as_str()))
            };
            (String::new(), fields.iter().map(line).collect())
        }
        value => (format!(" {value}"), String::new()),
    };
    let line = format!("{indent}{name}:{first}");
    let padding = " ".repeat(COMMENT_COLUMN.saturating_sub(line.width()));
    format!("{line}{padding} {DIM}# {}{DIM:#}\n{below}", render_origin(setting))
}

fn render_origin(setting: &Setting) -> String {
    let from = match &setting.origin {
        // The first line names the file.
        ValueOrigin::File { line, .. } => format!("line {line}"),
        other => other.to_string(),
    };
    if setting.in_use { from } else { format!("{from}, not used yet") }
}

fn check(context: &Context, file: Option<PathBuf>) -> Result<Reply, Fault> {
    let paths = match file {
        Some(file) => ConfigPaths { flag: Some(file), ..ConfigPaths::default() },
        None => context.config_paths(),
    };
    let verdict = paths.file().map_or_else(
        || "No configuration file; the defaults are in force.".to_owned(),
        |file| format!("{} is valid.", file.display()),
    );
    let errors = match context.check_config(&paths, Vec::new()) {
        Ok(loaded) => {
            let notices: String = loaded.notices().iter().map(|notice| format!("{notice}\n")).collect();
            let human = format!("{notices}{GOOD}{verdict}{GOOD:#}\n");
            return Ok(Reply::new(human, json!({ "problems": [], "notices": loaded.notices() })));
        }
        Err(errors) => errors,
    };
    let mut human = String::new();
    let mut problems = Vec::new();
    let mut first = None;
    for error in errors {
        let (key, line) = (error.key().map(str::to_owned), error.line());
        let fault = Fault::from(error);
        human.push_str(&format!("{BAD}{}{BAD:#}: {}\n  {}\n", fault.code, fault.message, fault.hint));
        problems.push(json!({
            "code": fault.code, "message": fault.message, "hint": fault.hint, "key": key, "line": line,
        }));
        first.get_or_insert(fault);
    }
    Ok(Reply::with_problem(human, json!({ "problems": problems }), first))
}

fn show_paths(paths: &ConfigPaths) -> Reply {
    let counts = paths.file();
    let all = [
        ("--config", &paths.flag),
        ("$STOCKADE_CONFIG", &paths.env),
        ("this folder", &paths.current_dir),
        ("the user's folder", &paths.user),
    ];
    let mut human = String::new();
    let mut list = Vec::new();
    for (by, file) in all {
        let Some(file) = file else { continue };
        let used = counts == Some(Path::new(file));
        let (mark, style) = if used { ("→", BOLD) } else { (" ", DIM) };
        human.push_str(&format!("{mark} {style}{}{style:#} ({by})\n", file.display()));
        list.push(json!({ "by": by, "file": file, "used": used }));
    }
    if counts.is_none() {
        human.push_str("None of them is there: every value is a default.\n");
    }
    Reply::new(human, json!({ "file": counts, "places": list }))
}
