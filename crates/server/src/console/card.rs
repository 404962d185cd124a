//! One question as a card, and one decision as a line.

use super::picture;
use super::words::{said, word};
use engine::approvals::{Approval, ApprovalPicture, Card, Door, Kind, OFF_THE_LIST, Said, State};
use engine::html::Text;
use jiff::Timestamp;

/// What a card's form carries beside the verdict.
pub struct FormParts<'a> {
    /// What only this operator's own pages know.
    pub form: &'a str,
    pub door: Door,
}

pub fn card(
    approval: &Approval,
    shown: Option<&ApprovalPicture>,
    parts: &FormParts,
    now: Timestamp,
) -> String {
    let Approval { id, card, kind, .. } = approval;
    let left = approval.expires_at.duration_since(now).as_millis().max(0);
    let whole = approval.expires_at.duration_since(approval.asked_at).as_millis().max(1);
    let waits = approval.state == State::Waiting;
    let picture = shown.map(|shown| picture::figure(id, shown, card.mark)).unwrap_or_default();
    let pictured = if picture.is_empty() { "" } else { " pictured" };
    let verdict = if waits { verdict(approval, parts) } else { decided(approval) };
    let clock = if waits {
        format!(
            "<span class=\"left\">{} s</span></header><progress class=\"bar\" max=\"{whole}\" value=\"{left}\" aria-hidden=\"true\"></progress>",
            left / 1000
        )
    } else {
        "</header>".to_owned()
    };
    let told = format!("{} risk: {} on {}", card.risk.as_str(), card.tool, card.domain);
    let undone = if card.irreversible && *kind != Kind::Guidance {
        "<p class=\"undone\">This cannot be undone.</p>"
    } else {
        ""
    };
    format!(
        r#"<article class="card {risk}" id="{id}" data-state="{state}" data-left="{left}" data-told="{told}" aria-label="{told}">
<header><span class="risk">{pill}</span><span>{asks}</span>{clock}
<div class="body{pictured}"><div>
<h2>{title}{role}</h2>
{element}{undone}</div>{picture}{facts}</div>
{verdict}
</article>
"#,
        risk = card.risk.as_str(),
        state = approval.state.as_str(),
        told = Text(&told),
        pill = pill(approval),
        asks = Text(asks(*kind)),
        title = Text(&title(&card.action)),
        role = role(card),
        element = element(card),
        facts = facts(approval),
    )
}

fn pill(approval: &Approval) -> String {
    match approval.kind {
        Kind::Guidance => "Paused".to_owned(),
        _ => format!("{} risk", approval.card.risk.as_str()),
    }
}

fn asks(kind: Kind) -> &'static str {
    match kind {
        Kind::Action => "an agent asks",
        Kind::Domain => "a site off the list",
        Kind::Guidance => "wants your guidance",
    }
}

/// With a capital letter, as a line of its own has it.
fn title(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}

/// What kind of thing it is acted on; a page says that too.
fn role(card: &Card) -> String {
    let role = card.element.as_ref().map(|element| element.role.as_str()).filter(|role| !role.is_empty());
    role.map(|role| format!(" this {}", word(role))).unwrap_or_default()
}

/// What is acted on, as the page calls it.
fn element(card: &Card) -> String {
    let Some(element) = &card.element else { return String::new() };
    let (name, shows) = (element.name.as_str(), element.text.as_str());
    let mut boxes = said("The page calls it", if name.is_empty() { "(nothing)" } else { name });
    if !shows.is_empty() && shows != name {
        boxes.push_str(&said("And shows on it", shows));
    }
    boxes
}

fn facts(approval: &Approval) -> String {
    let card = &approval.card;
    let mut rows: Vec<(&str, String)> = Vec::new();
    if !card.tool.is_empty() {
        rows.push(("Tool", format!("<code>{}</code>", Text(&card.tool))));
    }
    if !card.domain.is_empty() {
        rows.push(("Domain", format!("<b>{}</b>", Text(&card.domain))));
    }
    if !card.url.as_str().is_empty() {
        rows.push(("Address", word(card.url.as_str())));
    }
    if let Some(element) = &card.element {
        rows.extend(card.other_site().map(|origin| ("In a frame of", word(origin))));
        rows.extend(element.form_target.as_ref().map(|target| ("Form", word(target.as_str()))));
        rows.extend(element.form_button.as_ref().map(|button| ("Sent by", word(button.as_str()))));
        rows.extend(element.href.as_ref().map(|href| ("Leads to", word(href.as_str()))));
    }
    rows.extend(card.input.as_ref().map(|input| ("Puts in", word(input.as_str()))));
    if approval.kind == Kind::Domain {
        rows.push(("A yes means", Text(OFF_THE_LIST).to_string()));
    }
    let rule = if card.rule.is_empty() {
        String::new()
    } else {
        format!(" <span class=\"soft\">({})</span>", Text(&card.rule))
    };
    rows.push(("Why", format!("{}{rule}", Text(&title(&card.description)))));
    if !card.because.is_empty() {
        rows.push(("Because", said_list(&card.because)));
    }
    let session = match &approval.session_name {
        Some(name) => format!("{name} ({})", approval.session),
        None => approval.session.to_string(),
    };
    rows.push(("Agent", Text(&approval.scope.to_string()).to_string()));
    rows.push(("Session", Text(&session).to_string()));
    let rows: String =
        rows.into_iter().map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>\n")).collect();
    format!("<dl class=\"facts\">{rows}</dl>")
}

