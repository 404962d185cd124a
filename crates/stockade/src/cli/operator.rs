//! `stockade operator`: operators, their passwords and their one-time login links.
//!
//! Once any operator has a password, every change needs one: an agent with a shell must not make itself an operator.
//! (It can still write the database; see docs/security-model.md.)

use crate::cli::authorize::{authorize_operator, check_password, run_blocking};
use crate::cli::output::{BOLD, DIM};
use crate::cli::terminal::PasswordPrompt;
use crate::cli::terminal_login::LoginFile;
use crate::cli::{Column, Context, Reply, Table};
use audit::EventKind;
use clap::{Args, Subcommand};
use engine::error::Fault;
use engine::storage::{FIRST_OPERATOR, LINK_LIFETIME, OperatorToken, Storage, StorageError};
use error_code::ErrorCode;
use serde_json::json;
use server::client;
use server::operator;
use std::io::IsTerminal;
use std::net::SocketAddr;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade operator password            set yours, or change it
  stockade operator link                a link that logs you in, once
  stockade operator add ada
  stockade operator list
  stockade operator logout              forget the login of this terminal

Passwords are typed at the terminal, or come as lines with --password-stdin:
the one that allows the change first, then the new one.")]
pub struct OperatorArgs {
    #[command(subcommand)]
    command: OperatorCommand,
    /// Read passwords from standard input, one a line
    #[arg(long, global = true)]
    password_stdin: bool,
    /// The operator who allows the change
    #[arg(long = "as", global = true, value_name = "NAME", default_value = FIRST_OPERATOR, value_parser = operator::parse_name)]
    as_operator: String,
}

#[derive(Debug, Subcommand)]
enum OperatorCommand {
    /// Set a password, or change it; that ends every log-in of that operator
    Password {
        /// The operator
        #[arg(default_value = FIRST_OPERATOR, value_parser = operator::parse_name)]
        name: String,
    },
    /// Show a link that logs in, once, within ten minutes; on a terminal only
    Link {
        /// The operator that it logs in
        #[arg(default_value = FIRST_OPERATOR, value_parser = operator::parse_name)]
        name: String,
    },
    /// List the operators
    List,
    /// Add an operator, who sets a password or gets a link
    Add {
        /// A name: a-z, 0-9, '-', '_' and '.'
        #[arg(value_parser = operator::parse_name)]
        name: String,
    },
    /// Forget the login that `stockade approvals` keeps for this terminal session
    Logout {
        /// The operator
        #[arg(default_value = FIRST_OPERATOR, value_parser = operator::parse_name)]
        name: String,
    },
    /// Remove an operator and end their log-ins
    Remove {
        /// The operator
        #[arg(value_parser = operator::parse_name)]
        name: String,
    },
}

pub(super) fn run(context: &Context, args: OperatorArgs) -> Result<Reply, Fault> {
    let mut asker = PasswordPrompt::new(args.password_stdin);
    let allowed_by = args.as_operator;
    context.block_on(async {
        let storage = context.open_storage().await?;
        storage.first_operator().await?;
        match args.command {
            OperatorCommand::List => list(&storage).await,
            OperatorCommand::Logout { name } => log_out(context, &name).await,
            OperatorCommand::Password { name } => {
                set_password(context, &storage, &mut asker, &name, &allowed_by).await
            }
            OperatorCommand::Link { name } => {
                if !std::io::stdout().is_terminal() {
                    return Err(Fault::new(ErrorCode::TerminalRequired, "a link is shown on a terminal only")
                        .hint("Run it in a terminal of your own, not through a program."));
                }
                authorize_operator(context, &storage, &mut asker, &allowed_by).await?;
                let token = storage.make_link(&name).await?;
                record_event(context, EventKind::OperatorChanged, &name, "a one-time link was made").await?;
                show_link(context, &name, &token).await
            }
            OperatorCommand::Add { name } => {
                authorize_operator(context, &storage, &mut asker, &allowed_by).await?;
                let row = storage.add_operator(&name).await?;
                record_event(context, EventKind::OperatorChanged, &name, "added").await?;
                let human = format!(
                    "{name} is an operator. They set their password with\n  stockade operator password {name}\n"
                );
                Ok(Reply::new(human, json!({ "added": row })))
            }
            OperatorCommand::Remove { name } => {
                authorize_operator(context, &storage, &mut asker, &allowed_by).await?;
                storage.remove_operator(&name).await?;
                record_event(context, EventKind::OperatorChanged, &name, "removed").await?;
                Ok(Reply::new(format!("{name} is no longer an operator.\n"), json!({ "removed": name })))
            }
        }
    })
}

