//! Parses `gateway.host` into socket addresses. A host is an IP address, `localhost` or `*`; no
//! name is looked up.

use anyhow::{Result, bail};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// From where an address can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// From this machine only.
    Loopback,
    /// From other machines as well.
    Network,
}

/// The addresses of `hosts`, a comma-separated list.
pub(super) fn parse(hosts: &str, port: u16) -> Result<Vec<SocketAddr>> {
    let mut found: Vec<IpAddr> = Vec::new();
    for host in hosts.split(',').map(str::trim).filter(|host| !host.is_empty()) {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        match bare {
            "*" => found.push(Ipv6Addr::UNSPECIFIED.into()),
            name if name.eq_ignore_ascii_case("localhost") => {
                found.extend([IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]);
            }
            literal => match literal.parse() {
                Ok(address) => found.push(address),
                Err(_) => {
                    bail!(
                        "`{literal}` is not an address to listen on\nhint: an IP address, `localhost` or `*`"
                    )
                }
            },
        }
    }
    // A wildcard includes the addresses of its family; on Linux, IPv6's includes IPv4's as well.
    if found.contains(&Ipv6Addr::UNSPECIFIED.into()) {
        found = vec![Ipv6Addr::UNSPECIFIED.into()];
    } else if found.contains(&Ipv4Addr::UNSPECIFIED.into()) {
        found.retain(|address| address.is_ipv6() || address.is_unspecified());
    }
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found {
        let address = SocketAddr::new(address, port);
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    match addresses.is_empty() {
        true => bail!("`gateway.host` has no address to listen on\nhint: an IP address, `localhost` or `*`"),
        false => Ok(addresses),
    }
}

/// Whether binding failed because this machine has no such address.
pub(super) fn is_absent(why: &io::Error) -> bool {
    use io::ErrorKind::{AddrNotAvailable, Unsupported};
    // 97: the address family is not supported.
    matches!(why.kind(), AddrNotAvailable | Unsupported) || why.raw_os_error() == Some(97)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_addresses_and_wildcards_swallow_the_narrower() {
        for (why, hosts, want) in [
            ("the default", "localhost", "127.0.0.1:1 [::1]:1"),
            ("an address", "127.0.0.1", "127.0.0.1:1"),
            ("in brackets", "[::1]", "[::1]:1"),
            ("several, once", "127.0.0.1, ::1,127.0.0.1", "127.0.0.1:1 [::1]:1"),
            ("everybody", "*", "[::]:1"),
            ("everybody, and more", "127.0.0.1,*", "[::]:1"),
            ("a family", "0.0.0.0,127.0.0.1,::1", "0.0.0.0:1 [::1]:1"),
            ("a name", "example.org", ""),
            ("nothing", " , ", ""),
        ] {
            let got = parse(hosts, 1)
                .map(|found| found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
            assert_eq!(got.unwrap_or_default(), want, "{why}");
        }
    }
}
