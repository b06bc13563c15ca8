//! Connects to a host at one of its addresses.

use super::dns::{DnsLookup, HostResolver};
use super::socket::dial;
use super::try_each::try_each;
use super::wait_limit::{WaitEnded, WaitLimit};
use picoclaw_policy::network::Resolution;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;

/// Connects to hosts by name.
pub(crate) struct HostDialer(DnsLookup);

/// Why a host was not connected to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostDialError {
    /// The wait was given up.
    #[error(transparent)]
    Stopped(#[from] WaitEnded),
    /// It has no address.
    #[error("could not resolve it: {0}")]
    Unresolved(String),
    /// None of its addresses may be connected to.
    #[error("it is `{ip}`: {why}")]
    Refused {
        /// One of them.
        ip: IpAddr,
        /// Why not.
        why: &'static str,
    },
    /// The connection failed.
    #[error("{0}")]
    Connect(#[from] io::Error),
}

impl fmt::Debug for HostDialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostDialer")
    }
}

impl HostDialer {
    /// With the system's resolver.
    pub(crate) fn new() -> Self {
        Self(DnsLookup::new(Arc::new(HostResolver)))
    }

    /// Connects to one of the addresses of `host` that `why_not` has nothing against.
    pub(crate) fn connect(
        &self,
        host: &str,
        port: u16,
        why_not: &dyn Fn(IpAddr) -> Option<&'static str>,
        limit: &WaitLimit,
    ) -> Result<TcpStream, HostDialError> {
        let found = match self.0.resolve(host, limit)? {
            Resolution::Addresses(found) => found,
            Resolution::Failed(why) => return Err(HostDialError::Unresolved(why)),
            Resolution::NotLookedUp => Vec::new(),
        };
        let refused =
            found.iter().find_map(|ip| Some(HostDialError::Refused { ip: *ip, why: why_not(*ip)? }));
        let permitted = found.iter().filter(|ip| why_not(**ip).is_none());
        let addresses: Vec<_> = permitted.map(|ip| SocketAddr::new(*ip, port)).collect();
        match try_each(&addresses, limit, |address, share| Ok(dial(address, share)?)) {
            Some(Ok(stream)) => {
                stream.set_nonblocking(false)?;
                Ok(stream)
            }
            Some(Err(why)) => Err(why),
            None => Err(refused.unwrap_or_else(|| HostDialError::Unresolved("it has no address".to_owned()))),
        }
    }
}
