//! The body of a webhook delivery: our own format, or what a chat or push service takes.

use browser::RedactedPageText;
use engine::approvals::{
    Approval, ApprovalCard, ApprovalId, ApprovalKind, CardFact, EffectCard, ElementCard,
};
use engine::settings::WebhookFormat;
use jiff::Timestamp;
use policy::{Actor, Risk, SessionId, Tenant};
use redact::{Redacted, RedactedFields, redacted};
use serde::Serialize;
use url::Url;

/// ntfy turns longer messages into attachments; Slack and Telegram refuse them.
const MAX_TEXT_BYTES: usize = 2_800;
/// The most of one text from a page or a request.
const MAX_QUOTE_BYTES: usize = 200;
/// Slack's limit is 150 characters.
const MAX_TITLE_CHARS: usize = 120;
/// Fields of a request that a message lists; the console has all.
const MAX_FIELDS: usize = 12;
const OPEN_IN_CONSOLE: &str = "Open in the console";

/// One delivery: where it goes, and what it says.
pub struct WebhookMessage {
    pub url: Url,
    pub body: Redacted,
}

impl WebhookMessage {
    /// `url` is the configured address, `console` that of the console.
    pub fn new(
        format: WebhookFormat,
        url: &Url,
        approval: &Approval,
        console: &str,
    ) -> Result<WebhookMessage, serde_json::Error> {
        let page = redacted!("{}/approvals/{}", Redacted::outside_sessions(console), approval.id);
        let (url, body) = match format {
            WebhookFormat::Stockade => (url.clone(), Redacted::json(&Notification::new(approval, page))?),
            WebhookFormat::Ntfy => {
                let (server, topic) = ntfy_topic(url);
                (server, Redacted::json(&NtfyMessage::new(approval, page, topic))?)
            }
            WebhookFormat::Slack => (url.clone(), Redacted::json(&SlackMessage::new(approval, page))?),
            WebhookFormat::Telegram => {
                let (method, chat) = telegram_chat(url);
                (method, Redacted::json(&TelegramMessage::new(approval, page, chat))?)
            }
        };
        Ok(WebhookMessage { url, body })
    }
}

/// Our own format. Text of the page or of the request is under `page_says` and nowhere else.
#[derive(Serialize, RedactedFields)]
struct Notification<'a> {
    event: &'static str,
    approval: &'a ApprovalId,
    kind: ApprovalKind,
    risk: Risk,
    tool: &'a Redacted,
    action: &'a Redacted,
    domain: &'a Redacted,
    why: &'a Redacted,
    rule: &'a Redacted,
    irreversible: bool,
    for_session: bool,
    tenant: &'a Tenant,
    actor: &'a Actor,
    session: &'a SessionId,
    asked_at: Timestamp,
    expires_at: Timestamp,
    page_says: PageSays<'a>,
    console: Redacted,
}

#[derive(Serialize, RedactedFields)]
struct PageSays<'a> {
    url: &'a RedactedPageText,
    element: Option<&'a ElementCard>,
    input: Option<&'a RedactedPageText>,
    because: &'a [CardFact],
    for_session: &'a [CardFact],
    /// The request that is held, as on the card.
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<&'a EffectCard>,
}

impl Notification<'_> {
    fn new(approval: &Approval, console: Redacted) -> Notification<'_> {
        let card = &approval.card;
        Notification {
            event: "approval_asked",
            approval: &approval.id,
            kind: approval.kind,
            risk: card.risk,
            tool: &card.tool,
            action: &card.action,
            domain: &card.domain,
            why: &card.description,
            rule: &card.rule,
            irreversible: card.irreversible,
            for_session: !card.for_session.is_empty(),
            tenant: &approval.scope.tenant,
            actor: &approval.scope.actor,
            session: &approval.session,
            asked_at: approval.asked_at,
            expires_at: approval.expires_at,
            page_says: PageSays {
                url: &card.url,
                element: card.element.as_ref(),
                input: card.input.as_ref(),
                because: &card.because,
                for_session: &card.for_session,
                effect: card.effect.as_ref(),
            },
            console,
        }
    }
}

