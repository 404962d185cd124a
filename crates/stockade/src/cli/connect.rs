//! `stockade connect`: prints what to paste into an MCP client.

use super::client_snippet::{Client, HttpEndpoint, KEY_PLACEHOLDER};
use crate::cli::output::{BOLD, DIM};
use crate::cli::{Context, Reply};
use clap::{Args, ValueEnum};
use engine::error::Fault;
use serde_json::{Value, json};
use server::client;

#[derive(Debug, Args)]
#[command(after_help = "\
Over standard input and output the client starts Stockade itself. Over HTTP it
connects to the `stockade serve` that runs, with an agent's key.

The snippets carry the state folder, the configuration file in use and --set, so
that the client gets the same Stockade as this command.

Examples:
  stockade connect
  stockade connect claude-code
  stockade connect cursor --http
  stockade connect claude-desktop --set session_timeout=600")]
pub struct ConnectArgs {
    /// The client [default: all of them]
    client: Option<Client>,
    /// Only the form in which the client starts Stockade
    #[arg(long, conflicts_with = "http")]
    stdio: bool,
    /// Only the form for a running server
    #[arg(long)]
    http: bool,
}

pub(super) fn run(context: &Context, args: &ConnectArgs) -> Result<Reply, Fault> {
    let launch = context.mcp_launch()?;
    let config = context.load_config(Vec::new())?.config;
    let state = context.open_state()?;
    // Asks the running server for its address; without one, takes the configured address.
    let running = context.block_on(client::ask(&state, "GET", "/v1/console")).ok();
    let console = running.as_ref().and_then(|reply| reply["console"].as_str());
    let url = match console.and_then(|console| console.strip_suffix("/console")) {
        Some(base) => format!("{base}/mcp"),
        None => format!("http://{}/mcp", config.server.listen),
    };
    let endpoint = HttpEndpoint { url, key: (!config.server.open).then(|| KEY_PLACEHOLDER.to_owned()) };
    let clients: Vec<Client> = args.client.map_or_else(|| Client::ALL.to_vec(), |client| vec![client]);
    let mut human = String::new();
    let mut list = Vec::new();
    let mut needs_key = false;
    for client in clients {
        let stdio = (!args.http).then(|| client.stdio_snippet(&launch));
        let http = if args.stdio { None } else { client.http_snippet(&endpoint) };
        needs_key |= http.is_some() && endpoint.key.is_some();
        let file = client.file().map(|file| format!("  {DIM}{file}{DIM:#}")).unwrap_or_default();
        human.push_str(&format!("{BOLD}{}{BOLD:#}{file}\n", client.title()));
        for (form, snippet) in [("starts Stockade itself", &stdio), ("connects to `stockade serve`", &http)] {
            if let Some(snippet) = snippet {
                human.push_str(&format!("{DIM}# {form}{DIM:#}\n{snippet}"));
            }
        }
        if args.http && http.is_none() {
            human.push_str("It has no place for a server that runs: leave --http out.\n");
        }
        human.push('\n');
        let name = client.to_possible_value().map(|value| value.get_name().to_owned());
        list.push(json!({
            "client": name, "title": client.title(), "file": client.file(), "stdio": stdio, "http": http,
        }));
    }
    if needs_key {
        human.push_str(&format!("KEY is an agent's key: {BOLD}stockade key make{BOLD:#} shows a new one.\n"));
        if running.is_none() {
            human.push_str(&format!(
                "No server runs from this state folder yet: {BOLD}stockade serve{BOLD:#} starts one.\n"
            ));
        }
    }
    let launch = serde_json::to_value(&launch).unwrap_or(Value::Null);
    let json =
        json!({ "clients": list, "launch": launch, "url": endpoint.url, "running": running.is_some() });
    Ok(Reply::new(human.trim_start(), json))
}
