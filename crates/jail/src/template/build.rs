//! Builds a template: collects the files, writes the manifest, moves it into the store.

use super::BRIDGE;
use super::chromium::{self, Browser, check_program};
use super::closure::{self, Closure};
use super::manifest::{self, Manifest};
use super::tree::Tree;
use super::{BuildOptions, FOLDER_MODE, Flavour, Store, Template, TemplateError, fonts};
use crate::folder;
use crate::lock::Lock;
use error_code::ErrorCode;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Prefix of a folder in which a template is built.
pub(super) const STAGING: &str = ".building-";

/// Templates of each flavour that are kept after a build: the new one, and two to return to.
const KEPT: usize = 3;

const XVFB: &str = "/usr/bin/Xvfb";
const XKBCOMP: &str = "/usr/bin/xkbcomp";
const XKB_DATA: &str = "/usr/share/X11/xkb";

/// The jail's user and `nobody`, without a login shell.
const PASSWD: &str = "browser:x:1000:1000::/tmp:/\nnobody:x:65534:65534::/:/\n";
const GROUP: &str = "browser:x:1000:\nnogroup:x:65534:\n";

/// Mount points of runtimes.
const MOUNT_POINTS: &[&str] = &["/proc", "/dev/shm", "/run/stockade", "/sys"];

pub(super) fn build(
    store: &Store,
    options: &BuildOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<Template, TemplateError> {
    if !options.bridge.is_file() {
        return Err(TemplateError::BridgeMissing { path: options.bridge.clone() });
    }
    check_program(&options.bridge)?;
    let browser = Browser::find(options.flavour, options.browser.as_deref())?;
    let staging = Staging::make(&store.dir)?;

    progress(&format!("copying {} {}", browser.name, browser.version));
    let tree = Tree::new(staging.template().join("root"))?;
    copy_programs(&tree, options, &browser)?;
    tree.text("/etc/passwd", PASSWD)?;
    tree.text("/etc/group", GROUP)?;
    MOUNT_POINTS.iter().try_for_each(|path| tree.folder(path))?;
    tree.scratch("/tmp")?;
    progress("copying fonts");
    fonts::copy(&tree, progress)?;

    progress("hashing");
    let manifest = Manifest {
        flavour: options.flavour,
        browser: browser.path(),
        browser_version: browser.version,
        entries: manifest::scan(tree.root())?,
    };
    let path = staging.template().join(Template::MANIFEST);
    let bytes =
        manifest.to_bytes().map_err(|source| TemplateError::BadManifest { path: path.clone(), source })?;
    fs::write(&path, &bytes).map_err(TemplateError::file("writing", &path))?;
    let template = place(store, &staging, &manifest::id(options.flavour, &bytes))?;
    clear_old(store, &staging, progress)?;
    Ok(template)
}

fn copy_programs(tree: &Tree, options: &BuildOptions, browser: &Browser) -> Result<(), TemplateError> {
    let own = closure::of(&browser.program)?;
    let folder = own.library_folder().ok_or_else(|| TemplateError::LibraryMissing {
        program: browser.program.clone(),
        library: "libc.so.6".to_owned(),
    })?;
    let beside = Some(browser.folder.as_path());

    browser.copy(tree)?;
    own.copy(tree, folder, beside)?;
    for library in browser.own_libraries()? {
        closure::of(&library)?.copy(tree, folder, beside)?;
    }
    copy_nss(tree, &own, folder)?;

    tree.program(&options.bridge, BRIDGE)?;
    closure::of(&options.bridge)?.copy(tree, folder, None)?;

    if options.flavour == Flavour::Xvfb {
        for (program, name, package) in [(XVFB, "Xvfb", "xvfb"), (XKBCOMP, "xkbcomp", "x11-xkb-utils")] {
            let path = Path::new(program);
            if !path.is_file() {
                return Err(TemplateError::ProgramMissing { program: name, package });
            }
            tree.program(path, program)?;
            closure::of(path)?.copy(tree, folder, None)?;
        }
        if !Path::new(XKB_DATA).is_dir() {
            return Err(TemplateError::ProgramMissing { program: "keyboard data", package: "xkb-data" });
        }
        tree.data_folder(Path::new(XKB_DATA), XKB_DATA)?;
        // Xvfb runs `sh -c xkbcomp …`. Under this name the bridge runs exactly that, and nothing else.
        tree.link("/bin/sh", BRIDGE)?;
    }
    Ok(())
}

/// NSS looks for its modules in its own folder, or in one beside it.
fn copy_nss(tree: &Tree, own: &Closure, folder: &str) -> Result<(), TemplateError> {
    let Some(home) = own.find("libnss3.so").and_then(|path| path.canonicalize().ok()) else { return Ok(()) };
    let Some(home) = home.parent() else { return Ok(()) };
    for module in chromium::NSS_MODULES {
        let places = [home.join(module), home.join("nss").join(module)];
        let found = places.iter().find(|path| path.is_file()).ok_or_else(|| {
            TemplateError::LibraryMissing { program: home.join("libnss3.so"), library: (*module).to_owned() }
        })?;
        tree.data(found, &format!("{folder}/{module}"))?;
        closure::of(found)?.copy(tree, folder, None)?;
    }
    Ok(())
}

/// Moves the finished template to its name. A template that another builder made before or at the same time stays,
/// unless it was altered since; then it is replaced.
fn place(store: &Store, staging: &Staging, id: &str) -> Result<Template, TemplateError> {
    let target = store.dir.join(id);
    // Twice: another builder may put its own where we have just moved an altered one away.
    for attempt in 0..2 {
        match fs::rename(staging.template(), &target) {
            Ok(()) => break,
            Err(error) if !is_taken(&error) => return Err(TemplateError::file("naming", &target)(error)),
            Err(_) => {}
        }
        match Template::open(&target).and_then(|template| template.verify()) {
            Ok(()) => break,
            Err(error) if error.code() != ErrorCode::TemplateAltered => return Err(error),
            Err(_) => {
                let away = staging.dir.join(format!("altered-{attempt}"));
                fs::rename(&target, &away).map_err(TemplateError::file("replacing", &target))?;
            }
        }
    }
    let template = Template::open(&target)?;
    // The newest template is the one built last, even if it existed before.
    let path = target.join(Template::MANIFEST);
    File::open(&path)
        .and_then(|file| file.set_modified(SystemTime::now()))
        .map_err(TemplateError::file("dating", &path))?;
    Ok(template)
}

/// Removes templates beyond the newest few of each flavour, unless they are in use. Each takes about 400 MB.
fn clear_old(store: &Store, staging: &Staging, progress: &mut dyn FnMut(&str)) -> Result<(), TemplateError> {
    // Two processes that check at the same time would each take the other for a user.
    let _held = Lock::folder(&store.dir).map_err(TemplateError::file("locking", &store.dir))?;
    let all = store.list()?;
    for flavour in [Flavour::Headless, Flavour::Xvfb] {
        for old in all.iter().filter(|template| template.flavour() == flavour).skip(KEPT) {
            if !old.is_unused()? {
                progress(&format!("keeping {}, which is old but in use", old.id));
                continue;
            }
            // Moved first, so that nobody sees it half removed. It is deleted with the builder's own folder.
            progress(&format!("removing {}, which is old and unused", old.id));
            let away = staging.dir.join(&old.id);
            fs::rename(&old.dir, &away).map_err(TemplateError::file("removing", &old.dir))?;
            old.forget_verified();
        }
    }
    Ok(())
}

fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists)
}

