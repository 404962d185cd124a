//! The `store` backend on SQLite and PostgreSQL: moved rows, wrong keys, rotation under concurrent readers.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::store_fixture::{StoreFixture, put};
use common::{CANARY, TestGrants, assert_same, code, fault, full_document, id, request, tenant};
use jiff::Timestamp;
use policy::Access;
use redact::Secret;
use sqlx::any::AnyConnectOptions;
use sqlx::{Connection, Executor};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vault::{Credential, Database, GrantRequest, Grants, Issuer, MasterKeySource, Store, Vault, VaultError};

#[tokio::test]
async fn a_row_that_was_moved_or_changed_does_not_open() {
    let desk = TestGrants::new();
    let hosts = ["github.com", "evil.test"];
    let consumed = desk.consume_new("default", &hosts, Issuer::Operator).await;
    let other = desk.consume_new("other", &hosts, Issuer::Operator).await;
    for fixture in StoreFixture::both() {
        // A statement, and the credential that is then requested.
        for (statement, consumed, name) in [
            ("UPDATE credentials SET tenant = 'other' WHERE id = 'a'", &other, "a"),
            ("UPDATE credentials SET id = 'c' WHERE id = 'a'", &consumed, "c"),
            ("UPDATE credentials SET domain = 'evil.test' WHERE id = 'a'", &consumed, "a"),
            ("UPDATE credentials SET grant_scope = 'operator' WHERE id = 'a'", &consumed, "a"),
            (
                "UPDATE credentials SET sealed = (SELECT sealed FROM credentials WHERE id = 'b') WHERE id = 'a'",
                &consumed,
                "a",
            ),
            (
                "UPDATE credentials SET data_key = (SELECT data_key FROM credentials WHERE id = 'b') WHERE id = 'a'",
                &consumed,
                "a",
            ),
            (
                "UPDATE credentials SET sealed = (SELECT sealed FROM credentials WHERE id = 'b'),
                 data_key = (SELECT data_key FROM credentials WHERE id = 'b') WHERE id = 'a'",
                &consumed,
                "a",
            ),
            ("UPDATE credentials SET sealed = substr(sealed, 1, 40) WHERE id = 'a'", &consumed, "a"),
            ("UPDATE credentials SET sealed = 'no base64 at all' WHERE id = 'a'", &consumed, "a"),
            ("UPDATE credentials SET data_key = '' WHERE id = 'a'", &consumed, "a"),
        ] {
            let vault = fixture.store();
            put(&vault, "default", "a", &full_document("github.com")).await;
            put(&vault, "default", "b", &full_document("github.com")).await;
            fixture.tamper(statement).await;
            assert_eq!(
                code(vault.open_for_grant(consumed, &id(name)).await),
                "credential_altered",
                "{statement}"
            );
            fixture.tamper("DELETE FROM credentials").await;
        }
    }
}

