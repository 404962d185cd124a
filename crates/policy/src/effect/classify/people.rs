//! Judges fields that reach people: a text with its recipient or its channel, people who are invited, marks that somebody
//! is notified.

use super::EffectClass;
use super::fields::{is_draft, is_truthy, last_part};
use super::name::Verdict;
use super::path::Path;
use super::terms::*;
use crate::effect::{Effect, EffectField};

/// Names of fields that hold what is written.
const TEXT: [&str; 17] = [
    "subject",
    "body",
    "text",
    "message",
    "content",
    "html",
    "comment",
    "betreff",
    "asunto",
    "objet",
    "oggetto",
    "nachricht",
    "mensaje",
    "mensagem",
    "messaggio",
    "texte",
    "texto",
];

/// The field that says that a request reaches people.
pub(super) fn judge<'a>(
    effect: &'a Effect,
    path: &Path,
    base: Option<Verdict>,
) -> Option<(EffectClass, &'a str)> {
    let is_kept = is_draft(effect) || path.has_word(&["draft", "drafts", "autosave", "typing"]);
    let is_ordinary = base == Some(Verdict::Ordinary);
    let invites = || invited(effect).filter(|_| !path.any(STEP | CART));
    let found = addresses(effect)
        .or_else(invites)
        .filter(|_| !is_ordinary)
        .or_else(|| writes_message(effect, path))
        .or_else(|| says_in_channel(effect).filter(|_| !is_kept))
        .or_else(|| submits_text(effect, path).filter(|_| !is_kept && !is_ordinary))
        .or_else(|| notifies(effect).filter(|_| !is_kept && !path.is_settings()));
    found.map(|name| (EffectClass::Send, name))
}

fn plain(field: &EffectField) -> String {
    last_part(&field.name).to_ascii_lowercase().replace(['_', '-'], "")
}

fn is_text(field: &EffectField) -> bool {
    TEXT.contains(&last_part(&field.name).to_ascii_lowercase().as_str()) && !field.value.is_empty()
}

/// Somebody to write to together with something to read: a message, whatever the address is called.
fn addresses(effect: &Effect) -> Option<&str> {
    const TO: [&str; 14] = [
        "to",
        "recipient",
        "recipients",
        "cc",
        "bcc",
        "an",
        "para",
        "destinataire",
        "destinatario",
        "empfaenger",
        "till",
        "naar",
        "komu",
        "kime",
    ];
    let is_person = |value: &str| {
        let digits = value.bytes().filter(u8::is_ascii_digit).count();
        value.contains('@') || value.starts_with('+') && digits >= 4
    };
    let is_to = |field: &&EffectField| {
        let name = last_part(&field.name).to_ascii_lowercase();
        TO.contains(&name.as_str()) && is_person(&field.value)
    };
    let to = effect.fields.iter().find(is_to)?;
    // Who is called hears it.
    let is_call = last_part(&to.name) == "to" && to.value.starts_with('+');
    ((is_call || effect.fields.iter().any(is_text)) && !is_draft(effect)).then_some(to.name.as_str())
}

/// A text and the channel that it is written in: `channel_id` with `initial_comment`.
fn says_in_channel(effect: &Effect) -> Option<&str> {
    const CHANNELS: [&str; 10] = [
        "channelid",
        "channel",
        "conversationid",
        "threadid",
        "roomid",
        "chatid",
        "chat",
        "peerid",
        "topicid",
        "dialogid",
    ];
    let is_channel =
        |field: &EffectField| CHANNELS.contains(&plain(field).as_str()) && !field.value.is_empty();
    let is_said =
        |field: &&EffectField| is_text(field) || plain(field).ends_with("comment") && !field.value.is_empty();
    let text = effect.fields.iter().find(is_said)?;
    effect.fields.iter().any(is_channel).then_some(text.name.as_str())
}

/// A text that is sent to an address of messages, whatever else it does: `/matches/4/like-and-message`.
fn writes_message<'a>(effect: &'a Effect, path: &Path) -> Option<&'a str> {
    let (last, _) = path.named().next()?;
    let names_message = last.words.len() > 1 && last.any(SEND_NOUN) && !last.any(LIGHT | READ);
    let text = effect.fields.iter().find(|field| {
        matches!(last_part(&field.name), "text" | "body" | "message" | "content" | "html")
            && !field.value.is_empty()
    })?;
    // The message on a gift is a part of the order.
    let is_step = path.any(STEP | CART) && path.any(PAY_NOUN);
    (names_message && !is_step && !is_draft(effect)).then_some(text.name.as_str())
}

/// `POST /api/submit` with a text.
fn submits_text<'a>(effect: &'a Effect, path: &Path) -> Option<&'a str> {
    let (last, _) = path.named().next()?;
    let submits = matches!(&last.words[..], [word] if word.text == "submit");
    let is_written = |field: &&EffectField| is_text(field) && plain(field) != "comment";
    effect.fields.iter().find(is_written).filter(|_| submits).map(|field| field.name.as_str())
}

/// Addresses of people who are invited by what is saved: `attendees[0].email`.
fn invited(effect: &Effect) -> Option<&str> {
    const INVITED: [&str; 4] = ["attendee", "invitee", "recipient", "cohost"];
    let is_invited = |field: &&EffectField| {
        let parents = field.name.split(['.', '[', ']']);
        let mut parts = parents.map(|part| part.trim_end_matches('s').to_ascii_lowercase());
        // A guest list is shown and saved again; who is named the invitee is invited now.
        parts.any(|part| part == "invitee" || field.value.contains('@') && INVITED.contains(&part.as_str()))
            && !field.value.is_empty()
    };
    effect.fields.iter().find(is_invited).map(|field| field.name.as_str())
}

/// `notifyCustomer: true`, `send_email=1`; but not `notify_me`, a setting.
fn notifies(effect: &Effect) -> Option<&str> {
    let is_set =
        |field: &EffectField| matches!(field.value.as_str(), "true" | "1" | "on" | "yes" | "all" | "True");
    let is_notified = |field: &&EffectField| {
        let found = words(last_part(&field.name));
        let is_setting = found
            .iter()
            .any(|word| matches!(word.text.as_str(), "me" | "on" | "when" | "if" | "allow" | "enable"));
        let leads = found.first().is_some_and(|word| {
            matches!(word.text.as_str(), "notify" | "send" | "sendemail" | "sendmail" | "sendmessage")
        });
        is_set(field) && leads && !is_setting && is_truthy(&field.value)
    };
    effect.fields.iter().find(is_notified).map(|field| field.name.as_str())
}
