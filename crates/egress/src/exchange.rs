//! One connection of the browser to the proxy: one request, or one tunnel.
//!
//! A connection is used once. Bytes that follow a request are therefore never taken for another request,
//! and Chromium, which silently sends a request again when a connection that it used before is closed on
//! it, never orders twice.

use crate::channel::WatchedTunnel;
use crate::dial::{DialTarget, Dialer};
use crate::headers::{self, MAX_HEAD_BYTES, MAX_HEADERS};
use crate::hosts::HostName;
use crate::intercept::{
    BodyError, DeferredNavigations, Holding, HoldingRoom, Interception, ReplyBody, SealedConnection,
    SealedReply, SealedRequest, SiteAccess, TargetForm, Unanswered, boxed_empty, keep_with, send_http1,
};
use crate::ledger::{EgressOutcome, Ledger, RequestSummary, RowId};
use crate::limiter::TrafficLimiter;
use crate::meter::{Meter, MeteredStream};
use crate::seal::{Seal, WebOrigin, WebScheme};
use crate::{Options, Reason};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper::http::uri::Scheme;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri, server};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::UnixStream;

/// What every connection of a session shares.
#[derive(Debug)]
pub(crate) struct ProxyContext {
    pub(crate) dialer: Dialer,
    pub(crate) options: Options,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) limiter: Arc<TrafficLimiter>,
    pub(crate) sealing: Sealing,
}

/// What a session's credentials are sealed with. Both parts must be there.
#[derive(Debug)]
pub(crate) struct Sealing {
    pub(crate) interception: Option<Interception>,
    pub(crate) seal: Arc<OnceLock<Arc<Seal>>>,
    /// Decides on effects; unset in a session without one, where nothing is held.
    pub(crate) effect_gate: Arc<OnceLock<Arc<dyn audit::EffectGate>>>,
    pub(crate) holding_room: Arc<HoldingRoom>,
    pub(crate) deferred: Arc<DeferredNavigations>,
}

impl Sealing {
    /// Whether an origin is sealed, and with what.
    fn covers(&self, origin: &WebOrigin) -> Option<(&Interception, &Arc<Seal>)> {
        let seal = self.seal.get().filter(|seal| seal.covers(origin))?;
        self.interception.as_ref().map(|interception| (interception, seal))
    }
}

/// Ends a plain request without a response. A response of the proxy would be shown as if it were the site's; this
/// way the browser reports a network error, and the ledger has the reason.
#[derive(Debug, thiserror::Error)]
#[error("the connection is closed without an answer: {}", reason.code())]
struct NoResponse {
    reason: Reason,
}

type Reply = Response<ReplyBody>;
type Tunnel = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Exchange {
    context: Arc<ProxyContext>,
    meter: Arc<Meter>,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    row: Option<RowId>,
    /// What is left to do after the head was answered.
    tunnel: Option<Tunnel>,
}

/// Serves one connection until it ends. Dropping the future closes both sides.
pub(crate) async fn serve_connection(stream: UnixStream, context: Arc<ProxyContext>) {
    let (head_timeout, idle_timeout) = (context.options.head_timeout, context.options.idle_timeout);
    let meter = Arc::new(Meter::limited_by(Arc::clone(&context.limiter)));
    let exchange = Arc::new(Exchange { context, meter, progress: Mutex::default() });
    let served = Arc::clone(&exchange);
    let connection = server::conn::http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_header_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .preserve_header_case(true)
        .auto_date_header(false)
        .serve_connection(
            TokioIo::new(stream),
            service_fn(move |request| {
                let exchange = Arc::clone(&served);
                async move { exchange.answer(request).await }
            }),
        )
        .with_upgrades();
    let all = async {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection of the browser ended early");
        }
        let tunnel = exchange.progress().tunnel.take();
        if let Some(tunnel) = tunnel {
            tunnel.await;
        }
    };
    tokio::select! {
        () = all => {}
        () = exchange.meter.idle(idle_timeout) => exchange.record_idle(),
    }
}

/// Whatever ends an exchange, its row on the ledger is closed.
impl Drop for Exchange {
    fn drop(&mut self) {
        let Some(row) = self.progress().row else { return };
        if self.meter.is_cut() {
            self.context.ledger.mark_failed(row, Reason::ByteLimit);
        }
        self.context.ledger.close(row);
    }
}

impl Exchange {
    async fn answer(&self, request: Request<Incoming>) -> Result<Reply, NoResponse> {
        let connect = request.method() == Method::CONNECT;
        let outcome = if connect { self.tunnel(request).await } else { self.forward(request).await };
        match outcome {
            Ok(reply) => Ok(reply),
            Err(reason) if connect => Ok(refusal(reason)),
            Err(reason) => Err(NoResponse { reason }),
        }
    }

