//! Snippets that connect an MCP client: one file or command line per client, over standard input and output or HTTP.

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// MCP clients that Stockade knows the settings of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    #[value(name = "vscode")]
    VsCode,
}

/// How a client starts `stockade mcp`.
#[derive(Debug, Serialize)]
pub struct McpLaunch {
    #[serde(rename = "command")]
    pub program: String,
    pub args: Vec<String>,
    #[serde(rename = "env")]
    pub environment: Map<String, Value>,
}

impl McpLaunch {
    /// Folders that are set by variables. A client may start Stockade without them.
    pub fn inherited_environment() -> Map<String, Value> {
        let names = ["STOCKADE_TEMPLATES", "STOCKADE_RUNTIME_DIR"];
        let set = names.into_iter().filter_map(|name| {
            let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
            let absolute = std::path::absolute(&value).map_or(value, |path| path.display().to_string());
            Some((name.to_owned(), absolute.into()))
        });
        set.collect()
    }
}

/// Where a running server answers, and the key that it asks for.
#[derive(Debug)]
pub struct HttpEndpoint {
    pub url: String,
    /// `None` if the server asks for no key.
    pub key: Option<String>,
}

/// Stands for an agent's key, which is shown once only.
pub const KEY_PLACEHOLDER: &str = "KEY";

impl HttpEndpoint {
    fn authorization(&self) -> Option<String> {
        self.key.as_ref().map(|key| format!("Bearer {key}"))
    }
}

impl Client {
    pub const ALL: [Client; 4] = [Client::ClaudeCode, Client::ClaudeDesktop, Client::Cursor, Client::VsCode];

