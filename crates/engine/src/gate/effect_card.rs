//! Builds the question about a held request: what will be sent, and the action that led to it.

use super::effect_questions::KIND;
use super::question_card::{QuestionScreenshot, describe_action, element_card, host};
use crate::approvals::{ApprovalCard, CardFact, EffectCard, EffectFieldCard, NewQuestion};
use crate::session::Session;
use browser::RedactedPageText;
use policy::{BodyKind, CausingAction, Effect, EffectQuestion};
use redact::{Redacted, redacted};

/// Maximum length of one value on a card.
const MAX_VALUE: usize = 500;
/// Shown in place of a value whose field is a secret.
const HIDDEN: &str = "[not shown]";
/// Maximum number of fields on a card.
const MAX_FIELDS: usize = 60;

/// Builds the question for a person. Secrets are redacted; what an agent typed is shown, because it is what will be sent.
pub fn new_question(
    session: &Session,
    question: &EffectQuestion,
    cause: Option<&CausingAction>,
    screenshot: QuestionScreenshot,
) -> NewQuestion {
    let page = |text: &str| RedactedPageText::new(&session.redact(text)).shortened(MAX_VALUE);
    let fact = |name: &'static str, value: &str| CardFact { name: name.into(), value: page(value) };
    let effect = question.effect();
    let url = effect.request.url.as_str();
    // After a dialog, the element is the one that opened it.
    let acted = cause.map(CausingAction::on_element);
    let target = acted.and_then(|acted| acted.facts.target.as_ref().map(|target| (&acted.action, target)));
    let card = ApprovalCard {
        tool: cause.map_or_else(Redacted::default, |cause| redacted!("browser_{}", cause.action.name())),
        action: cause.map_or_else(|| "nothing the agent did".into(), |cause| describe_action(&cause.action)),
        risk: question.risk(),
        rule: Redacted::from_safe(question.rule()),
        description: question.description().into(),
        because: question.evidence().iter().map(|it| fact(it.fact, &it.value)).collect(),
        url: page(cause.map_or(url, |cause| cause.facts.page_url.as_str())),
        domain: session.redact(&host(url)),
        element: target.map(|(action, target)| element_card(action, target, &page)),
        input: None,
        mark: screenshot.mark,
        irreversible: question.is_irreversible(),
        for_session: match question.pattern() {
            Some(pattern) => pattern.facts().map(|(name, value)| fact(name, value)).collect(),
            None => Vec::new(),
        },
        effect: Some(effect_card(session, effect, &page)),
    };
    NewQuestion {
        kind: KIND,
        scope: session.scope.clone(),
        session: session.id.clone(),
        session_name: session.name.clone(),
        card,
        screenshot: screenshot.image,
        timeout: None,
    }
}

fn effect_card(session: &Session, effect: &Effect, page: &impl Fn(&str) -> RedactedPageText) -> EffectCard {
    let field = |field: &policy::EffectField| EffectFieldCard {
        name: page(&field.name),
        value: if field.is_secret() { page(HIDDEN) } else { page(&field.value) },
        length: field.length as u64,
        is_cut: field.is_secret() || field.length > MAX_VALUE || field.length > field.value.len(),
    };
    let unlisted = effect.fields.len().saturating_sub(MAX_FIELDS) + effect.omitted_fields;
    EffectCard {
        method: session.redact(&effect.request.method),
        address: page(&effect.request.url),
        body: describe_body(effect.body),
        body_bytes: effect.request.body.len() as u64,
        operations: effect
            .operations
            .iter()
            .map(|name| CardFact { name: "operation".into(), value: page(name) })
            .collect(),
        fields: effect.fields.iter().take(MAX_FIELDS).map(field).collect(),
        omitted_fields: unlisted as u64,
        digest: Redacted::from_safe(effect.request.digest()),
    }
}

fn describe_body(body: BodyKind) -> Redacted {
    match body {
        BodyKind::None => "none",
        BodyKind::Form => "form",
        BodyKind::Multipart => "form with parts",
        BodyKind::Json => "JSON",
        BodyKind::GraphQl => "GraphQL",
        BodyKind::JsonRpc => "JSON-RPC",
        BodyKind::Text => "text",
        BodyKind::Binary => "binary",
    }
    .into()
}
