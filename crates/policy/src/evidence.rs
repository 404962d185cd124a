//! Evidence: the facts that a finding rests on.

use serde::Serialize;

/// A fact that a finding rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    pub fact: &'static str,
    pub value: String,
}

impl Evidence {
    pub(crate) fn new(fact: &'static str, value: &str) -> Evidence {
        const LONGEST: usize = 120;
        let mut value: String = value.chars().take(LONGEST + 1).collect();
        if value.chars().count() > LONGEST {
            value.pop();
            value.push('…');
        }
        Evidence { fact, value }
    }
}
