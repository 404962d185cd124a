//! The processes, cgroups and folders of a control plane's jails, to check that none is left.

use super::machine::{PATIENCE, cgroups, family, mounts, processes, until};
use super::{Home, Mcp};
use std::path::PathBuf;

pub struct Jails {
    control_plane: u32,
    pids: Vec<u32>,
    instance: String,
    folder: PathBuf,
}

impl Jails {
    /// Collects them from a running control plane with at least one session on a page.
    pub fn of(home: &Home, mcp: &Mcp) -> Jails {
        let control_plane = mcp.child.id();
        let pids: Vec<u32> = family(control_plane).into_iter().map(|process| process.pid).collect();
        let instances: Vec<String> = std::fs::read_dir(home.runtime())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        assert_eq!(instances.len(), 1, "{instances:?}");
        let instance = instances[0].clone();
        // A jail has at least bubblewrap, bridge, browser, zygotes, GPU, network and a renderer.
        assert!(pids.len() > 6, "only {} processes", pids.len());
        assert!(!cgroups(&instance).is_empty(), "no cgroup of {instance}");
        let folder = home.runtime().join(&instance);
        Jails { control_plane, pids, instance, folder }
    }

    /// Describes what still exists. The control plane itself is its parent's to wait for.
    pub fn leftovers(&self) -> Vec<String> {
        let ours = |pid: u32| pid != self.control_plane && self.pids.contains(&pid);
        let alive = processes().into_iter().filter(|process| ours(process.pid));
        let mut left: Vec<String> = alive.map(|process| format!("{process:?}")).collect();
        left.extend(cgroups(&self.instance).into_iter().map(|path| format!("cgroup {}", path.display())));
        left.extend(mounts(&self.instance));
        left.extend(self.folder.exists().then(|| format!("folder {}", self.folder.display())));
        left
    }

    pub fn until_gone(&self) {
        until("nothing is left of the jails", PATIENCE, || self.leftovers().is_empty().then_some(()));
    }
}
