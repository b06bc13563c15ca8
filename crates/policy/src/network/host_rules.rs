//! `tools.web.private_host_whitelist`: private networks that may be reached.
//!
//! Entries are numeric addresses or networks, with a port if only that one is meant; host names are
//! not accepted.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A network in CIDR notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    length: u8,
    port: Option<u16>,
}

/// The text is not a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither an IP address nor a network such as `192.168.0.0/24`, with or without a port")]
pub struct NetworkFault(pub String);

impl FromStr for Network {
    type Err = NetworkFault;

    fn from_str(text: &str) -> Result<Self, NetworkFault> {
        let fault = || NetworkFault(text.to_owned());
        let (network, port) = split_port(text.trim());
        let port = match port {
            None => None,
            Some(digits) if !digits.bytes().all(|b| b.is_ascii_digit()) => return Err(fault()),
            Some(digits) => Some(digits.parse().ok().filter(|port| *port != 0).ok_or_else(fault)?),
        };
        let (address, length) = match network.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (network, None),
        };
        let first: IpAddr = address.parse().map_err(|_| fault())?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        let length: u8 = match length {
            None => most,
            Some(digits) if !digits.bytes().all(|b| b.is_ascii_digit()) => return Err(fault()),
            Some(digits) => digits.parse().ok().filter(|length| *length <= most).ok_or_else(fault)?,
        };
        // An IPv4-mapped address stands for its IPv4 address, as it does in `contains`.
        match first.to_canonical() {
            IpAddr::V4(inside) if first.is_ipv6() => {
                let length = length.checked_sub(96).ok_or_else(fault)?;
                Ok(Self { first: inside.into(), length, port })
            }
            first => Ok(Self { first, length, port }),
        }
    }
}

impl Network {
    /// Whether the network contains `ip`.
    pub fn contains(&self, ip: IpAddr) -> bool {
        let same = |mine: u128, theirs: u128, width: u32| {
            let rest = width - u32::from(self.length);
            (mine ^ theirs).checked_shr(rest).unwrap_or_default() == 0
        };
        match (self.first, ip.to_canonical()) {
            (IpAddr::V4(mine), IpAddr::V4(ip)) => same(u32::from(mine).into(), u32::from(ip).into(), 32),
            (IpAddr::V6(mine), IpAddr::V6(ip)) => same(mine.into(), ip.into(), 128),
            _ => false,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.port, self.first) {
            (None, first) => write!(f, "{first}/{}", self.length),
            (Some(port), IpAddr::V4(first)) => write!(f, "{first}/{}:{port}", self.length),
            (Some(port), IpAddr::V6(first)) => write!(f, "[{first}/{}]:{port}", self.length),
        }
    }
}

/// A network and its port, as in `127.0.0.1:8080`, `10.0.0.0/8:443` and `[fd00::/8]:443`.
fn split_port(text: &str) -> (&str, Option<&str>) {
    if let Some((inside, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return match rest.strip_prefix(':') {
            Some(port) => (inside, Some(port)),
            None if rest.is_empty() => (inside, None),
            None => (text, None),
        };
    }
    match text.split_once(':') {
        // One colon: an IPv6 address has more.
        Some((network, port)) if !port.contains(':') => (network, Some(port)),
        _ => (text, None),
    }
}

/// The networks that may be reached although they are private.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRules(Vec<Network>);

impl HostRules {
    /// Parses the entries of the configuration.
    pub fn compile(entries: &[String]) -> Result<Self, NetworkFault> {
        entries.iter().map(|entry| entry.parse()).collect::<Result<_, _>>().map(Self)
    }

    /// The entry that contains `ip` and this port.
    pub(super) fn matching(&self, ip: IpAddr, port: u16) -> Option<&Network> {
        let is_open = |network: &&Network| network.port.is_none_or(|own| own == port);
        self.0.iter().filter(is_open).find(|network| network.contains(ip))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_written_in_numbers() {
        for (why, text, inside, outside) in [
            ("one address", "127.0.0.1", "127.0.0.1", "127.0.0.2"),
            ("the same as a network", "127.0.0.1/32", "127.0.0.1", "127.0.0.0"),
            ("a network", "192.168.0.0/24", "192.168.0.255", "192.168.1.0"),
            ("host bits do not count", "192.168.0.77/24", "192.168.0.1", "192.168.1.77"),
            ("a mapped address is meant too", "10.0.0.0/8", "::ffff:10.1.2.3", "::10.1.2.3"),
            ("a mapped network", "::ffff:10.0.0.0/104", "10.1.2.3", "11.1.2.3"),
            ("all of IPv4", "0.0.0.0/0", "10.1.2.3", "::1"),
            ("all of IPv6", "::/0", "::1", "127.0.0.1"),
            ("IPv6", "fd00::/8", "fdff::1", "fe00::1"),
            ("spaces around it", " ::1 ", "::1", "::2"),
        ] {
            let network: Network = text.parse().unwrap();
            assert!(network.contains(inside.parse().unwrap()), "{why}: {inside} in {network}");
            assert!(!network.contains(outside.parse().unwrap()), "{why}: {outside} in {network}");
        }
    }

    #[test]
    fn an_entry_with_a_port_opens_that_port_alone() {
        for (text, ip) in [
            ("127.0.0.1:8080", "127.0.0.1"),
            ("10.0.0.0/8:8080", "10.1.2.3"),
            ("[::1]:8080", "::1"),
            ("[fd00::/8]:8080", "fd00::1"),
        ] {
            let (rules, ip) = (HostRules::compile(&[text.to_owned()]).unwrap(), ip.parse().unwrap());
            assert!(rules.matching(ip, 8080).is_some(), "{text}");
            assert!(rules.matching(ip, 8081).is_none() && rules.matching(ip, 80).is_none(), "{text}");
            let shown = rules.matching(ip, 8080).unwrap().to_string();
            assert_eq!(shown.parse::<Network>().unwrap().to_string(), shown);
        }
        let rules = HostRules::compile(&["127.0.0.1".to_owned()]).unwrap();
        assert!(rules.matching("127.0.0.1".parse().unwrap(), 1).is_some(), "without a port, every one");
        for text in [
            "127.0.0.1:",
            "127.0.0.1:0",
            "127.0.0.1:65536",
            "127.0.0.1:x",
            "[::1]x",
            "[::1",
            "127.0.0.1:80:81",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_network_opens_nothing() {
        for text in [
            "",
            "localhost",
            "10.0.0.0/33",
            "::1/129",
            "10.0.0.0/-1",
            "10.0.0.0/",
            "10.0.0/8",
            "10.0.0.0/+8",
            "*",
            "::ffff:0.0.0.0/8",
        ] {
            assert!(text.parse::<Network>().is_err(), "`{text}`");
        }
    }
}
