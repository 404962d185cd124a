//! What people are shown: the console, and every command that tells of a session.

use super::super::ledger::Category;
use super::super::program::unfinished;
use super::Drive;
use engine::error::Fault;
use serde_json::Value;

/// Of the run's own operator; worth nothing afterwards.
pub const PASSWORD: &str = "a password of the leak run";

impl Drive<'_> {
    pub(super) fn operator(&mut self) -> Result<(), Fault> {
        (self.tell)("the console and the commands");
        self.ask()?;
        self.console()?;
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
                self.command(&arguments, json)?;
            }
        }
        Ok(())
    }

    /// Runs a command and searches what it prints.
    pub(super) fn command(&mut self, arguments: &[&str], json: bool) -> Result<Vec<u8>, Fault> {
        let mut all = arguments.to_vec();
        if json {
            all.push("--json");
        }
        let (printed, ok) = self.home.run(&all, &format!("{PASSWORD}\n"))?;
        let place = format!("stockade {}", arguments.iter().take(2).copied().collect::<Vec<_>>().join(" "));
        if !ok {
            return Err(unfinished(format!("`{place}` failed")));
        }
        self.ledger.text(Category::Commands, &place, &printed);
        Ok(printed)
    }

    fn console(&mut self) -> Result<(), Fault> {
        let form = "application/x-www-form-urlencoded";
        let body = format!("operator=operator&password={}", PASSWORD.replace(' ', "+"));
        let entered = self.server.http("POST", "/operator/login", "accept: */*", form, &body)?;
        let entered = String::from_utf8_lossy(&entered).into_owned();
        let cookie = entered.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let Some(cookie) = cookie.and_then(|line| line.split(';').next()) else {
            return Err(unfinished("the operator cannot log in"));
        };
        let who = format!("cookie: {cookie}");
        let page = self.look("/console", &who)?;
        let text = String::from_utf8_lossy(&page).into_owned();
        let question =
            text.split("/operator/approvals/").nth(1).and_then(|rest| rest.split(['"', '/']).next());
        let Some(question) = question.map(str::to_owned) else {
            return Err(unfinished("nobody was asked for anything"));
        };
        self.look(&format!("/console/approvals/{question}"), &who)?;
        self.look("/operator/live", &who)?;
        self.look(&format!("/operator/live/{question}"), &who)?;
        let answer =
            self.server.http("GET", &format!("/operator/approvals/{question}/picture"), &who, form, "")?;
        let start = answer.windows(4).position(|four| four == b"\x89PNG");
        match start {
            Some(start) => self.ledger.picture(Category::Console, "a question's picture", &answer[start..]),
            None => self.ledger.text(Category::Console, "a question's picture", &answer),
        }
        Ok(())
    }

    fn look(&mut self, path: &str, who: &str) -> Result<Vec<u8>, Fault> {
        let answer = self.server.http("GET", path, who, "text/plain", "")?;
        let place: String = path.split('/').take(3).collect::<Vec<_>>().join("/");
        self.ledger.text(Category::Console, &place, &answer);
        Ok(answer)
    }
}

/// The JSON of an answer over HTTP, whose chunks have their lengths between them.
pub(super) fn json_of(answer: &[u8]) -> Value {
    let text = String::from_utf8_lossy(answer);
    let json = text.lines().find(|line| line.starts_with(['{', '['])).unwrap_or("null");
    serde_json::from_str(json).unwrap_or_default()
}
