//! Reads settings from a tree, an override or a default, and keeps where each came from.
//!
//! A [`Section`] learns its keys by being asked for them, so the schema is written once: what was in the
//! file and never asked for is unknown. Problems are gathered, and reading goes on with the default, so
//! that one run names them all; a caller gets settings only if there was none.

use crate::config::error::ConfigError;
use crate::config::values::Shown;
use crate::config::yaml::{Kind, Node};
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;

/// Settings that are read from one section of the file.
pub trait ReadSection {
    fn read(section: &mut Section) -> Self;
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File {
        file: PathBuf,
        line: usize,
    },
    /// A command line flag, such as `--set` or `--listen`.
    Flag(&'static str),
}

impl Origin {
    pub fn line(&self) -> Option<usize> {
        match self {
            Origin::File { line, .. } => Some(*line),
            Origin::Default | Origin::Flag(_) => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { file, line } => write!(f, "{}:{line}", file.display()),
            Origin::Flag(flag) => f.write_str(flag),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A value that a flag puts in place of the file's.
#[derive(Debug)]
pub struct Override {
    pub(super) key: String,
    pub(super) node: Rc<Node>,
    pub(super) origin: Origin,
}

/// One setting as it is in force.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    pub key: String,
    pub value: Value,
    pub default: Value,
    pub origin: Origin,
    /// False for a key that is accepted and checked, but that nothing acts on in this version.
    pub in_use: bool,
}

pub(super) struct Reader<'a> {
    file: PathBuf,
    overrides: &'a [Override],
    pub(super) entries: Vec<Entry>,
    pub(super) problems: Vec<ConfigError>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: PathBuf, overrides: &'a [Override]) -> Reader<'a> {
        Reader { file, overrides, entries: Vec::new(), problems: Vec::new() }
    }

    /// Reads the whole tree, then looks for keys that nobody asked for.
    pub(super) fn read<T>(&mut self, root: Option<&Node>, read: impl FnOnce(&mut Section) -> T) -> T {
        let mut unknown = Vec::new();
        let value = Section::read(self, String::new(), root, &mut unknown, read);
        for given in self.overrides {
            if !self.entries.iter().any(|entry| entry.key == given.key) {
                unknown.push((given.key.clone(), given.origin.clone()));
            }
        }
        for (key, origin) in unknown {
            let nearest = nearest(&key, self.entries.iter().map(|entry| entry.key.as_str()));
            self.problems.push(ConfigError::UnknownKey { key, origin, nearest });
        }
        value
    }

    fn at(&self, line: usize) -> Origin {
        Origin::File { file: self.file.clone(), line }
    }
}

/// One map of settings while it is being read.
pub(super) struct Section<'s, 'a> {
    reader: &'s mut Reader<'a>,
    unknown: &'s mut Vec<(String, Origin)>,
    path: String,
    node: Option<&'s Node>,
    asked: Vec<&'static str>,
}

impl<'a> Section<'_, 'a> {
    fn read<T>(
        reader: &mut Reader<'a>,
        path: String,
        node: Option<&Node>,
        unknown: &mut Vec<(String, Origin)>,
        read: impl FnOnce(&mut Section) -> T,
    ) -> T {
        let node = node.filter(|node| !node.is_null());
        let node = match node {
            Some(node) if !matches!(node.kind, Kind::Map(_)) => {
                reader.problems.push(ConfigError::Value {
                    key: if path.is_empty() { "(the whole file)".to_owned() } else { path.clone() },
                    origin: reader.at(node.line),
                    found: node.in_words(),
                    expected: "a map of settings".to_owned(),
                });
                None
            }
            other => other,
        };
        let mut section = Section { reader, unknown, path, node, asked: Vec::new() };
        let value = read(&mut section);
        section.find_unknown();
        value
    }

    /// A setting that is in force.
    pub(super) fn get<T: Shown>(
        &mut self,
        key: &'static str,
        default: T,
        parse: impl Fn(&Node) -> Result<T, String>,
    ) -> T {
        self.take(key, default, true, parse)
    }

    /// A setting that is accepted and checked, but that nothing acts on yet.
    pub(super) fn later<T: Shown>(
        &mut self,
        key: &'static str,
        default: T,
        parse: impl Fn(&Node) -> Result<T, String>,
    ) -> T {
        self.take(key, default, false, parse)
    }

    pub(super) fn section<T>(&mut self, key: &'static str, read: impl FnOnce(&mut Section) -> T) -> T {
        self.asked.push(key);
        let node = self.field(key);
        let path = self.join(key);
        Section::read(self.reader, path, node.as_deref(), self.unknown, read)
    }

    /// Says that a value, fine by itself, does not go with another.
    pub(super) fn clash(&mut self, key: &'static str, expected: String) {
        let path = self.join(key);
        let Some(entry) = self.reader.entries.iter().find(|entry| entry.key == path) else { return };
        let found =
            format!("'{}'", entry.value.as_str().map_or_else(|| entry.value.to_string(), str::to_owned));
        let origin = entry.origin.clone();
        self.reader.problems.push(ConfigError::Value { key: path, origin, found, expected });
    }

    fn take<T: Shown>(
        &mut self,
        key: &'static str,
        default: T,
        in_use: bool,
        parse: impl Fn(&Node) -> Result<T, String>,
    ) -> T {
        self.asked.push(key);
        let path = self.join(key);
        // The last of several flags for one key wins, as on any command line.
        let given = self.reader.overrides.iter().rev().find(|given| given.key == path);
        let found = match given {
            Some(given) => Some((Rc::clone(&given.node), given.origin.clone())),
            None => self.field(key).map(|node| {
                let origin = self.reader.at(node.line);
                (node, origin)
            }),
        };
        let shown_default = default.shown();
        let (value, origin) = match found {
            None => (default, Origin::Default),
            Some((node, origin)) => match parse(&node) {
                Ok(value) => (value, origin),
                Err(expected) => {
                    let found = node.in_words();
                    let key = path.clone();
                    self.reader.problems.push(ConfigError::Value {
                        key,
                        origin: origin.clone(),
                        found,
                        expected,
                    });
                    (default, origin)
                }
            },
        };
        self.reader.entries.push(Entry {
            key: path,
            value: value.shown(),
            default: shown_default,
            origin,
            in_use,
        });
        value
    }

    fn field(&self, key: &str) -> Option<Rc<Node>> {
        let Kind::Map(fields) = &self.node?.kind else { return None };
        fields.iter().find(|field| field.key == key).map(|field| Rc::clone(&field.value))
    }

    fn find_unknown(self) {
        let Some(Node { kind: Kind::Map(fields), .. }) = self.node else { return };
        for field in fields.iter().filter(|field| !self.asked.contains(&field.key.as_str())) {
            self.unknown.push((self.join(&field.key), self.reader.at(field.line)));
        }
    }

    fn join(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// The known key or section that `unknown` was probably meant to be: one of a like name, and of those the
/// one in the likest place.
fn nearest<'k>(unknown: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    const ALIKE: f64 = 0.5;
    let name = last(unknown);
    known
        .flat_map(and_its_sections)
        .map(|path| {
            let by_name = strsim::normalized_damerau_levenshtein(name, last(path));
            (path, by_name, strsim::normalized_damerau_levenshtein(unknown, path))
        })
        .filter(|(_, by_name, _)| *by_name >= ALIKE)
        .max_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2)))
        .map(|(path, ..)| path.to_owned())
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn and_its_sections(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('.').map(|(section, _)| section))
}
