//! Which addresses a session may not reach, and what to call them.

use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of place a refused address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Range {
    Loopback,
    Private,
    LinkLocal,
    /// Carrier-grade NAT: the inside of somebody's network, and of some clouds.
    Shared,
    /// Where a cloud keeps its machines' credentials.
    Metadata,
    Multicast,
    Unspecified,
    /// Set aside for documentation and benchmarks.
    Documentation,
    /// Set aside for anything else, or not given out yet.
    Reserved,
    /// IPv6 that carries an IPv4 address through a relay; nobody serves the web there.
    Transition,
    /// An address of the machine that Stockade runs on.
    OwnMachine,
}

impl Range {
    /// The kind of address, to stand after "leads to".
    pub fn label(self) -> &'static str {
        match self {
            Range::Loopback => "a loopback address",
            Range::Private => "a private address",
            Range::LinkLocal => "a link-local address",
            Range::Shared => "a shared (carrier-grade NAT) address",
            Range::Metadata => "a cloud metadata address",
            Range::Multicast => "a multicast address",
            Range::Unspecified => "an unspecified address",
            Range::Documentation => "an address set aside for documentation or benchmarks",
            Range::Reserved => "a reserved address",
            Range::Transition => "an IPv6 transition address",
            Range::OwnMachine => "the machine that Stockade runs on",
        }
    }
}

/// Refused IPv4 networks; the first that matches names the address.
const V4: &[(Ipv4Addr, u32, Range)] = &[
    (Ipv4Addr::new(169, 254, 169, 254), 32, Range::Metadata),
    (Ipv4Addr::new(169, 254, 170, 2), 32, Range::Metadata),
    (Ipv4Addr::new(100, 100, 100, 200), 32, Range::Metadata),
    (Ipv4Addr::new(192, 0, 0, 192), 32, Range::Metadata),
    // Azure's host agent has an address that is public to everybody else.
    (Ipv4Addr::new(168, 63, 129, 16), 32, Range::Metadata),
    (Ipv4Addr::new(0, 0, 0, 0), 8, Range::Unspecified),
    (Ipv4Addr::new(10, 0, 0, 0), 8, Range::Private),
    (Ipv4Addr::new(100, 64, 0, 0), 10, Range::Shared),
    (Ipv4Addr::new(127, 0, 0, 0), 8, Range::Loopback),
    (Ipv4Addr::new(169, 254, 0, 0), 16, Range::LinkLocal),
    (Ipv4Addr::new(172, 16, 0, 0), 12, Range::Private),
    (Ipv4Addr::new(192, 0, 0, 0), 24, Range::Reserved),
    (Ipv4Addr::new(192, 0, 2, 0), 24, Range::Documentation),
    (Ipv4Addr::new(192, 88, 99, 0), 24, Range::Transition),
    (Ipv4Addr::new(192, 168, 0, 0), 16, Range::Private),
    (Ipv4Addr::new(198, 18, 0, 0), 15, Range::Documentation),
    (Ipv4Addr::new(198, 51, 100, 0), 24, Range::Documentation),
    (Ipv4Addr::new(203, 0, 113, 0), 24, Range::Documentation),
    (Ipv4Addr::new(224, 0, 0, 0), 4, Range::Multicast),
    // Broadcast is in here.
    (Ipv4Addr::new(240, 0, 0, 0), 4, Range::Reserved),
];

/// Refused IPv6 networks; the first that matches names the address. What is outside [`GLOBAL`] and not
/// listed is refused as reserved.
const V6: &[(Ipv6Addr, u32, Range)] = &[
    (Ipv6Addr::LOCALHOST, 128, Range::Loopback),
    (Ipv6Addr::UNSPECIFIED, 128, Range::Unspecified),
    // IPv4-compatible, long given up: `::127.0.0.1`.
    (Ipv6Addr::UNSPECIFIED, 96, Range::Transition),
    // NAT64 inside one network.
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, Range::Transition),
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0), 32, Range::Metadata),
    (Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0), 32, Range::Metadata),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, Range::Private),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, Range::LinkLocal),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, Range::Private),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, Range::Multicast),
    // Teredo and 6to4 can carry any IPv4 address and reach no site: refused whole.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, Range::Transition),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, Range::Transition),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, Range::Documentation),
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48, Range::Documentation),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, Range::Documentation),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, Range::Reserved),
];

/// The only part of IPv6 that is given out to the public.
const GLOBAL: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// NAT64's well-known prefix: on an IPv6-only network every IPv4 site answers there, so what counts is
/// the IPv4 address inside.
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Why an address is refused; `None` for one on the public internet.
pub(crate) fn refused(address: IpAddr) -> Option<Range> {
    match address {
        IpAddr::V4(v4) => refused_v4(v4),
        IpAddr::V6(v6) => refused_v6(v6),
    }
}

