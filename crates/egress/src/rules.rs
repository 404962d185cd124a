//! Egress rules: which name, port and address a request may go to.

use crate::address::refused_range;
use crate::hosts::{HostMap, HostName, Upstream};
use crate::resolve::Resolver;
use crate::upstream::UpstreamProxy;
use crate::{AddressRange, Reason};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The rules of a session, as the operator configured them.
#[derive(Clone, Default)]
pub struct Rules {
    hosts: HostMap,
    site_filter: Option<SiteFilter>,
    /// This machine's own addresses, public ones included.
    own_addresses: Arc<[IpAddr]>,
    upstream: Option<Arc<UpstreamProxy>>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("hosts", &self.hosts)
            .field("restricted", &self.site_filter.is_some())
            .field("own_addresses", &self.own_addresses)
            .field("upstream", &self.upstream)
            .finish()
    }
}

/// What a request asks for, as the browser named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedSite<'a> {
    /// In lower case and punycode, brackets around IPv6, without a trailing dot.
    pub host: &'a str,
    pub port: u16,
    /// `CONNECT`: TLS or a WebSocket. Otherwise a plain request.
    pub is_tunnel: bool,
}

/// Whether a session may reach a site, or why not.
type SiteFilter = Arc<dyn Fn(&RequestedSite<'_>) -> Result<(), Reason> + Send + Sync>;

/// Ports on which nobody serves a website and a compromised browser could harm others: remote logins, mail,
/// Windows shares, remote desktop, IRC. Chromium keeps pages off some of them; a compromised Chromium would not.
const REFUSED_PORTS: &[u16] = &[22, 23, 25, 135, 137, 138, 139, 445, 465, 587, 3389, 6667];

/// Names of metadata services. They lead to refused addresses too; a resolver may be made to say otherwise.
const METADATA_NAMES: &[&str] =
    &["metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"];

/// Addresses of one name that are checked and tried; the rest is ignored.
const MAX_ADDRESSES: usize = 8;

/// Addresses that passed, for one request. Only [`Rules::route`] makes one, and only
/// [`connect`](crate::connect::connect) uses it: what is connected to was checked, without a second lookup.
#[derive(Debug)]
pub(crate) struct Route {
    addresses: Vec<SocketAddr>,
    is_mapped: bool,
    upstream: Option<Arc<UpstreamProxy>>,
}

impl Route {
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Whether the operator mapped this host: it may be on this machine.
    pub(crate) fn is_mapped(&self) -> bool {
        self.is_mapped
    }

    /// The proxy that the connection goes through; none for a mapped host, which is inside.
    pub(crate) fn upstream(&self) -> Option<&UpstreamProxy> {
        self.upstream.as_deref()
    }
}

/// Why a request was refused or failed, and the address that this is about, if there was one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RouteError {
    pub(crate) reason: Reason,
    pub(crate) address: Option<SocketAddr>,
}

impl From<Reason> for RouteError {
    fn from(reason: Reason) -> RouteError {
        RouteError { reason, address: None }
    }
}

impl Rules {
    pub fn new(hosts: HostMap) -> Rules {
        Rules { hosts, ..Rules::default() }
    }

