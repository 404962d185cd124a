//! Holds paused requests until the gate has decided on them.

use super::{
    EffectInterception,
    awaited_answers::{AwaitedAnswers, SentEffect, UnansweredEffect},
    lock,
    paused_request::{PausedEffect, describe, read_body},
};
use crate::cdp::{CallError, Connection, Id, Reactions, protocol as p};
use audit::{Cleared, DeferredNavigations, NavigationTicket, PermittedEffect, ReleasedNavigation};
use base64::{Engine, prelude::BASE64_STANDARD};
use error_code::ErrorCode;
use policy::{EffectRequest, Endpoint};
use redact::redacted;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    sync::{Semaphore, mpsc},
    task::{AbortHandle, JoinSet},
    time::{Instant, sleep, timeout},
};

/// Requests that wait for a place among the held ones. Further ones are refused.
const MAX_QUEUED: usize = 256;
/// How long Chromium may take to answer a command about a paused request.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a held request is looked for: nothing reports that a page gave one up.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);

/// The paused requests of one Chromium.
pub(crate) struct EffectInterceptor {
    interception: EffectInterception,
    places: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    deferred: DeferredNavigations<PausedEffect>,
    /// The task of the present connection.
    queue: Mutex<Option<mpsc::Sender<Work>>>,
    /// Ids of the requests that are queued or held.
    held: Mutex<HashSet<Id>>,
    answers: AwaitedAnswers,
}

/// Requests of a connection that was lost.
struct LeftBehind {
    held: HashSet<Id>,
    /// They have left, and their answers are paused, or will be.
    unanswered: Vec<Id>,
}

/// What the task does with one paused request.
#[expect(clippy::large_enum_variant, reason = "a bounded queue holds few of them")]
enum Work {
    Decide(PausedEffect),
    /// The request stands in for one that was kept and may leave.
    Replay {
        id: Id,
        released: ReleasedNavigation<PausedEffect>,
    },
}

impl Work {
    fn id(&self) -> &Id {
        match self {
            Work::Decide(effect) => &effect.id,
            Work::Replay { id, .. } => id,
        }
    }
}

/// Decides on paused requests until it is dropped. Then their questions are withdrawn, and they stay paused.
pub(crate) struct EffectTask(AbortHandle);

impl Drop for EffectTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl EffectInterceptor {
    pub fn new(interception: EffectInterception) -> Arc<EffectInterceptor> {
        let room = |most: usize| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        let limits = interception.limits;
        Arc::new(EffectInterceptor {
            interception,
            places: room(limits.max_held),
            bytes: room(limits.max_held_bytes),
            deferred: DeferredNavigations::default(),
            queue: Mutex::default(),
            held: Mutex::default(),
            answers: AwaitedAnswers::default(),
        })
    }

    /// For the browser itself. Sent again, it changes nothing; `Fetch.disable` would let every paused request leave.
    pub fn command(&self) -> p::InterceptRequests {
        let sites = &self.interception.sites;
        p::InterceptRequests { patterns: sites.iter().flat_map(|site| site.patterns()).collect() }
    }

    /// Starts to decide on requests that are paused from now on. Those that a lost connection left behind are refused.
    pub fn start(self: &Arc<Self>, connection: &Connection) -> EffectTask {
        let (sender, queue) = mpsc::channel(MAX_QUEUED);
        *lock(&self.queue) = Some(sender);
        let left_behind =
            LeftBehind { held: std::mem::take(&mut *lock(&self.held)), unanswered: self.answers.take_all() };
        let task = Arc::clone(self).run(connection.clone(), queue, left_behind);
        EffectTask(tokio::spawn(task).abort_handle())
    }

    /// Continues a request that is none of the gate's concern, and queues any other. `is_tab`: the frame is a tab's own.
    pub fn handle(&self, paused: &p::RequestPaused, is_tab: bool, reactions: &mut Reactions<'_>) {
        if self.answers.take(paused) || !self.covers(&paused.request.url) {
            return reactions.post(None, &p::ContinueRequest::unchanged(&paused.request_id));
        }
        let request = describe(paused, is_tab);
        let is_navigation = paused.resource_type == "Document";
        let work = match self.take_replay(paused, &request) {
            Some(released) => Work::Replay { id: paused.request_id.clone(), released },
            None if self.is_concerned(paused, &request) => match self.hold(paused, &request, is_navigation) {
                Ok(effect) => Work::Decide(effect),
                Err(code) => {
                    self.interception.gate.refused_undecided(&request.head(), code.name());
                    return reactions
                        .post(None, &p::AnswerWithStatus::refusal(&paused.request_id, is_navigation));
                }
            },
            None => return reactions.post(None, &p::ContinueRequest::unchanged(&paused.request_id)),
        };
        let id = work.id().clone();
        lock(&self.held).insert(id.clone());
        let queued = lock(&self.queue).as_ref().is_some_and(|queue| queue.try_send(work).is_ok());
        if !queued {
            lock(&self.held).remove(&id);
            self.interception.gate.refused_undecided(&request.head(), ErrorCode::EffectsFull.name());
            reactions.post(None, &p::AnswerWithStatus::refusal(&id, is_navigation));
        }
    }

