//! `stockade session`: starts, lists, shows and ends sessions of a running server.

use crate::cli::session_view::{render_list, render_session, text_field};
use crate::cli::{Context, Reply};
use clap::{Args, Subcommand};
use engine::error::Fault;
use error_code::ErrorCode;
use policy::{Actor, Scope, Tenant};
use serde_json::json;
use server::client;
use std::io::{BufRead, Read};
use zeroize::Zeroizing;

/// Longer than any grant token.
const LONGEST_GRANT: usize = 256;

#[derive(Debug, Args)]
#[command(after_help = "\
These talk to the `stockade serve` that runs from the same state folder.

Examples:
  stockade session start shopping
  stockade grant issue --host github.com | stockade session start --signed-in
  stockade session list
  stockade session show shopping
  stockade session close s-4f2kq7m9xw3c
  stockade session egress s-4f2kq7m9xw3c
  stockade session replay s-4f2kq7m9xw3c --output replay.html")]
pub struct SessionArgs {
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(Debug, Subcommand)]
enum SessionCommand {
    /// Open a session, for an agent or for `stockade page`
    Start {
        /// A name: a-z, 0-9, '-', '_' and '.'
        name: Option<String>,
        /// Screenshots: off, transient (the latest, until it closes) or audit (all, before and after each action)
        #[arg(long)]
        record: Option<String>,
        /// Sign it in: the grant comes from the first line of standard input; an empty one means a standing grant
        #[arg(long)]
        signed_in: bool,
        /// With --signed-in: only to this host [default: all that the grant is for]. Without: open only this site, such as example.org, *.example.org or https://example.org:8443
        #[arg(long = "domain", value_name = "HOST")]
        domains: Vec<String>,
        /// With --signed-in: less access than the grant has; read or write
        #[arg(long, value_name = "ACCESS", requires = "signed_in")]
        access: Option<String>,
        /// The tenant that it belongs to
        #[arg(long, default_value = "default", value_parser = Tenant::parse)]
        tenant: Tenant,
        /// The agent that it belongs to
        #[arg(long, default_value = "agent", value_parser = Actor::parse)]
        actor: Actor,
    },
    /// List the sessions: the open ones, then the ended ones that are remembered
    List,
    /// Show one session: who, where, what is left, what waits for you
    Show {
        /// Its id or name
        session: String,
    },
    /// End a session now
    Close {
        /// Its id or name
        session: String,
    },
    /// Write a bundle of everything on record about a session, and end it
    Archive {
        /// Its id or name
        session: String,
    },
    /// Show what left a session through the proxy, or tried to
    Egress(super::session_egress::EgressArgs),
    /// Write an HTML page that shows what a session did and saw
    Replay(super::replay::ReplayArgs),
}

pub(super) fn run(context: &Context, args: SessionArgs) -> Result<Reply, Fault> {
    match &args.command {
        SessionCommand::Replay(args) => return super::replay::run(context, args),
        SessionCommand::Egress(args) => return super::session_egress::run(context, args),
        _ => {}
    }
    let state = context.open_state()?;
    let (verb, id, what) = match &args.command {
        SessionCommand::Start { name, record, signed_in, domains, access, tenant, actor } => {
            let scope = Scope { tenant: tenant.clone(), actor: actor.clone() };
            let mut request = json!({"action": "session.start"});
            for (key, value) in [("session_name", name), ("record", record), ("access", access)] {
                if let Some(value) = value {
                    request[key] = json!(value);
                }
            }
            if !domains.is_empty() {
                request["domains"] = json!(domains);
            }
            if *signed_in {
                request["credential_mode"] = json!("operator");
                if let Some(grant) = read_grant()? {
                    request["grant"] = json!(grant.as_str());
                }
            }
            let result = context.block_on(client::act(&state, &scope, &request))?;
            return Ok(super::page::result_reply(result));
        }
        SessionCommand::List => ("GET", None, ""),
        SessionCommand::Show { session } => ("GET", Some(session), ""),
        SessionCommand::Close { session } => ("POST", Some(session), "/close"),
        SessionCommand::Archive { session } => ("POST", Some(session), "/archive"),
        SessionCommand::Egress(_) | SessionCommand::Replay(_) => ("GET", None, ""),
    };
    let path = id.map_or_else(
        || "/v1/sessions".to_owned(),
        |id| format!("/v1/sessions/{}{what}", client::path_segment(id)),
    );
    let json = context.block_on(client::ask(&state, verb, &path))?;
    let human = match &args.command {
        SessionCommand::List | SessionCommand::Start { .. } => render_list(&json),
        SessionCommand::Show { .. } | SessionCommand::Egress(_) | SessionCommand::Replay(_) => {
            render_session(&json)
        }
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
