//! One approval as a card, and one decision as a line.

use super::effect;
use super::page_text::{quote_block, quote_inline, quote_plain};
use super::screenshot;
use engine::approvals::{
    Approval, ApprovalCard, ApprovalKind, ApprovalScreenshot, ApprovalState, CardFact,
    DOMAIN_APPROVAL_EFFECT, DecisionChannel,
};
use jiff::Timestamp;
use maud::{Markup, html};

/// What a card's form carries beside the verdict.
pub struct VerdictForm<'a> {
    /// The anti-forgery token, known only to this operator's own pages.
    pub token: &'a str,
    pub channel: DecisionChannel,
}

pub fn card(
    approval: &Approval,
    picture: Option<&ApprovalScreenshot>,
    form: &VerdictForm,
    now: Timestamp,
) -> Markup {
    let Approval { id, card, kind, .. } = approval;
    let risk = card.risk.as_str();
    let left = approval.expires_at.duration_since(now).as_millis().max(0);
    let whole = approval.expires_at.duration_since(approval.asked_at).as_millis().max(1);
    let waits = approval.state == ApprovalState::Waiting;
    let summary = summary(approval);
    html! {
        article class={ "card " (risk) } id=(id) data-state=(approval.state.as_str()) data-left=(left)
            data-summary=(summary) aria-label=(summary) {
            header {
                span.risk { (pill(approval)) }
                span { (asks(*kind)) }
                @if waits { span.left { (left / 1000) " s" } }
            }
            @if waits { progress.bar max=(whole) value=(left) aria-hidden="true" {} }
            div.body.pictured[picture.is_some()] {
                div {
                    (subject(approval))
                    @if card.irreversible && *kind != ApprovalKind::Guidance {
                        p.undone { "This cannot be undone." }
                    }
                }
                @if let Some(picture) = picture { (screenshot::figure(id, picture, card.mark)) }
                (facts(approval))
            }
            div.verdict {
                @if waits { (verdict(approval, form)) } @else { p { (state(approval)) " " (decider(approval)) } }
            }
        }
    }
}

fn pill(approval: &Approval) -> String {
    match approval.kind {
        ApprovalKind::Guidance => "Paused".to_owned(),
        _ => format!("{} risk", approval.card.risk.as_str()),
    }
}

fn asks(kind: ApprovalKind) -> &'static str {
    match kind {
        ApprovalKind::Action => "Approval needed",
        ApprovalKind::Domain => "Site not allowed yet",
        ApprovalKind::Effect => "Waits to be sent",
        ApprovalKind::Guidance => "Guidance needed",
    }
}

/// One line for a notification and for screen readers: what is asked, where, and how risky it is.
fn summary(approval: &Approval) -> String {
    let card = &approval.card;
    let what = match (&card.effect, &card.element) {
        (Some(effect), _) => format!("{}: {}", title(&card.description), effect.method),
        (None, Some(element)) if !element.name.as_str().is_empty() => {
            format!("{} {}", title(&card.action), quote_plain(element.name.as_str()))
        }
        _ => title(&card.action),
    };
    let place = if card.domain.is_empty() { String::new() } else { format!(" on {}", card.domain) };
    format!("{what}{place} — {}", pill(approval))
}

/// What is to be decided on: the request that is held, and the action before it; else the action.
fn subject(approval: &Approval) -> Markup {
    let card = &approval.card;
    let Some(held) = &card.effect else {
        return html! {
            h2 { (title(&card.action)) (role(card)) }
            (element(card))
            (entered(card))
        };
    };
    html! {
        h2 { (title(&card.description)) }
        (effect::held_request(held))
        @if !card.action.is_empty() {
            p.after {
                b { "After: " } (card.action)
                @if let Some(element) = &card.element {
                    " on " (quote_inline(element.role.as_str())) " "
                    (quote_inline(if element.name.as_str().is_empty() { "(no name)" } else { element.name.as_str() }))
                }
            }
            @if let Some(element) = &card.element {
                @let (name, shows) = (element.name.as_str(), element.text.as_str());
                @if !shows.is_empty() && shows != name { (quote_block("Visible text, from the page", shows)) }
            }
            (entered(card))
        }
    }
}

