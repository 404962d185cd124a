//! Effects of one session: requests of its granted sites that may change something, decided on before they leave.
//!
//! Whoever holds a request calls [`EffectGate::decide`]: the egress proxy, or the driver for sites that the proxy does not
//! intercept. What needs no person is permitted or refused here. Other effects are
//! held: the gate takes them out of the queue, asks, and answers.

use super::lock;
use crate::approvals::SessionAllowances;
use crate::error::{Fault, audit_fault};
use crate::logins::SessionSecrets;
use crate::record::TypedTextRedactor;
use audit::{
    Cleared, EffectAuthorization, EffectDecided, EffectGate, EffectRecordContext, EffectRefused,
    EventSubject, NavigationTicket, PermittedEffect,
};
use browser::DecidedSite;
use error_code::ErrorCode;
use policy::{
    Access, Action, CausingAction, Decision, Effect, EffectClass, EffectContext, EffectDecision,
    EffectQuestion, EffectRequest, Endpoint, Facts, Policy, RequestHead, RuleName, SessionContext,
};
use redact::{Redacted, redacted};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, watch};

/// Effects of one session that may wait at once. Further ones are refused.
const MAX_HELD: usize = 16;
/// A request that begins this long after an action is the page's own.
const AFTERMATH: Duration = Duration::from_secs(3);
/// `Sec-Fetch-Dest` of a navigation of a tab.
const DOCUMENT: &str = "document";

/// What the sessions of one control plane share for their effects.
#[derive(Clone)]
pub struct EffectSettings {
    pub policy: Policy,
    pub log: audit::Log,
}

/// Decides on the effects of one session. Clones share their state.
#[derive(Clone)]
pub struct SessionEffects(Arc<EffectsInner>);

struct EffectsInner {
    settings: EffectSettings,
    access: Access,
    subject: EventSubject,
    secrets: Arc<SessionSecrets>,
    typed_text: Arc<TypedTextRedactor>,
    allowances: Arc<SessionAllowances>,
    cause: Mutex<Option<Cause>>,
    /// The latest refusal that no call has reported, and the action that it followed.
    refusal: Mutex<Option<(u32, Fault)>>,
    queue: mpsc::Sender<HeldEffect>,
    held: watch::Sender<HeldCount>,
    has_undecided_channel: AtomicBool,
    /// Sites whose effects are decided on in the browser.
    in_browser: OnceLock<Vec<DecidedSite>>,
}

/// The latest acting call.
struct Cause {
    causing: Arc<CausingAction>,
    ended_at: Option<Instant>,
    /// The page opened a dialog because of it. The answer to that dialog is part of the same act.
    has_dialog: bool,
    /// By its element a person would have been asked, and was not: what it causes is decided on instead.
    asks_by_element: bool,
}

impl Cause {
    fn is_recent(&self) -> bool {
        self.causing.is_recent && self.ended_at.is_none_or(|at| at.elapsed() < AFTERMATH)
    }

    /// The action that opened the dialog that is answered now.
    fn opener(&self) -> Option<Arc<CausingAction>> {
        let causing = &self.causing;
        self.has_dialog.then(|| causing.opened_by.clone().unwrap_or_else(|| Arc::clone(causing)))
    }
}

/// How many effects wait, and the action that the latest one followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HeldCount {
    waiting: usize,
    latest_action: u32,
}

/// An effect that waits for a person.
pub struct HeldEffect {
    pub question: EffectQuestion,
    pub cause: Option<Arc<CausingAction>>,
    pub reply: HeldReply,
    /// Counts the effect as held until it is dropped.
    pub count: HeldGuard,
}

/// How the answer reaches the request.
pub enum HeldReply {
    /// Whoever holds the request waits. It is given up when the page gives the request up.
    Request(oneshot::Sender<Result<EffectAuthorization, EffectRefused>>),
    /// A navigation is kept; the tab goes there again once it is released.
    Navigation(NavigationTicket),
}

/// One held effect in the count of its session.
pub struct HeldGuard(Arc<EffectsInner>);

impl Drop for HeldGuard {
    fn drop(&mut self) {
        self.0.held.send_modify(|held| held.waiting = held.waiting.saturating_sub(1));
    }
}

