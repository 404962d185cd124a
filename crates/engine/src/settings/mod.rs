//! Settings of the control plane, as typed values. Reading them from a file is the caller's job.

mod credentials;
mod values;

pub use credentials::{Credentials, KvServer, Sops, StandingGrant, StoreSettings};
pub use values::{
    EgressMode, Hosts, KvLogin, MasterKeyPlace, Network, PictureFormat, Recording, ScreenKind, Seconds, Size,
    VaultBackend,
};

use crate::approvals::ApprovalSettings;
use policy::{CustomRule, DomainPattern, ImageFormat, RiskResponses};
use std::net::SocketAddr;

/// The settings under `security.browser`.
#[derive(Clone, Debug)]
pub struct Config {
    pub enabled: bool,
    /// Default lifetime of a session.
    pub session_timeout: Seconds,
    pub max_actions_per_session: u32,
    pub max_concurrent_sessions: u32,
    /// Maximum lifetime of a session (S3).
    pub max_session_minutes: u32,
    pub action_timeout: Seconds,
    /// Interval of the health check. A browser that does not answer ends its session (S4).
    pub health_interval: Seconds,
    pub recording: Recording,
    /// Minimum recording mode, whatever a session requests.
    pub recording_floor: Recording,
    /// Whether agents may read a page's cleaned HTML (S2).
    pub read_dom: bool,
    /// Allowlist of domains for navigation; all if absent (S4).
    pub domain_allowlist: Option<Vec<DomainPattern>>,
    /// Whether typed text that looks like a credential is refused (S4).
    pub credential_scan: bool,
    pub runtime_restart_attempts: u32,
    pub runtime_warmup_on_start: bool,
    /// How long bundles are kept (S3).
    pub artifacts_retention_days: u32,
    /// Maximum size of recordings and bundles together. The oldest are removed first.
    pub artifacts_max_size: Size,
    pub bridge_token_seconds: Seconds,
    pub container_image: String,
    pub container_name_prefix: String,
    pub container: Container,
    pub credentials: Credentials,
    pub snapshot: SnapshotSettings,
    pub hitl: Hitl,
    pub egress: Egress,
    pub server: Server,
    pub audit: Audit,
    pub screenshot: ScreenshotSettings,
}

#[derive(Clone, Debug)]
pub struct Container {
    pub memory_limit: Size,
    /// Number of CPUs: 0.5 is half of one.
    pub cpu_shares: f64,
    pub network: Network,
    /// Processes and threads together.
    pub pids: u32,
    pub open_files: u32,
    pub tmp_size: Size,
    pub shm_size: Size,
    pub display: ScreenKind,
    /// Start even where limits cannot be enforced. Weaker, and reported as such.
    pub weaker_limits: bool,
    /// Parent cgroup of jails; detected if absent.
    pub cgroup_parent: Option<String>,
}

#[derive(Clone, Debug)]
pub struct SnapshotSettings {
    /// Give secret fields no ref. Their values are never included.
    pub exclude_password_fields: bool,
    pub exclude_hidden_elements: bool,
    pub max_depth: u32,
    /// Include form field values in snapshots.
    pub values: bool,
}

#[derive(Clone, Debug)]
pub struct Hitl {
    /// If false, actions that need an approval are denied, never allowed.
    pub enabled: bool,
    pub trusted_domains: Vec<DomainPattern>,
    pub sensitive_domains: Vec<DomainPattern>,
    /// The reaction to each risk level.
    pub levels: RiskResponses,
    /// The operator's own rules, in S1's form.
    pub rules: Vec<CustomRule>,
    /// A question without an answer in this time is denied.
    pub approval_timeout: Seconds,
    pub webhook: Webhook,
    /// Questions of one session per minute. Further ones are denied without asking.
    pub approvals_per_minute: u32,
    /// Number of consecutive failures after which a session pauses for guidance (S4); 0, the default, turns this off.
    pub failures_before_pause: u32,
}

/// A program that receives questions and may answer them; off unless both are set.
#[derive(Clone, Debug)]
pub struct Webhook {
    pub url: Option<String>,
    /// A file of mode 0600 with the shared secret.
    pub secret_file: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Egress {
    pub hosts: Hosts,
    /// Whether clean sessions reach every public site, or those of the two lists below.
    pub mode: EgressMode,
    /// Sites whose pages may be opened.
    pub allow: Vec<DomainPattern>,
    /// Sites that pages may load from, besides those whose pages may be opened.
    pub allow_resources: Vec<DomainPattern>,
    pub limits: EgressLimits,
    pub upstream: UpstreamSettings,
    /// A PEM file of certificate authorities that are trusted besides the machine's.
    pub ca_file: Option<String>,
}

/// Limits of one session's traffic.
#[derive(Clone, Debug)]
pub struct EgressLimits {
    pub max_connections: u32,
    pub max_bytes_down: Size,
    pub max_bytes_up: Size,
    /// Per second and direction.
    pub bandwidth: Size,
    /// To one host.
    pub requests_per_second: u32,
}

/// The proxy between this machine and the internet.
#[derive(Clone, Debug)]
pub struct UpstreamSettings {
    /// `http://host:port` or `socks5://host:port`.
    pub url: Option<String>,
    /// A file of mode 0600 with `user:password`.
    pub login_file: Option<String>,
    /// A credential of the default tenant whose basic auth is the login.
    pub credential: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Server {
    /// Always a loopback address.
    pub listen: SocketAddr,
    /// Require no bearer key on loopback.
    pub open: bool,
    /// The console's public URL behind the operator's reverse proxy, for example for a phone.
    pub console_url: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Audit {
    /// The key that signs the log; in the state folder if absent.
    pub key_file: Option<String>,
    pub segment_size: Size,
    pub max_size: Size,
    pub retention_days: u32,
    pub image_retention_days: u32,
    pub image_format: PictureFormat,
    pub anchor: Anchor,
}

/// Targets for signed heads besides the log.
#[derive(Clone, Debug)]
pub struct Anchor {
    pub file: Option<String>,
    pub syslog: bool,
    pub webhook: Option<String>,
    /// How often, while the log grows.
    pub interval: Seconds,
}

#[derive(Clone, Debug)]
pub struct ScreenshotSettings {
    pub format: ImageFormat,
    /// Maximum width times height of a screenshot.
    pub max_pixels: u32,
    /// Maximum number of kept images of a session.
    pub ring: u32,
}

/// Whether a text is the address of an upstream proxy.
pub fn is_upstream_proxy(text: &str) -> bool {
    egress::UpstreamProxy::parse(text).is_ok()
}

impl Config {
    /// The policy's settings.
    pub fn policy(&self) -> policy::Settings {
        policy::Settings {
            responses: self.hitl.levels,
            asks: self.hitl.enabled,
            trusted: self.hitl.trusted_domains.clone(),
            sensitive: self.hitl.sensitive_domains.clone(),
            allowlist: self.domain_allowlist.clone(),
            rules: self.hitl.rules.clone(),
            credential_scan: self.credential_scan,
        }
    }

    /// The settings of approvals.
    pub fn approvals(&self) -> ApprovalSettings {
        ApprovalSettings {
            timeout: self.hitl.approval_timeout.duration(),
            most_a_minute: self.hitl.approvals_per_minute,
        }
    }
}
