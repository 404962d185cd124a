//! Holding a request until the gate has decided on it.

use super::connection::SealedConnection;
use super::decoded_body::{DecodeError, decode_whole};
use super::deferred::{DeferredNavigations, KeptRequest, ReleasedNavigation};
use super::held::{HeldBody, HoldingRoom, discard};
use super::record::RequestRecord;
use super::request::is_navigation;
use crate::{EgressOutcome, Reason};
use audit::{Cleared, EffectGate, NavigationTicket, PermittedEffect};
use bytes::Bytes;
use hyper::Method;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName};
use policy::{EffectRequest, EffectTransport, effective_method};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A request that was held longer leaves on a connection of its own. Sites close idle ones after seconds, and one that
/// closes while a request is on its way leaves open whether it arrived.
const FRESH_CONNECTION_AFTER: Duration = Duration::from_secs(1);

/// What holding requests takes.
#[derive(Clone)]
pub(crate) struct Holding {
    pub(crate) gate: Arc<dyn EffectGate>,
    pub(crate) room: Arc<HoldingRoom>,
    pub(crate) deferred: Arc<DeferredNavigations>,
}

/// What the gate decided.
#[expect(clippy::large_enum_variant, reason = "made once for a request, and taken apart at once")]
pub(super) enum Decided {
    Cleared(Clearance),
    /// A navigation that is kept.
    Deferred(NavigationTicket),
}

/// A request does not leave now: it was refused, or is kept and may leave later. Its record says which.
pub(super) struct NotCleared;

/// A held request that may leave.
pub(super) struct ClearedRequest {
    pub(super) body: HeldBody,
    pub(super) clearance: Clearance,
}

/// The decision on a held request, until its outcome is known.
pub(super) struct Clearance {
    permit: Option<PermittedEffect>,
    began: Instant,
}

impl Clearance {
    /// Of a request that was kept. Its connection is a new one.
    pub(super) fn of_kept(permit: PermittedEffect) -> Clearance {
        Clearance { permit: Some(permit), began: Instant::now() }
    }

    /// Whether the site's connection may have gone meanwhile.
    pub(super) fn is_late(&self) -> bool {
        self.began.elapsed() >= FRESH_CONNECTION_AFTER
    }

    /// Records what came of it.
    pub(super) fn complete(self, result: impl redact::SafeText) {
        if let Some(permit) = self.permit {
            permit.complete(&redact::redacted!("{}", result));
        }
    }
}

impl SealedConnection {
    /// The request as the gate sees it, still without its body; `None` if it is none of the gate's concern.
    pub(super) fn concerned(
        &self,
        method: &Method,
        url: &str,
        headers: &HeaderMap,
    ) -> Option<(&Holding, EffectRequest)> {
        let holding = self.holding.as_ref()?;
        let request = EffectRequest {
            transport: EffectTransport::Http,
            method: method_of(method, headers),
            url: url.to_owned(),
            content_type: joined(headers, &CONTENT_TYPE),
            destination: destination(headers),
            body: Bytes::new(),
        };
        holding.gate.concerns(&request.head()).then_some((holding, request))
    }

