//! `stockade demo`: serves the demo shop alone, for any browser on this machine.

use crate::cli::output::{BOLD, DIM, GOOD, print_now};
use crate::cli::{Context, Reply};
use clap::Args;
use engine::error::Fault;
use error_code::ErrorCode;
use serde_json::json;
use std::net::SocketAddr;
use testkit::shop;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade demo
  stockade demo --listen 127.0.0.1:8000

For a jailed browser the shop needs a name that the proxy lets it reach:
  stockade smoke http://shop.test/ \\
    --set 'egress.hosts={shop.test: 127.0.0.1:8000}'")]
pub struct DemoArgs {
    /// Where to listen; a loopback address. Port 0 is any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = loopback)]
    listen: SocketAddr,
}

/// Parses a loopback address: the shop has well-known passwords and must not be on a network.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| "it is an address and a port, such as 127.0.0.1:8000")?;
    if address.ip().is_loopback() { Ok(address) } else { Err("it has to be a loopback address".to_owned()) }
}

pub(super) fn run(context: &Context, args: &DemoArgs) -> Result<Reply, Fault> {
    context.block_on(async {
        let failed = |error: std::io::Error| {
            Fault::io(ErrorCode::CannotListen, format!("cannot serve the shop on {}", args.listen), &error)
                .hint_if_none("Choose another port with --listen, or leave it out.")
        };
        let listener = TcpListener::bind(args.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let url = format!("http://{address}/");
        let human = format!(
            "{GOOD}The shop is open{GOOD:#} at {BOLD}{url}{BOLD:#}\n\
             {DIM}Log in as {} with {}. Stop with Ctrl-C.{DIM:#}\n",
            shop::EMAIL,
            shop::PASSWORD,
        );
        print_now(context, &Reply::new(human, json!({ "serving": true, "url": url })))?;
        tokio::select! {
            served = shop::serve(listener) => served.map_err(failed),
            stopped = tokio::signal::ctrl_c() => stopped.map_err(failed),
            _ = terminate.recv() => Ok(()),
        }
    })?;
    Ok(Reply::silent())
}
