//! Tests of the configuration as a whole: what is accepted, what is refused and how, what wins over what.

use super::*;
use engine::error::Fault;
use policy::{DomainPattern, ImageFormat};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// S1's own file, word for word in its keys and values.
const S1: &str = r#"
security:
  browser:
    enabled: true

    # Session limits
    session_timeout: 300 # 5 minutes
    max_actions_per_session: 100
    max_concurrent_sessions: 5

    container:
      memory_limit: "512m"
      cpu_shares: 0.5
      network: "isolated"

    credentials:
      vault_backend: "vault"
      vault_path: "secrets/browser/"
      auto_inject: true

    snapshot:
      exclude_password_fields: true
      exclude_hidden_elements: true
      max_depth: 10

    hitl:
      enabled: true
      trusted_domains:
        - "github.com"
        - "stackoverflow.com"
      sensitive_domains:
        - "gmail.com"
        - "mail.google.com"
        - "admin.*"
"#;

struct Folder {
    root: tempfile::TempDir,
}

impl Folder {
    fn new() -> Folder {
        Folder { root: tempfile::tempdir().unwrap() }
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let file = self.root.path().join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        file
    }
}

fn load_text(text: impl AsRef<[u8]>, overrides: &[Override]) -> Result<LoadedConfig, ConfigErrors> {
    let folder = Folder::new();
    let file = folder.write("stockade.yaml", text);
    load(&ConfigPaths { flag: Some(file), ..ConfigPaths::default() }, overrides)
}

/// `text` is put under `security.browser`, whose keys begin at line 3.
fn load_browser(text: &str) -> Result<LoadedConfig, ConfigErrors> {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    load_text(format!("security:\n  browser:\n{}\n", lines.join("\n")), &[])
}

fn entry<'l>(loaded: &'l LoadedConfig, key: &str) -> &'l Setting {
    let key = format!("security.browser.{key}");
    loaded.settings.iter().find(|entry| entry.key == key).unwrap_or_else(|| panic!("no {key}"))
}

#[test]
fn the_default_session_timeout_gives_way_to_a_shorter_maximum() {
    for (text, seconds) in [
        ("max_session_minutes: 4", 240),
        ("max_session_minutes: 1", 60),
        ("max_session_minutes: 90", 300),
        ("max_session_minutes: 4\n    session_timeout: 200", 200),
    ] {
        let folder = Folder::new();
        let file = folder.write("a.yaml", format!("security:\n  browser:\n    {text}\n"));
        let loaded = load(&ConfigPaths { flag: Some(file), ..ConfigPaths::default() }, &[]).unwrap();
        assert_eq!(loaded.config.session_timeout.0, seconds, "{text}");
        let shown = loaded.settings.iter().find(|one| one.key == "security.browser.session_timeout").unwrap();
        assert_eq!(shown.value, seconds, "{text}");
    }
}

#[test]
fn the_file_in_s1_is_accepted_with_its_values() {
    let loaded = load_text(S1, &[]).unwrap();
    let config = &loaded.config;
    assert_eq!(config.session_timeout.duration().as_secs(), 300);
    assert_eq!(config.container.memory_limit.bytes(), 512 * 1024 * 1024);
    assert_eq!(config.container.cpu_shares, 0.5);
    assert_eq!(config.credentials.vault_backend, VaultBackend::Vault);
    let trusted: Vec<_> = config.hitl.trusted_domains.iter().map(DomainPattern::as_str).collect();
    assert_eq!(trusted, ["github.com", "stackoverflow.com"]);
    assert_eq!(config.hitl.sensitive_domains[2].as_str(), "admin.*");
}

