//! Runs the shell blocks of the pages against a server of their own, with the demo shop.

use super::super::common::{Home, PROGRAM, Server, templates};
use super::markdown::{Block, Page};
use super::output::is_as_shown;
use super::program::data;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Commands that a test cannot run, by their beginning, with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("make ", "builds and tests the whole workspace"),
    ("cargo ", "builds the whole workspace"),
    ("claude ", "a client program"),
    ("npx ", "downloads the conformance suites; tests/clients.rs runs those that script/setup installed"),
    ("script/setup", "installs packages; tests/setup.rs runs it with package managers made up for it"),
    ("sudo ", "changes the machine"),
    ("echo kernel.", "changes a setting of the kernel"),
    ("printf 'abi", "adds an AppArmor profile"),
    ("for c in memory", "makes cgroups as root; tests/transcript.rs runs it as the hint gives it"),
    ("stockade serve", "runs until it is stopped; the test has one running"),
    ("stockade demo", "runs until it is stopped; the test has one running"),
    ("stockade watch", "needs a terminal; tests/operators.rs types into it"),
    ("stockade approvals", "asks for a password; tests/operators.rs gives it"),
    ("stockade approve", "needs a waiting request; tests/operators.rs has one"),
    ("stockade deny", "needs a waiting request; tests/operators.rs has one"),
    ("stockade resume", "needs a paused session; tests/answers.rs has one"),
    ("stockade end", "needs a paused session; tests/answers.rs has one"),
    ("stockade doctor", "its exit code depends on the machine; tests/cli_commands.rs reads it"),
    ("stockade template build", "the template of the tests must stay; every test builds it once"),
];

/// A server with the demo shop, and a folder to run commands in.
pub struct DocumentedServer {
    home: Home,
    server: Server,
    shop: Child,
    shop_address: String,
    not_run: RefCell<BTreeSet<&'static str>>,
}

impl DocumentedServer {
    pub fn start() -> DocumentedServer {
        let mut shop = Command::new(PROGRAM)
            .args(["demo", "--json"])
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(shop.stdout.take().unwrap());
        let mut banner = String::new();
        let banner: Value = loop {
            assert_ne!(output.read_line(&mut banner).unwrap(), 0, "the shop ended: {banner}");
            if let Ok(banner) = serde_json::from_str(&banner) {
                break banner;
            }
        };
        let url = data(&banner)["url"].as_str().unwrap_or_else(|| panic!("{banner}"));
        let shop_address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let home = Home::asking(&format!("    egress:\n      hosts:\n        app.test: {shop_address}\n"));
        let server = home.serve(&[]);
        write_fixtures(home.folder.path());
        DocumentedServer { home, server, shop, shop_address, not_run: RefCell::default() }
    }

    /// Runs a script as a reader would, with both streams combined; returns exit code and output.
    fn run(&self, script: &str) -> (Option<i32>, String) {
        let script = script
            .replace("127.0.0.1:8080", &self.shop_address)
            .replace("127.0.0.1:7700", &self.server.address());
        let program = Path::new(PROGRAM).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let done = Command::new("setsid")
            .args(["--wait", "bash", "-euo", "pipefail", "-c", &format!("exec 2>&1\n{script}")])
            .current_dir(self.home.folder.path())
            .env("PATH", path)
            .env("HOME", self.home.folder.path())
            .env("STOCKADE_CONFIG", &self.home.config)
            .env("STOCKADE_STATE", self.home.state())
            .env("STOCKADE_TEMPLATES", templates())
            .env("STOCKADE_RUNTIME_DIR", self.home.runtime())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// Whether the list exempts the command.
    fn is_not_run(&self, command: &str) -> bool {
        let found = NOT_RUN.iter().find(|(start, _)| format!("{command} ").starts_with(start));
        self.not_run.borrow_mut().extend(found.map(|(start, _)| *start));
        found.is_some()
    }

    /// Runs the shell blocks of a page in order; returns the failures.
    pub fn run_page(&self, page: &Page) -> Vec<String> {
        let mut faults = Vec::new();
        for block in page.blocks() {
            let at = format!("{}:{}", page.path, block.line);
            match block.language.as_str() {
                "sh" => faults.extend(self.run_script(&block).map(|fault| format!("{at}: {fault}"))),
                "console" => faults.extend(self.run_console(&block).map(|fault| format!("{at}: {fault}"))),
                _ => {}
            }
        }
        faults
    }

    fn run_script(&self, block: &Block) -> Option<String> {
        let commands = commands(&block.text).into_iter().filter(|command| !self.is_not_run(command));
        let script = commands.collect::<Vec<_>>().join("\n");
        let (code, output) = self.run(&script);
        (code != Some(0)).then(|| format!("exit code {code:?} of\n{script}\n{output}"))
    }

    fn run_console(&self, block: &Block) -> Option<String> {
        for step in block.text.split("\n$ ") {
            let step = step.trim_start_matches("$ ");
            let (command, shown) = step.split_once('\n').unwrap_or((step, ""));
            if self.is_not_run(command) {
                continue;
            }
            let (code, output) = self.run(command);
            let output = output.replace(&self.shop_address, "127.0.0.1:8080");
            if code != Some(0) || !is_as_shown(shown, &output) {
                return Some(format!(
                    "exit code {code:?} of\n{command}\n--- shown\n{shown}\n--- real\n{output}"
                ));
            }
        }
        None
    }

    pub fn not_run(&self) -> BTreeSet<&'static str> {
        self.not_run.borrow().clone()
    }
}

impl Drop for DocumentedServer {
    fn drop(&mut self) {
        drop(self.shop.kill());
        drop(self.shop.wait());
    }
}

/// List entries that no page uses.
pub fn unused(used: &BTreeSet<&'static str>) -> Vec<&'static str> {
    NOT_RUN.iter().map(|(start, _)| *start).filter(|start| !used.contains(start)).collect()
}

/// The commands of a block: lines with their continuations, without comments.
pub fn commands(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let bare = joined.lines().map(|line| line.split(" # ").next().unwrap_or_default().trim());
    bare.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// Files that the pages assume a reader has.
fn write_fixtures(folder: &Path) {
    let cookies = "# Netscape HTTP Cookie File\n\
        github.com\tFALSE\t/\tTRUE\t4102444800\tuser_session\tmade-up-value-of-a-test\n";
    std::fs::write(folder.join("cookies.txt"), cookies).unwrap();
}
