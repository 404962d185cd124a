//! Tests of the database on a real file.

use super::*;
use crate::error::Fault;
use error_code::ErrorCode;
use jiff::SignedDuration;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

struct Fixture {
    _folder: tempfile::TempDir,
    file: PathBuf,
    storage: Storage,
}

async fn open() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stockade.db");
    let storage = Storage::open(&file).await.unwrap();
    Fixture { _folder: folder, file, storage }
}

/// Everything that is on disk, side files included.
fn bytes_of(file: &Path) -> Vec<u8> {
    ["", "-wal", "-shm"]
        .iter()
        .filter_map(|suffix| std::fs::read(format!("{}{suffix}", file.display())).ok())
        .flatten()
        .collect()
}

fn contains(bytes: &[u8], part: &str) -> bool {
    bytes.windows(part.len()).any(|window| window == part.as_bytes())
}

#[tokio::test]
async fn the_first_start_makes_one_key_and_the_second_none() {
    let f = open().await;
    let first = f.storage.first_start().await.unwrap().expect("a first start");
    assert_eq!(first.scope.to_string(), "default/agent");
    assert_eq!(f.storage.find_key(first.agent_key.expose()).await.unwrap(), Some(first.scope));
    assert!(f.storage.first_start().await.unwrap().is_none());
    f.storage.close().await;

    let again = Storage::open(&f.file).await.unwrap();
    assert!(again.first_start().await.unwrap().is_none());
    assert_eq!(again.list_keys().await.unwrap().len(), 1);
}