#[test]
fn every_key_has_the_default_of_the_design() {
    let loaded = load(&ConfigPaths::default(), &[]).unwrap();
    for (key, value) in [
        ("session_timeout", "300"),
        ("max_actions_per_session", "100"),
        ("max_concurrent_sessions", "5"),
        ("container.memory_limit", "\"512m\""),
        ("container.cpu_shares", "0.5"),
        ("container.cpu_credit", "30"),
        ("container.cpu_burst", "null"),
        ("container.network", "\"isolated\""),
        ("container.pids", "1024"),
        ("container.open_files", "1024"),
        ("container.weaker_limits", "false"),
        ("action_timeout", "30"),
        ("recording", "\"transient\""),
        ("screenshot.ring", "50"),
        ("recording_floor", "\"off\""),
        ("artifacts_retention_days", "7"),
        ("audit.image_retention_days", "7"),
        ("audit.segment_size", "\"16m\""),
        ("snapshot.max_depth", "10"),
        ("snapshot.exclude_hidden_elements", "true"),
        ("snapshot.values", "true"),
        ("hitl.approval_timeout", "30"),
        ("hitl.trusted_domains", "[]"),
        ("bridge_token_seconds", "60"),
        ("runtime_restart_attempts", "2"),
        ("server.listen", "\"127.0.0.1:7700\""),
        ("server.open", "false"),
        ("egress.hosts", "{}"),
        ("egress.mode", "\"open\""),
        ("egress.allow", "[]"),
        ("egress.allow_resources", "[]"),
        ("egress.max_connections", "256"),
        ("egress.max_bytes_down", "\"8g\""),
        ("egress.max_bytes_up", "\"1g\""),
        ("egress.bandwidth", "\"128m\""),
        ("egress.requests_per_second", "200"),
        ("egress.upstream", "null"),
        ("egress.ca_file", "null"),
        ("credentials.vault_backend", "\"store\""),
        ("credentials.auto_inject", "true"),
        ("credentials.standing", "[]"),
        ("credentials.grant_lifetime", "900"),
    ] {
        let entry = entry(&loaded, key);
        assert_eq!(
            (entry.value.to_string().as_str(), &entry.origin),
            (value, &ValueOrigin::Default),
            "{key}"
        );
    }
}

#[test]
fn standing_grants_are_read_shown_and_read_again() {
    let written = "credentials:\n  standing:\n  - {actor: claude, hosts: [GitHub.com, \"site:example.org\"]}\n  \
                   - {tenant: team, actor: bot, hosts: [a.test], access: read}\n  egress: [\"*.cdn.test\"]\n  \
                   grant_lifetime: 60";
    let loaded = load_browser(written).unwrap();
    let shown = entry(&loaded, "credentials.standing").value.clone();
    let again = Override::new("--set", "credentials.standing", &shown.to_string()).unwrap();
    for loaded in [&loaded, &load_text("", &[again]).unwrap()] {
        let standing = &loaded.config.credentials.standing;
        let read: Vec<String> = standing
            .iter()
            .map(|one| {
                let hosts: Vec<String> = one.hosts.iter().map(ToString::to_string).collect();
                format!("{}/{}: {}, {}", one.tenant, one.actor, hosts.join(" "), one.access.as_str())
            })
            .collect();
        assert_eq!(read, ["default/claude: github.com site:example.org, write", "team/bot: a.test, read"]);
    }
    let credentials = &loaded.config.credentials;
    assert_eq!((credentials.egress[0].as_str(), credentials.grant_lifetime), ("*.cdn.test", Seconds(60)));
}

#[test]
fn a_rule_may_give_its_questions_more_time() {
    let rules =
        "{name: slow, tools: click, risk: high, timeout: 600}, {name: usual, tools: click, risk: high}";
    let config = load_browser(&format!("hitl: {{rules: [{rules}], approval_timeout: 45}}")).unwrap().config;
    for (rule, seconds) in [("slow", 600), ("usual", 45), ("words.destroy", 45)] {
        assert_eq!(config.approval_timeout(rule).as_secs(), seconds, "{rule}");
    }
}

