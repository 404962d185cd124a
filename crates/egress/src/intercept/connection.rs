//! One connection of the browser to a sealed origin, and the one to the site behind it.

use super::body::{ReplyBody, RequestBody, boxed_empty};
use super::executor::ConnectionTasks;
use super::reply::SealedReply;
use super::request::{SealedRequest, SentRequest, TargetForm};
use super::websocket::WebSocketRelay;
use crate::headers::{MAX_HEAD_BYTES, MAX_HEADERS};
use crate::ledger::{Ledger, RowId};
use crate::limiter::TrafficLimiter;
use crate::seal::{Seal, WebOrigin};
use crate::{Options, Reason};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, client, server};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;

/// Streams of one HTTP/2 connection at once, as browsers and servers usually have it.
const MAX_STREAMS: u32 = 100;
/// What one stream and one connection may send before it is read.
const STREAM_WINDOW: u32 = 512 * 1024;
const CONNECTION_WINDOW: u32 = 2 * 1024 * 1024;
const SEND_BUFFER: usize = 64 * 1024;

/// What all requests of a connection to a sealed origin share.
#[derive(Clone)]
pub(crate) struct SealedConnection {
    pub(crate) origin: WebOrigin,
    pub(crate) seal: Arc<Seal>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) row: RowId,
    pub(crate) limiter: Arc<TrafficLimiter>,
    pub(crate) options: Options,
}

