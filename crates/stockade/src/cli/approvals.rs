//! `stockade approvals`, `approve` and `deny`: lists and decides approval requests as a logged-in operator.

use crate::cli::output::{BAD, BOLD, DIM, GOOD, HINT};
use crate::cli::session_view::answer_lines;
use crate::cli::terminal::PasswordPrompt;
use crate::cli::{Column, Context, Reply, Table};
use clap::Args;
use engine::approvals::{DOMAIN_APPROVAL_EFFECT, is_other_site};
use engine::error::Fault;
use engine::storage::FIRST_OPERATOR;
use jiff::Timestamp;
use serde_json::{Value, json};
use server::client::{OperatorClient, path_segment};
use server::operator;

/// Help of commands that list what waits.
pub const LIST_HELP: &str = "\
Logs in as an operator at the `stockade serve` that runs from the same state
folder. The password is asked for at the terminal; nothing is kept.

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

#[derive(Debug, Args)]
#[command(after_help = "\
The password is asked for at the terminal; nothing is kept.

Examples:
  stockade approve ap-k3x8m2q9w4t7r5ab
  stockade approve ap-k3x8m2q9w4t7r5ab --for-session
  stockade approve ap-k3x8m2q9w4t7r5ab --as ada --password-stdin < password.txt")]
