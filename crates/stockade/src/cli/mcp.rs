//! `stockade mcp`: serves MCP over standard input and output, for one client.

use crate::cli::{Context, Reply, serve};
use clap::Args;
use engine::control::Control;
use engine::error::Fault;
use engine::stop::Stop;
use engine::storage::Storage;
use policy::{Actor, Scope, Tenant};
use server::mcp::{self, BackendConnection, RelayEnd, StdioClient};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The buffer between the client's pipe and a control plane that started late.
const PIPE_BYTES: usize = 64 * 1024;
/// How long a client may take to read the last answers once all sessions have ended.
const LAST_ANSWERS: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
#[command(after_help = "\
Started by an MCP client, not by hand. If `stockade serve` is running from the
same state folder this joins it; otherwise it is a control plane of its own and
ends, with its browsers, when the client hangs up. If the server that it joined
ends, running calls fail with server_lost, and the next call joins the server
that runs then, or makes this a control plane of its own. Where it cannot start,
it answers the client all the same, each call says what is missing, and the next
call tries again.

A stockade.yaml in the current folder is not read: clients start this in
whatever project is open. Name one with --config.

Examples:
  claude mcp add stockade -- stockade mcp")]
pub struct McpArgs {
    /// The tenant that the sessions belong to
    #[arg(long, default_value = "default", value_parser = Tenant::parse)]
    tenant: Tenant,
    /// The agent that the client acts as
    #[arg(long, default_value = "agent", value_parser = Actor::parse)]
    actor: Actor,
    /// Serve the demo shop too, for the browser to visit at http://shop.test/
    #[arg(long)]
    demo: bool,
}

pub(super) fn run(context: &Context, args: McpArgs) -> Result<Reply, Fault> {
    let scope = Scope { tenant: args.tenant, actor: args.actor };
    context.block_on(async {
        let mut launcher = ControlLauncher { context, demo: args.demo, shop: None };
        match launcher.start().await {
            Ok(McpBackend::Running(stream)) => relay(launcher, stream, scope).await,
            Ok(McpBackend::Own(control)) => {
                let (input, output) = rmcp::transport::io::stdio_pipes();
                serve_own(control.clone(), mcp::serve_pipe(control, scope, input, output)).await
            }
            Err(fault) => {
                tracing::warn!(%fault, hint = %fault.hint, "cannot start; each call of a tool tries again");
                serve_when_started(launcher, fault, scope).await
            }
        }
    })?;
    // Standard output belongs to the MCP client.
    Ok(Reply::silent())
}

/// Where the client's calls go.
enum McpBackend {
    /// The server that runs from the same state folder.
    Running(UnixStream),
    /// A control plane of this process.
    Own(Arc<Control>),
}

/// Starts a control plane, again and again if need be: everything that a person can mend is looked at anew.
struct ControlLauncher<'a> {
    context: &'a Context,
    demo: bool,
    /// The demo shop, which is served once.
    shop: Option<SocketAddr>,
}

impl ControlLauncher<'_> {
    async fn start(&mut self) -> Result<McpBackend, Fault> {
        let mut config = self.context.load_config_without_current_dir(Vec::new())?.enabled()?;
        let state = self.context.open_state()?;
        if let Some(stream) = state.join()? {
            return Ok(McpBackend::Running(stream));
        }
        let storage = Storage::open(&state.database()).await?;
        if self.demo {
            let address = match self.shop {
                Some(address) => address,
                None => *self.shop.insert(serve::serve_shop().await?),
            };
            serve::allow_shop(&mut config, address);
        }
        let backend = self.context.backend(&config)?;
        Ok(McpBackend::Own(Arc::new(Control::start_on(backend, &config, &state, storage).await?)))
    }
}

async fn serve_own(
    control: Arc<Control>,
    serving: impl Future<Output = Result<(), Fault>>,
) -> Result<(), Fault> {
    let stop = Stop::watch(control.clone())?;
    tokio::pin!(serving);
    tokio::select! {
        served = &mut serving => {
            control.shut_down().await;
            return served;
        }
        () = stop.token.cancelled() => {}
    }
    // Calls in progress fail with the end of their sessions; the client gets those answers too.
    let ending = async {
        control.shut_down().await;
        tokio::time::sleep(LAST_ANSWERS).await;
    };
    tokio::select! {
        () = ending => {}
        served = &mut serving => {
            control.shut_down().await;
            served?;
        }
    }
    stop.wanted()
}

/// Relays to a running server. When that is lost, the next request goes to the server that runs by then, or to a control
/// plane of this process.
async fn relay(
    mut launcher: ControlLauncher<'_>,
    mut running: UnixStream,
    scope: Scope,
) -> Result<(), Fault> {
    let (input, output) = rmcp::transport::io::stdio_pipes();
    let mut client = StdioClient::start(input, output);
    while client.join(running, &scope).await? == RelayEnd::ServerLost {
        running = loop {
            if !client.wait_for_request().await? {
                client.finish().await;
                return Ok(());
            }
            match launcher.start().await {
                Ok(McpBackend::Running(stream)) => break stream,
                Ok(McpBackend::Own(control)) => {
                    return serve_own(control.clone(), client.serve(control, scope)).await;
                }
                Err(fault) => client.refuse(&fault).await,
            }
        };
    }
    client.finish().await;
    Ok(())
}

/// Answers the client all the same, and starts as soon as a call finds that the cause is gone.
async fn serve_when_started(
    mut launcher: ControlLauncher<'_>,
    fault: Fault,
    scope: Scope,
) -> Result<(), Fault> {
    let stopped = CancellationToken::new();
    let mut own: Option<(Arc<Control>, Stop, JoinHandle<()>)> = None;
    let start = async || match launcher.start().await? {
        McpBackend::Running(stream) => Ok(BackendConnection::new(mcp::connect(stream, &scope).await?)),
        McpBackend::Own(control) => {
            let stop = Stop::watch(control.clone())?;
            let (signal, forward) = (stop.token.clone(), stopped.clone());
            tokio::spawn(async move {
                signal.cancelled().await;
                forward.cancel();
            });
            let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
            let (read, write) = tokio::io::split(theirs);
            let serving = mcp::serve_pipe(control.clone(), scope.clone(), read, write);
            let serving = tokio::spawn(async move {
                if let Err(fault) = serving.await {
                    tracing::warn!(%fault, "the client's pipe ended early");
                }
            });
            own = Some((control, stop, serving));
            Ok(BackendConnection::new(ours))
        }
    };
    let (input, output) = rmcp::transport::io::stdio_pipes();
    let served = tokio::select! {
        served = mcp::serve_deferred(fault, input, output, start) => served,
        () = stopped.cancelled() => Ok(()),
    };
    match own {
        Some((control, stop, serving)) => {
            // It ends the client's session, which takes a browser that is still there.
            tokio::select! {
                ended = serving => if let Err(error) = ended {
                    tracing::error!(%error, "the client's pipe was not waited for");
                },
                () = stopped.cancelled() => {}
            }
            control.shut_down().await;
            served.and(stop.wanted())
        }
        None => served,
    }
}
