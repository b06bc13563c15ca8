//! A requested web address.
//!
//! The host is parsed as browsers do it: `0x7f.1`, `2130706433`, `127.1` and `0177.0.0.1` are IP
//! addresses, full-width letters and ideographic full stops are letters and dots. An address has a
//! web scheme, a host and a port, and no credentials or fragment.

use std::fmt;
use std::net::IpAddr;
use url::{Host, Url};

/// Longest accepted address, in bytes.
pub const MAX_URL_LEN: usize = 8192;

/// The protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Plain text.
    Http,
    /// TLS.
    Https,
}

/// Why a text is not a web address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlFault {
    /// Not an absolute URL.
    #[error("invalid url: {0}")]
    Syntax(String),
    /// Not a web scheme.
    #[error("access denied: only http and https addresses are fetched")]
    Scheme(String),
    /// It contains a user name or password.
    #[error("access denied: an address with a user name or password is not fetched")]
    Credentials,
}

impl UrlFault {
    /// The rule, as spelled in the ledger.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Syntax(_) => "url",
            Self::Scheme(_) => "url scheme",
            Self::Credentials => "url credentials",
        }
    }

    /// The remedy.
    pub fn hint(&self) -> String {
        match self {
            Self::Syntax(_) => "write the whole address, as in `https://example.com/page`".to_owned(),
            Self::Scheme(found) => format!("`{found}` is not a scheme of the web; no setting opens it"),
            Self::Credentials => "leave out what precedes the `@`; credentials are not sent".to_owned(),
        }
    }
}

/// A URL with a web scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAddress(Url);

impl WebAddress {
    /// Parses an absolute address.
    pub fn parse(text: &str) -> Result<Self, UrlFault> {
        check_text(text)?;
        Self::accept(Url::parse(text.trim()).map_err(syntax)?)
    }

    /// Parses a redirect's location, which may be relative to this address.
    pub fn follow(&self, location: &str) -> Result<Self, UrlFault> {
        check_text(location)?;
        Self::accept(self.0.join(location.trim()).map_err(syntax)?)
    }

    fn accept(mut url: Url) -> Result<Self, UrlFault> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlFault::Scheme(url.scheme().chars().take(32).collect()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlFault::Credentials);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(UrlFault::Syntax("the URL has no host".to_owned()));
        }
        // A fragment is not sent, so it is not recorded.
        url.set_fragment(None);
        Ok(Self(url))
    }

    /// The protocol.
    pub fn scheme(&self) -> Scheme {
        if self.0.scheme() == "https" { Scheme::Https } else { Scheme::Http }
    }

    /// The host: a name, or the canonical spelling of an IP address (IPv6 in brackets).
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The IP address, if the host is one.
    pub fn literal(&self) -> Option<IpAddr> {
        match self.0.host()? {
            Host::Ipv4(ip) => Some(ip.into()),
            Host::Ipv6(ip) => Some(ip.into()),
            Host::Domain(_) => None,
        }
    }

    /// The port; the scheme's default if none is given.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// The host, with the port unless it is the default: the value of the `Host` header.
    pub fn authority(&self) -> String {
        match self.0.port() {
            Some(port) => format!("{}:{port}", self.host()),
            None => self.host().to_owned(),
        }
    }

    /// The path and query.
    pub fn path_and_query(&self) -> String {
        match self.0.query() {
            Some(query) => format!("{}?{query}", self.0.path()),
            None => self.0.path().to_owned(),
        }
    }
}

impl fmt::Display for WebAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

fn check_text(text: &str) -> Result<(), UrlFault> {
    if text.len() > MAX_URL_LEN {
        return Err(UrlFault::Syntax(format!("longer than {MAX_URL_LEN} bytes")));
    }
    // Browsers drop tabs and line breaks inside an address. They are refused here, so that a person
    // sees what is fetched.
    if text.trim().contains(|c: char| c.is_control()) {
        return Err(UrlFault::Syntax("it contains a control character".to_owned()));
    }
    Ok(())
}

fn syntax(why: url::ParseError) -> UrlFault {
    UrlFault::Syntax(why.to_string())
}

