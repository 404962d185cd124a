//! A navigation that the proxy keeps while a person decides on it.

use super::held::HeldBody;
use audit::KeptNavigation;
use hyper::header::{COOKIE, HeaderMap};
use hyper::{Method, header};
use policy::EffectRequest;

pub(crate) type DeferredNavigations = audit::DeferredNavigations<KeptRequest>;
pub(super) type ReleasedNavigation = audit::ReleasedNavigation<KeptRequest>;

/// A request that the proxy keeps, as the browser sent it.
pub(crate) struct KeptRequest {
    pub(super) request: EffectRequest,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: HeldBody,
}

impl KeptNavigation for KeptRequest {
    fn request(&self) -> &EffectRequest {
        &self.request
    }
}

impl KeptRequest {
    /// The headers that leave: those of the kept request, with the cookies of now.
    pub(super) fn headers_with_cookies_of(&self, now: &HeaderMap) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.remove(COOKIE);
        for cookie in now.get_all(COOKIE) {
            headers.append(COOKIE, cookie.clone());
        }
        // The body is known as a whole.
        headers.remove(header::TRANSFER_ENCODING);
        headers
    }
}
