//! Code that the bridge and the control plane share: the token format and the protocol between them.
//!
//! The in-jail program itself is the `stockade-bridge` binary of this crate. It has no logic about
//! pages and holds no secret.

pub mod token;
pub mod wire;
