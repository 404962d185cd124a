//! Approvals for the rest of a session.

use audit::{Allowance, Approved, EffectAllowance, EffectAuthorization};
use policy::{AllowanceScope, DomainPattern, EffectPattern, EffectQuestion, Question};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of allowances, and of added domains, of one session. Beyond it people are asked again.
const MAX_ALLOWANCES: usize = 64;

/// Maximum number of remembered refusals. The oldest is forgotten first.
const MAX_REFUSALS: usize = 32;
/// What operators allowed one session without further approvals, and what they denied lately. In memory only.
pub struct SessionAllowances {
    lists: Mutex<AllowanceLists>,
    /// How long the same is refused without asking, after an operator denied it.
    denial_stands: Duration,
}

impl Default for SessionAllowances {
    fn default() -> SessionAllowances {
        SessionAllowances::new(Duration::from_secs(120))
    }
}

#[derive(Default)]
struct AllowanceLists {
    allowances: Vec<Allowance>,
    effects: Vec<EffectAllowance>,
    domains: Vec<DomainPattern>,
    refusals: VecDeque<(Instant, Refused)>,
}

/// What an operator denied: an action on an element, or a kind of request.
#[derive(PartialEq, Eq)]
enum Refused {
    Action(AllowanceScope),
    Effect(EffectPattern),
}

impl SessionAllowances {
    pub fn new(denial_stands: Duration) -> SessionAllowances {
        SessionAllowances { lists: Mutex::default(), denial_stands }
    }

    pub fn add(&self, allowance: Allowance) {
        let mut lists = self.lock();
        if lists.allowances.len() < MAX_ALLOWANCES {
            lists.allowances.push(allowance);
        }
    }

    pub fn add_domain(&self, domain: DomainPattern) {
        let mut lists = self.lock();
        if lists.domains.len() < MAX_ALLOWANCES && !lists.domains.contains(&domain) {
            lists.domains.push(domain);
        }
    }

    pub fn domains(&self) -> Vec<DomainPattern> {
        self.lock().domains.clone()
    }

    /// Approves a question that an earlier approval for the session covers; returns any other.
    #[expect(clippy::result_large_err, reason = "the question is asked next")]
    pub fn approve(&self, question: Question) -> Result<Approved, Question> {
        let lists = self.lock();
        match lists.allowances.iter().find(|allowance| allowance.covers(&question)) {
            Some(allowance) => allowance.approve(question),
            None => Err(question),
        }
    }

    pub fn add_effect(&self, allowance: EffectAllowance) {
        let mut lists = self.lock();
        if lists.effects.len() < MAX_ALLOWANCES {
            lists.effects.push(allowance);
        }
    }

    /// Approves an effect that an earlier approval for the session covers; returns any other.
    #[expect(clippy::result_large_err, reason = "the question is asked next")]
    pub fn approve_effect(&self, question: EffectQuestion) -> Result<EffectAuthorization, EffectQuestion> {
        let lists = self.lock();
        match lists.effects.iter().find(|allowance| allowance.covers(&question)) {
            Some(allowance) => allowance.approve(question),
            None => Err(question),
        }
    }

    /// Remembers what an operator denied.
    pub fn refuse(&self, scope: AllowanceScope) {
        self.lock().add_refusal(Refused::Action(scope), Instant::now());
    }

    pub fn refuse_effect(&self, question: &EffectQuestion) {
        self.lock().add_refusal(Refused::Effect(question.refusal_pattern()), Instant::now());
    }

    /// Whether an operator denied the same a short time ago.
    pub fn is_refused(&self, question: &Question) -> bool {
        self.lock().has_refusal(&Refused::Action(question.refusal_scope()), self.denial_stands)
    }

    pub fn is_effect_refused(&self, question: &EffectQuestion) -> bool {
        self.lock().has_refusal(&Refused::Effect(question.refusal_pattern()), self.denial_stands)
    }

    fn lock(&self) -> MutexGuard<'_, AllowanceLists> {
        // The lists stay consistent across a panic.
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AllowanceLists {
    fn add_refusal(&mut self, refused: Refused, now: Instant) {
        if self.refusals.len() >= MAX_REFUSALS {
            self.refusals.pop_front();
        }
        self.refusals.push_back((now, refused));
    }

    fn has_refusal(&self, refused: &Refused, stands: Duration) -> bool {
        self.refusals.iter().any(|(at, known)| at.elapsed() < stands && known == refused)
    }
}
