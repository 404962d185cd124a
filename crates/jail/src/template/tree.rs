//! A file tree under construction: every file gets its mode here, not from the host.

use super::TemplateError;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const FOLDER: u32 = 0o755;
const DATA: u32 = 0o444;
const PROGRAM: u32 = 0o555;

#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub fn new(root: PathBuf) -> Result<Tree, TemplateError> {
        let tree = Tree { root };
        tree.folder("/")?;
        Ok(tree)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `path` and its ancestors.
    pub fn folder(&self, path: &str) -> Result<(), TemplateError> {
        let mut folder = self.root.clone();
        for part in std::iter::once("").chain(path.split('/').filter(|part| !part.is_empty())) {
            if !part.is_empty() {
                folder.push(part);
            }
            if !folder.is_dir() {
                fs::create_dir(&folder).map_err(TemplateError::file("making", &folder))?;
                self.mode(&folder, FOLDER)?;
            }
        }
        Ok(())
    }

    /// A folder that any user may write to, because a tmpfs on it takes its mode in some runtimes.
    pub fn scratch(&self, path: &str) -> Result<(), TemplateError> {
        self.folder(path)?;
        self.mode(&self.at(path), 0o1777)
    }

    pub fn data(&self, from: &Path, to: &str) -> Result<(), TemplateError> {
        self.copy(from, to, DATA)
    }

    /// A program, or the loader, which the kernel requires to be executable.
    pub fn program(&self, from: &Path, to: &str) -> Result<(), TemplateError> {
        self.copy(from, to, PROGRAM)
    }

    pub fn text(&self, to: &str, text: &str) -> Result<(), TemplateError> {
        let path = self.place(to)?;
        fs::write(&path, text).map_err(TemplateError::file("writing", &path))?;
        self.mode(&path, DATA)
    }

    pub fn link(&self, at: &str, target: &str) -> Result<(), TemplateError> {
        let path = self.place(at)?;
        symlink(target, &path).map_err(TemplateError::file("linking", &path))
    }

    /// A folder of data files with its subfolders and the links between them.
    pub fn data_folder(&self, from: &Path, to: &str) -> Result<(), TemplateError> {
        self.folder(to)?;
        for entry in fs::read_dir(from).map_err(TemplateError::file("reading", from))? {
            let entry = entry.map_err(TemplateError::file("reading", from))?;
            let (source, target) = (entry.path(), format!("{to}/{}", entry.file_name().to_string_lossy()));
            let kind = entry.file_type().map_err(TemplateError::file("reading", &source))?;
            if kind.is_dir() {
                self.data_folder(&source, &target)?;
            } else if source.is_file() {
                self.data(&source, &target)?;
            }
        }
        Ok(())
    }

    /// Sets the mode of data files that another program wrote into a folder.
    pub fn data_modes(&self, folder: &str) -> Result<(), TemplateError> {
        let path = self.at(folder);
        for entry in fs::read_dir(&path).map_err(TemplateError::file("reading", &path))? {
            self.mode(&entry.map_err(TemplateError::file("reading", &path))?.path(), DATA)?;
        }
        Ok(())
    }

    /// Sets a folder's modification time.
    pub fn date(&self, folder: &str, time: SystemTime) -> Result<(), TemplateError> {
        let path = self.at(folder);
        let dated = File::open(&path).and_then(|folder| folder.set_modified(time));
        dated.map_err(TemplateError::file("dating", &path))
    }

    fn copy(&self, from: &Path, to: &str, mode: u32) -> Result<(), TemplateError> {
        let path = self.place(to)?;
        if !path.exists() {
            fs::copy(from, &path).map_err(TemplateError::file("copying", from))?;
            self.mode(&path, mode)?;
        }
        Ok(())
    }

    fn place(&self, path: &str) -> Result<PathBuf, TemplateError> {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.folder(folder)?;
        }
        Ok(self.at(path))
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn mode(&self, path: &Path, mode: u32) -> Result<(), TemplateError> {
        fs::set_permissions(path, Permissions::from_mode(mode))
            .map_err(TemplateError::file("setting the mode of", path))
    }
}
