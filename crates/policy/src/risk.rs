//! How much harm an action can do, and what is done about it.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    Low,
    Medium,
    High,
    Critical,
}

impl Risk {
    pub const ALL: [Risk; 4] = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical];

    pub fn as_str(self) -> &'static str {
        match self {
            Risk::Low => "low",
            Risk::Medium => "medium",
            Risk::High => "high",
            Risk::Critical => "critical",
        }
    }

    pub fn parse(text: &str) -> Option<Risk> {
        Risk::ALL.into_iter().find(|risk| risk.as_str() == text)
    }
}

/// What happens to an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    Allow,
    /// A person decides.
    Ask,
    Deny,
}

impl Effect {
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Allow => "allow",
            Effect::Ask => "ask",
            Effect::Deny => "deny",
        }
    }
}

/// What the operator wants done about a risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Allow,
    /// Allowed on a trusted domain and in a session that has nothing to lose; asked everywhere else.
    Trusted,
    Ask,
    Deny,
}

/// What is done about each risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    pub low: Level,
    pub medium: Level,
    pub high: Level,
    pub critical: Level,
}

impl Default for Levels {
    fn default() -> Levels {
        Levels { low: Level::Allow, medium: Level::Trusted, high: Level::Ask, critical: Level::Ask }
    }
}

impl Levels {
    /// The same for every risk.
    pub fn all(level: Level) -> Levels {
        Levels { low: level, medium: level, high: level, critical: level }
    }

    pub fn of(&self, risk: Risk) -> Level {
        match risk {
            Risk::Low => self.low,
            Risk::Medium => self.medium,
            Risk::High => self.high,
            Risk::Critical => self.critical,
        }
    }
}
