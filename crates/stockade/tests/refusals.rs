//! Missing or wrong requirements of a start: no start, a stable code, a message and a hint.

use crate::common;

use common::{Home, Mcp, PROGRAM, known, machine, templates};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Runs a command that must fail, and returns its error.
fn refused(command: &mut Command) -> Value {
    error_of(&command.arg("--json").output().unwrap())
}

/// Runs `inner`'s command through `outer`.
fn with(outer: &mut Command, inner: &Command) {
    outer.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        outer.env(name, value.unwrap());
    }
}

fn error_of(done: &Output) -> Value {
    assert!(!done.status.success(), "{done:?}");
    let answer: Value = serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{done:?}"));
    let error = answer["error"].clone();
    for field in ["code", "message", "hint"] {
        assert!(error[field].as_str().is_some_and(|text| !text.is_empty()), "no {field}: {answer}");
    }
    known(error)
}

fn code(command: &mut Command) -> String {
    refused(command)["code"].as_str().unwrap().to_owned()
}

/// Runs a command that must fail because no jail can start; returns the code of the cause.
fn cause(command: &mut Command) -> String {
    cause_of(&refused(command))
}

fn cause_of(error: &Value) -> String {
    assert_eq!(
        (&error["code"], &error["retryable"]),
        (&json!("sandbox_runtime_required"), &json!(false)),
        "{error}"
    );
    error["cause"].as_str().unwrap_or_else(|| panic!("no cause: {error}")).to_owned()
}

#[test]
fn no_chromium() {
    let empty = tempfile::tempdir().unwrap();
    let mut without = Command::new("unshare");
    without.args(["--mount", "sh", "-c", "mount -t tmpfs none /usr/lib/chromium && exec \"$@\"", "sh"]);
    without.args([PROGRAM, "template", "build"]).env("STOCKADE_TEMPLATES", empty.path());
    assert_eq!(code(&mut without), "chromium_missing");
}

#[test]
fn no_bubblewrap() {
    let home = Home::new("");
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(cause(home.command(&["smoke", "--demo"]).env("PATH", empty.path())), "bubblewrap_missing");
}

#[test]
fn namespaces_forbidden() {
    // A user namespace with every user mapped, in which no further one can be made: a hardened kernel.
    let home = Home::new("");
    // Only the second shell is root there: the first started before the users were mapped.
    let forbid =
        "read go && exec sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"' sh \"$@\"";
    let mut inside = Command::new("unshare");
    inside.args(["--user", "sh", "-c", forbid, "sh"]);
    with(&mut inside, &home.command(&["smoke", "--demo", "--json"]));
    let mut child = inside.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let ours = std::fs::read_link("/proc/self/ns/user").unwrap();
    let theirs = format!("/proc/{}/ns/user", child.id());
    machine::until("a namespace", Duration::from_secs(10), || {
        std::fs::read_link(&theirs).is_ok_and(|namespace| namespace != ours).then_some(())
    });
    for map in ["uid_map", "gid_map"] {
        std::fs::write(format!("/proc/{}/{map}", child.id()), "0 0 4294967295").unwrap();
    }
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert_eq!(cause_of(&error_of(&child.wait_with_output().unwrap())), "namespaces_forbidden");
}

#[test]
fn a_full_disk() {
    let home = Home::new("");
    let mut small = Command::new("unshare");
    let fill = "mount -t tmpfs -o size=1m,mode=700 none \"$1\" && \"$2\" key list --state \"$1\" >/dev/null && \
                { dd if=/dev/zero of=\"$1/fill\" bs=4k 2>/dev/null || shift; } && exec \"$@\"";
    small.args(["--mount", "sh", "-c", fill, "sh"]);
    std::fs::create_dir_all(home.state()).unwrap();
    small.arg(home.state());
    with(&mut small, &home.command(&["smoke", "--demo"]));
    assert_eq!(code(&mut small), "disk_full");
}