/// A builder's own folder. Locked while the builder runs; removed at its end or, after a crash, by the next one.
struct Staging {
    dir: PathBuf,
    _lock: Lock,
}

impl Staging {
    const LOCK: &str = "lock";

    fn make(store: &Path) -> Result<Staging, TemplateError> {
        // Without this lock, another builder could take the folder for an abandoned one before it is locked itself.
        let _held = Lock::folder(store).map_err(TemplateError::file("locking", store))?;
        clear_dead(store)?;
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|source| TemplateError::NoRandomness { source })?;
        let dir = store.join(format!("{STAGING}{:016x}", u64::from_ne_bytes(bytes)));
        folder::make(&dir, 0o700).map_err(TemplateError::file("making", &dir))?;
        let lock = Lock::new_file(&dir.join(Staging::LOCK)).map_err(TemplateError::file("locking", &dir))?;
        let staging = Staging { dir, _lock: lock };
        let template = staging.template();
        folder::make(&template, FOLDER_MODE).map_err(TemplateError::file("making", &template))?;
        Ok(staging)
    }

    fn template(&self) -> PathBuf {
        self.dir.join("template")
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // The next build removes it if this fails.
        if let Err(error) = fs::remove_dir_all(&self.dir) {
            tracing::warn!(%error, "cannot remove the folder of an unfinished template");
        }
    }
}

fn clear_dead(store: &Path) -> Result<(), TemplateError> {
    for entry in fs::read_dir(store).map_err(TemplateError::file("reading", store))? {
        let entry = entry.map_err(TemplateError::file("reading", store))?;
        if !entry.file_name().to_string_lossy().starts_with(STAGING) {
            continue;
        }
        let dir = entry.path();
        let dead = match Lock::try_existing(&dir.join(Staging::LOCK)) {
            Ok(lock) => lock.is_some(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(TemplateError::file("locking", &dir)(error)),
        };
        if dead {
            fs::remove_dir_all(&dir).map_err(TemplateError::file("removing", &dir))?;
        }
    }
    Ok(())
}
