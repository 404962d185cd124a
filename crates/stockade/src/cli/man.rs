//! `stockade man`: the manual pages, made from the help.

use super::help::{ENVIRONMENT, EXIT_CODES};
use crate::cli::Reply;
use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use engine::error::Fault;
use error_code::ErrorCode;
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade man | man -l -
  stockade man session start | man -l -
  stockade man --dir ~/.local/share/man/man1    then: man stockade-session")]
pub struct ManArgs {
    /// The command that the page is about [default: the whole program]
    command: Vec<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

pub(super) fn run(args: &ManArgs) -> Result<Reply, Fault> {
    let mut root = super::command();
    root.build();
    let Some(dir) = &args.dir else {
        let page =
            render_page(find(&root, &args.command)?).map_err(|e| Fault::caused(ErrorCode::Internal, &e))?;
        let json = json!({ "page": page });
        return Ok(Reply::new(page, json));
    };
    let unwritable = |error: io::Error| {
        Fault::unwritable(format!("cannot write manual pages into {}", dir.display()), &error)
    };
    std::fs::create_dir_all(dir).map_err(unwritable)?;
    let mut files = Vec::new();
    write_pages(&root, dir, &mut files).map_err(unwritable)?;
    let human = format!("{} manual pages are in {}\n", files.len(), dir.display());
    Ok(Reply::new(human, json!({ "folder": dir, "files": files })))
}

fn find<'a>(root: &'a Command, path: &[String]) -> Result<&'a Command, Fault> {
    path.iter().try_fold(root, |at, name| {
        at.find_subcommand(name).ok_or_else(|| {
            let message = format!("there is no command {:?}", audit::sanitize(&path.join(" ")));
            Fault::outside_sessions(ErrorCode::Usage, message).hint("`stockade help` lists the commands.")
        })
    })
}

fn write_pages(command: &Command, dir: &Path, files: &mut Vec<String>) -> io::Result<()> {
    let name = format!("{}.1", page_name(command));
    std::fs::write(dir.join(&name), render_page(command)?)?;
    files.push(name);
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        write_pages(inner, dir, files)?;
    }
    Ok(())
}

/// `stockade-session-start` for `stockade session start`.
fn page_name(command: &Command) -> String {
    command.get_bin_name().unwrap_or("stockade").replace(' ', "-")
}

fn render_page(command: &Command) -> io::Result<String> {
    let name = page_name(command);
    // The help of the whole program has its commands in its template, and examples and exit codes behind.
    let help = match name.as_str() {
        "stockade" => super::help::EXAMPLES.to_owned(),
        _ => command.get_after_help().map(ToString::to_string).unwrap_or_default(),
    };
    let page = Man::new(command.clone()).title(name.to_uppercase()).section("1");
    let mut out = Vec::new();
    page.render_title(&mut out)?;
    // The page is found by this name.
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut head = Roff::new();
    head.control("SH", ["NAME"]);
    head.text([roman(format!("{name} - {about}"))]);
    head.to_writer(&mut out)?;
    page.render_synopsis_section(&mut out)?;
    page.render_options_section(&mut out)?;
    let mut tail = Roff::new();
    let listed: Vec<&Command> = command
        .get_subcommands()
        .filter(|inner| inner.get_name() != "help" && !inner.is_hide_set())
        .collect();
    if !listed.is_empty() {
        tail.control("SH", ["COMMANDS"]);
        for inner in listed {
            tail.control("TP", []);
            tail.text([bold(format!("{}(1)", page_name(inner)))]);
            tail.text([roman(inner.get_about().map(ToString::to_string).unwrap_or_default())]);
        }
    }
    let (notes, examples) = split_examples(&help);
    for (title, text) in [("NOTES", &notes), ("EXAMPLES", &examples)] {
        if text.is_empty() {
            continue;
        }
        tail.control("SH", [title]);
        // Lines stay as they are in the help: they hold commands.
        tail.control("nf", []);
        for line in text.lines() {
            tail.text([roman(line)]);
        }
        tail.control("fi", []);
    }
    tail.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in EXIT_CODES {
        tail.control("TP", []);
        tail.text([bold(code.to_string())]);
        tail.text([roman(meaning)]);
    }
    tail.control("SH", ["ENVIRONMENT"]);
    for (variable, meaning) in ENVIRONMENT {
        tail.control("TP", []);
        tail.text([bold(variable)]);
        tail.text([roman(meaning)]);
    }
    tail.to_writer(&mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// What stands behind a command's help: notes, and the examples among them.
fn split_examples(help: &str) -> (String, String) {
    let Some((before, rest)) = help.split_once("Examples:\n") else {
        return (help.trim().to_owned(), String::new());
    };
    let (examples, after) = rest.split_once("\n\n").unwrap_or((rest, ""));
    let notes = format!("{}\n\n{}", before.trim(), after.trim_end());
    (notes.trim().to_owned(), examples.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_told_from_notes() {
        for (help, notes, examples) in [
            ("", "", ""),
            ("A note.", "A note.", ""),
            ("Examples:\n  a\n  b", "", "  a\n  b"),
            ("One.\n\nExamples:\n  a\n\nTwo.\n  c", "One.\n\nTwo.\n  c", "  a"),
        ] {
            assert_eq!(split_examples(help), (notes.to_owned(), examples.to_owned()), "{help:?}");
        }
    }
}
