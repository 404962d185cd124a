//! `stockade session`: starts, lists, shows and ends sessions of a running server.

use crate::cli::output::{BAD, BOLD, DIM};
use crate::cli::{Column, Context, Reply, Table};
use clap::{Args, Subcommand};
use engine::error::Fault;
use error_code::ErrorCode;
use policy::{Actor, Scope, Tenant};
use serde_json::{Value, json};
use server::client;
use std::io::{BufRead, Read};
use zeroize::Zeroizing;

/// Longer than any grant token.
const LONGEST_GRANT: usize = 256;

#[derive(Debug, Args)]
#[command(after_help = "\
These ask the `stockade serve` that runs from the same state folder.

Examples:
  stockade session start shopping
  stockade grant issue --host github.com | stockade session start --signed-in
  stockade session list
  stockade session close s-4f2kq7m9xw3c
  stockade session replay s-4f2kq7m9xw3c --output replay.html")]
pub struct SessionArgs {
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(Debug, Subcommand)]
enum SessionCommand {
    /// Open a session, for an agent or for `stockade page`
    Start {
        /// A name to call it by: a-z, 0-9, '-', '_' and '.'
        name: Option<String>,
        /// Pictures: off, transient (the last ones, until it closes) or audit (all, before and after each action)
        #[arg(long)]
        record: Option<String>,
        /// Sign it in: the grant comes from the first line of standard input; an empty one means a standing grant
        #[arg(long)]
        signed_in: bool,
        /// With --signed-in: only to this host [default: all that the grant is for]
        #[arg(long = "domain", value_name = "HOST", requires = "signed_in")]
        domains: Vec<String>,
        /// Whose data it is
        #[arg(long, default_value = "default", value_parser = Tenant::parse)]
        tenant: Tenant,
        /// The agent that it belongs to
        #[arg(long, default_value = "agent", value_parser = Actor::parse)]
        actor: Actor,
    },
    /// List the sessions: the open ones, then the ended ones that are remembered
    List,
    /// Show one session: where it is, what it did, how it started
    Show {
        /// Its id or name
        session: String,
    },
    /// End a session now
    Close {
        /// Its id or name
        session: String,
    },
    /// Write one bundle of all that is on record of a session, and end it
    Archive {
        /// Its id or name
        session: String,
    },
    /// Make one page to look at: what a session did, and what it saw
    Replay(super::replay::ReplayArgs),
}

pub(super) fn run(context: &Context, args: SessionArgs) -> Result<Reply, Fault> {
    if let SessionCommand::Replay(args) = &args.command {
        return super::replay::run(context, args);
    }
    let state = context.open_state()?;
    let (verb, id, what) = match &args.command {
        SessionCommand::Start { name, record, signed_in, domains, tenant, actor } => {
            let scope = Scope { tenant: tenant.clone(), actor: actor.clone() };
            let mut request = json!({"action": "session.start"});
            for (key, value) in [("session_name", name), ("record", record)] {
                if let Some(value) = value {
                    request[key] = json!(value);
                }
            }
            if *signed_in {
                request["credential_mode"] = json!("operator");
                request["domains"] = json!(domains);
                if let Some(grant) = read_grant()? {
                    request["grant"] = json!(grant.as_str());
                }
            }
            let json = context.block_on(client::act(&state, &scope, &request))?;
            return Ok(Reply::new(super::page::render_result(&json), json));
        }
        SessionCommand::List => ("GET", None, ""),
        SessionCommand::Show { session } => ("GET", Some(session), ""),
        SessionCommand::Close { session } => ("POST", Some(session), "/close"),
        SessionCommand::Archive { session } => ("POST", Some(session), "/archive"),
        SessionCommand::Replay(args) => ("GET", Some(&args.session), ""),
    };
    let path = id.map_or_else(
        || "/v1/sessions".to_owned(),
        |id| format!("/v1/sessions/{}{what}", client::path_segment(id)),
    );
    let json = context.block_on(client::ask(&state, verb, &path))?;
    let human = match &args.command {
        SessionCommand::List | SessionCommand::Start { .. } => render_list(&json),
        SessionCommand::Show { .. } | SessionCommand::Replay(_) => render_session(&json),
        SessionCommand::Close { .. } => {
            format!("Session {} is closed.\n", text_field(&json["session"], "session_id"))
        }
        SessionCommand::Archive { .. } => {
            format!(
                "Session {} is archived in\n  {}\n  sha256 {}\n",
                text_field(&json, "session_id"),
                text_field(&json, "path"),
                text_field(&json, "sha256")
            )
        }
    };
    Ok(Reply::new(human, json))
}

