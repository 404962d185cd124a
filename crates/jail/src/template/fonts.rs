//! Fonts: which of the host's go into a template, and which are missing.

use super::TemplateError;
use super::tree::Tree;
use crate::wait::{find_program, run_tool};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// A script that no font on this host covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingScript {
    pub script: &'static str,
    /// The Debian package that provides one.
    pub package: &'static str,
}

/// Scripts that a template should be able to show.
struct Script {
    name: &'static str,
    package: &'static str,
    /// Sets of files, best first. Only the first set of which this host has any file is taken, so that a host with
    /// every font does not make a template of a gigabyte.
    sets: &'static [&'static [&'static str]],
}

const SCRIPTS: &[Script] = &[
    Script {
        name: "Latin, Greek and Cyrillic",
        package: "fonts-liberation",
        sets: &[
            &[
                "LiberationSans-Regular.ttf",
                "LiberationSans-Bold.ttf",
                "LiberationSans-Italic.ttf",
                "LiberationSans-BoldItalic.ttf",
                "LiberationSerif-Regular.ttf",
                "LiberationSerif-Bold.ttf",
                "LiberationSerif-Italic.ttf",
                "LiberationSerif-BoldItalic.ttf",
                "LiberationMono-Regular.ttf",
                "LiberationMono-Bold.ttf",
                "LiberationMono-Italic.ttf",
                "LiberationMono-BoldItalic.ttf",
            ],
            &["DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSerif.ttf", "DejaVuSansMono.ttf"],
            &["NotoSans-Regular.ttf", "NotoSans-Bold.ttf", "NotoSerif-Regular.ttf", "NotoMono-Regular.ttf"],
        ],
    },
    Script {
        name: "Chinese, Japanese and Korean",
        package: "fonts-noto-cjk",
        sets: &[
            &["NotoSansCJK-Regular.ttc"],
            &["NotoSansCJK-VF.ttc", "NotoSansCJK-VF.otf.ttc"],
            &["wqy-zenhei.ttc"],
            &["DroidSansFallbackFull.ttf"],
        ],
    },
    Script {
        name: "emoji",
        package: "fonts-noto-color-emoji",
        sets: &[&["NotoColorEmoji.ttf"], &["Noto-COLRv1.ttf"]],
    },
];

/// Small fonts, included if present; `doctor` does not require them.
const ALSO: &[&str] = &[
    "NotoSansArabic-Regular.ttf",
    "NotoSansHebrew-Regular.ttf",
    "NotoSansThai-Regular.ttf",
    "NotoSansDevanagari-Regular.ttf",
    "NotoSansSymbols2-Regular.ttf",
];

const HOST_FOLDERS: &[&str] = &["/usr/share/fonts", "/usr/local/share/fonts"];
const FOLDER: &str = "/usr/share/fonts";

/// fontconfig's cache, so that a browser need not scan all fonts at its first text.
const CACHE: &str = "/usr/share/fontconfig-cache";

/// The cache contains the modification time of the fonts' folder. A fixed time keeps builds reproducible.
const FOLDER_TIME: Duration = Duration::from_secs(1_000_000_000);

/// Maps the font names that pages use to available fonts, and sets the fallback order for missing glyphs.
const CONFIG: &str = r#"<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <cachedir>/usr/share/fontconfig-cache</cachedir>
  <cachedir>/tmp/fontconfig</cachedir>
  <alias binding="same"><family>Arial</family><accept><family>Liberation Sans</family></accept></alias>
  <alias binding="same"><family>Helvetica</family><accept><family>Liberation Sans</family></accept></alias>
  <alias binding="same"><family>Times New Roman</family><accept><family>Liberation Serif</family></accept></alias>
  <alias binding="same"><family>Times</family><accept><family>Liberation Serif</family></accept></alias>
  <alias binding="same"><family>Courier New</family><accept><family>Liberation Mono</family></accept></alias>
  <alias binding="same"><family>Courier</family><accept><family>Liberation Mono</family></accept></alias>
  <alias><family>sans-serif</family><prefer><family>Liberation Sans</family><family>DejaVu Sans</family><family>Noto Sans</family><family>Noto Sans CJK JP</family><family>Noto Color Emoji</family></prefer></alias>
  <alias><family>serif</family><prefer><family>Liberation Serif</family><family>DejaVu Serif</family><family>Noto Serif</family><family>Noto Sans CJK JP</family><family>Noto Color Emoji</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>Liberation Mono</family><family>DejaVu Sans Mono</family><family>Noto Mono</family><family>Noto Sans Mono CJK JP</family><family>Noto Color Emoji</family></prefer></alias>
  <alias><family>system-ui</family><prefer><family>Liberation Sans</family></prefer></alias>
  <alias><family>emoji</family><prefer><family>Noto Color Emoji</family></prefer></alias>
</fontconfig>
"#;

/// The scripts that a template built here could not show.
pub fn font_coverage() -> Vec<MissingScript> {
    missing(&host_fonts())
}

fn missing(fonts: &BTreeMap<String, PathBuf>) -> Vec<MissingScript> {
    SCRIPTS
        .iter()
        .filter(|script| chosen(script, fonts).is_empty())
        .map(|script| MissingScript { script: script.name, package: script.package })
        .collect()
}

pub(super) fn copy(tree: &Tree, progress: &mut dyn FnMut(&str)) -> Result<(), TemplateError> {
    let fonts = host_fonts();
    tree.folder(FOLDER)?;
    tree.text("/etc/fonts/fonts.conf", CONFIG)?;
    let wanted = SCRIPTS.iter().flat_map(|script| chosen(script, &fonts)).chain(ALSO.iter().copied());
    for name in wanted {
        if let Some(path) = fonts.get(name) {
            tree.data(path, &format!("{FOLDER}/{name}"))?;
        }
    }
    tree.date(FOLDER, SystemTime::UNIX_EPOCH + FOLDER_TIME)?;
    tree.folder(CACHE)?;
    match fill_cache(tree) {
        Ok(()) => tree.data_modes(CACHE),
        // A template without the cache works, only slower.
        Err(why) => {
            progress(&format!(
                "no font cache ({why}): the first text in each browser takes about 25 ms more"
            ));
            Ok(())
        }
    }
}

/// Builds the font cache.
const FC_CACHE: &str = "/usr/bin/fc-cache";

/// Runs the host's `fc-cache` with the tree as its root directory, for which `fc-cache` has no option.
fn fill_cache(tree: &Tree) -> Result<(), String> {
    let bwrap = find_program("bwrap").ok_or_else(|| "bubblewrap is not installed".to_owned())?;
    if !Path::new(FC_CACHE).is_file() {
        return Err("fc-cache of the package fontconfig is not installed".to_owned());
    }
    let mut command = Command::new(bwrap);
    command
        .args(["--die-with-parent", "--unshare-net", "--unshare-pid", "--clearenv", "--bind"])
        .arg(tree.root())
        .args(["/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"])
        .args(["--ro-bind", FC_CACHE, "/tmp/fc-cache", "--", "/tmp/fc-cache", "--force"]);
    match run_tool(&mut command) {
        Ok(tool) if tool.success => Ok(()),
        Ok(tool) => Err(tool.stderr.trim().chars().take(200).collect()),
        Err(error) => Err(error.to_string()),
    }
}

/// The files of the first available set, or none.
fn chosen(script: &Script, fonts: &BTreeMap<String, PathBuf>) -> Vec<&'static str> {
    let there = |set: &&[&'static str]| {
        set.iter().copied().filter(|name| fonts.contains_key(*name)).collect::<Vec<_>>()
    };
    script.sets.iter().map(there).find(|names| !names.is_empty()).unwrap_or_default()
}

