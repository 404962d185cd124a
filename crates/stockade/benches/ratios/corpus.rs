//! Documentation of Debian packages, made by different generators; `script/setup bench` unpacks it.

use std::fs;
use std::path::{Path, PathBuf};

const CORPUS: &str = "../../target/corpus";
/// Pages of each package: the largest that is not larger than this, and one of usual size.
const LARGEST_PAGE: u64 = 1_500_000;
/// Files that a page needs, and what is read of one package at most.
const KINDS: [&str; 3] = ["html", "css", "js"];
const MOST_OF_PACKAGE: usize = 64 << 20;

pub struct Package {
    pub name: String,
    /// Paths of the pages that are timed.
    pub pages: Vec<String>,
    files: Vec<(String, String)>,
}

impl Package {
    pub fn files(&self) -> Vec<(&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect()
    }

    fn read(folder: &Path, name: String) -> Option<Package> {
        let mut found = Vec::new();
        collect(folder, &mut found);
        let is = |path: &Path, kind: &str| path.extension().is_some_and(|ending| ending == kind);
        let mut pages: Vec<&(u64, PathBuf)> =
            found.iter().filter(|(size, path)| is(path, "html") && *size <= LARGEST_PAGE).collect();
        pages.sort();
        let (usual, largest) = (pages.get(pages.len() / 2)?, pages.last()?);
        let path_of = |path: &Path| format!("/{}", path.strip_prefix(folder).unwrap_or(path).display());
        let pages = vec![path_of(&largest.1), path_of(&usual.1)];
        let mut files = Vec::new();
        let mut bytes = 0;
        for (_, path) in &found {
            let at = path_of(path);
            if is(path, "html") && !pages.contains(&at) {
                continue;
            }
            // A file that is not text is not needed.
            let Ok(text) = fs::read_to_string(path) else { continue };
            bytes += text.len();
            if bytes > MOST_OF_PACKAGE {
                break;
            }
            files.push((at, text));
        }
        Some(Package { name, pages, files })
    }
}

pub fn packages() -> Vec<Package> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(CORPUS);
    let entries = fs::read_dir(folder).expect("documentation is unpacked (script/setup bench does it)");
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    let named = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    folders.iter().filter_map(|path| Package::read(path, named(path)?)).collect()
}

/// Files of the kinds that pages need, with their sizes. Links lead to other packages, and are not followed.
fn collect(folder: &Path, found: &mut Vec<(u64, PathBuf)>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            collect(&path, found);
        } else if kind.is_file()
            && path.extension().is_some_and(|ending| KINDS.iter().any(|kind| ending == *kind))
        {
            found.push((entry.metadata().unwrap().len(), path));
        }
    }
}

const STYLE: &str = "<style>
    :root { --gap: 12px; --ink: #223; --line: #ddd } * { box-sizing: border-box } body { margin: 0; color: var(--ink); font: 15px/1.5 sans-serif }
    header { position: sticky; top: 0; background: #fff; z-index: 2; padding: var(--gap) } main { position: relative; display: grid; margin-left: 240px }
    nav { position: fixed; inset: 0 auto 0 0; width: 220px; overflow: auto; background: #f5f5f7 } section { padding: var(--gap); border-bottom: 1px solid var(--line) }
    section:nth-child(even) { background: #fafafa } h2::after { content: '#'; color: #99a } .card { position: relative; overflow: hidden; border-radius: 6px }
    .card > p:first-child { margin-top: 0 } .tag { display: inline-block; background: #eef; padding: 0 4px } ul li::before { content: '-'; margin-right: 4px }
    a { color: #06c; text-decoration: none } a:hover { text-decoration: underline } button { cursor: pointer; transition: background .2s } .sr { position: absolute; clip-path: inset(50%) }
    @media (max-width: 800px) { main { margin-left: 0 } nav { display: none } }</style>";

/// A page of about this many elements, styled as pages are today.
pub fn styled_page_of(elements: usize) -> String {
    let part = |n: usize| {
        format!(
            "<section class='part'><h2>Part {n}</h2><div class='card'><p>Some words and <a href=/{n}>a link to {n}</a>, then <em class='tag'>more</em>.</p></div>
             <ul class='list'><li>first of {n}</li><li><button class='btn'>Choose {n}</button></li></ul></section>"
        )
    };
    let parts: String = (0..elements / 10).map(part).collect();
    format!("<!doctype html>{STYLE}<header>Styled</header><nav><a href=/>Start</a></nav><main>{parts}</main>")
}
