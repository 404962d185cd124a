//! Grants on SQLite and PostgreSQL: single use, refusals, revocation, deletion.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::postgres::Postgres;
use common::{code, host, request, tenant};
use jiff::{SignedDuration, Timestamp};
use policy::Access;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use vault::{Database, GrantRequest, GrantedHost, Grants, Host, Issuer};

/// Grants in a database of either kind, with the values that must live as long.
struct GrantFixture {
    grants: Grants,
    database: Database,
    _folder: tempfile::TempDir,
    _postgres: Option<Postgres>,
}

fn fixtures() -> [GrantFixture; 2] {
    let folder = || tempfile::tempdir().unwrap();
    let fixture = |database: Database, folder, postgres| GrantFixture {
        grants: Grants::new(database.clone()),
        database,
        _folder: folder,
        _postgres: postgres,
    };
    let (first, postgres) = (folder(), Postgres::start());
    let sqlite = Database::sqlite(&first.path().join("vault.db")).unwrap();
    let server = Database::postgres(&postgres.url).unwrap();
    [fixture(sqlite, first, None), fixture(server, folder(), Some(postgres))]
}

fn hosts(names: &[&str]) -> Vec<Host> {
    names.iter().map(|name| host(name)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_hundred_openings_that_race_for_a_single_use_one_wins() {
    for fixture in fixtures() {
        let (first, second) = (Arc::new(fixture.grants), Arc::new(Grants::new(fixture.database.clone())));
        for _ in 0..3 {
            let now = Timestamp::now();
            let (token, grant) =
                first.issue(request("default", &["github.com"], Issuer::Operator), now).await.unwrap();
            let token = Arc::new(token);
            let mut racing = tokio::task::JoinSet::new();
            for number in 0..100 {
                let grants = Arc::clone(if number % 2 == 0 { &first } else { &second });
                let token = Arc::clone(&token);
                racing.spawn(async move {
                    let wanted = hosts(&["github.com"]);
                    let used = grants.consume(token.expose_secret(), &tenant("default"), &wanted, now).await;
                    match used {
                        Ok(consumed) => consumed.jti().to_owned(),
                        Err(error) => error.code().to_string().to_owned(),
                    }
                });
            }
            let mut ends = BTreeMap::new();
            while let Some(end) = racing.join_next().await {
                *ends.entry(end.unwrap()).or_insert(0) += 1;
            }
            assert_eq!(ends, BTreeMap::from([(grant.jti.clone(), 1), ("grant_consumed".to_owned(), 99)]));
        }
    }
}

#[tokio::test]
async fn a_grant_is_refused_to_others_elsewhere_too_late_and_twice() {
    for fixture in fixtures() {
        let (grants, now) = (&fixture.grants, Timestamp::now());
        let mut asked = request("default", &["github.com", "site:shop.test"], Issuer::Operator);
        asked.lifetime = Some(Duration::from_secs(60));
        let (token, grant) = grants.issue(asked, now).await.unwrap();
        let token = token.expose_secret();
        let later = |seconds| now + SignedDuration::from_secs(seconds);
        for (token, of, names, at, wanted) in [
            ("gr_stockade_nothing", "default", vec!["github.com"], now, "unknown_grant"),
            ("", "default", vec!["github.com"], now, "unknown_grant"),
            (&token.to_uppercase(), "default", vec!["github.com"], now, "unknown_grant"),
            (&grant.jti, "default", vec!["github.com"], now, "unknown_grant"),
            (token, "other", vec!["github.com"], now, "unknown_grant"),
            (token, "default", vec!["evil.test"], now, "grant_wrong_host"),
            (token, "default", vec!["github.com", "gist.github.com"], now, "grant_wrong_host"),
            (token, "default", vec!["evilshop.test"], now, "grant_wrong_host"),
            (token, "default", vec!["github.com"], later(60), "grant_expired"),
        ] {
            let used = grants.consume(token, &tenant(of), &hosts(&names), at).await;
            assert_eq!(code(used), wanted, "{of} {names:?}");
        }
        // None of these refusals consumed it.
        let wanted = hosts(&["github.com", "shop.test", "pay.shop.test"]);
        let consumed = grants.consume(token, &tenant("default"), &wanted, later(59)).await.unwrap();
        assert_eq!((consumed.jti(), consumed.tenant().as_str()), (grant.jti.as_str(), "default"));
        assert_eq!(
            code(grants.consume(token, &tenant("default"), &wanted, later(59)).await),
            "grant_consumed"
        );
        let listed = grants.list(&tenant("default"), 10).await.unwrap();
        assert_eq!((listed.len(), listed[0].uses, listed[0].used_at.is_some()), (1, 1, true));
        assert!(grants.list(&tenant("other"), 10).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_revocation_counts_at_once_for_new_uses_and_for_one_under_way() {
    for fixture in fixtures() {
        let (grants, now) = (&fixture.grants, Timestamp::now());
        let mut asked = request("default", &["github.com"], Issuer::Operator);
        asked.single_use = false;
        let (token, grant) = grants.issue(asked, now).await.unwrap();
        let wanted = hosts(&["github.com"]);
        let use_it = async || grants.consume(token.expose_secret(), &tenant("default"), &wanted, now).await;
        let under_way = use_it().await.unwrap();
        grants.confirm(&under_way, now).await.unwrap();
        use_it().await.unwrap();
        assert_eq!(code(grants.revoke(&tenant("other"), &grant.jti, now).await), "unknown_grant");
        let revoked = grants.revoke(&tenant("default"), &grant.jti, now).await.unwrap();
        assert_eq!((revoked.uses, revoked.revoked_at.is_some()), (2, true));
        assert_eq!(code(use_it().await), "grant_revoked");
        assert_eq!(code(grants.confirm(&under_way, now).await), "grant_revoked");
        // A second revocation does not change the time of the first.
        let later = now + SignedDuration::from_secs(5);
        assert_eq!(
            grants.revoke(&tenant("default"), &grant.jti, later).await.unwrap().revoked_at,
            revoked.revoked_at
        );
    }
}

#[tokio::test]
async fn a_use_that_came_to_nothing_is_given_back_once_and_to_nobody_elses_cost() {
    for fixture in fixtures() {
        let (grants, now) = (&fixture.grants, Timestamp::now());
        let wanted = hosts(&["github.com"]);
        let of = tenant("default");
        for single_use in [true, false] {
            let mut asked = request("default", &["github.com"], Issuer::Operator);
            asked.single_use = single_use;
            let (token, grant) = grants.issue(asked, now).await.unwrap();
            let use_it = async || grants.consume(token.expose_secret(), &of, &wanted, now).await;
            let state = async || {
                let all = grants.list(&of, 10).await.unwrap();
                let found = all.into_iter().find(|one| one.jti == grant.jti).unwrap();
                (found.uses, found.used_at.is_some())
            };
            grants.restore(use_it().await.unwrap()).await.unwrap();
            assert_eq!(state().await, (0, false));
            let first = use_it().await.unwrap();
            assert_eq!(state().await, (1, true));
            if !single_use {
                // Another opening uses it too; the first one may not give that use back.
                use_it().await.unwrap();
                grants.restore(first).await.unwrap();
                assert_eq!(state().await, (2, true));
                continue;
            }
            assert_eq!(code(use_it().await), "grant_consumed");
            assert!(!grants.is_revoked(&grant.jti).await.unwrap());
            grants.revoke(&of, &grant.jti, now).await.unwrap();
            assert!(grants.is_revoked(&grant.jti).await.unwrap());
            // Giving a use back does not undo a revocation.
            grants.restore(first).await.unwrap();
            assert_eq!(code(use_it().await), "grant_revoked");
        }
        assert_eq!(code(grants.is_revoked("no-such-grant").await), "unknown_grant");
    }
}

#[tokio::test]
async fn a_grant_is_found_by_the_start_of_its_id_if_no_other_begins_alike() {
    for fixture in fixtures() {
        let (grants, now) = (&fixture.grants, Timestamp::now());
        let of = tenant("default");
        // Until two ids share a prefix, which takes some three hundred.
        let mut made = BTreeMap::new();
        let pair = loop {
            let asked = request("default", &["github.com"], Issuer::Operator);
            let jti = grants.issue(asked, now).await.unwrap().1.jti;
            if let Some(other) = made.insert(jti[..4].to_owned(), jti.clone()) {
                break [jti, other];
            }
        };
        assert_eq!(code(grants.find_by_start(&of, &pair[0][..4]).await), "ambiguous_grant");
        assert_eq!(grants.find_by_start(&of, &pair[0]).await.unwrap().jti, pair[0]);
        for (start, whose) in [
            ("", "default"),
            (&pair[0][..3], "default"),
            ("%%%%", "default"),
            ("____", "default"),
            (&pair[0], "other"),
        ] {
            assert_eq!(code(grants.find_by_start(&tenant(whose), start).await), "unknown_grant", "{start}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn openings_that_race_and_give_back_never_have_a_single_use_twice_at_a_time() {
    for fixture in fixtures() {
        let grants = Arc::new(fixture.grants);
        let now = Timestamp::now();
        let (token, grant) =
            grants.issue(request("default", &["github.com"], Issuer::Operator), now).await.unwrap();
        let token = Arc::new(token);
        let (held, won) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut racing = tokio::task::JoinSet::new();
        for _ in 0..40 {
            let (grants, token) = (Arc::clone(&grants), Arc::clone(&token));
            let (held, won) = (Arc::clone(&held), Arc::clone(&won));
            racing.spawn(async move {
                for _ in 0..5 {
                    let wanted = hosts(&["github.com"]);
                    let used = grants.consume(token.expose_secret(), &tenant("default"), &wanted, now).await;
                    let Ok(consumed) = used else { continue };
                    assert_eq!(held.fetch_add(1, Ordering::SeqCst), 0, "two have it at once");
                    won.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    held.fetch_sub(1, Ordering::SeqCst);
                    grants.restore(consumed).await.unwrap();
                }
            });
        }
        while let Some(end) = racing.join_next().await {
            end.unwrap();
        }
        assert!(won.load(Ordering::SeqCst) > 0);
        let listed = grants.list(&tenant("default"), 10).await.unwrap();
        assert_eq!((listed[0].jti.as_str(), listed[0].uses), (grant.jti.as_str(), 0));
    }
}

#[tokio::test]
async fn lifetimes_are_a_tenants_own_and_old_grants_are_collected() {
    for fixture in fixtures() {
        let (grants, now) = (&fixture.grants, Timestamp::now());
        let issue = async |of: &str| {
            let (_, grant) = grants.issue(request(of, &["github.com"], Issuer::Operator), now).await.unwrap();
            grant.expires_at.duration_since(grant.issued_at).as_secs()
        };
        assert_eq!(issue("default").await, 15 * 60);
        grants.set_lifetime(&tenant("quick"), Duration::from_secs(90)).await.unwrap();
        assert_eq!((issue("quick").await, issue("default").await), (90, 15 * 60));
        grants.set_lifetime(&tenant("quick"), Duration::from_secs(30)).await.unwrap();
        assert_eq!(issue("quick").await, 30);
        for lifetime in [Duration::ZERO, Duration::from_secs(86_401)] {
            assert_eq!(code(grants.set_lifetime(&tenant("quick"), lifetime).await), "bad_grant");
            let mut asked = request("default", &["github.com"], Issuer::Operator);
            asked.lifetime = Some(lifetime);
            assert_eq!(code(grants.issue(asked, now).await), "bad_grant");
        }
        let mut nowhere = request("default", &[], Issuer::Operator);
        assert_eq!(code(grants.issue(nowhere.clone(), now).await), "bad_grant");
        nowhere.hosts = vec![GrantedHost::Host(host("a.test")); 33];
        assert_eq!(code(grants.issue(nowhere, now).await), "bad_grant");

        let in_a_minute_and_a_half = now + SignedDuration::from_secs(91);
        assert_eq!(grants.collect(in_a_minute_and_a_half).await.unwrap(), 2);
        assert_eq!(grants.list(&tenant("default"), 10).await.unwrap().len(), 2);
        assert!(grants.list(&tenant("quick"), 10).await.unwrap().is_empty());

        let short = Grants::new(fixture.database.clone()).default_lifetime(Duration::from_secs(7));
        for (of, seconds) in [("default", 7), ("quick", 30)] {
            let (_, grant) = short.issue(request(of, &["github.com"], Issuer::Operator), now).await.unwrap();
            assert_eq!(grant.expires_at.duration_since(grant.issued_at).as_secs(), seconds, "{of}");
        }
    }
}

#[tokio::test]
async fn a_grant_keeps_its_access() {
    for fixture in fixtures() {
        let now = Timestamp::now();
        for access in Access::ALL {
            let wanted = GrantRequest { access, ..request("default", &["a.test"], Issuer::Operator) };
            let (token, grant) = fixture.grants.issue(wanted, now).await.unwrap();
            assert_eq!(grant.access, access);
            let consumed =
                fixture.grants.consume(token.expose_secret(), &tenant("default"), &[], now).await.unwrap();
            assert_eq!(consumed.access(), access);
        }
        let listed = fixture.grants.list(&tenant("default"), 10).await.unwrap();
        for access in Access::ALL {
            assert_eq!(listed.iter().filter(|grant| grant.access == access).count(), 1, "{access:?}");
        }
    }
}

#[test]
fn a_granted_host_is_exact_unless_the_site_was_granted_by_name() {
    for bad in [
        "",
        "*",
        "*.github.com",
        "https://github.com",
        "github.com:443",
        "github.com/x",
        "site:com",
        "site:",
        "site:127.0.0.1",
        "a b",
        "site:*.a.test",
    ] {
        assert_eq!(code(GrantedHost::parse(bad)), "bad_grant", "{bad}");
    }
    for (granted, asked, covered) in [
        ("github.com", "github.com", true),
        ("GitHub.com", "github.com", true),
        ("bücher.test", "xn--bcher-kva.test", true),
        ("github.com", "gist.github.com", false),
        ("gist.github.com", "github.com", false),
        ("site:github.com", "gist.github.com", true),
        ("site:github.com", "github.com", true),
        ("site:github.com", "evilgithub.com", false),
        ("site:github.com", "github.com.evil.test", false),
    ] {
        assert_eq!(GrantedHost::parse(granted).unwrap().covers(&host(asked)), covered, "{granted} {asked}");
    }
}
