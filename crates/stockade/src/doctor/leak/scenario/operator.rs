//! Visits the console and runs the commands that show session data.

use super::super::findings::LeakCategory;
use super::super::program::incomplete_run;
use super::LeakScenario;
use engine::error::Fault;
use serde_json::Value;

/// The password of the run's operator; useless afterwards.
pub const PASSWORD: &str = "a password of the leak run";

impl LeakScenario<'_> {
    pub(super) fn visit_operator_views(&mut self) -> Result<(), Fault> {
        (self.progress)("the console and the commands");
        self.request_approval()?;
        self.visit_console()?;
        let session = self.session.clone();
        for arguments in [
            vec!["approvals", "--password-stdin"],
            vec!["session", "list"],
            vec!["session", "show", &session],
            vec!["page", "read", &session],
            vec!["audit", "tail"],
            vec!["audit", "export"],
            vec!["audit", "export", "--format", "csv"],
            vec!["audit", "verify"],
            vec!["credential", "list"],
            vec!["config", "show"],
            vec!["jail", "list"],
            vec!["session", "replay", &session, "--output", "replay.html"],
        ] {
            for json in [false, true] {
                self.run_command(&arguments, json)?;
            }
        }
        Ok(())
    }

    /// Runs a command and searches what it prints.
    pub(super) fn run_command(&mut self, arguments: &[&str], json: bool) -> Result<Vec<u8>, Fault> {
        let mut all = arguments.to_vec();
        if json {
            all.push("--json");
        }
        let (printed, ok) = self.instance.run(&all, &format!("{PASSWORD}\n"))?;
        let place = format!("stockade {}", arguments.iter().take(2).copied().collect::<Vec<_>>().join(" "));
        if !ok {
            return Err(incomplete_run(format!("`{place}` failed")));
        }
        self.findings.search_text(LeakCategory::Commands, &place, &printed);
        Ok(printed)
    }

    fn visit_console(&mut self) -> Result<(), Fault> {
        let form = "application/x-www-form-urlencoded";
        let body = format!("operator=operator&password={}", PASSWORD.replace(' ', "+"));
        let entered = self.server.http("POST", "/operator/login", "accept: */*", form, &body)?;
        let entered = String::from_utf8_lossy(&entered).into_owned();
        let cookie = entered.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let Some(cookie) = cookie.and_then(|line| line.split(';').next()) else {
            return Err(incomplete_run("the operator cannot log in"));
        };
        let who = format!("cookie: {cookie}");
        let page = self.fetch_console_page("/console", &who)?;
        let text = String::from_utf8_lossy(&page).into_owned();
        let question =
            text.split("/operator/approvals/").nth(1).and_then(|rest| rest.split(['"', '/']).next());
        let Some(question) = question.map(str::to_owned) else {
            return Err(incomplete_run("nobody was asked for anything"));
        };
        self.fetch_console_page(&format!("/console/approvals/{question}"), &who)?;
        self.fetch_console_page("/operator/live", &who)?;
        self.fetch_console_page(&format!("/operator/live/{question}"), &who)?;
        let answer =
            self.server.http("GET", &format!("/operator/approvals/{question}/picture"), &who, form, "")?;
        let start = answer.windows(4).position(|four| four == b"\x89PNG");
        match start {
            Some(start) => {
                self.findings.search_image(LeakCategory::Console, "a question's picture", &answer[start..])
            }
            None => self.findings.search_text(LeakCategory::Console, "a question's picture", &answer),
        }
        // Until it is answered, the session is only read.
        self.run_command(&["deny", &question, "--password-stdin"], false)?;
        Ok(())
    }

    fn fetch_console_page(&mut self, path: &str, who: &str) -> Result<Vec<u8>, Fault> {
        let answer = self.server.http("GET", path, who, "text/plain", "")?;
        let place: String = path.split('/').take(3).collect::<Vec<_>>().join("/");
        self.findings.search_text(LeakCategory::Console, &place, &answer);
        Ok(answer)
    }
}

/// Parses the JSON body of an HTTP response; chunk lengths are skipped.
pub(super) fn parse_json_body(answer: &[u8]) -> Value {
    let text = String::from_utf8_lossy(answer);
    let json = text.lines().find(|line| line.starts_with(['{', '['])).unwrap_or("null");
    serde_json::from_str(json).unwrap_or_default()
}
