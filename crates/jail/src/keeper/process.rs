//! The keeper process: supervises jails, and removes them when the control plane ends.
//!
//! It has one thread, because a parent-death signal follows the thread that forked. Standard input is the
//! socket to the control plane, standard output the instance's lock; nothing else is inherited.

use super::ProcessInfo;
use super::wire::{Packet, Reply, Request, WireError, receive_packet, send_packet};
use crate::launch::Supervisor;
use crate::{JailError, spawn};
use rustix::stdio::stdin;
use std::io::{self, Write};
use std::process::ExitCode;

/// The entry point of the keeper, for a program that was started with the arguments of
/// [`KeeperCommand`](crate::KeeperCommand). Must be called before another thread is started.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let written = writeln!(io::stderr(), "jail keeper: {} ({error})", error.code());
            if written.is_ok() { ExitCode::FAILURE } else { ExitCode::from(2) }
        }
    }
}

fn run() -> Result<(), JailError> {
    spawn::ignore_signals().map_err(JailError::system("ignoring signals"))?;
    spawn::close_inherited().map_err(JailError::system("closing inherited descriptors"))?;
    // A name of its own, so that `killall` and process lists do not confuse it with the control plane.
    rustix::thread::set_name(c"jail-keeper").map_err(JailError::system("naming the process"))?;

    let Some(Packet { number, body: Request::Setup(launcher) }) = receive()? else {
        return Err(JailError::RuntimeLost { why: "it was not started by a control plane".to_owned() });
    };
    let mut jails = Supervisor::new(launcher);
    let served = reply(number, Reply::Done).and_then(|()| serve(&mut jails));
    // The jails end now, whatever the reason is.
    jails.clear().and(served)
}

/// Serves until the control plane asks for the end or dies.
fn serve(jails: &mut Supervisor) -> Result<(), JailError> {
    loop {
        if !jails.wait(stdin())? {
            continue;
        }
        match receive()? {
            None | Some(Packet { body: Request::Shutdown, .. }) => return Ok(()),
            Some(Packet { number, body }) => {
                let done = handle(jails, body);
                reply(number, done.unwrap_or_else(|error| Reply::Failed(WireError::from(error))))?;
            }
        }
    }
}

fn handle(jails: &mut Supervisor, request: Request) -> Result<Reply, JailError> {
    match request {
        Request::Start { spec, root } => {
            let jail = jails.start(spec, &root)?;
            Ok(Reply::Started(ProcessInfo { pid: jail.pid(), uid: jail.uid() }))
        }
        Request::State(id) => Ok(Reply::State(jails.state(&id))),
        Request::Stats(id) => jails.stats(&id).map(Reply::Stats),
        Request::LogTail(id) => jails.log_tail(&id).map(Reply::Log),
        Request::Destroy(id) => jails.destroy(&id).map(Reply::Stats),
        Request::Setup(_) | Request::Shutdown => Ok(Reply::Done),
    }
}

fn receive() -> Result<Option<Packet<Request>>, JailError> {
    receive_packet(stdin()).map_err(JailError::system("hearing the control plane"))
}

fn reply(number: u64, body: Reply) -> Result<(), JailError> {
    match send_packet(stdin(), &Packet { number, body }) {
        // The control plane has died; the next read of the socket reports it too.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(JailError::system("answering the control plane")),
    }
}
