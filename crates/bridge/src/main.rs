//! The bridge: process 1 of a jail, between Chromium and the host's two sockets.
//!
//! It connects to the host and accepts connections from nobody but Chromium, for its proxy. It holds a public key and
//! no secret.

mod args;
mod children;
mod control;
mod display;
mod http;
mod log;
mod pipe;
mod proxy;
mod state;
mod supervisor;
mod verifier;
mod websocket;
mod xkbcomp;

use crate::args::{Args, ArgsError};
use crate::children::Children;
use crate::control::{Control, HostGone};
use crate::log::Log;
use crate::state::State;
use crate::supervisor::Supervisor;
use crate::verifier::SharedVerifier;
use bridge::token::{TokenError, Verifier};
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

#[derive(Debug, thiserror::Error)]
enum BridgeError {
    #[error("bad arguments")]
    Args { source: ArgsError },
    #[error("bad public key")]
    Key { source: TokenError },
    #[error("cannot give up privileges")]
    Harden { source: io::Error },
    #[error("cannot set up {what}")]
    Setup { what: &'static str, source: io::Error },
    #[error("the host is gone")]
    HostGone { source: HostGone },
}

fn main() -> ExitCode {
    let began = Instant::now();
    let mut args = std::env::args_os();
    let program = args.next().unwrap_or_default();
    if xkbcomp::called_as_shell(&program) {
        return failed(&xkbcomp::run(args));
    }
    match Args::parse(args).map_err(|source| BridgeError::Args { source }).and_then(|args| run(args, began)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &dyn Error) -> ExitCode {
    log::to_stderr(&format!("bridge: {}\n", log::with_causes(error)));
    ExitCode::from(2)
}

fn run(args: Args, began: Instant) -> Result<(), BridgeError> {
    harden().map_err(|source| BridgeError::Harden { source })?;
    let verifier = Verifier::new(&args.public_key, &args.scope, &args.target)
        .map_err(|source| BridgeError::Key { source })?;
    // One thread: reaping and spawning cannot race, and a jail has little to run it on.
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| BridgeError::Setup { what: "the event loop", source })?
        .block_on(serve(Arc::new(args), verifier, began))
}

/// Chromium inherits the limits: no core file may hold what a page held, no program may gain rights.
///
/// The limit is 1 and not 0, because only 1 also keeps a host's core handler from being run.
fn harden() -> io::Result<()> {
    let limit = rustix::process::getrlimit(Resource::Core).maximum.map_or(1, |limit| limit.min(1));
    rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    rustix::thread::set_no_new_privs(true)?;
    Ok(())
}

async fn serve(args: Arc<Args>, verifier: Verifier, began: Instant) -> Result<(), BridgeError> {
    let log = Log::default();
    let children = Children::watch().map_err(|source| BridgeError::Setup { what: "the reaper", source })?;
    let mut terminate =
        signal(SignalKind::terminate()).map_err(|source| BridgeError::Setup { what: "signals", source })?;
    let proxy = proxy::listen(args.proxy_port)
        .await
        .map_err(|source| BridgeError::Setup { what: "the proxy port", source })?;
    // Before Chromium exists, because the host takes the first process that dials for the bridge.
    let spare = control::dial(&args.cdp).await.map_err(|source| BridgeError::HostGone { source })?;

    let (state, _) = watch::channel(State::new(began, args.restarts));
    state.send_modify(|state| state.pass(Supervisor::first_phase(&args)));
    let tokens = SharedVerifier::new(verifier);
    let control = Arc::new(Control { args: args.clone(), tokens, state: state.clone(), log: log.clone() });
    tokio::spawn(proxy::serve(proxy, args.egress.clone(), log.clone()));
    let supervisor = Supervisor { args, children, log, state };
    tokio::select! {
        gone = control.serve(spare) => Err(BridgeError::HostGone { source: gone }),
        // Runs for as long as the state exists, and we hold that.
        () = supervisor.supervise() => Ok(()),
        _ = terminate.recv() => Ok(()),
    }
}
