//! Default folders: the state, the running jails and the templates.
//!
//! A jail runs as an unprivileged user even when root started it, and that user must reach the template and the
//! sockets. So these two are not under the state folder, which only its owner can enter.

use crate::state::StateError;
use std::ffi::OsString;
use std::path::PathBuf;

/// `--state`, `$STOCKADE_STATE`, or `stockade` in the user's data folder.
pub fn state_dir(flag: Option<PathBuf>) -> Result<PathBuf, StateError> {
    state_dir_in(flag, &variable)
}

/// Where instances and their jails keep sockets and locks: `$STOCKADE_RUNTIME_DIR`, or the jail crate's place.
pub fn runtime_dir() -> PathBuf {
    path(&variable, "STOCKADE_RUNTIME_DIR").unwrap_or_else(jail::default_runtime_dir)
}

/// `$STOCKADE_TEMPLATES`, else `/var/lib/stockade/templates` for root and the user's data folder for others.
pub fn templates_dir() -> Result<PathBuf, StateError> {
    templates_dir_in(rustix::process::geteuid().is_root(), &variable)
}

/// The bridge that goes into templates: `$STOCKADE_BRIDGE`, or `stockade-bridge` beside this program.
pub fn bridge_program() -> Result<PathBuf, StateError> {
    match path(&variable, "STOCKADE_BRIDGE") {
        Some(program) => Ok(program),
        None => {
            let own = std::env::current_exe().map_err(|source| StateError::NoProgram { source })?;
            Ok(own.with_file_name("stockade-bridge"))
        }
    }
}

type Variables<'v> = &'v dyn Fn(&str) -> Option<OsString>;

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// A variable that is set to nothing counts as not set, as the XDG specification asks.
fn path(variables: Variables, name: &str) -> Option<PathBuf> {
    variables(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn data_dir(variables: Variables) -> Result<PathBuf, StateError> {
    path(variables, "XDG_DATA_HOME")
        .or_else(|| Some(path(variables, "HOME")?.join(".local/share")))
        .map(|folder| folder.join("stockade"))
        .ok_or(StateError::NoFolder)
}

fn state_dir_in(flag: Option<PathBuf>, variables: Variables) -> Result<PathBuf, StateError> {
    match flag.or_else(|| path(variables, "STOCKADE_STATE")) {
        Some(folder) => Ok(folder),
        None => data_dir(variables),
    }
}

fn templates_dir_in(root: bool, variables: Variables) -> Result<PathBuf, StateError> {
    match path(variables, "STOCKADE_TEMPLATES") {
        Some(folder) => Ok(folder),
        None if root => Ok(PathBuf::from("/var/lib/stockade/templates")),
        None => match data_dir(variables) {
            Ok(folder) => Ok(folder.join("templates")),
            Err(_) => Err(StateError::NoTemplatesFolder),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Set<'s> = &'s [(&'s str, &'s str)];

    fn variables(set: Set) -> impl Fn(&str) -> Option<OsString> {
        move |name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
    }

    #[test]
    fn the_state_folder_is_the_first_that_is_named() {
        let all: Set = &[("STOCKADE_STATE", "/s"), ("XDG_DATA_HOME", "/d"), ("HOME", "/h")];
        let cases: [(Set, Option<&str>, &str); 5] = [
            (all, Some("/flag"), "/flag"),
            (all, None, "/s"),
            (&[("STOCKADE_STATE", ""), ("XDG_DATA_HOME", "/d"), ("HOME", "/h")], None, "/d/stockade"),
            (&[("XDG_DATA_HOME", ""), ("HOME", "/h")], None, "/h/.local/share/stockade"),
            (&[("HOME", "/h")], None, "/h/.local/share/stockade"),
        ];
        for (set, flag, expected) in cases {
            let found = state_dir_in(flag.map(PathBuf::from), &variables(set)).unwrap();
            assert_eq!(found, PathBuf::from(expected), "{set:?}");
        }
        assert!(matches!(state_dir_in(None, &variables(&[])), Err(StateError::NoFolder)));
    }

    #[test]
    fn templates_of_root_are_where_the_unprivileged_user_of_a_jail_can_reach_them() {
        let cases: [(bool, Set, &str); 3] = [
            (true, &[("HOME", "/root")], "/var/lib/stockade/templates"),
            (false, &[("HOME", "/home/a")], "/home/a/.local/share/stockade/templates"),
            (true, &[("HOME", "/root"), ("STOCKADE_TEMPLATES", "/t")], "/t"),
        ];
        for (root, set, expected) in cases {
            assert_eq!(templates_dir_in(root, &variables(set)).unwrap(), PathBuf::from(expected), "{set:?}");
        }
        assert!(matches!(templates_dir_in(false, &variables(&[])), Err(StateError::NoTemplatesFolder)));
    }
}