#[test]
fn our_own_webhook_format_needs_a_secret_and_each_format_an_address() {
    for (webhook, key) in [
        ("{url: \"https://ntfy.test/topic\", format: ntfy}", None),
        ("{url_file: /etc/slack, format: slack}", None),
        ("{url_file: /etc/telegram, format: telegram}", None),
        ("{url: \"https://a.test/\", secret_file: /etc/secret}", None),
        ("{url: \"https://a.test/\"}", Some("secret_file")),
        ("{url_file: /etc/url}", Some("secret_file")),
        ("{secret_file: /etc/secret}", Some("url")),
        ("{format: slack}", Some("url")),
        ("{url: \"https://a.test/\", url_file: /etc/url, secret_file: /etc/secret}", Some("url_file")),
        ("{url: \"https://a.test/sendMessage\", format: telegram}", Some("url")),
        ("{url: \"https://a.test/\", format: teams}", Some("format")),
    ] {
        let wrong = load_browser(&format!("hitl: {{webhook: {webhook}}}")).err();
        let expected = key.map(|key| format!("security.browser.hitl.webhook.{key}"));
        assert_eq!(wrong.as_ref().and_then(|errors| errors.first.key()), expected.as_deref(), "{webhook}");
    }
}

#[test]
fn values_of_every_kind_are_read() {
    let loaded = load_browser(
        "container: {memory_limit: 1G, tmp_size: 33554432, display: xvfb, cgroup_parent: user.slice/a, cpu_shares: 2}\n\
         recording: off\n\
         screenshot: {format: webp}\n\
         server: {listen: \"[::1]:0\", open: true}\n\
         egress:\n  hosts:\n    Shop.test: 127.0.0.1:8080\n    six.test: \"[fd00::1]:443\"\n\
         hitl: {trusted_domains: [\"*.Example.org\"], sensitive_domains: }",
    )
    .unwrap();
    let config = &loaded.config;
    assert_eq!(config.container.memory_limit.to_string(), "1g");
    assert_eq!(config.container.tmp_size.to_string(), "32m");
    assert_eq!(config.container.display, ScreenKind::Xvfb);
    assert_eq!(config.container.cgroup_parent.as_deref(), Some("user.slice/a"));
    assert_eq!(config.recording, Recording::Off);
    assert_eq!(config.screenshot.format, ImageFormat::Webp);
    assert!(config.server.open && config.server.listen.is_ipv6());
    assert_eq!(config.egress.hosts.0["shop.test"].to_string(), "127.0.0.1:8080");
    assert_eq!(config.egress.hosts.0["six.test"].to_string(), "[fd00::1]:443");
    assert_eq!(config.hitl.trusted_domains[0].as_str(), "*.example.org");
    assert!(config.hitl.sensitive_domains.is_empty());
}

#[test]
fn an_empty_file_and_an_anchor_are_fine() {
    load_text("# only words\n", &[]).unwrap();
    load_text("security:\n  browser:\n", &[]).unwrap();
    let loaded =
        load_browser("hitl:\n  trusted_domains: &mine [example.org]\n  sensitive_domains: *mine").unwrap();
    assert_eq!(loaded.config.hitl.sensitive_domains, loaded.config.hitl.trusted_domains);
}

