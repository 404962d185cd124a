//! Calls a function of the page script in a frame's isolated world.

use crate::{
    browser::Browser,
    cdp::{CallError, SessionId, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    script,
    script::ScriptFunction,
    state::FrameWorld,
    text::{AttributedText, Limit, PageText, TextCutter},
};
use serde::{Serialize, de::DeserializeOwned};
use std::marker::PhantomData;
use std::time::Duration;

/// A document may be replaced during a call; the call is then repeated in the new one.
const MAX_ATTEMPTS: usize = 40;
/// The first attempts follow at once. A page that replaces itself all the time, and is being left, gets pauses.
const IMMEDIATE_ATTEMPTS: usize = 4;
const RETRY_PAUSE: Duration = Duration::from_millis(25);
/// In bytes. The longest regular reply is a search, with 600 refs and eight names.
pub(crate) const MAX_SCRIPT_REPLY: usize = 128 << 10;
/// The same in a session with secrets, where texts are sent with slack. A search sends a million characters to be checked.
const MAX_SCRIPT_REPLY_WITH_SLACK: usize = 8 << 20;

/// Bytes of the error of a page that makes the script fail.
const MAX_REASON: usize = 300;

#[derive(Debug)]
pub(crate) enum ScriptCallError {
    /// The frame is gone, or its document was replaced at each attempt.
    Gone,
    Failed(BrowserError),
}

impl From<BrowserError> for ScriptCallError {
    fn from(error: BrowserError) -> ScriptCallError {
        ScriptCallError::Failed(error)
    }
}

impl From<ScriptCallError> for BrowserError {
    fn from(error: ScriptCallError) -> BrowserError {
        match error {
            ScriptCallError::Gone => {
                BrowserError::PageScript { reason: AttributedText::Driver("the page kept changing") }
            }
            ScriptCallError::Failed(error) => error,
        }
    }
}

async fn pause_before(attempt: usize) {
    if attempt >= IMMEDIATE_ATTEMPTS {
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

impl Browser {
    /// Calls a function of the script in the present document of a frame.
    pub(crate) async fn call_script<A: Serialize, T: DeserializeOwned>(
        &self,
        frame: &str,
        function: ScriptFunction,
        argument: &A,
        deadline: Deadline,
    ) -> Result<T, ScriptCallError> {
        self.call_script_bounded(MAX_SCRIPT_REPLY, frame, function, argument, deadline).await
    }

    /// The same, with a reply of at most `max_reply` bytes.
    pub(crate) async fn call_script_bounded<A: Serialize, T: DeserializeOwned>(
        &self,
        max_reply: usize,
        frame: &str,
        function: ScriptFunction,
        argument: &A,
        deadline: Deadline,
    ) -> Result<T, ScriptCallError> {
        let text = self.text_cutter();
        let limits = text.script_limits();
        let max_reply = self.max_script_reply(max_reply);
        for attempt in 0..MAX_ATTEMPTS {
            pause_before(attempt).await;
            let Some((session, world)) = self.script_world(frame, deadline).await? else { continue };
            tracing::trace!(function = function.name(), "calling the page script");
            let command = p::CallFunction {
                function_declaration: function.declaration(),
                unique_context_id: &world.unique,
                arguments: (p::ByValue { value: &limits }, p::ByValue { value: argument }),
                return_by_value: true,
                await_promise: true,
                silent: true,
                max_reply,
                returns: PhantomData,
            };
            match self.connection.call(Some(&session), &command, deadline.at).await {
                Ok(evaluated) => return returned_value(evaluated, &text),
                Err(error) if error.is_context_lost() => self.forget_world(frame, &world),
                // An out-of-process frame may go at any time; the end of the tab itself is reported.
                Err(CallError::Detached { .. } | CallError::Crashed { .. })
                    if !self.is_tab_session(&session) =>
                {
                    return Err(ScriptCallError::Gone);
                }
                // The script does not reply like this: the renderer is compromised.
                Err(CallError::Decode { source, .. }) => {
                    let reason = page_words(&source.to_string(), &text);
                    return Err(ScriptCallError::Failed(BrowserError::PageScript { reason }));
                }
                Err(error) => {
                    return Err(ScriptCallError::Failed(self.with_crash_status(deadline.error(error)).await));
                }
            }
        }
        Err(ScriptCallError::Gone)
    }

    fn max_script_reply(&self, without_slack: usize) -> usize {
        match self.text_cutter().redactor() {
            Some(_) => without_slack.max(MAX_SCRIPT_REPLY_WITH_SLACK),
            None => without_slack,
        }
    }

    /// The isolated world of the script, created if the document has none. `None`: try again.
    pub(crate) async fn script_world(
        &self,
        frame: &str,
        deadline: Deadline,
    ) -> Result<Option<(SessionId, FrameWorld)>, ScriptCallError> {
        let session = {
            let state = self.shared.lock();
            let known =
                state.tab.as_ref().and_then(|tab| tab.frames.get(frame)).ok_or(ScriptCallError::Gone)?;
            if let Some(world) = &known.world {
                return Ok(Some((known.session.clone(), world.clone())));
            }
            known.session.clone()
        };
        let create = p::CreateIsolatedWorld { frame_id: frame, world_name: script::WORLD };
        match self.connection.call(Some(&session), &create, deadline.at).await {
            Ok(_) => {}
            Err(CallError::Refused { .. }) => return Ok(None),
            Err(error) => {
                return Err(ScriptCallError::Failed(self.with_crash_status(deadline.error(error)).await));
            }
        }
        // Chromium announces the world before it replies.
        let created = {
            let state = self.shared.lock();
            state.tab.as_ref().and_then(|tab| tab.frames.get(frame)).and_then(|frame| frame.world.clone())
        };
        let Some(world) = created else { return Ok(None) };
        let install =
            p::Evaluate { expression: script::source(), unique_context_id: &world.unique, silent: true };
        match self.connection.call(Some(&session), &install, deadline.at).await {
            Ok(_) => Ok(Some((session, world))),
            Err(CallError::Refused { .. }) => {
                self.forget_world(frame, &world);
                Ok(None)
            }
            Err(error) => Err(ScriptCallError::Failed(self.with_crash_status(deadline.error(error)).await)),
        }
    }

    fn forget_world(&self, frame: &str, world: &FrameWorld) {
        let mut state = self.shared.lock();
        if let Some(tab) = state.tab.as_mut()
            && tab.frames.get(frame).is_some()
        {
            tab.frames.forget_world(&world.unique);
        }
    }

    pub(crate) fn is_tab_session(&self, session: &SessionId) -> bool {
        self.shared.lock().tab.as_ref().is_some_and(|tab| tab.session == *session)
    }

    /// Registers with the parent's script which of its elements owns this frame.
    pub(crate) async fn register_frame_owner(
        &self,
        frame: &str,
        deadline: Deadline,
    ) -> Result<(), ScriptCallError> {
        let (parent, known_to) = {
            let state = self.shared.lock();
            let tab = state.tab.as_ref().ok_or(ScriptCallError::Gone)?;
            let child = tab.frames.get(frame).ok_or(ScriptCallError::Gone)?;
            (child.parent.clone().ok_or(ScriptCallError::Gone)?, child.owner_known_to.clone())
        };
        for attempt in 0..MAX_ATTEMPTS {
            pause_before(attempt).await;
            let Some((session, world)) = self.script_world(&parent, deadline).await? else { continue };
            if known_to.as_ref() == Some(&world.unique) {
                return Ok(());
            }
            let to = Some(&session);
            let owner = self.connection.call(to, &p::GetFrameOwner { frame_id: frame }, deadline.at).await;
            let Some(owner) = unless_gone(owner, deadline)? else { return Err(ScriptCallError::Gone) };
            let node = owner.backend_node_id;
            let adopted = self
                .call_script_with_node(
                    &session,
                    &world,
                    node,
                    ScriptFunction::RegisterFrame,
                    &frame,
                    deadline,
                )
                .await?;
            if adopted == Some(true) {
                let mut state = self.shared.lock();
                if let Some(child) = state.tab.as_mut().and_then(|tab| tab.frames.get_mut(frame)) {
                    child.owner_known_to = Some(world.unique);
                }
                return Ok(());
            }
            self.forget_world(&parent, &world);
        }
        Err(ScriptCallError::Gone)
    }

    /// Calls a function of the script with a node that Chromium named. `None`: the node or the world is gone.
    pub(crate) async fn call_script_with_node<A: Serialize, T: DeserializeOwned>(
        &self,
        session: &SessionId,
        world: &FrameWorld,
        backend_node_id: i64,
        function: ScriptFunction,
        argument: &A,
        deadline: Deadline,
    ) -> Result<Option<T>, ScriptCallError> {
        let to = Some(session);
        let resolve =
            p::ResolveNode { backend_node_id, execution_context_id: world.id, object_group: p::HANDLES };
        let resolved = self.connection.call(to, &resolve, deadline.at).await;
        let Some(handle) = unless_gone(resolved, deadline)?.and_then(|node| node.object.object_id) else {
            return Ok(None);
        };
        let text = self.text_cutter();
        let limits = text.script_limits();
        let command = p::CallFunction::<_, T> {
            function_declaration: function.declaration(),
            // Chromium refuses a handle of another world, so the page itself is never called.
            unique_context_id: &world.unique,
            arguments: (
                p::ByValue { value: &limits },
                p::ByHandle { object_id: &handle },
                p::ByValue { value: argument },
            ),
            return_by_value: true,
            await_promise: false,
            silent: true,
            max_reply: self.max_script_reply(MAX_SCRIPT_REPLY),
            returns: PhantomData,
        };
        let reply = self.connection.call(to, &command, deadline.at).await;
        unless_gone(reply, deadline)?.map(|reply| returned_value(reply, &text)).transpose()
    }
}

impl Browser {
    /// Calls a function of the script with nodes by their handles. `None`: the world is gone.
    pub(super) async fn call_script_with_nodes<T: DeserializeOwned>(
        &self,
        session: &SessionId,
        world: &FrameWorld,
        handles: &[&str],
        function: ScriptFunction,
        deadline: Deadline,
    ) -> Result<Option<T>, ScriptCallError> {
        let text = self.text_cutter();
        let limits = text.script_limits();
        let nodes = handles.iter().map(|object_id| p::CallArgument::Handle(p::ByHandle { object_id }));
        let limits = std::iter::once(p::CallArgument::Value(p::ByValue { value: &limits }));
        let command = p::CallFunction::<_, T> {
            function_declaration: function.declaration(),
            // Chromium refuses a handle of another world, so the page itself is never called.
            unique_context_id: &world.unique,
            arguments: limits.chain(nodes).collect::<Vec<_>>(),
            return_by_value: true,
            await_promise: false,
            silent: true,
            max_reply: self.max_script_reply(MAX_SCRIPT_REPLY),
            returns: PhantomData,
        };
        let reply = self.connection.call(Some(session), &command, deadline.at).await;
        unless_gone(reply, deadline)?.map(|reply| returned_value(reply, &text)).transpose()
    }
}

pub(super) fn unless_gone<T>(
    result: Result<T, CallError>,
    deadline: Deadline,
) -> Result<Option<T>, ScriptCallError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(CallError::Refused { .. } | CallError::Detached { .. }) => Ok(None),
        Err(error) => Err(ScriptCallError::Failed(deadline.error(error))),
    }
}

/// Words that a page may have caused.
fn page_words(words: &str, text: &TextCutter) -> AttributedText {
    AttributedText::Page(PageText::new(&text.redact_and_cut(words, Limit::Bytes(MAX_REASON))))
}

fn returned_value<T>(evaluated: p::Evaluated<T>, text: &TextCutter) -> Result<T, ScriptCallError> {
    let failed = |reason: AttributedText| ScriptCallError::Failed(BrowserError::PageScript { reason });
    if let Some(details) = evaluated.exception_details {
        let thrown = details.exception.map(|thrown| thrown.description).filter(|text| !text.is_empty());
        let thrown = thrown.unwrap_or(details.text);
        return Err(failed(page_words(&thrown, text)));
    }
    evaluated.result.value.ok_or_else(|| failed(AttributedText::Driver("the script returned nothing")))
}