/// The text that is typed, or the option that is chosen.
fn entered(card: &ApprovalCard) -> Markup {
    html! { @if let Some(input) = &card.input { (quote_block("Entered", input.as_str())) } }
}

/// The text with a capital first letter.
fn title(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}

/// The element's role, which the page chooses.
fn role(card: &ApprovalCard) -> Markup {
    let role = card.element.as_ref().map(|element| element.role.as_str()).filter(|role| !role.is_empty());
    // "Click this button", "Type 12 characters into this textbox", "Press Enter on this textbox".
    let this = match card.action.as_str() {
        action if action.ends_with("click") => " this ",
        action if action.starts_with("type") => " into this ",
        _ => " on this ",
    };
    html! { @if let Some(role) = role { (this) (quote_inline(role)) } }
}

/// The element's name and visible text, as the page gives them.
fn element(card: &ApprovalCard) -> Markup {
    let Some(element) = &card.element else { return html! {} };
    let (name, shows) = (element.name.as_str(), element.text.as_str());
    html! {
        (quote_block("Name, from the page", if name.is_empty() { "(no name)" } else { name }))
        @if !shows.is_empty() && shows != name { (quote_block("Visible text, from the page", shows)) }
    }
}

fn facts(approval: &Approval) -> Markup {
    let card = &approval.card;
    let mut rows: Vec<(&str, Markup)> = Vec::new();
    if !card.tool.is_empty() {
        rows.push(("Tool", html! { code { (card.tool) } }));
    }
    if !card.domain.is_empty() && card.effect.is_none() {
        rows.push(("Domain", html! { b { (card.domain) } }));
    }
    if !card.url.as_str().is_empty() {
        let name = if card.effect.is_some() { "On the page" } else { "Address" };
        rows.push((name, quote_inline(card.url.as_str())));
    }
    if let Some(element) = &card.element {
        rows.extend(card.other_site().map(|origin| ("In a frame of", quote_inline(origin))));
        rows.extend(element.form_target.as_ref().map(|target| ("Form", quote_inline(target.as_str()))));
        rows.extend(
            element.form_button.as_ref().map(|button| ("Submitted by", quote_inline(button.as_str()))),
        );
        rows.extend(element.href.as_ref().map(|href| ("Leads to", quote_inline(href.as_str()))));
    }
    if approval.kind == ApprovalKind::Domain {
        rows.push(("If approved", html! { (DOMAIN_APPROVAL_EFFECT) }));
    }
    let why = html! {
        @if card.effect.is_some() { "Rule " code { (card.rule) } } @else {
            (title(&card.description))
            @if !card.rule.is_empty() { " " span.soft { "(" (card.rule) ")" } }
        }
    };
    rows.push(("Why", why));
    if !card.because.is_empty() {
        rows.push(("Facts", reasons(&card.because)));
    }
    rows.push(("Agent", html! { (approval.scope) }));
    let session = match &approval.session_name {
        Some(name) => format!("{name} ({})", approval.session),
        None => approval.session.to_string(),
    };
    rows.push(("Session", html! { (session) }));
    html! {
        dl.facts { @for (name, value) in rows { dt { (name) } dd { (value) } } }
    }
}

fn reasons(list: &[CardFact]) -> Markup {
    html! {
        @for (index, fact) in list.iter().enumerate() {
            @if index > 0 { ", " }
            (fact.name) " " (quote_inline(fact.value.as_str()))
        }
    }
}

fn verdict(approval: &Approval, form: &VerdictForm) -> Markup {
    html! {
        form method="post" action={ "/operator/approvals/" (approval.id) } {
            input type="hidden" name="form" value=(form.token);
            input type="hidden" name="door" value=(form.channel.as_str());
            @match approval.kind {
                ApprovalKind::Guidance => { (guidance()) }
                ApprovalKind::Action | ApprovalKind::Domain | ApprovalKind::Effect => { (decision(&approval.card)) }
            }
        }
        output role="alert" {}
    }
}

