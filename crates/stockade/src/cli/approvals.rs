//! `stockade approvals`, `approve`, `deny`, `resume` and `end`: lists and answers questions as a logged-in operator.

use crate::cli::approval_card::{render_card, render_decided, text_field};
use crate::cli::output::BOLD;
use crate::cli::session_view::answer_lines;
use crate::cli::terminal::PasswordPrompt;
use crate::cli::terminal_login::LoginFile;
use crate::cli::{Context, Reply};
use clap::Args;
use engine::error::Fault;
use engine::storage::FIRST_OPERATOR;
use error_code::ErrorCode;
use serde_json::{Value, json};
use server::client::{OperatorClient, TerminalToken, path_segment};
use server::operator;

/// Help of commands that list what waits.
pub const LIST_HELP: &str = "\
Logs in as an operator at the `stockade serve` that runs from the same state
folder. The password is asked for at the terminal, once in 15 minutes for one
terminal session. The login that is kept lists and does nothing else: answers
take the password each time. `stockade operator logout` forgets it.

Examples:
  stockade approvals
  stockade approvals --as ada --password-stdin < password.txt";

pub const WATCH_HELP: &str = "\
Logs in as an operator at the `stockade serve` that runs from the same state
folder, and logs out at the end. Needs a terminal for the keys.

Examples:
  stockade watch
  stockade watch --as ada";

#[derive(Debug, Args)]
pub struct LoginArgs {
    /// The operator who answers
    #[arg(long = "as", value_name = "NAME", default_value = FIRST_OPERATOR, value_parser = operator::parse_name)]
    pub operator: String,
    /// Read the password from the first line of standard input
    #[arg(long)]
    pub password_stdin: bool,
}

pub const APPROVE_HELP: &str = "\
The password is asked for at the terminal; nothing is kept.

Examples:
  stockade approve ap-k3x8m2q9w4t7r5ab
  stockade approve ap-k3x8m2q9w4t7r5ab --for-session
  stockade approve ap-k3x8m2q9w4t7r5ab --as ada --password-stdin < password.txt";

pub const DENY_HELP: &str = "\
The password is asked for at the terminal; nothing is kept.

Examples:
  stockade deny ap-k3x8m2q9w4t7r5ab
  stockade deny ap-k3x8m2q9w4t7r5ab --note 'not this account'";

pub const RESUME_HELP: &str = "\
The password is asked for at the terminal; nothing is kept.

Examples:
  stockade resume ap-k3x8m2q9w4t7r5ab
  stockade resume ap-k3x8m2q9w4t7r5ab --note 'use the menu at the top'";

pub const END_HELP: &str = "\
The password is asked for at the terminal; nothing is kept.

Examples:
  stockade end ap-k3x8m2q9w4t7r5ab";

/// The request that is answered, and by whom.
#[derive(Debug, Args)]
pub struct RequestArgs {
    /// The request's id; `stockade approvals` lists them
    id: String,
    #[command(flatten)]
    login: LoginArgs,
}

#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// Do not ask again for exactly this until the session ends
    #[arg(long, conflicts_with = "irreversible")]
    for_session: bool,
    /// Approve it although it cannot be undone
    #[arg(long)]
    irreversible: bool,
    #[command(flatten)]
    request: RequestArgs,
}

/// An answer that the agent gets a note with.
#[derive(Debug, Args)]
pub struct NotedAnswerArgs {
    /// For the agent to read: why, or what to do
    #[arg(long, default_value = "")]
    note: String,
    #[command(flatten)]
    request: RequestArgs,
}

const LIST_PATH: &str = "/operator/approvals";

/// Lists with the login that this terminal session keeps, or logs in and keeps one.
pub(super) fn list(context: &Context, login: &LoginArgs) -> Result<Reply, Fault> {
    let state = context.open_state()?;
    let file = LoginFile::of_this_terminal(&state, &login.operator);
    let kept = if login.password_stdin { None } else { file.read() };
    if let Some(token) = kept {
        let kept = OperatorClient::with_token(&state, token);
        match context.block_on(kept.ask("GET", LIST_PATH, None)) {
            Ok(json) => return Ok(Reply::new(render_list(&json), json)),
            Err(fault) if fault.code == ErrorCode::LoginRequired => {
                file.remove()?;
            }
            Err(fault) => return Err(fault),
        }
    }
    if login.password_stdin {
        let json = request_as_operator(context, login, "GET", LIST_PATH, None)?;
        return Ok(Reply::new(render_list(&json), json));
    }
    let password = ask_password(login)?;
    let json = context.block_on(async {
        let (visit, terminal) =
            OperatorClient::log_in_for_terminal(&state, &login.operator, &password).await?;
        let answered = visit.ask("GET", LIST_PATH, None).await;
        visit.log_out().await?;
        if let Some(TerminalToken { token, seconds }) = terminal {
            file.write(&token, seconds)?;
        }
        answered
    })?;
    Ok(Reply::new(render_list(&json), json))
}