#[test]
fn an_altered_template() {
    let home = Home::new("");
    let scratch = tempfile::Builder::new().prefix("stockade-altered-").tempdir_in("/var/tmp").unwrap();
    // A small template, which is refused before anything of it is started.
    let built = Command::new(PROGRAM)
        .args(["template", "build", "--json", "--browser", "/usr/bin/env"])
        .env("STOCKADE_TEMPLATES", scratch.path())
        .output()
        .unwrap();
    let built = common::parse_reply(&built);
    let folder = Path::new(built["template"]["root"].as_str().unwrap()).join("stockade");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(folder.join("extra"), "x").unwrap();
    let error = refused(home.command(&["smoke", "--demo"]).env("STOCKADE_TEMPLATES", scratch.path()));
    assert_eq!(cause_of(&error), "template_altered");
    assert!(error["message"].as_str().unwrap().contains("stockade/extra"), "{error}");
}

#[test]
fn an_unknown_setting() {
    let home = Home::new("    sesion_timeout: 5\n");
    let error = refused(&mut home.command(&["smoke", "--demo"]));
    assert_eq!(error["code"], "config_unknown_key");
    assert!(format!("{error}").contains("session_timeout"), "{error}");
}

#[test]
fn a_configuration_that_others_could_change() {
    let home = Home::new("    session_timeout: 60\n");
    std::os::unix::fs::chown(&home.config, Some(12345), None).unwrap();
    assert_eq!(code(&mut home.command(&["config", "show"])), "config_not_ours");
    std::os::unix::fs::chown(&home.config, Some(machine::uid()), None).unwrap();
    std::fs::set_permissions(&home.config, PermissionsExt::from_mode(0o664)).unwrap();
    assert_eq!(code(&mut home.command(&["config", "show"])), "config_writable_by_all");
}

#[test]
fn a_project_does_not_configure_the_jail_of_its_own_agent() {
    let home = Home::new("");
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join("stockade.yaml"), "security:\n  browser:\n    enabled: false\n")
        .unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["mcp", "--state"]).arg(home.state()).current_dir(project.path());
    command.env("STOCKADE_TEMPLATES", templates()).env("STOCKADE_RUNTIME_DIR", home.runtime());
    command.env("XDG_CONFIG_HOME", project.path().join("none"));
    let mut mcp = Mcp::start(command);
    mcp.open();
}

#[test]
fn a_browser_that_is_turned_off() {
    let home = Home::new("    enabled: false\n");
    assert_eq!(code(&mut home.command(&["smoke", "--demo"])), "disabled");
}

#[test]
fn a_second_server_on_a_locked_state() {
    let home = Home::new("");
    let server = home.serve(&[]);
    let error = refused(&mut home.command(&["serve", "--listen", "127.0.0.1:0"]));
    assert_eq!(error["code"], "state_locked");
    assert!(error["message"].as_str().unwrap().contains(&server.child.id().to_string()), "{error}");
}

#[test]
fn a_port_that_is_taken() {
    let home = Home::new("");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_eq!(code(&mut home.command(&["serve", "--listen", &address])), "port_in_use");
}

#[test]
fn no_server_to_ask() {
    let home = Home::new("");
    assert_eq!(code(&mut home.command(&["session", "list"])), "not_running");
}

#[test]
fn a_server_that_does_not_answer() {
    let home = Home::new("");
    std::fs::create_dir(home.state()).unwrap();
    let server = std::os::unix::net::UnixListener::bind(home.state().join("control.sock")).unwrap();
    std::thread::spawn(move || server.incoming().for_each(drop));
    assert_eq!(code(&mut home.command(&["session", "list"])), "not_responding");
}

#[test]
fn an_address_that_cannot_be_bound() {
    let home = Home::new("");
    // A privileged port for an ordinary user, where the kernel has its default settings.
    let mut without = Command::new("unshare");
    without.args(["--net", "setpriv", "--bounding-set", "-net_bind_service"]);
    with(&mut without, &home.command(&["serve", "--listen", "127.0.0.1:80"]));
    assert_eq!(code(&mut without), "cannot_listen");
}

