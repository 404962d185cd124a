//! Every setting: its name, its default and what it may be.
//!
//! S1's keys keep S1's names, meanings and defaults; S2's, S3's, S4's and ours stand beside them. Read
//! with [`Section::later`], a key is checked and shown although nothing acts on it in this version.

use crate::config::reader::{ReadSection, Section};
use crate::config::rules::rules;
use crate::config::values::{
    choice, domains, fraction, hosts, https_address, loopback_address, number, optional, seconds, size, text,
    truth, webhook,
};
use engine::settings::{
    Anchor, Audit, Config, Container, Credentials, Egress, Hitl, Hosts, Network, PictureFormat, Recording,
    ScreenKind, ScreenshotSettings, Seconds, Server, Size, SnapshotSettings, Webhook,
};
use policy::{ImageFormat, RiskResponse, RiskResponses};
use std::net::{Ipv4Addr, SocketAddr};

const DAY: u32 = 24 * 60 * 60;

/// Reads a whole configuration file.
pub(super) fn read_root(root: &mut Section) -> Config {
    root.section("security", |security| security.section("browser", Config::read))
}

impl ReadSection for Config {
    fn read(s: &mut Section) -> Config {
        let enabled = s.get("enabled", true, truth);
        // S3 calls this one deprecated: there is no way to run without a jail.
        s.later("runtime_required", true, truth);
        let config = Config {
            enabled,
            session_timeout: s.get("session_timeout", Seconds(300), seconds(1..=DAY)),
            max_actions_per_session: s.get("max_actions_per_session", 100, number(1..=1_000_000)),
            max_concurrent_sessions: s.get("max_concurrent_sessions", 5, number(1..=1000)),
            max_session_minutes: s.get("max_session_minutes", 60, number(1..=DAY / 60)),
            action_timeout: s.get("action_timeout", Seconds(30), seconds(1..=120)),
            health_interval: s.get("health_interval", Seconds(15), seconds(1..=3600)),
            recording: s.get("recording", Recording::Transient, choice),
            recording_floor: s.get("recording_floor", Recording::Off, choice),
            read_dom: s.get("read_dom", false, truth),
            domain_allowlist: s.get("domain_allowlist", None, optional(domains)),
            credential_scan: s.get("credential_scan", true, truth),
            runtime_restart_attempts: s.get("runtime_restart_attempts", 2, number(0..=10)),
            runtime_warmup_on_start: s.later("runtime_warmup_on_start", false, truth),
            artifacts_retention_days: s.get("artifacts_retention_days", 7, number(1..=3650)),
            artifacts_max_size: s.get(
                "artifacts_max_size",
                Size::mib(4096),
                size(Size::mib(1)..=Size::mib(1024 * 1024)),
            ),
            bridge_token_seconds: s.get("bridge_token_seconds", Seconds(60), seconds(1..=60)),
            container_image: s.later("container_image", "stockade-browser".to_owned(), image_name()),
            container_name_prefix: s.later("container_name_prefix", "stockade-".to_owned(), image_name()),
            container: s.section("container", Container::read),
            credentials: s.section("credentials", Credentials::read),
            snapshot: s.section("snapshot", SnapshotSettings::read),
            hitl: s.section("hitl", Hitl::read),
            egress: s.section("egress", |s| Egress { hosts: s.get("hosts", Hosts::default(), hosts) }),
            server: s.section("server", Server::read),
            audit: s.section("audit", Audit::read),
            screenshot: s.section("screenshot", ScreenshotSettings::read),
        };
        let longest = config.max_session_minutes * 60;
        if config.session_timeout.0 > longest {
            s.clash("session_timeout", format!("at most {longest} seconds, by 'max_session_minutes',"));
        }
        config
    }
}

impl ReadSection for Container {
    fn read(s: &mut Section) -> Container {
        let container = Container {
            memory_limit: s.get("memory_limit", Size::mib(512), size(Size::mib(128)..=Size::mib(64 * 1024))),
            cpu_shares: s.get("cpu_shares", 0.5, fraction(0.05..=256.0)),
            network: s.get("network", Network::Isolated, choice),
            pids: s.get("pids", 1024, number(64..=65_536)),
            open_files: s.get("open_files", 1024, number(256..=65_536)),
            tmp_size: s.get("tmp_size", Size::mib(128), size(Size::mib(16)..=Size::mib(16 * 1024))),
            shm_size: s.get("shm_size", Size::mib(64), size(Size::mib(16)..=Size::mib(16 * 1024))),
            display: s.get("display", ScreenKind::Headless, choice),
            weaker_limits: s.get("weaker_limits", false, truth),
            cgroup_parent: s.get("cgroup_parent", None, optional(cgroup_path)),
        };
        let writable = container.tmp_size.bytes() + container.shm_size.bytes();
        // A tmpfs that can outgrow the limit would end in the browser's death instead of a full disk.
        if writable >= container.memory_limit.bytes() {
            s.clash("memory_limit", "more than 'tmp_size' and 'shm_size' together".to_owned());
        }
        container
    }
}

