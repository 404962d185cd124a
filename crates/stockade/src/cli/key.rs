//! `stockade key`: makes, lists and revokes agent keys.

use crate::cli::output::{BAD, BOLD, DIM};
use crate::cli::{Column, Context, Reply, Table};
use anstyle::Style;
use clap::{Args, Subcommand};
use engine::error::Fault;
use jiff::Timestamp;
use policy::{Actor, Scope, Tenant};
use serde_json::json;

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
    /// Make a key for an agent, and show it this once
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
    /// Refuse a key from now on
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

async fn make(context: &Context, scope: &Scope, label: &str) -> Result<Reply, Fault> {
    let (key, row) = context.open_storage().await?.make_key(scope, label).await?;
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

async fn revoke(context: &Context, id: &str) -> Result<Reply, Fault> {
    let row = context.open_storage().await?.revoke_key(id).await?;
    let human = format!("{} of {} is revoked.\n", row.id, row.scope);
    Ok(Reply::new(human, json!({ "revoked": row })))
}

fn format_date(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}
