//! One suite for every backend: OpenBao, sops, the environment, SQLite, PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::bao::Bao;
use common::postgres::Postgres;
use common::sops::Sops;
use common::{CANARY, TestGrants, assert_same, code, fault, full_document, host, id, tenant};
use jiff::Timestamp;
use redact::Secret;
use std::time::{Duration, Instant};
use vault::{
    Credential, Database, EnvBackend, Issuer, KvAuth, KvBackend, KvSecret, KvSettings, MasterKeySource,
    SopsBackend, SopsKeys, Store, Vault, VaultError,
};

/// The differences between backends.
trait Place {
    /// The code of opening a credential during an outage.
    const DOWN: &'static str;
    /// Whether Stockade writes to it.
    const OURS: bool;

    fn vault(&self) -> &Vault;
    async fn put(&mut self, tenant: &str, name: &str, document: &str);
    fn stop(&mut self);
    fn start(&mut self);
}

async fn suite<P: Place>(mut place: P) {
    let desk = TestGrants::new();
    let github = full_document("github.com");
    place.put("default", "github.com", &github).await;
    place.put("default", "second", &full_document("shop.test")).await;

    // Listed by id; other tenants have none.
    let names = |list: Vec<vault::Summary>| list.into_iter().map(|s| s.id.to_string()).collect::<Vec<_>>();
    assert_eq!(names(place.vault().list(&tenant("default")).await.unwrap()), ["github.com", "second"]);
    assert!(names(place.vault().list(&tenant("other")).await.unwrap()).is_empty());

    // A grant for its host releases it, with every value unchanged.
    let consumed = desk.consume_new("default", &["github.com"], Issuer::Operator).await;
    let found = place.vault().open_for_grant(&consumed, &id("github.com")).await.unwrap();
    assert_same(&found, &github);
    assert_eq!(found.last_refreshed_at, Some("2026-05-11T09:30:00Z".parse().unwrap()));

    // Not for another host, not to another tenant; an unknown id fails.
    let elsewhere = desk.consume_new("default", &["shop.test"], Issuer::Operator).await;
    assert_eq!(code(place.vault().open_for_grant(&elsewhere, &id("github.com")).await), "grant_wrong_host");
    let stranger = desk.consume_new("other", &["github.com"], Issuer::Operator).await;
    assert_eq!(code(place.vault().open_for_grant(&stranger, &id("github.com")).await), "unknown_credential");
    assert_eq!(code(place.vault().open_for_grant(&consumed, &id("nothing")).await), "unknown_credential");

    // A standing grant releases only credentials that allow it.
    let standing = desk.consume_new("default", &["github.com"], Issuer::Policy).await;
    place.vault().open_for_grant(&standing, &id("github.com")).await.unwrap();
    let guarded = github.replace("\"standing\"", "\"operator\"");
    place.put("default", "github.com", &guarded).await;
    assert_eq!(code(place.vault().open_for_grant(&standing, &id("github.com")).await), "grant_wrong_scope");

    // A change in the backend applies from the next opening.
    let changed = guarded.replace("Bearer ghp_0123456789", "Bearer ghp_9876543210");
    place.put("default", "github.com", &changed).await;
    assert_same(&place.vault().open_for_grant(&consumed, &id("github.com")).await.unwrap(), &changed);

    // The error of a malformed document names the field and not the value. Stockade itself never writes one.
    if !P::OURS {
        place.put("default", "broken", &github.replace("\"Lax\"", "\"Sometimes\"")).await;
        let error = fault(place.vault().open_for_grant(&consumed, &id("broken")).await);
        assert!(error.to_string().contains("cookies[0].sameSite"), "{error}");
        assert!(!error.to_string().contains(CANARY), "{error}");
        assert_eq!(code::<()>(Err(error)), "credential_malformed");
        let credential = Credential::from_json(github.as_bytes()).unwrap();
        let put = place.vault().put(&tenant("default"), &id("x"), &credential, Timestamp::now()).await;
        assert_eq!(code(put), "credential_read_only");
        assert_eq!(code(place.vault().remove(&tenant("default"), &id("x")).await), "credential_read_only");
    }

    // Concurrent openings.
    let github_com = id("github.com");
    let many = (0..20).map(|_| place.vault().open_for_grant(&consumed, &github_com));
    for found in futures_util::future::join_all(many).await {
        assert_same(&found.unwrap(), &changed);
    }

    // An outage has its own error, without delay. Afterwards the same vault works without a restart.
    place.stop();
    let begun = Instant::now();
    for _ in 0..2 {
        let error = fault(place.vault().open_for_grant(&consumed, &github_com).await);
        assert!(error.retryable(), "{error}");
        assert_eq!(code::<()>(Err(error)), P::DOWN);
    }
    assert!(begun.elapsed() < Duration::from_secs(25), "two refusals took {:?}", begun.elapsed());
    place.start();
    let found = released_soon(place.vault(), &consumed).await;
    assert_same(&found, &changed);
}