/// What waits, each as a card with the commands that answer it; then what was decided last.
fn render_list(json: &Value) -> String {
    let all = || json["approvals"].as_array().into_iter().flatten();
    let mut out = String::new();
    for approval in all().filter(|approval| approval["state"] == "waiting") {
        out.push_str(&format!("{}{}\n", render_card(approval), answer_lines(approval)));
    }
    if out.is_empty() {
        out.push_str("Nothing waits for an answer. `stockade watch` shows requests as they come.\n");
    }
    let mut decided = all().filter(|approval| approval["state"] != "waiting").peekable();
    if decided.peek().is_some() {
        out.push_str(&format!("\n{BOLD}Decided last{BOLD:#}\n"));
        decided.for_each(|approval| out.push_str(&render_decided(approval)));
    }
    out
}

pub(super) fn approve(context: &Context, args: &ApproveArgs) -> Result<Reply, Fault> {
    let verdict = match (args.for_session, args.irreversible) {
        (true, _) => "approve_session",
        (_, true) => "approve_irreversible",
        _ => "approve",
    };
    decide(context, &args.request, verdict, "")
}

pub(super) fn deny(context: &Context, args: &NotedAnswerArgs) -> Result<Reply, Fault> {
    decide(context, &args.request, "deny", &args.note)
}

pub(super) fn resume(context: &Context, args: &NotedAnswerArgs) -> Result<Reply, Fault> {
    decide(context, &args.request, "resume", &args.note)
}

pub(super) fn end(context: &Context, request: &RequestArgs) -> Result<Reply, Fault> {
    decide(context, request, "end", "")
}

fn decide(context: &Context, request: &RequestArgs, verdict: &str, note: &str) -> Result<Reply, Fault> {
    let path = format!("/operator/approvals/{}", path_segment(&request.id));
    let json = request_as_operator(
        context,
        &request.login,
        "POST",
        &path,
        Some(&json!({ "verdict": verdict, "note": note })),
    )?;
    let approval = &json["approval"];
    let human = format!(
        "{}{} is {}.\n",
        render_card(approval),
        text_field(approval, "id"),
        text_field(approval, "state")
    );
    Ok(Reply::new(human, json))
}

/// Logs in, sends one request, and logs out even if the request failed.
fn request_as_operator(
    context: &Context,
    login: &LoginArgs,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, Fault> {
    let state = context.open_state()?;
    let password = ask_password(login)?;
    context.block_on(async {
        let visit = OperatorClient::log_in(&state, &login.operator, &password).await?;
        let answered = visit.ask(method, path, body).await;
        visit.log_out().await?;
        answered
    })
}

pub(super) fn ask_password(login: &LoginArgs) -> Result<operator::Password, Fault> {
    PasswordPrompt::new(login.password_stdin).ask(&format!("The password of {}", login.operator))
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn the_list_has_cards_of_what_waits_with_the_answer_and_a_table_of_the_rest() {
        let approval = |id: &str, state: &str, kind: &str| {
            json!({
                "id": id, "kind": kind, "state": state, "risk": "high", "action": "click", "domain": "shop.test",
                "url": "http://shop.test/items", "description": "It destroys", "rule": "words.destroy",
                "tenant": "team", "actor": "bot", "session": "s-1", "decided_by": "ada",
                "element": {"role": "button", "name": "Delete"}, "expires_at": "2020-01-01T00:00:00Z",
            })
        };
        let shown = |approvals: Value| {
            let text = render_list(&json!({ "approvals": approvals }));
            let text = anstream::adapter::strip_str(&text).to_string();
            for line in text.lines() {
                assert!(line.width() <= 80, "{}: {line}", line.width());
            }
            text
        };
        let both =
            shown(json!([approval("ap-1", "waiting", "action"), approval("ap-2", "denied", "action")]));
        for part in
            ["team/bot, session s-1", "stockade approve ap-1\n", "stockade deny ap-1\n", "Decided last"]
        {
            assert!(both.contains(part), "{part} in {both}");
        }
        for part in ["ap-2  denied by ada", "click on \"button\" \"Delete\" at shop.test/items"] {
            assert!(both.contains(part), "{part} in {both}");
        }
        assert!(!both.contains("approve ap-2"), "{both}");
        // A paused session is resumed or ended, not approved.
        let paused = shown(json!([approval("ap-3", "waiting", "guidance")]));
        for part in ["stockade resume ap-3\n", "stockade end ap-3\n"] {
            assert!(paused.contains(part) && !paused.contains("stockade approve"), "{part} in {paused}");
        }
        let none = shown(json!([]));
        assert!(none.contains("Nothing waits") && none.contains("stockade watch"), "{none}");
    }
}
