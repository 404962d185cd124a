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
mod tree;

pub use error::{Difference, TemplateError};
pub use fonts::{MissingScript, font_coverage};

use manifest::Manifest;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

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
    /// Makes the folder if it is not there.
    pub fn open(dir: &Path) -> Result<Store, TemplateError> {
        fs::create_dir_all(dir).map_err(TemplateError::file("making", dir))?;
        Ok(Store { dir: dir.to_owned() })
    }

    /// Builds from what is installed on this host. The same inputs again give the same template.
    pub fn build(
        &self,
        options: &BuildOptions,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Template, TemplateError> {
        build::build(self, options, progress)
    }

    /// The most recently built first. What has no readable manifest is left out.
    pub fn list(&self) -> Result<Vec<Template>, TemplateError> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(TemplateError::file("reading", &self.dir))? {
            let entry = entry.map_err(TemplateError::file("reading", &self.dir))?;
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if !hidden && let Ok(template) = Template::open(&entry.path()) {
                found.push(template);
            }
        }
        found.sort_by(|a, b| (b.built, &b.id).cmp(&(a.built, &a.id)));
        Ok(found)
    }

    /// `template_missing` when there is none.
    pub fn newest(&self, flavour: Flavour) -> Result<Template, TemplateError> {
        let newest = self.list()?.into_iter().find(|template| template.flavour() == flavour);
        newest.ok_or(TemplateError::Missing { flavour })
    }
}

#[derive(Clone, Debug)]
pub struct Template {
    id: String,
    dir: PathBuf,
    root: PathBuf,
    manifest: Manifest,
    /// The id that follows from the manifest; another than `id` if someone changed it.
    computed: String,
    built: SystemTime,
}

impl Template {
    const MANIFEST: &str = "manifest.json";
    const ROOT: &str = "root";

    fn open(dir: &Path) -> Result<Template, TemplateError> {
        let path = dir.join(Template::MANIFEST);
        let bytes = fs::read(&path).map_err(TemplateError::file("reading", &path))?;
        let built = fs::metadata(&path).and_then(|metadata| metadata.modified());
        let built = built.map_err(TemplateError::file("looking at", &path))?;
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .map_err(|source| TemplateError::BadManifest { path: dir.to_owned(), source })?;
        let id = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let computed = manifest::id(manifest.flavour, &bytes);
        let (dir, root) = (dir.to_owned(), dir.join(Template::ROOT));
        Ok(Template { id, dir, root, manifest, computed, built })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn flavour(&self) -> Flavour {
        self.manifest.flavour
    }

    /// The tree, for [`JailSpec::root`](crate::JailSpec).
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

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Flavour::Headless => "headless",
            Flavour::Xvfb => "xvfb",
        })
    }
}