    /// A page opened a WebSocket: Chromium does not pause its messages.
    pub fn note_websocket(&self, url: &str) {
        if self.covers(url) {
            self.interception.gate.note_undecided_channel(url);
        }
    }

    /// Lets a kept navigation leave with the tab's next navigation to its address. The permit comes back if the navigation
    /// is not kept here.
    pub fn release_navigation(
        &self,
        ticket: NavigationTicket,
        permit: PermittedEffect,
    ) -> Option<PermittedEffect> {
        self.deferred.release(ticket, permit)
    }

    pub fn discard_navigation(&self, ticket: NavigationTicket) {
        self.deferred.discard(ticket);
    }

    /// A URL that Chromium accepts and our parser does not is decided on.
    fn covers(&self, url: &str) -> bool {
        let contains = |endpoint| self.interception.sites.iter().any(|site| site.contains(&endpoint));
        Endpoint::of(url).is_none_or(contains)
    }

    /// Headers that were cut may name another method.
    fn is_concerned(&self, paused: &p::RequestPaused, request: &EffectRequest) -> bool {
        paused.request.headers.lines().is_none() || self.interception.gate.concerns(&request.head())
    }

    fn take_replay(
        &self,
        paused: &p::RequestPaused,
        request: &EffectRequest,
    ) -> Option<ReleasedNavigation<PausedEffect>> {
        let may_replay = request.destination == "document" && paused.request.method == "GET";
        may_replay.then(|| self.deferred.take_released(&request.url))?
    }

    fn hold(
        &self,
        paused: &p::RequestPaused,
        request: &EffectRequest,
        is_navigation: bool,
    ) -> Result<PausedEffect, ErrorCode> {
        let body = read_body(paused, self.interception.limits.max_body_bytes)?;
        let bytes = u32::try_from(body.len()).map_err(|_| ErrorCode::EffectTooLarge)?;
        let room = Arc::clone(&self.bytes).try_acquire_many_owned(bytes);
        Ok(PausedEffect {
            id: paused.request_id.clone(),
            request: EffectRequest { body, ..request.clone() },
            method: paused.request.method.to_string(),
            headers: paused.request.headers.clone(),
            is_navigation,
            _room: room.map_err(|_| ErrorCode::EffectsFull)?,
        })
    }

    async fn run(
        self: Arc<Self>,
        connection: Connection,
        mut queue: mpsc::Receiver<Work>,
        left_behind: LeftBehind,
    ) {
        let mut closed = connection.closed();
        for id in &left_behind.held {
            refuse(&connection, id, false).await;
        }
        for id in &left_behind.unanswered {
            // Its answer is still to come, or the page has given it up.
            if let Err(error) = call(&connection, &p::ContinueRequest::unchanged(id)).await {
                tracing::debug!(%error, "no answer waits");
            }
        }
        let mut requests = JoinSet::new();
        loop {
            tokio::select! {
                Some(work) = queue.recv() => {
                    requests.spawn(Arc::clone(&self).finish(connection.clone(), work));
                }
                Some(_) = requests.join_next() => {}
                // A dropped sender also means that the connection is closed.
                _ = closed.wait_for(Option::is_some) => return,
            }
        }
    }

    async fn finish(self: Arc<Self>, connection: Connection, work: Work) {
        let id = work.id().clone();
        match work {
            Work::Decide(effect) => self.decide(&connection, effect).await,
            Work::Replay { id, released } => {
                let ReleasedNavigation { kept, permit } = released;
                let command = (&id, replay(&id, &kept));
                let sent = self.continue_effect(&connection, permit, &kept.request, command).await;
                self.await_answer(&connection, &id, sent).await;
            }
        }
        lock(&self.held).remove(&id);
    }