    /// The same rules, restricted to the sites that `filter` accepts; others are refused even if the operator mapped
    /// them. It is called for every request, so the set may grow.
    pub fn restricted_to(
        &self,
        filter: impl Fn(&RequestedSite<'_>) -> Result<(), Reason> + Send + Sync + 'static,
    ) -> Rules {
        Rules { site_filter: Some(Arc::new(filter)), ..self.clone() }
    }

    /// The same rules on a machine with these addresses. See [`own_addresses`](crate::own_addresses).
    pub fn refusing(&self, own_addresses: impl IntoIterator<Item = IpAddr>) -> Rules {
        let own_addresses = own_addresses.into_iter().map(|address| address.to_canonical()).collect();
        Rules { own_addresses, ..self.clone() }
    }

    /// The same rules on a network that is left through a proxy.
    pub fn through(&self, upstream: UpstreamProxy) -> Rules {
        Rules { upstream: Some(Arc::new(upstream)), ..self.clone() }
    }

    /// Why a host and port would be refused whatever a name server says and whatever sites the session has. Nothing is
    /// looked up: the name itself can be a message to its name server.
    pub fn refusal(&self, host: &str, port: u16) -> Option<Reason> {
        let Some(host) = HostName::parse(host) else { return Some(Reason::Malformed) };
        if self.hosts.get(&host).is_some() {
            return None;
        }
        if REFUSED_PORTS.contains(&port) {
            return Some(Reason::Port);
        }
        match &host {
            HostName::Address(address) => self.refused_range(*address).map(Reason::Address),
            HostName::Name(name) => refused_name(name).map(Reason::Name),
        }
    }

    pub(crate) async fn route(
        &self,
        host: &HostName,
        port: u16,
        is_tunnel: bool,
        resolver: &Resolver,
    ) -> Result<Route, RouteError> {
        let written = host.to_string();
        if let Some(filter) = &self.site_filter {
            filter(&RequestedSite { host: &written, port, is_tunnel })?;
        }
        if let Some(upstream) = self.hosts.get(host) {
            return mapped(upstream, port, resolver).await;
        }
        if let HostName::Name(name) = host {
            if let Some(reason) = self.refusal(&written, port) {
                return Err(reason.into());
            }
            return self.permitted(&resolver.resolve(name).await?, port);
        }
        if REFUSED_PORTS.contains(&port) {
            return Err(Reason::Port.into());
        }
        let HostName::Address(address) = host else { return Err(Reason::Malformed.into()) };
        self.permitted(&[*address], port)
    }

    /// Why an address is refused; `None` for one on the public internet that is not this machine's.
    fn refused_range(&self, address: IpAddr) -> Option<AddressRange> {
        refused_range(address).or_else(|| {
            self.own_addresses.contains(&address.to_canonical()).then_some(AddressRange::OwnMachine)
        })
    }

    /// Of a name's addresses only the permitted ones are used; if there are none, the first says why.
    fn permitted(&self, found: &[IpAddr], port: u16) -> Result<Route, RouteError> {
        let good = found.iter().filter(|ip| self.refused_range(**ip).is_none()).take(MAX_ADDRESSES);
        let addresses: Vec<SocketAddr> = good.map(|ip| SocketAddr::new(*ip, port)).collect();
        if !addresses.is_empty() {
            return Ok(Route { addresses, is_mapped: false, upstream: self.upstream.clone() });
        }
        let first = found.iter().find_map(|ip| self.refused_range(*ip).map(|range| (*ip, range)));
        Err(match first {
            Some((ip, range)) => {
                RouteError { reason: Reason::Address(range), address: Some(SocketAddr::new(ip, port)) }
            }
            None => Reason::HostNotFound.into(),
        })
    }
}

/// Routes to an upstream that the operator mapped: resolved if it is a name, and not checked.
async fn mapped(upstream: &Upstream, requested_port: u16, resolver: &Resolver) -> Result<Route, RouteError> {
    let port = upstream.port.unwrap_or(requested_port);
    let mut found = match &upstream.host {
        HostName::Address(address) => vec![*address],
        HostName::Name(name) => resolver.resolve(name).await?,
    };
    found.truncate(MAX_ADDRESSES);
    let addresses = found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
    Ok(Route { addresses, is_mapped: true, upstream: None })
}

/// Names that are refused whatever a resolver says about them.
fn refused_name(name: &str) -> Option<AddressRange> {
    if name == "localhost" || name.ends_with(".localhost") {
        return Some(AddressRange::Loopback);
    }
    METADATA_NAMES.contains(&name).then_some(AddressRange::Metadata)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::tests::table;

    async fn route(rules: &Rules, host: &str, port: u16) -> Result<Vec<String>, Reason> {
        let host = HostName::parse(host).unwrap();
        let routed = rules.route(&host, port, false, &table()).await;
        routed.map(|r| r.addresses.iter().map(ToString::to_string).collect()).map_err(|error| error.reason)
    }

    #[tokio::test]
    async fn a_name_is_reached_only_at_its_public_addresses() {
        let rules = Rules::default();
        for (host, expected) in [
            ("public.test", Ok(vec!["93.184.216.34:80"])),
            ("mixed.test", Ok(vec!["93.184.216.34:80", "[2606:4700::1]:80"])),
            ("private.test", Err(Reason::Address(AddressRange::Private))),
            ("mapped.test", Err(Reason::Address(AddressRange::Loopback))),
            ("nowhere.test", Err(Reason::HostNotFound)),
            ("empty.test", Err(Reason::HostNotFound)),
        ] {
            let expected = expected.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(route(&rules, host, 80).await, expected, "{host}");
        }
    }

    #[tokio::test]
    async fn this_machine_and_metadata_are_refused_however_they_are_written() {
        let rules = Rules::default();
        for host in ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "017700000001", "[::1]", "[::ffff:7f00:1]"]
        {
            assert_eq!(route(&rules, host, 80).await, Err(Reason::Address(AddressRange::Loopback)), "{host}");
        }
        for host in ["localhost", "LOCALHOST", "localhost.", "foo.localhost", "a.b.localhost."] {
            assert_eq!(route(&rules, host, 80).await, Err(Reason::Name(AddressRange::Loopback)), "{host}");
        }
        for host in ["metadata.google.internal", "Metadata.Google.Internal.", "metadata"] {
            assert_eq!(route(&rules, host, 80).await, Err(Reason::Name(AddressRange::Metadata)), "{host}");
        }
        for host in ["169.254.169.254", "2852039166", "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]"] {
            assert_eq!(route(&rules, host, 80).await, Err(Reason::Address(AddressRange::Metadata)), "{host}");
        }
    }

