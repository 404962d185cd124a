//! Rotated cookies on SQLite and PostgreSQL: kept apart from credentials until an operator accepts them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::store_fixture::{StoreFixture, put};
use common::{CANARY, TestGrants, code, full_document, host, id, tenant};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;
use vault::{Cookie, Credential, Issuer, MasterKeySource, Store, Vault};

const ROTATED: &str = "r0t4ted-value-of-a-cookie";

/// The cookies of a document, as a browser would hand them over.
fn cookies(of: &str, list: &str) -> Vec<Cookie> {
    let document = format!(r#"{{"domain": "{of}", "cookies": {list}}}"#);
    Credential::from_json(document.as_bytes()).unwrap().cookies
}

fn new_session(of: &str) -> Vec<Cookie> {
    cookies(
        of,
        &format!(
            r#"[{{"name": "user_session", "value": "{ROTATED}", "domain": ".{of}", "httpOnly": true, "secure": true}},
                {{"name": "tz", "value": "Europe/Rome"}}, {{"name": "fresh", "value": "new-{ROTATED}"}}]"#
        ),
    )
}

async fn keep(store: &Store, of: &str, name: &str, at: Timestamp) {
    let domain = host("github.com");
    store.keep_rotated(&tenant(of), &id(name), &domain, new_session("github.com"), at).await.unwrap();
}

fn table(fixture: &StoreFixture) -> Store {
    fixture.open(MasterKeySource::File(fixture.key()))
}

#[tokio::test]
async fn what_a_site_rotated_waits_and_reaches_the_credential_by_accept_alone() {
    let consumed = TestGrants::new().consume_new("default", &["github.com"], Issuer::Operator).await;
    for fixture in StoreFixture::both() {
        let (vault, store, now) = (fixture.store(), table(&fixture), Timestamp::now());
        put(&vault, "default", "github.com", &full_document("github.com")).await;
        let value = async |name: &str| {
            let credential = vault.open_for_grant(&consumed, &id("github.com")).await.unwrap();
            let found = credential.cookies.iter().find(|cookie| cookie.name == name);
            found.map(|cookie| (cookie.value.text.expose_secret().to_owned(), cookie.value.is_secret))
        };
        assert!(store.rotated(&tenant("default")).await.unwrap().is_empty());
        let early = vault.accept(&tenant("default"), &id("github.com"), now).await;
        assert_eq!(code(early), "nothing_rotated");
        keep(&store, "default", "github.com", now - SignedDuration::from_secs(60)).await;
        keep(&store, "default", "github.com", now).await;
        let waiting = store.rotated(&tenant("default")).await.unwrap();
        assert_eq!(waiting.len(), 1, "the newer ones are in the place of the older");
        assert_eq!(waiting[0].names, ["user_session", "tz", "fresh"]);
        assert_eq!(waiting[0].kept_at.as_millisecond(), now.as_millisecond());
        assert!(!format!("{waiting:?}").contains(ROTATED));
        assert!(store.rotated(&tenant("other")).await.unwrap().is_empty());
        assert_eq!(code(vault.accept(&tenant("other"), &id("github.com"), now).await), "nothing_rotated");
        assert_eq!(value("user_session").await, Some((CANARY.to_owned(), true)), "nothing has changed yet");
        assert_eq!(value("fresh").await, None);

        let later = now + SignedDuration::from_secs(9);
        let names = vault.accept(&tenant("default"), &id("github.com"), later).await.unwrap();
        assert_eq!(names, ["user_session", "tz", "fresh"]);
        assert_eq!(value("user_session").await, Some((ROTATED.to_owned(), true)));
        assert_eq!(value("tz").await, Some(("Europe/Rome".to_owned(), false)), "it is still no secret");
        assert_eq!(value("fresh").await, Some((format!("new-{ROTATED}"), true)));
        assert_eq!(value("__Host-id").await, Some(("two-and-no".to_owned(), true)), "the others stay");
        let listed = vault.list(&tenant("default")).await.unwrap();
        assert_eq!(listed[0].last_refreshed_at.unwrap().as_millisecond(), later.as_millisecond());
        assert_eq!(code(vault.accept(&tenant("default"), &id("github.com"), later).await), "nothing_rotated");
    }
}

#[tokio::test]
async fn what_waits_is_thrown_away_by_a_word_with_its_credential_and_by_a_new_one() {
    for fixture in StoreFixture::both() {
        let (vault, store, now) = (fixture.store(), table(&fixture), Timestamp::now());
        let (of, name) = (tenant("default"), id("github.com"));
        let waits = async || !store.rotated(&of).await.unwrap().is_empty();
        // Cookies of a credential in another backend can be stored and rejected, not accepted.
        keep(&store, "default", "github.com", now).await;
        assert_eq!(code(vault.accept(&of, &name, now).await), "unknown_credential");
        assert!(waits().await, "what could not be accepted still waits");
        store.reject(&of, &name).await.unwrap();
        assert!(!waits().await);
        assert_eq!(code(store.reject(&of, &name).await), "nothing_rotated");

        put(&vault, "default", "github.com", &full_document("github.com")).await;
        keep(&store, "default", "github.com", now).await;
        put(&vault, "default", "github.com", &full_document("github.com")).await;
        assert!(!waits().await, "a credential that was put anew is newer than what waited");
        keep(&store, "default", "github.com", now).await;
        vault.remove(&of, &name).await.unwrap();
        assert!(!waits().await);
    }
}

