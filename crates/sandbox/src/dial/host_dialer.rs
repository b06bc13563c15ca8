//! Connects to a host at one of its addresses.

use super::dns::{DnsLookup, HostResolver};
use super::socket::dial;
use super::try_each::try_each;
use super::wait_limit::{WaitEnded, WaitLimit};
use picoclaw_policy::network::Resolution;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The lookups of this program on behalf of commands.
static LOOKUPS: LazyLock<DnsLookup> = LazyLock::new(|| DnsLookup::new(Arc::new(HostResolver)));

/// How long an answer counts for further connections.
const ANSWER_KEPT: Duration = Duration::from_secs(5);

/// The most names whose answers are kept.
const MAX_KEPT: usize = 512;

/// Connects to hosts by name. Connections to one name share a lookup.
#[derive(Debug, Default)]
pub(crate) struct HostDialer(Mutex<BTreeMap<String, Arc<Mutex<Option<Answer>>>>>);

/// The addresses of a name.
#[derive(Debug, Clone)]
struct Answer {
    addresses: Vec<IpAddr>,
    at: Instant,
}

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

impl HostDialer {
    /// The addresses of a host: those of an answer that just came, or new ones.
    fn resolve(&self, host: &str, limit: &WaitLimit) -> Result<Vec<IpAddr>, HostDialError> {
        let kept = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if all.len() >= MAX_KEPT {
                all.clear();
            }
            Arc::clone(all.entry(host.to_owned()).or_default())
        };
        // Others that ask for the name meanwhile wait for this answer.
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = kept.as_ref().filter(|answer| answer.at.elapsed() < ANSWER_KEPT) {
            return Ok(answer.addresses.clone());
        }
        match LOOKUPS.resolve_in_turn(host, limit)? {
            Resolution::Addresses(addresses) => {
                *kept = Some(Answer { addresses: addresses.clone(), at: Instant::now() });
                Ok(addresses)
            }
            Resolution::Failed(why) => Err(HostDialError::Unresolved(why)),
            Resolution::NotLookedUp => Ok(Vec::new()),
        }
    }

    /// Connects to one of the addresses of `host` that `why_not` has nothing against.
    pub(crate) fn connect(
        &self,
        host: &str,
        port: u16,
        why_not: &dyn Fn(IpAddr) -> Option<&'static str>,
        limit: &WaitLimit,
    ) -> Result<TcpStream, HostDialError> {
        let found = self.resolve(host, limit)?;
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