    #[tokio::test]
    async fn a_mapped_host_is_reached_at_its_upstream_and_no_other_name_is() {
        let rules = Rules::new(
            HostMap::parse([
                ("shop.test", "127.0.0.1:8080"),
                ("wiki.test", "10.1.2.3"),
                ("alias.test", "private.test:9000"),
                ("localhost", "127.0.0.1:7000"),
            ])
            .unwrap(),
        );
        for (host, port, expected) in [
            ("shop.test", 80, Ok("127.0.0.1:8080")),
            ("SHOP.test.", 443, Ok("127.0.0.1:8080")),
            ("wiki.test", 25, Ok("10.1.2.3:25")),
            ("alias.test", 80, Ok("10.0.0.5:9000")),
            ("localhost", 80, Ok("127.0.0.1:7000")),
            ("a.shop.test", 80, Err(Reason::HostNotFound)),
            ("127.0.0.1", 8080, Err(Reason::Address(AddressRange::Loopback))),
            ("private.test", 9000, Err(Reason::Address(AddressRange::Private))),
            ("foo.localhost", 80, Err(Reason::Name(AddressRange::Loopback))),
        ] {
            let expected = expected.map(|one| vec![one.to_owned()]);
            assert_eq!(route(&rules, host, port).await, expected, "{host}:{port}");
        }
    }

    #[tokio::test]
    async fn a_restricted_session_reaches_only_its_allowed_hosts() {
        let mapped = Rules::new(HostMap::parse([("shop.test", "127.0.0.1:8080")]).unwrap());
        let home = |site: &RequestedSite<'_>| match (site.host, site.port, site.is_tunnel) {
            ("public.test", 80, false) => Ok(()),
            ("relay.test", ..) => Err(Reason::Relay),
            _ => Err(Reason::NotHome),
        };
        let rules = mapped.restricted_to(home);
        for (host, expected) in [
            ("public.test", Ok(vec!["93.184.216.34:80".to_owned()])),
            ("PUBLIC.test.", Ok(vec!["93.184.216.34:80".to_owned()])),
            ("mixed.test", Err(Reason::NotHome)),
            ("shop.test", Err(Reason::NotHome)),
            ("93.184.216.34", Err(Reason::NotHome)),
            ("relay.test", Err(Reason::Relay)),
        ] {
            assert_eq!(route(&rules, host, 80).await, expected, "{host}");
        }
        assert_eq!(route(&rules, "public.test", 8081).await, Err(Reason::NotHome));
        let host = HostName::parse("public.test").unwrap();
        let tunnel = rules.route(&host, 80, true, &table()).await;
        assert_eq!(tunnel.unwrap_err().reason, Reason::NotHome);
    }

    #[tokio::test]
    async fn ports_that_are_not_for_browsing_are_refused() {
        for port in [22, 25, 445, 587, 3389] {
            assert_eq!(route(&Rules::default(), "public.test", port).await, Err(Reason::Port), "{port}");
        }
        for port in [80, 443, 8080, 8443, 3000] {
            assert!(route(&Rules::default(), "public.test", port).await.is_ok(), "{port}");
        }
    }

    #[tokio::test]
    async fn the_machines_own_public_addresses_are_refused_unless_mapped() {
        let hosts = HostMap::parse([("mine.test", "93.184.216.34:8080")]).unwrap();
        let rules = Rules::new(hosts).refusing(["93.184.216.34".parse().unwrap()]);
        let own = Err(Reason::Address(AddressRange::OwnMachine));
        for host in ["93.184.216.34", "public.test", "[::ffff:93.184.216.34]", "1572395042"] {
            assert_eq!(route(&rules, host, 80).await, own, "{host}");
        }
        assert_eq!(route(&rules, "mixed.test", 80).await, Ok(vec!["[2606:4700::1]:80".to_owned()]));
        assert_eq!(route(&rules, "mine.test", 80).await, Ok(vec!["93.184.216.34:8080".to_owned()]));
    }

    #[test]
    fn what_is_refused_anyway_is_known_without_a_lookup() {
        let rules = Rules::new(HostMap::parse([("localhost", "127.0.0.1:7000")]).unwrap());
        for (host, port, expected) in [
            ("127.1", 80, Some(Reason::Address(AddressRange::Loopback))),
            ("[::1]", 80, Some(Reason::Address(AddressRange::Loopback))),
            ("10.0.0.1", 443, Some(Reason::Address(AddressRange::Private))),
            ("a.localhost", 80, Some(Reason::Name(AddressRange::Loopback))),
            ("metadata.google.internal", 80, Some(Reason::Name(AddressRange::Metadata))),
            ("public.test", 25, Some(Reason::Port)),
            ("a b", 80, Some(Reason::Malformed)),
            ("localhost", 80, None),
            ("public.test", 443, None),
            ("private.test", 443, None),
        ] {
            assert_eq!(rules.refusal(host, port), expected, "{host}:{port}");
        }
    }

    #[test]
    fn a_name_with_very_many_addresses_is_cut_short() {
        let many: Vec<IpAddr> = (1..=200).map(|n| IpAddr::from([93, 184, 216, n])).collect();
        assert_eq!(Rules::default().permitted(&many, 80).unwrap().addresses.len(), MAX_ADDRESSES);
    }
}