/// Ends a request without a reply: HTTP/1 closes the connection, HTTP/2 resets the stream with the reason in the source.
#[derive(Debug, thiserror::Error)]
#[error("the request ends without a reply")]
pub(super) struct NoReply {
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

type Sealed = Result<Response<ReplyBody>, NoReply>;

impl SealedConnection {
    /// HTTP/1 on both sides: each connection of the browser has one of its own to the site.
    pub(super) async fn serve_http1<B, S>(self, browser: B, site: S)
    where
        B: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handshake = client::conn::http1::Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            .max_header_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEADERS)
            .preserve_header_case(true)
            .handshake(TokioIo::new(site));
        let Ok((sender, connection)) = handshake.await else {
            self.ledger.mark_failed(self.row, Reason::ConnectionLost);
            return;
        };
        let mut site = JoinSet::new();
        site.spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "a site's connection ended early");
            }
        });
        let head_timeout = self.options.head_timeout;
        let requests = Arc::new(Http1Requests {
            connection: self,
            sender: tokio::sync::Mutex::new(sender),
            is_reused: AtomicBool::new(false),
            is_upgrading: AtomicBool::new(false),
            relay: Mutex::default(),
        });
        let served = Arc::clone(&requests);
        let browser = server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(head_timeout)
            .max_buf_size(MAX_HEAD_BYTES)
            .max_header_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEADERS)
            .preserve_header_case(true)
            .auto_date_header(false)
            .serve_connection(
                TokioIo::new(browser),
                service_fn(move |request| {
                    let requests = Arc::clone(&served);
                    async move { requests.answer(request).await }
                }),
            )
            .with_upgrades();
        tokio::pin!(browser);
        loop {
            tokio::select! {
                ended = &mut browser => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a sealed connection of the browser ended early");
                    }
                    break;
                }
                // The site has closed: so does the proxy, after the reply that is under way.
                Some(_) = site.join_next() => {
                    if !requests.is_upgrading.load(Ordering::Relaxed) {
                        browser.as_mut().graceful_shutdown();
                    }
                }
            }
        }
        let relay = requests.relay.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(relay) = relay {
            relay.run().await;
        }
    }

    /// HTTP/2 on both sides.
    pub(super) async fn serve_http2<B, S>(self, browser: B, site: S)
    where
        B: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let tasks = ConnectionTasks::default();
        let _guard = tasks.guard();
        let handshake = client::conn::http2::Builder::new(tasks.clone())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buf_size(SEND_BUFFER)
            .max_header_list_size(MAX_HEAD_BYTES as u32)
            .handshake(TokioIo::new(site));
        let Ok((sender, connection)) = handshake.await else {
            self.ledger.mark_failed(self.row, Reason::ConnectionLost);
            return;
        };
        let mut site = JoinSet::new();
        site.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a site's connection ended early");
            }
        });
        let connection = Arc::new(self);
        let browser = server::conn::http2::Builder::new(tasks)
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_concurrent_streams(MAX_STREAMS)
            .max_send_buf_size(SEND_BUFFER)
            .max_header_list_size(MAX_HEAD_BYTES as u32)
            .auto_date_header(false)
            .serve_connection(
                TokioIo::new(browser),
                service_fn(move |request| {
                    let (connection, sender) = (Arc::clone(&connection), sender.clone());
                    async move { connection.answer_http2(request, sender).await }
                }),
            );
        tokio::pin!(browser);
        loop {
            tokio::select! {
                ended = &mut browser => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a sealed connection of the browser ended early");
                    }
                    return;
                }
                Some(_) = site.join_next() => browser.as_mut().graceful_shutdown(),
            }
        }
    }

    async fn answer_http2(
        &self,
        request: Request<Incoming>,
        mut sender: client::conn::http2::SendRequest<RequestBody>,
    ) -> Sealed {
        let SealedRequest { request, sent } = match self.prepare(request, TargetForm::Origin) {
            Ok(prepared) => prepared,
            Err(refused) => return Ok(empty(refused.0)),
        };
        match sender.try_send_request(request).await {
            Ok(response) => self.finish(response, sent).map(|reply| reply.response),
            Err(error) if error.message().is_some() => Err(NoReply::unsent()),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Seals a reply. One that is not HTTP ends the request.
    fn finish(&self, response: Response<Incoming>, sent: SentRequest) -> Result<SealedReply, NoReply> {
        self.seal_reply(response, sent).ok_or_else(|| {
            self.ledger.mark_failed(self.row, Reason::BadAnswer);
            NoReply { source: None }
        })
    }

    fn fail<B>(&self, error: TrySendError<B>) -> NoReply {
        let error = error.into_error();
        self.ledger.mark_failed(self.row, failure_reason(&error));
        NoReply { source: Some(error.into()) }
    }
}

impl NoReply {
    /// For a request that never reached the site: the browser may send it again.
    fn unsent() -> NoReply {
        NoReply { source: Some(h2::Error::from(h2::Reason::REFUSED_STREAM).into()) }
    }
}

/// Why the site gave no reply.
pub(crate) fn failure_reason(error: &hyper::Error) -> Reason {
    if error.is_parse() || error.is_parse_too_large() { Reason::BadAnswer } else { Reason::ConnectionLost }
}

/// Requests of one HTTP/1 connection, one after the other.
struct Http1Requests {
    connection: SealedConnection,
    sender: tokio::sync::Mutex<client::conn::http1::SendRequest<RequestBody>>,
    is_reused: AtomicBool,
    /// A WebSocket was asked for: the site's connection may be handed over at any time.
    is_upgrading: AtomicBool,
    relay: Mutex<Option<WebSocketRelay>>,
}

impl Http1Requests {
    async fn answer(&self, request: Request<Incoming>) -> Sealed {
        let connection = &self.connection;
        let is_reused = self.is_reused.swap(true, Ordering::Relaxed);
        let SealedRequest { request, sent } = match connection.prepare(request, TargetForm::Origin) {
            Ok(prepared) => prepared,
            Err(refused) => return Ok(empty(refused.0)),
        };
        self.is_upgrading.store(sent.websocket.is_some(), Ordering::Relaxed);
        let sending = {
            let mut sender = self.sender.lock().await;
            if sender.ready().await.is_err() {
                return Err(NoReply::unsent());
            }
            sender.try_send_request(request)
        };
        match sending.await {
            Ok(response) => {
                let SealedReply { response, relay } = connection.finish(response, sent)?;
                *self.relay.lock().unwrap_or_else(PoisonError::into_inner) = relay;
                Ok(response)
            }
            Err(error) if error.message().is_some() => Err(NoReply::unsent()),
            Err(error) => {
                let failed = connection.fail(error);
                // A browser sends a request again when a connection that it used before closes on it. This one may
                // have had its effect.
                if is_reused && !sent.method.is_idempotent() {
                    let mut reply = empty(StatusCode::BAD_GATEWAY);
                    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                    return Ok(reply);
                }
                Err(failed)
            }
        }
    }
}

fn empty(status: StatusCode) -> Response<ReplyBody> {
    let mut reply = Response::new(boxed_empty());
    *reply.status_mut() = status;
    reply
}
