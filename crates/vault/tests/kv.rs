//! The `vault` backend against a real OpenBao: every login method, renewal, namespaces, wrapping, TLS and failures.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::bao::{Bao, TlsBao};
use common::{TestGrants, assert_same, code, fault, full_document, id, tenant};
use redact::Secret;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use vault::{ConsumedGrant, Issuer, KvAuth, KvBackend, KvSecret, KvSettings, Vault};

const READ: &str = r#"
path "secrets/data/browser/*" { capabilities = ["read"] }
path "secrets/metadata/browser/*" { capabilities = ["list"] }
path "secrets/metadata/browser" { capabilities = ["list"] }"#;

struct KvFixture {
    bao: Bao,
    consumed: ConsumedGrant,
    document: String,
}

/// A server with one credential and a policy that reads it.
async fn fixture() -> KvFixture {
    let bao = Bao::start();
    let document = full_document("github.com");
    bao.put("browser/github.com", &document);
    bao.policy("reader", READ);
    let consumed = TestGrants::new().consume_new("default", &["github.com"], Issuer::Operator).await;
    KvFixture { bao, consumed, document }
}

fn settings(address: &str, auth: KvAuth) -> KvSettings {
    KvSettings {
        address: address.to_owned(),
        path: "secrets/browser/".to_owned(),
        mount: None,
        namespace: None,
        ca_file: None,
        auth,
    }
}

fn vault(settings: KvSettings) -> Vault {
    Vault::Kv(KvBackend::new(settings).unwrap())
}

fn plain(text: &str) -> KvSecret {
    KvSecret::Plain(Secret::new(text.to_owned()))
}

impl KvFixture {
    fn vault(&self, auth: KvAuth) -> Vault {
        vault(settings(&self.bao.address, auth))
    }

    async fn opens(&self, vault: &Vault) {
        assert_same(&vault.open_for_grant(&self.consumed, &id("github.com")).await.unwrap(), &self.document);
    }

    async fn code(&self, vault: &Vault) -> String {
        code(vault.open_for_grant(&self.consumed, &id("github.com")).await)
    }

    /// A token of the reader's policy with this time to live.
    fn token(&self, arguments: &[&str]) -> String {
        let made = self.bao.json(&[&["token", "create", "-policy=reader"], arguments].concat());
        made["auth"]["client_token"].as_str().unwrap().to_owned()
    }

    /// The number of tokens that the server knows.
    fn tokens(&self) -> usize {
        let accessors = self.bao.cli(&["list", "-format=json", "auth/token/accessors"]);
        serde_json::from_str::<Vec<String>>(&accessors).unwrap().len()
    }

    fn app_role(&self, arguments: &[&str]) -> String {
        self.bao.cli(&["auth", "enable", "approle"]);
        let role = [&["write", "auth/approle/role/stockade", "token_policies=reader"], arguments].concat();
        self.bao.cli(&role);
        let id = self.bao.json(&["read", "auth/approle/role/stockade/role-id"]);
        id["data"]["role_id"].as_str().unwrap().to_owned()
    }
}

/// Waits for a condition that must become true, and lets renewals run meanwhile.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

// Commands of the server block their thread; renewals run on the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_renewed_while_nobody_asks_and_refused_once_it_is_revoked() {
    let fixture = fixture().await;
    let token = fixture.token(&["-period=9s"]);
    let vault = fixture.vault(KvAuth::Token(plain(&token)));
    fixture.opens(&vault).await;
    assert_eq!(vault.list(&tenant("default")).await.unwrap().len(), 1);
    // Two renewals happen later than the end of the token's first lease.
    let expires = || {
        let found = fixture.bao.cli(&["token", "lookup", "-format=json", &token]);
        serde_json::from_str::<serde_json::Value>(&found).unwrap()["data"]["expire_time"].clone()
    };
    for _ in 0..2 {
        let before = expires();
        until("the token is renewed", || expires() != before).await;
    }
    fixture.opens(&vault).await;

    fixture.bao.cli(&["token", "revoke", &token]);
    assert_eq!(fixture.code(&vault).await, "vault_login_failed");
}

#[tokio::test]
async fn a_token_file_is_read_again_when_its_token_is_gone() {
    let fixture = fixture().await;
    let file = fixture.bao.folder.path().join("token");
    let first = fixture.token(&[]);
    std::fs::write(&file, format!("{first}\n")).unwrap();
    let vault = fixture.vault(KvAuth::Token(KvSecret::File(file.clone())));
    fixture.opens(&vault).await;
    fixture.bao.cli(&["token", "revoke", &first]);
    std::fs::write(&file, fixture.token(&[])).unwrap();
    fixture.opens(&vault).await;
    std::fs::remove_file(&file).unwrap();
    fixture.opens(&vault).await;
}

