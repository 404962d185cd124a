//! The addresses of this machine.

use std::io;
use std::net::IpAddr;

/// Every address of every interface. A public one leads to this machine too, past the firewall that guards it from
/// outside.
pub fn own_addresses() -> io::Result<Vec<IpAddr>> {
    let mut found = Vec::new();
    for interface in nix::ifaddrs::getifaddrs().map_err(io::Error::from)? {
        let Some(address) = interface.address else { continue };
        if let Some(v4) = address.as_sockaddr_in() {
            found.push(IpAddr::from(v4.ip()));
        } else if let Some(v6) = address.as_sockaddr_in6() {
            found.push(IpAddr::from(v6.ip()));
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_among_them_and_each_can_be_bound() {
        let all = own_addresses().unwrap();
        assert!(all.iter().any(IpAddr::is_loopback), "{all:?}");
        for address in all.iter().filter(|address| address.is_ipv4()) {
            assert!(std::net::TcpListener::bind((*address, 0)).is_ok(), "{address}");
        }
    }
}
