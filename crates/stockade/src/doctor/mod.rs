//! Checks of this machine, each with the command that fixes what it finds.

mod checks;
pub mod leak;

use crate::config::Config;
use engine::error::Fault;
use engine::state::State;
use error_code::ErrorCode;
use jail::RuntimeBackend;
use serde::Serialize;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Good,
    /// Works, but could be better.
    Hint,
    /// Does not work, or is weaker than it should be.
    Bad,
}

#[derive(Clone, Debug, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub verdict: Verdict,
    pub found: String,
    /// The error code, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The same as `fix`, under its older name.
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

impl Check {
    fn new(
        name: &'static str,
        verdict: Verdict,
        found: String,
        code: Option<ErrorCode>,
        fix: Option<String>,
    ) -> Check {
        Check { name, verdict, found, code, mend: fix.clone(), fix }
    }

    fn good(name: &'static str, found: impl Into<String>) -> Check {
        Check::new(name, Verdict::Good, found.into(), None, None)
    }

    fn hint(name: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Check {
        Check::new(name, Verdict::Hint, found.into(), None, Some(fix.into()))
    }

    fn bad(name: &'static str, fault: Fault) -> Check {
        let fix = (!fault.hint.is_empty()).then(|| fault.hint.into_string());
        Check::new(name, Verdict::Bad, fault.message.into_string(), Some(fault.code), fix)
    }
}

/// Runs all checks. Blocks for a second or two and changes nothing.
pub fn examine(
    config: &Config,
    backend: Result<Arc<dyn RuntimeBackend>, Fault>,
    state: &State,
) -> Vec<Check> {
    let mut checks = vec![checks::kernel()];
    checks.extend(checks::runtime(backend));
    checks.extend(checks::disk(state));
    checks.push(checks::memory());
    checks.push(checks::sealing(config, state));
    checks.push(checks::port(config, state));
    checks
}
