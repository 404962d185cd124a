//! CPU credit of jails: whole processors while there is credit, the share without.
//!
//! [`credit`] does the arithmetic. The [`CpuController`] reads what every jail has used and sets its limits, for all jails
//! of the provider in one task.

mod credit;
#[cfg(test)]
mod tests;

pub use credit::CpuSettings;

use crate::error::Fault;
use credit::{CpuCredit, CpuLimit, TICK};
use error_code::ErrorCode;
use jail::{JailError, JailId, Runtime};
use redact::RedactedFields;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The CPU time of a session's browser, as `session show` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, RedactedFields)]
pub struct CpuStatus {
    /// Sustained share of processors.
    pub share: f64,
    /// CPU time that the browser may use beyond its share.
    pub credit_seconds: f64,
    /// The most processors at once while there is credit.
    pub burst: f64,
    /// The browser has used up its credit and is held to its share.
    pub limited: bool,
}

/// Keeps the credit of every jail of a provider.
pub struct CpuController {
    runtime: Arc<dyn Runtime>,
    settings: CpuSettings,
    /// Processors of this machine.
    machine: f64,
    accounts: Mutex<BTreeMap<JailId, Arc<CpuAccount>>>,
    /// A jail was added.
    added: Arc<Notify>,
}

/// The credit of one jail. Readable after the jail's end.
pub struct CpuAccount {
    jail: JailId,
    state: Mutex<AccountState>,
}

struct AccountState {
    credit: CpuCredit,
    /// The limit that was set last.
    applied: CpuLimit,
    due: Instant,
    /// The most that a jail which burns may use beside others, whatever its credit.
    ceiling: Option<f64>,
    /// Not counted and not limited.
    paused: bool,
}

/// A jail's place with the controller. Dropping it ends the control of the jail.
pub struct CpuControl {
    controller: Arc<CpuController>,
    account: Arc<CpuAccount>,
}

impl CpuController {
    /// Starts the task that adjusts limits. It ends when the controller is dropped.
    pub fn start(runtime: Arc<dyn Runtime>, settings: CpuSettings) -> Arc<CpuController> {
        let machine = std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
        let controller = Arc::new(CpuController::new(runtime, settings, machine));
        tokio::spawn(run(Arc::downgrade(&controller), controller.added.clone()));
        controller
    }

    fn new(runtime: Arc<dyn Runtime>, settings: CpuSettings, machine: f64) -> CpuController {
        CpuController { runtime, settings, machine, accounts: Mutex::default(), added: Arc::default() }
    }

    /// Gives a jail its full credit and controls it from now on. `None` where the runtime counts no CPU time, because the
    /// operator turned limits off. Blocks.
    pub fn add(self: &Arc<Self>, jail: &JailId, now: Instant) -> Result<Option<CpuControl>, JailError> {
        let Some(usage) = self.runtime.cpu_usage(jail)? else { return Ok(None) };
        let credit = CpuCredit::full(&self.settings, self.machine, now, usage);
        let due = now + credit.interval();
        let state = AccountState { credit, applied: CpuLimit::NONE, due, ceiling: None, paused: false };
        let account = Arc::new(CpuAccount { jail: jail.clone(), state: Mutex::new(state) });
        account.lock().apply(&*self.runtime, jail)?;
        lock(&self.accounts).insert(jail.clone(), account.clone());
        self.added.notify_one();
        Ok(Some(CpuControl { controller: self.clone(), account }))
    }

    /// Settles every account that is due. Blocks for some microseconds for each.
    fn settle(&self, now: Instant) {
        let accounts: Vec<Arc<CpuAccount>> = lock(&self.accounts).values().cloned().collect();
        for account in accounts {
            if account.settle(&*self.runtime, now) == Settled::Gone {
                lock(&self.accounts).remove(&account.jail);
            }
        }
        self.leave_room();
    }

    /// Keeps one processor free of jails that burn while there are others: a weight alone lets a page that loads wait
    /// behind every time slice of those that compute.
    fn leave_room(&self) {
        let accounts: Vec<Arc<CpuAccount>> = lock(&self.accounts).values().cloned().collect();
        let counted = accounts.iter().filter(|account| !account.lock().paused).count();
        let burning = accounts.iter().filter(|account| account.lock().is_burning()).count();
        let room = (self.machine - 1.0) / burning.max(1) as f64;
        let ceiling = (counted > burning).then(|| room.max(self.settings.share));
        for account in accounts {
            let mut state = account.lock();
            let ceiling = ceiling.filter(|_| state.is_burning());
            if state.paused || state.ceiling == ceiling {
                continue;
            }
            state.ceiling = ceiling;
            if let Err(error) = state.apply(&*self.runtime, &account.jail) {
                // Its next reading finds out what is wrong.
                tracing::debug!(%error, jail = %account.jail, "cannot adjust the CPU limit of a jail");
            }
        }
    }

    /// When the next account is due; `None` while there are none.
    fn next_due(&self) -> Option<Instant> {
        let accounts: Vec<Arc<CpuAccount>> = lock(&self.accounts).values().cloned().collect();
        let states = accounts.iter().map(|account| account.lock());
        states.filter(|state| !state.paused).map(|state| state.due).min()
    }
}

