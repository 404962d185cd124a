//! Templates: the read-only file trees that jails are made of.
//!
//! `<store>/<id>/root` is the tree and `<store>/<id>/manifest.json` says what is in it. The id is a digest
//! of the manifest, so a template cannot be changed and keep its name.

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

/// Of a store and its templates, whatever the umask: jails run as other users, who must not write.
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
    /// The browser's real program (not a wrapper script); looked for when not given.
    pub browser: Option<PathBuf>,
}

/// The version of the browser that a template built now would hold; for telling that one is out of date.
pub fn host_version(flavour: Flavour) -> Result<String, TemplateError> {
    chromium::Browser::find(flavour, None).map(|browser| browser.version)
}

/// A folder of templates.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

impl Store {
    /// Makes the folder if it is not there. `template_store_unsafe` if another user but root could write
    /// to it.
    pub fn open(dir: &Path) -> Result<Store, TemplateError> {
        folder::make(dir, FOLDER_MODE).map_err(TemplateError::file("making", dir))?;
        check_folder(dir)?;
        Ok(Store { dir: dir.to_owned() })
    }

    /// Builds from what is installed on this host. The same inputs again give the same template, which is
    /// then the newest. Of each flavour the three newest are kept, and whatever is in use.
    pub fn build(
        &self,
        options: &BuildOptions,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Template, TemplateError> {
        build::build(self, options, progress)
    }

    /// The most recently built first. What has no readable manifest is left out, see [`all`](Store::all).
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

    /// Every folder by its name, with the template in it or the reason why it cannot be read as one.
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
            // A builder may have removed it since.
            if template.is_ok() || fs::symlink_metadata(entry.path()).is_ok() {
                found.insert(name, template);
            }
        }
        Ok(found)
    }

    /// `template_missing` when there is none.
    pub fn newest(&self, flavour: Flavour) -> Result<Template, TemplateError> {
        let newest = self.list()?.into_iter().find(|template| template.flavour() == flavour);
        newest.ok_or(TemplateError::Missing { flavour })
    }
}

/// One that is not removed while this is kept.
#[derive(Clone, Debug)]
pub struct Template {
    id: String,
    dir: PathBuf,
    root: PathBuf,
    manifest: Manifest,
    /// The id that follows from the manifest; another than `id` if someone changed it.
    computed: String,
    built: SystemTime,
    /// Shared by all who use it. `None` while someone else has it alone: a builder that removes it, or a
    /// user of the host who is up to no good and must not keep us from starting.
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

    /// Whether this value is the only one, in any process. No other comes to be while it is kept.
    fn is_unused(&self) -> Result<bool, TemplateError> {
        let alone = self.lock.as_ref().map_or(Ok(false), |lock| lock.try_exclusive());
        alone.map_err(TemplateError::file("locking", &self.dir))
    }

    /// `template_altered`, with every difference, unless the tree is what the manifest says and the
    /// manifest is what the name says.
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
