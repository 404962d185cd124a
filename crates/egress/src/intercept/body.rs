//! Bodies on their way through: swapped piece by piece, never held whole.

use super::coding::{BodySource, ContentCoding, Decoded, decode};
use super::held::HeldBody;
use super::record::RequestRecord;
use crate::seal::{PlaceKind, Seal, SealView, WebOrigin, field_of, seal_lines};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, combinators::UnsyncBoxBody};
use hyper::HeaderMap;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use redact::{SwapStream, Swapper};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead as _, ReadBuf};

pub(crate) type BodyError = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type ReplyBody = UnsyncBoxBody<Bytes, BodyError>;

/// What is read at once from a decoder.
const DECODED_BYTES: usize = 16 * 1024;
/// What may follow the end of a coded stream before the reply is given up.
const MAX_EXCESS_BYTES: usize = 64 * 1024;
/// How much of a request body is kept to name the field that a placeholder is in.
const MAX_SAMPLE_BYTES: usize = 64 * 1024;

pub(crate) fn boxed_empty() -> ReplyBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// A body that is dropped together with something else.
pub(crate) fn keep_with<T: Send + Unpin + 'static>(body: ReplyBody, kept: T) -> ReplyBody {
    KeptBody { body, _kept: kept }.boxed_unsync()
}

struct KeptBody<T> {
    body: ReplyBody,
    _kept: T,
}

impl<T: Unpin> Body for KeptBody<T> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Where a request body comes from.
pub(super) enum RequestSource {
    Streaming(Incoming),
    Held(HeldBody),
}

impl RequestSource {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self {
            RequestSource::Streaming(body) => Pin::new(body).poll_frame(cx),
            RequestSource::Held(body) => Poll::Ready(body.next_frame().map(Ok)),
        }
    }

    pub(super) fn is_end_stream(&self) -> bool {
        match self {
            RequestSource::Streaming(body) => body.is_end_stream(),
            RequestSource::Held(body) => body.is_end(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            RequestSource::Streaming(body) => body.size_hint(),
            RequestSource::Held(body) => body.size_hint(),
        }
    }
}

/// A request body: swapped where the operator allowed it, watched for placeholders everywhere.
pub(crate) struct RequestBody {
    body: RequestSource,
    swaps: Vec<SwapStream>,
    watch: Option<PlaceholderWatch>,
    held: usize,
    last: Option<Frame<Bytes>>,
    is_done: bool,
    sent: Arc<AtomicU64>,
}

impl RequestBody {
    /// `swaps`: placeholder to secret, for each credential that may be sent in this body.
    pub(super) fn new(
        body: RequestSource,
        swaps: &[Arc<Swapper>],
        watch: Option<PlaceholderWatch>,
        sent: Arc<AtomicU64>,
    ) -> RequestBody {
        let swaps = swaps.iter().map(Swapper::stream).collect();
        RequestBody { body, swaps, watch, held: 0, last: None, is_done: false, sent }
    }

    fn push(&mut self, data: Bytes) -> Bytes {
        if self.swaps.is_empty() {
            return data;
        }
        let arrived = data.len();
        let swapped = self.swaps.iter_mut().fold(data, |data, swap| Bytes::from(swap.push(&data)));
        self.held = (self.held + arrived).saturating_sub(swapped.len());
        swapped
    }

    fn finish(&mut self) -> Bytes {
        self.held = 0;
        let swaps = std::mem::take(&mut self.swaps);
        swaps.into_iter().fold(Bytes::new(), |before, mut swap| {
            let mut all = swap.push(&before);
            all.extend_from_slice(&swap.finish());
            Bytes::from(all)
        })
    }

    fn note(&mut self, data: &[u8]) {
        self.sent.fetch_add(data.len() as u64, Ordering::Relaxed);
        if let Some(watch) = &mut self.watch {
            watch.push(data);
        }
        // The place is noted before the site can answer.
        if self.is_end_stream() {
            self.watch = None;
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        if this.is_done {
            return Poll::Ready(this.last.take().map(Ok));
        }
        loop {
            let rest = match ready!(this.body.poll_frame(cx)) {
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        let data = this.push(data);
                        if data.is_empty() {
                            continue;
                        }
                        this.note(&data);
                        return Poll::Ready(Some(Ok(Frame::data(data))));
                    }
                    Err(trailers) => {
                        this.last = Some(trailers);
                        this.finish()
                    }
                },
                None => this.finish(),
            };
            this.is_done = true;
            if rest.is_empty() {
                this.watch = None;
                return Poll::Ready(this.last.take().map(Ok));
            }
            this.note(&rest);
            this.watch = None;
            return Poll::Ready(Some(Ok(Frame::data(rest))));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.last.is_none() && self.held == 0 && (self.is_done || self.body.is_end_stream())
    }

    /// A swap keeps the length, so the length is that of the body as the browser sends it.
    fn size_hint(&self) -> SizeHint {
        let inner = self.body.size_hint();
        let held = self.held as u64;
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + held);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + held);
        }
        hint
    }
}

/// Looks for placeholders in what passes, and notes the place once when it is dropped.
pub(super) struct PlaceholderWatch {
    seal: Arc<Seal>,
    view: Arc<SealView>,
    stream: Option<SwapStream>,
    path: String,
    content_type: String,
    /// What the search has not yet given back.
    pending: Vec<u8>,
    /// The beginning of the body.
    sample: Vec<u8>,
    found: Vec<u8>,
}

impl PlaceholderWatch {
    pub(super) fn new(
        seal: Arc<Seal>,
        view: Arc<SealView>,
        path: &str,
        content_type: &str,
    ) -> PlaceholderWatch {
        let stream = Some(view.placeholders().stream());
        PlaceholderWatch {
            seal,
            view,
            stream,
            path: path.to_owned(),
            content_type: content_type.to_owned(),
            pending: Vec::new(),
            sample: Vec::new(),
            found: Vec::new(),
        }
    }

