//! Which addresses a session may not reach, and what to call them.

use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of place a refused address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressRange {
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

impl AddressRange {
    /// The kind of address, to stand after "leads to".
    pub fn label(self) -> &'static str {
        match self {
            AddressRange::Loopback => "a loopback address",
            AddressRange::Private => "a private address",
            AddressRange::LinkLocal => "a link-local address",
            AddressRange::Shared => "a shared (carrier-grade NAT) address",
            AddressRange::Metadata => "a cloud metadata address",
            AddressRange::Multicast => "a multicast address",
            AddressRange::Unspecified => "an unspecified address",
            AddressRange::Documentation => "an address set aside for documentation or benchmarks",
            AddressRange::Reserved => "a reserved address",
            AddressRange::Transition => "an IPv6 transition address",
            AddressRange::OwnMachine => "the machine that Stockade runs on",
        }
    }
}

/// Refused IPv4 networks; the first that matches names the address.
const V4: &[(Ipv4Addr, u32, AddressRange)] = &[
    (Ipv4Addr::new(169, 254, 169, 254), 32, AddressRange::Metadata),
    (Ipv4Addr::new(169, 254, 170, 2), 32, AddressRange::Metadata),
    (Ipv4Addr::new(100, 100, 100, 200), 32, AddressRange::Metadata),
    (Ipv4Addr::new(192, 0, 0, 192), 32, AddressRange::Metadata),
    // Azure's host agent has an address that is public to everybody else.
    (Ipv4Addr::new(168, 63, 129, 16), 32, AddressRange::Metadata),
    (Ipv4Addr::new(0, 0, 0, 0), 8, AddressRange::Unspecified),
    (Ipv4Addr::new(10, 0, 0, 0), 8, AddressRange::Private),
    (Ipv4Addr::new(100, 64, 0, 0), 10, AddressRange::Shared),
    (Ipv4Addr::new(127, 0, 0, 0), 8, AddressRange::Loopback),
    (Ipv4Addr::new(169, 254, 0, 0), 16, AddressRange::LinkLocal),
    (Ipv4Addr::new(172, 16, 0, 0), 12, AddressRange::Private),
    (Ipv4Addr::new(192, 0, 0, 0), 24, AddressRange::Reserved),
    (Ipv4Addr::new(192, 0, 2, 0), 24, AddressRange::Documentation),
    // Sinks for reverse lookups (AS112) and tunnels for multicast (AMT): anycast, never a website.
    (Ipv4Addr::new(192, 31, 196, 0), 24, AddressRange::Reserved),
    (Ipv4Addr::new(192, 52, 193, 0), 24, AddressRange::Reserved),
    (Ipv4Addr::new(192, 175, 48, 0), 24, AddressRange::Reserved),
    (Ipv4Addr::new(192, 88, 99, 0), 24, AddressRange::Transition),
    (Ipv4Addr::new(192, 168, 0, 0), 16, AddressRange::Private),
    (Ipv4Addr::new(198, 18, 0, 0), 15, AddressRange::Documentation),
    (Ipv4Addr::new(198, 51, 100, 0), 24, AddressRange::Documentation),
    (Ipv4Addr::new(203, 0, 113, 0), 24, AddressRange::Documentation),
    (Ipv4Addr::new(224, 0, 0, 0), 4, AddressRange::Multicast),
    // Broadcast is in here.
    (Ipv4Addr::new(240, 0, 0, 0), 4, AddressRange::Reserved),
];

/// Refused IPv6 networks; the first that matches names the address. What is outside [`GLOBAL`] and not
/// listed is refused as reserved.
const V6: &[(Ipv6Addr, u32, AddressRange)] = &[
    (Ipv6Addr::LOCALHOST, 128, AddressRange::Loopback),
    (Ipv6Addr::UNSPECIFIED, 128, AddressRange::Unspecified),
    // IPv4-compatible, long given up: `::127.0.0.1`.
    (Ipv6Addr::UNSPECIFIED, 96, AddressRange::Transition),
    // NAT64 inside one network.
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, AddressRange::Transition),
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0), 32, AddressRange::Metadata),
    (Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0), 32, AddressRange::Metadata),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, AddressRange::Private),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, AddressRange::LinkLocal),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, AddressRange::Private),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, AddressRange::Multicast),
    // Teredo and 6to4 can carry any IPv4 address and reach no site: refused whole.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, AddressRange::Transition),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, AddressRange::Transition),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, AddressRange::Documentation),
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48, AddressRange::Documentation),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, AddressRange::Documentation),
    // AS112 again, and the 6bone, which was given back.
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48, AddressRange::Reserved),
    (Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 16, AddressRange::Reserved),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, AddressRange::Reserved),
];

/// The only part of IPv6 that is given out to the public.
const GLOBAL: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// NAT64's well-known prefix: on an IPv6-only network every IPv4 site answers there, so what counts is
/// the IPv4 address inside.
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Why an address is refused; `None` for one on the public internet.
pub(crate) fn refused_range(address: IpAddr) -> Option<AddressRange> {
    match address {
        IpAddr::V4(v4) => refused_v4(v4),
        IpAddr::V6(v6) => refused_v6(v6),
    }
}

fn refused_v4(address: Ipv4Addr) -> Option<AddressRange> {
    V4.iter().find(|(net, bits, _)| within_v4(address, *net, *bits)).map(|(_, _, range)| *range)
}

