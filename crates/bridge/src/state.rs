//! The state of Chromium's current run. The supervisor changes it, requests read it.

use crate::pipe::{BrowserVersion, Pipe};
use bridge::wire::{Phase, PhaseName, ProcessState};
use std::sync::Arc;
use std::time::Instant;

pub struct State {
    pub stage: Stage,
    /// The first phase not passed, or the last one when ready.
    pub phase: PhaseName,
    pub phases: Vec<Phase>,
    pub process: ProcessState,
    pub restarts_left: u32,
    phase_began: Instant,
}

#[derive(Clone)]
pub enum Stage {
    Starting,
    Ready(Arc<Run>),
    /// It did not start, or it ended. A restart leads back to `Starting`.
    Down,
}

/// A Chromium that speaks.
pub struct Run {
    /// Part of the WebSocket's path, new for each run, so that an old address does not reach a new browser.
    pub id: String,
    pub version: BrowserVersion,
    pub pipe: Pipe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartRefusal {
    StillRunning,
    UsedUp,
}

impl State {
    /// Before anything: the bridge itself began at `began`.
    pub fn new(began: Instant, restarts: u32) -> State {
        State {
            stage: Stage::Starting,
            phase: PhaseName::Bridge,
            phases: Vec::new(),
            process: ProcessState::NotStarted,
            restarts_left: restarts,
            phase_began: began,
        }
    }

    /// Records the duration of the current phase and starts the next.
    pub fn pass(&mut self, next: PhaseName) {
        let ms = self.phase_began.elapsed().as_secs_f64() * 1000.0;
        self.phases.push(Phase { name: self.phase, ms });
        self.phase = next;
        self.phase_began = Instant::now();
    }

    /// Uses up one restart and goes back to the beginning.
    pub fn begin_restart(&mut self, first: PhaseName) -> Result<(), RestartRefusal> {
        if !matches!(self.stage, Stage::Down) {
            return Err(RestartRefusal::StillRunning);
        }
        self.restarts_left = self.restarts_left.checked_sub(1).ok_or(RestartRefusal::UsedUp)?;
        self.stage = Stage::Starting;
        self.phase = first;
        self.phases.clear();
        self.process = ProcessState::NotStarted;
        self.phase_began = Instant::now();
        Ok(())
    }

    pub fn is_starting(&self) -> bool {
        matches!(self.stage, Stage::Starting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_are_counted_and_only_what_is_down_restarts() {
        let mut state = State::new(Instant::now(), 2);
        assert_eq!(state.begin_restart(PhaseName::Process), Err(RestartRefusal::StillRunning));
        for left in [1, 0] {
            state.stage = Stage::Down;
            assert_eq!(state.begin_restart(PhaseName::Process), Ok(()));
            assert_eq!((state.restarts_left, state.is_starting()), (left, true));
        }
        state.stage = Stage::Down;
        assert_eq!(state.begin_restart(PhaseName::Process), Err(RestartRefusal::UsedUp));
        assert!(!state.is_starting());
    }
}