/// What a session's effects need to know of it.
pub struct EffectSubject {
    pub access: Access,
    pub event_subject: EventSubject,
    pub secrets: Arc<SessionSecrets>,
    pub typed_text: Arc<TypedTextRedactor>,
    pub allowances: Arc<SessionAllowances>,
}

impl SessionEffects {
    /// The effects of a session, and the queue of those that a person has to be asked about.
    pub fn new(
        settings: EffectSettings,
        subject: EffectSubject,
    ) -> (SessionEffects, mpsc::Receiver<HeldEffect>) {
        let EffectSubject { access, event_subject, secrets, typed_text, allowances } = subject;
        let (queue, held) = mpsc::channel(MAX_HELD);
        let inner = EffectsInner {
            settings,
            access,
            subject: event_subject,
            secrets,
            typed_text,
            allowances,
            cause: Mutex::default(),
            refusal: Mutex::default(),
            queue,
            held: watch::Sender::new(HeldCount::default()),
            has_undecided_channel: AtomicBool::new(false),
            in_browser: OnceLock::new(),
        };
        (SessionEffects(Arc::new(inner)), held)
    }

    pub fn access(&self) -> Access {
        self.0.access
    }

    /// What leaves from now on follows this action.
    pub fn begin_action(&self, number: u32, action: &Action, facts: &Facts, by_element: &SessionContext) {
        let (action, facts) = (action.clone(), facts.clone());
        let asks_by_element = self.0.in_browser.get().is_some()
            && !self.has_undecided_channel()
            && !matches!(
                self.0.settings.policy.decide(action.clone(), facts.clone(), by_element),
                Decision::Allow(_)
            );
        let mut cause = lock(&self.0.cause);
        let opener = cause.as_ref().filter(|_| matches!(action, Action::Dialog(_)));
        let asks_by_element =
            asks_by_element || opener.is_some_and(|cause| cause.has_dialog && cause.asks_by_element);
        let opened_by = opener.and_then(Cause::opener);
        let causing = Arc::new(CausingAction { number, action, facts, is_recent: true, opened_by });
        *cause = Some(Cause { causing, ended_at: None, has_dialog: false, asks_by_element });
        drop(cause);
        *lock(&self.0.refusal) = None;
    }

    /// `has_dialog`: the page waits for the answer to a dialog.
    pub fn end_action(&self, has_dialog: bool) {
        if let Some(cause) = lock(&self.0.cause).as_mut() {
            cause.ended_at = Some(Instant::now());
            cause.has_dialog |= has_dialog;
        }
    }

    /// A page opened a dialog. If an action has just ended, it is the reason.
    pub fn note_dialog(&self) {
        if let Some(cause) = lock(&self.0.cause).as_mut() {
            cause.has_dialog |= cause.is_recent();
        }
    }

    /// The sites whose effects are decided on in the browser, where messages of WebSockets are not seen. Set once.
    pub fn set_sites_in_browser(&self, sites: &[DecidedSite]) {
        // A browser that was restarted has the same ones.
        self.0.in_browser.get_or_init(|| sites.to_vec());
    }

    /// Whether a page may have sent messages to a granted site that nobody decides on.
    pub fn has_undecided_channel(&self) -> bool {
        self.0.has_undecided_channel.load(Ordering::Relaxed)
    }

    /// Whether an effect waits for an answer.
    pub fn is_any_held(&self) -> bool {
        self.0.held.borrow().waiting > 0
    }

    /// Whether an effect that followed this action waits for an answer.
    pub fn is_held_after(&self, number: u32) -> bool {
        let held = *self.0.held.borrow();
        held.waiting > 0 && held.latest_action == number
    }

    /// Resolves when an effect is held.
    pub async fn until_held(&self) {
        let mut held = self.0.held.subscribe();
        // The sender lives as long as this.
        let _ended = held.wait_for(|held| held.waiting > 0).await;
    }

    /// Takes the fault of an effect that was refused without a question, after this action.
    pub fn take_refusal(&self, number: u32) -> Option<Fault> {
        let mut refusal = lock(&self.0.refusal);
        refusal.take_if(|(after, _)| *after == number).map(|(_, fault)| fault)
    }

