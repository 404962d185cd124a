//! How a session becomes a person's: a grant is used, credentials are released and put into the browser, and what they
//! hold is kept out of all that goes out.

mod settings;

pub use settings::store;

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

impl From<VaultError> for Fault {
    fn from(error: VaultError) -> Fault {
        let (code, hint, retryable) = (error.code(), error.hint(), error.retryable());
        Fault::new(code, with_causes(&error)).hint(hint).retryable_if(retryable)
    }
}