fn decision(card: &ApprovalCard) -> Markup {
    html! {
        button name="verdict" value="deny" data-key="d" { u { "D" } "eny" }
        @if card.irreversible {
            details.grave {
                summary data-key="a" { u { "A" } "pprove…" }
                div {
                    @match &card.effect {
                        Some(held) => {
                            p { "This cannot be undone. Check once more what will be sent, and to whom." }
                            button.grave name="verdict" value="approve_irreversible" {
                                "Approve: send this " (held.method) " to " (card.domain)
                            }
                        }
                        None => {
                            p { "This cannot be undone. Check the page and the element again." }
                            button.grave name="verdict" value="approve_irreversible" {
                                "Approve: " (card.action) " on " (card.domain)
                            }
                        }
                    }
                }
            }
        } @else {
            button.main name="verdict" value="approve" data-key="a" { u { "A" } "pprove" }
            @if !card.for_session.is_empty() {
                details {
                    summary data-key="s" { "Approve for this " u { "s" } "ession…" }
                    div {
                        p {
                            @if card.effect.is_some() {
                                "Until this session ends, requests to " b { (card.domain) }
                                " are sent without asking if all of this matches, whatever their values are: "
                            } @else {
                                "Until this session ends, you will not be asked again about exactly this action: "
                            }
                            (reasons(&card.for_session)) "."
                        }
                        button name="verdict" value="approve_session" { "Approve for this session" }
                    }
                }
            }
        }
    }
}

fn guidance() -> Markup {
    html! {
        textarea name="note" rows="2" maxlength="1000" placeholder="A note for the agent (optional)"
            aria-label="A note for the agent" {}
        button name="verdict" value="end" data-key="d" { "En" u { "d" } " the session" }
        button.main name="verdict" value="resume" data-key="r" { u { "R" } "esume" }
    }
}

/// One line of the latest decisions.
pub fn decision_line(approval: &Approval) -> Markup {
    let card = &approval.card;
    let at = approval.decided_at.unwrap_or(approval.expires_at);
    html! {
        li {
            time datetime=(at) { (at.strftime("%H:%M:%S")) }
            (state(approval))
            span.what {
                @match &card.effect {
                    Some(held) => {
                        (title(&card.description))
                        span.where { (effect::request_line(held)) (acted_on(card)) }
                    }
                    None => {
                        (title(&card.action)) " "
                        @if let Some(element) = &card.element { (quote_inline(element.name.as_str())) }
                        span.where { "on " (place(card)) }
                    }
                }
            }
            span.by { (decider(approval)) }
        }
    }
}

/// The action before a request, for a line of the history.
fn acted_on(card: &ApprovalCard) -> Markup {
    html! {
        @if let Some(element) = card.element.as_ref().filter(|element| !element.name.as_str().is_empty()) {
            ", after " (card.action) " on " (quote_inline(element.name.as_str()))
        }
    }
}

/// Host and path of the page.
fn place(card: &ApprovalCard) -> Markup {
    let path = url::Url::parse(card.url.as_str()).map(|url| url.path().to_owned()).unwrap_or_default();
    html! {
        (card.domain)
        @if path.len() > 1 { (quote_inline(&path)) }
    }
}

fn state(approval: &Approval) -> Markup {
    let (class, text) = match approval.state {
        ApprovalState::Approved if approval.approved_for_session => ("approved", "approved, session"),
        ApprovalState::Approved => ("approved", "approved"),
        ApprovalState::Resumed => ("approved", "resumed"),
        ApprovalState::Denied => ("denied", "denied"),
        ApprovalState::Expired => ("denied", "denied, no answer"),
        ApprovalState::Ended => ("denied", "ended"),
        ApprovalState::Interrupted => ("other", "interrupted"),
        ApprovalState::Withdrawn => ("other", "withdrawn"),
        ApprovalState::Waiting => ("other", "waiting"),
    };
    html! { span class=(class) { (text) } }
}

/// Who decided, and where.
fn decider(approval: &Approval) -> String {
    let channel = match approval.channel {
        Some(DecisionChannel::Console) => "in the console",
        Some(DecisionChannel::CommandLine) => "on the command line",
        Some(DecisionChannel::Elicitation) => "from the agent's client",
        Some(DecisionChannel::Webhook) => "by webhook",
        None => return String::new(),
    };
    format!("{} {channel}", approval.decided_by.as_deref().unwrap_or_default())
}
