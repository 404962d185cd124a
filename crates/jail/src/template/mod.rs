//! Templates: the read-only file trees that jails are made of.
//!
//! `<store>/<id>/root` is the tree and `<store>/<id>/manifest.json` describes it. The id is a digest of the manifest,
//! so a changed template cannot keep its name.

mod build;
mod chromium;
mod closure;
mod error;
mod fonts;
mod manifest;
mod stamp;
mod tree;

pub use error::{Difference, TemplateError};
pub use fonts::{MissingScript, font_coverage};

use crate::folder;
use crate::lock::Lock;
use error_code::ErrorCode;
use manifest::Manifest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Mode of a store and its templates, whatever the umask: jails run as other users, who must not write.
const FOLDER_MODE: u32 = 0o755;

/// Path of the bridge in every template.
pub const BRIDGE: &str = "/stockade/bridge";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flavour {
    /// Chromium's headless shell and the bridge.
    Headless,
    /// Full Chromium, Xvfb, xkbcomp and the bridge.
    Xvfb,
}

#[derive(Clone, Debug)]
pub struct BuildOptions {
    pub flavour: Flavour,
    /// The bridge's program on this host.
    pub bridge: PathBuf,
    /// The browser's program (not a wrapper script); searched for if `None`.
    pub browser: Option<PathBuf>,
}

/// The version of the browser that a new template would have, to detect outdated ones.
pub fn host_version(flavour: Flavour) -> Result<String, TemplateError> {
    chromium::Browser::find(flavour, None).map(|browser| browser.version)
}

/// A folder of templates.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

impl Store {
    /// Makes the folder if it does not exist. Fails with `template_store_unsafe` if a user other than root could write
    /// to it.
    pub fn open(dir: &Path) -> Result<Store, TemplateError> {
        folder::make(dir, FOLDER_MODE).map_err(TemplateError::file("making", dir))?;
        check_folder(dir)?;
        Ok(Store { dir: dir.to_owned() })
    }

    /// Builds a template from the installed programs. Equal inputs give the same template, which then counts as the
    /// newest. The three newest of each flavour are kept, and those in use.
    pub fn build(
        &self,
        options: &BuildOptions,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Template, TemplateError> {
        build::build(self, options, progress)
    }

    /// The templates, most recently built first. Folders without a readable manifest are left out, see
    /// [`all`](Store::all).
    pub fn list(&self) -> Result<Vec<Template>, TemplateError> {
        let mut found = Vec::new();
        for (_, template) in self.all()? {
            match template {
                Ok(template) => found.push(template),
                Err(error) if error.code() == ErrorCode::TemplateAltered => {}
                Err(error) => return Err(error),
            }
        }
        found.sort_by(|a, b| (b.built, &b.id).cmp(&(a.built, &a.id)));
        Ok(found)
    }

    /// Every folder by name, with its template or the reason why it cannot be read.
    pub fn all(&self) -> Result<BTreeMap<String, Result<Template, TemplateError>>, TemplateError> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&self.dir).map_err(TemplateError::file("reading", &self.dir))? {
            let entry = entry.map_err(TemplateError::file("reading", &self.dir))?;
            let kind = entry.file_type().map_err(TemplateError::file("reading", &self.dir))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || kind.is_file() {
                continue;
            }
            let template = Template::open(&entry.path());
            // Another builder may have removed it in between.
            if template.is_ok() || fs::symlink_metadata(entry.path()).is_ok() {
                found.insert(name, template);
            }
        }
        Ok(found)
    }

    /// `template_missing` if there is none.
    pub fn newest(&self, flavour: Flavour) -> Result<Template, TemplateError> {
        let newest = self.list()?.into_iter().find(|template| template.flavour() == flavour);
        newest.ok_or(TemplateError::Missing { flavour })
    }
}

/// A template that is not removed while this value exists.
#[derive(Clone, Debug)]
pub struct Template {
    id: String,
    dir: PathBuf,
    root: PathBuf,
    manifest: Manifest,
    /// The id computed from the manifest; differs from `id` if the manifest was changed.
    computed: String,
    built: SystemTime,
    /// A lock shared by all users of the template. `None` if another process holds it exclusively: a builder that
    /// removes the template, or a hostile user who must not be able to block a start.
    lock: Option<Arc<Lock>>,
}

impl Template {
    const MANIFEST: &str = "manifest.json";
    const ROOT: &str = "root";

    fn open(dir: &Path) -> Result<Template, TemplateError> {
        check_folder(dir)?;
        let lock = Lock::share_folder(dir).map_err(TemplateError::file("locking", dir))?.map(Arc::new);
        let id = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = dir.join(Template::MANIFEST);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let differences = vec![Difference::Missing { path: Template::MANIFEST.to_owned() }];
                return Err(TemplateError::Altered { id, differences });
            }
            other => other.map_err(TemplateError::file("reading", &path))?,
        };
        let built = fs::metadata(&path).and_then(|metadata| metadata.modified());
        let built = built.map_err(TemplateError::file("looking at", &path))?;
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .map_err(|source| TemplateError::BadManifest { path: dir.to_owned(), source })?;
        let computed = manifest::id(manifest.flavour, &bytes);
        let (dir, root) = (dir.to_owned(), dir.join(Template::ROOT));
        Ok(Template { id, dir, root, manifest, computed, built, lock })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn flavour(&self) -> Flavour {
        self.manifest.flavour
    }

    /// The file tree that a jail sees as `/`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The browser's program, as a path in the jail.
    pub fn browser(&self) -> &str {
        &self.manifest.browser
    }

    pub fn browser_version(&self) -> &str {
        &self.manifest.browser_version
    }

    pub fn files(&self) -> usize {
        self.manifest.files()
    }

    pub fn bytes(&self) -> u64 {
        self.manifest.bytes()
    }

    pub fn built(&self) -> SystemTime {
        self.built
    }

    /// Whether this value holds the lock alone, over all processes. While it does, no other can be made.
    fn is_unused(&self) -> Result<bool, TemplateError> {
        let alone = self.lock.as_ref().map_or(Ok(false), |lock| lock.try_exclusive());
        alone.map_err(TemplateError::file("locking", &self.dir))
    }

    /// `template_altered`, with every difference, unless the tree matches the manifest and the manifest matches the
    /// name.
    pub fn verify(&self) -> Result<(), TemplateError> {
        let mut differences = Vec::new();
        if self.computed != self.id {
            differences.push(Difference::Changed { path: Template::MANIFEST.to_owned() });
        }
        for entry in fs::read_dir(&self.dir).map_err(TemplateError::file("reading", &self.dir))? {
            let name = entry.map_err(TemplateError::file("reading", &self.dir))?.file_name();
            if name != Template::MANIFEST && name != Template::ROOT {
                differences.push(Difference::Added { path: name.to_string_lossy().into_owned() });
            }
        }
        if self.root.is_dir() {
            differences.extend(manifest::compare(&self.manifest.entries, &manifest::scan(&self.root)?));
        } else {
            differences.push(Difference::Missing { path: Template::ROOT.to_owned() });
        }
        if differences.is_empty() {
            Ok(())
        } else {
            Err(TemplateError::Altered { id: self.id.clone(), differences })
        }
    }
}

fn check_folder(dir: &Path) -> Result<(), TemplateError> {
    let weakness = folder::find_weakness(dir, folder::is_own_or_root);
    match weakness.map_err(TemplateError::file("looking at", dir))? {
        Some(why) => Err(TemplateError::Unsafe { path: dir.to_owned(), why }),
        None => Ok(()),
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Flavour::Headless => "headless",
            Flavour::Xvfb => "xvfb",
        })
    }
}
