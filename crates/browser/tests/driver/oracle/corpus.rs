//! Documentation by different generators, as `script/setup test` unpacks it: pages that the script was not made for.

use super::{AGREEMENT, check};
use std::{
    fs,
    path::{Path, PathBuf},
};

const CORPUS: &str = "../../target/corpus";
/// Made by Sphinx in three themes, Javadoc, Doxygen, Texinfo, GTK-Doc, AsciiDoc and man2html.
const PACKAGES: [&str; 9] = [
    "developers-reference",
    "debian-policy",
    "python-django-doc",
    "libcommons-lang3-java-doc",
    "libeigen3-doc",
    "libfftw3-doc",
    "libglib2.0-doc",
    "git-doc",
    "bash-doc",
];
/// Of each package the largest page up to this size, and one of usual size.
const LARGEST_PAGE: u64 = 150_000;
const LARGEST_RESOURCE: u64 = 500_000;
const FEWEST: usize = 10_000;
/// Not every release of a distribution has all of them.
const FEWEST_PACKAGES: usize = 6;

/// The pages of a package, and the styles and scripts that they need, by their paths in it.
struct Package {
    pages: Vec<String>,
    files: Vec<(String, String)>,
}

fn read_package(name: &str) -> Option<Package> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(CORPUS).join(name);
    let mut found = Vec::new();
    collect(&folder, &mut found);
    let is = |path: &Path, kind: &str| path.extension().is_some_and(|ending| ending == kind);
    let mut pages: Vec<&(u64, PathBuf)> =
        found.iter().filter(|(size, path)| is(path, "html") && *size <= LARGEST_PAGE).collect();
    pages.sort();
    let pages = [pages.last()?, pages.get(pages.len() / 2)?].map(|(_, path)| path.clone());
    let address = |path: &Path| format!("{name}.test/{}", path.strip_prefix(&folder).unwrap().display());
    let mut files = Vec::new();
    for (size, path) in &found {
        let kind = if is(path, "css") { "css" } else { "javascript" };
        // A file that is not text is not needed.
        let Ok(text) = fs::read_to_string(path) else { continue };
        if pages.contains(path) {
            files.push((address(path), text));
        } else if !is(path, "html") && *size <= LARGEST_RESOURCE {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/{kind}\r\nContent-Length: {}\r\n\r\n",
                text.len()
            );
            files.push((address(path), head + &text));
        }
    }
    Some(Package { pages: pages.iter().map(|path| address(path)).collect(), files })
}

fn collect(folder: &Path, found: &mut Vec<(u64, PathBuf)>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.map(|entry| entry.unwrap()) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            collect(&path, found);
        } else if kind.is_file()
            && path.extension().is_some_and(|ending| ["html", "css", "js"].iter().any(|kind| ending == *kind))
        {
            found.push((entry.metadata().unwrap().len(), path));
        }
    }
}

#[tokio::test]
async fn documentation_by_different_generators_agrees_with_the_accessibility_tree() {
    let packages: Vec<Package> = PACKAGES.iter().filter_map(|name| read_package(name)).collect();
    assert!(packages.len() >= FEWEST_PACKAGES, "documentation is unpacked (script/setup test does it)");
    let files: Vec<(String, String)> = packages.iter().flat_map(|package| package.files.clone()).collect();
    let addresses: Vec<String> = packages.into_iter().flat_map(|package| package.pages).collect();
    let report = check(&files, &addresses).await;
    assert!(
        report.compared > FEWEST && report.share() >= AGREEMENT,
        "{:.4} of {}",
        report.share(),
        report.compared
    );
}