async fn run(controller: Weak<CpuController>, added: Arc<Notify>) {
    let mut last_round = Instant::now();
    loop {
        let Some(due) = controller.upgrade().map(|controller| controller.next_due()) else { return };
        // Readings that are due within a tick are one round.
        let round = due.map(|due| tokio::time::Instant::from(due.max(last_round + TICK)));
        tokio::select! {
            () = added.notified() => continue,
            () = async { if let Some(round) = round { tokio::time::sleep_until(round).await } }, if round.is_some() => {}
        }
        last_round = Instant::now();
        let Some(controller) = controller.upgrade() else { return };
        let settled = tokio::task::spawn_blocking(move || controller.settle(Instant::now())).await;
        if let Err(error) = settled {
            tracing::error!(%error, "a round of CPU limits failed");
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Settled {
    Kept,
    /// There is no such jail any more.
    Gone,
}

impl CpuAccount {
    fn settle(&self, runtime: &dyn Runtime, now: Instant) -> Settled {
        let mut state = self.lock();
        if state.paused || state.due > now {
            return Settled::Kept;
        }
        match state.settle(runtime, &self.jail, now) {
            Ok(()) => {}
            Err(JailError::UnknownJail { .. } | JailError::RuntimeLost { .. }) => return Settled::Gone,
            Err(error) => {
                tracing::error!(%error, jail = %self.jail, "cannot adjust the CPU limit of a jail; its share applies");
                state.hold_to_share(runtime, &self.jail, now);
            }
        }
        Settled::Kept
    }

    pub fn status(&self) -> CpuStatus {
        let state = self.lock();
        let round = |number: f64| (number * 100.0).round() / 100.0;
        CpuStatus {
            share: state.credit.share(),
            credit_seconds: round(state.credit.seconds()),
            burst: state.credit.burst(),
            limited: state.credit.is_used_up(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, AccountState> {
        lock(&self.state)
    }
}

impl AccountState {
    fn settle(&mut self, runtime: &dyn Runtime, jail: &JailId, now: Instant) -> Result<(), JailError> {
        if let Some(usage) = runtime.cpu_usage(jail)? {
            self.credit.settle(now, usage);
        }
        self.due = now + self.credit.interval();
        self.apply(runtime, jail)
    }

    fn is_burning(&self) -> bool {
        !self.paused && self.credit.is_burning()
    }

    /// Tells the kernel what has changed.
    fn apply(&mut self, runtime: &dyn Runtime, jail: &JailId) -> Result<(), JailError> {
        let mut limit = self.credit.limit();
        if let Some(ceiling) = self.ceiling {
            limit.processors = Some(limit.processors.map_or(ceiling, |processors| processors.min(ceiling)));
        }
        if limit.processors != self.applied.processors {
            runtime.set_cpu(jail, limit.processors)?;
            self.applied.processors = limit.processors;
        }
        if limit.weight != self.applied.weight {
            runtime.set_cpu_weight(jail, limit.weight)?;
            self.applied.weight = limit.weight;
        }
        Ok(())
    }

    /// A jail whose use is unknown has no credit.
    fn hold_to_share(&mut self, runtime: &dyn Runtime, jail: &JailId, now: Instant) {
        self.due = now + Duration::from_secs(1);
        let share = Some(self.credit.share());
        match runtime.set_cpu(jail, share) {
            Ok(()) => self.applied.processors = share,
            Err(error) => tracing::error!(%error, %jail, "cannot limit the CPU of a jail"),
        }
    }
}

impl CpuControl {
    pub fn account(&self) -> &Arc<CpuAccount> {
        &self.account
    }

    /// Lifts the limit and stops counting, for work that is not the page's.
    pub async fn pause(&self) -> Result<(), Fault> {
        self.call(|runtime, account| {
            let mut state = account.lock();
            state.paused = true;
            runtime.set_cpu(&account.jail, None)?;
            state.applied.processors = None;
            Ok(())
        })
        .await
    }

    /// Counts and limits again, with the credit from before.
    pub async fn resume(&self) -> Result<(), Fault> {
        let resumed = self.call(|runtime, account| {
            let mut state = account.lock();
            let now = Instant::now();
            if let Some(usage) = runtime.cpu_usage(&account.jail)? {
                state.credit.skip(now, usage);
            }
            state.paused = false;
            state.due = now;
            state.apply(runtime, &account.jail)
        });
        resumed.await?;
        self.controller.added.notify_one();
        Ok(())
    }

    async fn call(
        &self,
        call: impl FnOnce(&dyn Runtime, &CpuAccount) -> Result<(), JailError> + Send + 'static,
    ) -> Result<(), Fault> {
        let (runtime, account) = (self.controller.runtime.clone(), self.account.clone());
        match tokio::task::spawn_blocking(move || call(&*runtime, &account)).await {
            Ok(done) => done.map_err(Fault::from),
            Err(error) => Err(Fault::caused(ErrorCode::Internal, &error)),
        }
    }
}

impl Drop for CpuControl {
    fn drop(&mut self) {
        lock(&self.controller.accounts).remove(&self.account.jail);
    }
}

/// A panic elsewhere leaves plain data behind these locks, never a broken invariant.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
