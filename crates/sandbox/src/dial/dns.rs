//! Resolves host names within a wait limit.
//!
//! The system's resolver cannot be interrupted, so each lookup has a thread, which is abandoned
//! when the answer comes too late. The number of lookups in progress is limited.

use super::wait_limit::{WaitEnded, WaitLimit};
use picoclaw_policy::network::Resolution;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
#[cfg(target_os = "linux")]
use std::time::Duration;

/// The most lookups in progress, abandoned ones included.
const MAX_LOOKUPS: usize = 16;

/// How often a lookup looks for its turn.
#[cfg(target_os = "linux")]
const TURN_INTERVAL: Duration = Duration::from_millis(10);

/// The most addresses of one host that are used.
const MAX_ADDRESSES: usize = 16;

/// Resolves names to addresses.
pub trait Resolver: Send + Sync {
    /// All addresses of `host`; it may block.
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostResolver;

impl Resolver for HostResolver {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok((host, 0).to_socket_addrs()?.map(|found| found.ip()).collect())
    }
}

/// A resolver with a limited number of lookups in progress.
#[derive(Clone)]
pub(crate) struct DnsLookup {
    resolver: Arc<dyn Resolver>,
    in_progress: Arc<AtomicUsize>,
}

impl DnsLookup {
    pub(crate) fn new(resolver: Arc<dyn Resolver>) -> Self {
        Self { resolver, in_progress: Arc::default() }
    }

    /// Resolves `host` once; fails while too many lookups are in progress.
    pub(crate) fn resolve(&self, host: &str, limit: &WaitLimit) -> Result<Resolution, WaitEnded> {
        match LookupSlot::take(&self.in_progress) {
            Some(slot) => self.look_up(host, slot, limit),
            None => Ok(Resolution::Failed("too many look-ups are under way".to_owned())),
        }
    }

    /// Resolves `host` once; waits while too many lookups are in progress.
    #[cfg(target_os = "linux")]
    pub(crate) fn resolve_in_turn(&self, host: &str, limit: &WaitLimit) -> Result<Resolution, WaitEnded> {
        loop {
            if let Some(slot) = LookupSlot::take(&self.in_progress) {
                return self.look_up(host, slot, limit);
            }
            thread::sleep(limit.slice()?.min(TURN_INTERVAL));
        }
    }

    fn look_up(&self, host: &str, slot: LookupSlot, limit: &WaitLimit) -> Result<Resolution, WaitEnded> {
        let (sender, receiver) = mpsc::channel();
        let (resolver, name) = (Arc::clone(&self.resolver), host.to_owned());
        let started = thread::Builder::new().name("lookup".to_owned()).spawn(move || {
            // The receiver is gone when the lookup was abandoned.
            let _ = sender.send(resolver.resolve(&name));
            drop(slot);
        });
        if let Err(why) = started {
            return Ok(Resolution::Failed(why.to_string()));
        }
        loop {
            match receiver.recv_timeout(limit.slice()?) {
                Ok(Ok(found)) => return Ok(resolution(found)),
                Ok(Err(why)) => return Ok(Resolution::Failed(why.to_string())),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Resolution::Failed("the resolver gave up".to_owned()));
                }
            }
        }
    }
}

fn resolution(found: Vec<IpAddr>) -> Resolution {
    let mut addresses = Vec::new();
    for ip in found {
        if !addresses.contains(&ip) {
            addresses.push(ip);
        }
        if addresses.len() == MAX_ADDRESSES {
            break;
        }
    }
    if addresses.is_empty() {
        return Resolution::Failed("it has no address".to_owned());
    }
    Resolution::Addresses(addresses)
}

/// One lookup in progress.
struct LookupSlot(Arc<AtomicUsize>);

impl LookupSlot {
    fn take(in_progress: &Arc<AtomicUsize>) -> Option<Self> {
        let one_more = |n: usize| (n < MAX_LOOKUPS).then_some(n + 1);
        in_progress.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).ok()?;
        Some(Self(Arc::clone(in_progress)))
    }
}

impl Drop for LookupSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::CancelToken;
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    /// Answers when the other end of the channel is dropped.
    struct BlockedResolver(Mutex<mpsc::Receiver<()>>);

    impl Resolver for BlockedResolver {
        fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
            let _ = self.0.lock().unwrap().recv();
            Err(io::Error::other("late"))
        }
    }

    #[test]
    fn a_resolver_that_never_answers_is_not_waited_for() {
        let (release, stuck) = mpsc::channel();
        let lookup = DnsLookup::new(Arc::new(BlockedResolver(Mutex::new(stuck))));
        let began = Instant::now();
        let soon = WaitLimit::new(Duration::from_millis(50), &CancelToken::new());
        assert_eq!(lookup.resolve("a.example", &soon), Err(WaitEnded::Deadline));
        let cancel = CancelToken::new();
        cancel.cancel();
        let cancelled = WaitLimit::new(Duration::from_secs(60), &cancel);
        assert_eq!(lookup.resolve("a.example", &cancelled), Err(WaitEnded::Cancelled));
        for _ in 2..MAX_LOOKUPS {
            let soon = WaitLimit::new(Duration::from_millis(1), &CancelToken::new());
            assert_eq!(lookup.resolve("a.example", &soon), Err(WaitEnded::Deadline));
        }
        let patient = WaitLimit::new(Duration::from_secs(60), &CancelToken::new());
        let busy = lookup.resolve("a.example", &patient);
        assert_eq!(busy, Ok(Resolution::Failed("too many look-ups are under way".to_owned())));
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        drop(release);
    }

    #[test]
    fn a_host_with_a_thousand_addresses_is_tried_at_a_few() {
        let many: Vec<IpAddr> = (0..1000_u32).map(|n| IpAddr::V4((0x0808_0000 + n / 2).into())).collect();
        let Resolution::Addresses(kept) = resolution(many) else { panic!("none") };
        assert_eq!(kept.len(), MAX_ADDRESSES);
        assert!(kept.is_sorted_by(|a, b| a < b), "each once, in order");
    }
}
