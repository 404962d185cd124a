//! `stockade key`: makes, lists and revokes agent keys.

use crate::cli::output::{BAD, BOLD, DIM};
use crate::cli::{Column, Context, Reply, Table};
use anstyle::Style;
use audit::{Event, EventKind, EventSubject};
use clap::{Args, Subcommand};
use engine::error::{Fault, audit_fault};
use engine::storage::KeyRow;
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::{Actor, Scope, Tenant};
use redact::Redacted;
use serde_json::{Value, json};
use server::client::{self, path_segment};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade key make --label laptop
  stockade key make --tenant team --actor researcher
  stockade key list
  stockade key revoke key-3kf09a2m")]
pub struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Make a key for an agent and show it once
    Make {
        /// The tenant; created if it is new
        #[arg(long, default_value = "default", value_parser = Tenant::parse)]
        tenant: Tenant,
        /// The agent that the key is for; created if it is new
        #[arg(long, default_value = "agent", value_parser = Actor::parse)]
        actor: Actor,
        /// A note to recognize the key by
        #[arg(long, default_value = "")]
        label: String,
    },
    /// List all keys; never the keys themselves
    List,
    /// Revoke a key; end its agent's sessions and withdraw their approval requests
    Revoke {
        /// The id that `stockade key list` shows
        id: String,
    },
}

pub(super) fn run(context: &Context, args: KeyArgs) -> Result<Reply, Fault> {
    context.block_on(async {
        match args.command {
            KeyCommand::Make { tenant, actor, label } => {
                make(context, &Scope { tenant, actor }, &label).await
            }
            KeyCommand::List => list(context).await,
            KeyCommand::Revoke { id } => revoke(context, &id).await,
        }
    })
}

/// Makes a key. Revokes it again if it cannot be recorded.
async fn make(context: &Context, scope: &Scope, label: &str) -> Result<Reply, Fault> {
    let storage = context.open_storage().await?;
    let (key, row) = storage.make_key(scope, label).await?;
    if let Err(fault) = record(context, EventKind::KeyMade, &row).await {
        storage.revoke_key(&row.id).await?;
        return Err(fault);
    }
    let human = format!(
        "{BOLD}{}{BOLD:#}\n\
         {DIM}{} for {scope}. It is shown this once: only its hash is kept.{DIM:#}\n",
        key.expose(),
        row.id,
    );
    Ok(Reply::new(human, json!({ "key": key.expose(), "made": row })))
}

async fn list(context: &Context) -> Result<Reply, Fault> {
    let keys = context.open_storage().await?.list_keys().await?;
    let mut table = Table::new(&[
        Column::Whole("ID"),
        Column::Short("SCOPE"),
        Column::Short("LABEL"),
        Column::Short("MADE"),
        Column::Short("LAST USED"),
        Column::Short("STATE"),
    ]);
    for key in &keys {
        let (state, style) = match key.revoked_at {
            Some(_) => ("revoked", BAD),
            None => ("good", Style::new()),
        };
        table.add_styled_row([
            (key.id.clone(), Style::new()),
            (key.scope.to_string(), Style::new()),
            (key.label.clone(), Style::new()),
            (format_date(key.created_at), Style::new()),
            (key.last_used_at.map_or_else(|| "never".to_owned(), format_date), Style::new()),
            (state.to_owned(), style),
        ]);
    }
    let human = table.render("There are no keys yet. Make one: stockade key make");
    Ok(Reply::new(human, json!({ "keys": keys })))
}

/// Revokes a key, then ends its agent's sessions, and with them its open questions. The revocation holds even if it
/// cannot be recorded.
async fn revoke(context: &Context, id: &str) -> Result<Reply, Fault> {
    let row = context.open_storage().await?.revoke_key(id).await?;
    let recorded = record(context, EventKind::KeyRevoked, &row).await;
    let ended = end_sessions(context, &row.scope).await?;
    recorded?;
    let sessions = match ended.len() {
        0 => String::new(),
        1 => " Its agent's session is ended.".to_owned(),
        count => format!(" Its agent's {count} sessions are ended."),
    };
    let human = format!("{} of {} is revoked.{sessions}\n", row.id, row.scope);
    Ok(Reply::new(human, json!({ "revoked": row, "ended_sessions": ended })))
}

/// Ends the agent's sessions at the running server. Without one there are none.
async fn end_sessions(context: &Context, scope: &Scope) -> Result<Vec<Value>, Fault> {
    let state = context.open_state()?;
    let (tenant, actor) = (path_segment(scope.tenant.as_str()), path_segment(scope.actor.as_str()));
    match client::ask(&state, "POST", &format!("/v1/agents/{tenant}/{actor}/end")).await {
        Ok(mut reply) => match reply["ended"].take() {
            Value::Array(ended) => Ok(ended),
            _ => Ok(Vec::new()),
        },
        Err(fault) if fault.code == ErrorCode::NotRunning => Ok(Vec::new()),
        Err(fault) => Err(fault),
    }
}

async fn record(context: &Context, kind: EventKind, row: &KeyRow) -> Result<(), Fault> {
    let label = if row.label.is_empty() { String::new() } else { format!(", {}", row.label) };
    let detail = format!("{} for {}{label}", row.id, row.scope);
    let event = Event::new(kind, EventSubject::tenant(&row.scope.tenant))
        .detail(Redacted::outside_sessions(detail))
        .decided_by(Some("the command line".into()));
    context.open_log()?.append(&event).await.map_err(audit_fault)
}

fn format_date(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}
