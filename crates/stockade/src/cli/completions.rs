//! `stockade completions`: prints the completion script of a shell.

use crate::cli::Reply;
use clap::Args;
use clap_complete::{Shell, generate};
use serde_json::json;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade completions bash \\
    > ~/.local/share/bash-completion/completions/stockade
  stockade completions zsh > \"${fpath[1]}/_stockade\"
  stockade completions fish > ~/.config/fish/completions/stockade.fish

A new shell reads it.")]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> Reply {
    let mut script = Vec::new();
    generate(args.shell, &mut super::command(), "stockade", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let json = json!({ "shell": args.shell.to_string(), "script": script });
    Reply::new(script, json)
}
