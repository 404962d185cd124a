//! Every setting: name, default and accepted values.
//!
//! S1's keys keep S1's names, meanings and defaults; keys of S2, S3, S4 and our own are added. A key read with
//! [`Section::get_unused`] is validated and shown but has no effect in this version.

use crate::config::reader::{ReadSection, Section};
use crate::config::rules::{LONGEST_WAIT, rules};
use crate::config::values::{
    boolean, choice, domains, fraction, hosts, https_address, loopback_address, number, optional, seconds,
    size, text, upstream_proxy, webhook,
};
use engine::settings::{
    Anchor, Audit, Config, Container, Credentials, Egress, EgressLimits, EgressMode, Hitl, Hosts, Network,
    PictureFormat, Recording, ScreenKind, ScreenshotSettings, Seconds, Server, Size, SnapshotSettings,
    UpstreamSettings, Webhook, WebhookFormat,
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
        let enabled = s.get("enabled", true, boolean);
        // Deprecated in S3: a browser always runs in a jail.
        s.get_unused("runtime_required", true, boolean);
        let max_session_minutes = s.get("max_session_minutes", 60, number(1..=DAY / 60));
        let longest = max_session_minutes * 60;
        let config = Config {
            enabled,
            max_session_minutes,
            // The default gives way to the maximum; a time that was set has to fit.
            session_timeout: s.get("session_timeout", Seconds(longest.min(300)), seconds(1..=DAY)),
            max_actions_per_session: s.get("max_actions_per_session", 100, number(1..=1_000_000)),
            max_concurrent_sessions: s.get("max_concurrent_sessions", 5, number(1..=1000)),
            action_timeout: s.get("action_timeout", Seconds(30), seconds(1..=120)),
            health_interval: s.get("health_interval", Seconds(15), seconds(1..=3600)),
            recording: s.get("recording", Recording::Transient, choice),
            recording_floor: s.get("recording_floor", Recording::Off, choice),
            read_dom: s.get("read_dom", false, boolean),
            domain_allowlist: s.get("domain_allowlist", None, optional(domains)),
            credential_scan: s.get("credential_scan", true, boolean),
            runtime_restart_attempts: s.get("runtime_restart_attempts", 2, number(0..=10)),
            runtime_warmup_on_start: s.get_unused("runtime_warmup_on_start", false, boolean),
            artifacts_retention_days: s.get("artifacts_retention_days", 7, number(1..=3650)),
            artifacts_max_size: s.get(
                "artifacts_max_size",
                Size::mib(4096),
                size(Size::mib(1)..=Size::mib(1024 * 1024)),
            ),
            bridge_token_seconds: s.get("bridge_token_seconds", Seconds(60), seconds(1..=60)),
            container_image: s.get_unused("container_image", "stockade-browser".to_owned(), image_name()),
            container_name_prefix: s.get_unused(
                "container_name_prefix",
                "stockade-".to_owned(),
                image_name(),
            ),
            container: s.section("container", Container::read),
            credentials: s.section("credentials", Credentials::read),
            snapshot: s.section("snapshot", SnapshotSettings::read),
            hitl: s.section("hitl", Hitl::read),
            egress: s.section("egress", Egress::read),
            server: s.section("server", Server::read),
            audit: s.section("audit", Audit::read),
            screenshot: s.section("screenshot", ScreenshotSettings::read),
        };
        if config.session_timeout.0 > longest {
            s.report_conflict(
                "session_timeout",
                format!("at most {longest} seconds, by 'max_session_minutes',"),
            );
        }
        config
    }
}

