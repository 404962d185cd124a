//! How a tool's arguments name an element.

use super::bad_arguments;
use crate::error::Fault;
use policy::Target;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
pub struct TargetArguments {
    /// ARIA role of the element, such as button, link, textbox or searchbox; not needed with ref
    #[serde(default)]
    role: Option<String>,
    /// Accessible name of the element, as the snapshot shows it
    #[serde(default)]
    name: Option<String>,
    /// Which one, counting from 0, when several match
    #[serde(default)]
    index: Option<usize>,
    /// Ref of the element from a snapshot, such as e12; instead of role and name
    #[serde(default, rename = "ref")]
    reference: Option<String>,
}

impl TargetArguments {
    pub fn target(self, tool: &str) -> Result<Target, Fault> {
        match (self.reference, self.role) {
            (Some(reference), None) if self.name.is_none() && self.index.is_none() => {
                Ok(Target::Ref(reference))
            }
            (Some(_), _) => {
                Err(bad_arguments(tool, "name the element by ref, or by role, name and index, not both"))
            }
            (None, Some(role)) => Ok(Target::Role {
                role: role.to_ascii_lowercase(),
                name: self.name,
                index: self.index.unwrap_or(0),
            }),
            (None, None) => Err(bad_arguments(tool, "name the element: its ref, or its role and name")),
        }
    }
}
