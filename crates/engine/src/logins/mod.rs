//! Logins: redeems grants, prepares credentials for injection and redacts their secrets from all output.

mod backends;
mod credential_admin;
pub mod grant_view;
mod guesses;
mod places;
mod redeem;
mod sealing;
mod secrets;
pub mod site_issued;
mod translate;

pub(crate) use backends::read_secret;
pub use credential_admin::{OperatorContext, parse_lifetime, remove_expired_periodically};
pub use places::UnreplacedPlaceholder;
pub use redeem::{Login, LoginRequest, ReleasedCredentials, home};
pub use secrets::SessionSecrets;
pub use translate::{injection, probes};

use crate::error::{Fault, with_causes};
use crate::settings::{Credentials, StandingGrant};
use crate::state::State;
use backends::VaultUser;
use error_code::ErrorCode;
use redact::{Redacted, SafeText, redacted};
use vault::{Grants, Store, Vault, VaultError};

/// The credential vault and the grants that release credentials.
pub struct Logins {
    vault: Result<Vault, Fault>,
    pub grants: Grants,
    /// Our own table: the backend itself, or only the rotated cookies that wait to be accepted.
    pub store: Store,
    /// Standing grants from the configuration.
    standing: Vec<StandingGrant>,
}

impl Logins {
    /// Opens the logins without connecting: an unreachable backend is reported when it is needed.
    pub fn open(settings: &Credentials, state: &State) -> Result<Logins, Fault> {
        Logins::open_for(settings, state, VaultUser::ControlPlane)
    }

    /// Opens the logins for a command that runs next to the control plane.
    pub fn for_command(settings: &Credentials, state: &State) -> Result<Logins, Fault> {
        Logins::open_for(settings, state, VaultUser::Command)
    }

    fn open_for(settings: &Credentials, state: &State, user: VaultUser) -> Result<Logins, Fault> {
        let database = backends::database(settings, state)?;
        let default_lifetime = settings.grant_lifetime.duration();
        Ok(Logins {
            vault: backends::vault(settings, state, &database, user),
            grants: Grants::new(database.clone()).default_lifetime(default_lifetime),
            store: backends::store(settings, state, &database),
            standing: match settings.auto_inject {
                true => settings.standing.clone(),
                false => Vec::new(),
            },
        })
    }

    /// The backend, or an error if one of its settings is missing.
    pub fn vault(&self) -> Result<&Vault, Fault> {
        self.vault.as_ref().map_err(Fault::clone)
    }
}

/// The fault of an expired login. Nothing is written back: the operator decides what to do.
pub fn expired(domain: impl SafeText, why: impl Into<Redacted>) -> Fault {
    Fault::new(
        ErrorCode::CredentialExpired,
        redacted!("the login for {} has expired: {}", domain, why.into()),
    )
    .hint(
        "Do not log in yourself. Ask the operator to store it again (`stockade credential put` or `import`).",
    )
}

impl From<VaultError> for Fault {
    fn from(error: VaultError) -> Fault {
        let (code, hint, retryable) = (error.code(), error.hint(), error.retryable());
        Fault::outside_sessions(code, with_causes(&error)).hint(hint).retryable_if(retryable)
    }
}
