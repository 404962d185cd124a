//! The user that a jail runs as when root starts it.

use crate::error::JailError;
use std::ops::Range;

/// A range of user ids that distributions, container tools and systemd do not assign. Each jail gets a random one: the
/// chance that two of a thousand jails on a machine share one is 1 in 200.
pub(crate) const JAIL_USERS: Range<u32> = 1_900_000_000..2_000_000_000;

/// A random user id, which is most likely unused.
pub(crate) fn random_user() -> Result<u32, JailError> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(|source| JailError::NoRandomness { source })?;
    Ok(JAIL_USERS.start + u32::from_ne_bytes(bytes) % (JAIL_USERS.end - JAIL_USERS.start))
}