/// A text for the ledger: without a possible password, and truncated.
pub(super) fn redact_password(text: &str) -> String {
    let start = text.find("//").map_or(0, |at| at + 2);
    // The last `@` counts: the end of the host is not known in a text that does not parse.
    let shown = match text[start..].rfind('@') {
        Some(at) => format!("{}***{}", &text[..start], &text[start + at..]),
        None => text.to_owned(),
    };
    if shown.len() <= MAX_URL_LEN {
        return shown;
    }
    let end = (0..=MAX_URL_LEN).rev().find(|at| shown.is_char_boundary(*at)).unwrap_or_default();
    format!("{}…", &shown[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_browsers_read_it() {
        for (why, text, host, port) in [
            ("a plain address", "http://example.com/a?b#c", "example.com", 80),
            ("the other scheme", "https://example.com", "example.com", 443),
            ("capitals", "HTTP://EXAMPLE.com", "example.com", 80),
            ("a port", "http://example.com:8080/", "example.com", 8080),
            ("spaces around it", "  http://example.com/  ", "example.com", 80),
            ("hexadecimal", "http://0x7f.1/", "127.0.0.1", 80),
            ("one number", "http://2130706433/", "127.0.0.1", 80),
            ("octal", "http://0177.0.0.1/", "127.0.0.1", 80),
            ("short", "http://127.1/", "127.0.0.1", 80),
            ("a trailing dot on a number", "http://127.0.0.1./", "127.0.0.1", 80),
            ("ideographic full stops", "http://127。0。0。1/", "127.0.0.1", 80),
            ("circled digits", "http://①②⑦.⓪.⓪.①/", "127.0.0.1", 80),
            ("full-width letters", "http://ｌｏｃａｌｈｏｓｔ/", "localhost", 80),
            ("percent signs", "http://%6c%6fcalhost/", "localhost", 80),
            ("backslashes are slashes", "http:\\\\example.com\\a", "example.com", 80),
            ("a missing slash is read over", "http:/example.com/", "example.com", 80),
            ("IPv6", "http://[::1]:81/", "[::1]", 81),
            ("a trailing dot on a name stays a name", "http://example.com./", "example.com.", 80),
            ("another script", "http://bücher.example/", "xn--bcher-kva.example", 80),
        ] {
            let address = WebAddress::parse(text).unwrap_or_else(|fault| panic!("{why}: `{text}`: {fault}"));
            assert_eq!((address.host(), address.port()), (host, port), "{why}: `{text}`");
            assert!(!address.to_string().contains('#'), "{why}: a fragment is nobody's business");
        }
    }

    #[test]
    fn what_is_no_address_of_the_web_is_named() {
        for (why, text, rule) in [
            ("nothing", "", "url"),
            ("a path", "/etc/passwd", "url"),
            ("a bare host", "example.com/a", "url"),
            ("a file", "file:///etc/passwd", "url scheme"),
            ("ftp", "ftp://example.com/", "url scheme"),
            ("gopher", "gopher://127.0.0.1:6379/_x", "url scheme"),
            ("data", "data:text/html,hi", "url scheme"),
            ("a web socket", "ws://example.com/", "url scheme"),
            ("a scheme of two", "view-source:http://example.com/", "url scheme"),
            ("a user", "http://me@example.com/", "url credentials"),
            ("a password", "http://me:pw@example.com/", "url credentials"),
            ("a host that is a user", "http://example.com@127.0.0.1/", "url credentials"),
            ("no host", "http://", "url"),
            ("a number too large", "http://4294967296/", "url"),
            ("five parts", "http://1.2.3.4.5/", "url"),
            ("a port too large", "http://example.com:65536/", "url"),
            ("a space in the host", "http://exa mple.com/", "url"),
            ("a zone", "http://[fe80::1%25eth0]/", "url"),
            ("a line end in the middle", "http://exam\nple.com/", "url"),
            ("a header smuggled in", "http://example.com/\r\nX: y", "url"),
            ("a NUL", "http://example.com\0.evil/", "url"),
        ] {
            match WebAddress::parse(text) {
                Ok(address) => panic!("{why}: `{text}` was read as {address}"),
                Err(fault) => assert_eq!(fault.rule(), rule, "{why}: `{text}`: {fault}"),
            }
        }
        assert!(WebAddress::parse(&format!("http://example.com/{}", "a".repeat(MAX_URL_LEN))).is_err());
    }

    #[test]
    fn a_location_may_be_relative() {
        let here = WebAddress::parse("https://example.com/a/b?c").unwrap();
        for (location, want) in [
            ("d", "https://example.com/a/d"),
            ("/d", "https://example.com/d"),
            ("//other.example/d", "https://other.example/d"),
            ("?q", "https://example.com/a/b?q"),
            ("http://169.254.169.254/", "http://169.254.169.254/"),
        ] {
            assert_eq!(here.follow(location).unwrap().to_string(), want, "`{location}`");
        }
        assert_eq!(here.follow("file:///etc/passwd").unwrap_err().rule(), "url scheme");
        assert_eq!(here.follow("//me:pw@example.com/").unwrap_err().rule(), "url credentials");
    }

    #[test]
    fn what_is_recorded_of_a_text_holds_no_password() {
        for (text, want) in [
            ("http://me:pw@example.com/x", "http://***@example.com/x"),
            ("http://a@b:pw@example.com", "http://***@example.com"),
            ("me:pw@example.com", "***@example.com"),
            ("http:/me:pw@example.com/", "***@example.com/"),
            ("http:\\\\me:pw@example.com", "***@example.com"),
            ("plain", "plain"),
        ] {
            assert_eq!(redact_password(text), want);
        }
        assert!(redact_password(&"é".repeat(MAX_URL_LEN)).len() <= MAX_URL_LEN + 4);
    }
}
