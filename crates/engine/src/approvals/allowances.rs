//! Approvals for the rest of a session.

use audit::{Allowance, Approved};
use policy::{DomainPattern, Question};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of allowances, and of added domains, of one session. Beyond it people are asked again.
const MAX_ALLOWANCES: usize = 64;

/// What operators allowed one session without further approvals. In memory only.
#[derive(Default)]
pub struct SessionAllowances(Mutex<AllowanceLists>);

#[derive(Default)]
struct AllowanceLists {
    allowances: Vec<Allowance>,
    domains: Vec<DomainPattern>,
}

impl SessionAllowances {
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

    fn lock(&self) -> MutexGuard<'_, AllowanceLists> {
        // The lists stay consistent across a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
