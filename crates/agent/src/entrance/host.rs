//! For whom a request is, and from whose page: no name that leads here from elsewhere, no page of another origin.
//!
//! Invariant: a name counts only when it names this machine to itself, or the operator listed it.

use http::header::{HOST, HeaderMap, ORIGIN};
use http::{StatusCode, Uri};
use std::net::{IpAddr, Ipv6Addr};

/// The names that a request may be for, beside those of the loopback.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts(Vec<String>);

impl Hosts {
    /// Names as the operator lists them, with or without a port.
    pub(crate) fn new(names: &[String]) -> Self {
        Self(
            names
                .iter()
                .map(|name| name.trim().to_ascii_lowercase())
                .filter(|name| !name.is_empty())
                .collect(),
        )
    }

    fn include(&self, authority: &str) -> bool {
        is_local(authority) || self.0.iter().any(|known| is_named(authority, known))
    }
}

/// Why a request is turned away whatever token it shows.
pub(crate) fn misled(uri: &Uri, headers: &HeaderMap, hosts: &Hosts) -> Option<StatusCode> {
    let mut named = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
    let in_line = uri.authority().map(http::uri::Authority::as_str);
    // A name that leads here from elsewhere is how a page gets past its browser's origin rule.
    if headers.get(HOST).is_none()
        || !named.all(|host| hosts.include(host))
        || !in_line.is_none_or(|host| hosts.include(host))
    {
        return Some(StatusCode::MISDIRECTED_REQUEST);
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    // A name that the operator lists may be a proxy's that speaks TLS for us.
    let is_own = |origin: &[u8]| {
        let plain = format!("http://{host}");
        let sealed = format!("https://{host}");
        origin.eq_ignore_ascii_case(plain.as_bytes())
            || (!is_local(host) && origin.eq_ignore_ascii_case(sealed.as_bytes()))
    };
    let is_ours = headers.get_all(ORIGIN).iter().all(|origin| is_own(origin.as_bytes()));
    (!is_ours).then_some(StatusCode::FORBIDDEN)
}

/// Whether `authority` is `known`, which is in lower case; a known name without a port is known with any.
fn is_named(authority: &str, known: &str) -> bool {
    let authority = authority.to_ascii_lowercase();
    authority.strip_prefix(known).is_some_and(is_port)
}

/// Whether `authority` names this machine to itself: `localhost`, or a loopback address, with or without a port.
fn is_local(authority: &str) -> bool {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port)) => {
                return is_port(port) && host.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback());
            }
            None => return false,
        },
        None => {
            authority.split_once(':').map_or((authority, ""), |(host, _)| (host, &authority[host.len()..]))
        }
    };
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4() && ip.is_loopback());
    is_port(port) && (is_loopback || host.eq_ignore_ascii_case("localhost"))
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_name_is_let_in_and_nothing_that_resembles_it() {
        let hosts = Hosts::new(&["Claw.Example".to_owned(), "box:8080".to_owned(), " ".to_owned()]);
        for (why, host, origin, want) in [
            ("listed", "claw.example", None, None),
            ("in another case, with a port", "CLAW.example:18790", None, None),
            ("listed with its port", "box:8080", None, None),
            ("with another port", "box:8081", None, Some(421)),
            ("its port alone", "box", None, Some(421)),
            ("a longer name", "claw.example.evil", None, Some(421)),
            ("a longer name in front", "evil-claw.example", None, Some(421)),
            ("nothing", "", None, Some(421)),
            ("its own page", "claw.example", Some("http://claw.example"), None),
            ("its own page behind a proxy", "claw.example", Some("https://claw.example"), None),
            ("another page", "claw.example", Some("https://evil.example"), Some(403)),
            ("a sealed page of the loopback", "localhost", Some("https://localhost"), Some(403)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            let got = misled(&"/".parse().unwrap(), &headers, &hosts);
            assert_eq!(got.map(|status| status.as_u16()), want, "{why}");
        }
    }
}
