//! Bodies of held requests: read whole, within the bounds of the session.

use crate::{Options, Reason};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::HeaderMap;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Room for the requests that a session holds.
#[derive(Debug)]
pub(crate) struct HoldingRoom {
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    timeout: Duration,
}

impl HoldingRoom {
    pub(crate) fn new(options: &Options) -> HoldingRoom {
        let room = |most: usize| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        HoldingRoom {
            requests: room(options.max_held),
            bytes: room(options.max_held_bytes),
            timeout: options.held_room_timeout,
        }
    }

    /// Waits a moment for a place: requests that are decided on at once make room for each other.
    pub(super) async fn enter(&self) -> Result<OwnedSemaphorePermit, Reason> {
        self.reserve(&self.requests, 1).await
    }

    pub(super) async fn reserve_bytes(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Reason> {
        self.reserve(&self.bytes, bytes).await
    }

    async fn reserve(&self, room: &Arc<Semaphore>, many: usize) -> Result<OwnedSemaphorePermit, Reason> {
        let many = u32::try_from(many).map_err(|_| Reason::EffectTooLarge)?;
        let entered = timeout(self.timeout, Arc::clone(room).acquire_many_owned(many)).await;
        entered.ok().and_then(Result::ok).ok_or(Reason::EffectsFull)
    }
}

/// A whole body as the browser sent it. Its bytes count as held until they have been passed on.
pub(super) struct HeldBody {
    data: Bytes,
    trailers: Option<HeaderMap>,
    room: Option<OwnedSemaphorePermit>,
}

impl fmt::Debug for HeldBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldBody").field("bytes", &self.data.len()).finish_non_exhaustive()
    }
}

impl HeldBody {
    /// Reads a body to its end. A body of a known length has its room before the first byte is read.
    pub(super) async fn read(
        body: &mut Incoming,
        room: &HoldingRoom,
        options: &Options,
    ) -> Result<HeldBody, Reason> {
        match timeout(options.effect_body_timeout, read_frames(body, room, options.max_effect_bytes)).await {
            Ok(read) => read,
            Err(_) => Err(Reason::EffectIncomplete),
        }
    }

    /// The bytes, without a copy.
    pub(super) fn data(&self) -> Bytes {
        self.data.clone()
    }

    pub(super) fn next_frame(&mut self) -> Option<Frame<Bytes>> {
        if !self.data.is_empty() {
            let data = std::mem::take(&mut self.data);
            self.room = None;
            return Some(Frame::data(data));
        }
        self.trailers.take().map(Frame::trailers)
    }

    pub(super) fn is_end(&self) -> bool {
        self.data.is_empty() && self.trailers.is_none()
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.data.len() as u64)
    }
}

async fn read_frames(body: &mut Incoming, room: &HoldingRoom, most: usize) -> Result<HeldBody, Reason> {
    let expected = body.size_hint();
    let at_least = usize::try_from(expected.lower()).map_err(|_| Reason::EffectTooLarge)?;
    if at_least > most {
        return Err(Reason::EffectTooLarge);
    }
    let mut reserved = room.reserve_bytes(at_least).await?;
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    let mut trailers = None;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Reason::EffectIncomplete)?;
        match frame.into_data() {
            Ok(data) => {
                let length = first.len() + all.len() + data.len();
                if length > most {
                    return Err(Reason::EffectTooLarge);
                }
                let missing = length.saturating_sub(reserved.num_permits());
                if missing > 0 {
                    reserved.merge(room.reserve_bytes(missing).await?);
                }
                if first.is_empty() && all.is_empty() {
                    first = data;
                    continue;
                }
                if all.is_empty() {
                    all.reserve(at_least.max(length));
                    all.extend_from_slice(&std::mem::take(&mut first));
                }
                all.extend_from_slice(&data);
            }
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
    }
    let data = if all.is_empty() { first } else { all.freeze() };
    Ok(HeldBody { data, trailers, room: Some(reserved) })
}

/// Reads the rest of a refused body, so that the browser finishes sending and gets to the reply.
pub(super) async fn discard(body: &mut Incoming, limit: Duration) {
    let reading = async { while let Some(Ok(_)) = body.frame().await {} };
    if timeout(limit, reading).await.is_err() {
        tracing::debug!("a refused body did not end");
    }
}