#[test]
fn a_state_folder_or_a_file_in_it_that_cannot_be_used() {
    let somebody = Home::new("");
    std::fs::create_dir(somebody.state()).unwrap();
    std::os::unix::fs::chown(somebody.state(), Some(12345), None).unwrap();
    assert_eq!(code(&mut somebody.command(&["key", "list"])), "state_not_ours");

    let in_the_way = |name: &str, command: &[&str]| {
        let home = Home::new("");
        std::fs::create_dir(home.state()).unwrap();
        if name == "stockade.db" {
            std::fs::create_dir(home.state().join(name)).unwrap();
        } else {
            std::fs::write(home.state().join(name), "").unwrap();
        }
        code(&mut home.command(command))
    };
    assert_eq!(in_the_way("stockade.db", &["key", "list"]), "storage_failed");
    assert_eq!(in_the_way("audit", &["smoke", "--demo"]), "audit_unwritable");
    assert_eq!(in_the_way("audit", &["audit", "tail"]), "audit_unreadable");
    assert_eq!(in_the_way("archive", &["smoke", "--demo"]), "state_unwritable");
}

/// Runs a SQLite statement on the database of a state folder, then calls `then` while the connection is open.
fn with_database<T>(home: &Home, then: impl FnOnce() -> T, statement: &str) -> T {
    let file = home.state().join("stockade.db");
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
        let mut database = sqlx::ConnectOptions::connect(&options).await.unwrap();
        sqlx::query(sqlx::AssertSqlSafe(statement)).execute(&mut database).await.unwrap();
        then()
    })
}

#[test]
fn keys_that_another_process_holds_or_a_newer_program_wrote() {
    let home = Home::new("");
    home.json(&["key", "make"]);
    let list = || refused(&mut home.command(&["key", "list"]));
    let busy = with_database(&home, list, "BEGIN EXCLUSIVE");
    assert_eq!((&busy["code"], &busy["retryable"]), (&json!("storage_busy"), &json!(true)));
    let newer = with_database(
        &home,
        list,
        "INSERT INTO schema_migrations (version, description, success, checksum, execution_time)
         VALUES (99, 'of a later release', true, '', 0)",
    );
    assert_eq!(newer["code"], "storage_newer");
    let label = "x".repeat(65);
    assert_eq!(code(&mut Home::new("").command(&["key", "make", "--label", &label])), "bad_label");
}

#[test]
fn settings_that_cannot_be_read() {
    let large = "#".repeat(1024 * 1024 + 1);
    for (text, expected) in [
        ("security:\n  browser:\n    enabled: true\n    enabled: true\n", "config_duplicate_key"),
        ("security: [\n", "config_malformed"),
        (large.as_str(), "config_too_large"),
    ] {
        let home = Home::new("");
        std::fs::write(&home.config, text).unwrap();
        assert_eq!(code(&mut home.command(&["config", "show"])), expected);
    }
}

#[test]
fn inputs_that_no_template_can_be_built_from() {
    let folder = tempfile::Builder::new().prefix("stockade-unbuilt-").tempdir_in("/var/tmp").unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let make = |name: &str, bytes: &[u8]| {
        std::fs::write(path(name), bytes).unwrap();
        std::fs::set_permissions(path(name), PermissionsExt::from_mode(0o755)).unwrap();
        path(name)
    };
    let script = make("script", b"#!/bin/sh\n");
    // An ordinary program that needs a library with a missing name.
    let program = std::fs::read("/bin/sh").unwrap();
    let needs = program.windows(10).position(|name| name == b"libc.so.6\0").unwrap();
    let lacking = make("lacking", &[&program[..needs], b"libx", &program[needs + 4..]].concat());
    let open = path("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    for (store, arguments, expected) in [
        (path("store"), vec!["--browser", &script], "chromium_not_a_program"),
        ("/dev/null/store".to_owned(), vec![], "template_build_failed"),
        (path("store"), vec!["--bridge", &lacking], "library_missing"),
        (open, vec![], "template_store_unsafe"),
    ] {
        let mut build = Command::new(PROGRAM);
        build.args(["template", "build"]).args(arguments).env("STOCKADE_TEMPLATES", store);
        assert_eq!(code(&mut build), expected);
    }
    let mut without = Command::new("unshare");
    without.args(["--mount", "sh", "-c", "mount -t tmpfs none /usr/share/X11 && exec \"$@\"", "sh"]);
    without
        .args([PROGRAM, "template", "build", "--display", "xvfb"])
        .env("STOCKADE_TEMPLATES", path("store"));
    assert_eq!(code(&mut without), "program_missing");
}

