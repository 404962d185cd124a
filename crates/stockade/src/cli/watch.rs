//! `stockade watch`: shows each approval request as it arrives and takes the answer by key.

use crate::cli::approval_card::{render_card, seconds_left};
use crate::cli::approvals::{LoginArgs, ask_password};
use crate::cli::output::{self, BAD, BOLD, DIM, GOOD};
use crate::cli::terminal::RawTerminal;
use crate::cli::{Context, Reply};
use engine::error::Fault;
use error_code::ErrorCode;
use serde_json::{Value, json};
use server::client::OperatorClient;
use std::collections::HashSet;
use std::time::Duration;

/// How often the server is polled, and how long one poll waits for a key.
const POLL_INTERVAL: Duration = Duration::from_millis(400);
/// Keys pressed before this are discarded: they were meant for something else.
const GRACE: Duration = Duration::from_millis(500);

pub(super) fn run(context: &Context, login: &LoginArgs) -> Result<Reply, Fault> {
    if context.json() {
        return Err(Fault::new(
            ErrorCode::Usage,
            "watch shows approval requests on a terminal and has no JSON",
        )
        .hint("A program polls `stockade approvals --json`, or listens on `hitl.webhook`."));
    }
    let state = context.open_state()?;
    let password = ask_password(login)?;
    context.block_on(async {
        let visit = OperatorClient::log_in(&state, &login.operator, &password).await?;
        drop(password);
        let mut terminal = RawTerminal::open()?;
        output::print_text(&format!(
            "{DIM}Logged in as {}. Approval requests appear as they come; q ends this.{DIM:#}\n",
            login.operator
        ))?;
        let watched = watch(&visit, &mut terminal).await;
        drop(terminal);
        visit.log_out().await?;
        watched
    })?;
    Ok(Reply::new(format!("{DIM}Logged out.{DIM:#}\n"), json!({ "watched": true })))
}

async fn watch(visit: &OperatorClient<'_>, terminal: &mut RawTerminal) -> Result<(), Fault> {
    let mut passed = HashSet::new();
    loop {
        let list = visit.ask("GET", "/operator/approvals", None).await?;
        let waits = |approval: &&Value| {
            approval["state"] == "waiting" && approval["id"].as_str().is_some_and(|id| !passed.contains(id))
        };
        let next = list["approvals"].as_array().into_iter().flatten().find(waits).cloned();
        let Some(question) = next else {
            passed.retain(|id: &String| still_waits(&list, id));
            if terminal.poll_key(POLL_INTERVAL)?.is_some_and(is_quit_key) {
                return Ok(());
            }
            continue;
        };
        match answer_question(visit, terminal, &question).await? {
            WatchStep::Quit => return Ok(()),
            WatchStep::Next => {
                passed.insert(question["id"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
}

fn is_quit_key(key: u8) -> bool {
    matches!(key, b'q' | 3 | 4 | 28)
}

enum WatchStep {
    Next,
    Quit,
}

/// Shows one approval request until it is answered, skipped or expired.
async fn answer_question(
    visit: &OperatorClient<'_>,
    terminal: &mut RawTerminal,
    question: &Value,
) -> Result<WatchStep, Fault> {
    let id = question["id"].as_str().unwrap_or_default();
    let guidance = question["kind"] == "guidance";
    let irreversible = question["irreversible"] == true;
    let for_session = question["for_session"].as_array().is_some_and(|list| !list.is_empty());
    let choice = match (guidance, irreversible, for_session) {
        (true, ..) => "r resume, e end the session, n not now, q quit",
        (_, true, _) => "a approve (asks once more), d deny, n not now, q quit",
        (_, _, true) => "a approve, s approve for the session, d deny, n not now, q quit",
        _ => "a approve, d deny, n not now, q quit",
    };
    output::print_text(&format!("\u{7}\n{}  {BOLD}{choice}{BOLD:#}\n", render_card(question)))?;
    tokio::time::sleep(GRACE).await;
    terminal.discard_input()?;
    loop {
        let Some(key) = terminal.poll_key(POLL_INTERVAL)? else {
            let list = visit.ask("GET", "/operator/approvals", None).await?;
            if seconds_left(question) == 0 || !still_waits(&list, id) {
                output::print_text(&format!("  {DIM}{}{DIM:#}\n", describe_end(&list, id)))?;
                return Ok(WatchStep::Next);
            }
            continue;
        };
        let (verdict, note) = match (key, guidance) {
            (b'a', false) if irreversible => {
                output::print_text(&format!(
                    "  {BAD}It cannot be undone. Press y to approve it, any other key to go back.{BAD:#}\n"
                ))?;
                terminal.discard_input()?;
                match terminal.read_key()? {
                    b'y' => ("approve_irreversible", String::new()),
                    _ => {
                        output::print_text(&format!("  {DIM}Not approved. {choice}{DIM:#}\n"))?;
                        continue;
                    }
                }
            }
            (b'a', false) => ("approve", String::new()),
            (b's', false) if for_session => ("approve_session", String::new()),
            (b'd', false) => ("deny", String::new()),
            (b'r', true) => {
                ("resume", terminal.read_visible_line("  A note for the agent (may be empty): ")?)
            }
            (b'e', true) => ("end", String::new()),
            (b'n', _) => return Ok(WatchStep::Next),
            (key, _) if is_quit_key(key) => return Ok(WatchStep::Quit),
            _ => continue,
        };
        let answer = json!({ "verdict": verdict, "note": note });
        let printed = match visit.ask("POST", &format!("/operator/approvals/{id}"), Some(&answer)).await {
            Ok(answer) => {
                format!("  {GOOD}{}{GOOD:#}\n", answer["approval"]["state"].as_str().unwrap_or_default())
            }
            // Another operator answered, or it expired: go on with the next one.
            Err(fault)
                if matches!(
                    fault.code,
                    ErrorCode::ApprovalDecided
                        | ErrorCode::ApprovalExpired
                        | ErrorCode::ApprovalPending { .. }
                ) =>
            {
                output::render_fault(&fault)
            }
            Err(fault) => return Err(fault),
        };
        output::print_text(&printed)?;
        return Ok(WatchStep::Next);
    }
}

fn still_waits(list: &Value, id: &str) -> bool {
    approval_state(list, id) == Some("waiting")
}

fn approval_state<'a>(list: &'a Value, id: &str) -> Option<&'a str> {
    let found = list["approvals"].as_array().into_iter().flatten().find(|approval| approval["id"] == id);
    found.and_then(|approval| approval["state"].as_str())
}

fn describe_end(list: &Value, id: &str) -> String {
    match approval_state(list, id) {
        Some("waiting") | None => "its time is up: denied".to_owned(),
        Some(state) => format!("it is {state}"),
    }
}