#[tokio::test]
async fn a_credential_that_would_be_too_large_to_open_is_not_stored() {
    let fixture = &StoreFixture::both()[0];
    let cookies: Vec<String> = (0..300).map(|n| format!(r#"{{"name":"c{n}","value":"v"}}"#)).collect();
    let start =
        format!(r#"{{"domain":"github.com","cookies":[{}],"localStorage":{{"pad":""#, cookies.join(","));
    for (size, stored) in [(1024 * 1024, false), (900 * 1024, true)] {
        let document = format!("{start}{}\"}}}}", "x".repeat(size - start.len() - 3));
        assert_eq!(document.len(), size);
        let credential = Credential::from_json(document.as_bytes()).unwrap();
        let put = fixture.store().put(&tenant("default"), &id("large"), &credential, Timestamp::now()).await;
        assert_eq!(put.is_ok(), stored, "{size}");
        assert!(put.is_ok() || code(put) == "credential_malformed");
        assert_eq!(fixture.store().list(&tenant("default")).await.unwrap().len(), usize::from(stored));
    }
}

#[tokio::test]
async fn nothing_that_is_stored_shows_a_value() {
    let fixture = &StoreFixture::both()[0];
    let vault = fixture.store();
    put(&vault, "default", "github.com", &full_document("github.com")).await;
    let mut searched = 0;
    for entry in std::fs::read_dir(fixture.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
        let bytes = std::fs::read(&path).unwrap();
        searched += bytes.len();
        for secret in [CANARY, "ghp_0123456789", "GEZDGNBVGY3TQOJQ", "line one"] {
            let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!found, "{secret} in {}", path.display());
        }
    }
    assert!(searched > 10_000, "only {searched} bytes were searched");
}

#[tokio::test]
async fn a_wrong_or_missing_master_key_fails_loudly_and_is_never_made_up() {
    let consumed = TestGrants::new().consume_new("default", &["github.com"], Issuer::Operator).await;
    for fixture in StoreFixture::both() {
        put(&fixture.store(), "default", "github.com", &full_document("github.com")).await;
        let key = std::fs::read_to_string(fixture.key()).unwrap();
        let read = async || fixture.store().open_for_grant(&consumed, &id("github.com")).await;

        let another = MasterKeySource::generate().unwrap();
        std::fs::write(fixture.key(), another.expose_secret()).unwrap();
        assert_eq!(code(read().await), "master_key_wrong");
        std::fs::remove_file(fixture.key()).unwrap();
        assert_eq!(code(read().await), "master_key_missing");
        assert!(!fixture.key().exists());
        for (text, mode, wanted) in [
            ("", 0o600, "master_key_missing"),
            ("smk1_tooshort", 0o600, "master_key_malformed"),
            ("another text", 0o600, "master_key_malformed"),
            (key.as_str(), 0o640, "master_key_unsafe"),
            (key.as_str(), 0o604, "master_key_unsafe"),
        ] {
            std::fs::write(fixture.key(), text).unwrap();
            std::fs::set_permissions(fixture.key(), std::fs::Permissions::from_mode(mode)).unwrap();
            let error = fault(read().await);
            assert!(!error.to_string().contains(key.trim()), "{error}");
            assert_eq!(code::<()>(Err(error)), wanted, "{mode:o}");
        }
        std::fs::set_permissions(fixture.key(), std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(read().await.is_ok());
    }
}

#[tokio::test]
async fn a_store_with_nothing_in_it_takes_a_new_key() {
    let consumed = TestGrants::new().consume_new("default", &["github.com"], Issuer::Operator).await;
    for fixture in StoreFixture::both() {
        put(&fixture.store(), "default", "github.com", &full_document("github.com")).await;
        fixture.store().remove(&tenant("default"), &id("github.com")).await.unwrap();
        std::fs::remove_file(fixture.key()).unwrap();
        put(&fixture.store(), "default", "github.com", &full_document("github.com")).await;
        assert!(fixture.store().open_for_grant(&consumed, &id("github.com")).await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rotation_loses_nothing_while_others_read_and_write() {
    const ROWS: usize = 120;
    let desk = TestGrants::new();
    for fixture in StoreFixture::both() {
        let writer = fixture.store();
        let document = full_document("github.com");
        for number in 0..ROWS {
            put(&writer, "default", &format!("c{number}"), &document).await;
        }
        let (done, reads, writes) =
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut others = tokio::task::JoinSet::new();
        // Two readers and a writer, each with keys of its own as in separate processes.
        for reader in 0..2 {
            let (vault, consumed) =
                (fixture.store(), desk.consume_new("default", &["github.com"], Issuer::Operator).await);
            let (done, reads, document) = (Arc::clone(&done), Arc::clone(&reads), document.clone());
            others.spawn(async move {
                let mut number = reader;
                while !done.load(Ordering::Relaxed) {
                    number = (number + 7) % ROWS;
                    let found = vault.open_for_grant(&consumed, &id(&format!("c{number}"))).await;
                    assert_same(&found.unwrap_or_else(|error| panic!("c{number}: {error}")), &document);
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let (done_too, writes_too, document_too) = (Arc::clone(&done), Arc::clone(&writes), document.clone());
        others.spawn(async move {
            let mut number = 0;
            while !done_too.load(Ordering::Relaxed) {
                // The other half is for the rotation.
                number = (number + 11) % (ROWS / 2);
                put(&writer, "default", &format!("c{number}"), &document_too).await;
                writes_too.fetch_add(1, Ordering::Relaxed);
            }
        });

        let mut keys = vec![std::fs::read_to_string(fixture.key()).unwrap()];
        for _ in 0..3 {
            let rotation = fixture.open(MasterKeySource::File(fixture.key())).rotate().await.unwrap();
            assert!(rotation.old_keys_dropped && rotation.rewrapped > 0, "{rotation:?}");
            keys.push(std::fs::read_to_string(fixture.key()).unwrap());
        }
        done.store(true, Ordering::Relaxed);
        while let Some(ended) = others.join_next().await {
            ended.unwrap();
        }
        keys.dedup();
        assert_eq!(keys.len(), 4, "each rotation leaves a key of its own");
        assert!(keys.iter().all(|key| key.lines().count() == 1), "and no old one");
        let (reads, writes) = (reads.load(Ordering::Relaxed), writes.load(Ordering::Relaxed));
        assert!(reads > 20 && writes > 5, "{reads} reads, {writes} writes");

        // A process that starts now has only the last key, and decrypts every row.
        let (vault, consumed) =
            (fixture.store(), desk.consume_new("default", &["github.com"], Issuer::Operator).await);
        for number in 0..ROWS {
            assert_same(
                &vault.open_for_grant(&consumed, &id(&format!("c{number}"))).await.unwrap(),
                &document,
            );
        }
    }
}

#[tokio::test]
async fn a_rotation_that_was_cut_short_is_carried_on_and_one_at_a_time() {
    let consumed = TestGrants::new().consume_new("default", &["github.com"], Issuer::Operator).await;
    let fixture = &StoreFixture::both()[0];
    put(&fixture.store(), "default", "github.com", &full_document("github.com")).await;
    let old = std::fs::read_to_string(fixture.key()).unwrap();
    // The new key is in the file, and no further step was done.
    let new = MasterKeySource::generate().unwrap();
    std::fs::write(fixture.key(), format!("{}\n{old}", new.expose_secret())).unwrap();
    assert!(fixture.store().open_for_grant(&consumed, &id("github.com")).await.is_ok());
    put(&fixture.store(), "default", "second", &full_document("github.com")).await;

    let held = std::fs::File::create(fixture.key().with_extension("lock")).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let busy = fault(fixture.open(MasterKeySource::File(fixture.key())).rotate().await);
    assert!(busy.to_string().contains("under way"), "{busy}");
    drop(held);

    fixture.open(MasterKeySource::File(fixture.key())).rotate().await.unwrap();
    assert_eq!(std::fs::read_to_string(fixture.key()).unwrap().trim(), new.expose_secret());
    for name in ["github.com", "second"] {
        assert!(fixture.store().open_for_grant(&consumed, &id(name)).await.is_ok());
    }
}

#[tokio::test]
async fn the_database_cannot_bring_back_a_key_that_was_rotated_away() {
    for fixture in StoreFixture::both() {
        let running = fixture.store();
        put(&running, "default", "github.com", &full_document("github.com")).await;
        fixture.tamper("CREATE TABLE before AS SELECT master_key FROM vault_state").await;
        fixture.open(MasterKeySource::File(fixture.key())).rotate().await.unwrap();
        put(&running, "default", "second", &full_document("github.com")).await;
        fixture.tamper("UPDATE vault_state SET master_key = (SELECT master_key FROM before)").await;
        let credential = Credential::from_json(full_document("github.com").as_bytes()).unwrap();
        let refused = running.put(&tenant("default"), &id("third"), &credential, Timestamp::now()).await;
        assert_eq!(code(refused), "master_key_wrong");
    }
}

#[tokio::test]
async fn a_row_that_does_not_open_stops_a_rotation_and_the_old_key_stays() {
    let fixture = &StoreFixture::both()[0];
    put(&fixture.store(), "default", "github.com", &full_document("github.com")).await;
    let old = std::fs::read_to_string(fixture.key()).unwrap();
    fixture.tamper("UPDATE credentials SET domain = 'evil.test'").await;
    assert_eq!(code(fixture.open(MasterKeySource::File(fixture.key())).rotate().await), "credential_altered");
    assert!(std::fs::read_to_string(fixture.key()).unwrap().contains(old.trim()));
}

#[tokio::test]
async fn a_key_in_a_variable_is_rotated_by_putting_the_new_one_in_front() {
    let consumed = TestGrants::new().consume_new("default", &["github.com"], Issuer::Operator).await;
    let fixture = &StoreFixture::both()[0];
    let (old, new) = (MasterKeySource::generate().unwrap(), MasterKeySource::generate().unwrap());
    let variable = |keys: &[&Secret]| {
        let text: Vec<&str> = keys.iter().map(|key| key.expose_secret()).collect();
        MasterKeySource::Variable {
            name: "STOCKADE_MASTER_KEY".to_owned(),
            value: Secret::new(text.join(",")),
        }
    };
    let vault = Vault::Store(fixture.open(variable(&[&old])));
    put(&vault, "default", "github.com", &full_document("github.com")).await;
    assert_eq!(code(fixture.open(variable(&[&old])).rotate().await), "rotation_needs_key");
    let rotation = fixture.open(variable(&[&new, &old])).rotate().await.unwrap();
    assert!(!rotation.old_keys_dropped && rotation.rewrapped == 1, "{rotation:?}");
    let vault = Vault::Store(fixture.open(variable(&[&new])));
    assert!(vault.open_for_grant(&consumed, &id("github.com")).await.is_ok());
    let vault = Vault::Store(fixture.open(variable(&[&old])));
    assert_eq!(code(vault.open_for_grant(&consumed, &id("github.com")).await), "master_key_wrong");
}

/// Runs this test again inside a session bus with a keyring, because the bus is found through the environment.
#[tokio::test]
async fn the_key_rests_in_the_desktops_keyring() {
    const NAME: &str = "store::the_key_rests_in_the_desktops_keyring";
    if std::env::var_os("STOCKADE_TEST_KEYRING").is_some() {
        return in_the_keyring().await;
    }
    // Without a bus there is no keyring.
    let fixture = &StoreFixture::both()[0];
    let alone = fixture.open(MasterKeySource::Keyring { service: "stockade-test".to_owned() });
    assert_eq!(code(alone.rotate().await), "keyring_unavailable");

    let script = format!(
        "printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec '{}' --exact {NAME} --nocapture",
        std::env::current_exe().unwrap().display()
    );
    let ran = Command::new("dbus-run-session")
        .args(["--", "sh", "-c", &script])
        .env("STOCKADE_TEST_KEYRING", "1")
        .env("HOME", fixture.folder.path())
        .env("XDG_RUNTIME_DIR", fixture.folder.path())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && words.contains("1 passed"),
        "{words}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

async fn in_the_keyring() {
    let consumed = TestGrants::new().consume_new("default", &["github.com"], Issuer::Operator).await;
    let folder = tempfile::tempdir().unwrap();
    let store = || {
        let database = Database::sqlite(&folder.path().join("vault.db")).unwrap();
        Store::new(database, MasterKeySource::Keyring { service: "stockade-test".to_owned() })
    };
    put(&Vault::Store(store()), "default", "github.com", &full_document("github.com")).await;
    let rotation = store().rotate().await.unwrap();
    assert!(rotation.old_keys_dropped && rotation.rewrapped == 1, "{rotation:?}");
    assert!(Vault::Store(store()).open_for_grant(&consumed, &id("github.com")).await.is_ok());
    let cleared = Command::new("secret-tool").args(["clear", "service", "stockade-test"]).status().unwrap();
    assert!(cleared.success());
    assert_eq!(
        code(Vault::Store(store()).open_for_grant(&consumed, &id("github.com")).await),
        "master_key_missing"
    );
}

#[tokio::test]
async fn a_database_that_is_newer_damaged_locked_or_odd_says_so() {
    let consumed = TestGrants::new().consume_new("default", &["github.com"], Issuer::Operator).await;
    for fixture in StoreFixture::both() {
        put(&fixture.store(), "default", "github.com", &full_document("github.com")).await;
        let read = async || fixture.store().open_for_grant(&consumed, &id("github.com")).await;
        fixture.tamper("UPDATE credentials SET grant_scope = 'whatever'").await;
        assert_eq!(code(read().await), "credential_store_damaged");
        fixture.tamper("DROP TABLE vault_state").await;
        assert_eq!(code(read().await), "credential_store_failed");
        fixture
            .tamper(
                "INSERT INTO vault_migrations (version, description, success, checksum, execution_time)
             VALUES (99, 'of a later release', true, '', 0)",
            )
            .await;
        assert_eq!(code(read().await), "credential_store_newer");
        fixture.tamper("DELETE FROM vault_migrations WHERE version = 99").await;
        fixture.tamper("CREATE TABLE vault_steps (step BIGINT PRIMARY KEY)").await;
        fixture.tamper("INSERT INTO vault_steps (step) VALUES (99)").await;
        assert_eq!(code(read().await), "credential_store_newer");
    }
}

/// The first release had the same tables, and a list of steps instead of migrations.
#[tokio::test]
async fn a_database_of_the_first_release_is_adopted_with_what_is_in_it() {
    let consumed = TestGrants::new().consume_new("default", &["github.com"], Issuer::Operator).await;
    for fixture in StoreFixture::both() {
        let document = full_document("github.com");
        put(&fixture.store(), "default", "github.com", &document).await;
        let grants = || Grants::new(fixture.database());
        let wanted =
            GrantRequest { access: Access::Full, ..request("default", &["github.com"], Issuer::Operator) };
        grants().issue(wanted, Timestamp::now()).await.unwrap();
        for steps in [
            // After its second step, and after its first, which had no table of rotated cookies.
            &["INSERT INTO vault_steps (step) VALUES (1), (2)"][..],
            &["DELETE FROM vault_steps WHERE step = 2", "DROP TABLE rotated"],
        ] {
            fixture.tamper("DROP TABLE vault_migrations").await;
            fixture.tamper("DROP TABLE placeholder_places").await;
            fixture.tamper("ALTER TABLE grants DROP COLUMN access").await;
            fixture.tamper("CREATE TABLE IF NOT EXISTS vault_steps (step BIGINT PRIMARY KEY)").await;
            for statement in steps.iter().copied() {
                fixture.tamper(statement).await;
            }
            for _ in 0..2 {
                let found = fixture.store().open_for_grant(&consumed, &id("github.com")).await.unwrap();
                assert_same(&found, &document);
            }
            let listed = grants().list(&tenant("default"), 10).await.unwrap();
            let access: Vec<Access> = listed.iter().map(|grant| grant.access).collect();
            assert_eq!(access, [Access::Write], "a grant from before access had a name");
        }
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_or_is_held_by_another_writer_says_so() {
    let consumed = TestGrants::new().consume_new("default", &["github.com"], Issuer::Operator).await;
    let fixture = &StoreFixture::both()[0];
    let vault = fixture.store();
    put(&vault, "default", "github.com", &full_document("github.com")).await;
    sqlx::any::install_default_drivers();
    let options = AnyConnectOptions::from_str(&format!("sqlite://{}", fixture.file().display())).unwrap();
    let mut holder = sqlx::AnyConnection::connect_with(&options).await.unwrap();
    holder.execute("BEGIN IMMEDIATE").await.unwrap();
    let credential = Credential::from_json(full_document("github.com").as_bytes()).unwrap();
    let blocked = vault.put(&tenant("default"), &id("x"), &credential, Timestamp::now()).await;
    assert_eq!(code(blocked), "credential_store_busy");
    // Readers do not wait.
    assert!(vault.open_for_grant(&consumed, &id("github.com")).await.is_ok());
    holder.execute("ROLLBACK").await.unwrap();
    vault.put(&tenant("default"), &id("x"), &credential, Timestamp::now()).await.unwrap();

    let folder = tempfile::tempdir().unwrap();
    let open = |file: &Path| -> Result<Vault, VaultError> {
        let key = MasterKeySource::File(folder.path().join("key"));
        Ok(Vault::Store(Store::new(Database::sqlite(file)?, key)))
    };
    std::fs::write(folder.path().join("garbage"), vec![7; 9000]).unwrap();
    let garbage = open(&folder.path().join("garbage")).unwrap();
    assert_eq!(code(garbage.open_for_grant(&consumed, &id("github.com")).await), "credential_store_damaged");
    assert_eq!(code(open(Path::new("/nowhere/vault.db"))), "credential_store_unreachable");
}