#[test]
fn a_chromium_that_does_not_start() {
    let home = Home::new("");
    let scratch = tempfile::Builder::new().prefix("stockade-mute-").tempdir_in("/var/tmp").unwrap();
    // It prints a version as `template build` expects, but is no browser.
    let mute = ["template", "build", "--browser", "/usr/bin/env"];
    let built = Command::new(PROGRAM).args(mute).env("STOCKADE_TEMPLATES", scratch.path()).output().unwrap();
    assert!(built.status.success(), "{built:?}");
    let mut smoke = home.command(&["smoke", "--demo"]);
    assert_eq!(code(smoke.env("STOCKADE_TEMPLATES", scratch.path())), "browser_start_failed");
}

#[test]
fn limits_that_cannot_be_set() {
    let home = Home::new("    container:\n      cgroup_parent: /nowhere/at/all\n");
    assert_eq!(cause(&mut home.command(&["smoke", "--demo"])), "limits_unavailable");
}

#[test]
fn a_runtime_folder_that_is_no_folder() {
    let home = Home::new("");
    let list = |folder: &str| code(home.command(&["jail", "list"]).env("STOCKADE_RUNTIME_DIR", folder));
    assert_eq!(list("/dev/null/here"), "jail_system_error");
}

#[test]
fn a_process_that_may_not_open_a_file() {
    let home = Home::new("");
    let mut poor = Command::new("sh");
    poor.args(["-c", "ulimit -n 5 && exec \"$@\"", "sh"]);
    with(&mut poor, &home.command(&["key", "list"]));
    assert_eq!(code(&mut poor), "internal");
}

#[test]
fn a_keeper_that_is_gone() {
    let home = Home::new("");
    let mut server = home.serve(&[]);
    let keeper = machine::family(server.child.id());
    let keeper = keeper.into_iter().find(|p| p.arguments.iter().any(|a| a == "jail-keeper")).unwrap();
    machine::signal(keeper.pid, "KILL");
    let last = server.last_words();
    assert_eq!(cause_of(&known(last["error"].clone())), "keeper_lost");
}

#[test]
fn doctor_shows_weaker_limits_in_red() {
    let home = Home::new("    container:\n      weaker_limits: true\n");
    let (exit, report) = home.json(&["doctor"]);
    assert_eq!((exit, &known(report["error"].clone())["code"]), (1, &"checks_failed".into()));
    let limits =
        report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "limits").unwrap().clone();
    assert_eq!(limits["verdict"], "bad", "{limits}");
    assert_eq!(known(limits)["code"], "limits_weaker");
    let shown = home.command(&["doctor"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    let line = text.lines().find(|line| line.contains("limits")).unwrap();
    assert!(line.contains("\u{1b}[31m") || line.contains("\u{1b}[1m\u{1b}[31m"), "{line:?}");
}

#[test]
fn doctor_finds_a_good_machine_good() {
    let home = Home::new("");
    templates();
    let (exit, report) = home.json(&["doctor"]);
    assert_eq!(exit, 0, "{report:#}");
    let names: Vec<_> =
        report["checks"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    for name in [
        "kernel",
        "bubblewrap",
        "namespaces",
        "limits",
        "chromium",
        "template",
        "fonts",
        "state folder",
        "port",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    // Another test may have such a cgroup for a moment.
    let gone = || machine::cgroups("doctor").is_empty().then_some(());
    machine::until("no cgroup is left", std::time::Duration::from_secs(60), gone);
}
