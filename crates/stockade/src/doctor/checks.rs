//! The checks: kernel, jail host, Chromium, templates, fonts, disk, memory, port.

use super::{Check, Verdict};
use crate::config::{Config, ScreenKind};
use engine::control::cgroup_choice;
use engine::error::Fault;
use engine::state::{self, State};
use jail::Enforcement;
use jail::template::{self, Flavour, Store, TemplateError};
use std::net::TcpListener;
use std::path::Path;

/// With less space than this, screenshots, archives and the audit log fail soon.
const LITTLE_SPACE: u64 = 500 * 1024 * 1024;

pub fn kernel() -> Check {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy().into_owned();
    Check::good(
        "kernel",
        format!("{} {release} {}", system.sysname().to_string_lossy(), system.machine().to_string_lossy()),
    )
}

/// bubblewrap, namespaces and limits, checked by trying them.
pub fn host(config: &Config) -> Vec<Check> {
    let probe = jail::probe_host(&cgroup_choice(config));
    let bubblewrap = match probe.bubblewrap {
        Ok(version) => Check::good("bubblewrap", version),
        Err(error) => Check::bad("bubblewrap", error.into()),
    };
    let namespaces = match probe.namespaces {
        Ok(()) => Check::good("namespaces", "a jail's namespaces can be made"),
        Err(error) => Check::bad("namespaces", error.into()),
    };
    let limits = match probe.limits {
        Ok(Enforcement::CgroupV1) => Check::good("limits", "enforced by cgroup v1"),
        Ok(Enforcement::CgroupV2) => Check::good("limits", "enforced by cgroup v2"),
        Ok(Enforcement::Weaker) => Check {
            name: "limits",
            verdict: Verdict::Bad,
            found: "NOT enforced: container.weaker_limits is on, so memory and CPU are unlimited".into(),
            code: Some("limits_weaker".into()),
            mend: Some("Remove container.weaker_limits from the configuration.".into()),
        },
        Err(error) => Check::bad("limits", error.into()),
    };
    vec![bubblewrap, namespaces, limits]
}

pub fn chromium() -> Check {
    match template::host_version(Flavour::Headless) {
        Ok(version) => Check::good("chromium", version),
        Err(error) => Check::bad("chromium", error.into()),
    }
}

pub fn templates(config: &Config) -> Vec<Check> {
    let wanted = match config.container.display {
        ScreenKind::Headless => Flavour::Headless,
        ScreenKind::Xvfb => Flavour::Xvfb,
    };
    let looked = state::templates_dir().map_err(Fault::from).and_then(|folder| Ok(Store::open(&folder)?));
    match looked {
        Ok(store) => vec![check_template(&store, wanted)],
        Err(fault) => vec![Check::bad("template", fault)],
    }
}

fn check_template(store: &Store, flavour: Flavour) -> Check {
    let template = match store.newest(flavour) {
        Ok(template) => template,
        Err(TemplateError::Missing { .. }) => {
            let mend = format!("stockade template build --display {flavour}");
            return Check::hint("template", "there is none yet; the first start builds one", mend);
        }
        Err(error) => return Check::bad("template", error.into()),
    };
    if let Err(error) = template.verify() {
        return Check::bad("template", error.into());
    }
    let found = format!("{}, {}, unchanged", template.id(), template.browser_version());
    match template::host_version(flavour) {
        Ok(version) if version != template.browser_version() => {
            let newer = format!("{found}; this machine now has {version}");
            Check::hint("template", newer, format!("stockade template build --display {flavour}"))
        }
        _ => Check::good("template", found),
    }
}

pub fn fonts() -> Check {
    let missing = template::font_coverage();
    if missing.is_empty() {
        return Check::good("fonts", "Latin, Greek, Cyrillic, CJK and emoji are covered");
    }
    let scripts: Vec<&str> = missing.iter().map(|gap| gap.script).collect();
    let mut packages: Vec<&str> = missing.iter().map(|gap| gap.package).collect();
    packages.sort_unstable();
    packages.dedup();
    let mend = format!("apt-get install {} && stockade template build", packages.join(" "));
    Check::hint("fonts", format!("no font for {}", scripts.join(", ")), mend)
}

pub fn disk(state: &State) -> Vec<Check> {
    let mut checks = vec![check_space("state folder", state.folder())];
    if let Ok(folder) = state::templates_dir()
        && folder.exists()
    {
        checks.push(check_space("template folder", &folder));
    }
    checks
}

fn check_space(name: &'static str, folder: &Path) -> Check {
    match rustix::fs::statvfs(folder) {
        Ok(disk) => {
            let free = disk.f_bavail * disk.f_frsize;
            let found = format!("{} MB free at {}", free / 1_000_000, folder.display());
            if free < LITTLE_SPACE {
                Check::bad(name, Fault::new("disk_full", found).hint("Free some space on that disk."))
            } else {
                Check::good(name, found)
            }
        }
        Err(error) => Check::bad(name, Fault::unwritable(folder.display(), &error.into())),
    }
}

/// Whether credentials in memory could reach the machine's swap.
pub fn memory() -> Check {
    if engine::memory::may_be_swapped() {
        let found = "logins in memory could be written to this machine's swap";
        return Check::hint(
            "memory",
            found,
            "Raise the limit on locked memory (LimitMEMLOCK=infinity), or encrypt the swap.",
        );
    }
    Check::good("memory", "logins in memory reach no swap and no core file")
}

pub fn port(config: &Config, state: &State) -> Check {
    let address = config.server.listen;
    if matches!(state.join(), Ok(Some(_))) {
        return Check::good("port", format!("{address} is, or will be, this state folder's running server"));
    }
    match TcpListener::bind(address) {
        Ok(_) => Check::good("port", format!("{address} is free")),
        Err(error) => Check::bad("port", server::http::cannot_listen(address, &error)),
    }
}
