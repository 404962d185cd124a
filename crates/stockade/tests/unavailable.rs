//! `stockade mcp` on a machine where it cannot start: it answers the client, each call names the problem, and after the
//! fix the same process works.

use crate::common;

use common::machine::{self, PATIENCE, until};
use common::{Home, Mcp, PROGRAM};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The error of a call that needs a browser, and its hint.
fn refused(mcp: &mut Mcp) -> Value {
    let listed = mcp.request("tools/list", json!({}));
    assert!(listed["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 15), "{listed}");
    let error = mcp.call("browser_open_session", json!({})).expect_err("nothing can start yet");
    assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{error}");
    error
}

/// Checks that the next call of the same process works.
fn works(mcp: &mut Mcp) {
    let session = mcp.open();
    let page = mcp.goto(&session, "http://shop.test/");
    assert_eq!(page["url"], "http://shop.test/");
}

/// A problem, its error, and its fix.
struct Breakage<'a> {
    command: Command,
    code: &'a str,
    cause: Option<&'a str>,
    mend: &'a dyn Fn(),
}

impl Breakage<'_> {
    fn check(self) {
        let mut mcp = Mcp::start(self.command);
        let error = refused(&mut mcp);
        assert_eq!(
            (error["code"].as_str(), error["cause"].as_str()),
            (Some(self.code), self.cause),
            "{error}"
        );
        (self.mend)();
        works(&mut mcp);
        assert!(mcp.close().success(), "{}", self.code);
    }
}

#[test]
fn what_is_broken_is_named_in_the_call_and_once_it_is_mended_the_same_process_works() {
    let home = Home::new("");
    fs::write(home.state(), "a file in the way").unwrap();
    let command = home.command(&["mcp", "--demo"]);
    let mend = || fs::remove_file(home.state()).unwrap();
    Breakage { command, code: "state_unusable", cause: None, mend: &mend }.check();

    let tools = tempfile::tempdir().unwrap();
    let mut command = home.command(&["mcp", "--demo"]);
    command.env("PATH", format!("{}:/nowhere", tools.path().display()));
    let mend = || std::os::unix::fs::symlink("/usr/bin/bwrap", tools.path().join("bwrap")).unwrap();
    let cause = Some("bubblewrap_missing");
    Breakage { command, code: "sandbox_runtime_required", cause, mend: &mend }.check();

    let good = fs::read_to_string(&home.config).unwrap();
    fs::write(&home.config, "security:\n  browser:\n    sesion_timeout: 60\n").unwrap();
    let command = home.command(&["mcp", "--demo"]);
    let mend = || fs::write(&home.config, &good).unwrap();
    Breakage { command, code: "config_unknown_key", cause: None, mend: &mend }.check();
}

#[test]
fn without_a_browser_the_call_says_how_to_install_one_and_afterwards_the_template_is_built() {
    let home = Home::new("");
    let templates = tempfile::Builder::new().prefix("stockade-none-").tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(templates.path(), Permissions::from_mode(0o755)).unwrap();
    let inner = home.command(&["mcp", "--demo"]);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", "mount -t tmpfs none /usr/lib/chromium && exec \"$@\"", "sh"]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command.env("STOCKADE_TEMPLATES", templates.path());
    let mut mcp = Mcp::start(command);
    let error = refused(&mut mcp);
    assert_eq!(error["code"], "sandbox_runtime_required", "{error}");
    assert_eq!(error["cause"], "chromium_missing", "{error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("apt-get install chromium-headless-shell") && hint.contains("--browser"), "{hint}");
    // As after the installation of the package: the program exists.
    let process = mcp.child.id().to_string();
    let installed = Command::new("nsenter")
        .args(["--mount", "--target", &process, "umount", "/usr/lib/chromium"])
        .status()
        .unwrap();
    assert!(installed.success());
    works(&mut mcp);
}