/// Forgets the login of this terminal session, at the server too if it runs.
async fn log_out(context: &Context, name: &str) -> Result<Reply, Fault> {
    let state = context.open_state()?;
    let file = LoginFile::of_this_terminal(&state, name);
    let (kept, removed) = (file.read(), file.remove()?);
    if let Some(token) = kept {
        match client::OperatorClient::with_token(&state, token).log_out().await {
            Err(fault) if fault.code != ErrorCode::NotRunning => return Err(fault),
            _ => {}
        }
    }
    let human = if removed {
        format!("The login of {name} in this terminal is forgotten.\n")
    } else {
        format!("{name} had no login in this terminal.\n")
    };
    Ok(Reply::new(human, json!({ "operator": name, "logged_out": removed })))
}

async fn list(storage: &Storage) -> Result<Reply, Fault> {
    let operators = storage.list_operators().await?;
    let mut table = Table::new(&[Column::Whole("NAME"), Column::Short("PASSWORD"), Column::Short("MADE")]);
    for row in &operators {
        let password = if row.has_password { "set" } else { "none yet" };
        table.add_row([
            row.name.clone(),
            password.to_owned(),
            row.created_at.strftime("%Y-%m-%d").to_string(),
        ]);
    }
    Ok(Reply::new(table.render("There is no operator yet."), json!({ "operators": operators })))
}

async fn set_password(
    context: &Context,
    storage: &Storage,
    asker: &mut PasswordPrompt,
    name: &str,
    allowed_by: &str,
) -> Result<Reply, Fault> {
    let old = storage
        .operator_password(name)
        .await?
        .ok_or_else(|| StorageError::UnknownOperator { name: name.to_owned() })?;
    match &old {
        Some(old) => {
            let given = asker.ask(&format!("The password that {name} has now"))?;
            check_password(context, name, given, old.clone()).await?;
        }
        // A first password makes a new decider, so it needs the same authorization as adding an operator.
        None => authorize_operator(context, storage, asker, allowed_by).await?,
    }
    let new = asker.ask_new(&format!("A new password for {name}"))?;
    let hash = run_blocking(move || new.hash()).await?;
    if !storage.set_operator_password(name, old.as_deref(), &hash).await? {
        return Err(Fault::new(
            ErrorCode::StorageBusy,
            "somebody else changed the password at the same time",
        )
        .hint("Try again.")
        .retryable());
    }
    record_event(context, EventKind::OperatorChanged, name, "a password was set").await?;
    let human = format!("{name} has a new password, and is logged out everywhere.\n");
    Ok(Reply::new(human, json!({ "password_set": name })))
}

async fn show_link(context: &Context, name: &str, token: &OperatorToken) -> Result<Reply, Fault> {
    // Asks the running server for its address; without one, takes the configured address.
    let running = client::ask(&context.open_state()?, "GET", "/v1/console").await;
    let base = match running.ok().and_then(|answer| answer["console"].as_str().map(str::to_owned)) {
        Some(base) => base,
        None => console_address(context.load_config(Vec::new())?.config.server.listen),
    };
    let url = link_address(&base, token);
    let minutes = LINK_LIFETIME.as_secs() / 60;
    let human = format!(
        "{BOLD}{url}{BOLD:#}\n{DIM}It logs {name} in once, within {minutes} minutes. Open it yourself.{DIM:#}\n"
    );
    Ok(Reply::new(human, json!({ "link": url, "operator": name, "minutes": minutes })))
}

pub fn console_address(listen: SocketAddr) -> String {
    format!("http://{listen}/console")
}

/// The token is in the fragment, so that it appears in no request, log or referrer.
pub fn link_address(console: &str, token: &OperatorToken) -> String {
    format!("{console}/link#{}", token.expose())
}

async fn record_event(context: &Context, kind: EventKind, operator: &str, what: &str) -> Result<(), Fault> {
    operator::record_operator_event(&context.open_log()?, kind, operator, what).await
}
