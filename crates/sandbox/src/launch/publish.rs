//! `--publish`: a port of the host's loopback that leads into a closed network.
//!
//! Invariant: connections go one way. A command cannot reach the host by a published port.

use crate::launch::platform::ClosedNetwork;
use crate::launch::relay::relay;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The most connections of one port at a time; more are closed at once.
const MAX_CONNECTIONS: usize = 256;

/// How long a listener rests that could not accept, for want of descriptors or memory.
const REST: Duration = Duration::from_millis(100);

/// A port of the host, and the port of the cage that it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedPort {
    /// The port of the host's loopback.
    pub host: u16,
    /// The port of the cage's loopback.
    pub cage: u16,
}

/// Why a port is not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Another program listens there.
    #[error("`--publish`: port {port} of this host's loopback is taken")]
    Taken {
        /// Which.
        port: u16,
    },
    /// The command reaches it, so that a connection could lead to itself without end.
    #[error("`--publish {port}` with `--allow-host localhost:{port}`: a connection would lead to itself")]
    Loop {
        /// Which.
        port: u16,
    },
    /// It cannot be listened on.
    #[error("`--publish`: could not listen on port {port}")]
    Listen {
        /// Which.
        port: u16,
        /// Why not.
        source: io::Error,
    },
    /// There is no network namespace that this program could enter.
    #[error("`--publish` needs a native cage: this host offers {backend}, whose network cannot be entered")]
    Backend {
        /// What it gives.
        backend: &'static str,
    },
}

impl PublishedPort {
    /// Parses `HOSTPORT[:CAGEPORT]`.
    pub fn parse(text: &str) -> Option<Self> {
        let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
        let (host, cage) = text.split_once(':').unwrap_or((text, text));
        Some(Self { host: port(host)?, cage: port(cage)? })
    }

    /// Listens on both loopback addresses, or on the only one that the host has.
    pub(crate) fn listen(self) -> Result<ListeningPort, PublishError> {
        let port = self.host;
        let mut listeners = Vec::new();
        for address in [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)] {
            match TcpListener::bind((address, port)) {
                Ok(listener) => listeners.push(listener),
                Err(why) if why.kind() == io::ErrorKind::AddrInUse => {
                    return Err(PublishError::Taken { port });
                }
                Err(_) if address.is_ipv6() && !listeners.is_empty() => {}
                Err(source) => return Err(PublishError::Listen { port, source }),
            }
        }
        Ok(ListeningPort { listeners, cage: self.cage })
    }
}

/// A published port that is not relayed yet.
#[derive(Debug)]
pub(crate) struct ListeningPort {
    listeners: Vec<TcpListener>,
    cage: u16,
}

impl ListeningPort {
    /// Relays connections into `network` until this program ends.
    pub(crate) fn relay(&self, network: &ClosedNetwork) -> io::Result<()> {
        for listener in &self.listeners {
            let listener = listener.try_clone()?;
            let (network, cage) = (network.clone(), self.cage);
            let accept = move || accept(&listener, &network, cage);
            thread::Builder::new().name("publish".to_owned()).spawn(accept)?;
        }
        Ok(())
    }
}

fn accept(listener: &TcpListener, network: &ClosedNetwork, cage: u16) {
    let open = Arc::new(());
    loop {
        let Ok((client, _)) = listener.accept() else {
            thread::sleep(REST);
            continue;
        };
        if Arc::strong_count(&open) > MAX_CONNECTIONS {
            continue;
        }
        let (network, held) = (network.clone(), Arc::clone(&open));
        // Without a thread the connection is closed.
        let _ = thread::Builder::new().name("relay".to_owned()).spawn(move || {
            let _ = network.connect(cage).and_then(|server| relay(&client, &server, || {}));
            drop(held);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_number_or_two() {
        let parsed = |text| PublishedPort::parse(text).map(|port| (port.host, port.cage));
        assert_eq!(parsed("3000"), Some((3000, 3000)));
        assert_eq!(parsed("8080:80"), Some((8080, 80)));
        for text in ["", "0", "70000", "80:", ":80", "127.0.0.1:80", "1:2:3", "web", "-1", "80:0"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
