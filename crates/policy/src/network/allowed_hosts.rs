//! `isolation.network.allow` and `deny`: the hosts that a cage reaches by name.
//!
//! A name is judged before it is resolved, and the addresses that it resolves to afterwards.

use super::ip_ranges::why_not_public;
use crate::refusal::{Code, Layer, Refusal};
use crate::verdict::{Grant, Verdict};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

const SETTING: &str = "isolation.network";

/// The ports of a host whose entry names none.
const WEB_PORTS: [u16; 2] = [443, 80];

/// The longest host name.
const MAX_NAME: usize = 253;

/// The longest part of a host name.
const MAX_LABEL: usize = 63;

/// One entry: `api.example.com`, `*.example.org:443`, `192.168.1.5:5432`, `localhost:8080`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    host: HostMatch,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostMatch {
    /// This name.
    Name(String),
    /// Every name beneath this one.
    Beneath(String),
    /// This address.
    Address(Ipv4Addr),
    /// The host's own loopback.
    Loopback,
}

/// Why a text is no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostPatternFault {
    /// Not a name, a wildcard or an address.
    #[error("this is not a host: a name, `*.` and a name, or an IPv4 address")]
    Host,
    /// The port is not a number from 1 to 65535.
    #[error("the port is not a number from 1 to 65535")]
    Port,
    /// A URL, or a part of one.
    #[error("this is a URL; only the host and its port count")]
    Url,
    /// An IPv6 address.
    #[error("an IPv6 address cannot be reached from a cage; its name can")]
    Ipv6,
    /// An address that is none of a host's.
    #[error("this is not the address of one host")]
    Address,
}

impl FromStr for HostPattern {
    type Err = HostPatternFault;

    fn from_str(text: &str) -> Result<Self, HostPatternFault> {
        let text = text.trim();
        if text.contains('/') {
            return Err(HostPatternFault::Url);
        }
        if text.starts_with('[') || text.matches(':').count() > 1 {
            return Err(HostPatternFault::Ipv6);
        }
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(parse_port(port).ok_or(HostPatternFault::Port)?)),
            None => (text, None),
        };
        let host = normal_name(host);
        let host = match (host.parse::<Ipv4Addr>(), host.strip_prefix("*.")) {
            (Ok(Ipv4Addr::LOCALHOST), _) => HostMatch::Loopback,
            (Ok(address), _) if !is_of_a_host(address) => return Err(HostPatternFault::Address),
            (Ok(address), _) => HostMatch::Address(address),
            (Err(_), _) if host == "localhost" => HostMatch::Loopback,
            (Err(_), Some(name)) if is_name(name) => HostMatch::Beneath(name.to_owned()),
            (Err(_), None) if is_name(&host) => HostMatch::Name(host),
            _ => return Err(HostPatternFault::Host),
        };
        Ok(Self { host, port })
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            HostMatch::Name(name) => write!(f, "{name}")?,
            HostMatch::Beneath(name) => write!(f, "*.{name}")?,
            HostMatch::Address(address) => write!(f, "{address}")?,
            HostMatch::Loopback => write!(f, "localhost")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl HostPattern {
    /// Whether it is about this host, at whatever port.
    fn matches_host(&self, host: &str) -> bool {
        match &self.host {
            HostMatch::Name(name) => name == host,
            HostMatch::Beneath(name) => {
                let rest = host.strip_suffix(name.as_str()).and_then(|rest| rest.strip_suffix('.'));
                rest.is_some_and(|rest| !rest.is_empty()) && is_name(host)
            }
            HostMatch::Address(address) => host.parse() == Ok(*address),
            HostMatch::Loopback => host == "localhost" || host.parse() == Ok(Ipv4Addr::LOCALHOST),
        }
    }

    /// Its ports.
    fn ports(&self) -> &[u16] {
        self.port.as_ref().map_or(&WEB_PORTS, std::slice::from_ref)
    }

    /// Why an address that its host resolves to is not connected to. Only an entry that names an
    /// address, or `localhost`, reaches this machine or the local link; only one that names the
    /// host reaches a private network.
    fn why_not(&self, ip: IpAddr) -> Option<&'static str> {
        let ip = ip.to_canonical();
        let why = why_not_public(ip)?;
        let is_local = match ip {
            IpAddr::V4(ip) => {
                ip.is_loopback()
                    || ip.is_link_local()
                    || ip.is_unspecified()
                    || ip.is_multicast()
                    || ip.is_broadcast()
            }
            // What is unique local is a private network, but for the metadata of a cloud.
            IpAddr::V6(ip) => !ip.is_unique_local() || ip.segments()[..2] == [0xfd00, 0x0ec2],
        };
        match &self.host {
            HostMatch::Address(own) => (ip != *own).then_some(why),
            HostMatch::Loopback => (!ip.is_loopback()).then_some(why),
            HostMatch::Name(_) => is_local.then_some(why),
            HostMatch::Beneath(_) => Some(why),
        }
    }
}