/// ntfy's JSON, which is posted to the server and names the topic.
#[derive(Serialize, RedactedFields)]
struct NtfyMessage {
    topic: Redacted,
    title: Redacted,
    message: Redacted,
    priority: u8,
    tags: [&'static str; 1],
    click: Redacted,
    actions: [NtfyAction; 1],
}

#[derive(Serialize, RedactedFields)]
struct NtfyAction {
    action: &'static str,
    label: &'static str,
    url: Redacted,
}

impl NtfyMessage {
    fn new(approval: &Approval, console: Redacted, topic: Redacted) -> NtfyMessage {
        let is_urgent = approval.card.risk >= Risk::High;
        NtfyMessage {
            topic,
            title: title(approval),
            message: text(approval),
            priority: if is_urgent { 5 } else { 4 },
            tags: [if is_urgent { "warning" } else { "question" }],
            click: console.clone(),
            actions: [NtfyAction { action: "view", label: OPEN_IN_CONSOLE, url: console }],
        }
    }
}

/// The server's address and the topic, of `https://ntfy.example.org/topic`. A query stays: it may be an access token.
fn ntfy_topic(url: &Url) -> (Url, Redacted) {
    let path = url.path().trim_end_matches('/');
    let (base, topic) = path.rsplit_once('/').unwrap_or(("", path));
    let mut server = url.clone();
    server.set_path(&format!("{base}/"));
    (server, Redacted::outside_sessions(topic))
}

/// Slack's incoming webhook. Plain text only: a page cannot mention a channel or make a link.
#[derive(Serialize, RedactedFields)]
struct SlackMessage {
    /// For notifications of the system. Slack reads markup in it, so it has no text of a page.
    text: Redacted,
    blocks: Vec<SlackBlock>,
}

#[derive(Serialize, RedactedFields)]
#[serde(tag = "type", rename_all = "lowercase")]
enum SlackBlock {
    Header { text: SlackText },
    Section { text: SlackText },
    Actions { elements: [SlackButton; 1] },
}

#[derive(Serialize, RedactedFields)]
struct SlackText {
    r#type: &'static str,
    text: Redacted,
    emoji: bool,
}

#[derive(Serialize, RedactedFields)]
struct SlackButton {
    r#type: &'static str,
    text: SlackText,
    url: Redacted,
    action_id: &'static str,
}

impl SlackMessage {
    fn new(approval: &Approval, console: Redacted) -> SlackMessage {
        let plain = |text: Redacted| SlackText { r#type: "plain_text", text, emoji: false };
        let button = SlackButton {
            r#type: "button",
            text: plain(OPEN_IN_CONSOLE.into()),
            url: console,
            action_id: "stockade_open",
        };
        SlackMessage {
            text: title(approval),
            blocks: vec![
                SlackBlock::Header { text: plain(title(approval)) },
                SlackBlock::Section { text: plain(text(approval)) },
                SlackBlock::Actions { elements: [button] },
            ],
        }
    }
}

/// Telegram's `sendMessage`, without a parse mode: nothing in the text is markup.
#[derive(Serialize, RedactedFields)]
struct TelegramMessage {
    chat_id: Redacted,
    text: Redacted,
    link_preview_options: TelegramLinkPreview,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_markup: Option<TelegramKeyboard>,
}

#[derive(Serialize, RedactedFields)]
struct TelegramLinkPreview {
    is_disabled: bool,
}

#[derive(Serialize, RedactedFields)]
struct TelegramKeyboard {
    inline_keyboard: [[TelegramButton; 1]; 1],
}

#[derive(Serialize, RedactedFields)]
struct TelegramButton {
    text: &'static str,
    url: Redacted,
}

impl TelegramMessage {
    fn new(approval: &Approval, console: Redacted, chat_id: Redacted) -> TelegramMessage {
        let text = redacted!("{}\n\n{}\n\n{}", title(approval), text(approval), console);
        // Telegram refuses a button that leads to this machine.
        let reply_markup = console.starts_with("https://").then_some(TelegramKeyboard {
            inline_keyboard: [[TelegramButton { text: OPEN_IN_CONSOLE, url: console }]],
        });
        let link_preview_options = TelegramLinkPreview { is_disabled: true };
        TelegramMessage { chat_id, text, link_preview_options, reply_markup }
    }
}

/// The address without its query, and the chat that the query names: `…/botTOKEN/sendMessage?chat_id=ID`.
fn telegram_chat(url: &Url) -> (Url, Redacted) {
    let chat = url.query_pairs().find(|(name, _)| name == "chat_id").map(|(_, id)| id.into_owned());
    let mut method = url.clone();
    method.set_query(None);
    (method, Redacted::outside_sessions(chat.unwrap_or_default()))
}

/// Our own words: risk, what it does, and where.
fn title(approval: &Approval) -> Redacted {
    let card = &approval.card;
    let title = match approval.kind {
        ApprovalKind::Guidance => redacted!("Stockade: a session is paused on {}", card.domain),
        ApprovalKind::Domain => redacted!("Stockade: new site {}", card.domain),
        ApprovalKind::Effect => {
            redacted!("Stockade, {} risk: {} on {}", card.risk.as_str(), card.description, card.domain)
        }
        ApprovalKind::Action => {
            redacted!("Stockade, {} risk: {} on {}", card.risk.as_str(), card.action, card.domain)
        }
    };
    title.truncate_chars(MAX_TITLE_CHARS, "…")
}

/// What is asked, in lines. Text of the page or of the request is in quotation marks.
fn text(approval: &Approval) -> Redacted {
    let card = &approval.card;
    let mut lines = Vec::new();
    if let Some(effect) = &card.effect {
        lines.push(redacted!("{} {}", effect.method, quote(&effect.address)));
        lines.extend(effect.operations.iter().map(|fact| redacted!("{}: {}", fact.name, quote(&fact.value))));
        for field in effect.fields.iter().take(MAX_FIELDS) {
            let whole = if field.is_cut { redacted!(" ({} bytes in all)", field.length) } else { "".into() };
            lines.push(redacted!("{} = {}{}", quote(&field.name), quote(&field.value), whole));
        }
        let more = effect.fields.len().saturating_sub(MAX_FIELDS) as u64 + effect.omitted_fields;
        if more > 0 {
            lines.push(redacted!("and {} more fields", more));
        }
    }
    if !card.action.is_empty() {
        let after = if card.effect.is_some() { "After: " } else { "" };
        lines.push(redacted!("{}{}{}", after, card.action, element(card)));
    }
    lines.extend(card.input.as_ref().map(|input| redacted!("Entered: {}", quote(input))));
    if card.effect.is_none() {
        lines.push(redacted!("Why: {} ({})", card.description, card.rule));
        lines.push(redacted!("Page: {}", quote(&card.url)));
    }
    if card.irreversible {
        lines.push("This cannot be undone.".into());
    }
    let seconds = approval.expires_at.duration_since(approval.asked_at).as_secs();
    lines.push(redacted!("Agent {}, session {}.", approval.scope, approval.session));
    lines.push(match approval.kind {
        ApprovalKind::Guidance => redacted!("Answer within {} s.", seconds),
        _ => redacted!("Denied by itself after {} s.", seconds),
    });
    Redacted::join(lines, "\n").truncate_bytes(MAX_TEXT_BYTES, "…")
}

/// ` on button “Delete”`.
fn element(card: &ApprovalCard) -> Redacted {
    let Some(element) = &card.element else { return Redacted::default() };
    redacted!(" on {} {}", element.role.clone().into_redacted(), quote(&element.name))
}

fn quote(text: &RedactedPageText) -> Redacted {
    let inner = text.clone().into_redacted().truncate_bytes(MAX_QUOTE_BYTES, "…");
    redacted!("“{}”", inner.without(|c| matches!(c, '“' | '”')))
}

#[cfg(test)]
mod tests;