    /// `CONNECT`: a tunnel for TLS, or for a WebSocket. One to a sealed origin is looked into.
    async fn tunnel(&self, request: Request<Incoming>) -> Result<Reply, Reason> {
        let target = self.require_target(&request, Target::read(request.uri(), None, None))?;
        let dialed = dial_target(&request, &target);
        let (mut site, row) = self.connect_to(&dialed).await?;
        let sealed = [WebScheme::Https, WebScheme::Http].into_iter().find_map(|scheme| {
            let origin = target.origin(scheme);
            let (interception, seal) = self.context.sealing.covers(&origin)?;
            Some((interception.clone(), self.sealed_connection(origin, seal, dialed.clone(), row)))
        });
        let watched = self.watched_tunnel(&target);
        let context = Arc::clone(&self.context);
        let browser = hyper::upgrade::on(request);
        self.progress().tunnel = Some(Box::pin(async move {
            match (browser.await, sealed) {
                (Ok(browser), None) => {
                    let mut browser = TokioIo::new(browser);
                    if let Some(watched) = watched
                        && !watched.admit(&mut browser, &mut site).await
                    {
                        return context.ledger.mark_failed(row, Reason::EffectUnreadable);
                    }
                    relay(&mut browser, &mut site).await;
                }
                (Ok(browser), Some((interception, sealed))) => {
                    sealed.serve_tunnel(TokioIo::new(browser), site, &interception).await;
                }
                (Err(error), _) => tracing::debug!(%error, "a tunnel was given up before it opened"),
            }
        }));
        Ok(empty(StatusCode::OK))
    }

    /// A plain request, in the form `GET http://host/path`.
    async fn forward(&self, mut request: Request<Incoming>) -> Result<Reply, Reason> {
        let target = Target::read(request.uri(), Some(&Scheme::HTTP), Some(80));
        let target = self.require_target(&request, target)?;
        let dialed = dial_target(&request, &target);
        let (site, row) = self.connect_to(&dialed).await?;
        let origin = target.origin(WebScheme::Http);
        if let Some((_, seal)) = self.context.sealing.covers(&origin) {
            let sealed = self.sealed_connection(origin, seal, dialed, row);
            return self.forward_sealed(request, site, &sealed).await;
        }
        let protocol = headers::upgrade(request.headers());
        let browser = protocol.is_some().then(|| hyper::upgrade::on(&mut request));
        let request = for_site(request, target.authority, protocol.clone());

        let sent = send_http1(site, request).await.map_err(|error| error.reason());
        let (response, connection) =
            sent.inspect_err(|reason| self.context.ledger.mark_failed(row, *reason))?;
        let (mut parts, body) = response.into_parts();
        self.context.ledger.set_status(row, parts.status.as_u16());
        parts.headers = headers::end_to_end(&parts.headers);
        if parts.status != StatusCode::SWITCHING_PROTOCOLS {
            let body = body.map_err(BodyError::from).boxed_unsync();
            return Ok(Response::from_parts(parts, keep_with(body, connection)));
        }
        // A site that changes protocol unasked is not speaking HTTP.
        let (Some(protocol), Some(browser)) = (protocol, browser) else {
            self.context.ledger.mark_failed(row, Reason::BadAnswer);
            return Err(Reason::BadAnswer);
        };
        headers::set_upgrade(&mut parts.headers, protocol);
        let mut reply = Response::from_parts(parts, boxed_empty());
        let site = hyper::upgrade::on(&mut reply);
        self.progress().tunnel = Some(Box::pin(async move {
            // The task in it hands the connection over.
            let _connection = connection;
            match tokio::try_join!(browser, site) {
                Ok((browser, site)) => {
                    relay(&mut TokioIo::new(browser), &mut TokioIo::new(site)).await;
                }
                Err(error) => tracing::debug!(%error, "a change of protocol was given up"),
            }
        }));
        Ok(reply)
    }

    /// A plain request to an origin whose credentials are sealed and may go over plain HTTP.
    async fn forward_sealed(
        &self,
        request: Request<Incoming>,
        site: MeteredStream,
        sealed: &SealedConnection,
    ) -> Result<Reply, Reason> {
        let SealedRequest { request, sent } = match sealed.prepare(request, TargetForm::Absolute).await {
            Ok(prepared) => prepared,
            Err(refused) => return Ok(refused.into_reply()),
        };
        let answered = if sent.is_late() {
            drop(site);
            Err(Unanswered::Unsent(Box::new(request)))
        } else {
            send_http1(site, request).await
        };
        let reply = if sent.is_held() {
            let answered = answered.map(|(response, connection)| (response, Some(connection)));
            sealed.finish_held(answered, sent).await
        } else {
            let failed = |reason: &Reason| self.context.ledger.mark_failed(sealed.row, *reason);
            let (response, connection) = answered.map_err(|error| error.reason()).inspect_err(failed)?;
            let reply = sealed.seal_reply(response, sent).ok_or(Reason::BadAnswer).inspect_err(failed)?;
            reply.keep(Some(connection))
        };
        let SealedReply { response, relay } = reply;
        if let Some(relay) = relay {
            self.progress().tunnel = Some(Box::pin(relay.run()));
        }
        Ok(response)
    }

