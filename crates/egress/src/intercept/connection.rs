//! One connection of the browser to a sealed origin, and the one to the site behind it.

use super::body::{ReplyBody, RequestBody, boxed_empty};
use super::effect::{Clearance, Holding};
use super::executor::ConnectionTasks;
use super::reply::SealedReply;
use super::request::{SealedRequest, SentRequest, TargetForm, requested_websocket};
use super::site::{
    CONNECTION_WINDOW, SEND_BUFFER, STREAM_WINDOW, SiteAccess, SiteConnection, Unanswered, http1_client,
    http2_client,
};
use super::websocket::WebSocketRelay;
use crate::headers::{MAX_HEAD_BYTES, MAX_HEADERS};
use crate::ledger::{Ledger, RowId};
use crate::limiter::TrafficLimiter;
use crate::seal::{Seal, WebOrigin};
use crate::{Options, Reason};
use hyper::body::Incoming;
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

/// What all requests of a connection to a sealed origin share.
#[derive(Clone)]
pub(crate) struct SealedConnection {
    pub(crate) origin: WebOrigin,
    pub(crate) seal: Arc<Seal>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) row: RowId,
    pub(crate) limiter: Arc<TrafficLimiter>,
    pub(crate) options: Options,
    pub(crate) access: SiteAccess,
    /// None in a session whose effects nobody decides on.
    pub(crate) holding: Option<Holding>,
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
        let Ok((sender, connection)) = http1_client().handshake(TokioIo::new(site)).await else {
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
        let Ok((sender, connection)) = http2_client(tasks.clone()).handshake(TokioIo::new(site)).await else {
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
        let SealedRequest { request, sent } = match self.prepare(request, TargetForm::Origin).await {
            Ok(prepared) => prepared,
            Err(refused) => return Ok(refused.into_reply()),
        };
        if sent.is_late() {
            return Ok(self.finish_held(Err(Unanswered::Unsent(Box::new(request))), sent).await.response);
        }
        let answered = sender.try_send_request(request).await.map_err(Unanswered::from);
        if sent.is_held() {
            return Ok(self.finish_held(answered.map(|response| (response, None)), sent).await.response);
        }
        match answered {
            Ok(response) => self.finish(response, sent).map(|reply| reply.response),
            Err(Unanswered::Unsent(_)) => Err(NoReply::unsent()),
            Err(Unanswered::Failed(error)) => Err(self.fail(error)),
        }
    }

    /// Ends a request that was held. One that was not sent yet is sent on a connection of its own, so it is sent once.
    /// The browser gets a reply in any case, so that it does not send the request again.
    pub(crate) async fn finish_held(
        &self,
        answered: Result<(Response<Incoming>, Option<SiteConnection>), Unanswered<RequestBody>>,
        sent: SentRequest,
    ) -> SealedReply {
        let (response, connection) = match answered {
            Ok(answered) => answered,
            Err(Unanswered::Unsent(request)) => match self.access.send(*request).await {
                Ok((response, connection)) => (response, Some(connection)),
                Err(reason) => return sent.fail(reason),
            },
            Err(failed @ Unanswered::Failed(_)) => {
                self.ledger.mark_failed(self.row, failed.reason());
                return sent.fail(failed.reason());
            }
        };
        match self.seal_reply(response, sent) {
            Some(reply) => reply.keep(connection),
            None => {
                self.ledger.mark_failed(self.row, Reason::BadAnswer);
                SealedReply { response: empty(StatusCode::BAD_GATEWAY), relay: None }
            }
        }
    }

    /// Seals a reply. One that is not HTTP ends the request.
    fn finish(&self, response: Response<Incoming>, sent: SentRequest) -> Result<SealedReply, NoReply> {
        self.seal_reply(response, sent).ok_or_else(|| {
            self.ledger.mark_failed(self.row, Reason::BadAnswer);
            NoReply { source: None }
        })
    }

    fn fail(&self, error: hyper::Error) -> NoReply {
        let failed = Unanswered::<RequestBody>::Failed(error);
        self.ledger.mark_failed(self.row, failed.reason());
        match failed {
            Unanswered::Failed(error) => NoReply { source: Some(error.into()) },
            Unanswered::Unsent(_) => NoReply::unsent(),
        }
    }
}

impl SentRequest {
    /// Records that a held request has no reply, and answers it.
    fn fail(mut self, reason: Reason) -> SealedReply {
        self.record.set_verdict(reason.into());
        if let Some(clearance) = self.clearance {
            clearance.complete(reason.code().name());
        }
        SealedReply { response: empty(StatusCode::BAD_GATEWAY), relay: None }
    }

    pub(crate) fn is_held(&self) -> bool {
        self.clearance.is_some()
    }

    /// Whether it was held for so long that the site's connection may have gone.
    pub(crate) fn is_late(&self) -> bool {
        self.clearance.as_ref().is_some_and(Clearance::is_late)
    }
}

impl NoReply {
    /// For a request that never reached the site: the browser may send it again.
    fn unsent() -> NoReply {
        NoReply { source: Some(h2::Error::from(h2::Reason::REFUSED_STREAM).into()) }
    }
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
        let is_upgrading = requested_websocket(&request).is_some();
        self.is_upgrading.store(is_upgrading, Ordering::Relaxed);
        let SealedRequest { request, sent } = match connection.prepare(request, TargetForm::Origin).await {
            Ok(prepared) => prepared,
            Err(refused) => {
                self.is_upgrading.store(false, Ordering::Relaxed);
                return Ok(refused.into_reply());
            }
        };
        if sent.is_held() {
            let answered = if sent.is_late() {
                Err(Unanswered::Unsent(Box::new(request)))
            } else {
                self.send(request).await.map(|response| (response, None))
            };
            return Ok(self.finish(connection.finish_held(answered, sent).await));
        }
        match self.send(request).await {
            Ok(response) => Ok(self.finish(connection.finish(response, sent)?)),
            Err(Unanswered::Unsent(_)) => Err(NoReply::unsent()),
            Err(Unanswered::Failed(error)) => {
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

    async fn send(
        &self,
        request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, Unanswered<RequestBody>> {
        let sending = {
            let mut sender = self.sender.lock().await;
            if sender.ready().await.is_err() {
                return Err(Unanswered::Unsent(Box::new(request)));
            }
            sender.try_send_request(request)
        };
        Ok(sending.await?)
    }

    fn finish(&self, reply: SealedReply) -> Response<ReplyBody> {
        *self.relay.lock().unwrap_or_else(PoisonError::into_inner) = reply.relay;
        reply.response
    }
}

fn empty(status: StatusCode) -> Response<ReplyBody> {
    let mut reply = Response::new(boxed_empty());
    *reply.status_mut() = status;
    reply
}