#[test]
fn a_server_that_is_started_meanwhile_is_joined() {
    let home = Home::new("");
    let good = fs::read_to_string(&home.config).unwrap();
    fs::write(&home.config, "security: [\n").unwrap();
    let mut mcp = home.mcp();
    assert_eq!(refused(&mut mcp)["code"], "config_malformed");
    fs::write(&home.config, &good).unwrap();
    let _server = home.serve(&[]);
    works(&mut mcp);
    let (code, listed) = home.json(&["session", "list"]);
    assert_eq!((code, listed["sessions"].as_array().map(Vec::len)), (0, Some(1)), "{listed}");
}

/// An ordinary user of this machine, with a folder for the programs and a template that they built.
struct OrdinaryUser {
    id: u32,
    folder: tempfile::TempDir,
}

/// User ids that no account and no other test has: one each, because limits are delegated to a user.
const WITH_LIMITS_LATER: u32 = 61_235;
const WITHOUT_LIMITS: u32 = 61_236;

impl OrdinaryUser {
    fn new(id: u32) -> OrdinaryUser {
        let folder = tempfile::Builder::new().prefix("stockade-user-").tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        for name in ["stockade", "stockade-bridge"] {
            fs::copy(Path::new(PROGRAM).with_file_name(name), folder.path().join(name)).unwrap();
        }
        let user = OrdinaryUser { id, folder };
        for name in ["home", "run"] {
            fs::create_dir(user.path(name)).unwrap();
            chown(user.path(name), Some(id), Some(id)).unwrap();
        }
        let built = user.command(&["template", "build"]).output().unwrap();
        assert!(built.status.success(), "{built:?}");
        user
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program as this user, without a systemd session and without `sudo`.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        let (uid, gid) = (format!("--reuid={}", self.id), format!("--regid={}", self.id));
        command.args([&uid, &gid, "--clear-groups"]).arg(self.path("stockade")).args(arguments);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.path("home")).env("XDG_RUNTIME_DIR", self.path("run"));
        command
    }
}

/// Removes the cgroups that root made for the user.
struct Delegated;

impl Drop for Delegated {
    fn drop(&mut self) {
        for folder in machine::cgroups(&format!("stockade-{WITH_LIMITS_LATER}")) {
            until("the cgroup can be removed", PATIENCE, || {
                (fs::remove_dir(&folder).is_ok() || !folder.exists()).then_some(())
            });
        }
    }
}

#[test]
fn an_ordinary_user_without_delegated_limits_gets_the_command_that_mends_it_and_it_works() {
    let user = OrdinaryUser::new(WITH_LIMITS_LATER);
    let mut mcp = Mcp::start(user.command(&["mcp", "--demo"]));
    let error = refused(&mut mcp);
    assert_eq!(error["code"], "sandbox_runtime_required", "{error}");
    assert_eq!(error["cause"], "limits_unavailable", "{error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("weaker_limits: true"), "{hint}");
    // Where systemd delegates cgroups (version 2), the command needs a login session, which tests do not have.
    let Some((_, command)) = hint.split_once("Run once as root: ") else {
        assert!(hint.contains("systemd-run --user --scope -p Delegate=yes stockade serve"), "{hint}");
        return;
    };
    let (command, _) = command.split_once(". To do without").unwrap_or_else(|| panic!("{hint}"));
    let _delegated = Delegated;
    assert!(Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
    works(&mut mcp);
    assert!(mcp.close().success());
}

#[test]
fn an_ordinary_user_may_choose_to_do_without_limits_and_doctor_shows_it_as_bad() {
    let user = OrdinaryUser::new(WITHOUT_LIMITS);
    let mut mcp = Mcp::start(user.command(&["mcp", "--demo"]));
    refused(&mut mcp);
    let config = user.path("home/.config/stockade/stockade.yaml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "security:\n  browser:\n    container:\n      weaker_limits: true\n").unwrap();
    chown(&config, Some(WITHOUT_LIMITS), Some(WITHOUT_LIMITS)).unwrap();
    works(&mut mcp);
    assert!(mcp.close().success());
    let doctor = user.command(&["doctor", "--json"]).output().unwrap();
    let checks = common::parse_reply(&doctor);
    let limits = checks["checks"].as_array().unwrap().iter().find(|check| check["name"] == "limits").unwrap();
    assert_eq!((&limits["verdict"], &limits["code"]), (&json!("bad"), &json!("limits_weaker")), "{limits}");
}