#[test]
fn each_bad_file_is_refused_with_a_code_a_key_and_a_line() {
    // What stands under `security.browser`, the code, the key, the line in the file.
    let table: &[(&str, &str, &str, usize)] = &[
        ("sesion_timeout: 3", "config_unknown_key", "sesion_timeout", 3),
        ("memory_limit: 1g", "config_unknown_key", "memory_limit", 3),
        ("contianer: {pids: 100}", "config_unknown_key", "contianer", 3),
        ("container:\n  memory: 1g", "config_unknown_key", "container.memory", 4),
        ("<<: {enabled: true}", "config_unknown_key", "<<", 3),
        ("Enabled: true", "config_unknown_key", "Enabled", 3),
        ("enabled: yes", "config_value", "enabled", 3),
        ("enabled: \"true\"", "config_value", "enabled", 3),
        ("enabled: 1", "config_value", "enabled", 3),
        ("enabled:", "config_value", "enabled", 3),
        ("session_timeout: 0", "config_value", "session_timeout", 3),
        ("session_timeout: -1", "config_value", "session_timeout", 3),
        ("session_timeout: 5m", "config_value", "session_timeout", 3),
        ("session_timeout: 300.5", "config_value", "session_timeout", 3),
        ("session_timeout: \"300\"", "config_value", "session_timeout", 3),
        ("session_timeout: [300]", "config_value", "session_timeout", 3),
        ("session_timeout: 99999999999999999999", "config_value", "session_timeout", 3),
        ("session_timeout: 3601", "config_value", "session_timeout", 3),
        ("max_session_minutes: 4\nsession_timeout: 241", "config_value", "session_timeout", 4),
        ("max_actions_per_session: 1e3", "config_value", "max_actions_per_session", 3),
        ("max_concurrent_sessions: 0", "config_value", "max_concurrent_sessions", 3),
        ("action_timeout: 121", "config_value", "action_timeout", 3),
        ("bridge_token_seconds: 61", "config_value", "bridge_token_seconds", 3),
        ("recording: on", "config_value", "recording", 3),
        ("container: 5", "config_value", "container", 3),
        ("container: []", "config_value", "container", 3),
        ("container:\n  network: bridge", "config_value", "container.network", 4),
        ("container:\n  network: host", "config_value", "container.network", 4),
        ("container:\n  memory_limit: 64m", "config_value", "container.memory_limit", 4),
        ("container:\n  memory_limit: 512mm", "config_value", "container.memory_limit", 4),
        ("container:\n  memory_limit: half", "config_value", "container.memory_limit", 4),
        ("container:\n  memory_limit: 18446744073709551615g", "config_value", "container.memory_limit", 4),
        ("container:\n  tmp_size: 600m", "config_value", "container.memory_limit", 0),
        ("container:\n  cpu_shares: 0", "config_value", "container.cpu_shares", 4),
        ("container:\n  cpu_shares: .inf", "config_value", "container.cpu_shares", 4),
        ("container:\n  cpu_shares: nan", "config_value", "container.cpu_shares", 4),
        ("container:\n  cpu_credit: 3601", "config_value", "container.cpu_credit", 4),
        ("container:\n  cpu_burst: 0.25", "config_value", "container.cpu_burst", 4),
        ("container:\n  cgroup_parent: a/../../b", "config_value", "container.cgroup_parent", 4),
        ("container:\n  display: wayland", "config_value", "container.display", 4),
        ("credentials: {vault_backend: keychain}", "config_value", "credentials.vault_backend", 3),
        ("credentials: {vault_path: \"\"}", "config_value", "credentials.vault_path", 3),
        ("credentials: {vault: {address: vault}}", "config_value", "credentials.vault.address", 3),
        (
            "credentials: {vault: {address: \"https://me:pw@v\"}}",
            "config_value",
            "credentials.vault.address",
            3,
        ),
        ("credentials: {vault: {auth: ldap}}", "config_value", "credentials.vault.auth", 3),
        ("credentials: {vault: {token: hvs.x}}", "config_unknown_key", "credentials.vault.token", 3),
        ("credentials: {vault: {token_file: t}}", "config_value", "credentials.vault.token_file", 3),
        ("credentials: {store: {key: safe}}", "config_value", "credentials.store.key", 3),
        (
            "credentials: {store: {database_url: x}}",
            "config_unknown_key",
            "credentials.store.database_url",
            3,
        ),
        ("credentials: {sops: {folder: here}}", "config_value", "credentials.sops.folder", 3),
        ("credentials: {grant_lifetime: 86401}", "config_value", "credentials.grant_lifetime", 3),
        ("credentials: {egress: [\"*\"]}", "config_value", "credentials.egress", 3),
        ("credentials: {standing: {actor: a}}", "config_value", "credentials.standing", 3),
        ("credentials: {standing: [{actor: a}]}", "config_value", "credentials.standing", 3),
        ("credentials: {standing: [{hosts: [a.test]}]}", "config_value", "credentials.standing", 3),
        (
            "credentials: {standing: [{actor: a, hosts: [a.test], access: all}]}",
            "config_value",
            "credentials.standing",
            3,
        ),
        ("credentials: {standing: [{actor: a, hosts: []}]}", "config_value", "credentials.standing", 3),
        ("credentials: {standing: [{actor: a, hosts: [\"*\"]}]}", "config_value", "credentials.standing", 3),
        (
            "credentials: {standing: [{actor: \"*\", hosts: [a.test]}]}",
            "config_value",
            "credentials.standing",
            3,
        ),
        (
            "credentials: {standing: [{actor: a, hosts: [a.test], host: b}]}",
            "config_value",
            "credentials.standing",
            3,
        ),
        ("hitl: {trusted_domains: example.org}", "config_value", "hitl.trusted_domains", 3),
        ("hitl: {trusted_domains: [\"*\"]}", "config_value", "hitl.trusted_domains", 3),
        ("hitl: {trusted_domains: [\"a b\"]}", "config_value", "hitl.trusted_domains", 3),
        ("hitl: {trusted_domains: [http://a/]}", "config_value", "hitl.trusted_domains", 3),
        ("egress: {hosts: [shop.test]}", "config_value", "egress.hosts", 3),
        ("egress: {hosts: {shop.test: example.org}}", "config_value", "egress.hosts", 3),
        ("egress: {hosts: {shop.test: 127.0.0.1}}", "config_value", "egress.hosts", 3),
        ("egress: {hosts: {shop.test: \"127.0.0.1:0\"}}", "config_value", "egress.hosts", 3),
        ("egress: {hosts: {\"*.test\": \"127.0.0.1:80\"}}", "config_value", "egress.hosts", 3),
        ("egress: {mode: closed}", "config_value", "egress.mode", 3),
        ("egress: {allow: [\"*\"]}", "config_value", "egress.allow", 3),
        ("egress: {allow_resources: [\"https://a.test/path\"]}", "config_value", "egress.allow_resources", 3),
        ("egress: {requests_per_second: 0}", "config_value", "egress.requests_per_second", 3),
        ("egress: {bandwidth: 1k}", "config_value", "egress.bandwidth", 3),
        ("egress: {upstream: \"proxy:3128\"}", "config_value", "egress.upstream", 3),
        ("egress: {upstream: \"http://me:secret@proxy:3128\"}", "config_value", "egress.upstream", 3),
        ("egress: {ca_file: ca.pem}", "config_value", "egress.ca_file", 3),
        ("server: {listen: \"0.0.0.0:7700\"}", "config_value", "server.listen", 3),
        ("server: {listen: \"192.168.1.2:7700\"}", "config_value", "server.listen", 3),
        ("server: {listen: localhost}", "config_value", "server.listen", 3),
        ("screenshot: {format: gif}", "config_value", "screenshot.format", 3),
        ("screenshot: {ring: 0}", "config_value", "screenshot.ring", 3),
        ("enabled: true\nenabled: false", "config_duplicate_key", "", 4),
        ("enabled: [true", "config_malformed", "", 3),
        ("enabled: !!bool true", "config_malformed", "", 3),
    ];
    for (text, code, key, line) in table {
        let errors = load_browser(text).map(|loaded| loaded.config).expect_err(text);
        let first = &errors.first;
        assert_eq!(first.code().to_string(), *code, "{text}: {first}");
        assert_eq!(first.line().unwrap_or(0), *line, "{text}: {first}");
        assert!(!first.to_string().contains("me:secret"), "a login is printed: {first}");
        if !key.is_empty() {
            assert_eq!(first.key(), Some(format!("security.browser.{key}").as_str()), "{text}");
        }
        let fault = Fault::from(errors);
        assert!(!fault.hint.is_empty() && !fault.retryable, "{text}");
    }
}