#[tokio::test]
async fn an_app_role_logs_in_again_when_its_token_may_not_live_longer() {
    let fixture = fixture().await;
    let role_id = fixture.app_role(&["token_ttl=2s", "token_max_ttl=3s"]);
    let made = fixture.bao.json(&["write", "-f", "auth/approle/role/stockade/secret-id"]);
    let secret_id = made["data"]["secret_id"].as_str().unwrap();
    let auth = |secret_id: &str| KvAuth::AppRole {
        mount: "approle".to_owned(),
        role_id: role_id.clone(),
        secret_id: plain(secret_id),
    };
    let vault = fixture.vault(auth(secret_id));
    let before = fixture.tokens();
    fixture.opens(&vault).await;
    until("the token is gone", || fixture.tokens() == before).await;
    fixture.opens(&vault).await;

    let wrong = fixture.vault(auth("wrong"));
    assert_eq!(fixture.code(&wrong).await, "vault_login_failed");
}

#[tokio::test]
async fn what_is_wrapped_is_unwrapped_once_and_a_second_time_is_an_alarm() {
    let fixture = fixture().await;
    let role_id = fixture.app_role(&["token_ttl=2s", "token_max_ttl=2s"]);
    let made = fixture.bao.json(&["write", "-f", "-wrap-ttl=60s", "auth/approle/role/stockade/secret-id"]);
    let wrapping = made["wrap_info"]["token"].as_str().unwrap().to_owned();
    let auth = || KvAuth::AppRole {
        mount: "approle".to_owned(),
        role_id: role_id.clone(),
        secret_id: KvSecret::Wrapped(Secret::new(wrapping.clone())),
    };
    let vault = fixture.vault(auth());
    let before = fixture.tokens() - 1;
    fixture.opens(&vault).await;
    // A new login uses the unwrapped secret and does not unwrap again.
    until("the token is gone", || fixture.tokens() == before).await;
    fixture.opens(&vault).await;
    assert_eq!(fixture.code(&fixture.vault(auth())).await, "vault_wrapping_spent");

    let made = fixture.bao.json(&["token", "create", "-policy=reader", "-wrap-ttl=60s"]);
    let wrapping = made["wrap_info"]["token"].as_str().unwrap();
    fixture.opens(&fixture.vault(KvAuth::Token(KvSecret::Wrapped(Secret::new(wrapping.to_owned()))))).await;
}

/// The only call of OpenBao to a Kubernetes server: a token review.
fn token_reviews() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while stream.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let good = String::from_utf8_lossy(&body).contains(&jwt("stockade"));
            let user = r#"{"username":"system:serviceaccount:web:stockade","uid":"u-1","groups":[]}"#;
            let status =
                if good { format!(r#"{{"authenticated":true,"user":{user}}}"#) } else { "{}".to_owned() };
            let answer = format!(
                r#"{{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{status}}}"#
            );
            write!(
                stream.get_mut(),
                "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{answer}",
                answer.len()
            )
            .unwrap();
        }
    });
    address
}

/// A service account's token. Only the token review looks at its signature.
fn jwt(account: &str) -> String {
    use base64::Engine;
    let encode = |text: &str| base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(text);
    let claims = format!(
        r#"{{"iss":"kubernetes/serviceaccount","kubernetes.io/serviceaccount/namespace":"web","kubernetes.io/serviceaccount/service-account.name":"{account}","kubernetes.io/serviceaccount/service-account.uid":"u-1","sub":"system:serviceaccount:web:{account}","iat":1700000000,"nbf":1700000000,"exp":4000000000}}"#
    );
    format!("{}.{}.{}", encode(r#"{"alg":"RS256","typ":"JWT"}"#), encode(&claims), encode("signature"))
}

/// OpenBao requires a certificate even where the server speaks plain HTTP.
fn authority(folder: &Path) -> PathBuf {
    let file = folder.join("kubernetes-ca.pem");
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ed25519",
            "-nodes",
            "-subj",
            "/CN=kubernetes",
            "-keyout",
            "/dev/null",
            "-out",
        ])
        .arg(&file)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    file
}

