//! Risks, and how the operator responds to each.

use redact::RedactedFields;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, RedactedFields)]
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

/// The kind of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecisionKind {
    Allow,
    /// An operator decides.
    Ask,
    Deny,
}

impl DecisionKind {
    pub fn as_str(self) -> &'static str {
        match self {
            DecisionKind::Allow => "allow",
            DecisionKind::Ask => "ask",
            DecisionKind::Deny => "deny",
        }
    }
}

/// The response to a risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RiskResponse {
    Allow,
    /// Allow on trusted domains and in clean sessions; ask everywhere else.
    Trusted,
    Ask,
    Deny,
}

/// The response to each risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RiskResponses {
    pub low: RiskResponse,
    pub medium: RiskResponse,
    pub high: RiskResponse,
    pub critical: RiskResponse,
}

impl Default for RiskResponses {
    fn default() -> RiskResponses {
        RiskResponses {
            low: RiskResponse::Allow,
            medium: RiskResponse::Trusted,
            high: RiskResponse::Ask,
            critical: RiskResponse::Ask,
        }
    }
}

impl RiskResponses {
    /// The same response to every risk.
    pub fn all(response: RiskResponse) -> RiskResponses {
        RiskResponses { low: response, medium: response, high: response, critical: response }
    }

    pub fn of(&self, risk: Risk) -> RiskResponse {
        match risk {
            Risk::Low => self.low,
            Risk::Medium => self.medium,
            Risk::High => self.high,
            Risk::Critical => self.critical,
        }
    }
}
