//! The browser on this host: its program, and the files that it needs beside it.

use super::tree::Tree;
use super::{Flavour, TemplateError};
use crate::wait::run_tool;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Paths of the programs in packages. The commands in `PATH` are mostly scripts.
const HEADLESS: &[&str] = &[
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib64/chromium-browser/headless_shell",
    "/usr/lib/chromium-browser/headless_shell",
    "/opt/chrome-headless-shell/chrome-headless-shell",
];
const FULL: &[&str] = &[
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
];

/// The browser's folder in every template.
pub(super) const FOLDER: &str = "/stockade/chromium";

/// NSS loads these by name while it runs, so `ldd` does not know of them.
pub(super) const NSS_MODULES: &[&str] =
    &["libsoftokn3.so", "libfreebl3.so", "libfreeblpriv3.so", "libnssckbi.so"];

#[derive(Debug)]
pub(super) struct Browser {
    pub program: PathBuf,
    pub name: String,
    pub folder: PathBuf,
    pub version: String,
}

impl Browser {
    pub fn find(flavour: Flavour, given: Option<&Path>) -> Result<Browser, TemplateError> {
        // Full Chromium also runs headless; its template is larger.
        let known: &[&[&str]] = match flavour {
            Flavour::Headless => &[HEADLESS, FULL],
            Flavour::Xvfb => &[FULL],
        };
        let program = match given {
            Some(given) => Some(given.to_owned()),
            None => known.concat().into_iter().map(PathBuf::from).find(|path| path.is_file()),
        };
        let program = program
            .and_then(|program| program.canonicalize().ok())
            .ok_or(TemplateError::ChromiumMissing { flavour })?;
        check_program(&program)?;
        let (Some(name), Some(folder)) = (program.file_name(), program.parent()) else {
            return Err(TemplateError::ChromiumMissing { flavour });
        };
        let (name, folder) = (name.to_string_lossy().into_owned(), folder.to_owned());
        let version = version(&program)?;
        Ok(Browser { program, name, folder, version })
    }

    /// Its path in the jail.
    pub fn path(&self) -> String {
        format!("{FOLDER}/{}", self.name)
    }

    /// The program and the files of its folder: resources, ICU data, V8 snapshots, one language, the libraries of its
    /// software renderer. No crash handler, no debug layers.
    pub fn copy(&self, tree: &Tree) -> Result<(), TemplateError> {
        tree.program(&self.program, &self.path())?;
        let read = TemplateError::file("reading", &self.folder);
        let mut names: Vec<String> = fs::read_dir(&self.folder)
            .and_then(|entries| {
                entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
            })
            .map_err(read)?;
        // A package may keep both browsers in one folder; only this one's files are taken.
        let own_packs = names.iter().any(|name| is_headless_pack(name));
        names.retain(|name| {
            wanted(name)
                && (!own_packs
                    || !name.ends_with(".pak")
                    || is_headless_pack(name) == is_headless_shell(&self.name))
        });
        for name in names {
            tree.data(&self.folder.join(&name), &format!("{FOLDER}/{name}"))?;
        }
        let language = self.folder.join("locales/en-US.pak");
        if language.is_file() {
            tree.data(&language, &format!("{FOLDER}/locales/en-US.pak"))?;
        }
        Ok(())
    }

    /// Libraries in its folder that it loads at run time.
    pub fn own_libraries(&self) -> Result<Vec<PathBuf>, TemplateError> {
        let entries = fs::read_dir(&self.folder).map_err(TemplateError::file("reading", &self.folder))?;
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(TemplateError::file("reading", &self.folder))?;
            if is_library(&entry.file_name().to_string_lossy()) {
                found.push(entry.path());
            }
        }
        Ok(found)
    }
}

fn wanted(name: &str) -> bool {
    let data = [".pak", ".dat", "snapshot_blob.bin", "v8_context_snapshot.bin", "vk_swiftshader_icd.json"];
    data.iter().any(|end| name.ends_with(end)) || is_library(name)
}

fn is_library(name: &str) -> bool {
    ["libEGL.so", "libGLESv2.so", "libvk_swiftshader.so", "libvulkan.so.1"].contains(&name)
}

/// Matches `chromium-headless-shell`, `headless_shell` and `chrome-headless-shell`.
fn is_headless_shell(program: &str) -> bool {
    program.contains("headless")
}

fn is_headless_pack(name: &str) -> bool {
    name.starts_with("headless_") && name.ends_with(".pak")
}

/// A script would need its interpreter in the jail.
pub(super) fn check_program(path: &Path) -> Result<(), TemplateError> {
    let mut start = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    if read.is_ok() && start == *b"\x7fELF" {
        Ok(())
    } else {
        Err(TemplateError::NotAProgram { path: path.to_owned() })
    }
}

fn version(program: &Path) -> Result<String, TemplateError> {
    // Names missing libraries, without which it does not start.
    super::closure::of(program)?;
    let tool =
        run_tool(Command::new(program).arg("--version")).map_err(TemplateError::file("running", program))?;
    // The number of "Chromium 156.0.7000.1 built on Debian …".
    let number = tool.stdout.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    number.map(str::to_owned).ok_or_else(|| TemplateError::Tool {
        program: "the browser's --version",
        output: tool.stderr.chars().take(500).collect(),
    })
}
