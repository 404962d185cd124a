//! The checks: kernel, runtime, disk, memory, logins, port.

use super::{Check, Verdict};
use crate::config::Config;
use engine::error::Fault;
use engine::logins::Logins;
use engine::settings::VaultBackend;
use engine::state::{self, State};
use error_code::ErrorCode;
use jail::{Finding, Outcome, RuntimeBackend};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

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

/// Checks what the runtime needs of this machine by trying it.
pub fn runtime(backend: Result<Arc<dyn RuntimeBackend>, Fault>) -> Vec<Check> {
    match backend {
        Ok(backend) => backend.doctor().findings.into_iter().map(convert_finding).collect(),
        Err(fault) => vec![Check::bad("template", fault)],
    }
}

fn convert_finding(Finding { name, outcome }: Finding) -> Check {
    match outcome {
        Outcome::Good { found } => Check::good(name, found),
        Outcome::Advice { found, fix } => Check::hint(name, found, fix),
        Outcome::Weaker { found, code, fix } => Check::new(name, Verdict::Bad, found, Some(code), Some(fix)),
        Outcome::Failed { error } => Check::bad(name, error.into()),
    }
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
                Check::bad(
                    name,
                    Fault::outside_sessions(ErrorCode::DiskFull, found).hint("Free some space on that disk."),
                )
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

/// Whether every stored login is sealed. A vault that is not ours is not opened for this.
pub fn sealing(config: &Config, state: &State) -> Check {
    let name = "logins";
    if config.credentials.vault_backend != VaultBackend::Store || !state.vault_database().exists() {
        return Check::good(name, "no logins are stored here");
    }
    let WeakerLogins { unsealed, unintercepted } = match weaker_logins(config, state) {
        Ok(weaker) => weaker,
        Err(fault) => return Check::bad(name, fault),
    };
    if unsealed.is_empty() {
        return Check::good(name, "all stored logins are sealed: browsers get placeholders");
    }
    let mut found = format!("not sealed, so the browser holds the secrets: {}", unsealed.join(", "));
    if !unintercepted.is_empty() {
        let ids = unintercepted.join(", ");
        found.push_str(&format!(
            "; effects of these sites are decided in the browser; a compromised renderer could evade that: {ids}"
        ));
    }
    Check::hint(
        name,
        found,
        "Store them without `sealed: false` and `intercept: false`, if their sites allow it.",
    )
}

/// Ids of stored logins with weaker protection, by the operator's word.
#[derive(Default)]
struct WeakerLogins {
    /// With `sealed: false`.
    unsealed: Vec<String>,
    /// With `intercept: false`, which needs `sealed: false` too.
    unintercepted: Vec<String>,
}

fn weaker_logins(config: &Config, state: &State) -> Result<WeakerLogins, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::io(ErrorCode::Internal, "cannot start", &error))?;
    runtime.block_on(async {
        let logins = Logins::for_command(&config.credentials, state)?;
        let tenant = engine::storage::default_scope()?.tenant;
        let mut weaker = WeakerLogins::default();
        for one in logins.vault()?.list(&tenant).await? {
            let outline = logins.vault()?.outline(&tenant, &one.id).await?;
            if !outline.is_sealed {
                weaker.unsealed.push(one.id.to_string());
            }
            if !outline.is_intercepted {
                weaker.unintercepted.push(one.id.to_string());
            }
        }
        Ok(weaker)
    })
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
