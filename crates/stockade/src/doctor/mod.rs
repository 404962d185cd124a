//! What works on this machine, what does not, and the exact command that mends it.

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
    /// It works, but less well than it could.
    Hint,
    /// It does not work, or is weaker than it should be.
    Bad,
}

#[derive(Clone, Debug, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub verdict: Verdict,
    pub found: String,
    /// The code of what is wrong, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

impl Check {
    fn good(name: &'static str, found: impl Into<String>) -> Check {
        Check { name, verdict: Verdict::Good, found: found.into(), code: None, mend: None }
    }

    fn hint(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Check {
        Check { name, verdict: Verdict::Hint, found: found.into(), code: None, mend: Some(mend.into()) }
    }

    fn bad(name: &'static str, fault: engine::error::Fault) -> Check {
        let mend = (!fault.hint.is_empty()).then_some(fault.hint);
        Check { name, verdict: Verdict::Bad, found: fault.message, code: Some(fault.code), mend }
    }
}

/// Looks at everything; blocks for a second or two. Changes nothing.
pub fn examine(
    config: &Config,
    backend: Result<Arc<dyn RuntimeBackend>, Fault>,
    state: &State,
) -> Vec<Check> {
    let mut checks = vec![checks::kernel()];
    checks.extend(checks::runtime(backend));
    checks.extend(checks::disk(state));
    checks.push(checks::memory());
    checks.push(checks::port(config, state));
    checks
}
