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
    /// The operator came by a link and cannot log in again without one.
    pub needs_password: bool,
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
        span.live title="Green: connected, this page updates by itself" {}
        " " span.who { (view.operator) } " "
        form method="post" action="/operator/logout" {
            input type="hidden" name="form" value=(view.form.token);
            button.quiet { "Log out" }
        }
    };
    let main = html! {
        main {
            @if view.needs_password {
                p.notice {
                    "The link that let you in works once. " a href="#password" { "Set a password" } " to log in again."
                }
            }
            (live)
            // Below the requests: they wait for seconds only.
            @if view.needs_password { (password_form(view)) }
            p.preferences {
                "When a request arrives: "
                label { input type="checkbox" name="sound"; " play a sound" } " "
                label { input type="checkbox" name="notice"; " show a notification" }
            }
            p.keys {
                "Keys: " kbd { "j" } " " kbd { "k" } " select a request, " kbd { "a" } " approve, "
                kbd { "s" } " approve for the session, " kbd { "d" } " deny or end, " kbd { "r" } " resume, "
                kbd { "Esc" } " go back. Text from a web page looks " span.word { "like this" } "."
            }
        }
    };
    layout("Console · Stockade", &bar, &main)
}

/// Shown until the operator has a password.
fn password_form(view: &ConsoleView) -> Markup {
    html! {
        form.sheet.first id="password" method="post" action="/operator/password" {
            h2 { "Set your password" }
            p.soft {
                "Once it is set, nobody can become an operator here without a password."
            }
            input type="hidden" name="form" value=(view.form.token);
            input type="hidden" name="username" value=(view.operator) autocomplete="username";
            label {
                "New password"
                input name="password" type="password" autocomplete="new-password" minlength="10" required;
            }
            label {
                "Repeat the password"
                input name="repeated" type="password" autocomplete="new-password" minlength="10" required;
            }
            button.main { "Set password" }
        }
    }
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
                        b { "Nothing to decide." }
                        " When an agent needs your approval, the request appears here. This page updates by itself. "
                        "To see which agents are at work, run " code { "stockade session list" } "."
                    }
                }
            }
            div.section {
                h2 { "Latest decisions" }
                span.count data-zone { "times in UTC" }
            }
            div id="past" {
                @if decided.is_empty() {
                    p.soft { "No decisions yet. Requests that were approved, denied or left unanswered appear here." }
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
                h1 { "Request" }
                span.count { a href="/console" { "all requests" } }
            }
            div id="waiting" { @for approval in view.approvals { (card_of(approval, view)) } }
        }
    }
}

fn card_of(approval: &Approval, view: &ConsoleView) -> Markup {
    card::card(approval, (view.picture)(approval).as_ref(), &view.form, view.now)
}
