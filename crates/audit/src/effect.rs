//! Recorded effects: from a decision to a request that may leave.

use crate::approval::{ApprovalAuthority, Approver};
use crate::error::AuditError;
use crate::event::{CorrelationId, Event, EventKind, EventSubject};
use crate::log::{Intent, Log};
use policy::{
    Effect, EffectClass, EffectDigest, EffectPattern, EffectPermit, EffectQuestion, EffectRequest,
    EffectTransport, RuleName, WebUrl,
};
use redact::{Redacted, redacted};

/// Fields that are named in one event; more are counted.
const MAX_NAMED_FIELDS: usize = 40;

/// An effect that may leave once its intent is recorded: permitted by the policy, or approved by an operator.
#[derive(Debug)]
pub struct EffectAuthorization {
    effect: Effect,
    class: EffectClass,
    rule: RuleName,
    decided_by: Redacted,
}

impl From<EffectPermit> for EffectAuthorization {
    fn from(permit: EffectPermit) -> EffectAuthorization {
        let (effect, class, rule) = permit.into_parts();
        EffectAuthorization { effect, class, rule, decided_by: "policy".into() }
    }
}

/// An approval for the rest of a session: it approves later effects of the same pattern.
#[derive(Debug)]
pub struct EffectAllowance {
    pattern: EffectPattern,
    approved_by: Redacted,
}

impl EffectAllowance {
    pub fn covers(&self, question: &EffectQuestion) -> bool {
        question.pattern().as_ref() == Some(&self.pattern)
    }

    /// Approves an effect that it covers; any other comes back.
    #[expect(clippy::result_large_err, reason = "the question goes on to be asked")]
    pub fn approve(&self, question: EffectQuestion) -> Result<EffectAuthorization, EffectQuestion> {
        if !self.covers(&question) {
            return Err(question);
        }
        Ok(approved(question, self.approved_by.clone()))
    }
}

impl ApprovalAuthority {
    /// The operator approved these bytes, once.
    pub fn approve_effect(&self, question: EffectQuestion, by: &Approver<'_>) -> EffectAuthorization {
        approved(question, by.describe(""))
    }

    /// The operator approved these bytes, and the same pattern for the rest of the session where that is offered.
    pub fn approve_effect_for_session(
        &self,
        question: EffectQuestion,
        by: &Approver<'_>,
    ) -> (EffectAuthorization, Option<EffectAllowance>) {
        let approved_by = by.describe(", for the session");
        let allowance = question.pattern().map(|pattern| EffectAllowance { pattern, approved_by });
        (self.approve_effect(question, by), allowance)
    }
}

fn approved(question: EffectQuestion, decided_by: Redacted) -> EffectAuthorization {
    let (effect, class, rule) = question.into_parts();
    EffectAuthorization { effect, class, rule, decided_by }
}

/// An authorized effect whose intent is recorded. Nothing else that may change something is sent.
#[must_use]
pub struct PermittedEffect {
    digest: EffectDigest,
    url: String,
    intent: Intent,
}

/// The address of a navigation that was held, authorized and recorded: the driver may go there, and the proxy sends the
/// request that it kept.
#[derive(Debug)]
pub struct NavigationReplay {
    url: String,
}

impl NavigationReplay {
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl PermittedEffect {
    /// Whether exactly these bytes were authorized.
    pub fn covers(&self, request: &EffectRequest) -> bool {
        request.digest() == self.digest
    }

    /// The right to navigate to where the effect goes, for a navigation that the proxy keeps.
    pub fn replay(&self) -> NavigationReplay {
        NavigationReplay { url: self.url.clone() }
    }

    /// Records what the site answered. Dropped instead, the effect is recorded as abandoned.
    pub fn complete(self, result: &Redacted) {
        self.intent.complete_later(|event| event.result(result.clone()));
    }

    pub fn correlation(&self) -> &CorrelationId {
        &self.intent.correlation
    }
}

/// The gate's further facts about an effect.
pub struct EffectRecordContext<'a> {
    pub subject: &'a EventSubject,
    /// The intent of the action before it, if one was.
    pub caused_by: Option<u32>,
    /// Redacts text of a page or an agent.
    pub redact: &'a (dyn Fn(&str) -> Redacted + Sync),
}

impl Log {
    /// Records the intent. Only once it is durable can the effect leave.
    pub async fn intend_effect(
        &self,
        authorization: impl Into<EffectAuthorization>,
        context: EffectRecordContext<'_>,
    ) -> Result<PermittedEffect, AuditError> {
        let EffectAuthorization { effect, class, rule, decided_by } = authorization.into();
        let (digest, url) = (effect.request.digest(), effect.request.url.clone());
        let event = describe(EventKind::EffectIntent, &effect, &context)
            .risk(class.risk())
            .decision(Some("allow"))
            .decided_by(Some(decided_by))
            .rule(Redacted::from_safe(&rule));
        let intent = self.begin(event, context.subject, EventKind::EffectOutcome, "effect").await?;
        Ok(PermittedEffect { digest, url, intent })
    }

    /// Records that an effect did not leave, and why.
    pub async fn refuse_effect(
        &self,
        effect: &Effect,
        (class, rule): (EffectClass, &RuleName),
        code: &Redacted,
        context: EffectRecordContext<'_>,
    ) -> Result<(), AuditError> {
        let event = describe(EventKind::EffectRefused, effect, &context)
            .risk(class.risk())
            .decision(Some("deny"))
            .rule(Redacted::from_safe(rule))
            .result(code.clone());
        self.append(&event).await
    }
}

/// Method, address, names and lengths of fields, and the digest of the bytes. Never a value.
fn describe(kind: EventKind, effect: &Effect, context: &EffectRecordContext<'_>) -> Event {
    let request = &effect.request;
    let (url, query) =
        request.url.split_once('?').map_or((request.url.as_str(), ""), |(url, query)| (url, query));
    let host = WebUrl::parse(url).map(|url| url.host().to_owned()).unwrap_or_default();
    let named = effect.fields.iter().take(MAX_NAMED_FIELDS);
    let mut fields: Vec<String> = named.map(|field| format!("{} ({})", field.name, field.length)).collect();
    let more = effect.fields.len().saturating_sub(MAX_NAMED_FIELDS) + effect.omitted_fields;
    if more > 0 {
        fields.push(format!("and {more} more"));
    }
    let name = match request.transport {
        EffectTransport::Http => redacted!("{}", (context.redact)(&request.method)),
        EffectTransport::WebSocket => "WebSocket message".into(),
    };
    let caused_by =
        context.caused_by.map_or(Redacted::default(), |number| redacted!(", after action {}", number));
    let query =
        if query.is_empty() { Redacted::default() } else { redacted!(", query of {} bytes", query.len()) };
    let detail = redacted!(
        "{}{}, body of {} bytes{}, sha256 {}",
        name,
        query,
        request.body.len(),
        caused_by,
        request.digest()
    );
    Event::new(kind, context.subject.clone())
        .action("effect")
        .address(Some((context.redact)(url)), Some((context.redact)(&host)))
        .input_value((!fields.is_empty()).then(|| (context.redact)(&fields.join(", "))))
        .detail(detail)
}
