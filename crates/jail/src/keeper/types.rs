//! What goes into and comes out of a [`Keeper`](super::Keeper).

use crate::{CgroupChoice, Enforcement, Id, Limits, Reaped};
use serde::{Deserialize, Serialize};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct KeeperOptions {
    /// Where instances live; see [`default_runtime_dir`](crate::default_runtime_dir).
    pub runtime_dir: PathBuf,
    pub cgroup: CgroupChoice,
    /// The program that calls [`keeper::main`](super::main) when started with `arguments`.
    pub executable: PathBuf,
    pub arguments: Vec<String>,
}

impl KeeperOptions {
    /// The running program, started again with the hidden argument `jail-keeper`.
    pub fn new(runtime_dir: PathBuf) -> KeeperOptions {
        KeeperOptions {
            runtime_dir,
            cgroup: CgroupChoice::Auto,
            executable: PathBuf::from("/proc/self/exe"),
            arguments: vec!["jail-keeper".to_owned()],
        }
    }
}

#[derive(Clone, Debug)]
pub struct KeeperInfo {
    pub instance: Id,
    pub instance_dir: PathBuf,
    pub pid: u32,
    pub enforcement: Enforcement,
    /// What dead instances had left behind, cleared before this one started.
    pub reaped: Reaped,
}

/// A jail's folder, with both sockets listening on the host's side.
#[derive(Debug)]
pub struct Prepared {
    pub id: Id,
    pub dir: PathBuf,
    /// Non-blocking, as an event loop wants it.
    pub cdp: UnixListener,
    /// Non-blocking, as an event loop wants it.
    pub egress: UnixListener,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JailSpec {
    pub id: Id,
    /// The root of a template, as [`Template::root`](crate::template::Template::root) gives it.
    pub root: PathBuf,
    pub limits: Limits,
    /// The program and its arguments, as paths in the jail.
    pub command: Vec<String>,
    /// The whole environment. It shows in the host's process list: no secrets.
    pub env: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JailInfo {
    pub id: Id,
    /// The jail's PID 1, seen from the host.
    pub pid: u32,
    /// Its user on the host.
    pub uid: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JailState {
    Running {
        pid: u32,
    },
    /// PID 1 is gone, and every other process with it.
    Exited {
        code: Option<i32>,
        signal: Option<i32>,
    },
}
