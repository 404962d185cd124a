//! Reads settings from the file, an override or a default, and keeps the origin of each.
//!
//! A [`Section`] records each key that is read, so the schema is written once: a key of the file that was never read is
//! unknown. Errors are collected and reading continues with the default, so that one run reports all of them; the caller
//! gets settings only if there were none.

use crate::config::error::ConfigError;
use crate::config::values::DisplayValue;
use crate::config::yaml::{Node, NodeContent};
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;

/// Settings that are read from one section of the file.
pub trait ReadSection {
    fn read(section: &mut Section) -> Self;
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueOrigin {
    Default,
    File {
        file: PathBuf,
        line: usize,
    },
    /// A command line flag, such as `--set` or `--listen`.
    Flag(&'static str),
}

impl ValueOrigin {
    pub fn line(&self) -> Option<usize> {
        match self {
            ValueOrigin::File { line, .. } => Some(*line),
            ValueOrigin::Default | ValueOrigin::Flag(_) => None,
        }
    }
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueOrigin::Default => f.write_str("default"),
            ValueOrigin::File { file, line } => write!(f, "{}:{line}", file.display()),
            ValueOrigin::Flag(flag) => f.write_str(flag),
        }
    }
}

impl Serialize for ValueOrigin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A value from a flag; it replaces the file's.
#[derive(Debug)]
pub struct Override {
    pub(super) key: String,
    pub(super) node: Rc<Node>,
    pub(super) origin: ValueOrigin,
}

/// One setting in force.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    pub key: String,
    pub value: Value,
    pub default: Value,
    pub origin: ValueOrigin,
    /// False for a key that is validated but has no effect in this version.
    pub in_use: bool,
}

pub(super) struct SettingsReader<'a> {
    file: PathBuf,
    overrides: &'a [Override],
    pub(super) settings: Vec<Setting>,
    pub(super) problems: Vec<ConfigError>,
}

impl<'a> SettingsReader<'a> {
    pub(super) fn new(file: PathBuf, overrides: &'a [Override]) -> SettingsReader<'a> {
        SettingsReader { file, overrides, settings: Vec::new(), problems: Vec::new() }
    }

    /// Reads the whole tree, then reports keys that were never read.
    pub(super) fn read<T>(&mut self, root: Option<&Node>, read: impl FnOnce(&mut Section) -> T) -> T {
        let mut unknown = Vec::new();
        let value = Section::read(self, String::new(), root, &mut unknown, read);
        for given in self.overrides {
            if !self.settings.iter().any(|setting| setting.key == given.key) {
                unknown.push((given.key.clone(), given.origin.clone()));
            }
        }
        for (key, origin) in unknown {
            let nearest = nearest(&key, self.settings.iter().map(|setting| setting.key.as_str()));
            self.problems.push(ConfigError::UnknownKey { key, origin, nearest });
        }
        value
    }

    fn at(&self, line: usize) -> ValueOrigin {
        ValueOrigin::File { file: self.file.clone(), line }
    }
}

/// One map of settings being read.
pub(super) struct Section<'s, 'a> {
    reader: &'s mut SettingsReader<'a>,
    unknown: &'s mut Vec<(String, ValueOrigin)>,
    path: String,
    node: Option<&'s Node>,
    asked: Vec<&'static str>,
}

impl<'a> Section<'_, 'a> {
    fn read<T>(
        reader: &mut SettingsReader<'a>,
        path: String,
        node: Option<&Node>,
        unknown: &mut Vec<(String, ValueOrigin)>,
        read: impl FnOnce(&mut Section) -> T,
    ) -> T {
        let node = node.filter(|node| !node.is_null());
        let node = match node {
            Some(node) if !matches!(node.content, NodeContent::Map(_)) => {
                reader.problems.push(ConfigError::Value {
                    key: if path.is_empty() { "(the whole file)".to_owned() } else { path.clone() },
                    origin: reader.at(node.line),
                    found: node.describe(),
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

    /// Reads a setting.
    pub(super) fn get<T: DisplayValue>(
        &mut self,
        key: &'static str,
        default: T,
        parse: impl Fn(&Node) -> Result<T, String>,
    ) -> T {
        self.read_setting(key, default, true, parse)
    }

    /// Reads a setting that is validated but has no effect yet.
    pub(super) fn get_unused<T: DisplayValue>(
        &mut self,
        key: &'static str,
        default: T,
        parse: impl Fn(&Node) -> Result<T, String>,
    ) -> T {
        self.read_setting(key, default, false, parse)
    }

    pub(super) fn section<T>(&mut self, key: &'static str, read: impl FnOnce(&mut Section) -> T) -> T {
        self.asked.push(key);
        let node = self.field(key);
        let path = self.join(key);
        Section::read(self.reader, path, node.as_deref(), self.unknown, read)
    }

    /// Reports a valid value that conflicts with another setting.
    pub(super) fn report_conflict(&mut self, key: &'static str, expected: String) {
        let path = self.join(key);
        let Some(setting) = self.reader.settings.iter().find(|setting| setting.key == path) else { return };
        let found =
            format!("'{}'", setting.value.as_str().map_or_else(|| setting.value.to_string(), str::to_owned));
        let origin = setting.origin.clone();
        self.reader.problems.push(ConfigError::Value { key: path, origin, found, expected });
    }

    fn read_setting<T: DisplayValue>(
        &mut self,
        key: &'static str,
        default: T,
        in_use: bool,
        parse: impl Fn(&Node) -> Result<T, String>,
    ) -> T {
        self.asked.push(key);
        let path = self.join(key);
        // The last flag for a key wins.
        let given = self.reader.overrides.iter().rev().find(|given| given.key == path);
        let found = match given {
            Some(given) => Some((Rc::clone(&given.node), given.origin.clone())),
            None => self.field(key).map(|node| {
                let origin = self.reader.at(node.line);
                (node, origin)
            }),
        };
        let shown_default = default.display_value();
        let (value, origin) = match found {
            None => (default, ValueOrigin::Default),
            Some((node, origin)) => match parse(&node) {
                Ok(value) => (value, origin),
                Err(expected) => {
                    let found = node.describe();
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
        self.reader.settings.push(Setting {
            key: path,
            value: value.display_value(),
            default: shown_default,
            origin,
            in_use,
        });
        value
    }

    fn field(&self, key: &str) -> Option<Rc<Node>> {
        let NodeContent::Map(fields) = &self.node?.content else { return None };
        fields.iter().find(|field| field.key == key).map(|field| Rc::clone(&field.value))
    }

    fn find_unknown(self) {
        let Some(Node { content: NodeContent::Map(fields), .. }) = self.node else { return };
        for field in fields.iter().filter(|field| !self.asked.contains(&field.key.as_str())) {
            self.unknown.push((self.join(&field.key), self.reader.at(field.line)));
        }
    }

    fn join(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// The known key or section that `unknown` probably stands for: the most similar name, then the most similar path.
fn nearest<'k>(unknown: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    const ALIKE: f64 = 0.5;
    let name = last_segment(unknown);
    known
        .flat_map(with_parent_sections)
        .map(|path| {
            let by_name = strsim::normalized_damerau_levenshtein(name, last_segment(path));
            (path, by_name, strsim::normalized_damerau_levenshtein(unknown, path))
        })
        .filter(|(_, by_name, _)| *by_name >= ALIKE)
        .max_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2)))
        .map(|(path, ..)| path.to_owned())
}

fn last_segment(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn with_parent_sections(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('.').map(|(section, _)| section))
}
