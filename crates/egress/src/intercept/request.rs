//! A request of a sealed origin as the site gets it.

use super::body::{PlaceholderWatch, ReplyBody, RequestBody, RequestSource, body_swaps, boxed_empty};
use super::coding::limit_accepted;
use super::connection::SealedConnection;
use super::deferred::ReleasedNavigation;
use super::effect::{Clearance, ClearedRequest};
use super::record::RequestRecord;
use crate::headers;
use crate::ledger::RequestSummary;
use crate::seal::{
    Initiator, RequestKind, SealView, WebOrigin, add_headers, unseal_cookies, unseal_headers, unseal_path,
};
use hyper::body::Incoming;
use hyper::header::{
    CACHE_CONTROL, CONTENT_TYPE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, REFERER,
    UPGRADE_INSECURE_REQUESTS,
};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};

const SEC_WEBSOCKET_EXTENSIONS: HeaderName = HeaderName::from_static("sec-websocket-extensions");

/// A request that is answered without the site, with a status alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused(StatusCode);

impl Refused {
    /// For a request that the gate refused. A document stays as it is; a script gets a failed request. Either is an
    /// answer: a browser sends a request again when its connection fails.
    fn held(headers: &HeaderMap) -> Refused {
        Refused(if is_navigation(headers) { StatusCode::NO_CONTENT } else { StatusCode::FORBIDDEN })
    }

    pub(crate) fn into_reply(self) -> Response<ReplyBody> {
        let mut reply = Response::new(boxed_empty());
        *reply.status_mut() = self.0;
        reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        reply
    }
}

/// A request ready to be sent, and what its reply needs to know.
pub(crate) struct SealedRequest {
    pub(crate) request: Request<RequestBody>,
    pub(crate) sent: SentRequest,
}

/// What is kept of a request while its reply is awaited.
pub(crate) struct SentRequest {
    pub(super) method: Method,
    /// Without its query, as the browser wrote it.
    pub(super) path: String,
    /// Path and query as the browser wrote them, and the page that it came from.
    pub(super) address: Vec<u8>,
    pub(super) initiator: Initiator,
    pub(super) websocket: Option<RequestedWebSocket>,
    /// Of a request that was held.
    pub(super) clearance: Option<Clearance>,
    pub(super) record: RequestRecord,
}

/// A WebSocket that the browser asks for.
pub(super) struct RequestedWebSocket {
    pub(super) browser: OnUpgrade,
    /// As the browser wrote it.
    pub(super) url: String,
}

/// How the request names its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetForm {
    /// On a connection to the origin, which every request must name.
    Origin,
    /// To the proxy, as a whole URL that was read already.
    Absolute,
}

impl SealedConnection {
    /// Checks that a request is for the intercepted origin, waits for the gate if it is concerned, and swaps what
    /// belongs to the origin.
    pub(crate) async fn prepare(
        &self,
        mut request: Request<Incoming>,
        form: TargetForm,
    ) -> Result<SealedRequest, Refused> {
        let origin = &self.origin;
        if request.method() == Method::CONNECT {
            return Err(Refused(StatusCode::METHOD_NOT_ALLOWED));
        }
        let authority = match form {
            TargetForm::Origin => {
                self.admit(request.method())?;
                own_authority(&request, origin).ok_or(Refused(StatusCode::MISDIRECTED_REQUEST))?
            }
            TargetForm::Absolute => authority_of(request.uri()).ok_or(Refused(StatusCode::BAD_REQUEST))?,
        };
        let is_http2 = request.version() == Version::HTTP_2;
        let protocol = requested_websocket(&request);
        let browser = protocol.is_some().then(|| hyper::upgrade::on(&mut request));

        let (mut parts, body) = request.into_parts();
        let written = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let path = written.split('?').next().unwrap_or_default().to_owned();
        let url = self.url(&authority, &written);
        let released = self.released(&url, &parts.headers);
        if let Some(ReleasedNavigation { kept, .. }) = &released {
            parts.method = kept.method.clone();
            parts.headers = kept.headers_with_cookies_of(&parts.headers);
        }
        // The gate sees what leaves: headers of this hop do not.
        parts.headers = headers::end_to_end(&parts.headers);
        let mut record = self.record(parts.method.as_str(), &path, &self.seal.view());
        let (body, clearance) = match (released, self.concerned(&parts.method, &url, &parts.headers)) {
            (Some(ReleasedNavigation { kept, permit, .. }), _) => {
                (RequestSource::Held(kept.body), Some(Clearance::of_kept(permit)))
            }
            (None, None) => (RequestSource::Streaming(body), None),
            (None, Some(concerned)) => {
                let head = (&parts.method, &parts.headers);
                let held = self.hold(concerned, head, body, &mut record).await;
                let ClearedRequest { body, clearance } = held.map_err(|_| Refused::held(&parts.headers))?;
                (RequestSource::Held(body), Some(clearance))
            }
        };
        let websocket = browser.map(|browser| RequestedWebSocket { browser, url });

        let referer = parts.headers.get(REFERER).map_or(&[][..], HeaderValue::as_bytes);
        let address = [written.as_bytes(), b"\n", referer].concat();
        parts.headers.remove(EXPECT);
        if let Some(protocol) = protocol {
            headers::set_upgrade(&mut parts.headers, protocol);
            // Compressed messages could not be read.
            parts.headers.remove(SEC_WEBSOCKET_EXTENSIONS);
        }
        let view = self.seal.view();
        if view.swaps_replies_of(origin) {
            limit_accepted(&mut parts.headers);
        }
        let initiator = Initiator::of(&parts.headers, origin, self.seal.started(), &written);
        self.unseal(&mut parts.headers, &view, &parts.method, &path, initiator);
        let target = unseal_path(&written, &self.seal, &view, origin, initiator);
        parts.uri = site_uri(&target, &authority, origin, is_http2)
            .or_else(|| site_uri(&written, &authority, origin, is_http2))
            .ok_or(Refused(StatusCode::BAD_REQUEST))?;
        if is_http2 {
            parts.headers.remove(HOST);
        } else {
            parts.headers.insert(HOST, authority);
        }

        let swaps = if initiator.is_own() { body_swaps(&view, origin, &path) } else { Vec::new() };
        let is_watched = !body.is_end_stream() && !view.placeholders().is_empty();
        let watch = is_watched.then(|| {
            let content_type = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
            PlaceholderWatch::new(self.seal.clone(), view, &path, content_type.unwrap_or_default())
        });
        let method = parts.method.clone();
        let body = RequestBody::new(body, &swaps, watch, record.bytes_up());
        Ok(SealedRequest {
            request: Request::from_parts(parts, body),
            sent: SentRequest { method, path, address, initiator, websocket, clearance, record },
        })
    }

