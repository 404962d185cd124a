//! From the settings to a vault: which backend, which database, whose key.

use crate::config::Config;
use crate::error::Fault;
use crate::state::State;
use vault::{Database, MasterKeySource, Secret, Store, Vault};

/// Holds the master keys where no file of ours should.
const KEY_VARIABLE: &str = "STOCKADE_MASTER_KEY";

/// The backend that the settings choose.
pub fn vault(config: &Config, state: &State) -> Result<Vault, Fault> {
    store(config, state).map(Vault::Store)
}

/// Our own table; its key is in the variable, or in a file beside it.
pub fn store(config: &Config, state: &State) -> Result<Store, Fault> {
    let source = match std::env::var(KEY_VARIABLE) {
        Ok(value) => MasterKeySource::Variable { name: KEY_VARIABLE.to_owned(), value: Secret::new(value) },
        Err(_) => MasterKeySource::File(state.master_key()),
    };
    Ok(Store::new(database(config, state)?, source))
}

/// Where grants are, whatever the backend; and our own table of credentials.
pub fn database(_config: &Config, state: &State) -> Result<Database, Fault> {
    Ok(Database::sqlite(&state.vault_database())?)
}
