//! `tools.web.proxy`: an HTTP proxy. Only the `Proxy-Authorization` header shows its password.

use data_encoding::BASE64;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::net::IpAddr;
use url::{Host, Url};

/// An HTTP proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyAddress(Url);

impl ProxyAddress {
    /// Parses `http://[user:password@]host[:port]`. The error does not repeat the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|why| why.to_string())?;
        if url.scheme() != "http" {
            return Err("only `http://` proxies are served".to_owned());
        }
        if url.host().is_none() {
            return Err("the URL has no host".to_owned());
        }
        Ok(Self(url))
    }

    /// The host.
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

    /// The port; 80 by default.
    pub fn port(&self) -> u16 {
        self.0.port().unwrap_or(80)
    }

    /// The value of `Proxy-Authorization`.
    pub fn authorization(&self) -> Option<String> {
        let (user, password) = (self.0.username(), self.0.password().unwrap_or_default());
        if user.is_empty() && password.is_empty() {
            return None;
        }
        let mut plain: Vec<u8> = percent_decode_str(user).collect();
        plain.push(b':');
        plain.extend(percent_decode_str(password));
        Some(format!("Basic {}", BASE64.encode(&plain)))
    }
}

impl fmt::Debug for ProxyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyAddress({}:{})", self.host(), self.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_a_host_and_perhaps_a_password() {
        for (text, host, port, authorization) in [
            ("http://127.0.0.1:3128", "127.0.0.1", 3128, None),
            ("http://proxy.example", "proxy.example", 80, None),
            ("http://me:pw@proxy.example:8080/", "proxy.example", 8080, Some("Basic bWU6cHc=")),
            ("http://me:p%40%3a%zz@proxy.example", "proxy.example", 80, Some("Basic bWU6cEA6JXp6")),
            ("http://user@proxy.example", "proxy.example", 80, Some("Basic dXNlcjo=")),
        ] {
            let proxy = ProxyAddress::parse(text).unwrap();
            assert_eq!((proxy.host(), proxy.port()), (host, port), "{text}");
            assert_eq!(proxy.authorization().as_deref(), authorization, "{text}");
            assert!(!format!("{proxy:?}").contains("pw"), "{proxy:?}");
        }
    }

    #[test]
    fn what_is_no_proxy_is_said_without_repeating_it() {
        for text in
            ["", "127.0.0.1:3128", "socks5://me:secret@127.0.0.1", "https://me:secret@a.example", "http://"]
        {
            let why = ProxyAddress::parse(text).unwrap_err();
            assert!(!why.contains("secret"), "{why}");
        }
    }
}
