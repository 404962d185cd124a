//! Asking our own script, in a frame's isolated world.

use crate::{
    browser::Browser,
    cdp::{CallError, SessionId, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    frames::World,
    page_text::{PageText, Words},
    script::{self, ScriptFunction},
};
use serde::{Serialize, de::DeserializeOwned};
use std::marker::PhantomData;

/// A document may be replaced while it is asked; the new one is asked this many times.
const ATTEMPTS: usize = 4;
/// In bytes. The longest honest one is a search, with 600 refs and eight names.
pub(crate) const LARGEST_ANSWER: usize = 128 << 10;

/// What is told of a page that makes our script fail, in bytes.
const LONGEST_REASON: usize = 300;

#[derive(Debug)]
pub(crate) enum AskError {
    /// The frame is not there, or was replaced each time.
    Gone,
    Failed(BrowserError),
}

impl From<BrowserError> for AskError {
    fn from(error: BrowserError) -> AskError {
        AskError::Failed(error)
    }
}

impl From<AskError> for BrowserError {
    fn from(error: AskError) -> BrowserError {
        match error {
            AskError::Gone => BrowserError::PageScript { reason: Words::Ours("the page kept changing") },
            AskError::Failed(error) => error,
        }
    }
}

impl Browser {
    /// Calls one function of the script in whatever document the frame shows.
    pub(crate) async fn ask<A: Serialize, T: DeserializeOwned>(
        &self,
        frame: &str,
        function: ScriptFunction,
        argument: &A,
        deadline: Deadline,
    ) -> Result<T, AskError> {
        self.ask_up_to(LARGEST_ANSWER, frame, function, argument, deadline).await
    }

    /// The same, with an answer of at most `largest_reply` bytes.
    pub(crate) async fn ask_up_to<A: Serialize, T: DeserializeOwned>(
        &self,
        largest_reply: usize,
        frame: &str,
        function: ScriptFunction,
        argument: &A,
        deadline: Deadline,
    ) -> Result<T, AskError> {
        for _ in 0..ATTEMPTS {
            let Some((session, world)) = self.world(frame, deadline).await? else { continue };
            tracing::trace!(function = function.name(), "calling the script");
            let command = p::CallFunction {
                function_declaration: function.declaration(),
                unique_context_id: &world.unique,
                arguments: [p::ByValue { value: argument }],
                return_by_value: true,
                await_promise: true,
                silent: true,
                largest_reply,
                returns: PhantomData,
            };
            match self.connection.call(Some(&session), &command, deadline.at).await {
                Ok(evaluated) => return returned(evaluated),
                Err(error) if error.is_context_lost() => self.forget(frame, &world),
                // A frame in a process of its own may go at any time; the tab going is another matter.
                Err(CallError::Detached { .. } | CallError::Crashed { .. }) if !self.is_tab(&session) => {
                    return Err(AskError::Gone);
                }
                // Not our script's words, so not Chromium's fault but the page's.
                Err(CallError::Decode { source, .. }) => {
                    let reason = Words::Page(PageText::cut(&source.to_string(), LONGEST_REASON));
                    return Err(AskError::Failed(BrowserError::PageScript { reason }));
                }
                Err(error) => return Err(AskError::Failed(self.explain(deadline.error(error)).await)),
            }
        }
        Err(AskError::Gone)
    }

    /// The world our script runs in; made now if the frame's document has none. `None`: look again.
    pub(crate) async fn world(
        &self,
        frame: &str,
        deadline: Deadline,
    ) -> Result<Option<(SessionId, World)>, AskError> {
        let session = {
            let state = self.shared.lock();
            let known = state.tab.as_ref().and_then(|tab| tab.frames.get(frame)).ok_or(AskError::Gone)?;
            if let Some(world) = &known.world {
                return Ok(Some((known.session.clone(), world.clone())));
            }
            known.session.clone()
        };
        let make = p::CreateIsolatedWorld { frame_id: frame, world_name: script::WORLD };
        match self.connection.call(Some(&session), &make, deadline.at).await {
            Ok(_) => {}
            Err(CallError::Refused { .. }) => return Ok(None),
            Err(error) => return Err(AskError::Failed(self.explain(deadline.error(error)).await)),
        }
        // Chromium announces the world before it answers.
        let made = {
            let state = self.shared.lock();
            state.tab.as_ref().and_then(|tab| tab.frames.get(frame)).and_then(|frame| frame.world.clone())
        };
        let Some(world) = made else { return Ok(None) };
        let install =
            p::Evaluate { expression: script::source(), unique_context_id: &world.unique, silent: true };
        match self.connection.call(Some(&session), &install, deadline.at).await {
            Ok(_) => Ok(Some((session, world))),
            Err(CallError::Refused { .. }) => {
                self.forget(frame, &world);
                Ok(None)
            }
            Err(error) => Err(AskError::Failed(self.explain(deadline.error(error)).await)),
        }
    }

    fn forget(&self, frame: &str, world: &World) {
        let mut state = self.shared.lock();
        if let Some(tab) = state.tab.as_mut()
            && tab.frames.get(frame).is_some()
        {
            tab.frames.forget_world(&world.unique);
        }
    }

    fn is_tab(&self, session: &SessionId) -> bool {
        self.shared.lock().tab.as_ref().is_some_and(|tab| tab.session == *session)
    }

    /// Tells the parent's script which of its elements shows this frame.
    pub(crate) async fn introduce(&self, frame: &str, deadline: Deadline) -> Result<(), AskError> {
        let (parent, known_to) = {
            let state = self.shared.lock();
            let tab = state.tab.as_ref().ok_or(AskError::Gone)?;
            let child = tab.frames.get(frame).ok_or(AskError::Gone)?;
            (child.parent.clone().ok_or(AskError::Gone)?, child.known_to.clone())
        };
        for _ in 0..ATTEMPTS {
            let Some((session, world)) = self.world(&parent, deadline).await? else { continue };
            if known_to.as_ref() == Some(&world.unique) {
                return Ok(());
            }
            let to = Some(&session);
            let owner = self.connection.call(to, &p::GetFrameOwner { frame_id: frame }, deadline.at).await;
            let Some(owner) = gone_or(owner, deadline)? else { return Err(AskError::Gone) };
            let node = owner.backend_node_id;
            let adopted = self
                .hand_over(&session, &world, node, ScriptFunction::RegisterFrame, &frame, deadline)
                .await?;
            if adopted == Some(true) {
                let mut state = self.shared.lock();
                if let Some(child) = state.tab.as_mut().and_then(|tab| tab.frames.get_mut(frame)) {
                    child.known_to = Some(world.unique);
                }
                return Ok(());
            }
            self.forget(&parent, &world);
        }
        Err(AskError::Gone)
    }

    /// Calls one function of the script with a node that Chromium named. `None`: node or world are gone.
    pub(crate) async fn hand_over<A: Serialize, T: DeserializeOwned>(
        &self,
        session: &SessionId,
        world: &World,
        backend_node_id: i64,
        function: ScriptFunction,
        argument: &A,
        deadline: Deadline,
    ) -> Result<Option<T>, AskError> {
        let to = Some(session);
        let resolve =
            p::ResolveNode { backend_node_id, execution_context_id: world.id, object_group: p::HANDLES };
        let resolved = self.connection.call(to, &resolve, deadline.at).await;
        let Some(handle) = gone_or(resolved, deadline)?.and_then(|node| node.object.object_id) else {
            return Ok(None);
        };
        let command = p::CallFunction::<_, T> {
            function_declaration: function.declaration(),
            // Chromium refuses a handle of another world, so the page itself is never told.
            unique_context_id: &world.unique,
            arguments: (p::ByHandle { object_id: &handle }, p::ByValue { value: argument }),
            return_by_value: true,
            await_promise: false,
            silent: true,
            largest_reply: LARGEST_ANSWER,
            returns: PhantomData,
        };
        let told = self.connection.call(to, &command, deadline.at).await;
        gone_or(told, deadline)?.map(returned).transpose()
    }
}

fn gone_or<T>(result: Result<T, CallError>, deadline: Deadline) -> Result<Option<T>, AskError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(CallError::Refused { .. } | CallError::Detached { .. }) => Ok(None),
        Err(error) => Err(AskError::Failed(deadline.error(error))),
    }
}

fn returned<T>(evaluated: p::Evaluated<T>) -> Result<T, AskError> {
    let failed = |reason: Words| AskError::Failed(BrowserError::PageScript { reason });
    if let Some(details) = evaluated.exception_details {
        let thrown = details.exception.map(|thrown| thrown.description).filter(|text| !text.is_empty());
        let thrown = thrown.unwrap_or(details.text);
        return Err(failed(Words::Page(PageText::cut(&thrown, LONGEST_REASON))));
    }
    evaluated.result.value.ok_or_else(|| failed(Words::Ours("the script returned nothing")))
}
