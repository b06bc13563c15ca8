//! Validates `Host` and `Origin`, against DNS rebinding and cross-site requests.

use http::header::{HOST, HeaderMap, ORIGIN};
use http::{StatusCode, Uri};
use std::net::{IpAddr, Ipv6Addr};

/// The hosts that a request may name besides loopback ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowedHosts(Vec<String>);

impl AllowedHosts {
    /// Host names of the configuration, with or without a port.
    pub(crate) fn new(names: &[String]) -> Self {
        Self(
            names
                .iter()
                .map(|name| name.trim().to_ascii_lowercase())
                .filter(|name| !name.is_empty())
                .collect(),
        )
    }

    fn contains(&self, authority: &str) -> bool {
        is_loopback(authority) || self.0.iter().any(|host| is_host(authority, host))
    }
}

/// Refuses a foreign host (421) or a foreign origin (403), with or without a token.
pub(crate) fn check_host_and_origin(
    uri: &Uri,
    headers: &HeaderMap,
    hosts: &AllowedHosts,
) -> Result<(), StatusCode> {
    let mut named = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
    let in_request_line = uri.authority().map(http::uri::Authority::as_str);
    if headers.get(HOST).is_none()
        || !named.all(|host| hosts.contains(host))
        || !in_request_line.is_none_or(|host| hosts.contains(host))
    {
        return Err(StatusCode::MISDIRECTED_REQUEST);
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    // A configured host name may be that of a proxy that terminates TLS.
    let is_own = |origin: &[u8]| {
        origin.eq_ignore_ascii_case(format!("http://{host}").as_bytes())
            || (!is_loopback(host) && origin.eq_ignore_ascii_case(format!("https://{host}").as_bytes()))
    };
    match headers.get_all(ORIGIN).iter().all(|origin| is_own(origin.as_bytes())) {
        true => Ok(()),
        false => Err(StatusCode::FORBIDDEN),
    }
}

/// Whether `authority` is `host`, given in lower case; a host without a port matches every port.
fn is_host(authority: &str, host: &str) -> bool {
    let authority = authority.to_ascii_lowercase();
    authority.strip_prefix(host).is_some_and(is_port)
}

/// Whether `authority` is `localhost` or a loopback address, with or without a port.
fn is_loopback(authority: &str) -> bool {
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
    let is_address = host.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4() && ip.is_loopback());
    is_port(port) && (is_address || host.eq_ignore_ascii_case("localhost"))
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_name_is_let_in_and_nothing_that_resembles_it() {
        let hosts = AllowedHosts::new(&["Claw.Example".to_owned(), "box:8080".to_owned(), " ".to_owned()]);
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
            let got = check_host_and_origin(&"/".parse().unwrap(), &headers, &hosts).err();
            assert_eq!(got.map(|status| status.as_u16()), want, "{why}");
        }
    }
}
