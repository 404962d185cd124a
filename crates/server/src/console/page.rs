//! The console itself: what waits, then what was decided last.

use super::card::{self, FormParts};
use super::shell::shell;
use axum::response::Html;
use engine::approvals::{Approval, ApprovalPicture, State};
use engine::html::Text;
use jiff::Timestamp;

/// How many of the latest decisions are shown.
const LATEST: usize = 20;

/// What a page of the console is made of.
pub struct View<'a> {
    pub operator: &'a str,
    pub parts: FormParts<'a>,
    pub approvals: &'a [Approval],
    pub picture: &'a dyn Fn(&Approval) -> Option<ApprovalPicture>,
    pub now: Timestamp,
    /// Where the script looks for what is new.
    pub from: &'a str,
}

pub fn page(view: &View) -> Html<String> {
    around(view, &live(view))
}

/// The page of one question.
pub fn single_page(view: &View) -> Html<String> {
    around(view, &single(view))
}

fn around(view: &View, middle: &str) -> Html<String> {
    let bar = format!(
        r#"<span class="live" title="green while news come by themselves"></span>
<span class="who">{}</span>
<form method="post" action="/operator/logout"><input type="hidden" name="form" value="{}"><button class="quiet">Log out</button></form>"#,
        Text(view.operator),
        Text(view.parts.form)
    );
    let main = format!(
        r#"<main>{middle}
<p class="wishes">When a question comes: <label><input type="checkbox" name="sound"> play a sound</label> <label><input type="checkbox" name="notice"> show a notice</label></p>
<p class="keys">Keys: <kbd>j</kbd> <kbd>k</kbd> choose a question, <kbd>a</kbd> approve, <kbd>s</kbd> approve for the session, <kbd>d</kbd> deny or end, <kbd>r</kbd> resume, <kbd>Esc</kbd> step back. Words of a page stand <span class="word">like this</span>.</p>
</main>"#
    );
    shell("Console · Stockade", &bar, &main)
}

/// The part that changes.
pub fn live(view: &View) -> String {
    let waits = |approval: &&Approval| approval.state == State::Waiting && approval.expires_at > view.now;
    let waiting: Vec<String> =
        view.approvals.iter().filter(waits).map(|approval| one(approval, view)).collect();
    let past: String = view
        .approvals
        .iter()
        .filter(|approval| approval.state != State::Waiting)
        .take(LATEST)
        .map(card::line)
        .collect();
    let count = waiting.len();
    let waiting = if waiting.is_empty() {
        "<p class=\"empty\" id=\"empty\"><b>Nothing waits for you.</b> What an agent asks for appears here by itself.</p>"
            .to_owned()
    } else {
        waiting.concat()
    };
    let past = if past.is_empty() {
        "<p class=\"soft\">Nothing was decided yet.</p>".to_owned()
    } else {
        format!("<ol class=\"past\">{past}</ol>")
    };
    format!(
        r#"<div id="live" data-from="{}"><div class="section"><h1>Waiting for you</h1><span class="count" id="count">{count}</span></div>
<div id="waiting">{waiting}</div>
<div class="section"><h2>Latest decisions</h2><span class="count" data-zone>times in UTC</span></div>
<div id="past">{past}</div></div>"#,
        view.from
    )
}

/// One question on a page of its own.
pub fn single(view: &View) -> String {
    let card: String = view.approvals.iter().map(|approval| one(approval, view)).collect();
    format!(
        r#"<div id="live" data-from="{}"><div class="section"><h1>One question</h1><span class="count"><a href="/console">all that waits</a></span></div>
<div id="waiting">{card}</div></div>"#,
        view.from
    )
}

fn one(approval: &Approval, view: &View) -> String {
    card::card(approval, (view.picture)(approval).as_ref(), &view.parts, view.now)
}
