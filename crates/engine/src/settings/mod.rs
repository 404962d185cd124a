//! Settings of the control plane, as typed values. Reading them from a file is the caller's job.

mod credentials;
mod values;

pub use credentials::{Credentials, KvServer, Sops, StandingGrant, StoreSettings};
pub use values::{
    EgressMode, Hosts, KvLogin, MasterKeyPlace, Network, PictureFormat, Recording, ScreenKind, Seconds, Size,
    VaultBackend, WebhookFormat,
};

use crate::approvals::ApprovalSettings;
use policy::{CustomRule, DomainPattern, ImageFormat, RiskResponse, RiskResponses};
use std::net::SocketAddr;
use std::time::Duration;

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
    /// Sustained number of CPUs: 0.5 is half of one.
    pub cpu_shares: f64,
    /// CPU time that a session can save, and has when it opens.
    pub cpu_credit: Seconds,
    /// Maximum number of CPUs at once while there is credit; all if absent.
    pub cpu_burst: Option<f64>,
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
    /// Whether the shipped list of banks, payment services, mail and cloud consoles is sensitive, too.
    pub well_known_sensitive: bool,
    /// The reaction to each risk level.
    pub levels: RiskResponses,
    /// The reaction to a medium risk in a clean session on a domain that is not trusted (S1 asks there).
    pub medium_on_new_domain: RiskResponse,
    /// The operator's own rules, in S1's form.
    pub rules: Vec<ApprovalRule>,
    /// A question without an answer in this time is denied.
    pub approval_timeout: Seconds,
    /// How long the same is refused without asking, after an operator denied it; 0 asks again at once.
    pub denial_stands: Seconds,
    pub webhook: Webhook,
    /// Questions of one session per minute. Further ones are denied without asking.
    pub approvals_per_minute: u32,
    /// Number of consecutive failures after which a session pauses for guidance (S4); 0, the default, turns this off.
    pub failures_before_pause: u32,
}

/// A rule of the operator's, and how long its questions wait.
#[derive(Clone, Debug)]
pub struct ApprovalRule {
    pub rule: CustomRule,
    /// `approval_timeout` if absent.
    pub timeout: Option<Seconds>,
}

/// A program or a service that receives questions. With a shared secret, deliveries are signed and it may answer.
#[derive(Clone, Debug)]
pub struct Webhook {
    pub url: Option<String>,
    /// A file of mode 0600 with the address, where that is a secret itself.
    pub url_file: Option<String>,
    pub format: WebhookFormat,
    /// A file of mode 0600 with the shared secret. Our own format needs one.
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
            rules: self.hitl.rules.iter().map(|one| one.rule.clone()).collect(),
            credential_scan: self.credential_scan,
            well_known_sensitive: self.hitl.well_known_sensitive,
            medium_on_new_domain: self.hitl.medium_on_new_domain,
        }
    }

    /// How long a question by this rule waits. Custom rules may say so; all others wait for the usual time.
    pub fn approval_timeout(&self, rule: &str) -> Duration {
        let own = self.hitl.rules.iter().find(|one| one.rule.name == rule).and_then(|one| one.timeout);
        own.unwrap_or(self.hitl.approval_timeout).duration()
    }

    /// The settings of approvals.
    pub fn approvals(&self) -> ApprovalSettings {
        ApprovalSettings {
            timeout: self.hitl.approval_timeout.duration(),
            most_a_minute: self.hitl.approvals_per_minute,
            rule_timeouts: self
                .hitl
                .rules
                .iter()
                .filter_map(|one| Some((one.rule.name.clone(), one.timeout?.duration())))
                .collect(),
        }
    }
}
