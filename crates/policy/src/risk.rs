//! How much harm an action can do, from what kind of action it is.

use crate::Action;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    Low,
    Medium,
    High,
    Critical,
}

impl Risk {
    pub fn as_str(self) -> &'static str {
        match self {
            Risk::Low => "low",
            Risk::Medium => "medium",
            Risk::High => "high",
            Risk::Critical => "critical",
        }
    }
}

impl Action {
    /// The least that any action of this kind has: looking is low, what can change something is medium.
    pub fn risk(&self) -> Risk {
        match self {
            Action::Navigate(_)
            | Action::Click(_)
            | Action::Drag(_)
            | Action::Type(_)
            | Action::Press(_)
            | Action::Select(_)
            | Action::Check(_)
            | Action::Dialog(_) => Risk::Medium,
            Action::Back
            | Action::Forward
            | Action::Reload
            | Action::Hover(_)
            | Action::Scroll(_)
            | Action::WaitFor(_)
            | Action::Read(_)
            | Action::ReadDom(_)
            | Action::Find(_)
            | Action::Screenshot(_)
            | Action::Tabs(_) => Risk::Low,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_is_low_and_changing_is_not() {
        assert_eq!(Action::Reload.risk().as_str(), "low");
        assert!(Action::Click(crate::Click::on(crate::Target::Focused)).risk() > Risk::Low);
    }
}