    async fn decide(&self, connection: &Connection, effect: PausedEffect) {
        let EffectInterception { gate, limits, .. } = &self.interception;
        let PausedEffect { id, request, is_navigation, .. } = &effect;
        let Ok(Ok(place)) = timeout(limits.room_timeout, self.places.acquire()).await else {
            gate.refused_undecided(&request.head(), ErrorCode::EffectsFull.name());
            return refuse(connection, id, *is_navigation).await;
        };
        let decided = tokio::select! {
            decided = gate.decide(request.clone()) => decided,
            // Dropped, the decision is withdrawn.
            () = until_gone(connection, id) => return,
        };
        match decided {
            Ok(Cleared::Read) => {
                if let Err(error) = call(connection, &p::ContinueRequest::unchanged(id)).await {
                    tracing::debug!(%error, "a paused request was given up");
                }
            }
            Ok(Cleared::Effect(permit)) => {
                let command = (id, p::ContinueRequest::unchanged(id));
                let sent = self.continue_effect(connection, permit, request, command).await;
                let id = id.clone();
                // It is not held any more.
                drop((place, effect));
                self.await_answer(connection, &id, sent).await;
            }
            Ok(Cleared::Deferred(ticket)) => {
                let (id, is_navigation) = (id.clone(), *is_navigation);
                self.deferred.keep(ticket, effect);
                refuse(connection, &id, is_navigation).await;
            }
            Err(_) => refuse(connection, id, *is_navigation).await,
        }
    }

    /// Lets an effect leave. The permit must be for exactly its bytes.
    async fn continue_effect(
        &self,
        connection: &Connection,
        permit: PermittedEffect,
        request: &EffectRequest,
        (id, command): (&Id, p::ContinueRequest<'_>),
    ) -> Option<UnansweredEffect> {
        if !permit.covers(request) {
            tracing::error!("a permit for another request was refused");
            refuse(connection, id, false).await;
            return None;
        }
        let answer = self.answers.begin(id);
        let effect = SentEffect::new(permit);
        let failure =
            match call(connection, &p::ContinueRequest { intercept_response: true, ..command }).await {
                Ok(_) => {
                    // From now on a lost connection leaves nothing that could still be refused.
                    lock(&self.held).remove(id);
                    return Some(UnansweredEffect { answer, effect });
                }
                Err(CallError::Refused { .. }) => ErrorCode::EffectWithdrawn,
                Err(_) => ErrorCode::ConnectionLost,
            };
        effect.complete(&redacted!("{}", failure.name()));
        self.answers.end(id);
        None
    }

    /// Records what the site answered.
    async fn await_answer(&self, connection: &Connection, id: &Id, unanswered: Option<UnansweredEffect>) {
        let Some(UnansweredEffect { answer, effect }) = unanswered else { return };
        tokio::select! {
            biased;
            Ok(result) = answer => effect.complete(&result),
            () = until_gone(connection, id) => drop(effect),
        }
        self.answers.end(id);
    }
}

/// The kept request in place of the one with this id. Chromium adds the cookies of now.
fn replay<'a>(id: &'a str, kept: &'a PausedEffect) -> p::ContinueRequest<'a> {
    let lines = kept.headers.lines().unwrap_or_default().iter();
    let lines = lines.filter(|(name, _)| !name.eq_ignore_ascii_case("cookie"));
    let body = &kept.request.body;
    p::ContinueRequest {
        request_id: id,
        method: Some(&kept.method),
        post_data: (!body.is_empty()).then(|| BASE64_STANDARD.encode(body)),
        headers: Some(lines.map(|(name, value)| p::HeaderLine { name, value }).collect()),
        intercept_response: false,
    }
}

/// Makes a paused request fail in the page, as the proxy does: a document stays as it is, a script gets a status.
async fn refuse(connection: &Connection, id: &str, is_navigation: bool) {
    if let Err(error) = call(connection, &p::AnswerWithStatus::refusal(id, is_navigation)).await {
        tracing::debug!(%error, "a refused request was given up");
    }
}

/// Resolves when Chromium does not have the paused request any more.
async fn until_gone(connection: &Connection, id: &str) {
    loop {
        sleep(PROBE_INTERVAL).await;
        match call(connection, &p::ProbePausedRequest { request_id: id }).await {
            Err(error @ CallError::Refused { .. }) if !error.is_request_gone() => {}
            Ok(_) | Err(CallError::Timeout { .. } | CallError::Busy { .. }) => {}
            Err(_) => return,
        }
    }
}

async fn call<C: crate::cdp::Command>(
    connection: &Connection,
    command: &C,
) -> Result<C::Response, CallError> {
    connection.call(None, command, Instant::now() + COMMAND_TIMEOUT).await
}