/// The hosts that a cage reaches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    allow: Vec<HostPattern>,
    deny: Vec<HostPattern>,
}

/// What is said of a host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostVerdict<'a> {
    /// Reached, by this entry.
    Allowed(&'a HostPattern),
    /// An entry of `deny` closes it.
    Denied(&'a HostPattern),
    /// No entry allows it.
    NotAllowed,
}

impl AllowedHosts {
    /// Entries that are reached, but for those of `deny`.
    pub fn new(allow: Vec<HostPattern>, deny: Vec<HostPattern>) -> Self {
        Self { allow, deny }
    }

    /// The entries that are reached.
    pub fn allow(&self) -> &[HostPattern] {
        &self.allow
    }

    /// The verdict on a host and a port. An entry of `deny` without a port closes every port.
    pub fn judge(&self, host: &str, port: u16) -> HostVerdict<'_> {
        let host = &normal_name(host);
        let denies =
            |entry: &&HostPattern| entry.matches_host(host) && entry.port.is_none_or(|denied| denied == port);
        if let Some(entry) = self.deny.iter().find(denies) {
            return HostVerdict::Denied(entry);
        }
        let allows = |entry: &&HostPattern| entry.matches_host(host) && entry.ports().contains(&port);
        // One that names the host comes before one that names its domain.
        let is_domain = |entry: &&HostPattern| matches!(entry.host, HostMatch::Beneath(_));
        let allowed = self.allow.iter().filter(allows).min_by_key(is_domain);
        allowed.map_or(HostVerdict::NotAllowed, HostVerdict::Allowed)
    }

    /// The entries that are not reached, although others allow them.
    pub fn deny(&self) -> &[HostPattern] {
        &self.deny
    }

    /// The verdict in words, on a host at one port or at any.
    pub fn verdict(&self, host: &str, port: Option<u16>) -> Verdict {
        let asked = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let judged = match port.or_else(|| self.ports(host).first().copied()) {
            Some(port) => self.judge(host, port),
            None => self.judge(host, WEB_PORTS[0]),
        };
        let (rule, hint) = match judged {
            HostVerdict::Allowed(entry) => {
                return Verdict::Allow(Grant { rule: format!("{SETTING}.allow:{entry}") });
            }
            HostVerdict::Denied(entry) => {
                (format!("{SETTING}.deny:{entry}"), format!("`{SETTING}.deny` has `{entry}`"))
            }
            HostVerdict::NotAllowed => (
                format!("{SETTING}.allow"),
                format!(
                    "`{SETTING}.allow`: [\"{asked}\"] in the configuration would allow exactly this host"
                ),
            ),
        };
        let sentence = "access denied: host is not one of the allowed hosts".to_owned();
        Verdict::Deny(Refusal { code: Code::HostNotAllowed, sentence, rule, layer: Layer::Policy, hint })
    }

    /// Why an address that a host resolves to is not connected to: for its entry, or since an entry
    /// of `deny` closes the address.
    pub fn why_not(&self, entry: &HostPattern, ip: IpAddr, port: u16) -> Option<&'static str> {
        let is_denied = matches!(self.judge(&ip.to_canonical().to_string(), port), HostVerdict::Denied(_));
        if is_denied { Some("an address that `deny` has") } else { entry.why_not(ip) }
    }

    /// The ports at which a host is reached.
    pub fn ports(&self, host: &str) -> Vec<u16> {
        let host = &normal_name(host);
        let of_host = self.allow.iter().filter(|entry| entry.matches_host(host));
        let mut ports: Vec<u16> = of_host.flat_map(HostPattern::ports).copied().collect();
        ports.sort_unstable();
        ports.dedup();
        ports.retain(|port| matches!(self.judge(host, *port), HostVerdict::Allowed(_)));
        ports
    }

    /// The addresses, and the ports of the host's loopback, that entries name.
    pub fn addresses(&self) -> Vec<(Ipv4Addr, u16)> {
        let named = self.allow.iter().filter_map(|entry| match entry.host {
            HostMatch::Address(address) => Some((address, entry.ports())),
            HostMatch::Loopback => Some((Ipv4Addr::LOCALHOST, entry.ports())),
            HostMatch::Name(_) | HostMatch::Beneath(_) => None,
        });
        let each = named.flat_map(|(address, ports)| ports.iter().map(move |port| (address, *port)));
        let mut all: Vec<_> = each
            .filter(|(ip, port)| matches!(self.judge(&ip.to_string(), *port), HostVerdict::Allowed(_)))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl fmt::Display for AllowedHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |entries: &[HostPattern]| entries.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match (self.allow.is_empty(), self.deny.is_empty()) {
            (true, _) => write!(f, "no host"),
            (false, true) => write!(f, "{}", list(&self.allow)),
            (false, false) => write!(f, "{}, but not {}", list(&self.allow), list(&self.deny)),
        }
    }
}

