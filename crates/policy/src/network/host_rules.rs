//! `tools.web.private_host_whitelist`: private networks that may be reached.
//!
//! Entries are numeric addresses or networks; host names are not accepted.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A network in CIDR notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    length: u8,
}

/// The text is not a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither an IP address nor a network such as `192.168.0.0/24`")]
pub struct NetworkFault(pub String);

impl FromStr for Network {
    type Err = NetworkFault;

    fn from_str(text: &str) -> Result<Self, NetworkFault> {
        let fault = || NetworkFault(text.to_owned());
        let (address, length) = match text.trim().split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text.trim(), None),
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
                Ok(Self { first: inside.into(), length })
            }
            first => Ok(Self { first, length }),
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
        write!(f, "{}/{}", self.first, self.length)
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

    /// The entry that contains `ip`.
    pub(super) fn matching(&self, ip: IpAddr) -> Option<&Network> {
        self.0.iter().find(|network| network.contains(ip))
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