    /// Records an authorized effect. Only then may it leave.
    pub async fn permit(
        &self,
        authorization: EffectAuthorization,
        cause: Option<&CausingAction>,
    ) -> Result<PermittedEffect, Fault> {
        let redact = |text: &str| self.0.typed_text.redact(text);
        let context = self.0.record_context(cause, &redact);
        self.0.settings.log.intend_effect(authorization, context).await.map_err(audit_fault)
    }

    /// Records that a held effect does not leave.
    pub async fn refuse(&self, question: &EffectQuestion, cause: Option<&CausingAction>, code: &ErrorCode) {
        self.0.record_refusal(question.effect(), (question.class(), question.rule()), cause, code).await;
    }
}

impl EffectsInner {
    fn record_context<'a>(
        &'a self,
        cause: Option<&CausingAction>,
        redact: &'a (dyn Fn(&str) -> Redacted + Sync),
    ) -> EffectRecordContext<'a> {
        EffectRecordContext { subject: &self.subject, caused_by: cause.map(|cause| cause.number), redact }
    }

    fn cause(&self) -> Option<Arc<CausingAction>> {
        let mut cause = lock(&self.cause);
        let cause = cause.as_mut()?;
        if cause.causing.is_recent && !cause.is_recent() {
            cause.causing = Arc::new(CausingAction { is_recent: false, ..(*cause.causing).clone() });
        }
        Some(Arc::clone(&cause.causing))
    }

    async fn decide(self: Arc<Self>, request: EffectRequest) -> Result<Cleared, EffectRefused> {
        let cause = self.cause();
        let effect = Effect::decode(request);
        let context = EffectContext { access: self.access, cause: cause.as_deref() };
        match self.settings.policy.decide_effect(effect, &context) {
            EffectDecision::Pass => Ok(Cleared::Read),
            EffectDecision::Allow(permit) => self.permit(permit.into(), cause.as_deref()).await,
            EffectDecision::Deny { effect, class, denial } => {
                self.record_refusal(&effect, (class, &denial.rule), cause.as_deref(), &denial.code).await;
                let message = self.secrets.redact(&denial.message);
                Err(self.report(cause.as_deref(), Fault::new(denial.code, message).hint(denial.hint)))
            }
            EffectDecision::Ask(question) => self.ask(question, cause).await,
        }
    }

    /// Applies earlier answers of an operator, or holds the effect until there is one.
    async fn ask(
        self: Arc<Self>,
        question: EffectQuestion,
        cause: Option<Arc<CausingAction>>,
    ) -> Result<Cleared, EffectRefused> {
        let question = match self.allowances.approve_effect(question) {
            Ok(authorization) => return self.permit(authorization, cause.as_deref()).await,
            Err(question) => question,
        };
        if self.allowances.is_effect_refused(&question) {
            let about = (question.class(), question.rule());
            self.record_refusal(question.effect(), about, cause.as_deref(), &ErrorCode::DeniedByOperator)
                .await;
            return Err(self.report(cause.as_deref(), denied_before()));
        }
        let is_navigation = question.effect().request.destination == DOCUMENT;
        let (reply, answered) = if is_navigation {
            (HeldReply::Navigation(NavigationTicket::next()), None)
        } else {
            let (sender, answered) = oneshot::channel();
            (HeldReply::Request(sender), Some(answered))
        };
        let ticket = match &reply {
            HeldReply::Navigation(ticket) => Some(*ticket),
            HeldReply::Request(_) => None,
        };
        let count = self.count_held(cause.as_deref());
        let held = HeldEffect { question, cause: cause.clone(), reply, count };
        if let Err(full) = self.queue.try_send(held) {
            let held = full.into_inner();
            let about = (held.question.class(), held.question.rule());
            let code = ErrorCode::ApprovalsFull;
            self.record_refusal(held.question.effect(), about, cause.as_deref(), &code).await;
            return Err(self.report(cause.as_deref(), too_many_held()));
        }
        match (answered, ticket) {
            (None, Some(ticket)) => Ok(Cleared::Deferred(ticket)),
            (Some(answered), _) => match answered.await {
                Ok(Ok(authorization)) => self.permit(authorization, cause.as_deref()).await,
                Ok(Err(refused)) => Err(refused),
                // The session has ended.
                Err(_) => Err(EffectRefused::from(&ErrorCode::Cancelled)),
            },
            (None, None) => Err(EffectRefused::from(&ErrorCode::Internal)),
        }
    }

    fn count_held(self: &Arc<Self>, cause: Option<&CausingAction>) -> HeldGuard {
        self.held.send_modify(|held| {
            held.waiting += 1;
            held.latest_action = cause.map_or(0, |cause| cause.number);
        });
        HeldGuard(Arc::clone(self))
    }

    async fn permit(
        self: &Arc<Self>,
        authorization: EffectAuthorization,
        cause: Option<&CausingAction>,
    ) -> Result<Cleared, EffectRefused> {
        match SessionEffects(Arc::clone(self)).permit(authorization, cause).await {
            Ok(permitted) => Ok(Cleared::Effect(permitted)),
            Err(fault) => Err(self.report(cause, fault)),
        }
    }

    /// Keeps the reason for the call that is under way. The ledger gets its name.
    fn report(&self, cause: Option<&CausingAction>, fault: Fault) -> EffectRefused {
        let refused = EffectRefused::from(&fault.code);
        *lock(&self.refusal) = Some((cause.map_or(0, |cause| cause.number), fault));
        refused
    }

    async fn record_refusal(
        &self,
        effect: &Effect,
        about: (EffectClass, &RuleName),
        cause: Option<&CausingAction>,
        code: &ErrorCode,
    ) {
        let redact = |text: &str| self.typed_text.redact(text);
        let context = self.record_context(cause, &redact);
        let code = Redacted::from_safe(code);
        // It does not leave, whether that is on record or not.
        if let Err(error) = self.settings.log.refuse_effect(effect, about, &code, context).await {
            tracing::error!(%error, "a refused effect is not on record");
        }
    }
}