#[tokio::test]
async fn rows_that_were_moved_do_not_open_and_nothing_in_the_database_shows_a_value() {
    for fixture in StoreFixture::both() {
        let (vault, store, now) = (fixture.store(), table(&fixture), Timestamp::now());
        for (statement, of, name) in [
            ("UPDATE rotated SET tenant = 'other' WHERE id = 'a'", "other", "a"),
            ("UPDATE rotated SET id = 'c' WHERE id = 'a'", "default", "c"),
            (
                "UPDATE rotated SET sealed = (SELECT sealed FROM rotated WHERE id = 'b') WHERE id = 'a'",
                "default",
                "a",
            ),
            (
                "UPDATE rotated SET sealed = (SELECT sealed FROM rotated WHERE id = 'b'),
                 data_key = (SELECT data_key FROM rotated WHERE id = 'b') WHERE id = 'a'",
                "default",
                "a",
            ),
            // A credential's own row does not decrypt as a row of rotated cookies.
            (
                "UPDATE rotated SET sealed = (SELECT sealed FROM credentials WHERE tenant = 'default' AND id = 'a'),
                 data_key = (SELECT data_key FROM credentials WHERE tenant = 'default' AND id = 'a') WHERE id = 'a'",
                "default",
                "a",
            ),
        ] {
            for name in ["a", "b"] {
                put(&vault, "default", name, &full_document("github.com")).await;
                keep(&store, "default", name, now).await;
            }
            put(&vault, "other", "a", &full_document("github.com")).await;
            put(&vault, "default", "c", &full_document("github.com")).await;
            fixture.tamper(statement).await;
            assert_eq!(
                code(vault.accept(&tenant(of), &id(name), now).await),
                "credential_altered",
                "{statement}"
            );
            assert_eq!(code(store.rotated(&tenant(of)).await), "credential_altered", "{statement}");
            fixture.tamper("DELETE FROM rotated").await;
        }
    }
    let fixture = &StoreFixture::both()[0];
    keep(&table(fixture), "default", "github.com", Timestamp::now()).await;
    let mut searched = 0;
    for entry in std::fs::read_dir(fixture.folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        searched += bytes.len();
        assert!(!bytes.windows(ROTATED.len()).any(|part| part == ROTATED.as_bytes()));
    }
    assert!(searched > 10_000, "only {searched} bytes were searched");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_new_master_key_opens_what_waits_and_acceptances_that_race_give_one() {
    for fixture in StoreFixture::both() {
        let (vault, store, now) = (fixture.store(), table(&fixture), Timestamp::now());
        put(&vault, "default", "github.com", &full_document("github.com")).await;
        keep(&store, "default", "github.com", now).await;
        assert_eq!(store.rotate().await.unwrap().rewrapped, 2);
        // Another process, which has the new key alone.
        let vault: Arc<Vault> = Arc::new(fixture.store());
        let mut racing = tokio::task::JoinSet::new();
        for _ in 0..12 {
            let vault = Arc::clone(&vault);
            racing.spawn(async move {
                let done = vault.accept(&tenant("default"), &id("github.com"), now).await;
                done.map(|names| names.len()).map_err(|error| error.code())
            });
        }
        let ends = racing.join_all().await;
        assert_eq!(ends.iter().filter(|end| **end == Ok(3)).count(), 1, "{ends:?}");
        assert_eq!(
            ends.iter().filter(|end| **end == Err(error_code::ErrorCode::NothingRotated)).count(),
            11,
            "{ends:?}"
        );
    }
}

#[tokio::test]
async fn what_no_credential_could_hold_is_not_kept() {
    let fixture = &StoreFixture::both()[0];
    let store = table(fixture);
    let keep = async |cookies: Vec<Cookie>| {
        store.keep_rotated(&tenant("default"), &id("x"), &host("github.com"), cookies, Timestamp::now()).await
    };
    assert_eq!(code(keep(Vec::new()).await), "credential_malformed");
    assert_eq!(
        code(keep(cookies("evil.test", r#"[{"name": "a", "value": "b", "domain": ".evil.test"}]"#)).await),
        "credential_malformed"
    );
    let many: Vec<String> = (0..300).map(|n| format!(r#"{{"name": "n{n}", "value": "v"}}"#)).collect();
    let list = format!("[{}]", many.join(","));
    let mut one_more = cookies("github.com", &list);
    one_more.extend(cookies("github.com", r#"[{"name": "last", "value": "v"}]"#));
    assert_eq!(code(keep(one_more).await), "credential_malformed");
    keep(cookies("github.com", &list)).await.unwrap();
    // Together they would exceed the limit, so both stay unchanged.
    let vault = fixture.store();
    put(&vault, "default", "y", &full_document("github.com")).await;
    store
        .keep_rotated(
            &tenant("default"),
            &id("y"),
            &host("github.com"),
            cookies("github.com", &list),
            Timestamp::now(),
        )
        .await
        .unwrap();
    assert_eq!(
        code(vault.accept(&tenant("default"), &id("y"), Timestamp::now()).await),
        "credential_malformed"
    );
    assert_eq!(store.rotated(&tenant("default")).await.unwrap().len(), 2);
}
