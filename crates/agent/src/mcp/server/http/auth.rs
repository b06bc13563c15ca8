//! Decides from the request head whether a request is served: host, origin, token, path.

use crate::http_guard::{AllowedHosts, GuessLimit, Sent, Token, check_host_and_origin};
use http::header::HeaderMap;
use http::{StatusCode, Uri};
use std::net::IpAddr;
use std::time::Instant;

/// The only path.
const PATH: &str = "/mcp";

/// Checks a request; the status with which it is refused otherwise.
pub(super) fn check(
    uri: &Uri,
    headers: &HeaderMap,
    token: &Token,
    address: IpAddr,
    guesses: &GuessLimit,
) -> Result<(), StatusCode> {
    check_host_and_origin(uri, headers, &AllowedHosts::default())?;
    let now = Instant::now();
    match Sent::of(headers) {
        Sent::Nothing => return Err(StatusCode::UNAUTHORIZED),
        Sent::Token(sent) if token.is(&sent) => {}
        Sent::Token(_) | Sent::Unreadable if guesses.wait(address, now).is_some() => {
            return Err(StatusCode::TOO_MANY_REQUESTS);
        }
        Sent::Token(_) | Sent::Unreadable => {
            guesses.count(address, now);
            return Err(StatusCode::UNAUTHORIZED);
        }
    }
    if uri.path() != PATH {
        return Err(StatusCode::NOT_FOUND);
    }
    Ok(())
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
            let (address, guesses) = ("127.0.0.1".parse().unwrap(), GuessLimit::default());
            let got = check(&path.parse().unwrap(), &headers(&lines), &token, address, &guesses).err();
            assert_eq!(got.map(|status| status.as_u16()), want, "{why}");
        }
    }
}
