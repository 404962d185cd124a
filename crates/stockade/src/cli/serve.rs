//! `stockade serve`: runs the control plane until a stop signal.

use crate::cli::output::{self, BAD, BOLD, DIM, GOOD};
use crate::cli::{Context, Reply, operator};
use crate::config::{Config, Override};
use ::server::http as server;
use ::server::operator::OperatorAuth;
use clap::Args;
use engine::control::Control;
use engine::error::Fault;
use engine::stop::Stop;
use engine::storage::{AgentKey, FIRST_OPERATOR, Storage};
use error_code::ErrorCode;
use serde_json::json;
use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use testkit::shop;
use tokio::net::TcpListener;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade serve
  stockade serve --demo                  with the demo shop at http://shop.test/
  stockade serve --listen 127.0.0.1:0    on any free port")]
pub struct ServeArgs {
    /// Where to listen; a loopback address [default: 127.0.0.1:7700]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Ask agents for no key: anyone on this machine can use the browser
    #[arg(long)]
    open: bool,
    /// Serve the demo shop too, for the browser to visit at http://shop.test/
    #[arg(long)]
    demo: bool,
}

pub(super) fn run(context: &Context, args: ServeArgs) -> Result<Reply, Fault> {
    let mut flags = Vec::new();
    if let Some(listen) = &args.listen {
        flags.push(Override::new("--listen", "server.listen", listen)?);
    }
    if args.open {
        flags.push(Override::new("--open", "server.open", "true")?);
    }
    let mut config = context.load_config(flags)?.enabled()?;
    let webhook = server::WebhookEndpoint::read(&config)?;
    let state = context.open_state()?;
    let lock = state.lock()?;
    context.block_on(async {
        let storage = Storage::open(&state.database()).await?;
        let first = storage.first_start().await?;
        if args.demo {
            start_demo(&mut config).await?;
        }
        let bound = server::bind(config.server.listen, lock.listen()?).await?;
        let control = Arc::new(Control::start_on(context.backend(&config)?, &config, &state, storage).await?);
        let auth = OperatorAuth::new(control.storage.clone(), control.log.clone());
        let key = first.map(|first| first.agent_key);
        let login = login_instructions(context, &auth, &control.storage, bound.address).await?;
        let details = BannerDetails { key: key.as_ref(), login: &login, mcp_args: &mcp_client_args(context) };
        let banner = render_banner(&config, bound.address, details, args.demo, control.is_weaker());
        output::print_now(context, &banner)?;
        drop((key, banner, login));

        let stop = Stop::watch(control.clone())?;
        let served = server::serve(bound, control.clone(), auth, &config, webhook, stop.token.clone()).await;
        control.shut_down().await;
        served.and(stop.wanted())
    })?;
    Ok(Reply::new(format!("{DIM}Stopped; nothing is left running.{DIM:#}\n"), json!({"stopped": true})))
}

/// Serves the shop on a free port and lets the browser reach it by name.
pub(super) async fn start_demo(config: &mut Config) -> Result<SocketAddr, Fault> {
    let failed = |e: std::io::Error| Fault::io(ErrorCode::CannotListen, "cannot serve the demo shop", &e);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    for host in [shop::HOST, shop::FRAME_HOST] {
        config.egress.hosts.0.insert(host.to_owned(), address);
    }
    tokio::spawn(async move {
        if let Err(error) = shop::serve(listener).await {
            tracing::error!(%error, "the demo shop stopped");
        }
    });
    Ok(address)
}