fn refused_v4(address: Ipv4Addr) -> Option<Range> {
    V4.iter().find(|(net, bits, _)| within_v4(address, *net, *bits)).map(|(_, _, range)| *range)
}

fn refused_v6(address: Ipv6Addr) -> Option<Range> {
    if let Some(inside) = address.to_ipv4_mapped() {
        return refused_v4(inside);
    }
    if within_v6(address, NAT64.0, NAT64.1) {
        let [.., a, b, c, d] = address.octets();
        return refused_v4(Ipv4Addr::new(a, b, c, d));
    }
    let listed = V6.iter().find(|(net, bits, _)| within_v6(address, *net, *bits)).map(|(_, _, range)| *range);
    let outside = || (!within_v6(address, GLOBAL.0, GLOBAL.1)).then_some(Range::Reserved);
    listed.or_else(outside)
}

/// `bits` is 1 to 32 in every row above, so the shift is in range.
fn within_v4(address: Ipv4Addr, net: Ipv4Addr, bits: u32) -> bool {
    (address.to_bits() ^ net.to_bits()) >> (32 - bits) == 0
}

/// `bits` is 1 to 128 in every row above, so the shift is in range.
fn within_v6(address: Ipv6Addr, net: Ipv6Addr, bits: u32) -> bool {
    (address.to_bits() ^ net.to_bits()) >> (128 - bits) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, expected: Option<Range>) {
        let parsed: IpAddr = address.parse().unwrap();
        assert_eq!(refused(parsed), expected, "{address}");
    }

    #[test]
    fn addresses_of_the_public_internet_are_permitted() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001::1",
            "2003::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ] {
            check(address, None);
        }
    }

    #[test]
    fn every_other_address_is_refused_by_its_name() {
        for (address, range) in [
            ("127.0.0.1", Range::Loopback),
            ("127.255.255.255", Range::Loopback),
            ("0.0.0.0", Range::Unspecified),
            ("0.1.2.3", Range::Unspecified),
            ("10.0.0.0", Range::Private),
            ("10.255.255.255", Range::Private),
            ("172.16.0.1", Range::Private),
            ("172.31.255.255", Range::Private),
            ("192.168.0.1", Range::Private),
            ("192.168.255.255", Range::Private),
            ("100.64.0.0", Range::Shared),
            ("100.127.255.255", Range::Shared),
            ("169.254.0.1", Range::LinkLocal),
            ("169.254.169.254", Range::Metadata),
            ("169.254.170.2", Range::Metadata),
            ("100.100.100.200", Range::Metadata),
            ("192.0.0.192", Range::Metadata),
            ("168.63.129.16", Range::Metadata),
            ("192.0.0.8", Range::Reserved),
            ("192.0.2.1", Range::Documentation),
            ("198.18.0.1", Range::Documentation),
            ("198.19.255.255", Range::Documentation),
            ("198.51.100.7", Range::Documentation),
            ("203.0.113.9", Range::Documentation),
            ("192.88.99.1", Range::Transition),
            ("224.0.0.1", Range::Multicast),
            ("239.255.255.250", Range::Multicast),
            ("240.0.0.1", Range::Reserved),
            ("255.255.255.255", Range::Reserved),
            ("::1", Range::Loopback),
            ("::", Range::Unspecified),
            ("::127.0.0.1", Range::Transition),
            ("::8.8.8.8", Range::Transition),
            ("::ffff:127.0.0.1", Range::Loopback),
            ("::ffff:10.0.0.1", Range::Private),
            ("::ffff:169.254.169.254", Range::Metadata),
            ("::ffff:0:127.0.0.1", Range::Reserved),
            ("64:ff9b::127.0.0.1", Range::Loopback),
            ("64:ff9b::192.168.1.1", Range::Private),
            ("64:ff9b::169.254.169.254", Range::Metadata),
            ("64:ff9b:1::8.8.8.8", Range::Transition),
            ("2002:7f00:1::", Range::Transition),
            ("2002:0808:0808::1", Range::Transition),
            ("2001:0:7f00:1::1", Range::Transition),
            ("2001:db8::1", Range::Documentation),
            ("2001:2::1", Range::Documentation),
            ("3fff:fff::1", Range::Documentation),
            ("2001:10::1", Range::Reserved),
            ("fc00::1", Range::Private),
            ("fdff:ffff::1", Range::Private),
            ("fd00:ec2::254", Range::Metadata),
            ("fd20:ce::254", Range::Metadata),
            ("fe80::1", Range::LinkLocal),
            ("febf::1", Range::LinkLocal),
            ("fec0::1", Range::Private),
            ("ff02::1", Range::Multicast),
            ("100::1", Range::Reserved),
            ("5f00::1", Range::Reserved),
            ("4000::1", Range::Reserved),
        ] {
            check(address, Some(range));
        }
    }
}
