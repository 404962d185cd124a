//! `stockade mcp`: serves MCP over standard input and output, for one client.

use crate::cli::{Context, Reply};
use clap::Args;
use engine::control::Control;
use engine::error::Fault;
use engine::stop::Stop;
use engine::storage::Storage;
use policy::{Actor, Scope, Tenant};
use server::mcp;
use std::sync::Arc;

#[derive(Debug, Args)]
#[command(after_help = "\
Started by an MCP client, not by hand. If `stockade serve` is running from the
same state folder this joins it; otherwise it is a control plane of its own and
ends, with its browsers, when the client hangs up.

A stockade.yaml in the current folder is not read: clients start this in whatever
project is open. Name one with --config.

Examples:
  claude mcp add stockade -- stockade mcp")]
pub struct McpArgs {
    /// Whose data the sessions are
    #[arg(long, default_value = "default", value_parser = Tenant::parse)]
    tenant: Tenant,
    /// The agent that the client is
    #[arg(long, default_value = "agent", value_parser = Actor::parse)]
    actor: Actor,
    /// Serve the demo shop too, for the browser to visit at http://shop.test/
    #[arg(long)]
    demo: bool,
}

pub(super) fn run(context: &Context, args: McpArgs) -> Result<Reply, Fault> {
    let scope = Scope { tenant: args.tenant, actor: args.actor };
    let mut config = context.load_config_without_current_dir(Vec::new())?.enabled()?;
    let state = context.open_state()?;
    context.block_on(async {
        if let Some(stream) = state.join()? {
            return mcp::join(stream, &scope).await;
        }
        let storage = Storage::open(&state.database()).await?;
        if args.demo {
            super::serve::start_demo(&mut config).await?;
        }
        let control = Arc::new(Control::start_on(context.backend(&config)?, &config, &state, storage).await?);
        let stop = Stop::watch(control.clone())?;
        let (input, output) = rmcp::transport::io::stdio_pipes();
        let served = tokio::select! {
            served = mcp::serve_pipe(control.clone(), scope, input, output) => served,
            () = stop.token.cancelled() => stop.wanted(),
        };
        control.shut_down().await;
        served
    })?;
    // Standard output belongs to the MCP client.
    Ok(Reply::silent())
}
