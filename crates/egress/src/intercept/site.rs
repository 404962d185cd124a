//! One request on a connection to the site that is made for it alone.

use super::body::RequestBody;
use super::executor::{ConnectionTasks, TasksGuard};
use super::tunnel::handshake_reason;
use crate::Reason;
use crate::dial::{DialTarget, Dialer};
use crate::headers::{MAX_HEAD_BYTES, MAX_HEADERS};
use crate::ledger::{Ledger, RowId};
use crate::meter::{Meter, MeteredStream};
use crate::tls::{Alpn, UpstreamTls};
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::client::conn::TrySendError;
use hyper::{Request, Response, client};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How to connect to the site of a connection once more, by the same rules.
#[derive(Clone)]
pub(crate) struct SiteAccess {
    pub(crate) dialer: Dialer,
    pub(crate) target: DialTarget,
    /// Of the browser's connection.
    pub(crate) meter: Arc<Meter>,
    /// None for a plain origin, and until the first handshake.
    pub(crate) tls: Option<SiteTls>,
}

#[derive(Clone)]
pub(crate) struct SiteTls {
    pub(super) upstream: Arc<UpstreamTls>,
    /// What the browser and the site agreed on.
    pub(super) protocol: Option<Alpn>,
}

/// A connection to a site that serves one request. It ends when this is dropped.
pub(crate) struct SiteConnection {
    _connection: JoinSet<()>,
    _streams: Option<TasksGuard>,
    _row: Option<OpenRow>,
}

/// A connection's row on the ledger, closed with it.
struct OpenRow {
    ledger: Arc<Ledger>,
    id: RowId,
    meter: Arc<Meter>,
}

/// Why a request has no reply.
pub(crate) enum Unanswered<B> {
    /// Nothing of it was sent.
    Unsent(Box<Request<B>>),
    /// It may have arrived.
    Failed(hyper::Error),
}

impl<B> Unanswered<B> {
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Unanswered::Unsent(_) => Reason::ConnectionLost,
            Unanswered::Failed(error) => failure_reason(error),
        }
    }
}

impl<B> From<TrySendError<Request<B>>> for Unanswered<B> {
    fn from(mut error: TrySendError<Request<B>>) -> Unanswered<B> {
        match error.take_message() {
            Some(request) => Unanswered::Unsent(Box::new(request)),
            None => Unanswered::Failed(error.into_error()),
        }
    }
}

/// Why the site gave no reply.
fn failure_reason(error: &hyper::Error) -> Reason {
    if error.is_parse() || error.is_parse_too_large() { Reason::BadAnswer } else { Reason::ConnectionLost }
}

impl SiteAccess {
    /// Connects, and sends one request.
    pub(super) async fn send(
        &self,
        request: Request<RequestBody>,
    ) -> Result<(Response<Incoming>, SiteConnection), Reason> {
        let meter = Arc::new(self.meter.sibling());
        let (stream, id) = self.dialer.dial(&self.target, &meter).await?;
        let row = OpenRow { ledger: Arc::clone(&self.dialer.ledger), id, meter };
        match self.send_over(stream, request).await {
            Ok((response, connection)) => Ok((response, SiteConnection { _row: Some(row), ..connection })),
            Err(reason) => {
                row.ledger.mark_failed(row.id, reason);
                Err(reason)
            }
        }
    }

    async fn send_over(
        &self,
        stream: MeteredStream,
        request: Request<RequestBody>,
    ) -> Result<(Response<Incoming>, SiteConnection), Reason> {
        let Some(SiteTls { upstream, protocol }) = &self.tls else {
            return send_http1(stream, request).await.map_err(|error| error.reason());
        };
        let offered: Vec<Alpn> = protocol.iter().copied().collect();
        let connecting = upstream.connect(&self.target.host, &offered, stream);
        let (stream, chosen) = match timeout(self.dialer.connect_timeout, connecting).await {
            Ok(connected) => connected.map_err(|error| handshake_reason(&error))?,
            Err(_) => return Err(Reason::ConnectTimeout),
        };
        // The request is written for this protocol.
        if chosen != *protocol {
            return Err(Reason::BadAnswer);
        }
        let sent = match chosen {
            Some(Alpn::Http2) => send_http2(stream, request).await,
            Some(Alpn::Http1) | None => send_http1(stream, request).await,
        };
        sent.map_err(|error| error.reason())
    }
}

impl Drop for OpenRow {
    fn drop(&mut self) {
        if self.meter.is_cut() {
            self.ledger.mark_failed(self.id, Reason::ByteLimit);
        }
        self.ledger.close(self.id);
    }
}

/// Sends a request over a new connection and waits for the head of the answer.
pub(crate) async fn send_http1<S, B>(
    stream: S,
    request: Request<B>,
) -> Result<(Response<Incoming>, SiteConnection), Unanswered<B>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    B: Body<Data = Bytes, Error = hyper::Error> + Send + 'static,
{
    let handshake = http1_client().handshake(TokioIo::new(stream));
    let Ok((mut sender, connection)) = handshake.await else {
        return Err(Unanswered::Unsent(Box::new(request)));
    };
    let mut task = JoinSet::new();
    task.spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a site's connection ended early");
        }
    });
    let response = sender.try_send_request(request).await?;
    Ok((response, SiteConnection { _connection: task, _streams: None, _row: None }))
}

async fn send_http2<S>(
    stream: S,
    request: Request<RequestBody>,
) -> Result<(Response<Incoming>, SiteConnection), Unanswered<RequestBody>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let tasks = ConnectionTasks::default();
    let streams = tasks.guard();
    let handshake = http2_client(tasks).handshake(TokioIo::new(stream));
    let Ok((mut sender, connection)) = handshake.await else {
        return Err(Unanswered::Unsent(Box::new(request)));
    };
    let mut task = JoinSet::new();
    task.spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a site's connection ended early");
        }
    });
    let response = sender.try_send_request(request).await?;
    Ok((response, SiteConnection { _connection: task, _streams: Some(streams), _row: None }))
}

/// What one stream and one connection may send before it is read.
pub(super) const STREAM_WINDOW: u32 = 512 * 1024;
pub(super) const CONNECTION_WINDOW: u32 = 2 * 1024 * 1024;
pub(super) const SEND_BUFFER: usize = 64 * 1024;

pub(super) fn http1_client() -> client::conn::http1::Builder {
    let mut builder = client::conn::http1::Builder::new();
    builder
        .max_buf_size(MAX_HEAD_BYTES)
        .max_header_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .preserve_header_case(true);
    builder
}

pub(super) fn http2_client(tasks: ConnectionTasks) -> client::conn::http2::Builder<ConnectionTasks> {
    let mut builder = client::conn::http2::Builder::new(tasks);
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .max_header_list_size(MAX_HEAD_BYTES as u32);
    builder
}