impl ReadSection for SnapshotSettings {
    fn read(s: &mut Section) -> SnapshotSettings {
        SnapshotSettings {
            exclude_password_fields: s.get("exclude_password_fields", true, truth),
            exclude_hidden_elements: s.get("exclude_hidden_elements", true, truth),
            max_depth: s.get("max_depth", 10, number(1..=100)),
            values: s.get("values", true, truth),
        }
    }
}

impl ReadSection for Hitl {
    fn read(s: &mut Section) -> Hitl {
        // S1's file trusts two sites as an example. Trust is the operator's to give, so none is the default;
        // S1's sensitive ones make nothing looser, and stay.
        let levels = RiskResponses::default();
        Hitl {
            enabled: s.get("enabled", true, truth),
            trusted_domains: s.get("trusted_domains", Vec::new(), domains),
            sensitive_domains: s.get("sensitive_domains", policy::Settings::default().sensitive, domains),
            levels: RiskResponses {
                low: s.get("low", levels.low, choice::<RiskResponse>),
                medium: s.get("medium", levels.medium, choice),
                high: s.get("high", levels.high, choice),
                critical: s.get("critical", levels.critical, choice),
            },
            rules: s.get("rules", Vec::new(), rules),
            webhook: s.section("webhook", Webhook::read),
            approval_timeout: s.get("approval_timeout", Seconds(30), seconds(1..=3600)),
            approvals_per_minute: s.get("approvals_per_minute", 5, number(1..=60)),
            failures_before_pause: s.get("failures_before_pause", 3, number(0..=100)),
        }
    }
}

impl ReadSection for Webhook {
    fn read(s: &mut Section) -> Webhook {
        let read = Webhook {
            url: s.get("url", None, optional(webhook)),
            secret_file: s.get("secret_file", None, optional(absolute_path)),
        };
        match (&read.url, &read.secret_file) {
            (Some(_), None) => s.clash("secret_file", "a file, because 'url' is set,".to_owned()),
            (None, Some(_)) => s.clash("url", "an address, because 'secret_file' is set,".to_owned()),
            _ => {}
        }
        read
    }
}

impl ReadSection for Server {
    fn read(s: &mut Section) -> Server {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 7700));
        Server {
            listen: s.get("listen", listen, loopback_address),
            open: s.get("open", false, truth),
            console_url: s.get("console_url", None, optional(https_address)),
        }
    }
}

impl ReadSection for Audit {
    fn read(s: &mut Section) -> Audit {
        let large = Size::mib(1024 * 1024);
        let audit = Audit {
            key_file: s.get("key_file", None, optional(absolute_path)),
            segment_size: s.get("segment_size", Size::mib(16), size(Size::kib(64)..=Size::mib(1024))),
            max_size: s.get("max_size", Size::mib(1024), size(Size::mib(1)..=large)),
            retention_days: s.get("retention_days", 365, number(1..=36_500)),
            image_retention_days: s.get("image_retention_days", 7, number(1..=3650)),
            image_format: s.get("image_format", PictureFormat::Webp, choice),
            anchor: s.section("anchor", |s| Anchor {
                file: s.get("file", None, optional(absolute_path)),
                syslog: s.get("syslog", false, truth),
                webhook: s.get("webhook", None, optional(webhook)),
                interval: s.get("interval", Seconds(60), seconds(1..=DAY)),
            }),
        };
        if audit.segment_size.bytes() * 2 > audit.max_size.bytes() {
            s.clash("max_size", "at least twice 'segment_size'".to_owned());
        }
        audit
    }
}

impl ReadSection for ScreenshotSettings {
    fn read(s: &mut Section) -> ScreenshotSettings {
        ScreenshotSettings {
            format: s.get("format", ImageFormat::Png, choice),
            max_pixels: s.get("max_pixels", 11_000_000, number(100_000..=11_000_000)),
            ring: s.get("ring", 50, number(1..=1000)),
        }
    }
}

/// What container engines accept in an image's or a container's name.
fn image_name() -> impl Fn(&crate::config::yaml::Node) -> Result<String, String> {
    text(
        128,
        |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@'),
        "a name of letters, digits and - _ . / : @",
    )
}

/// A file of this machine, from its root: a control plane may be started anywhere.
pub(super) fn absolute_path(node: &crate::config::yaml::Node) -> Result<String, String> {
    let expected = "an absolute path";
    let path = text(4096, |_| true, expected)(node)?;
    if path.starts_with('/') { Ok(path) } else { Err(expected.to_owned()) }
}

/// A path below the cgroup mount: it goes into file names, so `..` stays out.
fn cgroup_path(node: &crate::config::yaml::Node) -> Result<String, String> {
    let expected = "a cgroup path of letters, digits and - _ . @ : /, without '..',";
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@');
    let path = text(512, allowed, expected)(node)?;
    if path.split('/').any(|part| part == "..") { Err(expected.to_owned()) } else { Ok(path) }
}
