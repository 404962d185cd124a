//! Reasons for refused and failed requests, each with a stable code, a message and a hint.

use crate::{AddressRange, CertificateFault};
use error_code::ErrorCode;
use serde::Serialize;

/// Why a request was refused, or why it failed. Its [`code`](Reason::code) never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Every address of the host is one that a session may not reach.
    Address(AddressRange),
    /// The name itself means this machine or a cloud's metadata.
    Name(AddressRange),
    /// A port that no website uses and others suffer from.
    Port,
    /// The session is signed in, and this is none of its sites.
    NotHome,
    /// The session has a list of sites, and this is none of them.
    NotListed,
    /// The host fetches other sites on request, and the session's list does not name it exactly.
    Relay,
    /// More requests a second to one host than a session may make.
    TooManyRequests,
    /// The session has sent or received as many bytes as it may.
    ByteLimit,
    /// The session has all the connections open that it may have.
    TooManyConnections,
    /// Not a request that a browser sends to a proxy.
    Malformed,
    HostNotFound,
    LookupTimeout,
    /// The operator's upstream proxy cannot be reached, or does not take us.
    UpstreamProxy,
    ConnectTimeout,
    ConnectionRefused,
    Unreachable,
    /// The site took the connection and closed it before it answered in full.
    ConnectionLost,
    /// What the site sent is not HTTP, or its head is too large.
    BadAnswer,
    /// The certificate of a sealed origin is not to be trusted.
    TlsUntrusted(CertificateFault),
    /// Nothing moved for as long as the session allows.
    Idle,
    /// The gate decided that a request must not leave, with a code of its own.
    EffectRefused(&'static str),
    /// A request that has to be decided on has a larger body than is held.
    EffectTooLarge,
    /// The session holds as many requests, or bytes of them, as it may.
    EffectsFull,
    /// The body of a request that has to be decided on did not arrive, or not in time.
    EffectIncomplete,
    /// The body of a request that has to be decided on is coded and cannot be decoded.
    EffectUnreadable,
    /// A permit was for other bytes than the ones that were held.
    EffectMismatch,
    /// The browser gave a request up while it was held.
    EffectWithdrawn,
}

impl Reason {
    pub fn code(self) -> ErrorCode {
        match self {
            Reason::Address(_) | Reason::Name(_) | Reason::Port => ErrorCode::EgressRefused,
            Reason::NotHome => ErrorCode::EgressNotHome,
            Reason::NotListed => ErrorCode::EgressNotListed,
            Reason::Relay => ErrorCode::EgressRelay,
            Reason::TooManyRequests => ErrorCode::EgressRateLimited,
            Reason::ByteLimit => ErrorCode::EgressByteLimit,
            Reason::UpstreamProxy => ErrorCode::EgressUpstreamFailed,
            Reason::TooManyConnections => ErrorCode::EgressBusy,
            Reason::Malformed => ErrorCode::EgressMalformed,
            Reason::HostNotFound => ErrorCode::HostNotFound,
            Reason::LookupTimeout => ErrorCode::HostLookupTimeout,
            Reason::ConnectTimeout => ErrorCode::ConnectTimeout,
            Reason::ConnectionRefused => ErrorCode::ConnectionRefused,
            Reason::Unreachable => ErrorCode::HostUnreachable,
            Reason::ConnectionLost => ErrorCode::ConnectionLost,
            Reason::BadAnswer => ErrorCode::BadAnswer,
            Reason::TlsUntrusted(_) => ErrorCode::TlsUntrusted,
            Reason::Idle => ErrorCode::ConnectionIdle,
            Reason::EffectRefused(name) => ErrorCode::parse(name).unwrap_or(ErrorCode::DeniedByPolicy),
            Reason::EffectTooLarge => ErrorCode::EffectTooLarge,
            Reason::EffectsFull => ErrorCode::EffectsFull,
            Reason::EffectIncomplete => ErrorCode::EffectIncomplete,
            Reason::EffectUnreadable => ErrorCode::EffectUnreadable,
            Reason::EffectMismatch => ErrorCode::EffectMismatch,
            Reason::EffectWithdrawn => ErrorCode::EffectWithdrawn,
        }
    }