/// Lines of the banner that say how an operator logs in. A login link is shown on a terminal only, and only while no
/// operator has a password: afterwards, starting a server must not be a way to log in.
async fn login_instructions(
    context: &Context,
    auth: &OperatorAuth,
    storage: &Storage,
    address: SocketAddr,
) -> Result<String, Fault> {
    const PASSWORD: &str = "stockade operator password";
    if context.json() || storage.any_operator_password().await? {
        return Ok(String::new());
    }
    if !std::io::stdout().is_terminal() {
        return Ok(format!(
            "           {DIM}no operator has a password yet; in a terminal: {PASSWORD}{DIM:#}\n"
        ));
    }
    let token = auth.create_startup_link(FIRST_OPERATOR).await?;
    let link = operator::link_address(&operator::console_address(address), &token);
    Ok(format!(
        "  {BOLD}Log in{BOLD:#}   {link}\n           {DIM}works once, within ten minutes; then set a password: {PASSWORD}{DIM:#}\n"
    ))
}

/// Parts of the banner that are shown at the start only.
struct BannerDetails<'a> {
    key: Option<&'a AgentKey>,
    login: &'a str,
    mcp_args: &'a str,
}

/// Arguments for an MCP client that starts `stockade mcp`, as JSON: the same configuration and state as this server.
fn mcp_client_args(context: &Context) -> String {
    let arguments: Vec<String> = ["mcp".to_owned()].into_iter().chain(context.location_flags()).collect();
    json!(arguments).to_string()
}

fn render_banner(
    config: &Config,
    address: SocketAddr,
    BannerDetails { key, login, mcp_args }: BannerDetails,
    demo: bool,
    weaker: bool,
) -> Reply {
    let url = format!("http://{address}/mcp");
    let console = operator::console_address(address);
    let program =
        std::env::current_exe().map_or_else(|_| "stockade".into(), |path| path.display().to_string());
    let shown_key = match key {
        Some(key) => key.expose().to_owned(),
        None => "KEY".to_owned(),
    };
    let header = format!("Authorization: Bearer {shown_key}");
    let mut human = format!(
        "{GOOD}Stockade is serving.{GOOD:#}\n\n  {BOLD}Console{BOLD:#}  {console}\n{login}  {BOLD}MCP{BOLD:#}      {url}\n"
    );
    human.push_str(&match key {
        _ if config.server.open => format!("  {BOLD}Key{BOLD:#}      {BAD}none is asked for: anyone on this machine can use the browser{BAD:#}\n"),
        Some(key) => format!("  {BOLD}Key{BOLD:#}      {}\n           {DIM}shown this once; only its hash is kept{DIM:#}\n", key.expose()),
        None => format!("  {BOLD}Key{BOLD:#}      {DIM}made at the first start; for another: stockade key make{DIM:#}\n"),
    });
    if demo {
        human.push_str(&format!(
            "  {BOLD}Shop{BOLD:#}     http://shop.test/  {DIM}(for the jailed browser){DIM:#}\n"
        ));
    }
    if weaker {
        human.push_str(&format!("\n{BAD}Limits are not enforced: container.weaker_limits is on.{BAD:#}\n"));
    }
    human.push_str(&format!(
        r#"
{BOLD}Claude Code{BOLD:#}
  claude mcp add --transport http stockade {url} \
    --header "{header}"

{BOLD}Claude Desktop{BOLD:#}  claude_desktop_config.json
  {{"mcpServers": {{"stockade": {{
    "command": "{program}",
    "args": {mcp_args}}}}}}}

{BOLD}Cursor{BOLD:#}  ~/.cursor/mcp.json
  {{"mcpServers": {{"stockade": {{"url": "{url}",
    "headers": {{"Authorization": "Bearer {shown_key}"}}}}}}}}

{BOLD}VS Code{BOLD:#}  .vscode/mcp.json
  {{"servers": {{"stockade": {{"type": "http", "url": "{url}",
    "headers": {{"Authorization": "Bearer {shown_key}"}}}}}}}}

{DIM}Stop with Ctrl-C.{DIM:#}
"#
    ));
    let json = json!({
        "serving": true, "console": console, "mcp": url, "key": key.map(AgentKey::expose),
        "open": config.server.open, "weaker_limits": weaker,
    });
    Reply::new(human, json)
}
