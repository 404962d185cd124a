//! How a session becomes a person's: a grant is used, credentials are released and put into the browser, and what they
//! hold is kept out of all that goes out.

mod redeem;
mod secrets;
mod settings;
mod translate;

pub use redeem::{Login, Released, Wanted};
pub use secrets::Secrets;
pub use settings::store;
pub use translate::injection;

use crate::config::Config;
use crate::error::{Fault, with_causes};
use crate::state::State;
use vault::{Grants, Vault, VaultError};

/// Where credentials rest, and the book of grants that release them.
pub struct Logins {
    pub vault: Vault,
    pub grants: Grants,
}

impl Logins {
    /// Nothing is connected to yet: what is down says so when it is needed, and works again when it is back.
    pub fn open(config: &Config, state: &State) -> Result<Logins, Fault> {
        let vault = settings::vault(config, state)?;
        let grants = Grants::new(settings::database(config, state)?);
        Ok(Logins { vault, grants })
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
