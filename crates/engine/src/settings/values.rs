//! Value types of settings.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::net::SocketAddr;
use std::time::Duration;

/// A whole number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub u32);

impl Seconds {
    pub fn duration(self) -> Duration {
        Duration::from_secs(self.0.into())
    }
}

/// A number of bytes, written like `512m` or `1g`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u64);

impl Size {
    /// From small to large; `k` is 1,024 bytes, as for Docker and for S1's `512m`.
    const UNITS: [(char, u64); 3] = [('k', 1 << 10), ('m', 1 << 20), ('g', 1 << 30)];

    pub const fn mib(count: u64) -> Size {
        Size(count << 20)
    }

    pub const fn kib(count: u64) -> Size {
        Size(count << 10)
    }

    pub fn bytes(self) -> u64 {
        self.0
    }

    pub fn parse(text: &str) -> Option<Size> {
        let lower = text.to_ascii_lowercase();
        let unit = Size::UNITS.iter().find(|(letter, _)| lower.ends_with(*letter));
        let (digits, factor) = match unit {
            Some((letter, factor)) => (lower.trim_end_matches(*letter), *factor),
            None => (lower.trim_end_matches('b'), 1),
        };
        // Exactly one unit letter: `512mm` is a typo.
        if lower.len() - digits.len() > 1 {
            return None;
        }
        digits
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| digits.parse::<u64>().ok())??
            .checked_mul(factor)
            .map(Size)
    }
}

impl Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |factor: &u64| self.0 > 0 && self.0.is_multiple_of(*factor);
        match Size::UNITS.iter().rev().find(|(_, factor)| fits(factor)) {
            Some((letter, factor)) => write!(f, "{}{letter}", self.0 / factor),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Recording mode of sessions (S2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    Off,
    Transient,
    Audit,
}

/// Which sites clean sessions reach (S4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EgressMode {
    Open,
    Allowlist,
}

/// Headless Chromium or a virtual display (S4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenKind {
    Headless,
    Xvfb,
}

/// The only network a jail can have; the type exists so that the key can be read and checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    Isolated,
}

/// The credential backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VaultBackend {
    Vault,
    Sops,
    Env,
    Store,
}

/// Login method of a vault server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvLogin {
    Token,
    AppRole,
    Kubernetes,
}

/// Location of the master key of our own table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MasterKeyPlace {
    File,
    Keyring,
    Env,
}

/// Format of audit images: WebP is small, PNG is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    Webp,
    Png,
}

/// What a webhook takes: our own signed JSON, or the message of a push or chat service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookFormat {
    Stockade,
    Ntfy,
    Slack,
    Telegram,
}

/// Host names with fixed addresses, set by the operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(pub BTreeMap<String, SocketAddr>);
