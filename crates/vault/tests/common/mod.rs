//! The real services that credentials are tested with, and shared helpers.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, reason = "a test that cannot go on fails")]

pub mod bao;
pub mod postgres;
pub mod sops;
pub mod store_fixture;

#[path = "../../../stockade/tests/common/seen.rs"]
pub mod seen;

use jiff::Timestamp;
use policy::{Name, Tenant};
use seen::seen;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;
use vault::{
    ConsumedGrant, Credential, CredentialId, Database, GrantRequest, GrantedHost, Grants, Host, Issuer,
    VaultError,
};

/// The folder that `script/setup test` fills.
pub fn part(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/parts").join(name);
    assert!(path.exists(), "{} is missing: run script/setup test", path.display());
    path
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

pub fn id(name: &str) -> CredentialId {
    CredentialId::parse(name).unwrap()
}

pub fn host(name: &str) -> Host {
    Host::parse(name).unwrap()
}

/// The error of a call that must fail.
pub fn fault<T>(result: Result<T, VaultError>) -> VaultError {
    match result {
        Ok(_) => panic!("this should have failed"),
        Err(error) => error,
    }
}

/// The code of a call that must fail; noted as seen.
#[track_caller]
pub fn code<T>(result: Result<T, VaultError>) -> String {
    let error = fault(result);
    assert!(!error.hint().is_empty(), "{error}");
    assert!(!error.to_string().contains(CANARY), "{error}");
    seen(error.code())
}

/// A value that must not be in any message.
pub const CANARY: &str = "c4n4ry-value-of-a-cookie";

/// A credential with every field.
pub fn full_document(domain: &str) -> String {
    format!(
        r#"{{
  "domain": "{domain}",
  "cookies": [
    {{"name": "user_session", "value": "{CANARY}", "domain": ".{domain}", "path": "/", "expires": 1935689600,
      "httpOnly": true, "secure": true, "sameSite": "Lax", "priority": "High"}},
    {{"name": "__Host-id", "value": "two; no"  , "secure": true}},
    {{"name": "empty", "value": ""}},
    {{"name": "tz", "value": "Europe/Berlin", "secret": false}}
  ],
  "localStorage": {{"token": "l\"ocal\\ ünïcode ☃", "theme": {{"value": "dark", "secret": false}}, "empty": ""}},
  "sessionStorage": {{"csrf": "line one\nline two"}},
  "headers": {{"Authorization": "Bearer ghp_0123456789"}},
  "totp": {{"seed": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "digits": 8, "period": 30, "algorithm": "SHA1"}},
  "probe": {{"path": "/settings", "signed_in": {{"text": "Sign out"}}, "signed_out": {{"path": "/login"}}}},
  "grant_scope": "standing",
  "last_refreshed_at": "2026-05-11T09:30:00Z"
}}"#
    )
    .replace("two; no", "two-and-no")
}

/// Asserts that two credentials are equal, compared as JSON.
#[track_caller]
pub fn assert_same(found: &Credential, document: &str) {
    let wanted = Credential::from_json(document.as_bytes()).unwrap();
    let json = |credential: &Credential| -> serde_json::Value {
        serde_json::from_str(&credential.to_json()).unwrap()
    };
    assert_eq!(json(found), json(&wanted));
}

/// A folder with a database of grants.
pub struct TestGrants {
    pub grants: Grants,
    _folder: tempfile::TempDir,
}

impl TestGrants {
    pub fn new() -> TestGrants {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::sqlite(&folder.path().join("grants.db")).unwrap();
        TestGrants { grants: Grants::new(database), _folder: folder }
    }

    pub async fn consume_new(&self, of: &str, hosts: &[&str], issuer: Issuer) -> ConsumedGrant {
        let request = request(of, hosts, issuer);
        let (token, _) = self.grants.issue(request, Timestamp::now()).await.unwrap();
        self.grants.consume(token.expose_secret(), &tenant(of), &[], Timestamp::now()).await.unwrap()
    }
}

pub fn request(of: &str, hosts: &[&str], issuer: Issuer) -> GrantRequest {
    GrantRequest {
        tenant: tenant(of),
        issuer,
        operator: Name::parse("operator").unwrap(),
        origin_session: Name::parse("console-1").unwrap(),
        hosts: hosts.iter().map(|host| GrantedHost::parse(host).unwrap()).collect(),
        lifetime: None,
        single_use: true,
        access: policy::Access::Write,
    }
}

/// Waits for a condition that must become true.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = std::time::Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(50));
    }
}