fn refused_v6(address: Ipv6Addr) -> Option<AddressRange> {
    if let Some(inside) = address.to_ipv4_mapped() {
        return refused_v4(inside);
    }
    if within_v6(address, NAT64.0, NAT64.1) {
        let [.., a, b, c, d] = address.octets();
        return refused_v4(Ipv4Addr::new(a, b, c, d));
    }
    if is_isatap(address) {
        return Some(AddressRange::Transition);
    }
    let listed = V6.iter().find(|(net, bits, _)| within_v6(address, *net, *bits)).map(|(_, _, range)| *range);
    let outside = || (!within_v6(address, GLOBAL.0, GLOBAL.1)).then_some(AddressRange::Reserved);
    listed.or_else(outside)
}

/// An ISATAP interface identifier, under whatever prefix: `0:5efe` or `200:5efe`, then an IPv4 address of the inside.
fn is_isatap(address: Ipv6Addr) -> bool {
    let [.., flag, marker, _, _] = address.segments();
    matches!(flag, 0 | 0x0200) && marker == 0x5efe
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

    fn check(address: &str, expected: Option<AddressRange>) {
        let parsed: IpAddr = address.parse().unwrap();
        assert_eq!(refused_range(parsed), expected, "{address}");
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
            ("127.0.0.1", AddressRange::Loopback),
            ("127.255.255.255", AddressRange::Loopback),
            ("0.0.0.0", AddressRange::Unspecified),
            ("0.1.2.3", AddressRange::Unspecified),
            ("10.0.0.0", AddressRange::Private),
            ("10.255.255.255", AddressRange::Private),
            ("172.16.0.1", AddressRange::Private),
            ("172.31.255.255", AddressRange::Private),
            ("192.168.0.1", AddressRange::Private),
            ("192.168.255.255", AddressRange::Private),
            ("100.64.0.0", AddressRange::Shared),
            ("100.127.255.255", AddressRange::Shared),
            ("169.254.0.1", AddressRange::LinkLocal),
            ("169.254.169.254", AddressRange::Metadata),
            ("169.254.170.2", AddressRange::Metadata),
            ("100.100.100.200", AddressRange::Metadata),
            ("192.0.0.192", AddressRange::Metadata),
            ("168.63.129.16", AddressRange::Metadata),
            ("192.0.0.8", AddressRange::Reserved),
            ("192.0.2.1", AddressRange::Documentation),
            ("198.18.0.1", AddressRange::Documentation),
            ("198.19.255.255", AddressRange::Documentation),
            ("198.51.100.7", AddressRange::Documentation),
            ("203.0.113.9", AddressRange::Documentation),
            ("192.88.99.1", AddressRange::Transition),
            ("192.31.196.1", AddressRange::Reserved),
            ("192.52.193.1", AddressRange::Reserved),
            ("192.175.48.1", AddressRange::Reserved),
            ("2620:4f:8000::1", AddressRange::Reserved),
            ("3ffe::1", AddressRange::Reserved),
            ("2001:1::1", AddressRange::Reserved),
            ("2001:3::1", AddressRange::Reserved),
            ("2001:4:112::1", AddressRange::Reserved),
            ("2001:20::1", AddressRange::Reserved),
            ("2001:30::1", AddressRange::Reserved),
            ("2001:1ff:ffff::1", AddressRange::Reserved),
            ("100:0:0:1::1", AddressRange::Reserved),
            ("2606:4700::5efe:10.0.0.1", AddressRange::Transition),
            ("2606:4700::200:5efe:10.0.0.1", AddressRange::Transition),
            ("fe80::5efe:10.0.0.1", AddressRange::Transition),
            ("224.0.0.1", AddressRange::Multicast),
            ("239.255.255.250", AddressRange::Multicast),
            ("240.0.0.1", AddressRange::Reserved),
            ("255.255.255.255", AddressRange::Reserved),
            ("::1", AddressRange::Loopback),
            ("::", AddressRange::Unspecified),
            ("::127.0.0.1", AddressRange::Transition),
            ("::8.8.8.8", AddressRange::Transition),
            ("::ffff:127.0.0.1", AddressRange::Loopback),
            ("::ffff:10.0.0.1", AddressRange::Private),
            ("::ffff:169.254.169.254", AddressRange::Metadata),
            ("::ffff:0:127.0.0.1", AddressRange::Reserved),
            ("64:ff9b::127.0.0.1", AddressRange::Loopback),
            ("64:ff9b::192.168.1.1", AddressRange::Private),
            ("64:ff9b::169.254.169.254", AddressRange::Metadata),
            ("64:ff9b:1::8.8.8.8", AddressRange::Transition),
            ("2002:7f00:1::", AddressRange::Transition),
            ("2002:0808:0808::1", AddressRange::Transition),
            ("2001:0:7f00:1::1", AddressRange::Transition),
            ("2001:db8::1", AddressRange::Documentation),
            ("2001:2::1", AddressRange::Documentation),
            ("3fff:fff::1", AddressRange::Documentation),
            ("2001:10::1", AddressRange::Reserved),
            ("fc00::1", AddressRange::Private),
            ("fdff:ffff::1", AddressRange::Private),
            ("fd00:ec2::254", AddressRange::Metadata),
            ("fd20:ce::254", AddressRange::Metadata),
            ("fe80::1", AddressRange::LinkLocal),
            ("febf::1", AddressRange::LinkLocal),
            ("fec0::1", AddressRange::Private),
            ("ff02::1", AddressRange::Multicast),
            ("100::1", AddressRange::Reserved),
            ("5f00::1", AddressRange::Reserved),
            ("4000::1", AddressRange::Reserved),
        ] {
            check(address, Some(range));
        }
    }
}