pub struct ApproveArgs {
    /// The question's id; `stockade approvals` lists them
    id: String,
    /// Until its session ends, do not ask again for exactly this
    #[arg(long, conflicts_with = "irreversible")]
    for_session: bool,
    /// Approve it although it cannot be undone
    #[arg(long)]
    irreversible: bool,
    #[command(flatten)]
    login: LoginArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The password is asked for at the terminal; nothing is kept.

Examples:
  stockade deny ap-k3x8m2q9w4t7r5ab
  stockade deny ap-k3x8m2q9w4t7r5ab --note 'not this account'")]
pub struct DenyArgs {
    /// The question's id; `stockade approvals` lists them
    id: String,
    /// Why, for the agent to read
    #[arg(long, default_value = "")]
    note: String,
    #[command(flatten)]
    login: LoginArgs,
}

pub(super) fn list(context: &Context, login: &LoginArgs) -> Result<Reply, Fault> {
    let json = request_as_operator(context, login, "GET", "/operator/approvals", None)?;
    Ok(Reply::new(render_list(&json), json))
}

/// What waits, each as a card with the commands that answer it; then what was decided last.
fn render_list(json: &Value) -> String {
    let all = || json["approvals"].as_array().into_iter().flatten();
    let mut out = String::new();
    for approval in all().filter(|approval| approval["state"] == "waiting") {
        out.push_str(&format!("{}{}\n", render_card(approval), answer_lines(approval)));
    }
    let mut table = Table::new(&[
        Column::Whole("ID"),
        Column::Short("STATE"),
        Column::Short("RISK"),
        Column::Short("ACTION"),
        Column::Short("DOMAIN"),
        Column::Short("AGENT"),
        Column::Short("BY"),
    ]);
    let mut decided = false;
    for approval in all().filter(|approval| approval["state"] != "waiting") {
        decided = true;
        let name = text_field(&approval["element"], "name");
        let quoted = if name.is_empty() { name } else { format!(" \"{name}\"") };
        table.add_row([
            text_field(approval, "id"),
            text_field(approval, "state"),
            text_field(approval, "risk"),
            format!("{}{quoted}", text_field(approval, "action")),
            text_field(approval, "domain"),
            format!("{}/{}", text_field(approval, "tenant"), text_field(approval, "actor")),
            text_field(approval, "decided_by"),
        ]);
    }
    if out.is_empty() {
        out.push_str("Nothing waits for an answer. `stockade watch` shows questions as they come.\n");
    }
    if decided {
        out.push_str(&format!("\n{BOLD}Decided last{BOLD:#}\n{}", table.render("")));
    }
    out
}

pub(super) fn approve(context: &Context, args: &ApproveArgs) -> Result<Reply, Fault> {
    let verdict = match (args.for_session, args.irreversible) {
        (true, _) => "approve_session",
        (_, true) => "approve_irreversible",
        _ => "approve",
    };
    decide(context, &args.login, &args.id, verdict, "")
}

pub(super) fn deny(context: &Context, args: &DenyArgs) -> Result<Reply, Fault> {
    decide(context, &args.login, &args.id, "deny", &args.note)
}

fn decide(context: &Context, login: &LoginArgs, id: &str, verdict: &str, note: &str) -> Result<Reply, Fault> {
    let path = format!("/operator/approvals/{}", path_segment(id));
    let json = request_as_operator(
        context,
        login,
        "POST",
        &path,
        Some(&json!({ "verdict": verdict, "note": note })),
    )?;
    let approval = &json["approval"];
    let human = format!("{} is {}.\n", text_field(approval, "id"), text_field(approval, "state"));
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

pub(super) fn seconds_left(approval: &Value) -> i64 {
    let expires = approval["expires_at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
    expires.map_or(0, |at| at.duration_since(Timestamp::now()).as_secs().max(0))
}

/// Renders an approval request in lines of at most 80 columns. Text from the page is quoted.
pub(super) fn render_card(approval: &Value) -> String {
    let style = match approval["risk"].as_str() {
        Some("critical") => BAD,
        Some("high") => HINT,
        _ => BOLD,
    };
    let guidance = approval["kind"] == "guidance";
    let pill = if guidance {
        "PAUSED".to_owned()
    } else {
        format!("{} RISK", text_field(approval, "risk").to_uppercase())
    };
    let mut out = format!("{style}{pill}{style:#}  {DIM}{}{DIM:#}\n", text_field(approval, "id"));
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            out.push_str(&render_row(name, &value));
        }
    };
    row("action", text_field(approval, "action"));
    let (element, url) = (&approval["element"], approval["url"].as_str().unwrap_or_default());
    if element.is_object() {
        row("on", format!("{} {}", quote_page_text(element, "role"), quote_page_text(element, "name")));
        let shows = element["text"].as_str().filter(|shows| Some(*shows) != element["name"].as_str());
        let frame = element["origin"].as_str().filter(|it| is_other_site(url, it));
        row("in frame of", frame.map(|_| quote_page_text(element, "origin")).unwrap_or_default());
        row("shows", shows.map(|_| quote_page_text(element, "text")).unwrap_or_default());
        row("sends form", quote_page_text(element, "form_target"));
        row("by button", quote_page_text(element, "form_button"));
        row("leads to", quote_page_text(element, "href"));
    }
    row("puts in", quote_page_text(approval, "input"));
    row("domain", text_field(approval, "domain"));
    row("address", quote_page_text(approval, "url"));
    row("why", format!("{} ({})", text_field(approval, "description"), text_field(approval, "rule")));
    row("because", render_facts(&approval["because"]));
    row(
        "agent",
        format!(
            "{}/{}, session {}",
            text_field(approval, "tenant"),
            text_field(approval, "actor"),
            text_field(approval, "session")
        ),
    );
    if approval["irreversible"] == true {
        out.push_str(&format!("  {BAD}This cannot be undone.{BAD:#}\n"));
    }
    if approval["kind"] == "domain" {
        out.push_str(&render_row("a yes means", DOMAIN_APPROVAL_EFFECT));
    }
    let session = render_facts(&approval["for_session"]);
    if !session.is_empty() {
        out.push_str(&render_row("s means", &format!("no more questions for exactly {session}")));
    }
    out.push_str(&format!("  {GOOD}Denied by itself in {} s.{GOOD:#}\n", seconds_left(approval)));
    out
}

fn render_facts(list: &Value) -> String {
    let parts = list.as_array().into_iter().flatten();
    let parts: Vec<String> = parts
        .map(|said| format!("{} {}", text_field(said, "what"), quote_page_text(said, "words")))
        .collect();
    parts.join(", ")
}

/// Quotes text from a page: sanitized, truncated, without quotes of its own.
fn quote_page_text(value: &Value, key: &str) -> String {
    match value[key].as_str() {
        Some(words) if !words.is_empty() => {
            format!("\"{}\"", audit::sanitize_within(words, 200).replace('"', "'"))
        }
        _ => String::new(),
    }
}

fn text_field(value: &Value, key: &str) -> String {
    value[key].as_str().map(audit::sanitize).unwrap_or_default()
}

/// A name and its value, in lines of at most 80 columns.
pub(super) fn render_row(name: &str, value: &str) -> String {
    use unicode_width::UnicodeWidthChar;
    const ROOM: usize = 80 - 15;
    let mut lines = vec![String::new()];
    let mut used = 0;
    for character in value.chars() {
        let width = character.width().unwrap_or(0);
        if used + width > ROOM {
            lines.push(String::new());
            used = 0;
        }
        used += width;
        if let Some(line) = lines.last_mut() {
            line.push(character);
        }
    }
    let mut out = String::new();
    for (index, line) in lines.iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        out.push_str(&format!("  {DIM}{name:<12}{DIM:#} {line}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn a_card_fits_80_columns_and_page_text_stays_quoted() {
        let hostile = "Delete\u{1b}[2J\"\n  domain       bank.test\u{202e}";
        let card = render_card(&json!({
            "id": "ap-1", "kind": "action", "risk": "critical", "action": "click", "domain": "shop.test",
            "url": format!("http://shop.test/{}", "語".repeat(200)), "description": "It destroys", "rule": "words.destroy",
            "element": {"role": "button", "name": hostile, "text": "Save"},
            "because": [{"what": "name", "words": hostile}], "irreversible": true, "expires_at": "2020-01-01T00:00:00Z",
        }));
        let plain = anstream::adapter::strip_str(&card).to_string();
        for line in plain.lines() {
            assert!(line.width() <= 80, "{}: {line}", line.width());
        }
        assert!(!card.contains("\u{1b}[2J") && !plain.contains('\u{202e}'), "{card:?}");
        let domains: Vec<&str> =
            plain.lines().filter(|line| line.trim_start().starts_with("domain")).collect();
        assert_eq!(domains, ["  domain       shop.test"]);
        assert!(plain.contains("This cannot be undone.") && plain.contains("CRITICAL RISK"), "{plain}");
    }

    #[test]
    fn the_list_has_cards_of_what_waits_with_the_answer_and_a_table_of_the_rest() {
        let approval = |id: &str, state: &str, kind: &str| {
            json!({
                "id": id, "kind": kind, "state": state, "risk": "high", "action": "click", "domain": "shop.test",
                "url": "http://shop.test/", "description": "It destroys", "rule": "words.destroy",
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
        assert!(both.contains("team/bot  ada") && !both.contains("approve ap-2"), "{both}");
        // A paused session is resumed or ended, not approved.
        let paused = shown(json!([approval("ap-3", "waiting", "guidance")]));
        assert!(paused.contains("stockade watch") && !paused.contains("stockade approve"), "{paused}");
        let none = shown(json!([]));
        assert!(none.contains("Nothing waits") && none.contains("stockade watch"), "{none}");
    }

    #[test]
    fn a_card_names_the_frames_site_if_it_is_not_the_pages() {
        for (url, origin, expected) in [
            ("http://shop.test/x", "http://shop.test", None),
            ("http://shop.test:80/x", "http://shop.test", None),
            ("http://shop.test/x", "http://bank.test", Some("bank.test")),
            ("http://shop.test.evil.test/", "http://shop.test", Some("shop.test")),
            ("http://shop.test:8080/", "http://shop.test", Some("shop.test")),
            ("http://shop.test/", "null", Some("null")),
            ("http://shop.test/", "", None),
        ] {
            let element = json!({"role": "button", "name": "Go", "text": "Go", "origin": origin});
            let card = render_card(&json!({"id": "ap-1", "risk": "high", "url": url, "element": element}));
            let plain = anstream::adapter::strip_str(&card).to_string();
            let row = plain.lines().find(|line| line.trim_start().starts_with("in frame of"));
            assert_eq!(row.is_some(), expected.is_some(), "{url} {origin}: {plain}");
            assert!(expected.is_none_or(|site| row.unwrap().contains(site)), "{plain}");
        }
    }
}