fn host_fonts() -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for folder in HOST_FOLDERS {
        collect(Path::new(folder), 0, &mut found);
    }
    found
}

/// The fonts of an unreadable folder are skipped. Links are not followed, so the search ends.
fn collect(folder: &Path, depth: usize, found: &mut BTreeMap<String, PathBuf>) {
    const DEEPEST: usize = 6;
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth < DEEPEST {
            collect(&entry.path(), depth + 1, found);
        } else if entry.path().is_file() {
            found.entry(entry.file_name().to_string_lossy().into_owned()).or_insert_with(|| entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(names: &[&str]) -> BTreeMap<String, PathBuf> {
        names.iter().map(|name| ((*name).to_owned(), PathBuf::from(name))).collect()
    }

    #[test]
    fn each_missing_script_names_the_package_that_mends_it() {
        let packages = |names: &[&str]| -> Vec<&str> {
            missing(&host(names)).into_iter().map(|script| script.package).collect()
        };
        assert_eq!(packages(&[]), ["fonts-liberation", "fonts-noto-cjk", "fonts-noto-color-emoji"]);
        assert_eq!(packages(&["DejaVuSans.ttf", "NotoColorEmoji.ttf"]), ["fonts-noto-cjk"]);
        let all = ["LiberationSans-Regular.ttf", "NotoSansCJK-Regular.ttc", "NotoColorEmoji.ttf"];
        assert_eq!(packages(&all), [""; 0]);
    }

    #[test]
    fn only_the_best_set_is_taken() {
        let fonts = host(&["LiberationSans-Regular.ttf", "LiberationMono-Bold.ttf", "DejaVuSans.ttf"]);
        let names = chosen(&SCRIPTS[0], &fonts);
        assert_eq!(names, ["LiberationSans-Regular.ttf", "LiberationMono-Bold.ttf"]);
    }
}