/// A restarted server needs a moment.
async fn released_soon(vault: &Vault, consumed: &vault::ConsumedGrant) -> Credential {
    let begun = Instant::now();
    loop {
        match vault.open_for_grant(consumed, &id("github.com")).await {
            Ok(found) => return found,
            Err(error) => {
                assert!(error.retryable() && begun.elapsed() < Duration::from_secs(30), "{error}");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

struct InBao {
    bao: Bao,
    vault: Vault,
}

impl Place for InBao {
    const DOWN: &'static str = "vault_unreachable";
    const OURS: bool = false;

    fn vault(&self) -> &Vault {
        &self.vault
    }

    async fn put(&mut self, tenant: &str, name: &str, document: &str) {
        self.bao.put(&format!("browser/{tenant}/{name}"), document);
    }

    fn stop(&mut self) {
        self.bao.kill();
    }

    fn start(&mut self) {
        self.bao.run();
        self.bao.unseal();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openbao_passes_the_suite() {
    let bao = Bao::start();
    let settings = KvSettings {
        address: bao.address.clone(),
        path: "secrets/browser/{tenant}/".to_owned(),
        mount: None,
        namespace: None,
        ca_file: None,
        auth: KvAuth::Token(KvSecret::Plain(Secret::new(bao.root_token.clone()))),
    };
    let vault = Vault::Kv(KvBackend::new(settings).unwrap());
    suite(InBao { bao, vault }).await;
}

struct InSops {
    sops: Sops,
    vault: Vault,
    extension: &'static str,
}

impl InSops {
    fn new(extension: &'static str) -> InSops {
        let sops = Sops::new();
        let folder = sops.folder.path().join("credentials/{tenant}");
        std::fs::create_dir_all(sops.folder.path().join("credentials/other")).unwrap();
        let keys = SopsKeys::File(sops.folder.path().join("keys.txt"));
        let vault = Vault::Sops(SopsBackend::new(&folder.to_string_lossy(), keys));
        InSops { sops, vault, extension }
    }
}

impl Place for InSops {
    const DOWN: &'static str = "sops_unreadable";
    const OURS: bool = false;

    fn vault(&self) -> &Vault {
        &self.vault
    }

    async fn put(&mut self, tenant: &str, name: &str, document: &str) {
        let file = self.sops.folder.path().join(format!("credentials/{tenant}/{name}.{}", self.extension));
        // JSON is YAML: sops writes the file's own form.
        self.sops.encrypt(&file, document, &[]);
    }

    /// Simulates an unmounted disk.
    fn stop(&mut self) {
        let folder = self.sops.folder.path();
        std::fs::rename(folder.join("credentials"), folder.join("away")).unwrap();
    }

    fn start(&mut self) {
        let folder = self.sops.folder.path();
        std::fs::rename(folder.join("away"), folder.join("credentials")).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sops_in_yaml_passes_the_suite() {
    suite(InSops::new("yaml")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sops_in_json_passes_the_suite() {
    suite(InSops::new("json")).await;
}

/// Variables that name files: the value of a variable cannot change while the process runs.
struct InFiles {
    folder: tempfile::TempDir,
    vault: Vault,
}

impl InFiles {
    fn new() -> InFiles {
        let vault = Vault::Env(EnvBackend::new("TEST_CREDENTIAL_", std::iter::empty()));
        InFiles { folder: tempfile::tempdir().unwrap(), vault }
    }
}

impl Place for InFiles {
    const DOWN: &'static str = "env_unreadable";
    const OURS: bool = false;

    fn vault(&self) -> &Vault {
        &self.vault
    }

    async fn put(&mut self, _: &str, name: &str, document: &str) {
        std::fs::create_dir_all(self.folder.path().join("secrets")).unwrap();
        std::fs::write(self.folder.path().join("secrets").join(name), document).unwrap();
        // As after a restart with one more variable.
        let files = std::fs::read_dir(self.folder.path().join("secrets")).unwrap();
        let variables = files.map(|file| file.unwrap().path()).map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().to_uppercase().replace('.', "_");
            (format!("TEST_CREDENTIAL_{name}_FILE").into(), path.into_os_string())
        });
        self.vault = Vault::Env(EnvBackend::new("TEST_CREDENTIAL_", variables));
    }

    fn stop(&mut self) {
        std::fs::rename(self.folder.path().join("secrets"), self.folder.path().join("away")).unwrap();
    }

    fn start(&mut self) {
        std::fs::rename(self.folder.path().join("away"), self.folder.path().join("secrets")).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_the_environment_names_pass_the_suite() {
    suite(InFiles::new()).await;
}

#[tokio::test]
async fn a_variable_holds_a_credential_itself_and_for_tenant_default_alone() {
    let desk = TestGrants::new();
    let document = full_document("git-hub.com");
    let variables = [
        ("STOCKADE_CREDENTIAL_GIT__HUB_COM", document.as_str()),
        ("STOCKADE_CREDENTIAL_lower", "{}"),
        ("UNRELATED", "{}"),
    ];
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    let vault = Vault::Env(EnvBackend::new("STOCKADE_CREDENTIAL_", variables.into_iter()));
    let ids: Vec<String> =
        vault.list(&tenant("default")).await.unwrap().iter().map(|s| s.id.to_string()).collect();
    assert_eq!(ids, ["git-hub.com"]);
    let consumed = desk.consume_new("default", &["git-hub.com"], Issuer::Operator).await;
    assert_same(&vault.open_for_grant(&consumed, &id("git-hub.com")).await.unwrap(), &document);
    assert_eq!(code(vault.open_for_grant(&consumed, &id("git_hub.com")).await), "unknown_credential");
    let other = desk.consume_new("other", &["git-hub.com"], Issuer::Operator).await;
    assert_eq!(code(vault.open_for_grant(&other, &id("git-hub.com")).await), "unknown_credential");
}

struct InSqlite {
    folder: tempfile::TempDir,
    vault: Vault,
}

impl InSqlite {
    fn open(folder: &tempfile::TempDir) -> Vault {
        let database = Database::sqlite(&folder.path().join("vault ä?.db")).unwrap();
        Vault::Store(Store::new(database, MasterKeySource::File(folder.path().join("master.key"))))
    }
}

async fn put(vault: &Vault, of: &str, name: &str, document: &str) {
    let credential = Credential::from_json(document.as_bytes()).unwrap();
    vault.put(&tenant(of), &id(name), &credential, Timestamp::now()).await.unwrap();
}

impl Place for InSqlite {
    const DOWN: &'static str = "credential_store_unreachable";
    const OURS: bool = true;

    fn vault(&self) -> &Vault {
        &self.vault
    }

    async fn put(&mut self, of: &str, name: &str, document: &str) {
        put(&self.vault, of, name, document).await;
    }

    /// A process keeps an open file, so only a start without the disk can fail.
    fn stop(&mut self) {
        self.vault = InSqlite::open(&self.folder);
        std::fs::create_dir(self.folder.path().join("away")).unwrap();
        for file in ["vault ä?.db", "vault ä?.db-wal", "vault ä?.db-shm"] {
            // SQLite removes these two itself when the connections of the earlier vault are closed.
            match std::fs::rename(self.folder.path().join(file), self.folder.path().join("away").join(file)) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && file != "vault ä?.db" => {}
                moved => moved.unwrap(),
            }
        }
    }

    fn start(&mut self) {
        for entry in std::fs::read_dir(self.folder.path().join("away")).unwrap() {
            let entry = entry.unwrap();
            std::fs::rename(entry.path(), self.folder.path().join(entry.file_name())).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_in_sqlite_passes_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    let vault = InSqlite::open(&folder);
    suite(InSqlite { folder, vault }).await;
}

struct InPostgres {
    postgres: Postgres,
    vault: Vault,
    _folder: tempfile::TempDir,
}

impl Place for InPostgres {
    const DOWN: &'static str = "credential_store_unreachable";
    const OURS: bool = true;

    fn vault(&self) -> &Vault {
        &self.vault
    }

    async fn put(&mut self, of: &str, name: &str, document: &str) {
        put(&self.vault, of, name, document).await;
    }

    fn stop(&mut self) {
        self.postgres.kill();
    }

    fn start(&mut self) {
        self.postgres.run();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_in_postgresql_passes_the_suite() {
    let (postgres, folder) = (Postgres::start(), tempfile::tempdir().unwrap());
    let database = Database::postgres(&postgres.url).unwrap();
    let vault = Vault::Store(Store::new(database, MasterKeySource::File(folder.path().join("master.key"))));
    suite(InPostgres { postgres, vault, _folder: folder }).await;
}

#[tokio::test]
async fn the_store_lists_removes_and_notes_uses() {
    let folder = tempfile::tempdir().unwrap();
    let (vault, desk) = (InSqlite::open(&folder), TestGrants::new());
    put(&vault, "default", "github.com", &full_document("github.com")).await;
    let consumed = desk.consume_new("default", &["github.com"], Issuer::Operator).await;
    let now: Timestamp = "2026-11-16T08:00:00Z".parse().unwrap();
    vault.note_injected(&consumed, &id("github.com"), now).await.unwrap();
    let list = vault.list(&tenant("default")).await.unwrap();
    assert_eq!(list[0].domain, Some(host("github.com")));
    assert_eq!(list[0].last_injected_at, Some(now));
    assert_eq!(vault.open_for_grant(&consumed, &id("github.com")).await.unwrap().last_injected_at, Some(now));
    vault.remove(&tenant("default"), &id("github.com")).await.unwrap();
    assert_eq!(code(vault.remove(&tenant("default"), &id("github.com")).await), "unknown_credential");
    assert_eq!(code(vault.open_for_grant(&consumed, &id("github.com")).await), "unknown_credential");
}

#[test]
fn a_file_with_nothing_for_the_host_is_no_import() {
    let text = format!("other.test\tFALSE\t/\tFALSE\t0\tsid\t{CANARY}\n");
    assert_eq!(
        code(vault::import(text.as_bytes(), &host("github.com"), Timestamp::now())),
        "import_malformed"
    );
}

#[test]
fn settings_that_cannot_work_are_refused_by_name() {
    let kv = |address: &str, path: &str| {
        let settings = KvSettings {
            address: address.to_owned(),
            path: path.to_owned(),
            mount: None,
            namespace: None,
            ca_file: None,
            auth: KvAuth::Token(KvSecret::Plain(Secret::new("t".to_owned()))),
        };
        KvBackend::new(settings).map(|_| ())
    };
    for (result, word) in [
        (kv("http://vault.example.org:8200", "secrets/browser"), "https"),
        (kv("vault:8200", "secrets/browser"), "vault_address"),
        (kv("https://user:password@vault.example.org", "secrets/browser"), "vault_address"),
        (kv("https://vault.example.org", "secrets/../sys"), "vault_path"),
        (kv("https://vault.example.org", ""), "vault_path"),
        (Database::postgres("mysql://x").map(|_| ()), "database"),
    ] {
        let error: VaultError = fault(result);
        assert!(error.to_string().contains(word) && !error.to_string().contains("password@"), "{error}");
        assert_eq!(code::<()>(Err(error)), "credential_settings");
    }
}
