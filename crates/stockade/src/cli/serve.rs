//! `stockade serve`: runs the control plane until a stop signal.

use crate::cli::client_snippet::{Client, HttpEndpoint, KEY_PLACEHOLDER, McpLaunch};
use crate::cli::output::{self, BAD, BOLD, DIM, GOOD};
use crate::cli::{Context, Reply, operator};
use crate::config::{Config, Override};
use ::server::http as server;
use ::server::operator::OperatorAuth;
use clap::Args;
use engine::control::Control;
use engine::error::{Fault, audit_fault};
use engine::stop::Stop;
use engine::storage::{AgentKey, FIRST_OPERATOR, LINK_LIFETIME, Storage};
use error_code::ErrorCode;
use redact::redacted;
use serde_json::json;
use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
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
        if key.is_some() {
            record_first_key(&control.log).await?;
        }
        let launch = context.mcp_launch()?;
        let login = LoginWay::find(context, &auth, &launch, bound.address).await?;
        let details = BannerDetails { key: key.as_ref(), login: &login, launch: &launch };
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

async fn record_first_key(log: &audit::Log) -> Result<(), Fault> {
    let scope = engine::storage::default_scope()?;
    let event = audit::Event::new(audit::EventKind::KeyMade, audit::EventSubject::tenant(&scope.tenant))
        .detail(redacted!("for {}, at the first start", scope));
    log.append(&event).await.map_err(audit_fault)
}

/// Serves the shop on a free port and lets the browser reach it by name.
pub(super) async fn start_demo(config: &mut Config) -> Result<SocketAddr, Fault> {
    let address = serve_shop().await?;
    allow_shop(config, address);
    Ok(address)
}

/// Serves the shop on a free port.
pub(super) async fn serve_shop() -> Result<SocketAddr, Fault> {
    let failed = |e: std::io::Error| Fault::io(ErrorCode::CannotListen, "cannot serve the demo shop", &e);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    tokio::spawn(async move {
        if let Err(error) = shop::serve(listener).await {
            tracing::error!(%error, "the demo shop stopped");
        }
    });
    Ok(address)
}

/// Lets the browser reach the shop by name.
pub(super) fn allow_shop(config: &mut Config, address: SocketAddr) {
    for host in [shop::HOST, shop::FRAME_HOST] {
        config.egress.hosts.0.insert(host.to_owned(), address);
    }
}

/// How an operator logs in.
enum LoginWay {
    /// A link, to be shown on this terminal now.
    Link(String),
    /// A command that shows a link on a terminal: this output is none.
    Command(String),
    /// Somebody has a password.
    Password,
}

impl LoginWay {
    /// A link is shown on a terminal only, and only while no operator has a password: afterwards, starting a server must
    /// not be a way to log in.
    async fn find(
        context: &Context,
        auth: &OperatorAuth,
        launch: &McpLaunch,
        address: SocketAddr,
    ) -> Result<LoginWay, Fault> {
        if auth.any_password().await? {
            return Ok(LoginWay::Password);
        }
        if context.json() || !std::io::stdout().is_terminal() {
            // The same state and configuration as a client's `stockade mcp` gets.
            let flags = launch.args.iter().skip(1).cloned();
            let words = [program_name(), "operator link".to_owned()].into_iter().chain(flags);
            return Ok(LoginWay::Command(words.collect::<Vec<_>>().join(" ")));
        }
        let token = auth.create_startup_link(FIRST_OPERATOR).await?;
        Ok(LoginWay::Link(operator::link_address(&operator::console_address(address), &token)))
    }

    /// The part of the banner that says so. The link stands alone on its line: it has up to 79 columns.
    fn render(&self) -> String {
        let minutes = LINK_LIFETIME.as_secs() / 60;
        match self {
            LoginWay::Link(link) => format!(
                "\n{BOLD}Log in to the console{BOLD:#} with this link. It works once, within {minutes} minutes:\n{link}\n"
            ),
            LoginWay::Command(command) => format!(
                "\n{BOLD}Nobody can log in to the console yet.{BOLD:#} This shows a link, on a terminal only:\n  {command}\n"
            ),
            LoginWay::Password => String::new(),
        }
    }

    fn first_step(&self) -> &'static str {
        match self {
            LoginWay::Link(_) | LoginWay::Command(_) => {
                "Open the link, set a password there, and keep the page open."
            }
            LoginWay::Password => "Open the console, log in, and keep the page open.",
        }
    }
}

/// What leads from here to an approved order in the demo shop.
fn next_steps(login: &LoginWay, approval_timeout: Duration) -> String {
    format!(
        "
{BOLD}Next{BOLD:#}
  1. {}
  2. Connect your agent, as below.
  3. Ask it to order a stoneware mug at http://shop.test/
  4. The console asks you about the order. Approve it within {} seconds.
",
        login.first_step(),
        approval_timeout.as_secs()
    )
}

/// This program as a person would type it here: by name if that finds it, else by its path, from the current folder if it
/// is below.
fn program_name() -> String {
    let Ok(program) = std::env::current_exe() else { return "stockade".to_owned() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_this = |folder: std::path::PathBuf| {
        folder.join("stockade").canonicalize().is_ok_and(|found| found == program)
    };
    if std::env::split_paths(&path).any(is_this) {
        return "stockade".to_owned();
    }
    let here = std::env::current_dir().unwrap_or_default();
    program.strip_prefix(&here).unwrap_or(&program).display().to_string()
}

/// Parts of the banner that are shown at the start only.
struct BannerDetails<'a> {
    key: Option<&'a AgentKey>,
    login: &'a LoginWay,
    launch: &'a McpLaunch,
}

/// Renders the snippets of all clients: over HTTP, or by a pipe for a client that can only start servers itself.
fn render_snippets(endpoint: &HttpEndpoint, launch: &McpLaunch) -> String {
    let mut out = String::new();
    for client in Client::ALL {
        let file = client.file().map(|file| format!("  {file}")).unwrap_or_default();
        out.push_str(&format!("\n{BOLD}{}{BOLD:#}{file}\n", client.title()));
        let snippet = client.http_snippet(endpoint).unwrap_or_else(|| client.stdio_snippet(launch));
        snippet.lines().for_each(|line| out.push_str(&format!("  {line}\n")));
    }
    out
}

fn render_banner(
    config: &Config,
    address: SocketAddr,
    BannerDetails { key, login, launch }: BannerDetails,
    demo: bool,
    weaker: bool,
) -> Reply {
    let url = format!("http://{address}/mcp");
    let console = operator::console_address(address);
    let shown_key = key.map_or(KEY_PLACEHOLDER, AgentKey::expose).to_owned();
    let endpoint = HttpEndpoint { url: url.clone(), key: (!config.server.open).then_some(shown_key) };
    let mut human = format!(
        "{GOOD}Stockade is serving.{GOOD:#}\n\n  {BOLD}Console{BOLD:#}  {console}\n  {BOLD}MCP{BOLD:#}      {url}\n"
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
    human.push_str(&login.render());
    if demo {
        human.push_str(&next_steps(login, config.approvals().timeout));
    }
    human.push_str(&render_snippets(&endpoint, launch));
    human.push_str(&format!("\n{DIM}`stockade connect` prints these again. Stop with Ctrl-C.{DIM:#}\n"));
    let json = json!({
        "serving": true, "console": console, "mcp": url, "key": key.map(AgentKey::expose),
        "open": config.server.open, "weaker_limits": weaker,
    });
    Reply::new(human, json)
}