#[tokio::test]
async fn two_first_starts_at_once_make_one_key() {
    let f = open().await;
    let other = Storage::open(&f.file).await.unwrap();
    let (one, two) = tokio::join!(f.storage.first_start(), other.first_start());
    assert!(one.unwrap().is_some() != two.unwrap().is_some());
    assert_eq!(f.storage.list_keys().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_key_made_earlier_does_not_take_the_place_of_the_first_start() {
    let f = open().await;
    f.storage.make_key(&scope("team", "bot").unwrap(), "").await.unwrap();
    assert!(f.storage.first_start().await.unwrap().is_some());
    assert_eq!(f.storage.list_keys().await.unwrap().len(), 2);
}

#[tokio::test]
async fn each_key_leads_to_its_own_scope_until_it_is_revoked() {
    let f = open().await;
    let a = scope("team", "a").unwrap();
    let b = scope("team", "b").unwrap();
    let (key_a, row_a) = f.storage.make_key(&a, "laptop").await.unwrap();
    let (key_b, _) = f.storage.make_key(&b, "").await.unwrap();
    let (key_a2, _) = f.storage.make_key(&a, "server").await.unwrap();
    assert_eq!(f.storage.find_key(key_a.expose()).await.unwrap(), Some(a.clone()));
    assert_eq!(f.storage.find_key(key_b.expose()).await.unwrap(), Some(b));

    let revoked = f.storage.revoke_key(&row_a.id).await.unwrap();
    assert!(revoked.revoked_at.is_some());
    assert_eq!(f.storage.find_key(key_a.expose()).await.unwrap(), None);
    assert_eq!(f.storage.find_key(key_a2.expose()).await.unwrap(), Some(a), "the other key still works");
    assert_eq!(f.storage.revoke_key(&row_a.id).await.unwrap().revoked_at, revoked.revoked_at);

    let fault = Fault::from(f.storage.revoke_key("key-none").await.unwrap_err());
    assert_eq!(fault.code, ErrorCode::UnknownKey);
    assert!(fault.hint.contains("key list"));
}

#[tokio::test]
async fn a_wrong_key_finds_nobody() {
    let f = open().await;
    let (key, _) = f.storage.make_key(&scope("t", "a").unwrap(), "").await.unwrap();
    let good = key.expose();
    let shorter = &good[..good.len() - 1];
    let hash = secret::hash(good);
    for wrong in
        ["", "sk_stockade_", shorter, &format!("{good}0"), &good.to_lowercase(), &hash, "' OR 1=1 --", "%"]
    {
        assert_eq!(f.storage.find_key(wrong).await.unwrap(), None, "{wrong}");
    }
}

#[tokio::test]
async fn the_database_is_closed_to_others_and_holds_no_key() {
    let f = open().await;
    let (key, row) = f.storage.make_key(&scope("t", "a").unwrap(), "label").await.unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let file = format!("{}{suffix}", f.file.display());
        let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{file}");
    }
    let bytes = bytes_of(&f.file);
    assert!(contains(&bytes, &row.id), "the row is on disk");
    assert!(!contains(&bytes, key.expose()));
    assert!(!contains(&bytes, &key.expose()["sk_stockade_".len()..]));
}

#[tokio::test]
async fn the_last_use_is_noted_at_most_once_a_minute() {
    let f = open().await;
    let (key, _) = f.storage.make_key(&scope("t", "a").unwrap(), "").await.unwrap();
    let start = Timestamp::from_second(1_800_000_000).unwrap();
    for (after, noted) in [(0, 0), (59, 0), (61, 61), (62, 61), (180, 180)] {
        let at = |seconds| start + SignedDuration::from_secs(seconds);
        f.storage.find_key_at(key.expose(), at(after)).await.unwrap();
        let used = f.storage.list_keys().await.unwrap()[0].last_used_at;
        assert_eq!(used, Some(at(noted)), "{after} s after the first use");
    }
}

#[tokio::test]
async fn a_label_has_to_fit_a_line() {
    let f = open().await;
    let scope = scope("t", "a").unwrap();
    let error = f.storage.make_key(&scope, &"x".repeat(65)).await.map(|_| ()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::BadLabel);
    assert!(f.storage.make_key(&scope, &"x".repeat(64)).await.is_ok());
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_left_alone() {
    for statements in [
        "INSERT INTO schema_migrations (version, description, success, checksum, execution_time)
         VALUES (99, 'of a later release', true, '', 0)",
        // As the first release recorded it.
        "CREATE TABLE schema_steps (step BIGINT PRIMARY KEY); INSERT INTO schema_steps (step) VALUES (99)",
    ] {
        let f = open().await;
        sqlx::raw_sql(statements).execute(&f.storage.pool).await.unwrap();
        let fault = Fault::from(Storage::open(&f.file).await.map(|_| ()).unwrap_err());
        assert_eq!(fault.code, ErrorCode::StorageNewer, "{statements}");
        assert!(fault.message.contains("version 99"), "{fault}");
    }
}

/// Every table, column and index that the migrations make.
async fn schema_of(pool: &SqlitePool) -> Vec<(String, String)> {
    let columns = "SELECT m.type || ' ' || m.name, COALESCE(c.name, '') FROM sqlite_master m
                   LEFT JOIN pragma_table_info(m.name) c
                   WHERE m.name NOT IN ('schema_steps', 'sqlite_autoindex_schema_steps_1') ORDER BY 1, 2";
    sqlx::query_as(columns).fetch_all(pool).await.unwrap()
}

/// The first release had a list of steps in place of migrations.
#[tokio::test]
async fn a_database_of_the_first_release_is_adopted_with_what_is_in_it() {
    let new = open().await;
    let expected = schema_of(&new.storage.pool).await;
    let steps: Vec<&'static str> = include_str!("first_release.sql").split("-- step ").collect();
    // After none of its steps, the first, the second and the third.
    for done in 1..=steps.len() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("stockade.db");
        let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
        let old = SqlitePool::connect_with(options).await.unwrap();
        for (step, statements) in steps.iter().take(done).enumerate() {
            let statements = format!("-- {statements}");
            sqlx::raw_sql(sqlx::AssertSqlSafe(statements)).execute(&old).await.unwrap();
            if step == 1 {
                let insert = "INSERT INTO operators (name, created_at) VALUES ('ada', 7)";
                sqlx::raw_sql(insert).execute(&old).await.unwrap();
            }
        }
        old.close().await;

        for _ in 0..2 {
            let storage = Storage::open(&file).await.unwrap();
            assert_eq!(schema_of(&storage.pool).await, expected, "after {} steps", done - 1);
            let names: Vec<String> =
                sqlx::query_scalar("SELECT name FROM operators").fetch_all(&storage.pool).await.unwrap();
            assert_eq!(names, if done > 1 { vec!["ada"] } else { vec![] });
            let first_start: Option<i64> = sqlx::query_scalar("SELECT MAX(reached_at) FROM milestones")
                .fetch_one(&storage.pool)
                .await
                .unwrap();
            assert_eq!(first_start, (done > 1).then_some(7), "an operator was there before");
            storage.close().await;
        }
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stockade.db");
    std::fs::write(&file, "this is not a database, however long one looks at it. ".repeat(100)).unwrap();
    let fault = Fault::from(Storage::open(&file).await.map(|_| ()).unwrap_err());
    assert_eq!(fault.code, ErrorCode::StorageDamaged);
    assert!(!fault.hint.is_empty());
}

#[tokio::test]
async fn a_database_that_cannot_grow_says_that_the_disk_is_full() {
    let f = open().await;
    // SQLite reports a page limit like a full disk.
    let mut connection = f.storage.pool.acquire().await.unwrap();
    sqlx::query("PRAGMA max_page_count = 1").execute(&mut *connection).await.unwrap();
    let error = loop {
        let made = sqlx::query("INSERT INTO tenants (name, created_at) VALUES (hex(randomblob(500)), 0)")
            .execute(&mut *connection)
            .await;
        if let Err(error) = made {
            break StorageError::because("cannot store the key")(error);
        }
    };
    let fault = Fault::from(error);
    assert_eq!((fault.code, fault.retryable), (ErrorCode::DiskFull, true));
}