    pub fn title(self) -> &'static str {
        match self {
            Client::ClaudeCode => "Claude Code",
            Client::ClaudeDesktop => "Claude Desktop",
            Client::Cursor => "Cursor",
            Client::VsCode => "VS Code",
        }
    }

    /// The file that the snippet goes into; `None` for a command line.
    pub fn file(self) -> Option<&'static str> {
        match self {
            Client::ClaudeCode => None,
            Client::ClaudeDesktop => Some("claude_desktop_config.json"),
            Client::Cursor => Some("~/.cursor/mcp.json"),
            Client::VsCode => Some(".vscode/mcp.json"),
        }
    }

    /// The client starts Stockade itself.
    pub fn stdio_snippet(self, launch: &McpLaunch) -> String {
        if self == Client::ClaudeCode {
            let environment = launch.environment.iter().map(|(name, value)| {
                let value = value.as_str().unwrap_or_default();
                format!("--env {} ", shell_quote(&format!("{name}={value}")))
            });
            let words = std::iter::once(&launch.program).chain(&launch.args).map(|word| shell_quote(word));
            let words: Vec<String> = words.collect();
            return format!(
                "claude mcp add stockade {}-- {}\n",
                environment.collect::<String>(),
                words.join(" ")
            );
        }
        let mut fields = Vec::new();
        if self == Client::VsCode {
            fields.push(r#""type": "stdio""#.to_owned());
        }
        fields.push(format!(r#""command": {}"#, json!(launch.program)));
        fields.push(format!(r#""args": {}"#, render_args(&launch.args)));
        if !launch.environment.is_empty() {
            fields.push(format!(r#""env": {}"#, json!(launch.environment)));
        }
        self.render_entry(&fields)
    }

    /// The client connects to a running server; `None` for a client that cannot.
    pub fn http_snippet(self, endpoint: &HttpEndpoint) -> Option<String> {
        let authorization = endpoint.authorization();
        match self {
            // Its file has no place for a server on the network.
            Client::ClaudeDesktop => None,
            Client::ClaudeCode => {
                let header = authorization.map(|value| {
                    format!(" \\\n  --header {}", shell_quote(&format!("Authorization: {value}")))
                });
                let url = shell_quote(&endpoint.url);
                Some(format!(
                    "claude mcp add --transport http stockade {url}{}\n",
                    header.unwrap_or_default()
                ))
            }
            Client::Cursor | Client::VsCode => {
                let mut fields = vec![format!(r#""url": {}"#, json!(endpoint.url))];
                if self == Client::VsCode {
                    fields.insert(0, r#""type": "http""#.to_owned());
                }
                if let Some(value) = authorization {
                    fields.push(format!(r#""headers": {{"Authorization": {}}}"#, json!(value)));
                }
                Some(self.render_entry(&fields))
            }
        }
    }

    fn render_entry(self, fields: &[String]) -> String {
        let section = if self == Client::VsCode { "servers" } else { "mcpServers" };
        format!("{{\"{section}\": {{\"stockade\": {{\n  {}}}}}}}\n", fields.join(",\n  "))
    }
}

/// Arguments as a JSON list; a flag and its value on a line if one line is too long.
fn render_args(args: &[String]) -> String {
    const ROOM: usize = 66;
    let quoted: Vec<String> = args.iter().map(|arg| json!(arg).to_string()).collect();
    let line = format!("[{}]", quoted.join(", "));
    if line.len() <= ROOM {
        return line;
    }
    let mut lines: Vec<String> = Vec::new();
    for (arg, text) in args.iter().zip(quoted) {
        match lines.last_mut() {
            Some(last) if !arg.starts_with("--") => *last = format!("{last}, {text}"),
            _ => lines.push(text),
        }
    }
    format!("[{}]", lines.join(",\n    "))
}

/// Quotes a word for a POSIX shell, if it needs quotes.
fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch() -> McpLaunch {
        let args = ["mcp", "--state", "/home/a b/it's \"x\"", "--set", "egress.hosts={a.test: 127.0.0.1:80}"];
        McpLaunch {
            program: "/opt/stock ade/stockade".to_owned(),
            args: args.map(str::to_owned).to_vec(),
            environment: Map::from_iter([("STOCKADE_TEMPLATES".to_owned(), json!("/var/t t"))]),
        }
    }

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        let snippet = Client::ClaudeCode.stdio_snippet(&launch());
        let script = format!("claude() {{ printf '%s\\n' \"$@\"; }}; {snippet}");
        let read = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let words = String::from_utf8(read.stdout).unwrap();
        let mut expected = vec![
            "mcp",
            "add",
            "stockade",
            "--env",
            "STOCKADE_TEMPLATES=/var/t t",
            "--",
            "/opt/stock ade/stockade",
        ];
        let launch = launch();
        expected.extend(launch.args.iter().map(String::as_str));
        assert_eq!(words.lines().collect::<Vec<_>>(), expected, "{snippet}");
    }

    #[test]
    fn a_file_reads_back_what_was_written() {
        let launch = launch();
        for (client, section) in [
            (Client::ClaudeDesktop, "mcpServers"),
            (Client::Cursor, "mcpServers"),
            (Client::VsCode, "servers"),
        ] {
            let file: Value = serde_json::from_str(&client.stdio_snippet(&launch)).unwrap();
            let entry = &file[section]["stockade"];
            assert_eq!(entry["command"], json!(launch.program), "{client:?}");
            assert_eq!(entry["args"], json!(launch.args), "{client:?}");
            assert_eq!(entry["env"]["STOCKADE_TEMPLATES"], "/var/t t", "{client:?}");
        }
    }

    #[test]
    fn the_http_form_has_the_address_and_the_key() {
        let endpoint =
            HttpEndpoint { url: "http://127.0.0.1:7700/mcp".to_owned(), key: Some("k".to_owned()) };
        assert_eq!(Client::ClaudeDesktop.http_snippet(&endpoint), None);
        let line = Client::ClaudeCode.http_snippet(&endpoint).unwrap();
        assert!(line.contains(&endpoint.url) && line.contains("'Authorization: Bearer k'"), "{line}");
        for (client, section) in [(Client::Cursor, "mcpServers"), (Client::VsCode, "servers")] {
            let file: Value = serde_json::from_str(&client.http_snippet(&endpoint).unwrap()).unwrap();
            let entry = &file[section]["stockade"];
            assert_eq!(entry["url"], json!(endpoint.url), "{client:?}");
            assert_eq!(entry["headers"]["Authorization"], "Bearer k", "{client:?}");
        }
        let open = HttpEndpoint { key: None, ..endpoint };
        for client in Client::ALL {
            assert!(!client.http_snippet(&open).unwrap_or_default().contains("uthorization"), "{client:?}");
        }
    }
}