impl ReadSection for Container {
    fn read(s: &mut Section) -> Container {
        let container = Container {
            memory_limit: s.get("memory_limit", Size::mib(512), size(Size::mib(128)..=Size::mib(64 * 1024))),
            cpu_shares: s.get("cpu_shares", 0.5, fraction(0.05..=256.0)),
            cpu_credit: s.get("cpu_credit", Seconds(30), seconds(0..=3600)),
            cpu_burst: s.get("cpu_burst", None, optional(fraction(0.05..=1024.0))),
            network: s.get("network", Network::Isolated, choice),
            pids: s.get("pids", 1024, number(64..=65_536)),
            open_files: s.get("open_files", 1024, number(256..=65_536)),
            tmp_size: s.get("tmp_size", Size::mib(128), size(Size::mib(16)..=Size::mib(16 * 1024))),
            shm_size: s.get("shm_size", Size::mib(64), size(Size::mib(16)..=Size::mib(16 * 1024))),
            display: s.get("display", ScreenKind::Headless, choice),
            weaker_limits: s.get("weaker_limits", false, boolean),
            cgroup_parent: s.get("cgroup_parent", None, optional(cgroup_path)),
        };
        let writable = container.tmp_size.bytes() + container.shm_size.bytes();
        // A tmpfs larger than the memory limit would kill the browser instead of reporting a full disk.
        if writable >= container.memory_limit.bytes() {
            s.report_conflict("memory_limit", "more than 'tmp_size' and 'shm_size' together".to_owned());
        }
        if container.cpu_burst.is_some_and(|burst| burst < container.cpu_shares) {
            s.report_conflict("cpu_burst", "at least 'cpu_shares'".to_owned());
        }
        container
    }
}

impl ReadSection for SnapshotSettings {
    fn read(s: &mut Section) -> SnapshotSettings {
        SnapshotSettings {
            exclude_password_fields: s.get("exclude_password_fields", true, boolean),
            exclude_hidden_elements: s.get("exclude_hidden_elements", true, boolean),
            max_depth: s.get("max_depth", 10, number(1..=100)),
            values: s.get("values", true, boolean),
        }
    }
}

impl ReadSection for Hitl {
    fn read(s: &mut Section) -> Hitl {
        // S1's example trusts two sites. Only the operator grants trust, so the default is none. S1's sensitive domains
        // only make the policy stricter, so they stay.
        let levels = RiskResponses::default();
        Hitl {
            enabled: s.get("enabled", true, boolean),
            trusted_domains: s.get("trusted_domains", Vec::new(), domains),
            sensitive_domains: s.get("sensitive_domains", policy::Settings::default().sensitive, domains),
            levels: RiskResponses {
                low: s.get("low", levels.low, choice::<RiskResponse>),
                medium: s.get("medium", levels.medium, choice),
                high: s.get("high", levels.high, choice),
                critical: s.get("critical", levels.critical, choice),
            },
            well_known_sensitive: s.get("well_known_sensitive", true, boolean),
            medium_on_new_domain: s.get("medium_on_new_domain", RiskResponse::Allow, choice),
            rules: s.get("rules", Vec::new(), rules),
            webhook: s.section("webhook", Webhook::read),
            approval_timeout: s.get("approval_timeout", Seconds(30), seconds(1..=LONGEST_WAIT)),
            denial_stands: s.get("denial_stands", Seconds(120), seconds(0..=3600)),
            approvals_per_minute: s.get("approvals_per_minute", 5, number(1..=60)),
            failures_before_pause: s.get("failures_before_pause", 0, number(0..=100)),
        }
    }
}