/// Whether an address can be an entry: it is one host's, and not of the range in which cages have
/// addresses of their own.
fn is_of_a_host(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    let is_cages = first == 198 && second & 0xfe == 18;
    !is_cages && first != 0 && first < 224
}

/// A name as it is compared: in lower case, without the dot of the root.
fn normal_name(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

fn parse_port(text: &str) -> Option<u16> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port > 0)
}

/// Whether it can be a host's name. The last part of a name is no number: `1.2.3` or `0x7f.1` would
/// be an address to some resolvers.
fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= MAX_LABEL
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= MAX_NAME
        && name.split('.').all(is_label)
        && !last.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(allow: &[&str], deny: &[&str]) -> AllowedHosts {
        let parse = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        AllowedHosts::new(parse(allow), parse(deny))
    }

    #[test]
    fn an_entry_is_a_host_with_or_without_a_port() {
        for (text, shown) in [
            ("api.example.com", "api.example.com"),
            (" API.Example.com. ", "api.example.com"),
            ("*.example.org:443", "*.example.org:443"),
            ("registry", "registry"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("192.168.1.5:5432", "192.168.1.5:5432"),
            ("127.0.0.1:80", "localhost:80"),
            ("localhost:5432", "localhost:5432"),
            ("localhost", "localhost"),
            ("127.0.0.2:80", "127.0.0.2:80"),
        ] {
            assert_eq!(text.parse::<HostPattern>().unwrap().to_string(), shown, "{text}");
        }
        for (text, fault) in [
            ("", HostPatternFault::Host),
            ("*", HostPatternFault::Host),
            ("*.", HostPatternFault::Host),
            ("a.*.example", HostPatternFault::Host),
            ("*example.com", HostPatternFault::Host),
            ("a..b", HostPatternFault::Host),
            ("-a.example", HostPatternFault::Host),
            ("a b", HostPatternFault::Host),
            ("bücher.example", HostPatternFault::Host),
            ("1.2.3", HostPatternFault::Host),
            ("0x7f000001", HostPatternFault::Host),
            ("a@b.example", HostPatternFault::Host),
            ("a.example:", HostPatternFault::Port),
            ("a.example:0", HostPatternFault::Port),
            ("a.example:+1", HostPatternFault::Port),
            ("a.example:65536", HostPatternFault::Port),
            ("https://a.example", HostPatternFault::Url),
            ("a.example/path", HostPatternFault::Url),
            ("[::1]:80", HostPatternFault::Ipv6),
            ("fe80::1", HostPatternFault::Ipv6),
            ("0.0.0.0:443", HostPatternFault::Address),
            ("224.0.0.1", HostPatternFault::Address),
            ("255.255.255.255", HostPatternFault::Address),
            ("198.18.0.2", HostPatternFault::Address),
        ] {
            assert_eq!(text.parse::<HostPattern>(), Err(fault), "{text}");
        }
    }

    #[test]
    fn a_host_is_reached_at_the_ports_of_its_entry() {
        let hosts = hosts(
            &[
                "api.example.com",
                "*.example.org:8443",
                "git.example.net:22",
                "git.example.net",
                "localhost:5432",
            ],
            &["evil.example.org", "api.example.com:80"],
        );
        for (host, ports) in [
            ("api.example.com", &[443][..]),
            ("API.EXAMPLE.COM.", &[443]),
            ("a.example.org", &[8443]),
            ("a.b.example.org", &[8443]),
            ("evil.example.org", &[]),
            ("example.org", &[]),
            ("notexample.org", &[]),
            (".example.org", &[]),
            ("a?b.example.org", &[]),
            ("git.example.net", &[22, 80, 443]),
            ("localhost", &[5432]),
            ("127.0.0.1", &[5432]),
            ("example.com", &[]),
            ("api.example.com.evil.example", &[]),
        ] {
            assert_eq!(hosts.ports(host), ports, "{host}");
        }
        assert!(matches!(hosts.judge("evil.example.org", 8443), HostVerdict::Denied(_)));
        assert_eq!(hosts.judge("api.example.com", 22), HostVerdict::NotAllowed);
        assert_eq!(hosts.addresses(), [(Ipv4Addr::LOCALHOST, 5432)]);
    }

    #[test]
    fn a_name_does_not_lead_to_this_machine_and_a_domain_not_into_a_private_network() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for (entry, ip, is_reached) in [
            ("a.example", "93.184.215.14", true),
            ("a.example", "2606:4700::1", true),
            ("a.example", "10.0.0.5", true),
            ("a.example", "127.0.0.1", false),
            ("a.example", "::ffff:127.0.0.1", false),
            ("a.example", "::1", false),
            ("a.example", "0.0.0.0", false),
            ("a.example", "169.254.169.254", false),
            ("a.example", "fe80::1", false),
            ("a.example", "fd00:1::1", true),
            ("a.example", "fd00:ec2::254", false),
            ("a.example", "64:ff9b::7f00:1", false),
            ("*.example", "93.184.215.14", true),
            ("*.example", "10.0.0.5", false),
            ("*.example", "fd00::1", false),
            ("*.example", "127.0.0.1", false),
            ("169.254.169.254", "169.254.169.254", true),
            ("10.0.0.5", "10.0.0.6", false),
            ("localhost:80", "127.0.0.1", true),
            ("localhost:80", "::1", true),
            ("localhost:80", "10.0.0.1", false),
        ] {
            let entry: HostPattern = entry.parse().unwrap();
            assert_eq!(entry.why_not(address(ip)).is_none(), is_reached, "{entry} at {ip}");
        }
    }

    #[test]
    fn an_address_that_is_denied_is_not_reached_by_a_name() {
        let hosts = hosts(&["a.example", "localhost:80"], &["10.0.0.5", "localhost"]);
        let entry = &hosts.allow()[0];
        assert!(hosts.why_not(entry, "10.0.0.5".parse().unwrap(), 443).is_some());
        assert!(hosts.why_not(entry, "::ffff:10.0.0.5".parse().unwrap(), 443).is_some());
        assert!(hosts.why_not(entry, "10.0.0.6".parse().unwrap(), 443).is_none());
        assert_eq!(hosts.ports("localhost"), [0_u16; 0]);
    }

    #[test]
    fn a_list_says_what_it_allows() {
        assert_eq!(hosts(&[], &["a.example"]).to_string(), "no host");
        assert_eq!(hosts(&["*.example"], &["a.example"]).to_string(), "*.example, but not a.example");
    }
}