fn said_list(list: &[Said]) -> String {
    let parts: Vec<String> =
        list.iter().map(|said| format!("{} {}", Text(&said.what), word(said.words.as_str()))).collect();
    parts.join(", ")
}

fn verdict(approval: &Approval, parts: &FormParts) -> String {
    let (id, card) = (&approval.id, &approval.card);
    let buttons = match approval.kind {
        Kind::Guidance => guidance(),
        Kind::Action | Kind::Domain => decision(card),
    };
    format!(
        r#"<div class="verdict"><form method="post" action="/operator/approvals/{id}"><input type="hidden" name="form" value="{form}"><input type="hidden" name="door" value="{door}">{buttons}</form><output role="alert"></output></div>"#,
        form = Text(parts.form),
        door = parts.door.as_str(),
    )
}

fn decision(card: &Card) -> String {
    const DENY: &str = r#"<button name="verdict" value="deny" data-key="d"><u>D</u>eny</button>"#;
    if card.irreversible {
        return format!(
            r#"{DENY}<details class="grave"><summary data-key="a"><u>A</u>pprove…</summary><div><p>This cannot be undone. Look at the page and at the element once more.</p><button class="grave" name="verdict" value="approve_irreversible">Yes, {} on {}</button></div></details>"#,
            Text(&card.action),
            Text(&card.domain),
        );
    }
    let once = r#"<button class="main" name="verdict" value="approve" data-key="a"><u>A</u>pprove</button>"#;
    if card.for_session.is_empty() {
        return format!("{DENY}{once}");
    }
    format!(
        r#"{DENY}{once}<details><summary data-key="s">Approve for this <u>s</u>ession…</summary><div><p>Until this session ends, you are not asked again for exactly this: {}.</p><button name="verdict" value="approve_session">Approve for this session</button></div></details>"#,
        said_list(&card.for_session)
    )
}

fn guidance() -> String {
    r#"<textarea name="note" rows="2" maxlength="1000" placeholder="A note that the agent will read (may be left out)" aria-label="A note for the agent"></textarea><button name="verdict" value="end" data-key="d">En<u>d</u> the session</button><button class="main" name="verdict" value="resume" data-key="r"><u>R</u>esume</button>"#
        .to_owned()
}

fn decided(approval: &Approval) -> String {
    format!("<div class=\"verdict\"><p>{} {}</p></div>", state(approval), by(approval))
}

/// One line of the latest decisions.
pub fn line(approval: &Approval) -> String {
    let card = &approval.card;
    let at = approval.decided_at.unwrap_or(approval.expires_at);
    let name = card.element.as_ref().map(|element| word(element.name.as_str())).unwrap_or_default();
    format!(
        "<li><time datetime=\"{at}\">{}</time>{}<span class=\"what\">{} {name} <span class=\"soft\">on {}</span></span><span class=\"by\">{}</span></li>\n",
        at.strftime("%H:%M:%S"),
        state(approval),
        Text(&title(&card.action)),
        Text(&card.domain),
        by(approval),
    )
}

fn state(approval: &Approval) -> String {
    let (class, text) = match approval.state {
        State::Approved if approval.approved_for_session => ("approved", "approved, session"),
        State::Approved => ("approved", "approved"),
        State::Resumed => ("approved", "resumed"),
        State::Denied => ("denied", "denied"),
        State::Expired => ("denied", "denied, no answer"),
        State::Ended => ("denied", "ended"),
        State::Interrupted => ("other", "interrupted"),
        State::Withdrawn => ("other", "withdrawn"),
        State::Waiting => ("other", "waiting"),
    };
    format!("<span class=\"{class}\">{text}</span>")
}

fn by(approval: &Approval) -> String {
    let door = match approval.door {
        Some(Door::Console) => "in the console",
        Some(Door::CommandLine) => "on the command line",
        Some(Door::Elicitation) => "from the agent's client",
        Some(Door::Webhook) => "by webhook",
        None => return String::new(),
    };
    format!("{} {door}", Text(approval.decided_by.as_deref().unwrap_or_default()))
}