    fn push(&mut self, data: &[u8]) {
        let Some(stream) = &mut self.stream else { return };
        let room = MAX_SAMPLE_BYTES.saturating_sub(self.sample.len());
        self.sample.extend_from_slice(&data[..data.len().min(room)]);
        self.pending.extend_from_slice(data);
        let searched = stream.push(data);
        self.compare(&searched);
    }

    /// What the swap would change is a placeholder.
    fn compare(&mut self, searched: &[u8]) {
        let length = searched.len().min(self.pending.len());
        if self.found.is_empty() && self.pending[..length] != searched[..length] {
            // With what is held back: the end of the placeholder may be the beginning of something else.
            self.found.extend_from_slice(&self.pending);
        }
        self.pending.drain(..length);
    }
}

impl Drop for PlaceholderWatch {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            let rest = stream.finish();
            self.compare(&rest);
        }
        if self.found.is_empty() {
            return;
        }
        let is_it = |bytes: &[u8]| self.view.placeholders().finds_any(bytes);
        let field = field_of(&self.content_type, &self.sample, is_it);
        self.seal.note(&self.view, &self.found, PlaceKind::Body, &self.path, field.as_deref());
    }
}

/// A reply's body, sealed. What a site sets while it streams is a secret in what follows.
pub(super) struct SealedBody {
    source: Arc<BodySource>,
    /// `None`: the body is not coded.
    decoder: Option<Decoded>,
    /// `None`: it passes as it comes.
    seal: Option<Arc<Seal>>,
    /// While something is held back. A reply that waits keeps no search in memory.
    stream: Option<SwapStream>,
    excess: usize,
    state: BodyState,
    record: RequestRecord,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyState {
    Streaming,
    /// The decoder is at its end; trailers may follow.
    Draining,
    Trailers,
    Done,
}

impl SealedBody {
    pub(super) fn new(
        body: Incoming,
        codings: &[ContentCoding],
        seal: Option<Arc<Seal>>,
        record: RequestRecord,
    ) -> SealedBody {
        let is_empty = body.is_end_stream();
        let source = BodySource::new(body);
        let decoder = (!codings.is_empty()).then(|| decode(source.reader(), codings));
        let state = if is_empty { BodyState::Done } else { BodyState::Streaming };
        SealedBody { source, decoder, seal, stream: None, excess: 0, state, record }
    }

    fn seal_piece(&mut self, piece: Bytes) -> Bytes {
        let Some(seal) = &self.seal else { return piece };
        let mut stream = self.stream.take().unwrap_or_else(|| seal.view().sealing().stream());
        let sealed = Bytes::from(stream.push(&piece));
        self.stream = (!stream.is_idle()).then_some(stream);
        sealed
    }

    /// The next piece, decoded; `None` at the end.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let Some(decoder) = &mut self.decoder else {
            return self.source.poll_data(cx).map_err(BodyError::from);
        };
        let mut bytes = vec![0; DECODED_BYTES];
        let mut buffer = ReadBuf::new(&mut bytes);
        ready!(Pin::new(decoder).poll_read(cx, &mut buffer))?;
        let length = buffer.filled().len();
        bytes.truncate(length);
        Poll::Ready((length > 0).then(|| Ok(Bytes::from(bytes))))
    }

    /// Reads what a decoder left: nothing but trailers, usually.
    fn poll_drained(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.excess <= MAX_EXCESS_BYTES {
            match ready!(self.source.poll_data(cx)) {
                Some(Ok(data)) => self.excess += data.len(),
                Some(Err(_)) | None => break,
            }
        }
        Poll::Ready(())
    }

    fn data(&mut self, data: Bytes) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.record.add_down(data.len());
        Poll::Ready(Some(Ok(Frame::data(data))))
    }

    fn seal_trailers(&self, mut trailers: HeaderMap) -> HeaderMap {
        if let Some(seal) = &self.seal {
            seal_lines(&mut trailers, seal.view().sealing());
        }
        trailers
    }
}

impl Body for SealedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        loop {
            match this.state {
                BodyState::Streaming => match ready!(this.poll_piece(cx)) {
                    Some(Err(error)) => {
                        this.state = BodyState::Done;
                        return Poll::Ready(Some(Err(error)));
                    }
                    Some(Ok(piece)) => {
                        let sealed = this.seal_piece(piece);
                        if !sealed.is_empty() {
                            return this.data(sealed);
                        }
                    }
                    None => {
                        this.state = BodyState::Draining;
                        let rest = this.stream.take().map(SwapStream::finish).unwrap_or_default();
                        if !rest.is_empty() {
                            return this.data(Bytes::from(rest));
                        }
                    }
                },
                BodyState::Draining => {
                    ready!(this.poll_drained(cx));
                    this.state = BodyState::Trailers;
                }
                BodyState::Trailers => {
                    this.state = BodyState::Done;
                    if let Some(trailers) = this.source.take_trailers() {
                        return Poll::Ready(Some(Ok(Frame::trailers(this.seal_trailers(trailers)))));
                    }
                }
                BodyState::Done => return Poll::Ready(None),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.state == BodyState::Done
    }
}

/// Placeholder to secret for each credential of an origin that may be sent in bodies at a path.
pub(super) fn body_swaps(view: &SealView, origin: &WebOrigin, path: &str) -> Vec<Arc<Swapper>> {
    let allowed = view.in_scope(origin).filter(|credential| credential.sends_in_body(path));
    allowed
        .map(|credential| Arc::clone(credential.script_out()))
        .filter(|swapper| !swapper.is_empty())
        .collect()
}