#[test]
fn a_file_that_is_not_a_configuration_is_refused() {
    for (text, code) in [
        (&b"- a\n- list\n"[..], "config_value"),
        (b"just words\n", "config_value"),
        (b"security: 5\n", "config_value"),
        (b"browser: {enabled: true}\n", "config_unknown_key"),
        (b"a: 1\n---\nb: 2\n", "config_malformed"),
        (b"security:\n  browser:\n    recording: \xff\n", "config_malformed"),
        (b"{{{{", "config_malformed"),
        (b"\0\0\0", "config_malformed"),
    ] {
        let errors = load_text(text, &[]).map(|loaded| loaded.config).expect_err("refused");
        assert_eq!(errors.first.code().to_string(), code, "{text:?}: {errors}");
    }
    let large = "#".repeat(1024 * 1024 + 1);
    assert_eq!(load_text(large, &[]).unwrap_err().first.code().to_string(), "config_too_large");
}

#[test]
fn an_unknown_key_names_the_nearest_known_one() {
    for (text, nearest) in [
        ("sesion_timeout: 3", Some("session_timeout")),
        ("memory_limit: 1g", Some("container.memory_limit")),
        ("contianer: {pids: 100}", Some("container")),
        ("server: {lisen: x}", Some("server.listen")),
        ("zzzzzzzzzz: 1", None),
    ] {
        let errors = load_browser(text).map(|loaded| loaded.config).expect_err(text);
        let ConfigError::UnknownKey { nearest: found, .. } = *errors.first else { panic!("{text}") };
        assert_eq!(found, nearest.map(|key| format!("security.browser.{key}")), "{text}");
    }
    let errors = load_text("session_timeout: 10\n", &[]).unwrap_err();
    assert!(Fault::from(errors).hint.contains("security.browser.session_timeout"));
}