    /// For an agent: it names the host that was asked for, never the address it leads to.
    pub fn message(self, host: &str, port: u16) -> String {
        match self {
            Reason::Address(range) | Reason::Name(range) => {
                format!("{host} resolves to {}, which a session may not reach", range.label())
            }
            Reason::Port => format!("a session may not reach port {port}"),
            Reason::NotHome => {
                format!("{host} is not one of the sites that this signed-in session was granted")
            }
            Reason::NotListed => format!("{host} (port {port}) is not on this session's list of sites"),
            Reason::Relay => {
                format!("{host} fetches other sites on request, and this session is kept to a list of sites")
            }
            Reason::TooManyRequests => {
                format!("the session sends {host} more requests a second than allowed")
            }
            Reason::ByteLimit => "the session has sent or received as many bytes as it may".to_owned(),
            Reason::UpstreamProxy => {
                format!("the upstream proxy did not connect to {host}")
            }
            Reason::TooManyConnections => {
                "the session has as many connections open as it may have".to_owned()
            }
            Reason::Malformed => "the browser sent something that is not a request to a proxy".to_owned(),
            Reason::HostNotFound => format!("there is no host named {host}"),
            Reason::LookupTimeout => format!("looking up {host} took too long"),
            Reason::ConnectTimeout => format!("{host} did not answer on port {port} in time"),
            Reason::ConnectionRefused => format!("{host} refuses connections on port {port}"),
            Reason::Unreachable => format!("{host} cannot be reached from here"),
            Reason::ConnectionLost => format!("{host} closed the connection before it had answered"),
            Reason::BadAnswer => format!("{host} answered with something that is not HTTP"),
            Reason::TlsUntrusted(fault) => {
                format!("{host} is not trusted: its certificate {}", fault.label())
            }
            Reason::Idle => format!("nothing came from {host} for too long"),
            Reason::EffectRefused(_) => format!("a request to {host} that may change something was refused"),
            Reason::EffectTooLarge => {
                format!("a request to {host} that needs a decision is larger than the proxy can hold")
            }
            Reason::EffectsFull => {
                format!("a request to {host} needs a decision, and too many others already wait")
            }
            Reason::EffectIncomplete => {
                format!("a request to {host} that needs a decision did not arrive completely")
            }
            Reason::EffectUnreadable => {
                format!("a request to {host} that needs a decision is compressed and cannot be read")
            }
            Reason::EffectMismatch => format!("a request to {host} is not the one that was permitted"),
            Reason::EffectWithdrawn => {
                format!("the page cancelled a request to {host} before it was decided")
            }
        }
    }

