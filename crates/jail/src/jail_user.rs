//! The user that a jail runs as when root starts it.

use crate::error::JailError;
use std::ops::Range;

/// Users that no distribution, no container tool and no systemd hands out. A jail gets one at random: the
/// odds that two of a thousand jails on a machine share one are 1 in 200.
pub(crate) const JAIL_USERS: Range<u32> = 1_900_000_000..2_000_000_000;

/// A user that runs nothing else, very likely.
pub(crate) fn random_user() -> Result<u32, JailError> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(|source| JailError::NoRandomness { source })?;
    Ok(JAIL_USERS.start + u32::from_ne_bytes(bytes) % (JAIL_USERS.end - JAIL_USERS.start))
}
