//! Signed-in sessions on every backend: an outage has its own error and never opens a signed-out session; afterwards
//! the next opening works.

use crate::common;

#[path = "backends/parts.rs"]
mod parts;

use common::grant_issuer::GrantIssuer;
use common::recorder::{Recorder, html};
use common::{Home, Mcp};
use parts::bao::Bao;
use parts::postgres::Postgres;
use parts::sops::Sops;
use serde_json::{Value, json};
use sqlx::{Connection, Executor};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use vault::GrantRequest;

const KEY: &str = "key-of-shop-5d21f00b";

fn document() -> Value {
    json!({"domain": "till.test", "origin": "http://till.test", "headers": {"X-Key": KEY}})
}

/// A backend with the credential in it.
struct BackendCase {
    home: Home,
    granting: GrantIssuer,
    /// The error code of an opening during an outage.
    down: &'static str,
    variables: Vec<(String, String)>,
    stop: Box<dyn FnMut(BackendState)>,
}

/// What becomes of a backend.
#[derive(Clone, Copy, Debug, PartialEq)]
enum BackendState {
    Down,
    /// It takes what it is sent, and says nothing.
    Silent,
    Up,
}

fn settings(recorder: &Recorder, credentials: &str) -> String {
    format!(
        "    egress:\n      hosts:\n        till.test: {}\n    credentials:\n{credentials}",
        recorder.address
    )
}

fn private(path: &std::path::Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

fn in_bao(recorder: &Recorder) -> BackendCase {
    let mut bao = Bao::start();
    bao.put("browser/till.test", &document().to_string());
    let token = bao.folder.path().join("token");
    private(&token, &bao.root_token);
    let home = Home::new(&settings(
        recorder,
        &format!(
            "      vault_backend: vault\n      vault_path: secrets/browser/\n      vault:\n        address: {}\n        token_file: {}\n",
            bao.address,
            token.display()
        ),
    ));
    let mut was = BackendState::Up;
    let stop = move |is: BackendState| {
        match (was, is) {
            (BackendState::Silent, _) | (_, BackendState::Silent) => bao.hang(is == BackendState::Silent),
            (_, BackendState::Down) => bao.kill(),
            (_, BackendState::Up) => {
                bao.run();
                bao.unseal();
            }
        }
        was = is;
    };
    BackendCase {
        granting: GrantIssuer::of(&home),
        home,
        down: "vault_unreachable",
        variables: Vec::new(),
        stop: Box::new(stop),
    }
}

fn in_sops(recorder: &Recorder) -> BackendCase {
    let sops = Sops::new();
    let folder = sops.folder.path().join("credentials");
    let away = sops.folder.path().join("away");
    sops.encrypt(&folder.join("till.test.yaml"), &document().to_string(), &[]);
    let keys = sops.folder.path().join("keys.txt");
    std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o600)).unwrap();
    let home = Home::new(&settings(
        recorder,
        &format!(
            "      vault_backend: sops\n      vault_path: {}\n      sops:\n        age_key_file: {}\n",
            folder.display(),
            keys.display()
        ),
    ));
    let stop = move |is: BackendState| {
        let _kept = &sops;
        let (from, to) = if is == BackendState::Down { (&folder, &away) } else { (&away, &folder) };
        std::fs::rename(from, to).unwrap();
    };
    BackendCase {
        granting: GrantIssuer::of(&home),
        home,
        down: "sops_unreadable",
        variables: Vec::new(),
        stop: Box::new(stop),
    }
}

fn in_env(recorder: &Recorder) -> BackendCase {
    let folder = tempfile::tempdir().unwrap();
    let (file, away) = (folder.path().join("shop.json"), folder.path().join("away.json"));
    private(&file, &document().to_string());
    let variable = ("STOCKADE_CREDENTIAL_TILL_TEST_FILE".to_owned(), file.to_string_lossy().into_owned());
    let home = Home::new(&settings(recorder, "      vault_backend: env\n"));
    let stop = move |is: BackendState| {
        let _kept = &folder;
        let (from, to) = if is == BackendState::Down { (&file, &away) } else { (&away, &file) };
        std::fs::rename(from, to).unwrap();
    };
    BackendCase {
        granting: GrantIssuer::of(&home),
        home,
        down: "env_unreadable",
        variables: vec![variable],
        stop: Box::new(stop),
    }
}

