//! The filtering forward proxy that is a session's only way out, and its ledger.
//!
//! Each session has a socket of its own, so a connection needs no header to say whose it is. Names are
//! resolved here, every address is checked, and the address that was checked is the one connected to.
//! Nothing else leaves a jail.
//!
//! For the origins of a session's sealed credentials TLS ends here: the browser holds placeholders, and they are
//! swapped for the secrets on their way to the site, where the secrets belong.
//!
//! A request of such an origin that may change something leaves only when the session's [`audit::EffectGate`] has decided on
//! its whole bytes.

mod address;
mod channel;
mod connect;
mod dial;
mod exchange;
mod headers;
mod hosts;
mod intercept;
mod ledger;
mod limiter;
mod meter;
mod options;
mod own_addresses;
mod reason;
mod resolve;
mod rules;
mod seal;
mod server;
#[cfg(test)]
mod tests;
mod tls;
mod upstream;

pub use address::AddressRange;
pub use hosts::{HostMap, HostMapError};
pub use intercept::Interception;
pub use ledger::{
    EgressFailure, EgressOutcome, InterceptedRequest, LedgerBatch, LedgerEntry, LedgerSnapshot,
};
pub use options::Options;
pub use own_addresses::own_addresses;
pub use reason::Reason;
pub use rules::{RequestedSite, Rules};
pub use seal::{
    PlaceKind, PlaceholderPlace, Seal, SealScope, SealedCookie, SealedCredential, SealedHeader, SealedValue,
    WebScheme,
};
pub use server::{Egress, LedgerJournal, serve};
pub use tls::{AuthorityError, CertificateFault, JailAuthority, UpstreamTls, UpstreamTlsError};
pub use upstream::{ProxyLogin, UpstreamProxy, UpstreamProxyError};
