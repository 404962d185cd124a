//! Metadata of a credential that can be listed without opening it.

use super::{CredentialId, GrantScope, Host};
use jiff::Timestamp;

/// The public part of a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub id: CredentialId,
    /// Only our own table knows it without opening the credential.
    pub domain: Option<Host>,
    pub grant_scope: Option<GrantScope>,
    pub created_at: Option<Timestamp>,
    pub last_refreshed_at: Option<Timestamp>,
    pub last_injected_at: Option<Timestamp>,
}

impl Summary {
    pub(crate) fn of(id: CredentialId) -> Summary {
        Summary {
            id,
            domain: None,
            grant_scope: None,
            created_at: None,
            last_refreshed_at: None,
            last_injected_at: None,
        }
    }
}
