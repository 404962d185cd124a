//! Reads the bodies of logged responses from Chromium.

use super::site_secrets::DOCUMENT_WAIT;
use crate::{
    browser::Browser,
    cdp::protocol as p,
    credentials::{IssuedResponse, LoggedResponse, ResponseKind},
    deadline::Deadline,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::{StreamExt, stream};
use policy::Origin;
use redact::Secret;
use zeroize::Zeroizing;

/// Bytes of all bodies in one collection; the others stay for the next one.
const MAX_BODY_BYTES: usize = 4 << 20;
const PARALLEL_READS: usize = 4;

#[derive(Default)]
pub(super) struct CollectedResponses {
    pub responses: Vec<IssuedResponse>,
    pub missed: bool,
    pub truncated: bool,
}

impl Browser {
    /// The responses of these origins since the last collection. Those of other origins are dropped.
    pub(super) async fn collect_responses(
        &self,
        origins: &[Origin],
        deadline: Deadline,
    ) -> CollectedResponses {
        let (waiting, messages, missed) = self.shared.lock().injected.responses.take(origins);
        let mut collected = CollectedResponses { missed, ..CollectedResponses::default() };
        let messages = messages.into_iter().map(|body| IssuedResponse { kind: ResponseKind::Data, body });
        collected.responses.extend(messages);
        let reads = waiting.into_iter().map(|one| async {
            let body = self.response_body(&one, deadline).await;
            (one, body)
        });
        let mut bodies = stream::iter(reads).buffered(PARALLEL_READS);
        let mut room = MAX_BODY_BYTES;
        while let Some((one, body)) = bodies.next().await {
            let Some(body) = body else {
                // An incomplete response may have no body yet.
                collected.truncated |= one.is_complete;
                continue;
            };
            let length = body.expose_secret().len();
            if length > room {
                collected.truncated = true;
                // One that is too large by itself would be too large the next time as well.
                if one.is_complete && length <= MAX_BODY_BYTES {
                    self.shared.lock().injected.responses.put_back(one);
                }
                continue;
            }
            room -= length;
            if length > 0 {
                collected.responses.push(IssuedResponse { kind: one.kind, body });
            }
        }
        collected
    }

    async fn response_body(&self, one: &LoggedResponse, deadline: Deadline) -> Option<Secret> {
        let command = p::GetResponseBody { request_id: &one.request };
        let limit = deadline.within(DOCUMENT_WAIT);
        match self.connection.call(Some(&one.session), &command, limit.at).await {
            Ok(p::ResponseBody { body, base64_encoded: false }) => Some(Secret::new(body.0)),
            Ok(p::ResponseBody { body, base64_encoded: true }) => {
                let bytes = Zeroizing::new(BASE64_STANDARD.decode(body.0.as_bytes()).ok()?);
                Some(Secret::new(String::from_utf8_lossy(&bytes).into_owned()))
            }
            Err(error) => {
                tracing::debug!(%error, "a response body could not be read");
                None
            }
        }
    }
}