impl ReadSection for Egress {
    fn read(s: &mut Section) -> Egress {
        let large = Size::mib(1024 * 1024);
        let egress = Egress {
            hosts: s.get("hosts", Hosts::default(), hosts),
            mode: s.get("mode", EgressMode::Open, choice),
            allow: s.get("allow", Vec::new(), domains),
            allow_resources: s.get("allow_resources", Vec::new(), domains),
            limits: EgressLimits {
                max_connections: s.get("max_connections", 256, number(8..=4096)),
                max_bytes_down: s.get("max_bytes_down", Size::mib(8 * 1024), size(Size::kib(64)..=large)),
                max_bytes_up: s.get("max_bytes_up", Size::mib(1024), size(Size::kib(64)..=large)),
                bandwidth: s.get("bandwidth", Size::mib(128), size(Size::kib(16)..=large)),
                requests_per_second: s.get("requests_per_second", 200, number(1..=100_000)),
            },
            upstream: UpstreamSettings {
                url: s.get("upstream", None, optional(upstream_proxy)),
                login_file: s.get("upstream_login_file", None, optional(absolute_path)),
                credential: s.get("upstream_credential", None, optional(credential_id)),
            },
            ca_file: s.get("ca_file", None, optional(absolute_path)),
        };
        let UpstreamSettings { url, login_file, credential } = &egress.upstream;
        if url.is_none() && (login_file.is_some() || credential.is_some()) {
            s.report_conflict("upstream", "an address, because there is a login for it,".to_owned());
        }
        if login_file.is_some() && credential.is_some() {
            s.report_conflict(
                "upstream_credential",
                "absent, because 'upstream_login_file' is set,".to_owned(),
            );
        }
        egress
    }
}

impl ReadSection for Webhook {
    fn read(s: &mut Section) -> Webhook {
        let read = Webhook {
            url: s.get("url", None, optional(webhook)),
            url_file: s.get("url_file", None, optional(absolute_path)),
            format: s.get("format", WebhookFormat::Stockade, choice),
            secret_file: s.get("secret_file", None, optional(absolute_path)),
        };
        let has_address = read.url.is_some() || read.url_file.is_some();
        if read.url.is_some() && read.url_file.is_some() {
            s.report_conflict("url_file", "absent, because 'url' is set,".to_owned());
        }
        // Others could send our own format too; a chat service checks no signature.
        if has_address && read.secret_file.is_none() && read.format == WebhookFormat::Stockade {
            s.report_conflict("secret_file", "a file, because 'url' is set,".to_owned());
        }
        if !has_address && (read.secret_file.is_some() || read.format != WebhookFormat::Stockade) {
            s.report_conflict("url", "an address, because another key of 'webhook' is set,".to_owned());
        }
        if read.format == WebhookFormat::Telegram
            && read.url.as_ref().is_some_and(|url| !url.contains("chat_id="))
        {
            s.report_conflict("url", "an address with '?chat_id=', as Telegram's format needs,".to_owned());
        }
        read
    }
}

impl ReadSection for Server {
    fn read(s: &mut Section) -> Server {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 7700));
        Server {
            listen: s.get("listen", listen, loopback_address),
            open: s.get("open", false, boolean),
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
                syslog: s.get("syslog", false, boolean),
                webhook: s.get("webhook", None, optional(webhook)),
                interval: s.get("interval", Seconds(60), seconds(1..=DAY)),
            }),
        };
        if audit.segment_size.bytes() * 2 > audit.max_size.bytes() {
            s.report_conflict("max_size", "at least twice 'segment_size'".to_owned());
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

/// Characters that container engines accept in image and container names.
fn image_name() -> impl Fn(&crate::config::yaml::Node) -> Result<String, String> {
    text(
        128,
        |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@'),
        "a name of letters, digits and - _ . / : @",
    )
}

/// An absolute path: the control plane's working directory varies.
pub(super) fn absolute_path(node: &crate::config::yaml::Node) -> Result<String, String> {
    let expected = "an absolute path";
    let path = text(4096, |_| true, expected)(node)?;
    if path.starts_with('/') { Ok(path) } else { Err(expected.to_owned()) }
}

/// The name of a stored credential.
fn credential_id(node: &crate::config::yaml::Node) -> Result<String, String> {
    let expected = "the name of a credential";
    text(256, |c| !c.is_whitespace(), expected)(node)
}

/// A path below the cgroup mount. It becomes part of file names, so `..` is refused.
fn cgroup_path(node: &crate::config::yaml::Node) -> Result<String, String> {
    let expected = "a cgroup path of letters, digits and - _ . @ : /, without '..',";
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@');
    let path = text(512, allowed, expected)(node)?;
    if path.split('/').any(|part| part == "..") { Err(expected.to_owned()) } else { Ok(path) }
}
