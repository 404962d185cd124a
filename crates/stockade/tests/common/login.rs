//! Operators in tests: passwords, log-ins, and plain requests with any headers.

use super::{Home, Server, known};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

pub const PASSWORD: &str = "correct horse battery";

/// Sends one request; returns the whole response as text.
pub fn request(server: &Server, method: &str, path: &str, headers: &str, body: &str) -> String {
    request_with(server, &server.address(), method, path, headers, body)
}

pub fn request_with(
    server: &Server,
    host: &str,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status, and the code of a fault if the response has one.
pub fn status_and_code(answer: &str) -> (u16, String) {
    let status = answer.split_whitespace().nth(1).unwrap_or_else(|| panic!("{answer}")).parse().unwrap();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let json = body.lines().find(|line| line.starts_with('{')).unwrap_or("null");
    let fault: Value = serde_json::from_str(json).unwrap_or_default();
    let code = match fault["code"].as_str() {
        Some(code) => {
            known(fault.clone());
            code.to_owned()
        }
        None => String::new(),
    };
    (status, code)
}

/// The name and value of the cookie that a response sets.
pub fn cookie_of(answer: &str) -> String {
    let line = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    line.unwrap_or_else(|| panic!("no cookie: {answer}")).split(';').next().unwrap().to_owned()
}

pub fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

impl Home {
    pub fn set_password(&self) {
        let (code, reply) =
            self.with_input(&["operator", "password", "--password-stdin"], &format!("{PASSWORD}\n"));
        assert_eq!(code, 0, "{reply}");
    }

    /// Runs a command with lines on its standard input and without a terminal; returns its exit code and JSON.
    pub fn with_input(&self, arguments: &[&str], lines: &str) -> (i32, Value) {
        // In a session of its own there is no controlling terminal.
        let inner = self.command(arguments);
        let mut child = std::process::Command::new("setsid")
            .arg("--wait")
            .arg(inner.get_program())
            .args(inner.get_args())
            .arg("--json")
            .envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that is refused before it reads has closed the pipe.
        drop(child.stdin.take().unwrap().write_all(lines.as_bytes()));
        let done = child.wait_with_output().unwrap();
        (done.status.code().unwrap(), crate::common::parse_reply(&done))
    }

    /// The same with the password of the operator that [`Home::set_password`] made.
    pub fn as_operator(&self, arguments: &[&str]) -> (i32, Value) {
        let mut all = arguments.to_vec();
        all.push("--password-stdin");
        let (code, reply) = self.with_input(&all, &format!("{PASSWORD}\n"));
        if reply["error"].is_object() {
            known(reply["error"].clone());
        }
        (code, reply)
    }

    /// Logs in as a browser does; returns the cookie.
    pub fn log_in(&self, server: &Server) -> String {
        let origin = format!("origin: http://{}\r\n", server.address());
        let body = form(&[("operator", "operator"), ("password", PASSWORD)]);
        cookie_of(&request(server, "POST", "/operator/login", &origin, &body))
    }

    /// The value that the console's forms contain for this log-in.
    pub fn form_of(&self, server: &Server, cookie: &str) -> String {
        let page = request(server, "GET", "/console", &format!("cookie: {cookie}\r\n"), "");
        let (_, rest) = page.split_once("name=\"form\" value=\"").unwrap_or_else(|| panic!("{page}"));
        rest.split('"').next().unwrap().to_owned()
    }
}
