//! Folders that no other user can write to.

use rustix::process::geteuid;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// Makes a folder and its ancestors. A new one has exactly this mode; an existing one keeps its own.
pub(crate) fn make(dir: &Path, mode: u32) -> io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(mode).create(dir) {
        // The umask may have cleared bits.
        Ok(()) => fs::set_permissions(dir, Permissions::from_mode(mode)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Why other users could change the contents of a folder; `None` if they cannot. Symbolic links are refused, because
/// their owner can redirect them.
pub(crate) fn find_weakness(
    dir: &Path,
    is_trusted: impl Fn(u32) -> bool,
) -> io::Result<Option<&'static str>> {
    let metadata = fs::symlink_metadata(dir)?;
    Ok(if !metadata.is_dir() {
        Some("it is not a folder")
    } else if !is_trusted(metadata.uid()) {
        Some("it belongs to another user")
    } else if metadata.mode() & 0o022 != 0 {
        Some("others may write to it")
    } else {
        None
    })
}

pub(crate) fn is_own(uid: u32) -> bool {
    uid == geteuid().as_raw()
}

/// Root can change everything anyway.
pub(crate) fn is_own_or_root(uid: u32) -> bool {
    uid == 0 || is_own(uid)
}
