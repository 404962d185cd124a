//! Settings of the control plane, as typed values. Reading them from a file is the caller's job.

mod credentials;
mod values;

pub use credentials::{Credentials, KvServer, Sops, StandingGrant, StoreSettings};
pub use values::{
    Hosts, KvLogin, MasterKeyPlace, Network, PictureFormat, Recording, ScreenKind, Seconds, Size,
    VaultBackend,
};

use crate::approvals::ApprovalSettings;
use policy::{CustomRule, DomainPattern, ImageFormat, RiskResponses};
use std::net::SocketAddr;

/// What stands under `security.browser`.
#[derive(Clone, Debug)]
pub struct Config {
    pub enabled: bool,
    /// How long a session lives unless it is opened for less.
    pub session_timeout: Seconds,
    pub max_actions_per_session: u32,
    pub max_concurrent_sessions: u32,
    /// The longest life that a session can be given (S3).
    pub max_session_minutes: u32,
    pub action_timeout: Seconds,
    /// How often an idle browser is asked for a sign of life; one that gives none ends its session (S4).
    pub health_interval: Seconds,
    pub recording: Recording,
    /// No session keeps less than this, whatever it asks for.
    pub recording_floor: Recording,
    /// Whether agents may read a page's cleaned HTML (S2).
    pub read_dom: bool,
    /// The only domains that may be gone to, if there is such a list (S4).
    pub domain_allowlist: Option<Vec<DomainPattern>>,
    /// Whether typed text that looks like a credential is refused (S4).
    pub credential_scan: bool,
    pub runtime_restart_attempts: u32,
    pub runtime_warmup_on_start: bool,
    /// How long bundles are kept (S3).
    pub artifacts_retention_days: u32,
    /// Recordings and bundles together; the oldest go first.
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
    /// In processors: 0.5 is half of one.
    pub cpu_shares: f64,
    pub network: Network,
    /// Processes and threads together.
    pub pids: u32,
    pub open_files: u32,
    pub tmp_size: Size,
    pub shm_size: Size,
    pub display: ScreenKind,
    /// Start even where limits cannot be enforced. Weaker, and said to be so.
    pub weaker_limits: bool,
    /// The cgroup under which jails are put; found by itself if absent.
    pub cgroup_parent: Option<String>,
}

#[derive(Clone, Debug)]
pub struct SnapshotSettings {
    /// Whether a secret field has no ref; its value is told in no case.
    pub exclude_password_fields: bool,
    pub exclude_hidden_elements: bool,
    pub max_depth: u32,
    /// Whether what fields hold is told at all.
    pub values: bool,
}

#[derive(Clone, Debug)]
pub struct Hitl {
    /// False turns asking into denying, never into allowing.
    pub enabled: bool,
    pub trusted_domains: Vec<DomainPattern>,
    pub sensitive_domains: Vec<DomainPattern>,
    /// What is done about each risk.
    pub levels: RiskResponses,
    /// The operator's own rules, in S1's form.
    pub rules: Vec<CustomRule>,
    /// What nobody answers in this time is denied.
    pub approval_timeout: Seconds,
    pub webhook: Webhook,
    /// What one session may ask within a minute; more is denied unseen.
    pub approvals_per_minute: u32,
    /// After so many failures in a row a session waits for guidance (S4); 0 turns that off.
    pub failures_before_pause: u32,
}

/// A program that is told of questions and may answer them; off unless both are set.
#[derive(Clone, Debug)]
pub struct Webhook {
    pub url: Option<String>,
    /// A file of mode 0600 with the secret that both ends have.
    pub secret_file: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Egress {
    pub hosts: Hosts,
}

#[derive(Clone, Debug)]
pub struct Server {
    /// Always a loopback address.
    pub listen: SocketAddr,
    /// No bearer key is asked for on loopback.
    pub open: bool,
    /// Where a proxy of the operator's leads to the console from elsewhere, a phone for one.
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

/// Where signed heads are put beside the log.
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
    /// Width times height of the largest picture that is taken.
    pub max_pixels: u32,
    /// How many pictures of a session are kept to be fetched.
    pub ring: u32,
}

impl Config {
    /// What the policy decides by.
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

    /// How people are asked.
    pub fn approvals(&self) -> ApprovalSettings {
        ApprovalSettings {
            timeout: self.hitl.approval_timeout.duration(),
            most_a_minute: self.hitl.approvals_per_minute,
        }
    }
}
