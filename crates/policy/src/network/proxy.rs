//! `tools.web.proxy`: the operator's own way out.
//!
//! Invariant: its password is shown by nothing but the header that it is for.

use std::fmt;
use std::net::IpAddr;
use url::{Host, Url};

/// An HTTP proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyAddress(Url);

impl ProxyAddress {
    /// Reads `http://[user:password@]host[:port]`; the error does not repeat the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|why| why.to_string())?;
        if url.scheme() != "http" {
            return Err("only `http://` proxies are served".to_owned());
        }
        if url.host().is_none() {
            return Err("no host stands in it".to_owned());
        }
        Ok(Self(url))
    }

    /// The host.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The number, if the host is one.
    pub fn literal(&self) -> Option<IpAddr> {
        match self.0.host()? {
            Host::Ipv4(ip) => Some(ip.into()),
            Host::Ipv6(ip) => Some(ip.into()),
            Host::Domain(_) => None,
        }
    }

    /// The port, 80 if none was written.
    pub fn port(&self) -> u16 {
        self.0.port().unwrap_or(80)
    }

    /// The value of `Proxy-Authorization`.
    pub fn authorization(&self) -> Option<String> {
        let (user, password) = (self.0.username(), self.0.password().unwrap_or_default());
        if user.is_empty() && password.is_empty() {
            return None;
        }
        let mut plain = decoded(user);
        plain.push(b':');
        plain.extend(decoded(password));
        Some(format!("Basic {}", base64(&plain)))
    }
}

impl fmt::Debug for ProxyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyAddress({}:{})", self.host(), self.port())
    }
}

/// `%41` as `A`; whatever is no such escape stays.
fn decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escape = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match escape.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                out.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            out.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
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
