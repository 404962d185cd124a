//! Approvals: an operator's answer to a question, and the allowances for a session that come out of one.

use crate::authorization::Authorization;
use policy::{Action, AllowanceScope, Changed, Facts, Question};
use redact::Redacted;

/// The capability to state that an operator approved a question.
///
/// [`Log::open`](crate::Log::open) returns exactly one, which cannot be cloned. The approval store keeps it, so code that
/// serves agents cannot approve anything.
#[derive(Debug)]
pub struct ApprovalAuthority {
    _sealed: (),
}

/// Who approved, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approver<'a> {
    pub operator: &'a str,
    /// Where the answer was given, such as `console`.
    pub channel: &'a str,
    /// The id of the question in the approval store.
    pub approval_id: &'a str,
}

impl Approver<'_> {
    /// Operators' names are chosen on the command line.
    pub(crate) fn describe(&self, scope: &'static str) -> Redacted {
        let Approver { operator, channel, approval_id } = self;
        Redacted::outside_sessions(format!("operator {operator} by {channel}{scope} ({approval_id})"))
    }
}

impl ApprovalAuthority {
    pub(crate) fn new() -> ApprovalAuthority {
        ApprovalAuthority { _sealed: () }
    }

    /// The operator approved this question, once.
    pub fn approve(&self, question: Question, by: &Approver<'_>) -> Approved {
        Approved { question, approved_by: by.describe("") }
    }

    /// Approved, and the same for the rest of the session where that is offered.
    pub fn approve_for_session(
        &self,
        question: Question,
        by: &Approver<'_>,
    ) -> (Approved, Option<Allowance>) {
        let approved_by = by.describe(", for the session");
        let allowance = question.allowance_scope().map(|scope| Allowance { scope, approved_by });
        (self.approve(question, by), allowance)
    }
}

/// An approved question. It authorizes one action, as long as the page is unchanged.
#[derive(Debug)]
pub struct Approved {
    question: Question,
    approved_by: Redacted,
}

impl Approved {
    pub fn action(&self) -> &Action {
        self.question.action()
    }

    /// Compares the page that the operator was asked about with the page now.
    pub fn recheck(self, now: Facts) -> Result<Authorization, Changed> {
        self.question.check_unchanged(&now)?;
        let (action, _, rule, risk) = self.question.into_parts();
        Ok(Authorization::new((action, now.pinned(), rule, risk), self.approved_by))
    }
}

/// An approval for the rest of a session: it approves later questions of the same scope.
#[derive(Debug)]
pub struct Allowance {
    scope: AllowanceScope,
    approved_by: Redacted,
}

impl Allowance {
    pub fn covers(&self, question: &Question) -> bool {
        question.allowance_scope().as_ref() == Some(&self.scope)
    }

    /// Approves a question that it covers; any other comes back.
    #[expect(clippy::result_large_err, reason = "the question goes on to be asked")]
    pub fn approve(&self, question: Question) -> Result<Approved, Question> {
        if !self.covers(&question) {
            return Err(question);
        }
        Ok(Approved { question, approved_by: self.approved_by.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Click, Decision, Policy, RiskResponse, RiskResponses, SessionContext, Settings, Target};

    fn question(page_url: &str) -> Question {
        let responses = RiskResponses::all(RiskResponse::Ask);
        let policy = Policy::new(Settings { responses, ..Settings::default() });
        let click = Action::Click(Click::on(Target::Focused));
        match policy.decide(click, page(page_url), &SessionContext::default()) {
            Decision::Ask(question) => question,
            other => panic!("{other:?}"),
        }
    }

    fn page(page_url: &str) -> Facts {
        Facts { page_url: page_url.to_owned(), ..Facts::default() }
    }

    const ALICE: Approver<'_> = Approver { operator: "alice", channel: "console", approval_id: "ap-1" };

    #[test]
    fn an_approval_authorizes_while_the_page_is_unchanged() {
        let authority = ApprovalAuthority::new();
        let approved = authority.approve(question("http://a.test/"), &ALICE);
        let authorized = approved.recheck(page("http://a.test/")).unwrap();
        assert_eq!(authorized.decided_by(), "operator alice by console (ap-1)");
        let approved = authority.approve(question("http://a.test/"), &ALICE);
        assert_eq!(approved.recheck(page("http://b.test/")).unwrap_err().what, "the address of the page");
    }

    #[test]
    fn an_allowance_approves_the_same_scope_and_no_other() {
        let authority = ApprovalAuthority::new();
        let (_, allowance) = authority.approve_for_session(question("http://a.test/1"), &ALICE);
        let allowance = allowance.unwrap();
        let approved = allowance.approve(question("http://a.test/2")).unwrap();
        let authorized = approved.recheck(page("http://a.test/2")).unwrap();
        assert_eq!(authorized.decided_by(), "operator alice by console, for the session (ap-1)");
        assert!(allowance.approve(question("http://b.test/")).is_err());
    }
}
