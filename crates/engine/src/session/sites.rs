//! The sites that a session is kept to: whose pages may be opened, for the policy, and what pages may load, for the proxy.

use crate::approvals::SessionAllowances;
use egress::{Reason, RequestedSite};
use policy::{DomainPattern, Endpoint, WebScheme, first_allowing, is_relay};
use std::sync::{Arc, OnceLock};

/// The lists of one session. They grow only by an operator's approval.
pub struct SessionSites {
    /// The granted sites of a signed-in session; unset until its credentials are open, and nothing is reached before.
    home: Option<OnceLock<Vec<DomainPattern>>>,
    /// Each list has to have what is reached: the operator's, and the one that the agent asked for.
    lists: Vec<SiteList>,
    allowances: Arc<SessionAllowances>,
}

/// One allowlist.
#[derive(Clone, Debug, Default)]
pub struct SiteList {
    /// Sites whose pages may be opened.
    pub navigation: Vec<DomainPattern>,
    /// Sites that pages may load from, besides.
    pub resources: Vec<DomainPattern>,
}

impl SessionSites {
    /// A clean session: every public site if there is no list.
    pub fn clean(lists: Vec<SiteList>, allowances: Arc<SessionAllowances>) -> SessionSites {
        SessionSites { home: None, lists, allowances }
    }

    /// A signed-in session: its granted sites, once they are known.
    pub fn signed_in(allowances: Arc<SessionAllowances>) -> SessionSites {
        SessionSites { home: Some(OnceLock::new()), lists: Vec::new(), allowances }
    }

    /// Sets the granted sites, once.
    pub fn set_home(&self, home: Vec<DomainPattern>) {
        if let Some(cell) = &self.home
            && cell.set(home).is_err()
        {
            tracing::error!("the sites of a signed-in session were set twice; the first stand");
        }
    }

    /// Whether every public site may be reached.
    pub fn is_open(&self) -> bool {
        self.home.is_none() && self.lists.is_empty()
    }

    /// The granted sites, for the policy; `None` for a clean session.
    pub fn home(&self) -> Option<Vec<DomainPattern>> {
        self.home.as_ref().map(|home| home.get().cloned().unwrap_or_default())
    }

    /// The lists of pages that may be opened, for the policy.
    pub fn navigation(&self) -> Vec<Vec<DomainPattern>> {
        self.lists.iter().map(|list| list.navigation.clone()).collect()
    }

    /// Whether the proxy may connect. It cannot see into a tunnel, so what may be opened may also be loaded, and a tunnel
    /// to a port counts as either scheme.
    pub fn check(&self, site: &RequestedSite<'_>) -> Result<(), Reason> {
        let schemes: &[WebScheme] =
            if site.is_tunnel { &[WebScheme::Https, WebScheme::Http] } else { &[WebScheme::Http] };
        let endpoints: Vec<Endpoint> =
            schemes.iter().map(|scheme| Endpoint::new(*scheme, site.host, site.port)).collect();
        let allowed_by = |list: &[DomainPattern]| {
            endpoints.iter().any(|endpoint| first_allowing(list, endpoint).is_some())
        };
        if self.is_open() || allowed_by(&self.allowances.domains()) {
            return Ok(());
        }
        let is_home = |home: &OnceLock<Vec<DomainPattern>>| home.get().is_some_and(|home| allowed_by(home));
        let refusal = match &self.home {
            Some(home) if is_home(home) => None,
            Some(_) => Some(Reason::NotHome),
            None => {
                let listed = |list: &SiteList| allowed_by(&list.navigation) || allowed_by(&list.resources);
                (!self.lists.iter().all(listed)).then_some(Reason::NotListed)
            }
        };
        match refusal {
            None => Ok(()),
            Some(_) if is_relay(site.host) => Err(Reason::Relay),
            Some(reason) => Err(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(names: &[&str]) -> Vec<DomainPattern> {
        names.iter().map(|name| DomainPattern::parse(name).unwrap()).collect()
    }

    fn tunnel(sites: &SessionSites, host: &str, port: u16) -> Result<(), Reason> {
        sites.check(&RequestedSite { host, port, is_tunnel: true })
    }

    fn plain(sites: &SessionSites, host: &str, port: u16) -> Result<(), Reason> {
        sites.check(&RequestedSite { host, port, is_tunnel: false })
    }

    #[test]
    fn a_signed_in_session_reaches_its_sites_by_scheme_and_port_and_nothing_before_they_are_known() {
        let allowances = Arc::new(SessionAllowances::default());
        let sites = SessionSites::signed_in(allowances.clone());
        assert_eq!(tunnel(&sites, "shop.test", 443), Err(Reason::NotHome));
        sites.set_home(patterns(&["https://shop.test", "http://wiki.test:8080", "*.goog"]));
        for (host, port, by_tunnel, by_plain) in [
            ("shop.test", 443, Ok(()), Err(Reason::NotHome)),
            ("shop.test", 80, Err(Reason::NotHome), Err(Reason::NotHome)),
            ("shop.test", 8081, Err(Reason::NotHome), Err(Reason::NotHome)),
            ("wiki.test", 8080, Ok(()), Ok(())),
            ("wiki.test", 80, Err(Reason::NotHome), Err(Reason::NotHome)),
            ("other.test", 443, Err(Reason::NotHome), Err(Reason::NotHome)),
            ("shop-test.translate.goog", 443, Err(Reason::Relay), Err(Reason::Relay)),
        ] {
            assert_eq!(
                (tunnel(&sites, host, port), plain(&sites, host, port)),
                (by_tunnel, by_plain),
                "{host}:{port}"
            );
        }
        allowances.add_domain(DomainPattern::parse("other.test").unwrap());
        assert_eq!(tunnel(&sites, "other.test", 443), Ok(()));
        assert_eq!(tunnel(&sites, "other.test", 8443), Err(Reason::NotHome));
    }

    #[test]
    fn a_list_has_pages_and_what_they_load_and_every_list_counts() {
        let allowances = Arc::new(SessionAllowances::default());
        assert_eq!(tunnel(&SessionSites::clean(Vec::new(), allowances.clone()), "any.test", 8443), Ok(()));
        let operator = SiteList {
            navigation: patterns(&["shop.test", "*.archive.org"]),
            resources: patterns(&["*.cdn.test", "web.archive.org"]),
        };
        let agent = SiteList { navigation: patterns(&["shop.test"]), resources: patterns(&["a.cdn.test"]) };
        let one = SessionSites::clean(vec![operator.clone()], allowances.clone());
        let both = SessionSites::clean(vec![operator, agent], allowances);
        for (host, by_one, by_both) in [
            ("shop.test", Ok(()), Ok(())),
            ("a.cdn.test", Ok(()), Ok(())),
            ("b.cdn.test", Ok(()), Err(Reason::NotListed)),
            ("news.test", Err(Reason::NotListed), Err(Reason::NotListed)),
            ("web.archive.org", Ok(()), Err(Reason::Relay)),
        ] {
            assert_eq!((tunnel(&one, host, 443), tunnel(&both, host, 443)), (by_one, by_both), "{host}");
        }
        for refused in ["news.test", "web.archive.org"] {
            crate::seen::seen(tunnel(&both, refused, 443).unwrap_err().code());
        }
        assert_eq!((one.home(), one.navigation().len(), both.navigation().len()), (None, 1, 2));
    }
}
