//! Finds the shared libraries of programs as the loader would.

use super::TemplateError;
use super::tree::Tree;
use crate::wait::run_tool;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The libraries of one program, as `ldd` lists them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Closure {
    /// The loader: an absolute path, as the program's header names it.
    pub loader: Option<PathBuf>,
    /// Library names and their paths.
    pub libraries: Vec<(String, PathBuf)>,
}

/// Asks `ldd`, which runs the loader and not the program.
pub(super) fn of(program: &Path) -> Result<Closure, TemplateError> {
    // The exit code is ignored: ldd fails for a program that needs no libraries.
    let ldd = run_tool(Command::new("ldd").arg(program).env("LC_ALL", "C"))
        .map_err(TemplateError::file("running ldd on", program))?;
    parse(program, &ldd.stdout)
}

fn parse(program: &Path, text: &str) -> Result<Closure, TemplateError> {
    let (mut closure, mut missing) = (Closure::default(), Vec::new());
    for line in text.lines().map(str::trim) {
        if let Some((name, path)) = line.split_once(" => ") {
            if path.starts_with("not found") {
                missing.push(name);
                continue;
            }
            let path = path.rsplit_once(" (").map_or(path, |(path, _)| path);
            closure.libraries.push((name.to_owned(), PathBuf::from(path)));
        } else if let Some((path, _)) = line.split_once(" (")
            && path.starts_with('/')
        {
            closure.loader = Some(PathBuf::from(path));
        }
    }
    if missing.is_empty() {
        return Ok(closure);
    }
    // Names all missing ones at once.
    Err(TemplateError::LibraryMissing { program: program.to_owned(), library: missing.join(", ") })
}

impl Closure {
    pub fn find(&self, name: &str) -> Option<&Path> {
        self.libraries.iter().find(|(found, _)| found == name).map(|(_, path)| path.as_path())
    }

    /// The folder that the loader searches first, which differs between processors and distributions: the one of libc.
    /// All libraries go there, so that the tree needs no cache and no search path.
    pub fn library_folder(&self) -> Option<&str> {
        self.find("libc.so.6")?.parent()?.to_str()
    }

    /// Adds the loader and the libraries to the tree, except those beside the program.
    pub fn copy(&self, tree: &Tree, folder: &str, beside: Option<&Path>) -> Result<(), TemplateError> {
        if let Some(loader) = &self.loader {
            tree.program(loader, &loader.to_string_lossy())?;
        }
        for (name, path) in &self.libraries {
            if beside.is_none() || path.parent() != beside {
                // A library that is named by a path is loaded from that path.
                let to = if name.starts_with('/') { name.clone() } else { format!("{folder}/{name}") };
                tree.data(path, &to)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use error_code::ErrorCode;

    #[test]
    fn ldd_is_understood_on_both_processors() {
        let program = Path::new("/p");
        let x86 = "\tlinux-vdso.so.1 (0x00007f)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                   \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let arm = "\tlinux-vdso.so.1 (0x0000ff)\n\tlibc.so.6 => /lib/aarch64-linux-gnu/libc.so.6 (0x0000ff)\n\
                   \t/lib/ld-linux-aarch64.so.1 (0x0000ff)\n";
        for (text, folder, loader) in [
            (x86, "/lib/x86_64-linux-gnu", "/lib64/ld-linux-x86-64.so.2"),
            (arm, "/lib/aarch64-linux-gnu", "/lib/ld-linux-aarch64.so.1"),
        ] {
            let closure = parse(program, text).unwrap();
            assert_eq!(closure.library_folder(), Some(folder));
            assert_eq!(closure.loader.as_deref(), Some(Path::new(loader)));
            assert_eq!(closure.libraries.len(), 1);
        }
        assert_eq!(parse(program, "\tstatically linked\n").unwrap(), Closure::default());
    }

    #[test]
    fn every_missing_library_is_named() {
        let listed =
            "\tlibnspr4.so => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x0)\n\tlibnss3.so => not found\n";
        let error = parse(Path::new("/p"), listed).unwrap_err();
        assert_eq!(error.code(), ErrorCode::LibraryMissing);
        assert!(error.to_string().contains("libnspr4.so, libnss3.so"), "{error}");
        assert!(error.hint().contains("libnss3"), "{}", error.hint());
    }
}
