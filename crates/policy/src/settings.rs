//! What the operator set, as the policy reads it.

use crate::{CustomRule, DomainPattern, Levels};

#[derive(Clone, Debug)]
pub struct Settings {
    pub levels: Levels,
    /// False turns asking into denying, never into allowing.
    pub asks: bool,
    pub trusted: Vec<DomainPattern>,
    /// Sensitive beats trusted.
    pub sensitive: Vec<DomainPattern>,
    /// The only domains that may be gone to, if there is such a list.
    pub allowlist: Option<Vec<DomainPattern>>,
    /// Where a signed-in session stays: leaving asks, whatever the allowlist says.
    pub home: Option<Vec<DomainPattern>>,
    /// The operator's own rules; each can make an action riskier, none less so.
    pub rules: Vec<CustomRule>,
    /// Whether typed text that looks like a credential is refused.
    pub credential_scan: bool,
}

/// What is sensitive unless the operator says otherwise.
pub const SENSITIVE: [&str; 3] = ["gmail.com", "mail.google.com", "admin.*"];

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            levels: Levels::default(),
            asks: true,
            trusted: Vec::new(),
            sensitive: SENSITIVE.into_iter().filter_map(DomainPattern::parse).collect(),
            allowlist: None,
            home: None,
            rules: Vec::new(),
            credential_scan: true,
        }
    }
}

/// Whether a session carries somebody's credentials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It carries none, and has nothing to lose.
    #[default]
    Clean,
    /// It is signed in for the operator.
    Operator,
}

/// What the session adds to what the operator set.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    pub mode: Mode,
    /// Domains off the allowlist, or away from home, that a person let this session go to.
    pub domains: Vec<DomainPattern>,
    /// The sites whose logins a signed-in session has: it leaves them by a person's word only.
    pub home: Option<Vec<DomainPattern>>,
}
