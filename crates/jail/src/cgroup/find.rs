//! Finding the cgroup under which ours may go.

use super::{CONTROLLERS, CgroupChoice, Folders, Version};
use crate::JailError;
use rustix::fs::{Access, access};
use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// `None` in the weaker mode.
pub(super) fn parent(choice: &CgroupChoice) -> Result<Option<(Version, Folders)>, JailError> {
    if *choice == CgroupChoice::Weaker {
        return Ok(None);
    }
    let read = |path: &str| fs::read_to_string(path).map_err(JailError::file("reading", Path::new(path)));
    let host = Host::parse(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?);
    let root = rustix::process::geteuid().is_root();
    let (version, parent) = host.parent(choice, root)?;
    check_writable(version, &parent)?;
    Ok(Some((version, parent)))
}

/// Where controllers are mounted, and which cgroup we are in.
#[derive(Debug, Default)]
pub(super) struct Host {
    /// By controller; the unified hierarchy of version 2 is "".
    mounts: HashMap<String, Mount>,
    own: HashMap<String, PathBuf>,
}

#[derive(Clone, Debug)]
struct Mount {
    /// The cgroup that is mounted: not `/` in a container without a cgroup namespace.
    root: PathBuf,
    at: PathBuf,
}

impl Host {
    pub fn parse(mountinfo: &str, own: &str) -> Host {
        let mut host = Host::default();
        for line in mountinfo.lines() {
            // id parent major:minor root at options tags… - type source super-options
            let Some((left, right)) = line.split_once(" - ") else { continue };
            let (left, right): (Vec<&str>, Vec<&str>) =
                (left.split(' ').collect(), right.split(' ').collect());
            let (Some(root), Some(at)) = (left.get(3), left.get(4)) else { continue };
            let mount = Mount { root: PathBuf::from(root), at: PathBuf::from(at) };
            let controllers = match (right.first(), right.get(2)) {
                (Some(&"cgroup"), Some(options)) => options,
                (Some(&"cgroup2"), _) => "",
                _ => continue,
            };
            for name in controllers.split(',') {
                host.mounts.entry(name.to_owned()).or_insert_with(|| mount.clone());
            }
        }
        for line in own.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            if let (Some(controllers), Some(path)) = (parts.next(), parts.next()) {
                for name in controllers.split(',') {
                    host.own.insert(name.to_owned(), PathBuf::from(path));
                }
            }
        }
        host
    }

    pub fn parent(&self, choice: &CgroupChoice, root: bool) -> Result<(Version, Folders), JailError> {
        let version = self.version()?;
        let folder = |controller: &str| {
            let name = if version == Version::V1 { controller } else { "" };
            let path = match choice {
                CgroupChoice::Under(path) => Some(path.as_path()),
                _ if root => None,
                _ => self.own.get(name).map(PathBuf::as_path),
            };
            self.folder(name, path)
        };
        let [memory, cpu, pids] = CONTROLLERS.map(folder);
        Ok((version, Folders { memory: memory?, cpu: cpu?, pids: pids? }))
    }

    fn version(&self) -> Result<Version, JailError> {
        let (first, missing): (Vec<&str>, Vec<&str>) =
            CONTROLLERS.iter().partition(|name| self.mounts.contains_key(**name));
        if missing.is_empty() {
            return Ok(Version::V1);
        }
        if !first.is_empty() || !self.mounts.contains_key("") {
            return Err(JailError::LimitsUnavailable {
                why: format!("no cgroup hierarchy here has the controllers {}", missing.join(", ")),
                mend: "Boot with systemd.unified_cgroup_hierarchy=1, or in a container mount cgroup2 at \
                       /sys/fs/cgroup."
                    .to_owned(),
            });
        }
        Ok(Version::V2)
    }

    fn folder(&self, name: &str, path: Option<&Path>) -> Result<PathBuf, JailError> {
        let unusable = |why: String| JailError::LimitsUnavailable {
            why,
            mend:
                "Set security.browser.container.cgroup_parent to a cgroup as /proc/self/cgroup shows them, \
                   such as /stockade-me."
                    .to_owned(),
        };
        let mount = self.mounts.get(name).ok_or_else(|| unusable(format!("no {name} cgroup is mounted")))?;
        let Some(path) = path else { return Ok(mount.at.clone()) };
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(unusable(format!("{} leads outside of what is mounted", path.display())));
        }
        let inside = path.strip_prefix(&mount.root).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
        Ok(mount.at.join(inside))
    }
}

/// Says now, with words, what would otherwise fail half-way.
fn check_writable(version: Version, parent: &Folders) -> Result<(), JailError> {
    // Version 2 lets a user move a process only if they may write to the cgroup above both ends.
    let files: &[&str] = match version {
        Version::V1 => &[],
        Version::V2 => &["cgroup.procs", "cgroup.subtree_control"],
    };
    let refuse = |why, mend| Err(JailError::LimitsUnavailable { why, mend });
    for folder in parent.each() {
        if !folder.is_dir() {
            let why = format!("the cgroup {} does not exist", folder.display());
            return refuse(why, how_to_delegate(version));
        }
        let enter = access(folder, Access::WRITE_OK | Access::EXEC_OK);
        let write = files.iter().try_for_each(|file| access(folder.join(file), Access::WRITE_OK));
        if enter.and(write).is_err() {
            let why = format!("{} was not delegated to this user", folder.display());
            return refuse(why, how_to_delegate(version));
        }
    }
    if version == Version::V2 {
        let file = parent.memory.join("cgroup.controllers");
        let there = fs::read_to_string(&file).map_err(JailError::file("reading", &file))?;
        let lacks = |name: &&str| !there.split_whitespace().any(|word| word == *name);
        let missing: Vec<&str> = CONTROLLERS.into_iter().filter(lacks).collect();
        if !missing.is_empty() {
            let why = format!("{} lacks the controllers {}", parent.memory.display(), missing.join(", "));
            return refuse(
                why,
                format!("{ALL_CONTROLLERS}. Log in again, then: {}", how_to_delegate(version)),
            );
        }
    }
    Ok(())
}

/// systemd hands a user's manager only some controllers, depending on its version.
const ALL_CONTROLLERS: &str = "Run: sudo mkdir -p /etc/systemd/system/user@.service.d && printf \
    '[Service]\\nDelegate=cpu memory pids\\n' | sudo tee /etc/systemd/system/user@.service.d/stockade.conf && \
    sudo systemctl daemon-reload";

fn how_to_delegate(version: Version) -> String {
    let user = rustix::process::geteuid().as_raw();
    let way = match version {
        Version::V2 => "Run: systemd-run --user --scope -p Delegate=yes stockade serve".to_owned(),
        Version::V1 => format!(
            "Run once as root: for c in memory cpu pids; do mkdir -p /sys/fs/cgroup/$c/stockade-{user} && \
             chown {user} /sys/fs/cgroup/$c/stockade-{user}; done; then set \
             security.browser.container.cgroup_parent: /stockade-{user}"
        ),
    };
    format!(
        "{way}. To do without memory and CPU limits instead, set security.browser.container.weaker_limits: true"
    )
}