    fn url(&self, authority: &HeaderValue, written: &str) -> String {
        let authority = authority.to_str().unwrap_or_default();
        format!("{}://{authority}{written}", self.origin.scheme.as_str())
    }

    /// Counts a request against the session's caps. One to the proxy was counted when it came.
    fn admit(&self, method: &Method) -> Result<(), Refused> {
        let host = &self.origin.host;
        self.limiter.admit(&host.to_string()).map_err(|reason| {
            let request = RequestSummary::new(method.as_str(), host, self.origin.port);
            self.ledger.record_failure(request, reason.into());
            Refused(StatusCode::TOO_MANY_REQUESTS)
        })
    }

    fn unseal(
        &self,
        headers: &mut HeaderMap,
        view: &SealView,
        method: &Method,
        path: &str,
        initiator: Initiator,
    ) {
        let kind = RequestKind::of(method, headers);
        unseal_cookies(headers, &self.seal, view, &self.origin, path, (initiator, kind));
        unseal_headers(headers, &self.seal, view, &self.origin, path, initiator);
        add_headers(headers, view, &self.origin, initiator);
    }

    pub(super) fn record(&self, method: &str, path: &str, view: &SealView) -> RequestRecord {
        let sealed = view.sealing().swap(path.as_bytes());
        let path = String::from_utf8_lossy(&sealed);
        let host = self.origin.host.to_string();
        RequestRecord::new(self.ledger.clone(), method, host, self.origin.port, &path)
    }
}

/// The protocol of a request for a WebSocket. No other protocol is changed to.
pub(super) fn requested_websocket(request: &Request<Incoming>) -> Option<HeaderValue> {
    headers::upgrade(request.headers()).filter(|protocol| {
        request.version() != Version::HTTP_2 && protocol.as_bytes().eq_ignore_ascii_case(b"websocket")
    })
}

/// Whether a reply would replace a document. Chromium does not say so over plain HTTP, but for a header that it sends
/// with navigations alone.
pub(super) fn is_navigation(headers: &HeaderMap) -> bool {
    match headers.get("sec-fetch-mode") {
        Some(mode) => mode.as_bytes() == b"navigate",
        None => headers.get(UPGRADE_INSECURE_REQUESTS).is_some_and(|value| value.as_bytes() == b"1"),
    }
}

/// The authority that a request names, if it is that of the origin, everywhere it is named.
fn own_authority(request: &Request<Incoming>, origin: &WebOrigin) -> Option<HeaderValue> {
    let uri = request.uri();
    if uri.scheme_str().is_some_and(|scheme| !scheme.eq_ignore_ascii_case(origin.scheme.as_str())) {
        return None;
    }
    let in_uri = uri.authority().map(|authority| authority.as_str());
    let in_headers = request.headers().get_all(HOST).iter();
    let named: Vec<&str> = in_headers.map(|value| value.to_str().unwrap_or_default()).chain(in_uri).collect();
    let hosts = request.headers().get_all(HOST).iter().count();
    let is_own = hosts <= 1 && !named.is_empty() && named.iter().all(|name| origin.is_authority(name));
    let named = named.last().filter(|_| is_own)?;
    HeaderValue::from_str(named).ok()
}

fn authority_of(uri: &Uri) -> Option<HeaderValue> {
    HeaderValue::from_str(uri.authority()?.as_str()).ok()
}

/// HTTP/2 names the whole URL, HTTP/1 the path alone.
fn site_uri(path: &str, authority: &HeaderValue, origin: &WebOrigin, is_http2: bool) -> Option<Uri> {
    let builder = Uri::builder().path_and_query(path);
    let builder = if is_http2 {
        builder.scheme(origin.scheme.as_str()).authority(authority.to_str().ok()?)
    } else {
        builder
    };
    builder.build().ok()
}
