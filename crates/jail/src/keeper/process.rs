//! The keeper process: starts jails, answers for them, and clears them away when the control plane is gone.
//!
//! It has one thread, because a parent-death signal follows the thread that forked. Standard input is the
//! socket to the control plane, standard output the instance's lock; nothing else is inherited.

use super::jail::Jail;
use super::wire::{Fault, Packet, Reply, Request, Setup, receive_packet, send_packet};
use crate::instance::{self, ignore_missing};
use crate::{Id, JailError, spawn};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

/// What the binary calls when started with the hidden argument.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let told = writeln!(io::stderr(), "jail keeper: {} ({error})", error.code());
            if told.is_ok() { ExitCode::FAILURE } else { ExitCode::from(2) }
        }
    }
}

fn run() -> Result<(), JailError> {
    spawn::ignore_signals().map_err(JailError::system("ignoring signals"))?;
    spawn::close_inherited().map_err(JailError::system("closing inherited descriptors"))?;
    // So that neither `killall` nor a look at the process list takes it for the control plane.
    rustix::thread::set_name(c"jail-keeper").map_err(JailError::system("naming the process"))?;

    let Some(Packet { number, body: Request::Setup(setup) }) = receive()? else {
        return Err(JailError::KeeperLost { why: "it was not started by a control plane".to_owned() });
    };
    let mut keeper = Keeper { setup, jails: BTreeMap::new() };
    let served = reply(number, Reply::Done).and_then(|()| keeper.serve());
    // Whatever ended the serving, the jails end now.
    keeper.clear().and(served)
}

struct Keeper {
    setup: Setup,
    jails: BTreeMap<Id, Jail>,
}

impl Keeper {
    /// Until the control plane says so or is gone.
    fn serve(&mut self) -> Result<(), JailError> {
        loop {
            let asked = self.wait()?;
            for jail in self.jails.values_mut() {
                jail.attend()?;
            }
            if !asked {
                continue;
            }
            match receive()? {
                None => return Ok(()),
                Some(Packet { body: Request::Shutdown, .. }) => return Ok(()),
                Some(Packet { number, body }) => {
                    let answer = self.answer(body).unwrap_or_else(|error| Reply::Failed(Fault::from(error)));
                    reply(number, answer)?;
                }
            }
        }
    }

    /// Sleeps until something happens; whether the control plane has something to say.
    fn wait(&self) -> Result<bool, JailError> {
        let mut fds = vec![PollFd::from_borrowed_fd(stdin(), PollFlags::IN)];
        let wakers = self.jails.values().flat_map(Jail::wakers);
        fds.extend(wakers.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        match poll(&mut fds, None) {
            Ok(_) => Ok(fds.first().is_some_and(|fd| !fd.revents().is_empty())),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(JailError::system("waiting for events")(error)),
        }
    }

    fn answer(&mut self, request: Request) -> Result<Reply, JailError> {
        match request {
            Request::Create(spec) => {
                if self.jails.contains_key(&spec.id) {
                    return Err(JailError::JailExists { id: spec.id });
                }
                let jail = Jail::start(&spec, &self.setup)?;
                let info = jail.info().clone();
                self.jails.insert(spec.id, jail);
                Ok(Reply::Created(info))
            }
            Request::State(id) => Ok(Reply::State(self.jails.get(&id).map(Jail::state))),
            Request::Stats(id) => Ok(Reply::Stats(self.jail(&id)?.stats()?)),
            Request::SetCpu(id, cpu) => self.jail(&id)?.set_cpu(cpu).map(|()| Reply::Done),
            Request::LogTail(id) => self.jail(&id)?.log_text().map(Reply::Log),
            Request::Destroy(id) => self.destroy(&id),
            Request::Setup(_) | Request::Shutdown => Ok(Reply::Done),
        }
    }

    fn jail(&mut self, id: &Id) -> Result<&mut Jail, JailError> {
        self.jails.get_mut(id).ok_or_else(|| JailError::UnknownJail { id: id.clone() })
    }

    fn destroy(&mut self, id: &Id) -> Result<Reply, JailError> {
        let Some(jail) = self.jails.get_mut(id) else {
            // Gone already, or prepared and never made.
            let dir = self.setup.dir.join(id.as_str());
            fs::remove_dir_all(&dir).or_else(ignore_missing).map_err(JailError::file("removing", &dir))?;
            return Ok(Reply::Stats(None));
        };
        let stats = jail.end()?;
        self.jails.remove(id);
        Ok(Reply::Stats(stats))
    }

    /// Ends everything. All are killed before the first is waited for.
    fn clear(&mut self) -> Result<(), JailError> {
        let mut first = Ok(());
        for jail in self.jails.values() {
            first = first.and(jail.kill());
        }
        for jail in self.jails.values_mut() {
            first = first.and(jail.end().map(drop));
        }
        let cleared = instance::clear(&self.setup.dir, self.setup.cgroups.as_ref()).map(drop);
        first.and(cleared)
    }
}

fn receive() -> Result<Option<Packet<Request>>, JailError> {
    receive_packet(stdin()).map_err(JailError::system("hearing the control plane"))
}

fn reply(number: u64, body: Reply) -> Result<(), JailError> {
    match send_packet(stdin(), &Packet { number, body }) {
        // It died while we worked for it; the next look at the socket says so too.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(JailError::system("answering the control plane")),
    }
}
