//! The command line: parses arguments, runs a command, prints its reply.
//!
//! One file per command. A command returns a [`Reply`] in two forms, for people and for programs. `output` writes it to
//! standard output. Logs, progress and errors go to standard error.

mod approvals;
mod audit;
mod authorize;
mod config;
mod context;
mod credential;
mod demo;
mod doctor;
mod grant;
mod jail;
mod key;
mod logging;
mod mcp;
mod operator;
mod output;
mod page;
mod policy;
mod replay;
mod serve;
mod session;
mod smoke;
mod table;
mod template;
mod terminal;
mod watch;

pub use context::Context;
pub use output::Reply;
pub use table::{Column, Table};

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};
use context::GlobalArgs;
use engine::error::Fault;
use engine::provider::sandbox::BackendFactory;
use error_code::ErrorCode;
use redact::Redacted;
use std::ffi::OsString;
use std::process::ExitCode;

/// The command ran and failed.
const FAILURE: u8 = 1;
/// The command line is wrong.
const USAGE: u8 = 2;

#[derive(Debug, Parser)]
#[command(
    name = "stockade",
    version,
    about = "A jailed browser for AI agents, with a person at the gate.",
    after_help = EXAMPLES,
    max_term_width = 80,
    arg_required_else_help = true,
    propagate_version = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  stockade serve                    agents connect here
  stockade smoke --demo             try it on the demo shop
  stockade doctor                   what works here, and what does not
  stockade template build           make the file tree that jails run from
  stockade key make --label laptop  a key for one more agent
  stockade grant issue --host X     let an agent be signed in to X, once
  stockade audit tail --follow      what agents do, as they do it
  stockade watch                    what agents ask for; decide by key
  stockade config show              every setting, and where it came from

Every command takes --json. Exit codes: 0 done, 1 failed, 2 wrong usage.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve agents over HTTP, until told to stop
    Serve(serve::ServeArgs),
    /// Serve one agent over standard input and output
    Mcp(mcp::McpArgs),
    /// Try the whole way once: start, goto, extract, screenshot, archive
    Smoke(smoke::SmokeArgs),
    /// What works on this machine, what does not, what to do
    Doctor(doctor::DoctorArgs),
    /// The sessions of a running server: start, list, show, close, archive, replay
    Session(session::SessionArgs),
    /// Act on the page of a session: goto, click, type, extract and more
    Page(page::PageArgs),
    /// What was asked, decided and done: tail, show, verify, export
    Audit(audit::AuditArgs),
    /// Try the rules: what an action would come to, and why
    Policy(policy::PolicyArgs),
    /// List what waits for a person, and what was decided last
    Approvals(approvals::LoginArgs),
    /// Approve one question of an agent's, once or for its session
    Approve(approvals::ApproveArgs),
    /// Deny one question of an agent's
    Deny(approvals::DenyArgs),
    /// Show each question as it comes, and take the answer by key
    Watch(approvals::LoginArgs),
    /// The people who decide: password, link, list, add, remove
    Operator(operator::OperatorArgs),
    /// The keys that agents show: make, list, revoke
    Key(key::KeyArgs),
    /// The logins: put, import, list, show, accept, code, remove, rotate-key
    Credential(credential::CredentialArgs),
    /// Permission for an agent to be signed in: issue, list, revoke, lifetime
    Grant(grant::GrantArgs),
    /// The settings: show, check, path
    Config(config::ConfigArgs),
    /// The file trees that jails run from: build, verify, list
    Template(template::TemplateArgs),
    /// Running jails, and what a crash left of them: list, reap
    Jail(jail::JailArgs),
    /// Serve the demo shop, a site to try things on
    Demo(demo::DemoArgs),
}

/// Runs the command that this process was started with.
pub fn main() -> ExitCode {
    main_on(engine::provider::sandbox::native)
}

/// The same program on another runtime, for tests.
pub fn main_on(factory: BackendFactory) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&arguments, &error),
    };
    let context = Context::new(cli.global, factory);
    context.choose_colors();
    let done = logging::start(context.verbosity()).and_then(|()| run(&context, cli.command));
    match done {
        Ok(reply) => output::print_reply(&context, &reply),
        Err(fault) => output::print_fault(context.json(), &fault, FAILURE),
    }
}