fn in_postgres(recorder: &Recorder) -> BackendCase {
    let mut postgres = Postgres::start();
    let home = Home::new(&settings(
        recorder,
        "      vault_backend: store\n      store:\n        database_url_file: URL\n",
    ));
    let file = home.folder.path().join("url");
    private(&file, &postgres.url);
    let config = std::fs::read_to_string(&home.config).unwrap();
    std::fs::write(&home.config, config.replace("URL", &file.display().to_string())).unwrap();
    home.store_credential(&document());
    let granting = GrantIssuer::in_postgres(&postgres.url);
    let mut was = BackendState::Up;
    let stop = move |is: BackendState| {
        match (was, is) {
            (BackendState::Silent, _) | (_, BackendState::Silent) => {
                postgres.hang(is == BackendState::Silent)
            }
            (_, BackendState::Down) => postgres.kill(),
            (_, BackendState::Up) => postgres.run(),
        }
        was = is;
    };
    BackendCase {
        home,
        granting,
        down: "credential_store_unreachable",
        variables: Vec::new(),
        stop: Box::new(stop),
    }
}

/// A file has no server to stop; what can be down is the way to it, when another holds it and does not let go.
fn in_sqlite(recorder: &Recorder) -> BackendCase {
    let home = Home::new(&settings(recorder, "      vault_backend: store\n"));
    home.store_credential(&document());
    let file = home.state().join("vault.db");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut held: Option<sqlx::SqliteConnection> = None;
    let stop = move |is: BackendState| {
        drop(held.take());
        if is == BackendState::Down {
            held = Some(runtime.block_on(async {
                let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&file);
                let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
                connection.execute("BEGIN EXCLUSIVE").await.unwrap();
                connection
            }));
        }
    };
    BackendCase {
        granting: GrantIssuer::of(&home),
        home,
        down: "credential_store_busy",
        variables: Vec::new(),
        stop: Box::new(stop),
    }
}

fn open(mcp: &mut Mcp, grant: &str) -> Result<Value, Value> {
    mcp.call("browser_open_session", json!({"credential_mode": "operator", "grant": grant}))
}

fn goes_down_and_comes_back(recorder: &Recorder, mut place: BackendCase, ways: &[BackendState]) {
    let request = GrantRequest { single_use: false, ..GrantIssuer::request(&["till.test"]) };
    let (grant, _) = place.granting.issue(request);
    let mut command = place.home.command(&["mcp"]);
    command.envs(place.variables.clone());
    let mut mcp = Mcp::start(command);
    let signed_in = |mcp: &mut Mcp, opened: &Value| {
        let session = opened["session_id"].as_str().unwrap();
        recorder.forget();
        mcp.goto(session, "http://till.test/");
        assert!(recorder.asked().iter().any(|asked| asked.header("x-key") == Some(KEY)), "not signed in");
        mcp.ok("browser_close_session", json!({"session_id": session}));
    };
    let opened = open(&mut mcp, &grant).unwrap();
    signed_in(&mut mcp, &opened);
    for is in ways {
        (place.stop)(*is);
        recorder.forget();
        let error = open(&mut mcp, &grant).unwrap_err();
        assert_eq!(
            (&error["code"], &error["retryable"]),
            (&json!(place.down), &json!(true)),
            "{is:?}: {error}"
        );
        assert!(!error["hint"].as_str().unwrap().is_empty());
        assert!(recorder.asked().is_empty(), "{is:?}: a session was opened all the same");
        (place.stop)(BackendState::Up);
        let opened =
            common::machine::until(place.down, Duration::from_secs(60), || open(&mut mcp, &grant).ok());
        signed_in(&mut mcp, &opened);
    }
}

#[test]
fn a_backend_that_is_down_is_an_error_of_its_own_and_works_again_when_it_is_back() {
    let recorder = Recorder::serve(|_| html("<title>shop</title><p>shop", ""));
    for place in [in_sops, in_env, in_sqlite] {
        goes_down_and_comes_back(&recorder, place(&recorder), &[BackendState::Down]);
    }
}

#[test]
fn a_server_that_is_down_or_silent_is_an_error_of_its_own_and_works_again_when_it_is_back() {
    let recorder = Recorder::serve(|_| html("<title>shop</title><p>shop", ""));
    for place in [in_bao, in_postgres] {
        goes_down_and_comes_back(&recorder, place(&recorder), &[BackendState::Down, BackendState::Silent]);
    }
}