    pub fn hint(self) -> &'static str {
        match self {
            Reason::Address(_) | Reason::Name(_) => {
                "Only public addresses can be reached. If the site is trusted, the operator can name it under security.browser.egress.hosts."
            }
            Reason::Port => {
                "Use the site's web port. The operator can name a trusted host and port under security.browser.egress.hosts."
            }
            Reason::NotHome => {
                "Navigate to its address: that asks a person. The operator can add domains under security.browser.credentials.egress."
            }
            Reason::NotListed => {
                "Navigate to its address: that asks a person. The operator can add it under security.browser.egress.allow, or under egress.allow_resources if pages only load from it."
            }
            Reason::Relay => {
                "Open the site itself. The operator can name this host exactly in the session's list."
            }
            Reason::TooManyRequests => {
                "Wait a few seconds, then try again. security.browser.egress.requests_per_second sets the limit."
            }
            Reason::ByteLimit => {
                "Open a new session. security.browser.egress.max_bytes_down and max_bytes_up set the limits."
            }
            Reason::UpstreamProxy => {
                "Try again. If it fails again, the operator should check security.browser.egress.upstream."
            }
            Reason::TooManyConnections => "Close pages that are not needed, or open a new session.",
            Reason::Malformed => "Use an http: or https: address with a plain host name.",
            Reason::HostNotFound => {
                "Check the spelling of the host name. If it is right, this machine's name server may not know it."
            }
            Reason::LookupTimeout => {
                "Try again. If it fails again, this machine's name server does not answer."
            }
            Reason::ConnectTimeout | Reason::Unreachable => {
                "Try again later. If it fails again, the site is down or blocks this network."
            }
            Reason::ConnectionRefused => "Check the port. If it is right, nothing is being served there.",
            Reason::ConnectionLost => {
                "Try again. Do not repeat an order or a payment before checking for it."
            }
            Reason::BadAnswer => "Check the address: https: may be needed instead of http:, or another port.",
            Reason::TlsUntrusted(_) => {
                "Nothing was sent. If the site has an authority of its own, the operator can name its certificate file."
            }
            Reason::Idle => "Try again. If it fails again, the site is too slow to use.",
            Reason::EffectRefused(_) => {
                "Nothing was sent. Do not try another way. Tell the person that this step needs them."
            }
            Reason::EffectTooLarge => {
                "Nothing was sent. Send less at once, or ask the person to do this step."
            }
            Reason::EffectsFull => "Nothing was sent. Wait until the open questions are answered.",
            Reason::EffectIncomplete => "Nothing was sent. Try again.",
            Reason::EffectUnreadable => "Nothing was sent. Ask the person to do this step.",
            Reason::EffectMismatch => "Nothing was sent. This is a fault of Stockade: please report it.",
            Reason::EffectWithdrawn => "Nothing was sent. Read the page to see where it is now.",
        }
    }

    /// Whether our rules said no, rather than the network.
    pub(crate) fn is_refusal(self) -> bool {
        match self {
            Reason::Address(_)
            | Reason::Name(_)
            | Reason::Port
            | Reason::NotHome
            | Reason::NotListed
            | Reason::Relay
            | Reason::TooManyRequests
            | Reason::ByteLimit
            | Reason::TooManyConnections
            | Reason::Malformed
            | Reason::EffectRefused(_)
            | Reason::EffectTooLarge
            | Reason::EffectsFull
            | Reason::EffectIncomplete
            | Reason::EffectUnreadable
            | Reason::EffectMismatch
            | Reason::EffectWithdrawn => true,
            Reason::HostNotFound
            | Reason::UpstreamProxy
            | Reason::LookupTimeout
            | Reason::ConnectTimeout
            | Reason::ConnectionRefused
            | Reason::Unreachable
            | Reason::ConnectionLost
            | Reason::BadAnswer
            | Reason::TlsUntrusted(_)
            | Reason::Idle => false,
        }
    }

    /// Whether the same request may work later with nothing changed.
    pub fn retryable(self) -> bool {
        match self {
            Reason::Address(_)
            | Reason::Name(_)
            | Reason::Port
            | Reason::NotHome
            | Reason::NotListed
            | Reason::Relay
            | Reason::ByteLimit
            | Reason::Malformed
            | Reason::HostNotFound
            | Reason::TlsUntrusted(_)
            | Reason::BadAnswer
            | Reason::EffectRefused(_)
            | Reason::EffectTooLarge
            | Reason::EffectUnreadable
            | Reason::EffectMismatch => false,
            Reason::EffectsFull
            | Reason::EffectIncomplete
            | Reason::EffectWithdrawn
            | Reason::TooManyConnections
            | Reason::TooManyRequests
            | Reason::UpstreamProxy
            | Reason::LookupTimeout
            | Reason::ConnectTimeout
            | Reason::ConnectionRefused
            | Reason::Unreachable
            | Reason::ConnectionLost
            | Reason::Idle => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_code_and_a_next_step() {
        for (reason, code) in [
            (Reason::Port, "egress_refused"),
            (Reason::NotHome, "egress_not_home"),
            (Reason::NotListed, "egress_not_listed"),
            (Reason::Relay, "egress_relay"),
            (Reason::TooManyRequests, "egress_rate_limited"),
            (Reason::ByteLimit, "egress_byte_limit"),
            (Reason::UpstreamProxy, "egress_upstream_failed"),
            (Reason::TooManyConnections, "egress_busy"),
            (Reason::Malformed, "egress_malformed"),
            (Reason::HostNotFound, "host_not_found"),
            (Reason::LookupTimeout, "host_lookup_timeout"),
            (Reason::ConnectTimeout, "connect_timeout"),
            (Reason::ConnectionRefused, "connection_refused"),
            (Reason::Unreachable, "host_unreachable"),
            (Reason::ConnectionLost, "connection_lost"),
            (Reason::BadAnswer, "bad_answer"),
            (Reason::TlsUntrusted(CertificateFault::Expired), "tls_untrusted"),
            (Reason::Idle, "connection_idle"),
            (Reason::EffectRefused("denied_by_operator"), "denied_by_operator"),
            (Reason::EffectRefused("of another version"), "denied_by_policy"),
            (Reason::EffectTooLarge, "effect_too_large"),
            (Reason::EffectsFull, "effects_full"),
            (Reason::EffectIncomplete, "effect_incomplete"),
            (Reason::EffectUnreadable, "effect_unreadable"),
            (Reason::EffectMismatch, "effect_mismatch"),
            (Reason::EffectWithdrawn, "effect_withdrawn"),
        ] {
            assert_eq!(reason.code().to_string(), code);
            assert!(!reason.hint().is_empty() && !reason.message("a.test", 80).is_empty(), "{code}");
        }
    }
}
