//! Whether an error means that a disk or a quota is full.

use rustix::io::Errno;
use std::io;

/// Whether the disk or the user's quota is full.
pub(crate) fn is_disk_full(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT))
}
