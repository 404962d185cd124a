//! The filtering forward proxy that is a session's only way out, and its ledger.
//!
//! Each session has a socket of its own, so a connection needs no header to say whose it is. Names are
//! resolved here, every address is checked, and the address that was checked is the one connected to.
//! Nothing else leaves a jail.

mod address;
mod connect;
mod exchange;
mod headers;
mod hosts;
mod ledger;
mod meter;
mod options;
mod reason;
mod resolve;
mod rules;
mod server;
#[cfg(test)]
mod tests;

pub use address::AddressRange;
pub use hosts::{HostMap, HostMapError};
pub use ledger::{EgressFailure, EgressOutcome, LedgerEntry, LedgerSnapshot};
pub use options::Options;
pub use reason::Reason;
pub use rules::Rules;
pub use server::{Egress, serve};