    /// Reads the whole request and waits for the decision. Until then it counts as withdrawn: dropped, it is recorded so.
    pub(super) async fn hold(
        &self,
        (holding, request): (&Holding, EffectRequest),
        (method, headers): (&Method, &HeaderMap),
        mut body: Incoming,
        record: &mut RequestRecord,
    ) -> Result<ClearedRequest, NotCleared> {
        let began = Instant::now();
        let _in_use = self.access.meter.hold();
        record.set_verdict(Reason::EffectWithdrawn.into());
        let head = request.clone();
        let read = async {
            let place = holding.room.enter().await?;
            let held = HeldBody::read(&mut body, &holding.room, &self.options).await?;
            let body = self.readable(headers, held.data()).await?;
            let decoded = if headers.contains_key(CONTENT_ENCODING) { body.len() } else { 0 };
            let places = (place, holding.room.reserve_bytes(decoded).await?);
            Ok((places, held, EffectRequest { body, ..request }))
        };
        let (places, held, request) = match read.await {
            Ok(read) => read,
            Err(reason) => {
                self.refuse_undecided(holding, &head, reason, record);
                if reason != Reason::EffectIncomplete {
                    discard(&mut body, self.options.effect_body_timeout).await;
                }
                return Err(NotCleared);
            }
        };
        let decided = holding.decide(request.clone(), began, record).await;
        drop(places);
        match decided.map_err(|_| NotCleared)? {
            Decided::Cleared(clearance) => Ok(ClearedRequest { body: held, clearance }),
            Decided::Deferred(ticket) => {
                let (method, headers) = (method.clone(), headers.clone());
                holding.deferred.keep(ticket, KeptRequest { request, method, headers, body: held });
                record.forget();
                Err(NotCleared)
            }
        }
    }

    /// The kept request that a navigation stands in for, if it was released.
    pub(super) fn released(&self, url: &str, headers: &HeaderMap) -> Option<ReleasedNavigation> {
        let holding = self.holding.as_ref().filter(|_| is_navigation(headers))?;
        holding.deferred.take_released(url)
    }

    /// The body as the site reads it. What leaves are the bytes as they came: a coding that is undone here is undone for
    /// the gate alone, from the same bytes.
    async fn readable(&self, headers: &HeaderMap, body: Bytes) -> Result<Bytes, Reason> {
        if !headers.contains_key(CONTENT_ENCODING) {
            return Ok(body);
        }
        let decoded = decode_whole(&body, headers, self.options.max_effect_bytes).await;
        decoded.map_err(|error| match error {
            DecodeError::TooLarge => Reason::EffectTooLarge,
            DecodeError::Unreadable => Reason::EffectUnreadable,
        })
    }

    pub(super) fn refuse_undecided(
        &self,
        holding: &Holding,
        request: &EffectRequest,
        reason: Reason,
        record: &mut RequestRecord,
    ) {
        record.set_verdict(reason.into());
        holding.gate.refused_undecided(&request.head(), reason.code().name());
    }
}

impl Holding {
    /// Waits for the gate, and checks that its permit is for this request.
    pub(super) async fn decide(
        &self,
        request: EffectRequest,
        began: Instant,
        record: &mut RequestRecord,
    ) -> Result<Decided, Reason> {
        let decided = match self.gate.decide(request.clone()).await {
            Ok(Cleared::Read) => Ok(None),
            Ok(Cleared::Effect(permit)) if permit.covers(&request) => Ok(Some(permit)),
            Ok(Cleared::Effect(_)) => {
                tracing::error!("a permit for another request was refused");
                Err(Reason::EffectMismatch)
            }
            Ok(Cleared::Deferred(ticket)) => return Ok(Decided::Deferred(ticket)),
            Err(refused) => Err(Reason::EffectRefused(refused.code)),
        };
        record
            .set_verdict(decided.as_ref().map_or_else(|reason| (*reason).into(), |_| EgressOutcome::Allowed));
        decided.map(|permit| Decided::Cleared(Clearance { permit, began }))
    }
}

/// The method that the site may act on.
fn method_of(method: &Method, headers: &HeaderMap) -> String {
    let lines =
        headers.iter().map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())));
    effective_method(method.as_str(), lines)
}

/// `Sec-Fetch-Dest`. Chromium does not send it over plain HTTP; a navigation there counts as one of its tab.
fn destination(headers: &HeaderMap) -> String {
    let named = joined(headers, &HeaderName::from_static("sec-fetch-dest"));
    if named.is_empty() && is_navigation(headers) { "document".to_owned() } else { named }
}

/// All values of a header. A browser sends one; several are not reduced to the one that looks best.
fn joined(headers: &HeaderMap, name: &HeaderName) -> String {
    let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    values.collect::<Vec<_>>().join(", ")
}