/// Reads a grant from standard input: command-line arguments are readable by every process of this machine.
fn read_grant() -> Result<Option<Zeroizing<String>>, Fault> {
    let mut line = Zeroizing::new(String::with_capacity(LONGEST_GRANT));
    let read = std::io::stdin().lock().take(LONGEST_GRANT as u64).read_line(&mut line);
    read.map_err(|error| Fault::io(ErrorCode::Usage, "cannot read the grant from standard input", &error))?;
    let grant = line.trim();
    Ok((!grant.is_empty()).then(|| Zeroizing::new(grant.to_owned())))
}

fn render_list(json: &Value) -> String {
    let mut table = Table::new(&[
        Column::Whole("SESSION"),
        Column::Short("STATE"),
        Column::Short("LEFT"),
        Column::Short("CALLS"),
        Column::Short("AGENT"),
        Column::Short("PAGE"),
    ]);
    for session in json["sessions"].as_array().into_iter().flatten() {
        table.add_row([
            text_field(session, "session_id"),
            text_field(session, "state"),
            format!("{}s", session["seconds_left"]),
            format!("{}/{}", session["actions"], session["max_actions"]),
            format!("{}/{}", text_field(session, "tenant"), text_field(session, "actor")),
            text_field(session, "url"),
        ]);
    }
    table.render("No session is open.")
}

fn render_session(json: &Value) -> String {
    let session = &json["session"];
    let mut out =
        format!("{BOLD}{}{BOLD:#}  {}\n", text_field(session, "session_id"), text_field(session, "state"));
    for key in [
        "session_name",
        "tenant",
        "actor",
        "jail_id",
        "credential_mode",
        "record",
        "started_at",
        "closed_at",
        "seconds_left",
        "actions",
        "max_actions",
        "url",
        "title",
        "paused_for",
    ] {
        let value = text_field(session, key);
        if !value.is_empty() {
            out.push_str(&format!("  {key:<16} {value}\n"));
        }
    }
    for flag in session["flags"].as_array().into_iter().flatten() {
        out.push_str(&format!("  {BAD}{:<16} {}{BAD:#}\n", "flag", flag.as_str().unwrap_or_default()));
    }
    out.push_str(&format!("\n{BOLD}Start{BOLD:#}\n"));
    for phase in json["phases"].as_array().into_iter().flatten() {
        out.push_str(&format!(
            "  {:<16} {:>8.1} ms\n",
            text_field(phase, "name"),
            phase["ms"].as_f64().unwrap_or_default()
        ));
    }
    out.push_str(&format!("\n{BOLD}Calls{BOLD:#}\n"));
    for entry in json["history"]["entries"].as_array().into_iter().flatten() {
        let url: String = text_field(entry, "url").chars().take(36).collect();
        let ms = entry["duration_ms"].as_u64().unwrap_or_default();
        out.push_str(&format!(
            "  {:<11} {:<16} {ms:>6} ms {DIM}{url}{DIM:#}\n",
            text_field(entry, "action"),
            text_field(entry, "result")
        ));
    }
    out
}

/// A field as text for a terminal, without control characters.
fn text_field(value: &Value, key: &str) -> String {
    match &value[key] {
        Value::String(text) => audit::sanitize(text),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
