//! The control plane: gate pipeline, sessions, approvals, logins, recordings and storage.

pub mod approvals;
pub mod control;
mod egress_setup;
pub mod error;
pub mod gate;
pub mod html;
pub mod logins;
pub mod memory;
pub mod post;
pub mod provider;
pub mod random;
pub mod record;
#[cfg(test)]
#[path = "../../stockade/tests/common/seen.rs"]
mod seen;
pub mod session;
pub mod settings;
pub mod state;
pub mod stop;
pub mod storage;
