//! The policy: the operator's settings, ready to decide by.

use crate::Settings;
use std::sync::Arc;

/// What the operator allows.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub(crate) settings: Arc<Settings>,
}

impl Policy {
    pub fn new(settings: Settings) -> Policy {
        Policy { settings: Arc::new(settings) }
    }
}
