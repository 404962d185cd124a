//! Navigations that an agent started. Over plain HTTP Chromium does not say who started a request, and a page of another
//! site can leave `Referer` out; the driver's own navigations are announced here instead.

use super::scope::WebOrigin;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use url::Url;

/// How long an announced navigation may take until it is asked for.
const VALID: Duration = Duration::from_secs(60);
const MAX_NAVIGATIONS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct StartedNavigations {
    /// The newest last.
    list: Mutex<VecDeque<(Url, Instant)>>,
}

impl StartedNavigations {
    /// Announces a navigation to this URL. One that is no web address is none.
    pub(crate) fn announce(&self, url: &str) {
        let Ok(mut url) = Url::parse(url) else { return };
        url.set_fragment(None);
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.retain(|(known, _)| *known != url);
        list.push_back((url, Instant::now()));
        if list.len() > MAX_NAVIGATIONS {
            list.pop_front();
        }
    }

    /// Announces all of them again: the agent goes back or forward to one of them.
    pub(crate) fn announce_again(&self) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.iter_mut().for_each(|(_, at)| *at = Instant::now());
    }

    /// Whether an agent started a request for this path and query.
    pub(crate) fn contains(&self, origin: &WebOrigin, path_and_query: &str) -> bool {
        let Some(url) = url_of(origin, path_and_query) else { return false };
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.iter().any(|(known, at)| *known == url && at.elapsed() < VALID)
    }

    /// Follows a redirect of an announced navigation.
    pub(crate) fn follow(&self, origin: &WebOrigin, path_and_query: &str, location: &str) {
        if self.contains(origin, path_and_query)
            && let Some(next) = url_of(origin, path_and_query).and_then(|url| url.join(location).ok())
            && origin.is_origin_of(next.as_str())
        {
            self.announce(next.as_str());
        }
    }
}

fn url_of(origin: &WebOrigin, path_and_query: &str) -> Option<Url> {
    Url::parse(&format!("{origin}{path_and_query}")).ok()
}

#[cfg(test)]
mod tests {
    use super::super::scope::WebScheme;
    use super::*;
    use crate::hosts::HostName;

    #[test]
    fn a_navigation_is_known_by_its_url_and_so_is_where_its_own_site_leads() {
        let origin =
            |host| WebOrigin { scheme: WebScheme::Http, host: HostName::parse(host).unwrap(), port: 80 };
        let (own, other) = (origin("own.test"), origin("other.test"));
        let started = StartedNavigations::default();
        started.announce("http://own.test/a?b=c#d");
        started.announce("not an address");
        for (origin, target, expected) in [
            (&own, "/a?b=c", true),
            (&own, "/a", false),
            (&own, "/a?b=c&d=e", false),
            (&other, "/a?b=c", false),
            (&own, "", false),
        ] {
            assert_eq!(started.contains(origin, target), expected, "{target}");
        }
        started.follow(&own, "/a?b=c", "/next");
        started.follow(&own, "/a?b=c", "http://other.test/away");
        started.follow(&own, "/not-announced", "/hidden");
        assert!(started.contains(&own, "/next") && !started.contains(&own, "/hidden"));
        assert!(!started.contains(&other, "/away"), "a redirect elsewhere is of that site");
        for number in 0..MAX_NAVIGATIONS {
            started.announce(&format!("http://own.test/{number}"));
        }
        assert!(!started.contains(&own, "/a?b=c") && started.contains(&own, "/0"));
    }
}