#[test]
fn all_errors_are_reported_in_the_order_of_the_file() {
    let errors = load_browser("recording: on\nfoo_bar_baz: 1\nsession_timeout: 0").unwrap_err();
    let lines: Vec<_> = errors.into_iter().map(|error| error.line()).collect();
    assert_eq!(lines, [Some(3), Some(4), Some(5)]);
}

#[test]
fn a_flag_wins_over_the_file_and_says_so() {
    let set = |key: &str, value: &str| Override::new("--set", key, value).unwrap();
    let overrides = [
        set("security.browser.session_timeout", "60"),
        set("egress.hosts", "{shop.test: 127.0.0.1:8080}"),
        Override::new("--listen", "server.listen", "127.0.0.1:9").unwrap(),
    ];
    let loaded =
        load_text("security:\n  browser:\n    session_timeout: 10\n    recording: audit\n", &overrides)
            .unwrap();
    assert_eq!(loaded.config.session_timeout, Seconds(60));
    assert_eq!(loaded.config.egress.hosts.0.len(), 1);
    assert_eq!(entry(&loaded, "session_timeout").origin.to_string(), "--set");
    assert_eq!(entry(&loaded, "server.listen").origin.to_string(), "--listen");
    assert!(entry(&loaded, "recording").origin.to_string().ends_with("stockade.yaml:4"));
    assert_eq!(entry(&loaded, "action_timeout").origin, ValueOrigin::Default);
}

#[test]
fn a_flag_with_an_unknown_key_or_a_bad_value_is_refused() {
    let unknown = Override::new("--set", "sesion_timeout", "60").unwrap();
    assert_eq!(load_text("", &[unknown]).unwrap_err().first.code().to_string(), "config_unknown_key");
    let bad = Override::new("--set", "container.network", "host").unwrap();
    assert_eq!(load_text("", &[bad]).unwrap_err().first.code().to_string(), "config_value");
    assert_eq!(Override::new("--set", "recording", "[").unwrap_err().code().to_string(), "config_malformed");
    assert_eq!(Override::new("--set", "recording", "").unwrap_err().code().to_string(), "config_value");
}

