//! Access: how much of what a session does on its granted sites needs no question.

use redact::RedactedFields;
use serde::{Deserialize, Serialize};

/// What an operator granted together with a login.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, RedactedFields)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Every effect asks.
    Read,
    /// Ordinary effects pass. What destroys, pays, reaches people or hands out power asks.
    #[default]
    Write,
    /// Only critical effects ask.
    Full,
}

impl Access {
    pub const ALL: [Access; 3] = [Access::Read, Access::Write, Access::Full];

    pub fn as_str(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Full => "full",
        }
    }

    pub fn parse(text: &str) -> Option<Access> {
        Access::ALL.into_iter().find(|access| access.as_str() == text)
    }
}
