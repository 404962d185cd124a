//! How a session becomes a person's: a grant is used, credentials are released and put into the browser, and what they
//! hold is kept out of all that goes out.

mod backends;
mod desk;
pub mod handed;
mod redeem;
mod secrets;
pub mod told;
mod translate;

pub use desk::{By, keep_collecting, parse_lifetime};
pub use redeem::{Login, Released, Wanted, home};
pub use secrets::Secrets;
pub use translate::{injection, probes};

use crate::error::{Fault, with_causes};
use crate::settings::{Credentials, StandingGrant};
use crate::state::State;
use backends::User;
use error_code::ErrorCode;
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
    pub fn open(settings: &Credentials, state: &State) -> Result<Logins, Fault> {
        Logins::open_for(settings, state, User::ControlPlane)
    }

    /// The same for a command that runs beside the control plane.
    pub fn for_command(settings: &Credentials, state: &State) -> Result<Logins, Fault> {
        Logins::open_for(settings, state, User::Command)
    }

    fn open_for(settings: &Credentials, state: &State, user: User) -> Result<Logins, Fault> {
        let database = backends::database(settings, state)?;
        let usual = settings.grant_lifetime.duration();
        Ok(Logins {
            vault: backends::vault(settings, state, &database, user),
            grants: Grants::new(database.clone()).default_lifetime(usual),
            store: backends::store(settings, state, &database),
            standing: match settings.auto_inject {
                true => settings.standing.clone(),
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
    Fault::new(ErrorCode::CredentialExpired, format!("the login for {domain} has expired: {why}")).hint(
        "Do not log in yourself. Ask the operator to store it anew (`stockade credential put` or `import`).",
    )
}

impl From<VaultError> for Fault {
    fn from(error: VaultError) -> Fault {
        let (code, hint, retryable) = (error.code(), error.hint(), error.retryable());
        Fault::new(code, with_causes(&error)).hint(hint).retryable_if(retryable)
    }
}