impl fmt::Debug for SessionEffects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionEffects").field("access", &self.0.access).finish_non_exhaustive()
    }
}

impl EffectGate for SessionEffects {
    fn concerns(&self, head: &RequestHead<'_>) -> bool {
        let cause = self.0.cause();
        self.0.settings.policy.concerns(head, cause.as_deref())
    }

    fn decide(&self, request: EffectRequest) -> EffectDecided {
        Box::pin(Arc::clone(&self.0).decide(request))
    }

    fn refused_undecided(&self, _head: &RequestHead<'_>, code: &'static str) {
        let code = ErrorCode::parse(code).unwrap_or(ErrorCode::Internal);
        let fault =
            Fault::new(code, "a request that this action caused could not be examined, and was not sent")
                .hint("Do not try another way. Tell the person that this step needs them.");
        self.0.report(self.0.cause().as_deref(), fault);
    }

    fn note_undecided_channel(&self, _url: &str) {
        self.0.has_undecided_channel.store(true, Ordering::Relaxed);
    }

    fn has_undecided_channels(&self, host: &str, port: u16) -> bool {
        self.0.in_browser.get().into_iter().flatten().any(|site| {
            let scheme = site.endpoint.scheme;
            site.contains(&Endpoint::new(scheme, host, port))
        })
    }

    /// The first WebSocket of an action that its element would have asked about is refused. From then on elements are
    /// decided on, so the same action asks when it is tried again.
    fn permits_undecided_channel(&self, _host: &str, _port: u16) -> bool {
        let cause = self.0.cause();
        let asks = lock(&self.0.cause).as_ref().is_some_and(|cause| cause.asks_by_element);
        self.0.has_undecided_channel.store(true, Ordering::Relaxed);
        if !asks || !cause.as_ref().is_some_and(|cause| cause.is_recent) {
            return true;
        }
        let message =
            "this action opened a WebSocket, whose messages the policy cannot check; it was not connected";
        let fault = Fault::new(ErrorCode::EffectUnreadable, message)
            .hint("Load the page again and repeat the action: an operator is then asked about the element.");
        self.0.report(cause.as_deref(), fault);
        false
    }
}

/// The fault of an effect like one that an operator denied a short time ago.
pub fn denied_before() -> Fault {
    Fault::new(
        ErrorCode::DeniedByOperator,
        "the operator denied the same request a short time ago; it is refused without asking",
    )
    .hint("A person decided this: do not try to reach the same result in another way. Continue without it.")
}

fn too_many_held() -> Fault {
    Fault::new(ErrorCode::ApprovalsFull, redacted!("{} requests of this session already wait", MAX_HELD))
        .hint("Wait until some are answered.")
        .retryable()
}
