//! The command line: parses arguments, runs a command, prints its reply.
//!
//! One file per command. A command returns a [`Reply`] in two forms, for people and for programs. `output` writes it to
//! standard output. Logs, progress and errors go to standard error.

mod approval_card;
mod approvals;
mod audit;
mod authorize;
mod client_snippet;
mod completions;
mod config;
mod connect;
mod context;
mod credential;
mod demo;
mod doctor;
mod grant;
mod help;
mod hints;
mod jail;
mod key;
mod logging;
mod man;
mod mcp;
mod operator;
mod output;
mod page;
mod policy;
mod replay;
mod serve;
mod session;
mod session_egress;
mod session_view;
mod smoke;
mod table;
mod template;
mod terminal;
mod terminal_login;
mod watch;

pub use context::Context;
pub use output::Reply;
pub use table::{Column, Table};

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
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
    about = "A jailed browser for AI agents that asks you before anything risky.",
    max_term_width = 80,
    arg_required_else_help = true,
    propagate_version = true
)]
struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve agents over HTTP until stopped
    Serve(serve::ServeArgs),
    /// Serve one agent over standard input and output
    Mcp(mcp::McpArgs),
    /// Print what to paste into an MCP client
    Connect(connect::ConnectArgs),
    /// Keys of agents: make, list, revoke
    Key(key::KeyArgs),
    /// Stored logins: put, import, list, show, test, allow, remove
    Credential(credential::CredentialArgs),
    /// Permission to use a login: issue, list, revoke, lifetime
    Grant(grant::GrantArgs),
    /// Show approval requests as they arrive; answer by key
    #[command(after_help = approvals::WATCH_HELP)]
    Watch(approvals::LoginArgs),
    /// List waiting approval requests and the latest answers
    #[command(after_help = approvals::LIST_HELP)]
    Approvals(approvals::LoginArgs),
    /// Approve one request, once or for its session
    #[command(after_help = approvals::APPROVE_HELP)]
    Approve(approvals::ApproveArgs),
    /// Deny one request
    #[command(after_help = approvals::DENY_HELP)]
    Deny(approvals::NotedAnswerArgs),
    /// Resume a paused session
    #[command(after_help = approvals::RESUME_HELP)]
    Resume(approvals::NotedAnswerArgs),
    /// End a paused session
    #[command(after_help = approvals::END_HELP)]
    End(approvals::RequestArgs),
    /// Operators: password, link, list, add, remove, logout
    Operator(operator::OperatorArgs),
    /// Sessions of the running server: start, list, show, close, replay
    Session(session::SessionArgs),
    /// Act on the page of a session: goto, click, type, extract and more
    Page(page::PageArgs),
    /// The settings: show, check, path
    Config(config::ConfigArgs),
    /// The file trees that jails run from: build, verify, list
    Template(template::TemplateArgs),
    /// Running jails, and leftovers of crashes: list, reap
    Jail(jail::JailArgs),
    /// Check this machine: what works, what does not, what to do
    Doctor(doctor::DoctorArgs),
    /// The audit log: tail, show, verify, export
    Audit(audit::AuditArgs),
    /// Test the rules: how an action is decided, and why
    Policy(policy::PolicyArgs),
    /// Run one session: start, goto, extract, screenshot, archive
    Smoke(smoke::SmokeArgs),
    /// Serve the demo shop, a site to experiment with
    Demo(demo::DemoArgs),
    /// Print the completion script of a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write the pages of all commands
    Man(man::ManArgs),
}

/// The command line with the help of the whole program.
pub(crate) fn command() -> clap::Command {
    help::group_commands(Cli::command())
}

fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let mut matches = command().try_get_matches_from(arguments)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command()))
}

/// Runs the command that this process was started with.
pub fn main() -> ExitCode {
    main_on(engine::provider::sandbox::native)
}

/// The same program on another runtime, for tests.
pub fn main_on(factory: BackendFactory) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match parse(&arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&arguments, &error),
    };
    let context = Context::new(cli.global, factory);
    context.choose_colors();
    let done = logging::start(context.verbosity()).and_then(|()| run(&context, cli.command));
    match done {
        Ok(reply) => output::print_reply(&context, &reply),
        Err(fault) => {
            let code = if is_usage(&fault) || context.flags_are_wrong() { USAGE } else { FAILURE };
            output::print_fault(context.json(), &fault, code)
        }
    }
}

/// Whether the command line caused a failure: the server or the command found that an argument does not fit.
fn is_usage(fault: &Fault) -> bool {
    matches!(
        fault.code,
        ErrorCode::Usage
            | ErrorCode::UnknownAction
            | ErrorCode::BadArguments
            | ErrorCode::BadSelector
            | ErrorCode::BadAddress
            | ErrorCode::BadLabel
            | ErrorCode::SessionRequired
    )
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
        Command::Resume(args) => approvals::resume(context, &args),
        Command::End(args) => approvals::end(context, &args),
        Command::Watch(args) => watch::run(context, &args),
        Command::Operator(args) => operator::run(context, args),
        Command::Key(args) => key::run(context, args),
        Command::Credential(args) => credential::run(context, args),
        Command::Grant(args) => grant::run(context, args),
        Command::Config(args) => config::run(context, args),
        Command::Template(args) => template::run(context, args),
        Command::Jail(args) => jail::run(context, args),
        Command::Demo(args) => demo::run(context, &args),
        Command::Connect(args) => connect::run(context, &args),
        Command::Completions(args) => Ok(completions::run(&args)),
        Command::Man(args) => man::run(&args),
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
    let matches = command().ignore_errors(true).try_get_matches_from(arguments).ok()?;
    let group = matches.subcommand_name().filter(|name| ACTION_COMMANDS.contains(name))?;
    let mut cli = command();
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
            let error = parse(&arguments).expect_err(line);
            let fault = unknown_action(&arguments, &error);
            assert_eq!(fault.is_some(), nearest.is_some(), "{line}: {fault:?}");
            if let (Some(fault), Some(nearest)) = (fault, nearest) {
                assert_eq!(fault.code, ErrorCode::UnknownAction, "{line}");
                assert!(fault.hint.contains(&format!("`stockade {nearest}`")), "{line}: {}", fault.hint);
            }
        }
    }
}
