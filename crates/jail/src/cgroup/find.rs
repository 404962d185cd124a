//! Finds the parent cgroup for our own.

use super::{CONTROLLERS, CPU_ACCOUNTING, CgroupChoice, Folders, OWN_LEAF, Version};
use crate::JailError;
use rustix::fs::{Access, access};
use rustix::io::Errno;
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
    let found = usable_parent(&host, choice, root);
    match found {
        Err(error) if *choice == CgroupChoice::Auto && !root && host.version()? == Version::V1 => {
            let made_by_root = CgroupChoice::Under(format!("/{}", name_for_user()).into());
            // The first error has the hint.
            usable_parent(&host, &made_by_root, root).map_err(|_| error)
        }
        found => found,
    }
    .map(Some)
}

fn usable_parent(host: &Host, choice: &CgroupChoice, root: bool) -> Result<(Version, Folders), JailError> {
    let (version, parent) = host.parent(choice, root)?;
    check_writable(version, &parent)?;
    if version == Version::V2 {
        check_within_reach(&host.common_ancestor(&parent.memory)?, &parent.memory)?;
        check_controllers(&parent.memory)?;
    }
    Ok((version, parent))
}

/// The cgroup (version 1) that root makes once for an ordinary user.
fn name_for_user() -> String {
    format!("stockade-{}", rustix::process::geteuid().as_raw())
}

/// The mounts of controllers, and the cgroup of this process.
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
                _ => self.own.get(name).map(|own| if version == Version::V2 { above_leaf(own) } else { own }),
            };
            self.folder(name, path)
        };
        let [memory, cpu, pids] = CONTROLLERS.map(folder);
        let cpu = cpu?;
        let cpuacct = match version {
            // Mostly mounted together with `cpu`.
            Version::V1 => Some(folder(CPU_ACCOUNTING)?).filter(|counted| *counted != cpu),
            Version::V2 => None,
        };
        Ok((version, Folders { memory: memory?, cpu, pids: pids?, cpuacct }))
    }

    /// The deepest cgroup that contains both this process and `folder` (version 2).
    pub fn common_ancestor(&self, folder: &Path) -> Result<PathBuf, JailError> {
        let own = self.folder("", self.own.get("").map(PathBuf::as_path))?;
        let shared = own.components().zip(folder.components()).take_while(|(ours, theirs)| ours == theirs);
        Ok(shared.map(|(part, _)| part).collect())
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
                fix: "Boot with systemd.unified_cgroup_hierarchy=1, or in a container mount cgroup2 at \
                       /sys/fs/cgroup."
                    .to_owned(),
            });
        }
        Ok(Version::V2)
    }

    fn folder(&self, name: &str, path: Option<&Path>) -> Result<PathBuf, JailError> {
        let unusable = |why: String| JailError::LimitsUnavailable {
            why,
            fix: "Set security.browser.container.cgroup_parent to a cgroup as /proc/self/cgroup shows them, \
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

/// An earlier start may have moved this process, or its shell, one level down.
fn above_leaf(own: &Path) -> &Path {
    own.parent().filter(|_| own.ends_with(OWN_LEAF)).unwrap_or(own)
}

/// Checks beforehand what would otherwise fail half-way without a clear message.
fn check_writable(version: Version, parent: &Folders) -> Result<(), JailError> {
    let files: &[&str] = match version {
        Version::V1 => &[],
        Version::V2 => &["cgroup.procs", "cgroup.subtree_control"],
    };
    for folder in parent.each() {
        if !folder.is_dir() {
            return Err(JailError::LimitsUnavailable {
                why: format!("the cgroup {} does not exist", folder.display()),
                fix: how_to_delegate(version),
            });
        }
        let enter = access(folder, Access::WRITE_OK | Access::EXEC_OK);
        let write = files.iter().try_for_each(|file| access(folder.join(file), Access::WRITE_OK));
        enter.and(write).map_err(|error| not_writable(version, folder, error))?;
    }
    Ok(())
}

pub(super) fn not_writable(version: Version, folder: &Path, error: Errno) -> JailError {
    let folder = folder.display();
    let (why, fix) = match error {
        Errno::ROFS => (
            format!("{folder} is mounted read-only"),
            format!(
                "In a systemd service, set ProtectControlGroups=no; in a container, have cgroup2 mounted writable \
                 at /sys/fs/cgroup. {WITHOUT_LIMITS}"
            ),
        ),
        _ => (format!("{folder} was not delegated to this user"), how_to_delegate(version)),
    };
    JailError::LimitsUnavailable { why, fix }
}

/// Version 2 lets a user move a process only within a cgroup that they may write to.
pub(super) fn check_within_reach(common_ancestor: &Path, parent: &Path) -> Result<(), JailError> {
    access(common_ancestor.join("cgroup.procs"), Access::WRITE_OK).map_err(|_| JailError::LimitsUnavailable {
        why: format!("this process runs outside of {}, and may not move others there", parent.display()),
        fix: format!(
            "Start it inside of that cgroup, or do not set security.browser.container.cgroup_parent. {}",
            how_to_delegate(Version::V2)
        ),
    })
}

pub(super) fn check_controllers(parent: &Path) -> Result<(), JailError> {
    let file = parent.join("cgroup.controllers");
    let there = fs::read_to_string(&file).map_err(JailError::file("reading", &file))?;
    let lacks = |name: &&str| !there.split_whitespace().any(|word| word == *name);
    let missing: Vec<&str> = CONTROLLERS.into_iter().filter(lacks).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(JailError::LimitsUnavailable {
        why: format!("{} lacks the controllers {}", parent.display(), missing.join(", ")),
        fix: format!("{}. {ALL_CONTROLLERS}", how_to_delegate(Version::V2)),
    })
}

/// In a scope without delegation a user has only the controllers that sibling units requested. Older versions of
/// systemd give a user's manager no cpu controller.
const ALL_CONTROLLERS: &str = "If they are still lacking in there, first run: sudo mkdir -p \
    /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu memory pids\\n' | sudo tee \
    /etc/systemd/system/user@.service.d/stockade.conf && sudo systemctl daemon-reload; and log in again";

const WITHOUT_LIMITS: &str =
    "To do without memory and CPU limits instead, set security.browser.container.weaker_limits: true";

fn how_to_delegate(version: Version) -> String {
    let (user, name) = (rustix::process::geteuid().as_raw(), name_for_user());
    let way = match version {
        Version::V2 => "Run: systemd-run --user --scope -p Delegate=yes stockade serve".to_owned(),
        Version::V1 => format!(
            "Run once as root: for c in memory cpu cpuacct pids; do mkdir -p /sys/fs/cgroup/$c/{name} && \
             chown {user} /sys/fs/cgroup/$c/{name}; done"
        ),
    };
    format!("{way}. {WITHOUT_LIMITS}")
}
