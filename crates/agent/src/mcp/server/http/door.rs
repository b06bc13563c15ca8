//! The door: who may come in at all, by the head of the request alone.
//!
//! Invariant: a page of another origin, and a name that is not this machine's, are turned away token or not.

use super::token::Token;
use http::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use http::{StatusCode, Uri};
use std::net::{IpAddr, Ipv6Addr};

/// The only path.
const PATH: &str = "/mcp";

/// Why a request is turned away.
pub(super) fn refusal(uri: &Uri, headers: &HeaderMap, token: &Token) -> Option<StatusCode> {
    let mut hosts = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
    let named = uri.authority().map(http::uri::Authority::as_str);
    // A name that leads here from elsewhere is how a page gets past its browser's origin rule.
    if headers.get(HOST).is_none() || !hosts.all(is_local) || !named.is_none_or(is_local) {
        return Some(StatusCode::MISDIRECTED_REQUEST);
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let own = format!("http://{host}");
    if !headers.get_all(ORIGIN).iter().all(|origin| origin.as_bytes().eq_ignore_ascii_case(own.as_bytes())) {
        return Some(StatusCode::FORBIDDEN);
    }
    let mut shown = headers.get_all(AUTHORIZATION).iter();
    let is_shown = shown.next().is_some_and(|header| token.is_shown_by(header.as_bytes()));
    if !is_shown || shown.next().is_some() {
        return Some(StatusCode::UNAUTHORIZED);
    }
    (uri.path() != PATH).then_some(StatusCode::NOT_FOUND)
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

    const TOKEN: &str = "0123456789abcdef";

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn the_head_alone_decides_who_comes_in() {
        let token = Token::new(TOKEN).unwrap();
        let shown = ("authorization", "Bearer 0123456789abcdef");
        for (why, path, lines, want) in [
            ("a local client", "/mcp", vec![("host", "127.0.0.1:8931"), shown], None),
            ("by name", "/mcp", vec![("host", "localhost"), shown], None),
            ("IPv6", "/mcp", vec![("host", "[::1]:8931"), shown], None),
            ("another loopback address", "/mcp", vec![("host", "127.9.9.9"), shown], None),
            (
                "our own page",
                "/mcp",
                vec![("host", "localhost:1"), ("origin", "http://localhost:1"), shown],
                None,
            ),
            ("another path", "/", vec![("host", "localhost"), shown], Some(404)),
            ("no host", "/mcp", vec![shown], Some(421)),
            ("a name that leads here", "/mcp", vec![("host", "evil.example"), shown], Some(421)),
            ("a name that looks local", "/mcp", vec![("host", "localhost.evil.example"), shown], Some(421)),
            (
                "an address that looks local",
                "/mcp",
                vec![("host", "127.0.0.1.evil.example"), shown],
                Some(421),
            ),
            ("every address", "/mcp", vec![("host", "0.0.0.0:8931"), shown], Some(421)),
            ("a user in front", "/mcp", vec![("host", "localhost:1@evil"), shown], Some(421)),
            ("a second host", "/mcp", vec![("host", "localhost"), ("host", "evil"), shown], Some(421)),
            (
                "a host elsewhere in the line",
                "http://evil/mcp",
                vec![("host", "localhost"), shown],
                Some(421),
            ),
            (
                "another page",
                "/mcp",
                vec![("host", "localhost"), ("origin", "http://evil"), shown],
                Some(403),
            ),
            (
                "another port's page",
                "/mcp",
                vec![("host", "localhost:1"), ("origin", "http://localhost:2"), shown],
                Some(403),
            ),
            ("a sandboxed page", "/mcp", vec![("host", "localhost"), ("origin", "null"), shown], Some(403)),
            ("no token", "/mcp", vec![("host", "localhost")], Some(401)),
            ("no token, another path", "/", vec![("host", "localhost")], Some(401)),
            ("a wrong token", "/mcp", vec![("host", "localhost"), ("authorization", "Bearer no")], Some(401)),
            (
                "two tokens",
                "/mcp",
                vec![("host", "localhost"), shown, ("authorization", "Bearer x")],
                Some(401),
            ),
            ("a token in the query", "/mcp?token=0123456789abcdef", vec![("host", "localhost")], Some(401)),
        ] {
            let got = refusal(&path.parse().unwrap(), &headers(&lines), &token);
            assert_eq!(got.map(|status| status.as_u16()), want, "{why}");
        }
    }
}
