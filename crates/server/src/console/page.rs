//! The console page: waiting approvals, then the latest decisions.

use super::card::{self, VerdictForm};
use super::layout::layout;
use engine::approvals::{Approval, ApprovalScreenshot, ApprovalState};
use jiff::Timestamp;
use maud::{Markup, html};

/// How many of the latest decisions are shown.
const MAX_DECISIONS: usize = 20;

/// What a page of the console shows.
pub struct ConsoleView<'a> {
    pub operator: &'a str,
    pub form: VerdictForm<'a>,
    pub approvals: &'a [Approval],
    pub picture: &'a dyn Fn(&Approval) -> Option<ApprovalScreenshot>,
    pub now: Timestamp,
    /// Where the script fetches updates.
    pub update_path: &'a str,
}

/// The page of all approvals.
pub fn page(view: &ConsoleView) -> Markup {
    with_layout(view, &list(view))
}

/// The page of one approval.
pub fn single_page(view: &ConsoleView) -> Markup {
    with_layout(view, &single(view))
}

fn with_layout(view: &ConsoleView, live: &Markup) -> Markup {
    let bar = html! {
        span.live title="green while news come by themselves" {}
        " " span.who { (view.operator) } " "
        form method="post" action="/operator/logout" {
            input type="hidden" name="form" value=(view.form.token);
            button.quiet { "Log out" }
        }
    };
    let main = html! {
        main {
            (live)
            p.wishes {
                "When a question comes: "
                label { input type="checkbox" name="sound"; " play a sound" } " "
                label { input type="checkbox" name="notice"; " show a notice" }
            }
            p.keys {
                "Keys: " kbd { "j" } " " kbd { "k" } " choose a question, " kbd { "a" } " approve, "
                kbd { "s" } " approve for the session, " kbd { "d" } " deny or end, " kbd { "r" } " resume, "
                kbd { "Esc" } " step back. Words of a page stand " span.word { "like this" } "."
            }
        }
    };
    layout("Console · Stockade", &bar, &main)
}

/// The part of the page that the script replaces.
pub fn list(view: &ConsoleView) -> Markup {
    let is_waiting =
        |approval: &&Approval| approval.state == ApprovalState::Waiting && approval.expires_at > view.now;
    let waiting: Vec<&Approval> = view.approvals.iter().filter(is_waiting).collect();
    let decided = view.approvals.iter().filter(|approval| approval.state != ApprovalState::Waiting);
    let decided: Vec<&Approval> = decided.take(MAX_DECISIONS).collect();
    html! {
        div id="live" data-from=(view.update_path) {
            div.section {
                h1 { "Waiting for you" }
                span.count id="count" { (waiting.len()) }
            }
            div id="waiting" {
                @for approval in &waiting { (card_of(approval, view)) }
                @if waiting.is_empty() {
                    p.empty id="empty" {
                        b { "Nothing waits for you." } " What an agent asks for appears here by itself."
                    }
                }
            }
            div.section {
                h2 { "Latest decisions" }
                span.count data-zone { "times in UTC" }
            }
            div id="past" {
                @if decided.is_empty() {
                    p.soft { "Nothing was decided yet." }
                } @else {
                    ol.past { @for approval in decided { (card::decision_line(approval)) } }
                }
            }
        }
    }
}

/// The same for the page of one approval.
pub fn single(view: &ConsoleView) -> Markup {
    html! {
        div id="live" data-from=(view.update_path) {
            div.section {
                h1 { "One question" }
                span.count { a href="/console" { "all that waits" } }
            }
            div id="waiting" { @for approval in view.approvals { (card_of(approval, view)) } }
        }
    }
}

fn card_of(approval: &Approval, view: &ConsoleView) -> Markup {
    card::card(approval, (view.picture)(approval).as_ref(), &view.form, view.now)
}