#[tokio::test]
async fn a_pod_logs_in_by_its_service_account() {
    let fixture = fixture().await;
    fixture.bao.cli(&["auth", "enable", "kubernetes"]);
    let reviews = format!("kubernetes_host={}", token_reviews());
    let authority = format!("kubernetes_ca_cert=@{}", authority(fixture.bao.folder.path()).display());
    let reviewer = ["disable_local_ca_jwt=true", "token_reviewer_jwt=x"];
    fixture.bao.cli(&[&["write", "auth/kubernetes/config", &reviews, &authority], &reviewer[..]].concat());
    fixture.bao.cli(&[
        "write",
        "auth/kubernetes/role/stockade",
        "bound_service_account_names=stockade",
        "bound_service_account_namespaces=web",
        "token_policies=reader",
    ]);
    let file: PathBuf = fixture.bao.folder.path().join("sa-token");
    let auth = || KvAuth::Kubernetes {
        mount: "kubernetes".to_owned(),
        role: "stockade".to_owned(),
        token_file: file.clone(),
    };
    let vault = fixture.vault(auth());
    assert_eq!(fixture.code(&vault).await, "vault_login_failed", "there is no token file yet");
    std::fs::write(&file, jwt("intruder")).unwrap();
    assert_eq!(fixture.code(&vault).await, "vault_login_failed");
    std::fs::write(&file, jwt("stockade")).unwrap();
    fixture.opens(&vault).await;
}

#[tokio::test]
async fn a_namespace_is_a_vault_of_its_own() {
    let fixture = fixture().await;
    fixture.bao.cli(&["namespace", "create", "team"]);
    fixture.bao.cli(&["secrets", "enable", "-namespace=team", "-path=secrets", "-version=2", "kv"]);
    let other = full_document("github.com").replace("ghp_0123456789", "of-the-team");
    let put = ["kv", "put", "-namespace=team", "-mount=secrets", "browser/github.com", "-"];
    fixture.bao.try_cli(&put, Some(&other)).unwrap();
    let mut settings = settings(&fixture.bao.address, KvAuth::Token(plain(&fixture.bao.root_token)));
    settings.namespace = Some("team".to_owned());
    let found = vault(settings).open_for_grant(&fixture.consumed, &id("github.com")).await.unwrap();
    assert_same(&found, &other);
    fixture.opens(&fixture.vault(KvAuth::Token(plain(&fixture.bao.root_token)))).await;
}

#[tokio::test]
async fn a_vault_that_is_sealed_refuses_or_is_no_kv_mount_says_so() {
    let fixture = fixture().await;
    let root = || KvAuth::Token(plain(&fixture.bao.root_token));
    fixture.bao.policy("nothing", r#"path "secrets/data/elsewhere/*" { capabilities = ["read"] }"#);
    let made = fixture.bao.json(&["token", "create", "-policy=nothing"]);
    let token = made["auth"]["client_token"].as_str().unwrap();
    assert_eq!(fixture.code(&fixture.vault(KvAuth::Token(plain(token)))).await, "vault_denied");

    let mut elsewhere = settings(&fixture.bao.address, root());
    elsewhere.path = "nowhere/browser".to_owned();
    let error = fault(vault(elsewhere).open_for_grant(&fixture.consumed, &id("github.com")).await);
    assert!(error.to_string().contains("no handler for route"), "{error}");
    assert_eq!(code::<()>(Err(error)), "vault_answer");

    // A secret whose last version was deleted does not exist.
    let vault = fixture.vault(root());
    fixture.bao.put("browser/deleted", &fixture.document);
    fixture.bao.cli(&["kv", "delete", "-mount=secrets", "browser/deleted"]);
    assert_eq!(code(vault.open_for_grant(&fixture.consumed, &id("deleted")).await), "unknown_credential");

    fixture.opens(&vault).await;
    fixture.bao.seal();
    assert_eq!(fixture.code(&vault).await, "vault_sealed");
    fixture.bao.unseal();
    fixture.opens(&vault).await;
}

#[tokio::test]
async fn the_path_without_a_tenant_in_it_is_tenant_defaults_alone() {
    let fixture = fixture().await;
    let vault = fixture.vault(KvAuth::Token(plain(&fixture.bao.root_token)));
    let other = TestGrants::new().consume_new("other", &["github.com"], Issuer::Operator).await;
    assert_eq!(code(vault.open_for_grant(&other, &id("github.com")).await), "unknown_credential");
    assert!(vault.list(&tenant("other")).await.unwrap().is_empty());
}

#[tokio::test]
async fn only_the_authority_that_is_named_is_trusted() {
    let bao = TlsBao::start();
    let document = full_document("github.com");
    bao.put("browser/github.com", &document);
    let consumed = TestGrants::new().consume_new("default", &["github.com"], Issuer::Operator).await;
    let settings = |ca_file: Option<PathBuf>| {
        let auth = KvAuth::Token(plain("root"));
        KvSettings { path: "secret/browser".to_owned(), ca_file, ..settings(&bao.address, auth) }
    };
    let found = vault(settings(Some(bao.authority.clone())))
        .open_for_grant(&consumed, &id("github.com"))
        .await
        .unwrap();
    assert_same(&found, &document);
    assert_eq!(
        code(vault(settings(None)).open_for_grant(&consumed, &id("github.com")).await),
        "vault_untrusted"
    );
    assert_eq!(code(KvBackend::new(settings(Some("/dev/null".into())))), "credential_settings");
}
