//! The egress proxy's rules and limits from the settings.

use crate::error::Fault;
use crate::logins::{Logins, read_secret};
use crate::settings::{Config, Egress, UpstreamSettings};
use egress::{HostMap, Options, ProxyLogin, Rules, UpstreamProxy};
use error_code::ErrorCode;
use std::path::Path;
use std::time::Duration;
use vault::CredentialId;

/// The rules of every session, before it is kept to its sites. Reads the proxy's login and checks the CA file, so that a
/// mistake stops the start and not the first page.
pub async fn rules(config: &Config, logins: &Logins) -> Result<Rules, Fault> {
    let egress = &config.egress;
    let hosts = HostMap::parse(egress.hosts.0.iter().map(|(host, to)| (host.as_str(), to.to_string())))
        .map_err(|error| Fault::caused(ErrorCode::ConfigValue, &error))?;
    check_ca_file(egress)?;
    let rules = Rules::new(hosts);
    Ok(match upstream(&egress.upstream, logins).await? {
        Some(upstream) => rules.through(upstream),
        None => rules,
    })
}

/// The limits of every session's proxy.
pub fn options(config: &Config) -> Options {
    let limits = &config.egress.limits;
    Options {
        max_connections: limits.max_connections as usize,
        max_bytes_down: Some(limits.max_bytes_down.bytes()),
        max_bytes_up: Some(limits.max_bytes_up.bytes()),
        bandwidth: Some(limits.bandwidth.bytes()),
        requests_per_second: Some(limits.requests_per_second),
        ..Options::default()
    }
}

async fn upstream(settings: &UpstreamSettings, logins: &Logins) -> Result<Option<UpstreamProxy>, Fault> {
    let bad = |error: egress::UpstreamProxyError| Fault::caused(ErrorCode::ConfigValue, &error);
    let Some(url) = &settings.url else { return Ok(None) };
    let proxy = UpstreamProxy::parse(url).map_err(bad)?;
    if let Some(file) = &settings.login_file {
        let login = read_secret(Path::new(file), "egress.upstream_login_file")?;
        return Ok(Some(proxy.with_login(ProxyLogin::parse(&login).map_err(bad)?)));
    }
    let Some(id) = &settings.credential else { return Ok(Some(proxy)) };
    let unusable = |why: String| {
        Fault::outside_sessions(ErrorCode::ConfigValue, format!("egress.upstream_credential: {why}"))
            .hint("Store a credential with `basic` under that name in the default tenant, or use egress.upstream_login_file.")
    };
    let id = CredentialId::parse(id).map_err(|error| unusable(error.to_string()))?;
    let tenant = crate::storage::default_scope()?.tenant;
    let basic = logins.vault()?.basic_login(&tenant, &id).await?;
    let basic = basic.ok_or_else(|| unusable(format!("{id} has no user name and password")))?;
    let login = ProxyLogin::new(&basic.username, basic.password).map_err(bad)?;
    Ok(Some(proxy.with_login(login)))
}

/// The file has to parse: a session on a network that needs it would fail in a way nobody can explain.
fn check_ca_file(egress: &Egress) -> Result<(), Fault> {
    let Some(file) = &egress.ca_file else { return Ok(()) };
    let roots = http_client::TrustedRoots::File(Path::new(file));
    let limit = Duration::from_secs(1);
    let limits = http_client::Limits { connect: limit, total: limit, largest_body: None };
    http_client::Client::new(roots, limits).map(|_| ()).map_err(|error| {
        Fault::outside_sessions(ErrorCode::ConfigValue, format!("egress.ca_file: {error}"))
            .hint("Name a PEM file with at least one certificate of a certificate authority.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_file_has_to_hold_certificates() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("empty.pem", ""), ("text.pem", "hello"), ("broken.pem", BROKEN)] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let fault = check_ca_file(&with(Some(&path))).unwrap_err();
            assert_eq!(fault.code, ErrorCode::ConfigValue, "{name}");
        }
        assert!(check_ca_file(&with(Some(&folder.path().join("absent.pem")))).is_err());
        assert!(check_ca_file(&with(None)).is_ok());
    }

    const BROKEN: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

    fn with(file: Option<&Path>) -> Egress {
        Egress {
            hosts: crate::settings::Hosts::default(),
            mode: crate::settings::EgressMode::Open,
            allow: Vec::new(),
            allow_resources: Vec::new(),
            limits: crate::settings::EgressLimits {
                max_connections: 1,
                max_bytes_down: crate::settings::Size::mib(1),
                max_bytes_up: crate::settings::Size::mib(1),
                bandwidth: crate::settings::Size::mib(1),
                requests_per_second: 1,
            },
            upstream: UpstreamSettings { url: None, login_file: None, credential: None },
            ca_file: file.map(|file| file.display().to_string()),
        }
    }
}
