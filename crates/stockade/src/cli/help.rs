//! The help of the whole program: commands by task, and exit codes. The manual page has the same texts.

use clap::Command;

/// Commands by task. Every command is in one group.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("Connect agents", &["serve", "mcp", "connect", "key"]),
    ("Sign in", &["credential", "grant"]),
    ("Approve", &["watch", "approvals", "approve", "deny", "resume", "end", "operator"]),
    ("Operate", &["session", "page", "config", "template", "jail"]),
    ("Inspect", &["doctor", "audit", "policy", "smoke", "demo"]),
    ("Help", &["help", "completions", "man"]),
];

pub const EXAMPLES: &str = "\
Examples:
  stockade serve --demo             serve agents, with a demo shop
  stockade connect claude-code      what to paste into Claude Code
  stockade credential put           store a login; asks for it
  stockade grant issue --host X     let one session sign in to X
  stockade watch                    see approval requests; answer by key
  stockade session list             what agents are doing now
  stockade audit tail --follow      what they do, as they do it
  stockade doctor                   what works here, and what does not";

/// Exit codes, and what they mean.
pub const EXIT_CODES: [(u8, &str); 4] = [
    (0, "the command did what was asked"),
    (1, "it failed, or found something wrong; the error has a code and a hint"),
    (2, "the command line is wrong: a command, flag or value"),
    (3, "audit verify: the log is whole up to a tail that a crash left incomplete"),
];

/// Settings of the environment, and what they do.
pub const ENVIRONMENT: [(&str, &str); 6] = [
    ("STOCKADE_CONFIG", "the configuration file, as --config"),
    ("STOCKADE_STATE", "the state folder, as --state"),
    ("STOCKADE_TEMPLATES", "the folder of templates"),
    ("STOCKADE_RUNTIME_DIR", "the folder for sockets of running jails"),
    ("STOCKADE_LOG", "what is logged, such as debug or engine=trace"),
    ("NO_COLOR", "no colours, as --no-color"),
];

const JSON: &str = "\
With --json every command prints {\"success\": true, \"data\": …}, or
{\"success\": false, \"error\": {code, message, hint, retryable}}.";

/// Replaces clap's one list of commands by groups.
pub fn group_commands(command: Command) -> Command {
    let styles = command.get_styles();
    let (header, literal) = (*styles.get_header(), *styles.get_literal());
    let about = |name: &str| match name {
        "help" => "Print this, or the help of a command".to_owned(),
        name => {
            let found = command.find_subcommand(name).and_then(Command::get_about);
            found.map(ToString::to_string).unwrap_or_default()
        }
    };
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("{header}{title}:{header:#}\n"));
        for name in *names {
            text.push_str(&format!("  {literal}{name:<11}{literal:#}  {}\n", about(name)));
        }
        text.push('\n');
    }
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{text}{header}Global options:{header:#}\n{{options}}{{after-help}}"
    );
    let codes: String = EXIT_CODES.iter().map(|(code, meaning)| format!("\n  {code}  {meaning}")).collect();
    command.help_template(template).after_help(format!("{EXAMPLES}\n\n{JSON}\n\nExit codes:{codes}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn every_command_is_in_one_group_and_its_line_fits() {
        let command = crate::cli::command();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        known.push("help");
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        known.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, known);
        let help = command.clone().render_help().to_string();
        for (title, _) in GROUPS {
            assert!(help.contains(&format!("\n{title}:\n")), "{title} in {help}");
        }
        for line in help.lines() {
            assert!(line.width() <= 80, "{}: {line}", line.width());
        }
    }

    /// The help of every command and of every verb, in 80 columns and in whole sentences' words.
    #[test]
    fn every_help_fits_80_columns_and_describes_all_it_lists() {
        fn check(command: &mut Command, path: &str, seen: &mut usize) {
            *seen += 1;
            let help = command.render_long_help().to_string();
            for line in help.lines() {
                assert!(line.width() <= 80, "{path}: {} columns: {line}", line.width());
                assert!(!line.contains("browser_"), "{path} names a tool: {line}");
            }
            // A longer line would be wrapped, which breaks an example in two.
            for line in command.get_after_help().map(ToString::to_string).unwrap_or_default().lines() {
                assert!(line.width() <= 80, "{path}: {} columns: {line}", line.width());
            }
            for argument in command.get_arguments() {
                let id = argument.get_id();
                assert!(argument.get_help().is_some_and(|help| !help.to_string().is_empty()), "{path} {id}");
            }
            for inner in command.get_subcommands_mut() {
                let name = inner.get_name().to_owned();
                assert!(inner.get_about().is_some(), "{path} {name}");
                if name != "help" {
                    check(inner, &format!("{path} {name}"), seen);
                }
            }
        }
        let mut command = crate::cli::command();
        command.build();
        let mut seen = 0;
        check(&mut command, "stockade", &mut seen);
        assert!(seen > 70, "{seen}");
    }
}