    /// The tunnel, if the gate decides on WebSockets to its site.
    fn watched_tunnel(&self, target: &Target) -> Option<WatchedTunnel> {
        let gate = self.context.sealing.effect_gate.get()?;
        let (host, port) = (target.host.to_string(), target.port);
        gate.has_undecided_channels(&host, port).then(|| WatchedTunnel { gate: Arc::clone(gate), host, port })
    }

    fn sealed_connection(
        &self,
        origin: WebOrigin,
        seal: &Arc<Seal>,
        target: DialTarget,
        row: RowId,
    ) -> SealedConnection {
        let ProxyContext { dialer, options, ledger, limiter, sealing } = &*self.context;
        let (room, deferred) = (&sealing.holding_room, &sealing.deferred);
        let holding =
            |gate| Holding { gate: Arc::clone(gate), room: Arc::clone(room), deferred: Arc::clone(deferred) };
        SealedConnection {
            origin,
            seal: Arc::clone(seal),
            ledger: Arc::clone(ledger),
            row,
            limiter: Arc::clone(limiter),
            options: *options,
            access: SiteAccess { dialer: dialer.clone(), target, meter: Arc::clone(&self.meter), tls: None },
            holding: sealing.effect_gate.get().map(holding),
        }
    }

    /// Records a request without a readable target as malformed.
    fn require_target(&self, request: &Request<Incoming>, target: Option<Target>) -> Result<Target, Reason> {
        target.ok_or_else(|| {
            let request = RequestSummary::unreadable(request.method().as_str());
            self.context.ledger.record_failure(request, Reason::Malformed.into());
            Reason::Malformed
        })
    }

    /// Counts the request against the session's caps, and connects.
    async fn connect_to(&self, target: &DialTarget) -> Result<(MeteredStream, RowId), Reason> {
        let ProxyContext { dialer, limiter, ledger, .. } = &*self.context;
        if let Err(reason) = limiter.admit(&target.host.to_string()) {
            ledger.record_failure(target.summary.clone(), reason.into());
            return Err(reason);
        }
        let (stream, row) = dialer.dial(target, &self.meter).await?;
        self.progress().row = Some(row);
        Ok((stream, row))
    }

    /// Records an idle timeout. It is a failure only if the site never sent anything.
    fn record_idle(&self) {
        if let Some(row) = self.progress().row
            && self.meter.down() == 0
        {
            self.context.ledger.mark_failed(row, Reason::Idle);
        }
    }

    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn dial_target(request: &Request<Incoming>, target: &Target) -> DialTarget {
    let Target { host, port, .. } = target;
    let is_tunnel = request.method() == Method::CONNECT;
    let summary = RequestSummary::new(request.method().as_str(), host, *port);
    let summary = if is_tunnel { summary } else { summary.with_path(request.uri().path()) };
    DialTarget { host: host.clone(), port: *port, is_tunnel, summary }
}

/// Where a request wants to go.
struct Target {
    host: HostName,
    port: u16,
    /// As it was written, for the site's `Host`.
    authority: HeaderValue,
}

impl Target {
    fn origin(&self, scheme: WebScheme) -> WebOrigin {
        WebOrigin { scheme, host: self.host.clone(), port: self.port }
    }

    /// Takes a target of one scheme (none: `host:port`). A user name, or a port that is none, makes it
    /// unreadable.
    fn read(uri: &Uri, scheme: Option<&Scheme>, default_port: Option<u16>) -> Option<Target> {
        let authority = uri.authority().filter(|_| uri.scheme() == scheme)?;
        let port = match authority.as_str().strip_prefix(authority.host())? {
            "" => default_port?,
            rest => rest.strip_prefix(':')?.parse().ok().filter(|port| *port != 0)?,
        };
        let host = HostName::parse(authority.host())?;
        Some(Target { host, port, authority: HeaderValue::from_str(authority.as_str()).ok()? })
    }
}

/// The request as the site sees it: the path alone, nothing of this hop, and the host that was decided on.
fn for_site(
    request: Request<Incoming>,
    authority: HeaderValue,
    protocol: Option<HeaderValue>,
) -> Request<Incoming> {
    let (mut parts, body) = request.into_parts();
    parts.headers = headers::end_to_end(&parts.headers);
    parts.headers.insert(HOST, authority);
    if let Some(protocol) = protocol {
        headers::set_upgrade(&mut parts.headers, protocol);
    }
    parts.uri = match parts.uri.path_and_query() {
        Some(path) => Uri::from(path.clone()),
        None => Uri::from_static("/"),
    };
    Request::from_parts(parts, body)
}

async fn relay<A, B>(browser: &mut A, site: &mut B)
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    if let Err(error) = copy_bidirectional(browser, site).await {
        tracing::debug!(%error, "a tunnel ended early");
    }
}

fn refusal(reason: Reason) -> Reply {
    empty(match EgressOutcome::from(reason) {
        EgressOutcome::Refused(_) => StatusCode::FORBIDDEN,
        EgressOutcome::Allowed | EgressOutcome::Failed(_) => StatusCode::BAD_GATEWAY,
    })
}

fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(boxed_empty());
    *reply.status_mut() = status;
    reply
}
