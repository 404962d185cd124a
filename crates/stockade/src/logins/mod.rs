//! How a session becomes a person's: a grant is used, credentials are released and put into the browser, and what they
//! hold is kept out of all that goes out.

mod desk;
pub mod handed;
mod redeem;
mod secrets;
mod settings;
pub mod told;
mod translate;

pub use desk::{By, keep_collecting, parse_lifetime};
pub use redeem::{Login, Released, Wanted, home};
pub use secrets::Secrets;
pub use translate::{injection, probes};

use crate::config::{Config, StandingGrant};
use crate::error::{Fault, with_causes};
use crate::state::State;
use settings::User;
use vault::{Grants, Store, Vault, VaultError};

/// Where credentials rest, and the book of grants that release them.
pub struct Logins {
    vault: Result<Vault, Fault>,
    pub grants: Grants,
    /// Our own table: the backend itself, or only where cookies wait that a site rotated.
    pub store: Store,
    /// Grants that exist without anybody issuing them.
    standing: Vec<StandingGrant>,
}

impl Logins {
    /// Nothing is connected to yet: what is down says so when it is needed, and works again when it is back.
    pub fn open(config: &Config, state: &State) -> Result<Logins, Fault> {
        Logins::open_for(config, state, User::ControlPlane)
    }

    /// The same for a command that runs beside the control plane.
    pub fn for_command(config: &Config, state: &State) -> Result<Logins, Fault> {
        Logins::open_for(config, state, User::Command)
    }

    fn open_for(config: &Config, state: &State, user: User) -> Result<Logins, Fault> {
        let database = settings::database(config, state)?;
        let usual = config.credentials.grant_lifetime.duration();
        Ok(Logins {
            vault: settings::vault(config, state, &database, user),
            grants: Grants::new(database.clone()).default_lifetime(usual),
            store: settings::store(config, state, &database),
            standing: match config.credentials.auto_inject {
                true => config.credentials.standing.clone(),
                false => Vec::new(),
            },
        })
    }

    /// The backend; an error if a setting that it needs is missing.
    pub fn vault(&self) -> Result<&Vault, Fault> {
        self.vault.as_ref().map_err(Fault::clone)
    }
}

/// A login that does not work any more. Nothing is written back: what to do is the operator's to say.
pub fn expired(domain: &str, why: &str) -> Fault {
    Fault::new("credential_expired", format!("the login for {domain} has expired: {why}")).hint(
        "Do not log in yourself. Ask the operator to store it anew (`stockade credential put` or `import`).",
    )
}

impl From<VaultError> for Fault {
    fn from(error: VaultError) -> Fault {
        let (code, hint, retryable) = (error.code(), error.hint(), error.retryable());
        Fault::new(code, with_causes(&error)).hint(hint).retryable_if(retryable)
    }
}
