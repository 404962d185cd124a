//! An operator who answers: the approval store, opened by the test in the state folder of a running control plane.

use super::Home;
use super::machine::{PATIENCE, until};
use audit::{Key, Log, LogOptions};
use engine::approvals::{
    Approval, ApprovalFilter, ApprovalId, ApprovalSettings, ApprovalState, ApprovalStore, Decider,
    DecisionChannel, Verdict,
};
use engine::error::Fault;
use engine::storage::Storage;
use std::time::Duration;
use tokio::runtime::Runtime;

pub struct Operator {
    runtime: Runtime,
    storage: Storage,
    approvals: ApprovalStore,
}

impl Operator {
    /// Must be called after a control plane was started from this home.
    pub fn of(home: &Home) -> Operator {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let state = home.state();
        let (storage, approvals) = runtime.block_on(async {
            let storage = Storage::open(&state.join("stockade.db")).await.unwrap();
            let key = Key::load_or_create(&state.join("keys/audit.key")).unwrap();
            let options = LogOptions { key, segment_bytes: 1 << 20, most_bytes: 1 << 24 };
            let log = Log::open(&state.join("audit"), "operator", options).unwrap();
            let settings = ApprovalSettings {
                timeout: Duration::from_secs(30),
                most_a_minute: 60,
                rule_timeouts: Vec::new(),
            };
            (storage.clone(), ApprovalStore::open(storage, log, settings).await.unwrap())
        });
        Operator { runtime, storage, approvals }
    }

    /// The next waiting approval request.
    pub fn next(&self) -> Approval {
        let filter = ApprovalFilter { only_waiting: true, scope: None };
        until("somebody is asked", PATIENCE, || {
            self.runtime.block_on(self.approvals.list(&filter)).unwrap().into_iter().next()
        })
    }

    pub fn waiting(&self) -> usize {
        let filter = ApprovalFilter { only_waiting: true, scope: None };
        self.runtime.block_on(self.approvals.list(&filter)).unwrap().len()
    }

    /// All waiting approval requests.
    pub fn all_waiting(&self) -> Vec<Approval> {
        let filter = ApprovalFilter { only_waiting: true, scope: None };
        self.runtime.block_on(self.approvals.list(&filter)).unwrap()
    }

    pub fn find(&self, id: &ApprovalId) -> Approval {
        self.runtime.block_on(self.approvals.find(id)).unwrap().unwrap()
    }

    pub fn says(&self, id: &ApprovalId, verdict: Verdict) -> Result<Approval, Fault> {
        let by = Decider { operator: "alice".into(), channel: DecisionChannel::CommandLine };
        self.runtime.block_on(self.approvals.answer(id, verdict, &by))
    }

    pub fn approves(&self, id: &ApprovalId) {
        let answered = self.says(id, Verdict::Approve { for_session: false }).unwrap();
        assert_eq!(answered.state, ApprovalState::Approved);
    }

    /// Expires a request as its deadline does, without the wait. One test waits for a real deadline:
    /// `console::a_question_that_nobody_answers_is_denied_at_its_deadline`.
    pub fn expires(&self, id: &ApprovalId) {
        let closed = self.storage.close_approval(id, ApprovalState::Expired, jiff::Timestamp::now());
        assert!(self.runtime.block_on(closed).unwrap().is_some(), "{id} did not wait any more");
    }

    pub fn denies(&self, id: &ApprovalId) {
        self.says(id, Verdict::Deny).unwrap();
    }
}