#[test]
fn the_first_existing_path_is_used() {
    let folder = Folder::new();
    let paths = ConfigPaths {
        flag: Some(folder.write("flag.yaml", "")),
        env: Some(folder.write("env.yaml", "")),
        current_dir: Some(folder.write("here.yaml", "")),
        user: Some(folder.write("user.yaml", "")),
    };
    let no_flag = ConfigPaths { flag: None, ..paths.clone() };
    let no_env = ConfigPaths { env: None, ..no_flag.clone() };
    let only_user = ConfigPaths { current_dir: Some(folder.root.path().join("none.yaml")), ..no_env.clone() };
    for (paths, name) in
        [(&paths, "flag.yaml"), (&no_flag, "env.yaml"), (&no_env, "here.yaml"), (&only_user, "user.yaml")]
    {
        assert_eq!(paths.file().and_then(|file| file.file_name()).unwrap(), name);
        assert_eq!(load(paths, &[]).unwrap().file.as_deref(), paths.file());
    }
}

#[test]
fn a_named_file_must_exist() {
    let folder = Folder::new();
    let missing = folder.root.path().join("missing.yaml");
    let named = ConfigPaths { env: Some(missing.clone()), ..ConfigPaths::default() };
    assert_eq!(load(&named, &[]).unwrap_err().first.code().to_string(), "config_unreadable");
    let found = ConfigPaths { current_dir: Some(missing), ..ConfigPaths::default() };
    assert!(load(&found, &[]).unwrap().file.is_none());
}

#[test]
fn an_unreadable_file_is_an_error() {
    let folder = Folder::new();
    let here = folder.root.path().join("stockade.yaml");
    std::os::unix::fs::symlink(folder.root.path().join("nowhere"), &here).unwrap();
    let paths = ConfigPaths { current_dir: Some(here.clone()), ..ConfigPaths::default() };
    assert_eq!(load(&paths, &[]).unwrap_err().first.code().to_string(), "config_unreadable");

    fs::remove_file(&here).unwrap();
    fs::create_dir(&here).unwrap();
    assert_eq!(load(&paths, &[]).unwrap_err().first.code().to_string(), "config_unreadable");
}

#[test]
fn a_file_that_anyone_may_write_is_refused() {
    let folder = Folder::new();
    let file = folder.write("stockade.yaml", "");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let paths = ConfigPaths { flag: Some(file), ..ConfigPaths::default() };
    assert_eq!(load(&paths, &[]).unwrap_err().first.code().to_string(), "config_writable_by_all");
}

#[test]
fn a_disabled_browser_does_not_start_but_can_be_shown() {
    let loaded = load_browser("enabled: false").unwrap();
    assert!(!loaded.config.enabled);
    let error = loaded.enabled().unwrap_err();
    assert_eq!((error.code().name(), error.line()), ("disabled", Some(3)));
    assert!(load_browser("enabled: true").unwrap().enabled().is_ok());
}

#[test]
fn a_setting_without_effect_is_reported_when_it_is_set() {
    let loaded = load_browser("runtime_required: false\nruntime_warmup_on_start: true").unwrap();
    let notices = loaded.notices();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[0].contains("runtime_required") && notices[0].contains("ignored"), "{notices:?}");
    assert!(notices[1].contains("runtime_warmup_on_start"), "{notices:?}");
    for quiet in ["session_timeout: 5", "runtime_warmup_on_start: false", "credentials: {auto_inject: false}"]
    {
        assert!(load_browser(quiet).unwrap().notices().is_empty(), "{quiet}");
    }
}
