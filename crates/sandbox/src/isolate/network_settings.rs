//! Variables that follow from the network of a cage: certificates where it reaches hosts, proxies
//! where it is open, and where it is closed what makes tools fail at once instead of waiting for a
//! name server.

use crate::launch::environment::{Variables, get, set};
use picoclaw_policy::config::Network;
use std::path::Path;

/// Variables that name a file or directory with certificates.
const CERTIFICATES: [&str; 10] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "NIX_SSL_CERT_FILE",
];

/// Variables that name a proxy, or hosts without one; lower-case spellings count too.
const PROXIES: [&str; 5] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY"];

/// What tells package managers that there is no network.
const OFFLINE: [(&str, &str); 10] = [
    ("npm_config_offline", "true"),
    ("npm_config_update_notifier", "false"),
    ("YARN_ENABLE_NETWORK", "0"),
    ("CARGO_NET_OFFLINE", "true"),
    ("UV_OFFLINE", "1"),
    ("PIP_NO_INDEX", "1"),
    ("GOPROXY", "off"),
    ("GOTOOLCHAIN", "local"),
    ("CONDA_OFFLINE", "true"),
    ("HF_HUB_OFFLINE", "1"),
];

/// Sets them in the environment of a child. A certificate passes if the child sees its file, a
/// proxy if it names no password.
pub(crate) fn set_network_variables(
    environment: &mut Variables,
    host: &Variables,
    network: &Network,
    is_shown: &dyn Fn(&Path) -> bool,
) {
    match network {
        Network::Host | Network::Allow(_) => {
            for (name, value) in host {
                let text = name.to_string_lossy();
                // A network by name reaches no proxy.
                let is_proxy = network.is_open()
                    && PROXIES.contains(&text.to_ascii_uppercase().as_str())
                    && !value.to_string_lossy().contains('@');
                let is_certificate = CERTIFICATES.contains(&text.as_ref()) && is_shown(Path::new(value));
                if is_proxy || is_certificate {
                    set(environment, name, value);
                }
            }
        }
        Network::None => {
            for (name, value) in OFFLINE {
                if get(environment, name).is_none() {
                    set(environment, name, value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn variables(network: Network, host: &[(&str, &str)], own: &[(&str, &str)]) -> Vec<(String, String)> {
        let of = |list: &[(&str, &str)]| -> Variables {
            list.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
        };
        let mut environment = of(own);
        let is_shown = |path: &Path| path.starts_with("/etc/ssl");
        set_network_variables(&mut environment, &of(host), &network, &is_shown);
        let text = |value: OsString| value.into_string().unwrap();
        environment.into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    #[test]
    fn certificates_and_proxies_pass_with_an_open_network() {
        for (why, name, value, passes) in [
            ("a certificate that is shown", "SSL_CERT_FILE", "/etc/ssl/ca.pem", true),
            ("one that is not", "NODE_EXTRA_CA_CERTS", "/home/u/ca.pem", false),
            ("a proxy", "HTTPS_PROXY", "http://proxy:3128", true),
            ("the same in lower case", "https_proxy", "http://proxy:3128", true),
            ("hosts without one", "no_proxy", "localhost,.example.org", true),
            ("a proxy with a password", "HTTP_PROXY", "http://u:secret@proxy:3128", false),
            ("anything else", "OPENAI_API_KEY", "x", false),
        ] {
            assert_eq!(!variables(Network::Host, &[(name, value)], &[]).is_empty(), passes, "{why}");
            let closed = variables(Network::None, &[(name, value)], &[]);
            assert!(!closed.iter().any(|(known, _)| known == name), "{why}, with a closed network");
        }
    }

    #[test]
    fn tools_know_that_there_is_no_network() {
        let closed = variables(Network::None, &[], &[("GOPROXY", "file:///srv/go")]);
        assert!(closed.contains(&("npm_config_offline".to_owned(), "true".to_owned())), "{closed:?}");
        assert!(closed.contains(&("GOPROXY".to_owned(), "file:///srv/go".to_owned())), "what is set stays");
        assert_eq!(variables(Network::Host, &[], &[]), [], "with an open network nothing is set");
    }
}
