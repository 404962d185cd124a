//! Snippets for MCP clients start the same Stockade as the command that printed them.

use crate::cli_commands::User;
use crate::common::{Home, parse_reply, terminal::RunningProgram};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

const HOSTS: &str = "egress.hosts={a.test: '127.0.0.1:80'}";

#[test]
fn a_snippet_carries_state_configuration_and_settings_wherever_they_came_from() {
    let user = User::new();
    user.write("stockade.yaml", "security: {browser: {session_timeout: 77}}\n");
    let elsewhere = user.path("else where");
    fs::create_dir(&elsewhere).unwrap();
    let named = user.write("named.yaml", "security: {browser: {session_timeout: 78}}\n");
    let own = user.path(".local/share/stockade");
    let (found, by_variable) = (user.path("stockade.yaml"), user.path("by variable"));
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    for (arguments, variables, expected) in [
        (vec![], vec![], vec!["--state", &text(&own), "--config", &text(&found)]),
        (
            vec!["--state", "s", "--config", "named.yaml"],
            vec![],
            vec!["--state", &text(&user.path("s")), "--config", &text(&named)],
        ),
        (
            vec!["--set", "session_timeout=60", "--set", HOSTS],
            vec![("STOCKADE_STATE", &by_variable), ("STOCKADE_CONFIG", &named)],
            vec![
                "--state",
                &text(&by_variable),
                "--config",
                &text(&named),
                "--set",
                "session_timeout=60",
                "--set",
                HOSTS,
            ],
        ),
    ] {
        let mut command = user.command(&[&["connect", "--json"], &arguments[..]].concat());
        command.envs(variables);
        let reply = parse_reply(&command.output().unwrap());
        let launch = &reply["launch"];
        assert_eq!(launch["args"], json!([vec!["mcp"], expected].concat()), "{arguments:?}");
        assert_eq!(launch["env"]["STOCKADE_TEMPLATES"], json!(user.path("templates")), "{launch}");

        // A program that shares nothing with this shell gets the same settings.
        let words: Vec<&str> =
            launch["args"].as_array().unwrap()[1..].iter().map(|word| word.as_str().unwrap()).collect();
        let shown = |mut command: Command| parse_reply(&command.output().unwrap())["settings"].clone();
        let mut there = Command::new(launch["command"].as_str().unwrap());
        there.args(["config", "show", "--json"]).args(words).current_dir(&elsewhere).env_clear();
        let mut here = user.command(&[&["config", "show", "--json"], &arguments[..]].concat());
        here.envs([("STOCKADE_CONFIG", &named)].into_iter().filter(|_| arguments.contains(&HOSTS)));
        let values = |settings: Value| -> Vec<Value> {
            settings.as_array().unwrap().iter().map(|one| one["value"].clone()).collect()
        };
        assert_eq!(values(shown(there)), values(shown(here)), "{arguments:?}");

        // Each client's file has them too.
        for client in reply["clients"].as_array().unwrap() {
            let Some(_) = client["file"].as_str() else { continue };
            let file: Value = serde_json::from_str(client["stdio"].as_str().unwrap()).unwrap();
            let servers = file.get("servers").unwrap_or(&file["mcpServers"]);
            assert_eq!(servers["stockade"]["args"], launch["args"], "{client}");
        }
    }
}

#[test]
fn connect_prints_one_client_in_both_forms_and_says_what_is_missing() {
    let user = User::new();
    let all = user.ok(&["connect"]);
    for part in ["Claude Code", "Claude Desktop", "Cursor", "VS Code", "stockade key make", "stockade serve"]
    {
        assert!(all.contains(part), "{part} in {all}");
    }
    let one = user.ok(&["connect", "claude-code"]);
    assert!(one.contains("claude mcp add stockade") && one.contains("--transport http"), "{one}");
    assert!(!one.contains("Cursor"), "{one}");
    assert!(!user.ok(&["connect", "cursor", "--stdio"]).contains("Bearer"));
    assert!(!user.ok(&["connect", "cursor", "--http"]).contains("\"command\""));
    let open = user.ok(&["connect", "vscode", "--http", "--set", "server.open=true"]);
    assert!(!open.contains("KEY") && open.contains("127.0.0.1:7700/mcp"), "{open}");
}

#[test]
fn the_banner_of_serve_has_the_same_snippets_and_connect_finds_the_running_server() {
    let home = Home::new("");
    let command = home.command(&["serve", "--listen", "127.0.0.1:0", "--set", HOSTS]);
    let mut serving = RunningProgram::on_a_pipe(command);
    serving.until("Stop with Ctrl-C");
    let banner = serving.so_far();
    let (state, config) = (home.state(), home.config.clone());
    for part in [state.to_str().unwrap(), config.to_str().unwrap(), HOSTS, "claude_desktop_config.json"] {
        assert!(banner.contains(part), "{part} in {banner}");
    }
    let url = banner.lines().find_map(|line| line.trim().strip_prefix("MCP      ")).unwrap();
    let (_, reply) = home.json(&["connect"]);
    assert_eq!((&reply["url"], &reply["running"]), (&json!(url), &json!(true)), "{banner}");
    serving.child.kill().unwrap();
    serving.child.wait().unwrap();
}