fn run(context: &Context, command: Command) -> Result<Reply, Fault> {
    match command {
        Command::Serve(args) => serve::run(context, args),
        Command::Mcp(args) => mcp::run(context, args),
        Command::Smoke(args) => smoke::run(context, args),
        Command::Doctor(args) => doctor::run(context, args),
        Command::Session(args) => session::run(context, args),
        Command::Page(args) => page::run(context, args),
        Command::Audit(args) => audit::run(context, args),
        Command::Policy(args) => policy::run(context, args),
        Command::Approvals(args) => approvals::list(context, &args),
        Command::Approve(args) => approvals::approve(context, &args),
        Command::Deny(args) => approvals::deny(context, &args),
        Command::Watch(args) => watch::run(context, &args),
        Command::Operator(args) => operator::run(context, args),
        Command::Key(args) => key::run(context, args),
        Command::Credential(args) => credential::run(context, args),
        Command::Grant(args) => grant::run(context, args),
        Command::Config(args) => config::run(context, args),
        Command::Template(args) => template::run(context, args),
        Command::Jail(args) => jail::run(context, args),
        Command::Demo(args) => demo::run(context, &args),
    }
}

/// Reports what clap did not accept. Help and version are answers; everything else is a mistake in the command line.
fn usage(arguments: &[OsString], error: &clap::Error) -> ExitCode {
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    if let Some(fault) = unknown_action(arguments, error) {
        return output::print_fault(wants_json, &fault, USAGE);
    }
    if error.use_stderr() && wants_json {
        let text = error.render().to_string();
        let message = text.trim().trim_start_matches("error: ").to_owned();
        return output::print_fault(
            true,
            &Fault::outside_sessions(ErrorCode::Usage, message).hint("Run: stockade --help"),
            USAGE,
        );
    }
    match error.print() {
        Ok(()) if !error.use_stderr() => ExitCode::SUCCESS,
        // A reader that went away (`stockade --help | head -1`) needs no message.
        Ok(()) | Err(_) => ExitCode::from(USAGE),
    }
}

/// The commands whose verbs are the actions of the HTTP API.
const ACTION_COMMANDS: [&str; 2] = ["page", "session"];

/// The fault for a verb of `stockade page` or `stockade session` that does not exist. It has the code that the HTTP API
/// has for an action that does not exist.
fn unknown_action(arguments: &[OsString], error: &clap::Error) -> Option<Fault> {
    let Some(ContextValue::String(verb)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(arguments).ok()?;
    let group = matches.subcommand_name().filter(|name| ACTION_COMMANDS.contains(name))?;
    let mut cli = Cli::command();
    cli.build();
    let known = cli.find_subcommand(group)?.get_subcommands().map(clap::Command::get_name);
    let similarity = |name: &str| strsim::jaro_winkler(name, verb);
    let nearest = known.max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    let message = format!("there is no action {:?}", ::audit::sanitize(&format!("{group}.{verb}")));
    let hint = format!(
        "The nearest action is `stockade {group} {nearest}`; `stockade {group} --help` lists all of them."
    );
    Some(Fault::outside_sessions(ErrorCode::UnknownAction, message).hint(Redacted::outside_sessions(hint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_verb_of_page_or_session_is_an_unknown_action() {
        for (line, nearest) in [
            ("stockade page clik s e1", Some("page click")),
            ("stockade page --tenant acme gotoo s http://a.test/", Some("page goto")),
            ("stockade --json session lst", Some("session list")),
            ("stockade session replya s-1", Some("session replay")),
            ("stockade key lst", None),
            ("stockade pge goto", None),
            ("stockade page click", None),
        ] {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let error = Cli::try_parse_from(&arguments).expect_err(line);
            let fault = unknown_action(&arguments, &error);
            assert_eq!(fault.is_some(), nearest.is_some(), "{line}: {fault:?}");
            if let (Some(fault), Some(nearest)) = (fault, nearest) {
                assert_eq!(fault.code, ErrorCode::UnknownAction, "{line}");
                assert!(fault.hint.contains(&format!("`stockade {nearest}`")), "{line}: {}", fault.hint);
            }
        }
    }
}
